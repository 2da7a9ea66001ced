"""The ladder of the digit reader as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt

from ..formats import aligned, duration
from .style import COLOURS, FAINT, INK, show, style

MARKERS = "osD^vPX*"  # one for each machine


def ladder(machines: Sequence[Any], flops: float, only: Sequence[str] = ()) -> None:
    """Draw digits a second, rung by rung, on a logarithmic axis, and print the same as a table.

    Parameters
    ----------
    machines : sequence of helpers.ladder.Machine
        What is known of each machine. The first that has a rung decides its place.
    flops : float
        Operations of a digit, for the roof of a machine's arithmetic.
    only : sequence of str
        The names of the rungs to show; all of them, if this is empty.
    """
    rates: dict[str, float] = {}
    for machine in machines:
        for name, rung in machine.rungs.items():
            rates.setdefault(name, rung.rate)
    if unknown := set(only) - set(rates):
        raise ValueError(f"the ladder has no rung {min(unknown)!r}.")
    names = sorted(only or rates, key=rates.get)  # the slowest first: they are drawn upwards
    machines = [machine for machine in machines if set(names) & set(machine.rungs)]
    with style():
        figure, axes = plt.subplots(figsize=(8, 1.6 + 0.34 * len(names)), layout="constrained")
        for k, machine in enumerate(machines):
            have = [(machine.rungs[name].rate, y) for y, name in enumerate(names)
                    if name in machine.rungs]
            axes.plot(*zip(*have), MARKERS[k % len(MARKERS)] + "-", color=FAINT, markersize=8,
                      markerfacecolor=COLOURS[k % len(COLOURS)], markeredgecolor=INK, linewidth=1,
                      label=machine.name)
            for rate, y in have:
                side = -1 if 0 < k == len(machines) - 1 else 1  # the last one's on the left
                axes.annotate(f"{rate:,.0f}", (rate, y), xytext=(9 * side, 0), va="center",
                              ha="right" if side < 0 else "left", fontsize=8, zorder=3,
                              textcoords="offset points",
                              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
            if machine.roof:
                axes.axvline(machine.roof.flops / flops, color=FAINT, linestyle="--",
                             label=f"roof of float32's arithmetic, {machine.name.split(',')[0]}")
        axes.set_yticks(range(len(names)), names)
        axes.set(xscale="log", xlabel="digits a second (logarithmic)")
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.set_xlim(axes.get_xlim()[0] / 4, axes.get_xlim()[1] * 8)
        figure.legend(loc="outside lower center", fontsize=8, frameon=False)
        show("The ladder: digits a second, rung by rung", _table(names, machines, flops),
             printed=True)


def _table(names: Sequence[str], machines: Sequence[Any], flops: float) -> str:
    """The rungs as text, the slowest first, and how long a billion digits take."""
    rows = [("", "images", *(machine.name.partition(",")[2] or "on" for machine in machines),
             "a billion"),
            ("digits a second", "in", *(machine.name.partition(",")[0] for machine in machines),
             "digits")]
    for name in names:
        rungs = [machine.rungs.get(name) for machine in machines]
        first = next(filter(None, rungs))
        rows.append((name, first.where,
                     *(f"{rung.rate:,.0f}" if rung else "-" for rung in rungs),
                     duration(1e9 / first.rate)))
    for machine in machines:
        if machine.roof:
            rate = machine.roof.flops / flops
            rows.append(("roof of float32's arithmetic", "",
                         *(f"{rate:,.0f}" if other is machine else "" for other in machines),
                         duration(1e9 / rate)))
    lines = [line.rstrip() for line in aligned(rows)]
    return "\n".join(lines + _notes(names, machines, flops))


def _notes(names: Sequence[str], machines: Sequence[Any], flops: float) -> list[str]:
    """Which rungs ran on a processor, and which are above a roof of float32 in other formats."""
    processors: dict[str, dict[str, None]] = {}  # names in order, each once
    above: dict[str, str] = {}  # the format of the products of each rung
    for machine in machines:
        gpus = {rung.machine for rung in machine.rungs.values() if rung.where == "device"}
        for name in names:
            rung = machine.rungs.get(name)
            if rung and rung.machine not in gpus:
                processors.setdefault(rung.machine, {})[name] = None
            if (rung and machine.roof and rung.number != "float32"
                    and rung.rate > machine.roof.flops / flops):
                above[name] = rung.number
    lines = [f"Above the roof of float32, with products in {above[name]}: {name}" for name in above]
    for processor, ran in processors.items():
        lines += [f"On the processor, {processor}:", *textwrap.wrap("; ".join(ran), 79,
                  initial_indent="  ", subsequent_indent="  ")]
    return lines
