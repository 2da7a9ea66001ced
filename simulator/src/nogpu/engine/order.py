"""Order between streams: work that meets in memory although nothing orders it.

Each stream has a vector clock (Mattern, 1989; Fidge, 1988): how much of each stream's work lies
before what it gets next. Queueing work advances its own part; events, waits and the legacy default
stream carry parts over; the host has a clock, too, which each stream gets with each piece of work.
Two pieces of work that use the same bytes, one of them writing, and neither of which lies in the
other's past, are a `StreamRace`, whether or not their times happened to keep them apart.

* Copies, fills and array work say when they are queued which bytes they use. What work in Python
  uses is read from its closure: arrays that it calls ``target``, ``targets`` or ``to`` are written,
  others of the device are read, and what it calls ``partly`` it uses at places that only the data
  tell: that is not looked at.
* Which bytes a kernel used is known when it has run: from the stamps that its checked accesses
  left in the shadow memory (``runtime/shadow.h``). So its races come out later, and only where it
  ran with the check of races.
* The host's own accesses are seen in page-locked memory of nogpu's, whose pages are protected
  until the host has waited for the copy (``runtime/pinned.h``).

What is found is kept until the next wait of the host, which raises the
first of it.
Host functions of streams count as known to the host once they run; work within one graph counts as
ordered. Nothing is kept while there is one stream and no page-locked memory.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from . import devices, forking, memory, native, records, switches
from .errors import RuntimeUnavailable
from .faults import StreamRace

# Of higher layers: a `streams.Stream`, a `scheduler.Operation`, a `module.PreparedLaunch`.
Stream = Operation = PreparedLaunch = Any

watching = False  # whether anything could be out of order: queueing asks before it calls
_ROOT = os.path.dirname(os.path.dirname(__file__)) + os.sep
_MOST = 64  # uses of one allocation that are remembered, and findings that nobody has asked for
_TARGETS = ("target", "targets", "to")
_BIT = switches.NAMES["order"]
_READ, _ALL = 1, 3  # what mprotect calls reading, and reading and writing
_counters: dict[str, ctypes.c_uint64] = {}
_lock = forking.held("order", threading.RLock())
_host: dict[int, int] = {}  # the host's clock
_clocks: dict[int, dict[int, int]] = {}  # each stream's, by its handle
_blocking: set[int] = set()  # handles of blocking streams, used since the default streams were
_joined: dict[int, int] = {}  # how much of the host's clock a stream has: its version
_version = 0
# By the allocation's address, 0 for the host's memory: by the stream and the bytes the last use,
# by the stream alone its launches.
_uses: dict[int, dict[tuple, _Use | _Launches]] = {}
# A launch by its number and other work, unordered: the stamps will tell whether they meet.
_meetings: list[tuple[int, _Work, _Use]] = []
_guards: list[_Use] = []
_findings: list[StreamRace] = []
_ours: set[str] = set()  # source files of this package and of Python's
_theirs: set[str] = set()  # source files of the program
# How deep it was when `_site` looked last, and what it had called: there `_site` looks first.
_entry: tuple[int, CodeType | None] = (0, None)
_launches: dict[int, _Work] = {}  # those that native code may name, by their numbers
# The stream in whose past all other streams' work lies, and its launches since then: what `_note`
# wants. They are noted when order may depend on them, and forgotten when the host has waited.
_alone: Stream | None = None
_log: deque[tuple] = deque()


class _Work(NamedTuple):
    """One piece of work: what reports say of it."""

    stream: int
    tick: int
    name: str
    kind: str
    place: tuple[CodeType, int] | None  # of the program's own code, and how far it was

    @property
    def site(self) -> tuple[str, int] | None:
        """File and line, which is looked for when it is told: that takes its time."""
        if self.place is None:
            return None
        code, at = self.place
        return code.co_filename, next(n for low, high, n in code.co_lines() if low <= at < high)


class _Use(NamedTuple):
    """Bytes that a piece of work uses."""

    work: _Work
    low: int
    high: int
    array: np.ndarray | None  # where it is not all bytes between
    writes: bool


class _Launches:
    """A stream's last launches that have an allocation among their arguments."""

    __slots__ = ("numbers", "work")

    def __init__(self) -> None:
        self.work: _Work | None = None  # the last
        self.numbers: deque[tuple[int, int]] = deque(maxlen=16)  # ticks and numbers


def watch() -> None:
    """Begin to look: there is a second stream, or page-locked memory."""
    global watching
    watching = True


memory._told.append(watch)


def _count(name: str) -> int:
    """A number that the runtime keeps; 0 where there is no runtime."""
    counter = _counters.get(name)
    if counter is None:
        try:
            counter = _counters[name] = ctypes.c_uint64.in_dll(native.runtime(), name)
        except RuntimeUnavailable:
            return 0
    return counter.value


# ---- clocks --------------------------------------------------------------------------------------


def _join(clock: dict[int, int], other: dict[int, int]) -> None:
    for stream, tick in other.items():
        if clock.get(stream, 0) < tick:
            clock[stream] = tick


def _clock(stream: Stream) -> dict[int, int]:
    """The clock of what a stream would get now."""
    global _alone
    _note_logged()
    if _alone is not stream:
        _alone = None
    handle = stream.handle
    clock = _clocks.get(handle)
    if clock is None:
        clock = _clocks[handle] = {}
    new = _joined.get(handle) != _version
    if new:
        _joined[handle] = _version
        _join(clock, _host)
    if stream.legacy:  # it waits for its device's blocking ones
        for other in [one for one in _blocking if one >> 32 == stream.device]:
            _blocking.discard(other)
            _join(clock, _clocks[other])
    elif not stream.non_blocking:
        _blocking.add(handle)
        _join(clock, _clocks.get(stream.device << 32, {}))
    if new and all(other.get(at, 0) <= clock.get(at, 0) for at, other in _clocks.items()):
        _alone = stream
    return clock


def mark(stream: Stream) -> dict[int, int]:
    """What lies before an event that is recorded now."""
    with _lock:
        return dict(_clock(stream))


def follow(stream: Stream, clock: dict[int, int]) -> None:
    """Let what the stream gets from now on come after an event."""
    with _lock:
        _join(_clock(stream), clock)


def host_knows(clock: dict[int, int] | None) -> None:
    """The host has seen that the work of a clock is done; of all streams' for None."""
    global _version
    with _lock:
        if _count("cs_touches"):
            _judge_touches()
        before = dict(_host)
        for known in _clocks.values() if clock is None else (clock,):
            _join(_host, known)
        if _host != before:
            _version += 1
            _lift_guards()
        if clock is None:
            _uses.clear()
            _log.clear()


def host_waited(stream: Stream) -> None:
    """The host has waited for a stream, by the legacy default one for all blocking ones."""
    with _lock:
        if stream is _alone:
            _log.clear()
        _note_logged()
        host_knows(_clock(stream) if stream.legacy else _clocks.get(stream.handle, {}))


def clock_of(device: int) -> dict[int, int]:
    """What lies before the end of all that a device's streams have got."""
    joined: dict[int, int] = {}
    with _lock:
        _note_logged()
        for handle, clock in _clocks.items():
            if handle >> 32 == device:
                _join(joined, clock)
    return joined


# ---- what work uses ------------------------------------------------------------------------------


def _site() -> tuple[CodeType, int] | None:
    """The program's own code that is running, and how far it is."""
    global _entry
    deep, entry = _entry
    try:
        frame = sys._getframe(deep)
        if frame.f_code is entry and (frame := frame.f_back) is not None:
            code = frame.f_code
            if code.co_filename in _theirs:
                return code, frame.f_lasti
    except ValueError:  # not as deep
        pass
    deep, frame, code = 4, sys._getframe(4), None  # what calls `Stream._put`, or a graph's launch
    while frame is not None:
        called, code = code, frame.f_code
        if code.co_filename not in _ours:
            if not code.co_filename.startswith((_ROOT, "<frozen", "<table")):
                _theirs.add(code.co_filename)
                _entry = deep - 1, called
                return code, frame.f_lasti
            _ours.add(code.co_filename)
        deep, frame = deep + 1, frame.f_back
    return None


def _arrays(function: object, depth: int = 2) -> Iterator[tuple[np.ndarray, bool]]:
    """The arrays that a function's closure holds, and whether it writes them."""
    code = getattr(function, "__code__", None)
    if type(code) is not CodeType:
        return
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            held = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        if name == "partly":
            continue
        kind = type(held)
        if kind is np.ndarray:
            yield held, name in _TARGETS
        elif kind is list or kind is tuple:
            for item in held:
                if type(item) is np.ndarray:
                    yield item, name in _TARGETS
        elif kind is FunctionType and depth:
            yield from _arrays(held, depth - 1)


def traffic(work: Operation) -> int:
    """Bytes of the arrays that work in Python uses: each is read once, or written once."""
    used = {(id(array), writes): array for array, writes in _arrays(work.payload)}
    return sum(array[tuple(slice(None if step else 1) for step in array.strides)].nbytes
               for array in used.values())  # fmt: skip


def _bounds(array: np.ndarray) -> tuple[int, int]:
    low = array.__array_interface__["data"][0]
    if array.flags.c_contiguous:
        return low, low + array.nbytes
    high = low
    for size, step in zip(array.shape, array.strides, strict=True):
        if step < 0:
            low += (size - 1) * step
        else:
            high += (size - 1) * step
    return low, high + array.itemsize


def _rows(address: int, rows: records.Rows, pitch: int) -> tuple[int, int, np.ndarray | None]:
    high = address + (rows.height - 1) * pitch + rows.width
    if rows.height == 1 or pitch == rows.width:
        return address, high, None
    first = np.frombuffer((ctypes.c_uint8 * 1).from_address(address), np.uint8)
    shape, strides = (rows.height, rows.width), (pitch, 1)
    return address, high, np.lib.stride_tricks.as_strided(first, shape, strides)


def _ranges(operation: Operation) -> Iterator[tuple[int, int, np.ndarray | None, bool]]:
    """Low, high, array and whether it writes, for all that is not a kernel."""
    kind, payload = operation.kind, operation.payload
    if kind == "work":
        for array, writes in _arrays(payload):
            if array.size:
                yield (*_bounds(array), None if array.flags.c_contiguous else array, writes)
    elif kind == "fill":
        yield payload[0], payload[0] + operation.nbytes, None, True
    elif kind in ("HtoD", "DtoH", "DtoD"):
        yield (*_rows(payload.source, payload, payload.source_pitch), False)
        yield (*_rows(payload.destination, payload, payload.destination_pitch), True)


def queued(stream: Stream, operation: Operation) -> None:
    """Note work that a stream gets now, and compare it with what nothing orders before it."""
    with _lock:
        clock, handle = _clock(stream), stream.handle
        tick = clock[handle] = clock.get(handle, 0) + 1
        if not switches.enabled() & _BIT:
            return
        work = _Work(handle, tick, operation.name, operation.kind, _site())
        for low, high, array, writes in _ranges(operation):
            device = memory.find(low)
            if device is None and not operation.page_locked:
                continue
            use = _Use(work, low, high, array, writes)
            key = (handle, low, high, writes)
            if array is not None:
                key += (array.shape, array.strides)
            _compare(device.address if device is not None else 0, key, use, clock)
            if device is None and memory.is_page_locked(low):
                _guards.append(use)
                _protect([use])


def launched(stream: Stream, operation: Operation, number: int) -> Sequence[int]:
    """Note a launch under its number; those of the launches that nothing orders before it."""
    wanted = switches.enabled() & _BIT
    if stream is _alone and len(_log) < 4096:  # without the lock: to append is one step
        if wanted:
            _log.append((stream, number, operation.name, operation.payload._arrays, _site()))
        return ()
    with _lock:
        _clock(stream)
        if not wanted:
            return ()
        return _note(stream, number, operation.name, operation.payload._arrays, _site())


def _note_logged() -> None:
    """Note what was only logged."""
    while _log:
        _note(*_log.popleft())


def _note(
    stream: Stream, number: int, name: str, arrays: Iterable[memory.Allocation],
    place: tuple[CodeType, int] | None,
) -> list[int]:  # fmt: skip
    """Keep a launch; the numbers of those that nothing orders before it."""
    others: list[int] = []
    handle, clock = stream.handle, _clocks[stream.handle]
    tick = clock[handle] = clock.get(handle, 0) + 1
    # Past the constructor of a NamedTuple, which takes as long as all of the above.
    work = tuple.__new__(_Work, (handle, tick, name, "kernel", place))
    _launches[number] = work
    if len(_launches) > 8192:  # the older half at once: to find one's first key takes longer
        for old in list(_launches)[:4096]:
            del _launches[old]
    key, entry = (handle,), (tick, number)
    for one in arrays:
        table = _uses.get(one.address)
        if table is None:
            table = _uses[one.address] = {}
        mine = table.get(key)
        if table and (mine is None or len(table) > 1):
            _compare_launch(table, work, number, clock, others)
        if mine is None:
            mine = table[key] = _Launches()
        if mine.work is not work:
            mine.work = work
            mine.numbers.append(entry)
    return others


def _unordered(table: dict, stream: int, clock: dict[int, int]) -> Iterator[_Use | _Launches]:
    """The uses in a table that nothing orders before work with this clock."""
    over = []
    for key, old in table.items():
        at = key[0]
        if at == stream:
            continue
        tick = old.work.tick
        if _host.get(at, 0) >= tick:
            over.append(key)  # nothing that comes now is unordered with it
        elif clock.get(at, 0) < tick:
            yield old
    for key in over:
        del table[key]


def _compare(base: int, key: tuple, use: _Use, clock: dict[int, int]) -> None:
    """Compare a use with earlier ones of the same memory and keep it."""
    table = _uses.get(base)
    if table is None:
        table = _uses[base] = {}
    for old in _unordered(table, use.work.stream, clock):
        if type(old) is _Launches:
            known = clock.get(old.work.stream, 0)
            for tick, number in old.numbers:
                if tick > known:
                    _meetings.append((number, _launches.get(number, old.work), use))
        elif (old.writes or use.writes) and old.low < use.high and use.low < old.high and (
            _overlap(old, use)
        ):  # fmt: skip
            _found(use, old.work, old.writes, max(old.low, use.low), min(old.high, use.high))
    table[key] = use
    while len(table) > _MOST:
        del table[next(iter(table))]
    if len(_meetings) > 64 * _MOST:
        del _meetings[: -32 * _MOST]


def _compare_launch(
    table: dict, work: _Work, number: int, clock: dict[int, int], others: list[int]
) -> None:
    """Add the numbers of unordered launches to ``others``, and note other unordered work."""
    for old in _unordered(table, work.stream, clock):
        if type(old) is _Launches:
            known = clock.get(old.work.stream, 0)
            new = [n for tick, n in old.numbers if tick > known]
            others += [n for n in new if n not in others] if others else new
        else:
            _meetings.append((number, work, old))


def _array(use: _Use) -> np.ndarray:
    if use.array is not None:
        return use.array
    return np.frombuffer((ctypes.c_uint8 * (use.high - use.low)).from_address(use.low), np.uint8)


def _overlap(one: _Use, other: _Use) -> bool:
    if one.array is None and other.array is None:
        return True
    try:
        return np.shares_memory(_array(one), _array(other), max_work=100_000)
    except np.exceptions.TooHardError:
        return False


# ---- kernels -------------------------------------------------------------------------------------


def _stamps(use: _Use) -> tuple[np.ndarray, np.ndarray] | None:
    """The launches that last wrote and read the words of a use, as far as they are known."""
    places = (ctypes.c_uint64 * 4)()
    native.runtime().cs_shadow(places)
    arena, size, shadow, table = places
    if not arena <= use.low < arena + size:
        return None
    launches = np.frombuffer((ctypes.c_uint32 * (4 << 20)).from_address(table), np.uint32)[2::4]
    array = use.array
    if array is not None and array.itemsize % 4 == 0 and all(s % 4 == 0 for s in array.strides):
        first = shadow + 2 * (array.__array_interface__["data"][0] - arena)
        words = np.frombuffer((ctypes.c_uint32 * 2).from_address(first), np.uint32)
        words = np.lib.stride_tricks.as_strided(
            words, (*array.shape, array.itemsize // 4, 2), (*(2 * s for s in array.strides), 8, 4)
        )
    elif array is not None:
        return None
    else:  # whole words within
        low, high = -(-use.low // 4) * 4, use.high // 4 * 4
        count = max(0, high - low) // 2
        words = (ctypes.c_uint32 * count).from_address(shadow + 2 * (low - arena))
        words = np.frombuffer(words, np.uint32) if count else np.empty(0, np.uint32)
        words = words.reshape(-1, 2)
    return launches[words[..., 0] >> 12], launches[words[..., 1] >> 12]


def _judge_meetings() -> None:
    """Look what launches did, of which the host knows that they are done."""
    due = [one for one in _meetings if _host.get(one[1].stream, 0) >= one[1].tick]
    if not due:
        return
    waiting = set(map(id, due))
    _meetings[:] = [one for one in _meetings if id(one) not in waiting]
    stamps: dict[int, tuple | None] = {}
    for number, launch, use in due:
        key = id(use)
        if key not in stamps:
            stamps[key] = _stamps(use)
        if stamps[key] is None:
            continue
        wrote, read = stamps[key]
        hits, writes = wrote == number, True
        if use.writes and not hits.any():
            hits, writes = read == number, False
        if hits.any():
            at = use.low
            if use.array is None:
                at = -(-use.low // 4) * 4 + 4 * int(np.argmax(hits))
            _found(use, launch, writes, at, at + 4)


def _judge_launches() -> None:
    """Fetch what launches met of each other."""
    rows = (records.OrderConflict * _MOST)()
    count = native.short().cs_take_order_conflicts(rows, _MOST)
    for row in rows[:count]:
        one, other = _launches.get(row.number), _launches.get(row.other)
        if one is None or other is None:
            continue
        writes = row.access != records.AccessKind.Read
        use = _Use(one, row.address, row.address + 4, None, writes)
        _found(use, other, row.other_access != records.AccessKind.Read, use.low, use.high)


# ---- the host ------------------------------------------------------------------------------------


def _protect(uses: Iterable[_Use]) -> None:
    """Set what the host may do with the pages of these uses, as all guards want it."""
    protect, page = native.runtime().cs_protect_pinned, os.sysconf("SC_PAGESIZE")
    for use in uses:
        low, high = use.low // page * page, -(-use.high // page) * page
        near = [one for one in _guards if one.low < high and low < one.high]
        edges = {low, high}
        for one in near:
            edges |= {max(low, one.low // page * page), min(high, -(-one.high // page) * page)}
        edges = sorted(edges)
        for start, end in zip(edges, edges[1:], strict=False):
            there = [one.writes for one in near if one.low < end and start < one.high]
            protect(start, end - start, 0 if any(there) else _READ if there else _ALL)


def _lift_guards() -> None:
    over = [one for one in _guards if _host.get(one.work.stream, 0) >= one.work.tick]
    if over:
        gone = set(map(id, over))
        _guards[:] = [one for one in _guards if id(one) not in gone]
        _protect(over)


def _judge_touches() -> None:
    """The host's accesses to protected pages: were they to bytes that a copy uses?"""
    rows = (records.Touch * 64)()
    count = native.short().cs_take_touches(rows)
    for row in rows[:count]:
        for guard in _guards:
            if guard.low <= row.address < guard.high and (guard.writes or row.writes):
                host = _Work(-1, 0, "the host", "host", None)
                use = guard._replace(work=host, writes=bool(row.writes))
                _found(use, guard.work, guard.writes, row.address, row.address + 1)
                break


# ---- findings ------------------------------------------------------------------------------------


def _describe(work: _Work, writes: bool) -> str:
    doing = "writes" if writes else "reads"
    if work.kind == "host":
        return f"the host {doing}"
    what = f"kernel '{work.name}'" if work.kind == "kernel" else f"'{work.name}'"
    device, handle = divmod(work.stream, 2**32)
    on = f"stream {work.stream:#x}" if handle else "the default stream"
    on += f" of device {device}" if devices.count > 1 and not handle else ""
    place = ""
    if work.site is not None:
        place = f" (queued at {os.path.basename(work.site[0])}:{work.site[1]})"
    return f"{what} on {on}{place} {doing}"


def _found(use: _Use, other: _Work, other_writes: bool, low: int, high: int) -> None:
    if len(_findings) >= _MOST:
        return
    found = memory.lookup(low)
    name = index = None
    where = f"page-locked memory, from byte {low - use.low} of what is copied"
    if found is not None:
        name, size = found.name, found.itemsize or 1
        index, last = (low - found.address) // size, (high - found.address - 1) // size
        unit = f"element{'s' * (last > index)}" if size > 1 else f"byte{'s' * (last > index)}"
        span = f"{index} to {last}" if last > index else f"{index}"
        where = f"array '{name}'" if name else f"the array of {found.nbytes:,} bytes"
        where = f"{unit} {span} of {where}"
    one = use.work
    message = (
        f"missing order between {'the host and a stream' if one.kind == 'host' else 'streams'}: "
        f"{_describe(one, use.writes)} {where}, which {_describe(other, other_writes)}, too, and "
        + ("the host has not waited for it" if one.kind == "host" else
           "neither an event nor a wait lies between")
    )
    if any(str(earlier) == message for earlier in _findings):
        return
    fault = StreamRace(message)
    fault.array, fault.index, fault.address = name, index, low
    fault.kernel = one.name if one.kind == "kernel" else ""
    fault.access = "write" if use.writes else "read"
    fault.streams = (max(one.stream, 0) if one.kind != "host" else None, other.stream)
    fault.sites = (one.site, other.site)
    _findings.append(fault)


def collect() -> list[StreamRace]:
    """What was found and nobody has been told of."""
    with _lock:
        if _count("cs_touches"):
            _judge_touches()
        if _count("cs_order_conflicts"):
            _judge_launches()
        if _meetings:
            _judge_meetings()
        found = _findings[:]
        _findings.clear()
    return found


def deliver() -> None:
    """Raise the first of what was found; the others mostly follow from the same mistake."""
    found = collect()
    if found:
        raise found[0]


def _forget() -> None:
    """In a child of fork: nothing is queued."""
    global _version, _alone
    every = (
        _host, _clocks, _joined, _uses, _launches, _blocking, _meetings, _guards, _findings, _log,
    )  # fmt: skip
    for kept in every:
        kept.clear()
    _version, _alone = _version + 1, None


forking.call_in_child(_forget)
