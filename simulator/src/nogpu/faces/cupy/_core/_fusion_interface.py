"""What a fused function sees in place of arrays: only that which can be fused."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
from cupy._core import core
from cupy._core._fusion_thread_local import thread_local
from cupy._core._ufunc import ufunc
from cupy._creation.from_data import asarray, copy
from cupy._math.ufuncs import BINARY, COMPARE, UFUNCS, UNARY


class _VariableProxy:
    """An array or a number inside a fused function."""

    __hash__ = None

    def __init__(self, content: object) -> None:
        self.content = content

    @property
    def dtype(self) -> np.dtype:
        """The dtype."""
        return np.asarray(self.content).dtype if _is_number(self.content) else self.content.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return 0 if _is_number(self.content) else self.content.ndim

    @property
    def shape(self) -> tuple:
        """Not known while a function is fused."""
        raise NotImplementedError("`shape` is not supported, currently.")

    def copy(self) -> _VariableProxy:
        """A copy."""
        return call(copy, (self,), {})

    def astype(self, dtype, order=None, casting=None, subok=None, copy=True) -> _VariableProxy:
        """The elements in another dtype."""
        for name, value in (("order", order), ("casting", casting), ("subok", subok)):
            if value is not None:
                raise TypeError(f"{name} is not supported yet")
        if not copy and self.dtype == np.dtype(dtype):
            return self
        return call(lambda a: asarray(a).astype(dtype), (self,), {})

    def _refuse(self) -> None:
        raise TypeError("Cannot convert to Python scalar in cupy.fuse")

    __bool__ = __int__ = __float__ = __complex__ = _refuse


class _ScalarProxy(_VariableProxy):
    """A number inside a fused function."""

    def __repr__(self) -> str:
        return f"_ScalarProxy(dtype={self.dtype})"


class _ArrayProxy(_VariableProxy):
    """An array inside a fused function."""

    def __repr__(self) -> str:
        return f"_ArrayProxy([...], dtype='{self.dtype.char}', ndim={self.ndim})"

    def __getitem__(self, index: object) -> _ArrayProxy:
        return _ArrayProxy(self.content[index])

    def __setitem__(self, index: object, value: object) -> None:
        if not (index is Ellipsis or (isinstance(index, slice) and index == slice(None))):
            raise ValueError("The fusion supports `[...]` or `[:]`.")
        self.content[...] = _inside(value)


_REDUCTIONS = ("sum", "prod", "max", "min", "all", "any")


def _binary(name: str, swapped: bool = False, in_place: bool = False) -> Callable:
    def method(self, other):
        function = UFUNCS[name]
        if in_place:
            return function(self, other, self)
        return function(other, self) if swapped else function(self, other)

    return method


def _unary(name: str) -> Callable:
    return lambda self: UFUNCS[name](self)


def _reduction(name: str) -> Callable:
    def method(self, *how, **kwargs):
        return call(operator.methodcaller(name, *how, **kwargs), (self,), {})

    return method


for _name, _function in BINARY.items():
    if _name == "divmod":
        continue
    setattr(_VariableProxy, f"__{_name}__", _binary(_function))
    if _name != "pow":
        setattr(_VariableProxy, f"__r{_name}__", _binary(_function, swapped=True))
    setattr(_ArrayProxy, f"__i{_name}__", _binary(_function, in_place=True))
for _name, _function in COMPARE.items():
    setattr(_VariableProxy, f"__{_name}__", _binary(_function))
for _name, _function in UNARY.items():
    setattr(_VariableProxy, f"__{_name}__", _unary(_function))
for _name in _REDUCTIONS:
    setattr(_VariableProxy, _name, _reduction(_name))


def _is_number(item: object) -> bool:
    return isinstance(item, (int, float, complex, np.generic))


def _inside(item: object) -> object:
    return item.content if isinstance(item, _VariableProxy) else item


def wrap(item: object) -> object:
    """The proxy of an array or a number; anything else as it is."""
    if isinstance(item, core.ndarray):
        return _ArrayProxy(item)
    return _ScalarProxy(item) if _is_number(item) else item


def unwrap(item: object) -> object:
    """What a proxy stands for; also in a tuple or a list."""
    if isinstance(item, (tuple, list)):
        return type(item)(unwrap(one) for one in item)
    return _inside(item)


def call(function: Callable, args: tuple, kwargs: dict) -> object:
    """Call ``function`` with what the proxies stand for."""
    inputs = [_inside(item) for item in args]
    kwargs = {name: _inside(value) for name, value in kwargs.items()}
    thread_local.fusing = False
    try:
        if inputs and isinstance(function, ufunc) and all(_is_number(x) for x in inputs):
            result = function._loop(*inputs)
            if not any(isinstance(x, np.generic) for x in inputs):
                result = result.item()  # it decides no more about types than its operands did
        else:
            result = function(*inputs, **kwargs)
    finally:
        thread_local.fusing = True
    return tuple(wrap(one) for one in result) if isinstance(result, tuple) else wrap(result)
