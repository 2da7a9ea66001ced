"""`vectorize`: a Python function of numbers, translated to C++ and applied to all elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cupy._core import _kernel, core
from cupy._core._ufunc import ufunc

from nogpu.engine.translate import WEAK, Translator


class vectorize:  # noqa: N801 -- the library's name
    """A function of numbers, applied to the elements of arrays; compiled from its source.

    It may have arithmetic, comparisons, `if`, `while`, loops over `range`, and NumPy's universal
    functions. ``otypes``, ``excluded`` and ``signature`` are not supported.
    """

    def __init__(
        self, pyfunc: Callable, otypes: object = None, doc: str | None = None,
        excluded: object = None, cache: bool = False, signature: str | None = None,
    ) -> None:  # fmt: skip
        self.pyfunc, self.cache, self.otypes = pyfunc, cache, otypes
        self.__doc__ = doc or pyfunc.__doc__
        self.excluded, self.signature = excluded, signature
        if excluded is not None:
            raise NotImplementedError(
                "cupy.vectorize does not support `excluded` option currently.")
        if signature is not None:
            raise NotImplementedError(
                "cupy.vectorize does not support `signature` option currently.")
        self._kernel_cache: dict[tuple, _kernel.ElementwiseKernel] = {}

    def __call__(self, *args: object) -> object:
        """Apply it to arrays and numbers, which broadcast."""
        types = tuple(_type_of(item) for item in args)
        kernel = self._kernel_cache.get(types)
        if kernel is None:
            kernel = self._kernel_cache[types] = self._compile(types)
        return kernel(*args)

    def _compile(self, types: tuple) -> _kernel.ElementwiseKernel:
        if self.otypes is not None:
            raise NotImplementedError
        translator = Translator(self.pyfunc, list(types), _loop_of)
        code = "#include <cupy/operators.cuh>\n" + translator.translate()
        names = [f"in{i}" for i in range(len(types))]
        outs = [f"out{i}" for i in range(len(translator.results))]
        return _kernel.ElementwiseKernel(
            ", ".join(f"{t.name} {n}" for t, n in zip(types, names)),
            ", ".join(f"{t.name} {n}" for t, n in zip(translator.results, outs)),
            f"vectorized({', '.join(names + outs)})",
            "cupy_vectorize", preamble=code, return_tuple=translator.as_tuple)


def _type_of(item: object) -> np.dtype:
    if isinstance(item, (core.ndarray, np.generic)):
        return item.dtype
    for kind in (bool, int, float, complex):
        if isinstance(item, kind):
            return WEAK[kind]
    raise TypeError(f"Invalid type {type(item)}. Argument types should be cupy.ndarray or scalar")


def _loop_of(item: object) -> np.ufunc | None:
    if isinstance(item, np.ufunc):
        return item
    return item._loop if isinstance(item, ufunc) else None
