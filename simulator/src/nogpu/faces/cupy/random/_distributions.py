"""The functions: methods of the generator that they share."""

import numpy as np
from cupy import _host
from cupy.random import _draw, _generator


def _function(name):
    def draw(*args, **kwargs):
        return getattr(_generator.get_random_state(), name)(*args, **kwargs)

    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = getattr(_generator.RandomState, name).__doc__
    return draw


NAMES = (
    *_draw.DISTRIBUTIONS, "choice", "dirichlet", "multivariate_normal", "permutation", "rand",
    "randint", "randn", "random_sample", "shuffle",
)
globals().update({_name: _function(_name) for _name in NAMES})


def random_integers(low, high=None, size=None):
    """Return integers of [low, high], of [1, low] without ``high``."""
    if high is None:
        low, high = 1, low
    return _generator.get_random_state().randint(low, high + 1, size)


def multinomial(n, pvals, size=None):
    """Return how often each of several outcomes came up in n trials."""
    pvals = _host.look(pvals) if _host.is_array(pvals) else np.asarray(pvals, float)
    shape = _draw.shape_of(size)
    return _generator.get_random_state()._source.draw(
        lambda g, _: g.multinomial(n, pvals, shape), (), (*shape, pvals.size), np.int64)


def bytes(length):  # noqa: A001
    """Return random bytes."""
    return _generator.get_random_state()._source.generator().bytes(length)
