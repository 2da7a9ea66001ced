"""Where the numbers come from: NumPy's generators, one for each call, so that they repeat by seed
whichever stream they run on. The numbers themselves are not those of the real library.
"""

from __future__ import annotations

import secrets
from operator import index

import numpy as np
from cupy import _host


def seed_of(seed) -> list[int]:
    """Turn a seed into integers; None asks the operating system.

    Raises
    ------
    TypeError
        Where it is no integer and no array of integers.
    """
    if seed is None:
        return [secrets.randbits(64)]
    if _host.is_array(seed):
        seed = _host.look(seed)
    try:
        if isinstance(seed, (np.ndarray, list, tuple)):
            return [index(one) % 2**64 for one in np.asarray(seed).ravel()]
        return [index(seed) % 2**64]
    except TypeError:
        raise TypeError("Seed must be an integer.") from None


class Source:
    """A seed and how often was drawn from it."""

    def __init__(self, seed=None):
        self.start(seed)

    def start(self, seed) -> None:
        """Begin anew."""
        self.seed, self.calls = seed_of(seed), 0

    def generator(self) -> np.random.Generator:
        """Return the generator of the next call."""
        self.calls += 1
        return np.random.Generator(np.random.SFC64([*self.seed, self.calls]))

    def draw(self, function, parameters, size, dtype, out=None):
        """Queue ``function(generator, shape, *parameters)``; parameters may be arrays."""
        parameters = [value if np.isscalar(value) else _host.asarray(value) for value in parameters]
        arrays = [value for value in parameters if _host.is_array(value)]
        shape = shape_of(size, arrays, out)
        generator = self.generator()

        def work(*views):
            views = iter(views)
            values = [next(views) if _host.is_array(v) else v for v in parameters]
            return function(generator, shape, *values)

        return _host.compute(work, arrays, shape, dtype, out)


def shape_of(size, arrays=(), out=None) -> tuple[int, ...]:
    """Return the shape that a size means: that of the parameters for None."""
    if size is None:
        if out is not None:
            return out.shape
        return np.broadcast_shapes(*(one.shape for one in arrays)) if arrays else ()
    if isinstance(size, (tuple, list)):
        return tuple(index(n) for n in size)
    return (index(size),)


def by_name(name: str):
    """Return a function that calls NumPy's distribution of that name."""
    return lambda generator, shape, *values: getattr(generator, name)(*values, size=shape)


# name: its parameters, and the type of the numbers
DISTRIBUTIONS: dict[str, tuple[tuple[str, ...], type]] = {
    "beta": (("a", "b"), float),
    "binomial": (("n", "p"), int),
    "chisquare": (("df",), float),
    "exponential": (("scale=1.0",), float),
    "f": (("dfnum", "dfden"), float),
    "gamma": (("shape", "scale=1.0"), float),
    "geometric": (("p",), int),
    "gumbel": (("loc=0.0", "scale=1.0"), float),
    "hypergeometric": (("ngood", "nbad", "nsample"), int),
    "laplace": (("loc=0.0", "scale=1.0"), float),
    "logistic": (("loc=0.0", "scale=1.0"), float),
    "lognormal": (("mean=0.0", "sigma=1.0"), float),
    "logseries": (("p",), int),
    "negative_binomial": (("n", "p"), int),
    "noncentral_chisquare": (("df", "nonc"), float),
    "noncentral_f": (("dfnum", "dfden", "nonc"), float),
    "normal": (("loc=0.0", "scale=1.0"), float),
    "pareto": (("a",), float),
    "poisson": (("lam=1.0",), int),
    "power": (("a",), float),
    "rayleigh": (("scale=1.0",), float),
    "standard_cauchy": ((), float),
    "standard_exponential": ((), float),
    "standard_gamma": (("shape",), float),
    "standard_normal": ((), float),
    "standard_t": (("df",), float),
    "triangular": (("left", "mode", "right"), float),
    "uniform": (("low=0.0", "high=1.0"), float),
    "vonmises": (("mu", "kappa"), float),
    "wald": (("mean", "scale"), float),
    "weibull": (("a",), float),
    "zipf": (("a",), int),
}
