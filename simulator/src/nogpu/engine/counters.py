"""What a launch asks of memory, counted as a GPU counts it.

A *request* is one load, store or atomic of one warp: its 32 lanes together. A request to global
memory touches *sectors* of 32 bytes; four neighbouring sectors serve 32 lanes that read 32
neighbouring floats. A request to shared memory takes *wavefronts*: one, unless several lanes want
different words of one bank.

What is counted is the source as written: every access in it, once each time that it is executed.
Two equal reads with no write between are one, and a read that a loop without writes repeats is
made once before it. Vector types are one access up to 16 bytes, structures one for each 4 bytes.
An atomic counts by the sectors that it touches, however many lanes meet there; in shared memory a
wavefront for each lane of the fullest bank, but for increments by one, which meet in one word.

Measured kernels (tests/engine/nsight) give Nsight Compute's figures on an H200: requests and
sectors exactly, wavefronts exactly those of its instrumented counters, within 3 percent of the
hardware's. g++, clang and zig count them alike. A GPU's compiler makes something else of some
sources, whose counts on a GPU are others:

* a sum kept in memory, ``y[i] += ...`` in a loop: a GPU may keep it in a register;
* rows of a shared tile read in an unrolled loop: four floats in one load, a quarter of the
  requests (``#pragma unroll 1`` keeps them apart);
* ``atomicAdd`` of floats in shared memory: a loop of loads and compare-and-swap;
* a value that only some lanes need: its load moves under their ``if``;
* a store in both branches of an ``if`` to one place: one store behind it.

Lanes that go through a loop unequally often: the k-th round of one belongs with the k-th round of
the others, counted from where the warp met last (a barrier, or a warp operation of all its lanes).
A GPU that unrolled such a loop needs a few requests more. There is no cache in it: what is counted
is asked for, whether it comes from a cache or not; ``__constant__`` memory is left out.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from contextvars import ContextVar
from ctypes import byref, c_uint64
from dataclasses import dataclass, field, replace

from . import faults, forking, memory
from .records import AccessKind, CounterRow, CounterSample, CounterTotals, Space

# A build for counting calls these functions where other instrumented builds call the first.
_RENAMED_FUNCTIONS = {
    **{
        f"__tsan_{kind}{n}": f"nogpu_counted_{kind}{n}"
        for kind in ("read", "write", "read_write", "unaligned_read", "unaligned_write",
                     "volatile_read", "volatile_write")
        for n in (1, 2, 4, 8, 16)
    },
    **{
        f"nogpu_{kind}{n}": f"nogpu_counted_vector_{kind}{n}"
        for kind in ("read", "write")
        for n in (2, 4, 8, 16)
    },
    "nogpu_atomic_hook": "nogpu_counted_atomic_hook",
    "__tsan_read_range": "nogpu_counted_read_range",
    "__tsan_write_range": "nogpu_counted_write_range",
    "memcpy": "nogpu_counted_memcpy",
    "memmove": "nogpu_counted_memcpy",
    "memset": "nogpu_counted_memset",
    "__tsan_memcpy": "nogpu_counted_memcpy",
    "__tsan_memmove": "nogpu_counted_memcpy",
    "__tsan_memset": "nogpu_counted_memset",
}  # fmt: skip
RENAMED = "".join(
    f'__asm__(".set {old}, {new}\\n");\n' for old, new in _RENAMED_FUNCTIONS.items()
)

_ACCESS = {AccessKind.Read: "load", AccessKind.Write: "store", AccessKind.Atomic: "atomic"}
_VARIABLE_SHIFT = 40
_SPACE = {Space.Global: "global", Space.Shared: "shared", Space.Module: "global"}


@dataclass
class Line:
    """What one access in the source asked for, over the whole launch."""

    kernel: str
    file: str
    line: int | None
    text: str
    """The source line."""
    space: str
    """``"global"`` or ``"shared"``."""
    access: str
    """``"load"``, ``"store"`` or ``"atomic"``."""
    array: str | None
    size: int
    """Bytes of one lane's access."""
    requests: int = 0
    accesses: int = 0
    """Lanes that took part, over all requests."""
    sectors: int = 0
    ideal_sectors: int = 0
    """The fewest sectors that could hold the bytes that each request wants."""
    wavefronts: int = 0
    ideal_wavefronts: int = 0

    @property
    def bytes(self) -> int:
        """Bytes that all lanes asked for, the same ones counted as often as they were."""
        return self.accesses * self.size


@dataclass
class Sample:
    """One request of a warp of block (0, 0, 0): which address each lane used."""

    line: Line
    warp: int
    occurrence: int
    """0 for the first time that the warp did this."""
    lanes: list[int]
    addresses: list[int]
    offsets: list[int]
    """The same from the start of the array."""


# Name, and how it is summed up over the lines: space, access, attribute.
_SUMS = {
    f"{space}_{access}_{what}": (space, access, what)
    for space, unit in (("global", "sectors"), ("shared", "wavefronts"))
    for access in ("load", "store", "atomic")
    for what in ("requests", unit)
}
_SUMS |= {f"bytes_{verb}": ("global", access, "bytes")
          for verb, access in (("loaded", "load"), ("stored", "store"))}  # fmt: skip
_TOTALS = ("barriers", "warp_operations", "blocks", "warps")
_OTHER = ("launches", "array_bytes")


@dataclass
class Counts:
    """What launches asked of memory, and the arrays of a library's operations.

    ``counts["global_load_sectors"]`` or ``counts.global_load_sectors``; :attr:`names` are
    ``global_`` and ``shared_`` with ``load_``, ``store_`` and ``atomic_``, with ``requests`` and
    ``sectors`` or ``wavefronts``; ``bytes_loaded`` and ``bytes_stored`` (global memory, as asked
    for by all lanes), ``barriers`` (times that a block passed one), ``warp_operations``,
    ``blocks``, ``warps``, ``launches``. Array operations run as no kernel here: ``array_bytes`` is
    a model, every array that one reads or writes taken once, but none at indices that data give.
    """

    lines: list[Line] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    barriers: int = 0
    warp_operations: int = 0
    blocks: int = 0
    warps: int = 0
    launches: int = 0
    array_bytes: int = 0
    late: int = 0
    """Accesses that were counted as requests of their own because the rest of their warp was more
    than a thousand rounds ahead: 0 but for very uneven loops."""

    names = (*_SUMS, *_TOTALS, *_OTHER)

    def __getitem__(self, name: str) -> int:
        if name in _SUMS:
            space, access, what = _SUMS[name]
            return sum(
                getattr(line, what)
                for line in self.lines
                if line.space == space and line.access == access
            )
        if name in (*_TOTALS, *_OTHER):
            return getattr(self, name)
        raise KeyError(f"no counter is called {name!r}; there are {', '.join(self.names)}")

    def __getattr__(self, name: str) -> int:
        if name in _SUMS:
            return self[name]
        raise AttributeError(f"no counter is called {name!r}; there are {', '.join(self.names)}")

    def as_dict(self) -> dict[str, int]:
        """All counters that are not zero."""
        return {name: self[name] for name in self.names if self[name]}

    def add(self, other: Counts) -> None:
        """Add another launch's counts."""
        known = {_identity(line): line for line in self.lines}
        for line in other.lines:
            mine = known.get(_identity(line))
            if mine is None:
                mine = replace(line)
                self.lines.append(mine)
                known[_identity(line)] = mine
            else:
                for name in _SUMMED:
                    setattr(mine, name, getattr(mine, name) + getattr(line, name))
        if not self.launches:
            self.samples = [replace(s, line=known[_identity(s.line)]) for s in other.samples]
        for name in (*_TOTALS, *_OTHER, "late"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


_SUMMED = ("requests", "accesses", "sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts")


def _identity(line: Line) -> tuple:
    return (line.kernel, line.file, line.line, line.text, line.space, line.access, line.array,
            line.size)  # fmt: skip


# Who wants the counts of what is launched in this context: see `streams.counting`.
_recorders: ContextVar[tuple[Counts, ...]] = ContextVar("nogpu_recorders", default=())
_adding = forking.held("counts", threading.RLock())


def begin_recording(counts: Counts) -> None:
    """Add the counts of every launch of this context to ``counts`` from now on."""
    _recorders.set((*_recorders.get(), counts))


def end_recording(counts: Counts) -> None:
    """No longer add to ``counts``, in whatever order several are ended."""
    _recorders.set(tuple(other for other in _recorders.get() if other is not counts))


def recorders_now(own: bool) -> list[Counts]:
    """Who wants the counts of a launch that begins now; the launch's own result last."""
    return [*_recorders.get(), *([Counts()] if own else [])]


def record(recorders: Iterable[Counts], found: Counts) -> None:
    """Add a launch's counts to each of the recorders, which other threads may share."""
    with _adding:
        for recorder in recorders:
            recorder.add(found)


def read_counts(runtime: ctypes.CDLL, job: int, place: faults.Place) -> Counts:
    """The counts of a job that has ended."""
    rows, samples = ctypes.POINTER(CounterRow)(), ctypes.POINTER(CounterSample)()
    row_count, sample_count, totals = c_uint64(), c_uint64(), CounterTotals()
    runtime.cs_counters(job, byref(rows), byref(row_count), byref(samples), byref(sample_count),
                        byref(totals))  # fmt: skip
    result = Counts(launches=1, **{name: getattr(totals, name) for name in _TOTALS})
    by_place: dict[tuple, Line] = {}
    by_instruction: dict[tuple, Line] = {}
    for i in range(row_count.value):
        row = rows[i]
        line = _line(row, place)
        if line is None:
            continue
        line = by_place.setdefault(_identity(line), line)
        by_instruction[row.pc, row.access, row.space, row.size] = line
        for name in _SUMMED:
            setattr(line, name, getattr(line, name) + getattr(row, name))
        result.late += row.late
    result.lines = sorted(
        by_place.values(), key=lambda a: (a.line or 0, a.space, a.access, a.array or "", a.size)
    )
    for i in range(sample_count.value):
        found = samples[i]
        line = by_instruction.get((found.pc, found.access, found.space, found.size))
        if line is None:
            continue
        lanes = [lane for lane in range(32) if found.mask >> lane & 1]
        addresses = [found.address[lane] for lane in lanes]
        _, start = _place_of(found.space, addresses[0], place)
        result.samples.append(
            Sample(line, found.warp, found.occurrence, lanes, addresses,
                   [address - start for address in addresses])
        )  # fmt: skip
    order = {id(line): i for i, line in enumerate(result.lines)}
    result.samples.sort(key=lambda s: (order[id(s.line)], s.occurrence, s.warp))
    return result


def _line(row: CounterRow, place: faults.Place) -> Line | None:
    name, _ = _place_of(row.space, row.address, place)
    if row.space == Space.Module and name and faults._declared(place.source, "__constant__", name):
        return None  # another kind of memory, with a cache of its own
    found = place.locate(row.pc - 1)
    file, number = found or (place.source_name, None)
    file = file.rsplit("/", 1)[-1]
    text = ""
    if number and file == place.source_name.rsplit("/", 1)[-1]:
        lines = place.source.split("\n")
        text = lines[number - 1].strip() if number <= len(lines) else ""
    return Line(place.kernel, file, number, text, _SPACE[row.space], _ACCESS[row.access], name,
                row.size)  # fmt: skip


def _place_of(space: int, address: int, place: faults.Place) -> tuple[str | None, int]:
    """Name and start of the array at an address, in the runtime's way of counting."""
    if space == Space.Global:
        found = memory.lookup(address)
        return (found.name, found.address) if found else (None, address)
    if space == Space.Module:
        number = address >> _VARIABLE_SHIFT
        return place.data[number - 1][0], number << _VARIABLE_SHIFT
    rows = [(r[1], r[0]) for r in place.shared if r[4] != 2 and r[1] <= address]
    start, name = max(rows, default=(0, None))
    return name, start
