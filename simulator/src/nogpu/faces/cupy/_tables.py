"""The rules of the routines' tables: how a function of a row calls NumPy.

`functions(globals(), rule, rows)` defines the functions; a mark in place of an annotation says
how an argument is checked.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable

import numpy as np
from cupy._core import core
from cupy._creation.from_data import asarray

from nogpu.faces import table

MARKS = {
    "array": lambda item, name: core._argument(item),  # on the device, or a TypeError
    "typed": core._checked,  # the same, and the TypeError names the parameter
    "any": lambda item, name: asarray(item),  # copied to the device where it is not there
}


def functions(namespace: dict, rule: table.Rule, rows: str) -> list[Callable]:
    """Define and return the functions of a table in a module; see `nogpu.faces.table.functions`."""
    return table.functions(namespace, rule, rows, MARKS)


def deprecated(function: Callable, text: str) -> Callable:
    """A function under an old name, which warns."""

    @functools.wraps(function)
    def old(*args: object, **how: object) -> object:
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return function(*args, **how)

    return old


def method(name: str) -> Callable:
    """The first argument's method."""
    return lambda a, *how: getattr(a, name)(*how)


def on_host(numpy: object = np) -> table.Rule:
    """NumPy's function on the host; its results are copied to the device."""

    def rule(name: str) -> Callable:
        function = getattr(numpy, name)
        return lambda *args, **how: core._to_device(function(*args, **how))

    return rule


def view(name: str) -> Callable:
    """A view that NumPy's function makes of the first argument's."""
    function = getattr(np, name)

    def make(a: core.ndarray, *how: object) -> core.ndarray:
        found = function(a._view, *how)
        return core._wrap(a._view if isinstance(found, np.generic) else found, a)

    return make


def now(numpy: object = np) -> table.Rule:
    """NumPy's function of the arrays, which waits: the result's shape depends on the values."""

    def rule(name: str) -> Callable:
        function = getattr(numpy, name)
        return lambda *args, **how: core.compute_now(
            lambda *values: function(*values, **how), args)

    return rule


def each(name: str) -> Callable:
    """NumPy's function of every element, queued; the dtype is what NumPy gives for a one."""
    function = getattr(np, name)
    return lambda x, *how: elementwise(lambda v: function(v, *how), x)


def elementwise(function: Callable, *inputs: object, dtype: object = None) -> core.ndarray:
    """Queue a NumPy function that works element by element on arrays and numbers."""
    inputs = [x if isinstance(x, (core.ndarray, *core._SCALARS)) else core._argument(x)
              for x in inputs]  # fmt: skip
    if dtype is None:
        ones = [np.ones(1, x.dtype) if isinstance(x, core.ndarray) else x for x in inputs]
        dtype = np.asarray(function(*ones)).dtype
    return core.compute(function, inputs, core.broadcast_shape(inputs), dtype)
