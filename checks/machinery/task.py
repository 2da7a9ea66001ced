"""Tasks: an answer is compared with a specification, and with the known mistakes.

A check lets no traceback of its own out. Whatever it is given, it prints one verdict:
`[ok]`, `[todo]` (not attempted yet), `[no]` with what is wrong and which mistake it looks like, or
`[unchecked]` where the machine keeps it from judging, with the remedy.
"""

from __future__ import annotations

import builtins
import copy
import functools
import gc
import inspect
import math
import os
import re
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, redirect_stderr
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from checks import stop_grading
from checks.buffers import owner_of
from checks.learner.progress import remember
from helpers.errors import message
from helpers.timing import peak_bytes

from .environment import Hindrance, hindrance_in, stop_if_hindered

Case = tuple  # the positional arguments of one call
WIDTH = 92  # characters that a notebook shows without breaking a line inside a word
STUB_MARK = "YOUR CODE HERE"
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
ADDRESS = re.compile(r"0x[0-9a-f]+")
# Where CuPy's kernel objects keep the CUDA that the learner wrote.
SOURCES = ("code", "operation", "preamble", "map_expr", "reduce_expr", "post_map_expr")


@dataclass(frozen=True)
class Mistake:
    """A plausible wrong answer, and the sentence that names it for the learner.

    Attributes
    ----------
    looks_like : str
        Completes the sentence "This looks like ...".
    answer : object
        What a learner who makes this mistake hands in: a function, for kernels their source. The
        tests hand it to the task and require that it is refused with this sentence.
    """

    looks_like: str
    answer: object = None
    changes: tuple = ()  # see `replacing`
    times: int = 1

    @classmethod
    def replacing(cls, looks_like: str, *changes: object, times: int = 1) -> Mistake:
        """The mistake that the task's own right answer becomes by a change.

        `changes` are texts in its source, each followed by what replaces it, or keyword arguments
        of a function in a dict, or another answer. Each text must occur exactly `times` times (see
        `replaced`); where it does not, the task cannot be made.
        """
        return cls(looks_like, None, changes, times)

    def made_from(self, right: object) -> Mistake:
        """This mistake with its answer, made from a right one where it has `changes`."""
        if not self.changes:
            return self
        change = self.changes[0]
        if isinstance(change, dict):
            return replace(self, answer=functools.partial(right, **change))
        return replace(self, answer=change if callable(change) else replaced(
            right, *self.changes, times=self.times))


def replaced(source: object, *texts: str, times: int = 1) -> object:
    """`source` with texts replaced, for a wrong answer that differs from a right one in little.

    Parameters
    ----------
    source : str, or an object with a method `replaced` of its own
    *texts : str
        Pairs: a text and what replaces it. They are replaced one pair after the other.
    times : int
        How often each text must occur.

    Raises
    ------
    ValueError
        When a text occurs more often or less often than that, or has no partner.
    """
    if not isinstance(source, str):
        return source.replaced(*texts, times=times)
    if len(texts) % 2:
        raise ValueError(f"{texts[-1]!r} has no text that replaces it")
    for old, new in zip(texts[::2], texts[1::2]):
        if (found := source.count(old)) != times:
            raise ValueError(f"{old!r} occurs {found} times in the source, not {times} times")
        source = source.replace(old, new)
    return source


@dataclass(frozen=True)
class Verdict:
    """`state` is "ok", "todo", "no" or "unchecked"; `text` says why."""

    state: str
    text: str


@dataclass(frozen=True)
class Outcome:
    """What a call gave: a value, or the error that it raised."""

    value: object = None
    error: Exception | None = None

    @classmethod
    def of(cls, function: Callable, case: Case) -> Outcome:
        """The outcome of `function(*case)`; a failure of the machine is a `Hindrance`."""
        try:
            return cls(value=function(*case))
        except SystemExit:
            return cls(error=RuntimeError("the function asked Python to exit"))
        except Exception as error:
            stop_if_hindered(error)
            return cls(error=error)


class Trial(NamedTuple):
    """One case, what the specification gives for it, and what the answer gave."""

    case: Case
    expected: Outcome
    got: Outcome


class Refusal(Exception):
    """What is wrong with an answer, as a sentence; raised by `read`, by `run` and by rules.

    Two refusals have the same `kind` where the same mistake explains both. Without a kind of
    their own they have it where their sentences are equal.
    """

    def __init__(self, sentence: str, kind: str = "") -> None:
        super().__init__(sentence)
        self.kind = kind or sentence


Rule = Callable[[Callable, "Sequence[Trial]"], "str | None"]


@dataclass(frozen=True)
class Task:
    """One exercise.

    Attributes
    ----------
    name : str
        The function that the learner writes.
    spec : callable
        The NumPy specification; where it raises, the answer must raise an error of the same type.
    cases : callable
        Returns the argument tuples. Its random numbers are seeded, so every run has the same cases.
    read : callable, optional
        `read(value, case)` turns what the answer returned into the value that is compared, or
        raises `Refusal`. For answers that are a description (strides, say) and not the result.
    mistakes : sequence of Mistake
        A tuple stands for the arguments of `Mistake.replacing`: ("the sign lost", {"sign": 1}).
    rules : sequence of callables
        `rule(answer, trials)` returns a sentence when the way to the answer is wrong (a copy, a
        loop, too much memory), else None. Rules are called once the values of all cases are right.
    rtol : float
        Relative tolerance of floating-point results, of the largest magnitude expected.
    part : callable, optional
        `part(case)` names the part of the task that a case belongs to, for answers with several
        independent parts: a mistake is then recognised by the cases of the failing part alone,
        whatever the state of the others.
    time_limit : float, optional
        Seconds that a call may take, so that an endless answer gets a verdict; see
        `with_time_limit`.
    right : object, optional
        A right answer, from which `Mistake.replacing` makes wrong ones: source, an object with a
        method `replaced`, or a function with keyword arguments.
    """

    name: str
    spec: Callable
    cases: Callable[[], Iterable[Case]]
    read: Callable[[object, Case], object] | None = None
    mistakes: Sequence[Mistake | tuple] = ()
    rules: Sequence[Rule] = ()
    rtol: float = 1e-6
    part: Callable[[Case], object] = lambda case: None
    time_limit: float | None = None
    right: object = None
    _known: dict = field(default_factory=dict, init=False, repr=False, compare=False)

    repeatable = False  # whether a mistake has the same outcome in equal cases, which is then kept
    until_wrong = False  # whether no case is tried after one that is not right

    def __post_init__(self) -> None:
        made = tuple((one if isinstance(one, Mistake) else Mistake.replacing(*one)).made_from(
            self.right) for one in self.mistakes)
        object.__setattr__(self, "mistakes", made)

    def __call__(self, answer: object) -> None:
        """Check `answer` and print the verdict in a sentence or two.

        Raises
        ------
        AssertionError
            When the answer is not right and nbgrader is grading (NBGRADER_EXECUTION is set), since
            it scores by exceptions.
        NothingJudged
            When the machine keeps nbgrader's check from judging; see `stop_grading`.
        """
        # A line on standard error, a warning of NumPy's say, costs all points under nbgrader.
        grading = bool(os.environ.get("NBGRADER_EXECUTION"))
        with redirect_stderr(sys.stdout) if grading else nullcontext():
            verdict = self.judge(answer)
        line = f"[{verdict.state}] {self.name}: {verdict.text}"
        print(textwrap.fill(line, WIDTH, subsequent_indent="     ", break_long_words=False))
        remember(self, verdict.state)
        if verdict.state == "unchecked":
            stop_grading(f"{self.name} {verdict.text}")
        elif verdict.state != "ok" and grading:
            raise AssertionError(f"{self.name}: {verdict.text}")

    def judge(self, answer: object) -> Verdict:
        """The verdict on `answer`, without printing."""
        try:
            return self._judge(answer)
        except Hindrance as hindrance:
            sentence = str(hindrance)
        except Exception as error:
            if not (sentence := hindrance_in(error)):
                raise
        return Verdict("unchecked", f"could not be checked: {sentence}")

    def _judge(self, answer: object) -> Verdict:
        function = self._function(answer)
        if isinstance(function, Verdict):
            return function
        if self.time_limit:
            function = with_time_limit(self.time_limit, function)
        cases = list(self.cases())
        trials: list[Trial] = []
        for case in cases:
            before = _snapshot(case)
            given = Outcome.of(function, case)
            outcome = self._read(given, case)
            if not trials and (given.value is ...
                               or isinstance(outcome.error, NotImplementedError)):
                return Verdict("todo", "not attempted yet")
            endless = getattr(outcome.error, "kind", "") == "time"
            if not endless and _snapshot(case) != before:
                return Verdict("no", f"for {describe_case(case, self.spec)}: your function changed"
                                     " its argument in place. Leave what the caller hands over as"
                                     " it is.")
            trials.append(Trial(case, Outcome.of(self.spec, case), outcome))
            if endless or self.until_wrong and self._difference(trials[-1], answer):
                break  # each of the other cases would take as long
        sentences = [self._difference(trial, answer) for trial in trials]
        wrong = [k for k, sentence in enumerate(sentences) if sentence]
        if wrong:
            case = trials[wrong[0]].case
            text = f"for {describe_case(case, self.spec)}: {sentences[wrong[0]]}"
            same = [trial for trial in trials if self.part(trial.case) == self.part(case)]
            if known := self._recognise(same):
                text += f" This looks like {known.looks_like}."
            parts = {self.part(case) for case in cases}
            if len(parts) > 1:
                right = len(parts) - len({self.part(trials[k].case) for k in wrong})
                text += f" {right} of {len(parts)} are right."
            return Verdict("no", text)
        for rule in self.rules:
            try:
                sentence = rule(function, trials)
            except Refusal as refusal:
                sentence = str(refusal)
            except Exception as error:  # a rule calls the answer with arguments of its own
                stop_if_hindered(error)
                sentence = f"with other arguments it raised {describe_error(error, answer)}"
            if sentence:
                return Verdict("no", f"the values are right, but {sentence}")
        return Verdict("ok", f"right in all {len(cases)} cases")

    def _function(self, answer: object) -> Callable | Verdict:
        """What to call with a case's arguments, or the verdict where there is nothing to call."""
        if is_stub(answer):
            return Verdict("todo", "not attempted yet")
        if not callable(answer):
            return Verdict("no", f"expected the function {self.name}, got"
                                 f" {describe_value(answer)}. Pass the function itself, without"
                                 " calling it.")
        if sentence := wrong_signature(answer, self._asked(), self.name):
            return Verdict("no", sentence)
        return answer

    def _asked(self) -> Callable:
        """A function with the parameters that an answer must have."""
        return self.spec

    def _read(self, outcome: Outcome, case: Case) -> Outcome:
        if outcome.error is not None:
            return outcome
        return Outcome.of(self.read or within_memory, (outcome.value, case))

    def _difference(self, trial: Trial, answer: object) -> str | None:
        """What is wrong with what the answer gave in one case, as a sentence."""
        expected, got = trial.expected, trial.got
        if expected.error is not None:
            wanted = type(expected.error)
            if isinstance(got.error, Refusal):
                return f"it should raise {wanted.__name__} ({expected.error})."
            if isinstance(got.error, wanted):
                return None
            if got.error is None:
                return f"it should raise {wanted.__name__} ({expected.error}), but it returned."
            return (f"it should raise {wanted.__name__}, but it raised"
                    f" {describe_error(got.error, answer)}")
        if isinstance(got.error, Refusal):
            return str(got.error)
        if got.error is not None:
            return f"it raised {describe_error(got.error, answer)}"
        return difference(expected.value, got.value, self.rtol)

    def _recognise(self, trials: Sequence[Trial]) -> Mistake | None:
        """The known mistake that gives what the answer gave, in every case."""
        for mistake in self.mistakes:
            outcome_in = self._outcomes_of(mistake)
            if all(self._same(trial, outcome_in(trial.case)) for trial in trials):
                return mistake
        return None

    def _same(self, trial: Trial, outcome: Outcome) -> bool:
        """Whether a mistake's outcome is what the answer gave: the same value, or the same error.

        Errors are the same where their types and their messages are. Where the specification
        raises too, the type is enough, since the message of such an error is free.
        """
        got, known = trial.got.error, outcome.error
        if got is None or known is None:
            return got is known and not difference(outcome.value, trial.got.value, self.rtol)
        if type(got) is not type(known):
            return False
        if isinstance(got, Refusal):
            return got.kind == known.kind
        wanted = trial.expected.error
        return (wanted is not None and isinstance(got, type(wanted))
                or ADDRESS.sub("", message(got)) == ADDRESS.sub("", message(known)))

    def _outcomes_of(self, mistake: Mistake) -> Callable[[Case], Outcome]:
        """What a mistake gives in a case, as a function of the case."""
        known = self._known.setdefault(id(mistake), {}) if self.repeatable else {}

        def outcome_in(case: Case) -> Outcome:
            array = [isinstance(x, np.ndarray) or is_on_device(x) for x in case]
            key = repr([type(x) if a else x for x, a in zip(case, array)]), *_snapshot(case)
            if key not in known:
                if None not in known:
                    known[None] = self._function(mistake.answer)
                known[key] = self._read(Outcome.of(known[None], case), case)
            return known[key]

        return outcome_in


@dataclass(frozen=True, kw_only=True)
class ExperimentTask(Task):
    """A task whose answer is called by an experiment, with arguments that the experiment makes.

    Attributes
    ----------
    run : callable
        `run(answer, *case)` makes an experiment with the answer and returns what came out, or
        raises `Refusal`. `spec(*case)` says what must come out.
    signature : callable, optional
        A function with the parameters that the answer must have; else `right` has them.
    """

    run: Callable[..., object]
    signature: Callable | None = None

    def _asked(self) -> Callable:
        return self.signature or self.right

    def _function(self, answer: object) -> Callable | Verdict:
        answer = super()._function(answer)
        if isinstance(answer, Verdict):
            return answer
        return functools.wraps(self.spec)(functools.partial(self.run, answer))


def with_time_limit(seconds: float, function: Callable) -> Callable:
    """`function`, which raises a `Refusal` once a call has run for `seconds`.

    The clock is read at each line of Python, so a single long call of NumPy comes to its end.
    Where a trace function is set already, by a debugger or by `instructions`, there is no limit.
    """

    @functools.wraps(function)
    def limited(*args: object) -> object:
        if sys.gettrace() is not None:
            return function(*args)
        end = monotonic() + seconds

        def trace(frame: object, event: str, argument: object) -> object:
            if monotonic() > end:
                raise Refusal(f"it has not ended after {seconds:g} seconds, where a fraction of one"
                              " second is enough. Does every loop reach its end?", kind="time")
            return trace

        with np.errstate(), warnings.catch_warnings():  # a call cut short may leave them changed
            sys.settrace(trace)
            try:
                return function(*args)
            finally:
                sys.settrace(None)

    return limited


def is_stub(answer: object, given: str | None = None) -> bool:
    """Whether CUDA source still has the comment that stands for the learner's code.

    Source with more code than `given`, which the exercise began with, is no stub.
    """
    texts = [text for text in sources(answer) if STUB_MARK in text]
    return bool(texts) and (given is None or any(same_code(text, given) for text in texts))


def same_code(text: str, given: str) -> bool:
    """Whether `text` has no more code than `given`, or none: an empty body at its end."""
    text, given = ("".join(COMMENT.sub(" ", code).split()) for code in (text, given))
    return text == given or not text or text.endswith("{}")


def sources(answer: object) -> list[str]:
    """The CUDA source in an answer: a string itself, or the strings in one of CuPy's kernels."""
    found = [answer] + [getattr(answer, name, None) for name in SOURCES]
    return [text for text in found if isinstance(text, str)]


def describe_value(value: object) -> str:
    """`value`'s type with its article and, for an array, its dtype and shape."""
    if value is None:
        return "None"
    if isinstance(value, np.ndarray) or is_on_device(value):
        kind = "GPUArray" if type(value).__name__ == "GPUArray" else "CuPy array"
        article = "an" if value.dtype.kind == "i" else "a"
        return (f"{article} {value.dtype} {kind if is_on_device(value) else 'array'} of shape"
                f" {value.shape}")
    if isinstance(value, tuple):
        return f"a tuple of {len(value)} value{'s' * (len(value) != 1)}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def describe_returned(value: object) -> str:
    """The end of a sentence about what a function returned, with its full stop."""
    return "None. Is a `return` missing?" if value is None else f"{describe_value(value)}."


def require_type(value: object, kind: type, sentence: str) -> Any:
    """`value`, which must be of a type; else a Refusal: `sentence`, and what it is instead."""
    if not isinstance(value, kind):
        raise Refusal(f"{sentence} {describe_returned(value)}")
    return value


def require_tuple(value: object, *names: str) -> tuple:
    """`value`, which must be a tuple with an entry for each of `names`; else a Refusal."""
    if not isinstance(value, (tuple, list)) or len(value) != len(names):
        raise Refusal(f"expected the tuple ({', '.join(names)}), got {describe_returned(value)}")
    return tuple(value)


def describe_case(case: Case, function: Callable) -> str:
    """The arguments of a case by the specification's names: `x: float32 (5, 7), k=3`."""
    names = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{name}[{k}]" for k in range(len(case) - len(names))]
        else:
            names.append(name)
    parts = []
    for name, value in zip(names, case):
        if isinstance(value, np.ndarray) or is_on_device(value):
            library = "CuPy's " if is_on_device(value) else ""
            strides = "" if value.flags.c_contiguous else f" with strides {value.strides}"
            parts.append(f"{name}: {library}{value.dtype} {value.shape}{strides}")
        else:
            parts.append(f"{name}={value!r}")
    return ", ".join(parts)


def wrong_signature(answer: Callable, spec: Callable, name: str) -> str | None:
    """A sentence when `answer` cannot be called with the arguments that `spec` takes."""
    wanted = [("*" if p.kind is p.VAR_POSITIONAL else "") + p.name
              for p in inspect.signature(spec).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    try:
        own = inspect.signature(answer)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return None
    try:
        own.bind(*wanted)
    except TypeError:
        return (f"it must take {len(wanted)} arguments, {name}({', '.join(wanted)}); yours is"
                f" {name}{own}.")
    return None


def describe_error(error: Exception, answer: object) -> str:
    """An error as `Type: text`, with the line of the learner's own function that led to it."""
    text = message(error)
    file = getattr(getattr(answer, "__code__", None), "co_filename", None)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == file and frame.line:
            return f"{text}{'' if text.endswith('.') else ','} in the line `{frame.line}`."
    return text if text.endswith(".") else f"{text}."


def within_memory(value: object, case: Case) -> object:
    """`value`; an array that reaches outside the memory of its owner is refused unread."""
    if isinstance(value, np.ndarray) and value.size:
        (low, high), (start, stop) = byte_bounds(value), byte_bounds(owner_of(value))
        if low < start or high > stop:
            raise Refusal(f"the view of shape {value.shape} with strides {value.strides} reaches"
                          f" {max(start - low, high - stop)} bytes outside the array's memory.")
    return value


def difference(expected: object, got: object, rtol: float) -> str | None:
    """How `got` differs from `expected`, as a sentence; None where it does not.

    Shapes and dtypes of arrays must be equal. Floating-point values must be within `rtol` of the
    largest magnitude expected, other values equal.
    """
    if isinstance(expected, tuple):
        if not isinstance(got, (tuple, list)) or len(got) != len(expected):
            return f"expected a tuple of {len(expected)} values, got {describe_value(got)}."
        for k, (one, other) in enumerate(zip(expected, got)):
            if sentence := difference(one, other, rtol):
                return f"value {k} of the tuple: {sentence}"
        return None
    if got is None:
        return f"it returned {describe_returned(got)}"
    if isinstance(expected, np.ndarray):
        if not isinstance(got, np.ndarray):
            return f"expected {describe_value(expected)}, got {describe_value(got)}."
        if got.shape != expected.shape:
            return f"expected shape {expected.shape}, got {got.shape}."
        if got.dtype != expected.dtype:
            return f"expected dtype {expected.dtype}, got {got.dtype}."
    elif isinstance(expected, (bool, str)):
        if type(got) not in (type(expected), np.bool_) or got != expected:
            known = isinstance(got, (bool, float, int, str, np.generic))
            return f"expected {expected!r}, got {repr(got) if known else describe_value(got)}."
        return None
    elif not isinstance(got, (int, float, np.number)) or isinstance(got, bool):
        return f"expected a number, got {describe_value(got)}."
    wanted, given = np.asarray(expected), np.asarray(got)
    if wanted.dtype.kind in "fc":
        close = np.isclose(given, wanted, rtol=0, equal_nan=True,
                           atol=rtol * max(np.abs(wanted[np.isfinite(wanted)]).max(initial=0),
                                           np.finfo(wanted.dtype).tiny))
    else:
        close = given == wanted
    if np.all(close):
        return None
    if wanted.ndim == 0:
        return f"expected {digits(wanted[()])}, got {digits(given[()])}."
    first = tuple(np.argwhere(~close)[0].tolist())
    return (f"{np.count_nonzero(~close)} of {wanted.size} values are wrong, the first at"
            f" {list(first)}: expected {digits(wanted[first])}, got {digits(given[first])}.")


def digits(value: object) -> str:
    """A number as a sentence shows it, floating-point ones with seven digits."""
    return f"{value:.7g}" if isinstance(value, (float, np.floating)) else str(value)


# Rules: how an answer was reached.


def rule(check: Callable[..., str | None]) -> Callable[..., Rule]:
    """Decorate `check(answer, trials, ...)`: a call with what follows `trials` makes the rule."""

    def made(*given: object, **named: object) -> Rule:
        return lambda answer, trials: check(answer, trials, *given, **named)

    return made


@rule
def no_python_loop(answer: Callable, trials: Sequence[Trial], small: Case,
                   *larger: Case) -> str | None:
    """Work done by Python itself must not grow from the first case to any of the others.

    Counted in bytecode instructions of every Python function that runs, so that comprehensions,
    generators, `map` and `np.vectorize` count too. Give one larger case for each axis.
    """
    most = int(1.5 * instructions(answer, small)) + 50
    library = "CuPy" if any(map(is_on_device, small)) else "NumPy"
    if any(instructions(answer, large, most) > most for large in larger):
        return ("it loops in Python: the interpreter's work grows with the size of the input."
                f" Let {library} do the loop.")
    return None


class _Enough(BaseException):
    """Ends a call whose instructions were counted up to a limit."""


def instructions(function: Callable, case: Case, limit: float = math.inf) -> int:
    """Bytecode instructions that the interpreter executes in `function(*case)`, called twice.

    The second call counts: Python 3.12 and 3.13 trace the instructions of a function only after
    the call in which tracing was asked for, and 3.12 only once tracing was set anew. A call with
    more instructions than `limit` is ended there, but not inside nogpu, where a lock could stay
    taken. Meanwhile no garbage is collected: a finalizer of what earlier work left is no part of
    the function. `map`, whose loop the interpreter does not see, is a generator meanwhile.
    """
    count, plain = 0, builtins.map

    def trace(frame: object, event: str, argument: object) -> object:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event in ("opcode", "call"):
            count += 1
            if count > limit and f"{os.sep}nogpu{os.sep}" not in frame.f_code.co_filename:
                raise _Enough
        return trace

    before, collects = sys.gettrace(), gc.isenabled()
    for _ in range(2):
        arguments = copy.deepcopy(case)
        count = 0
        gc.disable()
        builtins.map = lambda call, *iterables: (call(*items) for items in zip(*iterables))
        with np.errstate(), warnings.catch_warnings():  # a call cut short may leave them changed
            sys.settrace(trace)
            try:
                function(*arguments)
            except _Enough:
                break
            finally:
                sys.settrace(before)
                builtins.map = plain
                if collects:
                    gc.enable()
    return count


def names_in(function: Callable) -> set[str]:
    """The names that a function's code uses, and those of the global functions behind them."""
    names, codes = set(), [getattr(function, "__code__", None)]
    for code in codes:
        names.update(getattr(code, "co_names", ()))
        codes.extend(getattr(code, "co_consts", ()))
    known = getattr(function, "__globals__", {})
    return names | {getattr(known.get(name), "__name__", name) for name in names}


@rule
def peak_memory(answer: Callable, trials: Sequence[Trial], case: Case, limit: float,
                advice: str) -> str | None:
    """In `case` the call may hold at most `limit` bytes of new memory at once."""
    peak = peak_bytes(answer, *copy.deepcopy(case))
    if peak > limit:
        return (f"it needs {peak:,} bytes of new memory at once, where {limit:,.0f} suffice:"
                f" {advice}")
    return None


def no_warnings(answer: Callable, trials: Sequence[Trial]) -> str | None:
    """No case may raise a warning, such as NumPy's for 0 / 0 or an overflow."""
    for case, _, _ in trials:
        with warnings.catch_warnings(), np.errstate(divide="raise", over="raise", invalid="raise"):
            warnings.simplefilter("error")  # all threads share the filters, but not errstate
            error = Outcome.of(answer, copy.deepcopy(case)).error
        if isinstance(error, (Warning, FloatingPointError)):
            return f"it warns: {error}. Compute nothing that is not a number."
    return None


def is_on_device(value: object) -> bool:
    """Whether `value` is CuPy's array, which lives on the device."""
    return hasattr(value, "__cuda_array_interface__") and hasattr(value, "get")


def _snapshot(case: Case) -> list[tuple]:
    """What must be the same after a call: the arrays and the lists among its arguments."""
    return [repr(x) if isinstance(x, list) else
            (x.shape, x.strides, x.dtype, getattr(x.flags, "writeable", True), x.tobytes())
            for x in case if isinstance(x, (list, np.ndarray)) or is_on_device(x)]
