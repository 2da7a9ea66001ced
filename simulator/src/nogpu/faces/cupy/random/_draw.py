"""Where the numbers come from: NumPy's generators, one for each call, so that they repeat by seed
whichever stream they run on. The numbers themselves are not those of the real library.
"""

from __future__ import annotations

import re
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


# name: its parameters as a signature has them, and the type of the numbers
DISTRIBUTIONS = {name: (parameters, float) for name, parameters in re.findall(r"(\w+)\((.*?)\)", """
    beta(a, b) chisquare(df) exponential(scale=1.0) f(dfnum, dfden) gamma(shape, scale=1.0)
    gumbel(loc=0.0, scale=1.0) laplace(loc=0.0, scale=1.0) logistic(loc=0.0, scale=1.0)
    lognormal(mean=0.0, sigma=1.0) noncentral_chisquare(df, nonc)
    noncentral_f(dfnum, dfden, nonc) normal(loc=0.0, scale=1.0) pareto(a) power(a)
    rayleigh(scale=1.0) standard_cauchy() standard_exponential() standard_gamma(shape)
    standard_normal() standard_t(df) triangular(left, mode, right) uniform(low=0.0, high=1.0)
    vonmises(mu, kappa) wald(mean, scale) weibull(a)
""")} | {name: (parameters, int) for name, parameters in re.findall(r"(\w+)\((.*?)\)", """
    binomial(n, p) geometric(p) hypergeometric(ngood, nbad, nsample) logseries(p)
    negative_binomial(n, p) poisson(lam=1.0) zipf(a)
""")}


def rows(names, ending: str = "") -> str:
    """Return a table's rows of methods that draw from distributions."""
    return "\n".join(
        f"{name}(self, {parameters}{', ' * bool(parameters)}size=None"
        f"{ending.format(kind.__name__)}): "
        f"Return numbers of the distribution that NumPy calls {name}."
        for name, (parameters, kind) in DISTRIBUTIONS.items() if name in names)


def points_of_a_simplex(draw, alpha, size, dtype):
    """Draw from the distribution of Dirichlet."""
    alpha = _host.on_host(alpha).astype(float)
    shape = shape_of(size)
    return draw(lambda g, _: g.dirichlet(alpha, shape), (), (*shape, alpha.size), np.dtype(dtype))
