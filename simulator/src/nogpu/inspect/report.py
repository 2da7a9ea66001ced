"""A kernel run in the simulator with every check and counter, and what came of it."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .accesses import AccessPattern, find_pattern, many, units
from .arguments import Arguments, as_host
from .elementwise import as_launch
from .sources import Source, find_source, parameter_names

WIDTH = 96  # columns of the text


def inspect(
    kernel: object,
    grid: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    args: Sequence = (),
    shared: int = 0,
    predict: Mapping[str, float] | None = None,
    *,
    unwritten: Sequence[str] = (),
    variables: Mapping[str, object] | None = None,
    time_limit: float = 20.0,
    counters: bool = True,
    report_type: type[Report] | None = None,
) -> Report:
    """Run a kernel in the simulator with all checks and counters on, also where there is a GPU.

    The arguments are copied: the kernel works on the copies, and the originals stay as they are.

    Parameters
    ----------
    kernel : RawKernel, ElementwiseKernel, or a function of a RawModule or a SourceModule
    grid, block : int or sequence of int
        Blocks in the grid and threads in a block. An ElementwiseKernel chooses its own.
    args : sequence
        As for the kernel itself: device arrays, NumPy scalars, Python numbers.
    shared : int
        Bytes of dynamic shared memory.
    predict : dict, optional
        What you expect: names of counters, such as ``"global_load_sectors"``, and numbers. The
        report shows them beside what was counted.
    unwritten : sequence of str
        Parameters whose arrays hold nothing yet: a read of what the kernel did not write first is
        then a fault. All other arrays count as written.
    variables : dict, optional
        Values for the module's ``__constant__`` and ``__device__`` variables, by name: arrays or
        NumPy scalars. The others begin as the source says, whatever the kernel's own module holds.
    time_limit : float
        Seconds.
    counters : bool
        Without them only a fault is looked for: several times faster, and `Report.counts` is None.
    report_type : type, optional
        The class of the result, a subclass of `Report`: a library on top of this one can add
        methods to it.

    Returns
    -------
    Report
        Also where the kernel is at fault: see `Report.fault` and `Report.raise_fault`.

    Raises
    ------
    TypeError
        For a kernel whose source is not known, or an argument that cannot be copied.
    KeyError
        For a counter in `predict` that does not exist.
    """
    from .. import engine

    generated = as_launch(kernel, args)
    if generated is not None:
        source, grid, block, args, fresh = generated
        unwritten = (*unwritten, *fresh)
    elif grid is None or block is None:
        raise TypeError("inspect(kernel, grid, block, args): grid and block are missing")
    else:
        source = find_source(kernel)
    for name in predict or {}:
        if name not in engine.Counts.names:
            known = ", ".join(engine.Counts.names)
            raise KeyError(f"predict={name!r}: no counter is called so; there are {known}")
    names_given = (source.kernel,) if "<" in source.kernel else ()
    module = engine.compile(
        source.compiled, source.options, names_given, dialect=source.dialect, counted=counters
    )
    compiled = module.kernel(source.kernel)
    original = getattr(kernel, "max_dynamic_shared_size_bytes", None)
    static = compiled.static_shared
    if isinstance(original, int) and original > compiled.max_dynamic_shared + static:
        compiled.max_dynamic_shared = min(original, engine.limits.SHARED_PER_BLOCK_OPTIN - static)
    names = parameter_names(source, len(args))
    arguments = Arguments(engine, list(args), names, tuple(unwritten))
    report = (report_type or Report)(source, _triple(grid), _triple(block), predict or {})
    try:
        values = {name: as_host(value) for name, value in (variables or {}).items()}
        packed = type(kernel).__module__.startswith("pycuda")
        report.misfits = arguments.misfits(compiled.parameter_sizes, packed)
        _run(engine, compiled, lambda: arguments.copy_in(compiled, packed), values, report, shared,
             time_limit, counters)  # fmt: skip
        report.arrays = arguments.results()
    finally:
        arguments.free()
    return report


def _run(
    engine, compiled, passed: Callable[[], list[bytes] | bytes], variables: dict,
    report: Report, shared: int, time_limit: float, counters: bool,
) -> None:  # fmt: skip
    def attempt(one_worker: bool = False, **off: bool) -> Exception | None:
        values = passed()
        for name, value in variables.items():
            place = compiled.module.variable(name)
            if value.nbytes != place.nbytes:
                raise ValueError(
                    f"variables: {name} has {place.nbytes:,} bytes in the source, and the value "
                    f"given has {value.nbytes:,}"
                )
            engine.copy_to_device(place.address, value)
        try:
            with engine.checks(True), engine.checks(**off):
                report.counts = compiled.launch(
                    report.grid, report.block, values, shared, time_limit=time_limit,
                    counters=counters, one_worker=one_worker,
                )  # fmt: skip
        except engine.KernelFault as fault:
            return fault
        return None

    first = attempt()
    if first is None:
        return
    report.fault, report.counts = first, None
    if isinstance(first, engine.KernelTimeout):
        return
    # Blocks run side by side. One after another they meet in the same order each time.
    report.fault = attempt(one_worker=True) or first
    report.counts = None
    if not counters:
        return
    # After a race, and after a read of what nobody wrote, the kernel can go on: what it asks of
    # memory, and what comes of it, is worth seeing.
    if isinstance(report.fault, (engine.Race, engine.UninitialisedRead)):
        again = attempt(one_worker=True, race=False, uninitialised=False)
        report.went_on = again is None


def _triple(sizes: int | Sequence[int]) -> tuple[int, int, int]:
    return tuple(int(size) for size in (*np.atleast_1d(sizes), 1, 1)[:3])


class Report:
    """What `inspect` found. Print it, or read its attributes.

    Attributes
    ----------
    fault : Exception or None
        What the kernel did wrong; `raise_fault` raises it.
    counts : Counts or None
        The counters: ``report.counts["global_load_sectors"]``; None where the kernel was stopped.
    arrays : dict of numpy.ndarray
        What the arrays held at the end, by the names of the kernel's parameters.
    went_on : bool
        After a race or a read of unwritten memory: whether the kernel then ran to its end.
    misfits : list of str
        Arguments whose bytes are not as many as the kernel's declaration says.
    """

    def __init__(
        self, source: Source, grid: tuple[int, ...], block: tuple[int, ...],
        predict: Mapping[str, float],
    ) -> None:  # fmt: skip
        self.source, self.grid, self.block = source, grid, block
        self.predict = dict(predict)
        self.fault: Exception | None = None
        self.counts = None
        self.arrays: dict[str, np.ndarray] = {}
        self.went_on = False
        self.misfits: list[str] = []

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return self.fault is None

    def fault_sentence(self) -> str:
        """What the kernel did wrong, without addresses; "" where it did nothing wrong."""
        return "" if self.fault is None else fault_sentence(self.fault)

    def raise_fault(self) -> None:
        """Raise the fault, if there is one."""
        if self.fault is not None:
            raise self.fault

    def access_pattern(self, line: int | None = None, array: str | None = None, warps: int = 2,
                       time: int = 0) -> AccessPattern:  # fmt: skip
        """Which thread of the first warps touches which address.

        Parameters
        ----------
        line : int, optional
            The access of this source line; the most wasteful one by default.
        array : str, optional
            The access to this array.
        warps : int
            How many warps of block (0, 0, 0), from the first on; at most 8.
        time : int
            Which time that the warp does this: 0 for the first.

        Returns
        -------
        AccessPattern
            Plain data; printed, it says the same in words.

        Raises
        ------
        ValueError
            Where no such access was counted.
        """
        if self.counts is None or not self.counts.samples:
            raise ValueError(f"{self.source.kernel}: no access to memory was counted")
        return find_pattern(self.counts, line, array, warps, time)

    def __str__(self) -> str:
        parts = [self._heading()]
        if self.misfits:
            parts.append("\n".join(["Arguments that are not as declared:", *self.misfits]))
        if self.fault is not None:
            parts.append(self._fault_text())
        if self.counts is not None:
            if self.fault is not None:
                parts.append("With that check off it runs to its end:")
            parts += [self._accesses(), self._totals()]
        elif not self.went_on:
            parts.append("The kernel was stopped there: nothing is counted.")
        if self.predict:
            parts.append(self._predicted())
        return "\n\n".join(part for part in parts if part)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = []
        for text in str(self).split("\n"):
            safe = html.escape(text)
            marked = text.startswith("-> ") or " <- " in text
            lines.append(f"<b>{safe}</b>" if marked else safe)
        return '<pre style="line-height: 1.25">' + "\n".join(lines) + "</pre>"

    # ---- the parts of the text -----------------------------------------------------------

    def _heading(self) -> str:
        blocks, threads = math.prod(self.grid), math.prod(self.block)
        text = f"{self.source.kernel}: {many(blocks, 'block')} of {many(threads, 'thread')}"
        if self.fault is None:
            return f"{text}. No fault found."
        where = f" in line {self._fault_line()}" if self._fault_line() else ""
        return f"{text}. FAULT{where}: {self.fault.called}."

    def _fault_text(self) -> str:
        parts = []
        line, other = self._fault_line(), self._other_line()
        if line:
            parts.append(self._excerpt(line, other))
        text = self.fault_sentence() + "."
        if other and other != line:
            text += f" The other access is in line {other}."
        parts.append(textwrap.fill(text, WIDTH))
        return "\n\n".join(parts)

    def _fault_line(self) -> int | None:
        """The fault's line; of a thread that left, the barrier that waits for it."""
        named = re.search(r" in line (\d+)", str(self.fault))
        return self.fault.line or (int(named.group(1)) if named else None)

    def _other_line(self) -> int | None:
        """For a race, the line of the other access, where only one can be meant."""
        past = re.search(r"(read|wrote|atomically updated) as well", str(self.fault))
        if not past or self.counts is None:
            return None
        access = {"read": "load", "wrote": "store"}.get(past.group(1), "atomic")
        lines = {a.line for a in self.counts.lines
                 if a.array == self.fault.array and a.access == access}  # fmt: skip
        return lines.pop() if len(lines) == 1 else None

    def _excerpt(self, number: int, other: int | None = None) -> str:
        lines = self.source.code.split("\n")
        marked = {number, other or number}
        around = {n for m in marked for n in (m - 1, m, m + 1)}
        if max(marked) - min(marked) < 8:
            around |= set(range(min(marked), max(marked)))
        shown = [n for n in sorted(around) if 1 <= n <= len(lines)]
        rows, before = [], shown[0]
        for n in shown:
            text = lines[n - 1].rstrip()
            if n > before + 1:
                rows.append("       ...")
            if n in marked or text.strip():
                rows.append((f"-> {n:>3} | " if n in marked else f"   {n:>3} | ") + text)
            before = n
        return "\n".join(_cut(row) for row in rows)

    def _accesses(self) -> str:
        """The source lines that touch memory, each with its counters."""
        rows: list[str] = []
        shown = None
        counted = self.counts.lines
        width = max((len(_what(a)) for a in counted), default=0)
        requests = max((len(f"{a.requests:,}") for a in counted), default=0)
        digits = max((len(f"{units(a)[0]:,}") for a in counted), default=0)
        for a in counted:
            if a.line != shown:
                rows.append(_cut(f"{a.line or '?':>6} | {a.text}"))
                shown = a.line
            used, ideal, unit = units(a)
            row = f"         {_what(a):<{width}}  {a.requests:>{requests},} requests"
            row += f"  {used:>{digits},} {unit:<10}  {used / a.requests:4.1f} each"
            row += f", ideal {ideal / a.requests:.1f}"
            if used > ideal:
                row += f"  <- {used / ideal:.1f}x"
            rows.append(row)
        return "\n".join(rows)

    def _totals(self) -> str:
        c = self.counts
        rows = []
        for access, verb in (("load", "loaded"), ("store", "stored"), ("atomic", "updated")):
            lines = [a for a in c.lines if a.space == "global" and a.access == access]
            if not lines:
                continue
            asked, moved = sum(a.bytes for a in lines), 32 * sum(a.sectors for a in lines)
            rows.append(f"global memory {verb + ':':<8}{asked:>14,} bytes asked for, "
                        f"{moved:>14,} in sectors")  # fmt: skip
        plural = "barrier" if c.barriers == 1 else "barriers"
        rest = [f"{c.barriers:,} {plural} passed by blocks" if c.barriers else "No barrier"]
        atomics = c["global_atomic_requests"] + c["shared_atomic_requests"]
        if atomics:
            rest.append(many(atomics, "atomic request"))
        if c.warp_operations:
            rest.append(many(c.warp_operations, "warp operation"))
        rows.append("; ".join(rest) + ".")
        return "\n".join(rows)

    def _predicted(self) -> str:
        width = max(len(name) for name in self.predict)
        rows = [f"{'':<{width}}  {'predicted':>14}  {'counted':>14}"]
        for name, expected in self.predict.items():
            counted = self.counts[name] if self.counts is not None else None
            row = f"{name:<{width}}  {expected:>14,}  "
            row += f"{counted:>14,}" if counted is not None else f"{'-':>14}"
            if counted is not None and counted != expected:
                row += "  <- not as predicted"
            rows.append(row)
        return "\n".join(rows)


def fault_sentence(fault: Exception) -> str:
    """A fault's message in one sentence, without its end and without the addresses in it.

    Addresses differ from run to run, and so would recorded outputs.
    """
    text = str(fault).split("\n")[0]
    text = re.sub(r"^kernel '[^']*'( on device \d+)?(, [^:]*:\d+)?:? ", "", text)
    text = re.sub(r": address 0x[0-9a-f]+ is", ": its address is", text)
    text = re.sub(r"address 0x[0-9a-f]+", "an address", text)
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    text = text.replace(", 0 bytes past its end", ", right behind its end").rstrip(".")
    return text[:1].upper() + text[1:]


def _what(a) -> str:
    return f"{a.space} {a.access} {a.array or 'an array'}"


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
