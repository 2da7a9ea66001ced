"""`fuse`: a function of arrays as one kernel.

The simulator runs a fused function operation by operation: what it takes, refuses and returns is
the library's, but no time is saved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from cupy._core import _fusion_interface, core
from cupy._core._fusion_thread_local import thread_local
from cupy.cuda import compiler

_TYPES = (core.ndarray, np.ndarray, np.generic, int, float, complex, bool, type(None))


class Fusion:
    """A fused function; made by `fuse`."""

    def __init__(self, func: Callable, name: str | None = None) -> None:
        self.func, self.name = func, name or func.__name__

    def __repr__(self) -> str:
        return f"<Fusion name={self.name}>"

    def clear_cache(self) -> None:
        """Nothing is kept here."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        if kwargs:
            name = next(iter(kwargs))
            raise TypeError(f"__call__() got an unexpected keyword argument '{name}'")
        if thread_local.fusing or not any(isinstance(a, core.ndarray) for a in args):
            return self.func(*args)
        if not all(isinstance(a, _TYPES) for a in args):
            kinds = ", ".join(repr(type(a)) for a in args)
            raise TypeError(f"Invalid argument type for '{self.name}': ({kinds})")
        assert not any(isinstance(a, np.ndarray) for a in args)
        thread_local.fusing = True
        thread_local.interpreter = _fusion_interface.call
        try:
            result = self.func(*[_fusion_interface.wrap(a) for a in args])
        finally:
            thread_local.fusing = False
        if not compiler.is_valid_kernel_name(self.name):
            raise compiler.CompileException(
                f"{self.name}: error: expected an identifier (a fused function's name is its "
                "kernel's; fuse(kernel_name=...) gives another)\n",
                f'extern "C" __global__ void {self.name}()', self.name, (), "nvrtc")
        return _fusion_interface.unwrap(result)


def fuse(*args: object, **kwargs: object) -> object:
    """Fuse a function; a decorator, with or without parentheses."""

    def wrapper(function: Callable, kernel_name: str | None = None) -> Fusion:
        return functools.update_wrapper(Fusion(function, kernel_name), function)

    if len(args) == 1 and not kwargs and callable(args[0]):
        return wrapper(args[0])
    return lambda function: wrapper(function, *args, **kwargs)
