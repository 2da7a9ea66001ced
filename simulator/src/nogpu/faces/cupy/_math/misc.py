"""Functions that are no ufunc of NumPy's."""

import numpy as np
from cupy import _tables
from cupy._core import core
from cupy._core._fusion_thread_local import fusable
from cupy._core.core import ndarray
from cupy._creation.basic import full
from cupy._creation.from_data import asarray
from cupy._statistics.correlation import _slide


@fusable
def clip(a, a_min, a_max, out=None):
    """Values between limits; one of them may be None."""
    return core._argument(a).clip(a_min, a_max, out)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """nan and infinities replaced."""
    given = x if isinstance(x, ndarray) else full((), x)
    values = [None if v is None or given.dtype.kind not in "fc" else
              asarray(v, np.empty(0, given.dtype).real.dtype) for v in (nan, posinf, neginf)]
    wanted = [v for v in values if v is not None]

    def work(a, *views):
        views = iter(views)
        options = [v if v is None else next(views) for v in values]
        return np.nan_to_num(a, True, 0.0 if options[0] is None else options[0], *options[1:])

    result = core.compute(work, [given, *wanted], given.shape, given.dtype)
    if not copy:
        x[...] = result
        return x
    return result


def convolve(a, v, mode="full"):
    """Discrete convolution of two vectors."""
    return _slide(np.convolve, a, v, mode)


def _small(function):
    """A function whose result has the smallest float type that holds the integers."""
    def call(x):
        kind = asarray(x).dtype
        kind = kind if kind.kind in "fc" else np.result_type(kind, np.float16)
        wide = np.float32 if kind.char == "e" else kind
        return _tables.elementwise(lambda v: function(v.astype(wide)), x, dtype=kind)

    return call


_SMALL = {"i0": np.i0, "sinc": lambda v: np.where(np.isnan(v), 1, np.sinc(v))}  # as a GPU says
_tables.functions(globals(), lambda name: fusable(_small(_SMALL[name])), """
sinc(x): sin(pi x) / (pi x).
i0(x): Modified Bessel function of order 0.
""")
_tables.functions(globals(), lambda name: fusable(_tables.each(name)), """
angle(z, deg=False): The angle of complex numbers.
""")
_tables.functions(globals(), _tables.now(), """
real_if_close(a: array, tol=100): Real where the imaginary parts are negligible.
unwrap(p: any, discont=None, axis=-1, *, period=2 * np.pi): Angles without jumps.
interp(x, xp, fp, left=None, right=None, period=None): Linear interpolation.
""")
_tables.functions(globals(), _tables.method, """
max(a, axis=None, out=None, keepdims=False): The largest.
min(a, axis=None, out=None, keepdims=False): The smallest.
""")
_tables.functions(globals(), lambda name: fusable(lambda val: getattr(asarray(val), name)), """
real(val): The real part.
imag(val): The imaginary part.
""")
