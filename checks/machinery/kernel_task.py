"""Tasks whose answer is a kernel: CUDA source in a string, or one of CuPy's kernel objects.

The kernel runs in every case, with the arrays and the launch shape of that case. An error that the
compiler or the simulator reports becomes the sentence of the verdict.
"""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from checks import stop_grading_without_kernels
from checks.buffers import owner_of
from helpers.backend import is_simulated
from helpers.errors import find_compiler_error, message
from nogpu import engine
from nogpu.inspect import fault_sentence, inspect

from .environment import stop_if_hindered
from .task import (
    COMMENT,
    Case,
    Mistake,
    Refusal,
    Task,
    Trial,
    Verdict,
    describe_value,
    is_stub,
    rule,
    sources,
)

KINDS = {
    "raw": "the CUDA source in a string, or a RawKernel",
    "elementwise": "an ElementwiseKernel",
    "reduction": "a ReductionKernel",
}
OUTSIDE = (engine.GlobalOutOfBounds, engine.SharedOutOfBounds, engine.NotDeviceMemory,
           engine.UseAfterFree)
TIME_LIMIT = 2.0  # seconds for a kernel in the simulator
# Kernels that did not come to an end in the simulator, with their faults.
_endless: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
LOOP = re.compile(r"\b(?:for|while|do|goto)\b")
# What no kernel may contain: the simulator computes these as exactly as the plain functions.
REFUSED = [(r"__(?:exp|exp10|log|log2|log10|pow|sin|cos|tan|fdivide)f?\b",
            "{} is a rough approximation, whose error grows with its argument: use the function"
            " without the underscores.")]
_DOUBLE = r"-?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?(?![\w.])"
# A double that is rounded before anything is computed with it.
ROUNDED = re.compile(rf"\b(?:float|T)\s+\w+\s*=\s*{_DOUBLE}\s*(?=[;,])"
                     rf"|\b(?:T|float)\(\s*{_DOUBLE}\s*\)")
DOUBLE = re.compile(rf"\bdouble\b|(?<![\w.]){_DOUBLE}")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
# The commonest errors in the words of host compilers and NVRTC, and in words for a learner.
PLAINLY = [(re.compile(pattern), plain) for pattern, plain in (
    (r"[‘']([^’']+)[’'] was not declared in this scope.*", r'identifier "\1" is undefined'),
    (r'.*"INFINITY" is undefined.*|.*undeclared identifier .INFINITY.*',
     "INFINITY is not defined without a header; write 3.4e38f"),
    (r"use of undeclared identifier '([^']+)'.*", r'identifier "\1" is undefined'),
    (r"expected (?:[‘'],[’'] or )?[‘'];[’'].*|expected a \";\"",
     'a ";" is missing, here or at the end of the line before'),
    (r"return-statement with a value, in function returning 'void'.*"
     r"|return value type does not match the function type|.*should not return a value.*",
     "`return` with a value: a kernel returns nothing, it writes its results to its output"),
    (r"invalid operands (?:of types .*)?to binary .*operator\^.*|.*invalid operands.*\^.*"
     r"|expression must have integral or unscoped enum type",
     "`^`, `%`, `&` and `|` are for integers only; a power is written z * z * z"),
    (r"no matching function for call to [‘']?(atomic\w+).*"
     r"|no instance of overloaded function \"(atomic\w+)\" .*"
     r"|invalid conversion from 'int' to 'int\*'.*|argument of type \"int\" is incompatible with"
     r" parameter of type \"int \*\"",
     "it takes an address, not a value: atomicAdd(&y[i], value)"),
    (r"(.*) \[-f\w+\]", r"\1"),
)]

stop_grading_without_kernels()


@dataclass(frozen=True)
class KernelTask(Task):
    """A task whose answer is a kernel.

    Attributes
    ----------
    launch : callable
        Of a raw kernel: `launch(*case)` puts the case's arrays on the device (`to_device`) and
        returns grid, block and arguments.
    result : int or slice
        Which of these arguments are the result.
    run : callable, optional
        `run(kernel, *case)`, for a kernel that is neither raw nor elementwise: returns the result
        as a NumPy array.
    kind : {"raw", "elementwise", "reduction"}
        What the learner hands in. Source in a string becomes a RawKernel called `name`.
    parameters : str
        Of a raw kernel, as C declares them; those in `right`, if that is source. The check compares
        them with the answer's own, because a launch does not.
    given : str, optional
        What the exercise's source holds apart from its comment YOUR CODE HERE, "" for an empty
        body: a source with more in it is judged even where the comment was left in.
    refused : sequence of (pattern, sentence)
        What the source must not contain, apart from comments, and what is said then.
    single : bool
        Whether arithmetic in double is refused.
    """

    launch: Callable[..., tuple] | None = None
    result: int | slice = 1
    run: Callable[..., np.ndarray] | None = None
    kind: str = "raw"
    parameters: str = ""
    given: str | None = None
    refused: Sequence[tuple[str, str]] = ()
    single: bool = False

    repeatable = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.right, str) and not self.parameters:
            object.__setattr__(self, "parameters", declared_kernels(self.right)[self.name])

    def _function(self, answer: object) -> Callable | Verdict:
        if hasattr(answer, "make"):  # a kernel object that is made when it is needed
            answer = answer.make()
        if is_stub(answer, self.given):
            return Verdict("todo", "not attempted yet")
        if sentence := self._unsuitable(answer):
            return Verdict("no", sentence)
        kernel = answer
        if isinstance(answer, str):
            import cupy

            kernel = cupy.RawKernel(answer, self.name)

        @functools.wraps(self.spec)
        def function(*case: object) -> object:
            if uncompilable:
                raise uncompilable[0]
            try:
                with memory_of_its_own():
                    return self._run(kernel, case)
            except Refusal:
                raise
            except Exception as error:
                found = explained(error, self.name)
                if getattr(found, "kind", "").startswith("compile"):
                    uncompilable.append(found)  # every other case would say the same
                raise found from error

        uncompilable: list[Exception] = []
        if self.launch:  # for rules about counters
            function.counts = lambda *case: counted(kernel, *self.launch(*case))
        return function

    def _run(self, kernel: object, case: Case) -> np.ndarray | tuple[np.ndarray, ...]:
        """The result of the kernel in one case."""
        if self.run:
            return self.run(kernel, *case)
        if self.kind == "elementwise":
            arrays = [to_device(x) for x in case]
            rehearse(kernel, None, None, arrays)
            with inputs_kept(arrays):
                return kernel(*arrays).get()
        grid, block, arguments = self.launch(*case)
        with inputs_kept(arguments, self.parameters):
            launch(kernel, grid, block, arguments)
        found = arguments[self.result]
        return tuple(one.get() for one in found) if isinstance(found, tuple) else found.get()

    def _recognise(self, trials: Sequence[Trial]) -> Mistake | None:
        known = super()._recognise(trials)
        if known is None and all(_is_blank(trial.got.value) for trial in trials):
            return Mistake("a result that the kernel never writes")
        return known

    def _unsuitable(self, answer: object) -> str | None:
        """A sentence when `answer` is no kernel of the kind and the parameters that are wanted."""
        import cupy

        types = {"raw": (str, cupy.RawKernel), "elementwise": cupy.ElementwiseKernel,
                 "reduction": cupy.ReductionKernel}
        if not isinstance(answer, types[self.kind]):
            return f"expected {KINDS[self.kind]}, got {describe_value(answer)}."
        for text in sources(answer):
            if sentence := unbalanced(text):
                return f"it does not compile: {sentence}"
            for pattern, sentence in (*REFUSED, *self.refused):
                if found := re.search(pattern, COMMENT.sub(" ", text)):
                    return sentence.format(found[0])
            if self.single and (sentence := doubles(text)):
                return sentence
        if self.kind != "raw":
            return None
        code, name = (answer, self.name) if isinstance(answer, str) else (answer.code, answer.name)
        return wrong_declaration(code, name, self.parameters)


@rule
def counters(answer: Callable, trials: Sequence[Trial], judge: Callable,
             *case: object) -> str | None:
    """The rule that `judge(counts, *case)` makes: a sentence on what one launch costs, else None.

    `counts` are the simulator's counters of the answer's launch in `case`, or in the task's first
    case where none is given.
    """
    own = case or trials[0].case
    return judge(answer.counts(*own), *own)


def memory_of_its_own() -> AbstractContextManager:
    """No pool for a case's arrays: what lies behind them must not depend on what ran before."""
    import cupy

    return cupy.cuda.using_allocator() if is_simulated(cupy) else nullcontext()


@contextmanager
def inputs_kept(arguments: Sequence, parameters: str = "") -> Iterator[None]:
    """Refuse a kernel that changes what its parameters declare const; without any, an argument."""
    kinds = parameters.split(",") if parameters else ["const *"] * len(arguments)
    inputs = [array for array, kind in zip(arguments, kinds) if "const" in kind and "*" in kind]
    before = [array.get().tobytes() for array in inputs]
    yield
    if any(array.get().tobytes() != kept for array, kept in zip(inputs, before)):
        raise Refusal("the kernel changed one of its inputs. Write to the result only.")


def undivided(counts: Any, **most: int) -> str | None:
    """A sentence when the threads of a launch do not share its accesses to global memory.

    The launch has several blocks, and work for all. `most` has the number of elements that may be
    loaded, stored or updated (`load`, `store`, `atomic`), all threads taken together.
    """
    for access, verb in ("load", "load"), ("store", "store"), ("atomic", "update"):
        lines = [line for line in counts.lines if (line.space, line.access) == ("global", access)]
        done = sum(line.accesses for line in lines)
        first = sum(len(sample.lanes) for sample in counts.samples if sample.line in lines)
        if done < 4 * sum(line.requests for line in lines):
            return f"of the 32 threads of a warp hardly one {verb}s. Let all threads work."
        if done and first >= done / 2:
            return f"the first block {verb}s most elements. Let all blocks work."
        if done > most.get(access, done):
            return f"its threads {verb} {done:,} elements, where {most[access]:,} would do."
    return None


def wrong_declaration(code: str, name: str, parameters: str, extern_c: bool = True) -> str | None:
    """A sentence when `code` has no kernel `name` that takes these parameters.

    `extern_c` False where PyCUDA compiles it, which writes `extern "C"` itself.
    """
    kernels = declared_kernels(code)
    if name not in kernels:
        there = f"there is {' and '.join(kernels)}" if kernels else "there is none"
        return f"the source needs a kernel `__global__ void {name}({parameters})`; {there}."
    if extern_c and not re.search(r'extern\s*"C"', _plain(code)):
        return (f'the kernel {name} needs `extern "C"` before `__global__`; without it C++ gives it'
                " another name, and CuPy does not find it.")
    if _types(kernels[name]) != _types(parameters):
        return (f"the check passes ({parameters}); your {name} takes ({kernels[name]})."
                " A launch does not convert arguments.")
    return None


def declared_kernels(code: str) -> dict[str, str]:
    """The parameters of each kernel in `code`, by the kernel's name."""
    found = re.findall(r"__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+"
                       r"(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(([^)]*)\)", _plain(code))
    return {name: " ".join(parameters.split()) for name, parameters in found}


def _plain(code: str) -> str:
    """`code` without comments, and with the types that its typedefs stand for."""
    plain = COMMENT.sub(" ", code)
    for kind, new in re.findall(r"\btypedef\s+([\w ]+?)\s+(\w+)\s*;", plain):
        plain = re.sub(rf"\b{new}\b", kind, plain)
    return plain


def doubles(code: str) -> str | None:
    """A sentence when source for float32 computes in double: one literal like 0.1 is enough."""
    found = DOUBLE.search(ROUNDED.sub(" ", _plain(code)))
    return found and (f"`{found[0]}` in the source is a double, and arithmetic with it is done in"
                      " double, many times slower. 0.1f is a float; T(0.1) has the type T.")


def unbalanced(code: str) -> str | None:
    """A sentence when brackets do not pair. Compilers would name a line far from the mistake."""
    plain = STRING.sub(" ", COMMENT.sub(" ", code))
    for opening, closing in ("{}", "()", "[]"):
        opened, closed = plain.count(opening), plain.count(closing)
        if opened != closed:
            missing, there = (closing, opening) if opened > closed else (opening, closing)
            return (f"a `{missing}` is missing, or one `{there}` is too many: the source has"
                    f" {opened} `{opening}` and {closed} `{closing}`.")
    return None


def _types(parameters: str) -> list[str]:
    """The types of a parameter list, without names and qualifiers."""
    plain = re.sub(r"\b(const|__restrict__|volatile)\b|__restrict__", " ", parameters)
    words = [parameter.replace("*", " * ").split() for parameter in plain.split(",")]
    return [" ".join(one[:-1] if one and one[-1] != "*" else one) for one in words]


def explained(error: Exception, name: str) -> Refusal | Exception:
    """What a compiler, a launch or the simulator said of a kernel; raises `Hindrance`."""
    stop_if_hindered(error)
    types = [base.__name__ for base in type(error).__mro__]
    if isinstance(error, engine.KernelTimeout):
        return Refusal(f"the kernel {name} does not come to an end: it was stopped after"
                       f" {TIME_LIMIT:g} seconds. Does every loop reach its end?", kind="time")
    if isinstance(error, engine.KernelFault):
        called, text = error.called, fault_sentence(error)
        text = text[:1].lower() + text[1:]
        text = text.replace("an address, which is no device memory (a host pointer?)",
                            "an address where no array is: an index far outside, or a pointer of"
                            " the host")
        # Whether memory beside the kernel's arrays was freed depends on what ran before.
        text, beside = re.subn(r"at (element \S+ of the array of .*|\S+), which was freed",
                               "outside every array, where memory was freed", text)
        if beside:
            called = engine.GlobalOutOfBounds.called
        article = "an" if called[0] in "aeio" else "a"  # a use
        line = getattr(error, "line", None)
        where = f"line {line} of " if line else ""
        # The same mistake may reach another array or freed memory. Reads and writes, and accesses
        # before and behind an array, are different mistakes.
        kind = types[0]
        if isinstance(error, OUTSIDE):
            access = re.search(r"\) (reads|writes|updates)", text)
            side = "before" if "before its start" in text else "behind"
            kind = f"outside, {side}, {access.group(1) if access else 'shared'}"
        return Refusal(f"{where}the kernel {getattr(error, 'kernel', '') or name} makes {article}"
                       f" {called}: {text}.", kind=kind)
    if "CompileException" in types or "CompileError" in types:
        log = getattr(error, "log", "") or message(error)
        says = _compiler_says(log)
        kind = "compile: " + re.sub(r"^line \d+: ", "", says)
        return Refusal(f"it does not compile: {says}.", kind=kind)
    if isinstance(error, engine.InvalidLaunch):
        return Refusal(f"it cannot be launched: {error}.", kind="launch")
    if "IllegalAddress" in str(error):
        return Refusal("the GPU reports an illegal address, and does no more work until the"
                       " notebook's kernel is restarted. COURSE_BACKEND=simulator names the line.",
                       kind="illegal address")
    return error


def _compiler_says(log: str) -> str:
    """The first error of a compiler's log, with its line in the learner's source."""
    found = find_compiler_error(log)
    if found is None:
        return log.split("\n")[0].rstrip(".")
    file, line, text = found
    for pattern, plain in PLAINLY:
        text = pattern.sub(plain, text)
    # In an elementwise kernel the line counts in the source that CuPy made around the operation.
    generated = file.endswith(".cubin.cu") and line > 12 and "CIndexer" in log
    return text if generated else f"line {line}: {text}"


def to_device(x: np.ndarray) -> Any:
    """`x` on the device, with its strides, which `cupy.asarray` would not keep.

    The memory of a view's owner is copied as a whole.
    """
    import cupy

    if x.flags.c_contiguous and x.base is None or not x.size:
        return cupy.asarray(x)
    owner = owner_of(x)
    there = cupy.asarray(owner.ravel(order="K").view(np.uint8))
    offset = x.__array_interface__["data"][0] - byte_bounds(owner)[0]
    return cupy.ndarray(x.shape, x.dtype, there.data + offset, x.strides)


def launch(kernel: Any, grid: tuple, block: tuple, args: tuple) -> None:
    """Rehearse a raw kernel, launch it and wait for it."""
    import cupy

    rehearse(kernel, grid, block, args)
    kernel(grid, block, args)
    cupy.cuda.get_current_stream().synchronize()


def rehearse(kernel: Any, grid: tuple | None, block: tuple | None, args: tuple) -> None:
    """Run a kernel in the simulator on copies of its arguments, and raise its fault if it has one.

    On a GPU every launch is rehearsed, because there a fault is not seen or ends all work. In the
    simulator the launch itself finds every fault but a loop without end, so a kernel without a
    loop is not rehearsed there. A loop may end in one case and not in the next.
    """
    import cupy

    if is_simulated(cupy):
        if kernel in _endless:
            raise _endless[kernel]
        texts = sources(kernel)
        if texts and not any(LOOP.search(text) for text in texts):
            return
        if isinstance(kernel, cupy.RawKernel):
            kernel.compile()  # so that the rehearsal takes it from the cache
    try:
        engine.find_compiler()
    except engine.RuntimeUnavailable:
        return
    try:
        fault = inspect(kernel, grid, block, args, time_limit=TIME_LIMIT, counters=False).fault
    except (engine.CompileError, TypeError, ValueError) as error:
        stop_if_hindered(error)
        return  # the launch itself raises CuPy's error
    if is_simulated(cupy):  # the launch finds any other fault, too, and its line
        if not isinstance(fault, engine.KernelTimeout):
            return
        _endless[kernel] = fault
    elif fault is not None and grid is None:
        fault.line = None  # it counts in the source around the operation
    if fault is not None:
        raise fault


def counted(kernel: Any, grid: tuple, block: tuple, args: tuple) -> Any:
    """The counters of one launch, in the simulator on every machine; a fault is a Refusal."""
    report = inspect(kernel, grid, block, args)
    if report.fault is not None:
        raise explained(report.fault, report.source.kernel)
    return report.counts


def wasteful(counts: Any) -> str | None:
    """A sentence on the first access that takes more sectors or wavefronts than it must."""
    for line in counts.lines:
        shared = line.space == "shared"
        used, ideal = ((line.wavefronts, line.ideal_wavefronts) if shared else
                       (line.sectors, line.ideal_sectors))
        if used > ideal:
            unit = "wavefronts (bank conflicts)" if shared else "sectors"
            return (f"in line {line.line} each {line.access} of {line.array} takes"
                    f" {used / line.requests:.1f} {unit} where {ideal / line.requests:.1f} would"
                    " do.")
    return None


def _is_blank(value: object) -> bool:
    """Whether an array holds only what `blank` filled it with."""
    return (isinstance(value, np.ndarray) and value.size > 0 and value.dtype.kind in "fi"
            and bool(((value == _fill(value.dtype)) | (value != value)).all()))


def _fill(dtype: np.dtype) -> float:
    return np.nan if dtype.kind == "f" else np.iinfo(dtype).min


def blank(shape: int | tuple[int, ...], dtype: object) -> Any:
    """A device array filled with nan or the smallest integer, which no kernel computes by chance.

    Other new memory may still hold the right result of an earlier launch.
    """
    import cupy

    return cupy.full(shape, _fill(np.dtype(dtype)), dtype)
