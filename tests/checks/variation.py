"""What a task's cases never vary: a mistake that only shows where it varies goes unseen.

`constants(task, solution)` makes the calls that the check makes, in all cases, and names in a few
words each thing that is the same in all of them:

- a number, a word, a dtype, a number of axes, a length; numbers and lengths with a common divisor;
- lengths that are always equal, or whole multiples of a parameter or of a block's threads;
- arrays in C order alone, without a negative number, without any change along an axis;
- launches of one block alone.

Some of it is part of a task, as the axis that both operands of a product share. That stands in
`tests/checks/constants.json`, each with its reason.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from inspect import Parameter, signature
from pathlib import Path

import numpy as np

from checks.machinery.kernel_task import KernelTask
from checks.machinery.task import ExperimentTask, Task, is_on_device

REASONS = Path(__file__).with_name("constants.json")
Call = Mapping[str, object]  # the arguments of one call by name


def read_reasons() -> dict[str, dict[str, dict[str, str]]]:
    """For a lesson and a task: what its cases need not vary, and why."""
    return json.loads(REASONS.read_text(encoding="utf-8"))


def constants(task: Task, solution: object) -> list[str]:
    """What no case of a task varies, each in a few words."""
    calls = list(calls_of(task, solution))
    raw = isinstance(task, KernelTask) and task.launch is not None
    found = []
    for name in dict.fromkeys(name for call in calls for name in call):
        values = [value for call in calls for value in _all(call.get(name, ()))]
        found += [f"{name} {what}" for what in _constants_of(name, values, declared=raw)]
    return found + list(_relations(calls))


def unexplained(found: Sequence[str], reasons: Mapping[str, str]) -> list[str]:
    """What of `found` has no reason, and which reasons are about nothing that was found.

    A reason may be for several things: its name is a pattern, as in "* axis".
    """
    return [what for what in found if not any(fnmatchcase(what, one) for one in reasons)] + [
        f"a reason about nothing: {one}" for one in reasons
        if not any(fnmatchcase(what, one) for what in found)]


# ---- the calls


@dataclass(frozen=True)
class Seen:
    """An array as a call found it. `content` is None where it may not be read yet."""

    dtype: np.dtype
    shape: tuple[int, ...]
    in_order: bool
    content: np.ndarray | None


def calls_of(task: Task, solution: object) -> Iterator[Call]:
    """What the learner's function or kernel is called with, in one case after the other.

    A raw kernel knows its arrays' lengths from its other arguments alone.
    """
    if isinstance(task, KernelTask) and task.launch:
        kinds = [kind.strip() for kind in task.parameters.split(",")]
        names = [kind.replace("*", " ").split()[-1] for kind in kinds]
        for case in task.cases():
            grid, block, values = task.launch(*case)
            inputs = {name: value for name, kind, value in zip(names, kinds, values)
                      if "*" not in kind or "const" in kind}
            yield {"grid": math.prod(grid), "block": math.prod(block),
                   **{name: _seen(value) for name, value in inputs.items()}}
    elif isinstance(task, ExperimentTask):
        calls: list[Call] = []

        @functools.wraps(solution)
        def recorder(*values: object) -> object:
            # Device memory may still be written to, and reading would wait for it.
            calls.append(_named(task._asked(), values, wait=False))
            return solution(*values)

        function = task._function(recorder)
        for case in task.cases():
            function(*case)
        yield from calls
    else:
        for case in task.cases():
            yield _named(task.spec, case)


def _seen(value: object, wait: bool = True) -> object:
    """What is kept of an argument: of kernels, streams and functions nothing."""
    if isinstance(value, (bool, int, float, str, np.generic)):
        return value
    if not (isinstance(value, np.ndarray) or is_on_device(value)) or not value.ndim:
        return None
    content = None
    if not is_on_device(value):
        content = value.copy()
    elif wait:
        content = value.get()
    return Seen(value.dtype, value.shape, value.flags.c_contiguous, content)


def _named(function: object, values: Sequence, wait: bool = True) -> Call:
    """Arguments by the names of a function's parameters, of a list its length and its items."""
    named: dict[str, object] = {}
    parameters = list(signature(function).parameters.values())
    for k, parameter in enumerate(parameters):
        if k >= len(values):
            break  # what follows has a default
        value = values[k:] if parameter.kind is Parameter.VAR_POSITIONAL else values[k]
        name = parameter.name
        if isinstance(value, (list, tuple)):
            named[f"len({name})"] = len(value)
            named[f"{name}[k]"] = [_seen(item, wait) for item in value]
        else:
            named[name] = _seen(value, wait)
    return named


def _all(value: object) -> Sequence:
    """The values of an argument: of a list its items, of what was not kept none."""
    return [one for one in (value if isinstance(value, (list, tuple)) else [value])
            if one is not None]


# ---- one parameter


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _constants_of(name: str, values: Sequence, declared: bool) -> Iterator[str]:
    """What all values of a parameter share; a kernel's declaration gives dtypes and order."""
    arrays = [value for value in values if isinstance(value, Seen)]
    if arrays:
        yield from _constants_of_arrays(arrays, declared)
    elif values:
        if len(set(values)) == 1:
            yield f"always {values[0]!r}" if isinstance(values[0], str) else f"always {values[0]}"
        elif all(map(_is_number, values)):
            if name != "grid":
                yield from _common_divisor(values)
            if any(isinstance(value, (float, np.floating)) for value in values):
                yield from ["never negative"] * all(value >= 0 for value in values)


def _common_divisor(numbers: Sequence) -> Iterator[str]:
    if all(isinstance(number, (int, np.integer)) for number in numbers):
        divisor = math.gcd(*map(int, numbers))
        if divisor > 1:
            yield f"always a multiple of {divisor}"


def _constants_of_arrays(arrays: Sequence[Seen], declared: bool) -> Iterator[str]:
    axes = {len(array.shape) for array in arrays}
    if not declared:
        if len({array.dtype for array in arrays}) == 1:
            yield f"always {arrays[0].dtype}"
        if len(axes) == 1:
            yield f"always {'1 axis' if 1 in axes else f'{min(axes)} axes'}"
        if all(array.in_order for array in arrays):
            yield "always in C order"
    contents = [array.content for array in arrays if array.content is not None]
    if {content.dtype.kind for content in contents} & set("if") and not any(
            (content < 0).any() for content in contents):
        yield "never negative"
    for axis in range(min(axes) if len(axes) == 1 else 0):
        lengths = {array.shape[axis] for array in arrays}
        if not declared and len(lengths) == 1:
            yield f"axis {axis} always {min(lengths)}"
        elif not declared:
            yield from (f"axis {axis} {what}" for what in _common_divisor(list(lengths)))
        if contents and not any(_changes(content, axis) for content in contents):
            yield f"the same along axis {axis}"


def _changes(content: np.ndarray, axis: int) -> bool:
    first = content.take([0], axis=axis) if content.shape[axis] else content
    return bool((content != first).any())


# ---- several parameters


def _relations(calls: Sequence[Call]) -> Iterator[str]:
    """Lengths and numbers that are always equal, or always whole multiples."""
    sizes = [_sizes(call) for call in calls]
    names = list(dict.fromkeys(name for one in sizes for name in one))
    fixed = {name for name in names if len({one[name] for one in sizes if name in one}) == 1}
    left = [name for name in names if name not in fixed]
    while left:
        same = [left[0]] + [other for other in left[1:] if _always(
            sizes, left[0], other, lambda one, two: one == two)]
        left = [name for name in left if name not in same]
        if len(same) > 1:
            yield f"{', '.join(same)} always equal"
    for part in [name for name in names if " axis " not in name and name != "grid"]:
        for name in names:
            if (" axis " in name or part == "block") and name not in (part, "grid") and _always(
                    sizes, name, part, lambda one, two: one % two == 0,
                    which=lambda one, two: 1 < two < one):
                yield f"{name} always a multiple of {part}"
    if "grid" in names and all(size["grid"] == 1 for size in sizes):
        yield "one block alone"


def _always(sizes: Sequence[Mapping], one: str, other: str, relation: Callable,
            which: Callable = lambda one, two: True) -> bool:
    """Whether two sizes are so related in all calls that have both, of which there are several."""
    pairs = [(size[one], size[other]) for size in sizes if one in size and other in size]
    pairs = [pair for pair in pairs if which(*pair)]
    return len(pairs) > 1 and all(relation(*pair) for pair in pairs)


def _sizes(call: Call) -> dict[str, int]:
    """The whole numbers among the arguments of a call, and the lengths where they are arguments."""
    found = {}
    for name, value in call.items():
        if isinstance(value, Seen) and "block" not in call:
            found |= {f"{name} axis {axis}": size for axis, size in enumerate(value.shape)}
        elif _is_number(value) and isinstance(value, (int, np.integer)):
            found[name] = int(value)
    return found
