"""The newer interface: `Generator`."""

from __future__ import annotations

import numpy as np
from cupy import _host
from cupy.random import _draw
from cupy.random._bit_generator import XORWOW, BitGenerator

from nogpu.faces import table


def _real(dtype) -> np.dtype:
    dtype = np.dtype(dtype)
    if dtype.char not in "fd":
        raise TypeError(
            f"Unsupported dtype {dtype.name!r}. Only float32 and float64 are supported")
    return dtype


class Generator:
    """Random numbers from a bit generator."""

    def __init__(self, bit_generator):
        self.bit_generator = bit_generator

    def _draw(self, function, parameters, size, dtype, out=None):
        return self.bit_generator._source.draw(function, parameters, size, dtype, out)

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        """Return integers of [low, high), or of [low, high] with ``endpoint``."""
        if high is None:
            low, high = 0, low
        dtype = np.dtype(dtype)
        if not (_host.is_array(low) or _host.is_array(high)):
            low, high = int(low), int(high)
            if low > high or low == high and not endpoint:
                raise ValueError("low >= high")
            if low < np.iinfo(dtype).min:
                raise ValueError(f"low is out of bounds for {dtype}")
            if high - (not endpoint) > np.iinfo(dtype).max:
                raise ValueError(f"high is out of bounds for {dtype}")
        return self._draw(
            lambda g, shape, a, b: g.integers(a, b, shape, dtype, endpoint),
            (low, high), size, dtype)

    def dirichlet(self, alpha, size=None):
        """Return points of a simplex."""
        return _draw.points_of_a_simplex(self._draw, alpha, size, np.float64)


def _standard(name):
    def draw(self, size, dtype, *method_and_out):
        *method, out = method_and_out
        if method not in ([], ["inv"]):
            raise NotImplementedError("Only inv method is currently implemented")
        dtype = _real(dtype)
        return self._draw(
            lambda g, shape: getattr(g, name)(shape, dtype), (), size, dtype, out)

    return draw


def _of_type(name):
    def draw(self, *given):
        *given, out = given if name == "standard_gamma" else (*given, None)
        *parameters, size, dtype = given
        return self._draw(_draw.by_name(name), parameters, size, _real(dtype), out)

    return draw


table.methods(Generator, _standard, """
random(self, size=None, dtype=float, out=None): Return uniform numbers of [0, 1).
standard_normal(self, size=None, dtype=float, out=None): Return standard normal numbers.
standard_exponential(self, size=None, dtype=float, method="inv", out=None):
    Return numbers of the exponential distribution of scale one.
""")
table.methods(Generator, _of_type, """
standard_gamma(self, shape, size=None, dtype=float, out=None):
    Return numbers of the gamma distribution of scale one.
beta(self, a, b, size=None, dtype=float): Return numbers of the beta distribution.
uniform(self, low=0.0, high=1.0, size=None, dtype=float):
    Return uniform numbers of [low, high).
""")


def _named(name):
    kind = _draw.DISTRIBUTIONS[name][1]

    def draw(self, *parameters_and_size):
        *parameters, size = parameters_and_size
        return self._draw(_draw.by_name(name), parameters, size, np.dtype(kind))

    return draw


table.methods(Generator, _named, _draw.rows("""
    binomial chisquare exponential f gamma geometric hypergeometric logseries poisson power
""".split()))


def default_rng(seed=None) -> Generator:
    """Return a Generator on XORWOW, or on the bit generator given."""
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, BitGenerator) else XORWOW(seed))
