"""The older interface: `RandomState` and the one that the functions share."""

from __future__ import annotations

import numpy as np
from cupy import _host
from cupy.random import _draw

from nogpu.faces import table


def _real(dtype) -> np.dtype:
    dtype = np.dtype(dtype)
    if dtype.char not in "fd":
        raise TypeError("cupy.random only supports float32 and float64")
    return dtype


class RandomState:
    """Random numbers by a seed; ``method``, the device library's generator, is only kept."""

    def __init__(self, seed=None, method=100):
        self.method = method
        self._source = _draw.Source(seed)

    def seed(self, seed=None):
        """Begin anew from a seed."""
        self._source.start(seed)

    def random_sample(self, size=None, dtype=float):
        """Return uniform numbers of [0, 1)."""
        dtype = _real(dtype)
        return self._source.draw(lambda g, shape: g.random(shape, dtype), (), size, dtype)

    def standard_normal(self, size=None, dtype=float):
        """Return standard normal numbers."""
        dtype = _real(dtype)
        return self._source.draw(lambda g, shape: g.standard_normal(shape, dtype), (), size, dtype)

    def tomaxint(self, size=None):
        """Return integers from 0 to the largest of the C type int."""
        return self._source.draw(
            lambda g, shape: g.integers(0, 2**31, shape), (), size, np.int64)

    def randint(self, low, high=None, size=None, dtype="l"):
        """Return integers of [low, high), of [0, low) without ``high``."""
        if high is None:
            low, high = 0, low
        arrays = _host.is_array(low) or _host.is_array(high)
        dtype = np.dtype(dtype)
        if not arrays:
            low, high = np.asarray(low), np.asarray(high)
            if (low >= high).any():
                raise ValueError("low >= high")
            if dtype.kind == "b":
                limits = (0, 1)
            else:
                limits = np.iinfo(dtype).min, np.iinfo(dtype).max
            if low.min() < limits[0]:
                raise ValueError(f"low is out of bounds for {dtype.name}")
            if high.max() > limits[1] + 1:
                raise ValueError(f"high is out of bounds for {dtype.name}")
            shape = np.broadcast_shapes(low.shape, high.shape) if size is None else size
            return self._source.draw(
                lambda g, shape: g.integers(low, high, shape, dtype), (), shape, dtype)
        return self._source.draw(
            lambda g, shape, a, b: g.integers(a, b, shape, dtype), (low, high), size, dtype)

    def shuffle(self, a):
        """Shuffle along the first axis, in place."""
        _host.argument(a)
        if a.ndim == 0:
            raise TypeError("An array whose ndim is 0 is not supported")
        generator = self._source.generator()
        _host.change(a, lambda v: generator.shuffle(v))

    def permutation(self, a):
        """Return a shuffled copy, or the numbers below an integer in random order."""
        generator = self._source.generator()
        if isinstance(a, (int, np.integer)):
            return _host.compute(lambda: generator.permutation(int(a)), [], (int(a),), np.int64)
        _host.argument(a)
        return _host.compute(generator.permutation, [a], a.shape, a.dtype)

    def choice(self, a, size=None, replace=True, p=None):
        """Return elements of an array, or of the numbers below an integer."""
        if a is None:
            raise ValueError("a must be 1-dimensional or an integer")
        if isinstance(a, (int, np.integer)):
            count, dtype, values = int(a), np.dtype(np.int64), []
            if count < 0:
                raise ValueError("a must be greater than or equal to 0")
        else:
            a = _host.asarray(a)
            if a.ndim != 1:
                raise ValueError("a must be 1-dimensional or an integer")
            count, dtype, values = a.size, a.dtype, [a]
        shape = _draw.shape_of(size)
        if count == 0 and _host.size_of(shape):
            raise ValueError("a cannot be empty")
        if p is not None:
            weights = np.asarray(_host.look(p) if _host.is_array(p) else p, np.float64)
            if weights.ndim != 1:
                raise ValueError("p must be 1-dimensional")
            if weights.size != count:
                raise ValueError("a and p must have same size")
            if (weights < 0).any():
                raise ValueError("probabilities are not non-negative")
            if not np.isclose(weights.sum(), 1):
                raise ValueError("probabilities do not sum to 1")
            weights = weights / weights.sum()
        else:
            weights = None
        if not replace and _host.size_of(shape) > count:
            raise ValueError(
                "Cannot take a larger sample than population when 'replace=False'")
        generator = self._source.generator()

        def work(*views):
            places = generator.choice(count, size=shape, replace=replace, p=weights)
            return views[0][places] if views else places

        return _host.compute(work, values, shape, dtype)

    def dirichlet(self, alpha, size=None, dtype=float):
        """Return points of a simplex."""
        return _draw.points_of_a_simplex(self._source.draw, alpha, size, dtype)

    def multivariate_normal(self, mean, cov, size=None, check_valid="ignore", tol=1e-08,
                            method="cholesky", dtype=float):
        """Return normal vectors of a mean and a covariance."""
        mean, cov = (_host.look(_host.asarray(one)) for one in (mean, cov))
        if mean.ndim != 1:
            raise ValueError("mean must be 1 dimensional")
        if cov.ndim != 2 or cov.shape[0] != cov.shape[1]:
            raise ValueError("cov must be 2 dimensional and square")
        if mean.size != cov.shape[0]:
            raise ValueError("mean and cov must have same length")
        shape = _draw.shape_of(size)
        return self._source.draw(
            lambda g, _: g.multivariate_normal(mean, cov, shape), (),
            (*shape, mean.size), _real(dtype))


_OF_ANY_TYPE = """
    beta chisquare f gamma logistic noncentral_chisquare noncentral_f standard_gamma standard_t
    vonmises
""".split()  # CuPy's kernels store them in any type


def _from_numpy(name):
    """Draw from NumPy's distribution of that name."""
    kind = _draw.DISTRIBUTIONS[name][1]

    def draw(self, *given):
        *values, size, dtype = given
        dtype = _real(dtype) if kind is float and name not in _OF_ANY_TYPE else np.dtype(dtype)
        return self._source.draw(_draw.by_name(name), values, size, dtype)

    return draw


def _in_shape(name):
    draw = {"rand": RandomState.random_sample, "randn": RandomState.standard_normal}[name]

    def call(self, *size, **kwarg):
        dtype = kwarg.pop("dtype", float)
        if kwarg:
            raise TypeError(f"{name}() got unexpected keyword arguments {', '.join(kwarg)}")
        return draw(self, size=size, dtype=dtype)

    return call


table.methods(RandomState, _in_shape, """
rand(self, *size, **kwarg):
    Return uniform numbers of [0, 1) in the shape given by the arguments.
randn(self, *size, **kwarg):
    Return standard normal numbers in the shape given by the arguments.
""")
table.methods(RandomState, _from_numpy, _draw.rows(
    _draw.DISTRIBUTIONS.keys() - vars(RandomState), ", dtype={}"))

_shared: RandomState | None = None


def get_random_state() -> RandomState:
    """Return the generator that the functions of `cupy.random` share."""
    global _shared
    if _shared is None:
        _shared = RandomState()
    return _shared


def set_random_state(rs) -> None:
    """Let the functions of `cupy.random` share another generator."""
    global _shared
    if not isinstance(rs, RandomState):
        raise TypeError(
            f"Random state must be an instance of RandomState. Actual: {type(rs)}")
    _shared = rs


def reset_states() -> None:
    """Forget the shared generator."""
    global _shared
    _shared = None


def seed(seed=None) -> None:
    """Begin the shared generator anew."""
    get_random_state().seed(seed)
