"""Pictures of how a GPU runs a kernel: threads and their elements, waiting, occupancy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from .style import COLOURS, FAINT, INK, SHADES, box, canvas, show, style

WARP = 32
MOST_THREADS = 40  # in a row of `threads`


def _canvas(width: float, height: float, right: float, bottom: float, left: float = 0,
            title: str = "") -> Axes:
    axes = canvas(width, height, (left, right), (bottom, 0),
                  (0.01, 0.02, 0.98, 1 - 0.34 / height if title else 0.96))
    if title:
        axes.set_title(title)
    return axes


def _count(name: str, value: object, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}={value!r}: it must be a whole number from {least} on.")
    return int(value)


def threads(n: int, grid: int, block: int, loop: bool = False) -> None:
    """Draw which thread of a one-dimensional launch takes which element, and print the same facts.

    Thread `t` of block `b` starts at element `b * block + t`. With `loop` it goes on in steps of
    `grid * block`, the number of threads; without, no thread takes the elements beyond that number.

    Raises
    ------
    ValueError
        For counts below one, or for more threads than fit into the picture (40).
    """
    n, grid, block = (_count(*pair) for pair in (("n", n), ("grid", grid), ("block", block)))
    threads = grid * block
    if threads > MOST_THREADS or n > 4 * MOST_THREADS:
        raise ValueError(f"draw.threads() shows at most {MOST_THREADS} threads and"
                         f" {4 * MOST_THREADS} elements, not {grid} x {block} = {threads} threads"
                         f" and {n} elements.")
    rounds = -(-n // threads)
    with style():
        wide = 7.8 * max(threads, 12) / MOST_THREADS + 1.2
        wide = round(max(wide, 5.6), 1)  # room for the title above narrow pictures
        unit = max(threads, 12)
        axes = _canvas(wide, 0.8 + 0.34 * (rounds + 1), unit + 0.1, rounds + 1.4, -3.2 * unit / 24,
                       f"{grid} blocks of {block} threads, {n} elements")
        for b in range(grid):
            box(axes, b * block, 0, block, 1, f"block {b}", SHADES[b % len(SHADES)])
        for r in range(rounds):
            label = f"round {r}" if loop else "elements" if r == 0 else "no thread"
            axes.text(-0.2, r + 1.7, label, ha="right", va="center", fontsize=8)
            for t in range(threads):
                element = r * threads + t
                shade = SHADES[t // block % len(SHADES)]
                if element >= n:
                    if r == 0 or loop:
                        box(axes, t, r + 1.2, 1, hatch="////", edgecolor=FAINT)
                elif r == 0 or loop:
                    box(axes, t, r + 1.2, 1, 1, str(element), shade, 7)
                else:
                    box(axes, t, r + 1.2, 1, 1, str(element), size=7, edgecolor=COLOURS[5])
        if loop:
            each = f"{rounds}" if n == threads * rounds else f"{n // threads} or {rounds}"
            text = f"each thread takes {each}, in steps of {threads}; none is left out."
        elif n > threads:
            text = f"elements {threads} to {n - 1} have no thread."
        else:
            text = f"{threads - n} threads have no element, the guard stops them."
        show("The threads of a launch and the elements that they take",
             f"{grid} x {block} = {threads} threads, {n} elements:\n{text}")


def latency(warps: int, work: int = 2, wait: int = 14, cycles: int = 48) -> None:
    """Draw one scheduler that issues for `warps` warps, and print how many cycles it is busy.

    Each warp issues `work` instructions, one a cycle, then waits `wait` cycles for memory, and so
    on; the scheduler takes the warp that has been ready longest.

    Parameters
    ----------
    warps : int
        Warps that take turns, 1 to 16.
    work, wait : int
        Cycles.
    cycles : int
        How many are drawn, up to 96.
    """
    warps, work = _count("warps", warps), _count("work", work)
    wait, cycles = _count("wait", wait, 0), _count("cycles", cycles)
    if warps > 16 or cycles > 96:
        raise ValueError("draw.latency() shows at most 16 warps and 96 cycles, not"
                         f" {warps} and {cycles}.")
    state = np.full((warps, cycles), ".")  # issues "#", waits for memory "-", is ready "."
    ready, left = [0] * warps, [work] * warps
    current = None
    for cycle in range(cycles):
        for w in range(warps):
            if cycle < ready[w]:
                state[w, cycle] = "-"
        if current is None:
            able = [w for w in range(warps) if ready[w] <= cycle]
            current = min(able, key=lambda w: (ready[w], w), default=None)
        if current is not None:
            state[current, cycle] = "#"
            left[current] -= 1
            if not left[current]:
                ready[current], left[current], current = cycle + 1 + wait, work, None
    busy = int((state == "#").any(axis=0).sum())
    with style():
        axes = _canvas(7.8, 0.9 + 0.26 * (warps + 1), cycles, warps + 1.7, -cycles / 9,
                       f"{warps} warps" if warps > 1 else "1 warp")
        for w in range(warps):
            axes.text(-0.4, w + 0.45, f"warp {w}", ha="right", va="center", fontsize=8)
            axes.plot([0, cycles], [w + 0.45] * 2, color=FAINT, linewidth=0.8, linestyle=":")
            for cycle in np.flatnonzero(state[w] == "#"):
                box(axes, cycle, w + 0.08, 1, 0.74, fill=COLOURS[0])
        axes.text(-0.4, warps + 0.65, "scheduler", ha="right", va="center", fontsize=8)
        for cycle in range(cycles):
            used = (state[:, cycle] == "#").any()
            box(axes, cycle, warps + 0.25, 1, 0.74, fill=COLOURS[0] if used else "white",
                edgecolor=INK if used else FAINT)
        axes.text(0, warps + 1.1, f"cycle 0 to {cycles - 1}", va="top", fontsize=8)
        several = "s" if warps > 1 else ""
        show("A scheduler's warps, cycle by cycle",
             f"{warps} warp{several}, each {work} cycles of work and {wait} of waiting:\n"
             f"the scheduler issues in {busy} of {cycles} cycles.")


@dataclass(frozen=True)
class Limits:
    """What one multiprocessor holds (CUDA programming guide, "Technical Specifications per
    Compute Capability"): threads, blocks, registers of 4 bytes, bytes of shared memory, and the
    bytes of it that the system keeps for itself in every block."""

    threads: int
    blocks: int
    registers: int
    shared: int
    reserved: int


GPUS = {
    "T4": Limits(1024, 16, 65536, 64 * 1024, 0),
    "A100": Limits(2048, 32, 65536, 164 * 1024, 1024),
    "RTX 4090": Limits(1536, 24, 65536, 100 * 1024, 1024),
    "H200": Limits(2048, 32, 65536, 228 * 1024, 1024),
}


def resident_blocks(block: int, registers: int, shared: int, limits: Limits) -> dict[str, int]:
    """How many blocks each of a multiprocessor's limits allows at a time; the least counts.

    `registers` are those of a thread, given out to warps in pieces of 256; `shared` the bytes of a
    block.
    """
    in_warps = -(-block // WARP)
    of_warp = -(-registers * WARP // 256) * 256
    allowed = {
        "threads": limits.threads // (in_warps * WARP),
        "blocks": limits.blocks,
        "registers": limits.registers // of_warp // in_warps,
    }
    if shared:
        allowed["shared memory"] = limits.shared // (shared + limits.reserved)
    return allowed


def occupancy(block: int, registers: int = 32, shared: int = 0, gpu: str = "H200") -> None:
    """Draw what limits the resident threads of one multiprocessor, and print the same facts.

    Parameters
    ----------
    block : int
        Threads of a block, 1 to 1024.
    registers : int
        Of a thread, 1 to 255: `kernel.num_regs` on a GPU.
    shared : int
        Bytes of shared memory of a block.
    gpu : str
        Whose limits count: "T4", "A100", "RTX 4090" or "H200".

    Raises
    ------
    ValueError
        For another GPU, or for a block that no multiprocessor takes.
    """
    if gpu not in GPUS:
        raise ValueError(f"gpu={gpu!r} is unknown; there are {', '.join(GPUS)}.")
    block, registers = _count("block", block), _count("registers", registers)
    shared = _count("shared", shared, 0)
    if block > 1024 or registers > 255:
        raise ValueError(f"a block has at most 1024 threads and a thread 255 registers, not {block}"
                         f" and {registers}.")
    limits = GPUS[gpu]
    allowed = resident_blocks(block, registers, shared, limits)
    live = min(allowed.values())
    if not live:
        why = min(allowed, key=allowed.get)
        raise ValueError(f"no multiprocessor of the {gpu} has enough {why} for one such block.")
    reasons = [name for name, count in allowed.items() if count == live]
    with style():
        most = max(allowed.values())
        axes = _canvas(7.6, 0.7 + 0.34 * len(allowed), most * 1.25, len(allowed) + 0.1, -most / 4,
                       f"{gpu}: blocks of {block} threads on one multiprocessor")
        for k, (name, count) in enumerate(allowed.items()):
            axes.text(-most / 100, k + 0.5, name, ha="right", va="center", fontsize=9)
            tight = name in reasons
            box(axes, 0, k + 0.1, count, 0.76, fill=COLOURS[0] if tight else SHADES[4],
                hatch="" if tight else "..")
            axes.text(count + most / 100, k + 0.5, f"{count}" + (", the limit" if tight else ""),
                      va="center", fontsize=9)
        axes.axvline(live, color=INK, linestyle="--", linewidth=1)
        threads = live * math.ceil(block / WARP) * WARP
        several = "s" if live > 1 else ""
        show("How many blocks each resource allows on a multiprocessor",
             f"{gpu}: {live} block{several} of {block} threads at a time, limited by"
             f" {' and '.join(reasons)}:\n{threads} of {limits.threads} threads,"
             f" occupancy {threads / limits.threads:.0%}.")
