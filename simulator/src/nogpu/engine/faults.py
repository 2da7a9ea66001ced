"""Faults of kernels as Python exceptions, with all that is known about them."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from . import memory
from .records import AccessKind, BarrierTrouble, FaultKind, FaultRecord, RegionKind

# What reports call an access, what a thread does, and what it did.
_ACCESSES = {
    AccessKind.Read: ("read", "reads", "read"),
    AccessKind.Write: ("write", "writes", "wrote"),
    AccessKind.Atomic: ("atomic", "updates atomically", "atomically updated"),
}
_UNKNOWN = (None, "uses", "used")
_LINE_MARKER = re.compile(r'\s*#\s*line\s+(\d+)(?:\s+"([^"]*)")?\s*$')


class KernelFault(Exception):
    """A kernel did what a correct kernel never does. The process and later launches go on.

    Attributes
    ----------
    called : str
        What reports call a fault of this class: "race", "access outside an array".
    kind : str
        One word or two that faults of several classes may share: "out of bounds".
    records : tuple of FaultKind
        What the runtime records for it; empty where it records none.
    kernel : str
        Its name.
    device : int
        Where it ran.
    file, line, text : str, int or None, str
        The source file's name, the line, and what it says.
    array : str or None
        The array: the name given at allocation, or its name in the source.
    index : int or None
        Of the element, in elements of the size that was accessed.
    block, thread : tuple of int
        ``(x, y, z)`` of the thread at fault.
    other_block, other_thread : tuple of int or None
        For a race or a barrier, the other party.
    address, size : int or None
        Of the access, in bytes.
    access : str or None
        ``"read"``, ``"write"`` or ``"atomic"``.
    """

    __module__ = "nogpu"  # where programs import it from: so errors and pickles name it
    called: ClassVar[str] = "fault"
    kind: ClassVar[str] = "fault"
    records: ClassVar[tuple[FaultKind, ...]] = ()

    kernel: str = ""
    device: int = 0
    file: str | None = None
    line: int | None = None
    text: str = ""
    array: str | None = None
    index: int | None = None
    block: tuple[int, int, int] = (0, 0, 0)
    thread: tuple[int, int, int] = (0, 0, 0)
    other_block: tuple[int, int, int] | None = None
    other_thread: tuple[int, int, int] | None = None
    address: int | None = None
    size: int | None = None
    access: str | None = None

    def __init_subclass__(
        cls, called: str | None = None, kind: str | None = None, records: tuple[FaultKind, ...] = ()
    ) -> None:
        if called is not None:
            cls.called, cls.kind, cls.records = called, kind or called, records
        if cls.__module__ == __name__:
            cls.__module__ = KernelFault.__module__


class GlobalOutOfBounds(
    KernelFault, called="access outside an array", kind="out of bounds",
    records=(FaultKind.GlobalOutOfBounds,)
):  # fmt: skip
    """An access outside every array of device memory."""


class SharedOutOfBounds(
    KernelFault, called="access outside a shared array", kind="out of bounds",
    records=(FaultKind.SharedOutOfBounds,)
):  # fmt: skip
    """An access outside a ``__shared__`` array, or outside a row of one."""


class LocalOutOfBounds(KernelFault, called="access outside a local array", kind="out of bounds"):
    """An access outside an array of the thread's own."""


class NullPointer(KernelFault, called="null pointer", records=(FaultKind.NullPointer,)):
    """An access through a null pointer, or near it."""


class UseAfterFree(
    KernelFault, called="use of freed memory", kind="use after free",
    records=(FaultKind.UseAfterFree,)
):  # fmt: skip
    """An access to an array that was freed."""


class MisalignedAccess(
    KernelFault, called="misaligned access", kind="misaligned", records=(FaultKind.Misaligned,)
):  # fmt: skip
    """An access at an address that is no multiple of its size."""


class UninitialisedRead(
    KernelFault, called="read of memory that nobody has written", kind="uninitialised",
    records=(FaultKind.Uninitialised,)
):  # fmt: skip
    """A read of memory that nobody has written."""


class Race(KernelFault, called="race", records=(FaultKind.Race,)):
    """Two threads use one address, one of them writes, and nothing orders them."""


class BarrierFault(
    KernelFault, called="barrier not reached together", kind="barrier",
    records=(FaultKind.Barrier,)
):  # fmt: skip
    """A barrier, or a warp operation, that threads of its warp do not reach together."""


class StackOverflow(KernelFault, called="stack overflow", records=(FaultKind.StackOverflow,)):
    """A thread's stack is full: endless recursion, or very large local arrays."""


class IntegerDivisionByZero(
    KernelFault, called="integer division by zero", kind="division by zero",
    records=(FaultKind.Division, FaultKind.DivisionOfSmallest)
):  # fmt: skip
    """An integer division or remainder by zero; without checks perhaps one that overflows."""


class IntegerDivisionOverflow(
    KernelFault, called="integer division that overflows", kind="division overflow",
    records=(FaultKind.DivisionOverflow,)
):  # fmt: skip
    """A signed integer's smallest value divided by -1: the quotient does not fit its type.

    Processors other than x86-64 report nothing.
    """


class AssertionFault(
    KernelFault, called="failed assertion", kind="assertion", records=(FaultKind.Assertion,)
):  # fmt: skip
    """An ``assert`` in a kernel did not hold."""


class NotDeviceMemory(
    KernelFault, called="access outside all arrays", kind="out of bounds",
    records=(FaultKind.NotDeviceMemory,)
):  # fmt: skip
    """An access to an address that is no device memory: a host pointer, or a wild one."""


class KernelSignal(KernelFault, called="trap", records=(FaultKind.Signal, FaultKind.Trap)):
    """Any other signal inside a kernel, or ``__trap()``."""


class StreamRace(KernelFault, called="missing order between streams", kind="stream order"):
    """Work of two streams, or of a stream and the host, uses the same memory without an order.

    Attributes
    ----------
    streams : tuple of (int or None)
        The handles of both streams; None for the host.
    sites : tuple of ((str, int) or None)
        File and line of the program where each piece of work was queued.
    """

    streams: tuple[int | None, int] = (0, 0)
    sites: tuple[tuple[str, int] | None, tuple[str, int] | None] = (None, None)


class KernelTimeout(KernelFault, called="time limit"):
    """The kernel ran longer than its time limit."""


# Those of one access, whose address the runtime records.
_ACCESS_FAULTS = (
    FaultKind.GlobalOutOfBounds, FaultKind.NullPointer, FaultKind.UseAfterFree,
    FaultKind.Misaligned, FaultKind.Uninitialised, FaultKind.Race, FaultKind.NotDeviceMemory,
)  # fmt: skip
# Those that have no address, and what the thread did.
_NOWHERE = {
    FaultKind.StackOverflow:
        "has used up its stack (192 KB here): endless recursion, or a large array",
    FaultKind.Division: "divides an integer by zero",
    FaultKind.DivisionOverflow:
        "divides the smallest integer of a type by -1, and the quotient overflows",
    FaultKind.DivisionOfSmallest:
        "divides the smallest integer of a type by zero, or by -1, which overflows: with checks on "
        "it is known which",
    FaultKind.Trap: "executed __trap()",
}  # fmt: skip
# Of an array whose type the compiler knew (FaultKind.ArrayOutOfBounds) the source tells the class.
_CLASSES = {number: cls for cls in KernelFault.__subclasses__() for number in cls.records}


@dataclass
class Place:
    """What a module tells about one of its builds, for reports."""

    kernel: str
    source: str
    """The learner's source."""
    source_name: str
    locate: object
    """Callable: instruction address to ``(file, line)`` or None."""
    shared: list
    """Rows ``[name, offset, bytes, owner, kind]``."""
    data: list
    """Rows ``[name, mangled, offset from the region's start, bytes]``."""
    dynamic_bytes: int
    arrays: Sequence[memory.Allocation] = ()
    """What the launch's arguments pointed to, as it was then."""
    device: int | None = None
    """Where it runs, if there are several."""


def _elements(offset: int, size: int, itemsize: int) -> str:
    return f"{offset // itemsize}" if offset % itemsize == 0 else f"byte {offset}"


def _array_in_region(record: FaultRecord, place: Place) -> tuple[str | None, int, int]:
    """Name, offset within it and size of the shared array or variable that was meant."""
    shared = record.region == RegionKind.Shared
    rows = place.shared if shared else [[r[0], r[2], r[3]] for r in place.data]
    best = None
    for row in rows:
        name, start, size = row[0], row[1], row[2]
        if shared and row[4] == 2:
            continue
        if shared and row[4] == 1:
            size = place.dynamic_bytes
        if start <= record.offset and (best is None or start > best[1]):
            best = (name, start, size)
    if best is None:
        return None, record.offset, 0
    return best[0], record.offset - best[1], best[2]


def _declared(source: str, qualifier: str, name: str) -> bool:
    """Does the source declare an array of this name with this qualifier?"""
    return re.search(rf"{qualifier}[^;(){{}}=]*\b{name}\s*\[", source) is not None


def _declared_name(text: str, column: int) -> str | None:
    """The array that a bounds check speaks of, read from the line's text."""
    subscripts = r"([A-Za-z_]\w*)\s*((?:\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]\s*)+)"
    candidates = [
        (found.start(), found.end(), found.group(1)) for found in re.finditer(subscripts, text)
    ]
    inside = [c for c in candidates if c[0] < column <= c[1] + 1]
    pool = inside or candidates
    names = {name for _, _, name in pool}
    if len(names) == 1:
        return names.pop()
    if inside:
        return min(inside, key=lambda c: c[1] - c[0])[2]
    return None


def _line_text(place: Place, file: str | None, line: int, whole: bool = False) -> str:
    """What a line of the learner's source says; ``#line`` in generated source is followed."""
    lines = place.source.split("\n")
    name, number = place.source_name.rsplit("/", 1)[-1], 1
    for text in lines:
        marker = _LINE_MARKER.match(text)
        if marker:
            number, name = int(marker.group(1)), marker.group(2) or name
            continue
        if number == line and name == file:
            return text if whole else text.strip()
        number += 1
    return ""


def build(record: FaultRecord, place: Place) -> KernelFault:
    """The exception for a fault that the runtime recorded."""
    kind = record.kind
    block, thread = tuple(record.block), tuple(record.thread)
    file, line = place.source_name, record.line or None
    if record.pc and not line:
        # The return address of a call: one byte back is still inside the call.
        by_signal = kind in (FaultKind.StackOverflow, FaultKind.Signal) or record.signal_number
        pc = record.pc if by_signal else record.pc - 1
        found = place.locate(pc)
        if found:
            file, line = found
    elif record.pc and "#line" in place.source:
        found = place.locate(record.pc - 1)
        if found and found[1] == line:
            file = found[0]
    file = file.rsplit("/", 1)[-1] if file else None
    text = _line_text(place, file, line) if line else ""
    access, verb, _ = _ACCESSES.get(record.access, _UNKNOWN)
    who = f"thread {thread} of block {block}"
    cls = _CLASSES.get(kind, KernelSignal)
    array = index = None
    size = record.size or None
    address = record.address or None
    detail = ""

    if kind == FaultKind.ArrayOutOfBounds:
        raw = _line_text(place, file, line, whole=True) if text else ""
        type_name = record.text.decode(errors="replace")
        array = _declared_name(raw, record.column)
        index = record.index
        # By the source: an array that is only written has no symbol left.
        if array and _declared(place.source, "__shared__", array):
            cls, what = SharedOutOfBounds, "shared array"
        elif array and _declared(place.source, "__(?:device|constant|managed)__", array):
            cls, what = GlobalOutOfBounds, "device array"
        else:
            cls, what = LocalOutOfBounds, "local array"
        named = f"{what} '{array}'" if array else "an array"
        detail = f"{who} uses index {index} of {named}, of type {type_name}"
        access = None
        size = address = None
    elif kind in _ACCESS_FAULTS and record.access >= 0:
        array, index, where = _where(record, place, kind)
        detail = f"{who} {verb} {record.size} bytes {where}"
        if kind == FaultKind.Race:
            other_thread, other_block = tuple(record.other_thread), tuple(record.other_block)
            other = f"thread {other_thread}"
            if other_block != block:
                other += f" of block {other_block}"
                why = "blocks are not ordered within a launch: only atomics may meet here"
            else:
                other += " of the same block"
                why = "no barrier lies between"
            past = _ACCESSES.get(record.other_access, _UNKNOWN)[2]
            detail += f", which {other} {past} as well, and {why}"
        elif kind == FaultKind.Uninitialised:
            detail += ", which nobody has written"
        elif kind == FaultKind.Misaligned:
            detail += f": address {record.address:#x} is no multiple of {record.size}"
    elif kind == FaultKind.SharedOutOfBounds:
        array, index, where = _where(record, place, kind)
        detail = f"{who} {verb} {record.size} bytes {where}"
    elif kind == FaultKind.Barrier:
        detail = _barrier_detail(record, who)
    elif kind in _NOWHERE:
        detail = f"{who} {_NOWHERE[kind]}"
        address = None
    elif kind == FaultKind.Assertion:
        detail = f"{who}: assertion `{record.text.decode(errors='replace')}` failed"
    elif kind in (FaultKind.NullPointer, FaultKind.NotDeviceMemory):
        if kind == FaultKind.NullPointer:
            detail = f"{who} uses address {record.address:#x}: a null pointer"
        else:
            detail = f"{who} uses address {record.address:#x}, which is no device memory"
    else:
        try:
            name = signal.Signals(record.signal_number).name
        except ValueError:
            name = f"signal {record.signal_number}"
        detail = f"{who} caused {name}"

    where = f"kernel '{place.kernel}'"
    if place.device is not None:
        where += f" on device {place.device}"
    if line:
        where += f", {file}:{line}"
    message = f"{where}: {detail}"
    if text:
        message += f"\n    {text}"
    fault = cls(message)
    fault.kernel, fault.file, fault.line, fault.text = place.kernel, file, line, text
    fault.array, fault.index, fault.device = array, index, place.device or 0
    fault.block, fault.thread = block, thread
    if record.has_other:
        fault.other_block = tuple(record.other_block)
        fault.other_thread = tuple(record.other_thread)
    fault.address, fault.size, fault.access = address, size, access
    return fault


def unset(variable: str, line: int, place: Place) -> UninitialisedRead:
    """The fault of a kernel that reads a local variable before it has a value."""
    text = _line_text(place, place.source_name, line)
    fault = UninitialisedRead(
        f"kernel '{place.kernel}', {place.source_name}:{line}: the local variable '{variable}' is "
        f"read before it has a value\n    {text}"
    )
    fault.kernel, fault.file, fault.line = place.kernel, place.source_name, line
    fault.text, fault.array, fault.access = text, variable, "read"
    return fault


def _where(record: FaultRecord, place: Place, kind: int) -> tuple[str | None, int | None, str]:
    """Array, index and a phrase for the place of an access."""
    size = max(1, record.size)
    if record.region in (RegionKind.Shared, RegionKind.Module):
        name, offset, total = _array_in_region(record, place)
        if name is None:
            return None, None, "of shared memory outside every array"
        what = "shared array" if record.region == RegionKind.Shared else "device variable"
        phrase = f"at {name}[{_elements(offset, size, size)}]"
        index = offset // size if offset % size == 0 else None
        if kind in (FaultKind.GlobalOutOfBounds, FaultKind.SharedOutOfBounds):
            phrase += f", outside the {what} '{name}' of {total:,} bytes"
        return name, index, phrase
    if kind == FaultKind.NullPointer:
        return None, None, f"at address {record.address:#x}: a null pointer"
    other = memory.lookup(record.address) if kind == FaultKind.NotDeviceMemory else None
    if kind == FaultKind.NotDeviceMemory and other is None:
        phrase = f"at address {record.address:#x}, which is no device memory (a host pointer?)"
        return None, None, phrase
    state, near = _nearest(record.address, place.arrays, kind)
    if near is None:
        return None, None, f"at address {record.address:#x}, outside every array"
    offset = record.address - near.address
    label = near.name or f"array of {near.nbytes:,} bytes at {near.address:#x}"
    index = offset // size if offset % size == 0 else None
    shown = _elements(offset, size, size)
    phrase = f"at {label}[{shown}]" if near.name else f"at element {shown} of the {label}"
    if kind == FaultKind.GlobalOutOfBounds:
        elements = f"{near.nbytes // size:,} elements of {size} bytes"
        if offset >= near.nbytes:
            phrase += f", {offset - near.nbytes:,} bytes past its end ({elements})"
        elif offset < 0:
            phrase += f", {-offset:,} bytes before its start ({elements})"
        else:
            phrase += f", across its end ({near.nbytes:,} bytes)"
    elif other is not None:
        phrase += f", which is on device {other.device}: without peer access it is out of reach"
    elif kind == FaultKind.UseAfterFree or state == "freed":
        phrase += ", which was freed"
    return label, index, phrase


def _nearest(
    address: int, arrays: Sequence[memory.Allocation], kind: int
) -> tuple[str, memory.Allocation | None]:
    """The allocation that an address belongs to or misses; of the launch's own arrays first.

    They may have been freed since, which is no fault of the kernel's.
    """
    state, near = memory.nearest(address)
    if not arrays or (state == "live" and near is not None):
        return state, near
    own = min(
        arrays,
        key=lambda a: max(a.address - address, address - (a.address + a.nbytes) + 1, 0),
    )
    if own.address <= address < own.address + own.nbytes:
        return ("freed" if kind == FaultKind.UseAfterFree else "live"), own
    return ("freed", near) if state == "freed" else ("outside", own)


# What a thread did at a barrier or a warp operation, in the words of the record's numbers.
_BARRIERS = {
    BarrierTrouble.TwoBarriers:
        "waits at the barrier in line {0.line} while {other} of the same warp waits at another "
        "one, in line {0.other_line}",
    BarrierTrouble.SourceAbsent:
        "reads a value of {other} by a shuffle in which that lane takes no part: what it gets is "
        "undefined",
    BarrierTrouble.MatricesDiffer:
        "and {other} of the same warp come to a matrix operation with different pointers, strides, "
        "layouts or fragments",
    BarrierTrouble.NotCooperative:
        "waits for the whole grid, but the launch is not cooperative: its blocks need not run at "
        "the same time",
    BarrierTrouble.BlocksGone:
        "waits for the whole grid, of which {0.missing} block(s) have ended: nobody can go on",
    BarrierTrouble.NotInMask: "calls a warp operation whose mask does not name it",
    BarrierTrouble.Deadlock:
        "waits at the warp operation in line {0.line} for lanes that wait elsewhere: nobody can go "
        "on ({0.waiting} thread(s) at a barrier)",
}  # fmt: skip


def _barrier_detail(record: FaultRecord, who: str) -> str:
    if record.detail == BarrierTrouble.WarpIncomplete:
        return (
            f"{who}: the matrix operation of a warp needs all its 32 threads, and "
            f"{record.missing} of them are not there"
        )
    text = _BARRIERS.get(record.detail, _BARRIERS[BarrierTrouble.Deadlock])
    return f"{who} {text.format(record, other=f'thread {tuple(record.other_thread)}')}"
