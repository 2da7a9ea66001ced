"""Special functions of each element, in float32 or float64."""

from __future__ import annotations

import numpy as np
from cupy import _host

from nogpu.engine import special


def _type(arguments) -> np.dtype:
    """Return float32 where all fit into it, otherwise float64."""
    kinds = [x.dtype if _host.is_array(x) else x for x in arguments]
    kind = np.result_type(*kinds)
    for one in "fd":
        if np.can_cast(kind, one):
            return np.dtype(one)
    raise TypeError(f"Wrong type ({kind}) of arguments")


class _Function:
    """A function of one or two arguments, element by element."""

    def __init__(self, name: str, nin: int) -> None:
        self.name = f"cupyx_scipy_special_{name}"
        self.__name__, self.nin, self.nout = name, nin, 1
        self._function = getattr(special, name)
        self.__doc__ = self._function.__doc__

    def __call__(self, *args, out=None, dtype=None):
        if len(args) == self.nin + 1 and out is None:
            *args, out = args
        if len(args) != self.nin:
            raise TypeError(
                f"Wrong number of arguments for {self.name!r}. It must be either {self.nin} or "
                f"{self.nin + 1} (with outputs), but given {len(args)}.")
        for x in args:
            if not isinstance(x, (bool, int, float, np.generic)):
                _host.argument(x)
        arrays = [x for x in args if _host.is_array(x)]
        dtype = _type(args) if dtype is None else np.dtype(dtype)
        shape = np.broadcast_shapes(*(x.shape for x in arrays))

        def work(*views):
            views = iter(views)
            values = [next(views) if _host.is_array(x) else x for x in args]
            return self._function(*(np.asarray(v, np.float64) for v in values))

        return _host.compute(work, arrays, shape, dtype, out)

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"


_ONE = "entr erf erfc erfcx expit gamma gammaln log_expit log_ndtr logit ndtr".split()
_TWO = "kl_div rel_entr xlog1py xlogy".split()
__all__ = [*_ONE, *_TWO]
globals().update({name: _Function(name, 2 if name in _TWO else 1) for name in __all__})
