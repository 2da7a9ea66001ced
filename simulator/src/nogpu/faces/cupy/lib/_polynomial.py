"""The class of polynomials, the highest power first."""

import numbers
import operator

import numpy as np
from cupy import _host

from nogpu.faces import table


class poly1d:  # noqa: N801
    """A polynomial."""

    __hash__ = None

    def __init__(self, c_or_r, r=False, variable=None):
        if isinstance(c_or_r, (np.poly1d, poly1d)):
            self._coeffs = _host.asarray(c_or_r.coeffs)
            variable = c_or_r.variable if variable is None else variable
        else:
            self._coeffs = _host.compute_now(np.poly, [c_or_r]) if r else _host.asarray(c_or_r)
        if self._coeffs.ndim < 1:
            self._coeffs = self._coeffs.reshape(1)
        if self._coeffs.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        self._variable = "x" if variable is None else variable

    @property
    def coeffs(self):
        """Coefficients from the highest power down, the first of them not 0; looking waits."""
        zeros = len(np.trim_zeros(_host.look(self._coeffs), "f")) - self._coeffs.size
        self._coeffs = self._coeffs[min(-zeros, self._coeffs.size - 1):]
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value):
        if value is not self._coeffs:
            raise AttributeError("Cannot set attribute")

    c = coef = coefficients = coeffs

    @property
    def order(self):
        """The degree."""
        return self.coeffs.size - 1

    o = order

    @property
    def roots(self):
        """The roots."""
        return _host.compute_now(np.roots, [self._coeffs])

    r = roots

    def get(self, stream=None, out=None):
        """Return NumPy's polynomial."""
        return np.poly1d(self.coeffs.get(stream), variable=self._variable)

    def set(self, polyin, stream=None):
        """Take over the coefficients and the variable of NumPy's polynomial."""
        if not isinstance(polyin, np.poly1d):
            raise TypeError("Only numpy.poly1d can be set to cupy.poly1d")
        self._variable = polyin.variable
        self.coeffs.set(polyin.coeffs, stream)

    def __cupy_get_ndarray__(self):
        return self.coeffs

    def __array__(self, dtype=None):
        raise TypeError(_host.core._IMPLICIT)

    def __repr__(self):
        return repr(self.get())

    def __str__(self):
        return str(self.get())

    def __len__(self):
        return self.order

    def __call__(self, value):
        return evaluate(self, value)

    def __neg__(self):
        return poly1d(-self.coeffs)

    def __pos__(self):
        return self

    def __mul__(self, other):
        return poly1d(self.coeffs * other) if np.isscalar(other) else polymul(self, other)

    def __rmul__(self, other):
        return polymul(self.coeffs.dtype.type(other) if np.isscalar(other) else other, self)

    def __pow__(self, power):
        if not np.isscalar(power) or int(power) != power or power < 0:
            raise ValueError("Power to non-negative integers only.")
        if not isinstance(power, numbers.Integral):
            raise TypeError("float object cannot be interpreted as an integer")
        return poly1d((self.get() ** int(power)).coeffs)

    def __truediv__(self, other):
        if not np.isscalar(other):
            raise NotImplementedError
        return poly1d(self.coeffs / other)

    def __eq__(self, other):
        if not isinstance(other, poly1d):
            raise NotImplementedError
        return bool(np.array_equal(self.coeffs.get(), other.coeffs.get()))

    def __ne__(self, other):
        return not self == other

    def __getitem__(self, power):
        return self._coeffs[-power - 1] if 0 <= power < self._coeffs.size else 0

    def __setitem__(self, power, value):
        if power < 0:
            raise ValueError("Negative powers are not supported.")
        more = max(power + 1 - self._coeffs.size, 0)
        self._coeffs = _host.compute(
            lambda v: np.pad(v, (more, 0)), [self._coeffs], (self._coeffs.size + more,),
            self._coeffs.dtype)
        self._coeffs[-power - 1] = value

    def __iter__(self):
        return iter(self.coeffs)

    def deriv(self, m=1):
        """Not in CuPy, either."""
        raise NotImplementedError

    integ = deriv


def coefficients(x):
    """Return a polynomial's coefficients, an array itself, a number as an array."""
    if isinstance(x, poly1d):
        return x.coeffs
    return _host.device(x) if isinstance(x, _host.SCALARS) else _host.argument(x)


def _vector(x):
    """The same as an array of one axis."""
    x = coefficients(x)
    if x.ndim > 1:
        raise ValueError("Multidimensional inputs are not supported")
    return x if x.ndim else x.reshape(1)


def _two(name):
    function = getattr(np, name)

    def call(a1, a2):
        result = _host.compute_now(
            lambda p, q: np.atleast_1d(function(p, q)), [_vector(a1), _vector(a2)])
        return poly1d(result) if isinstance(a1, poly1d) or isinstance(a2, poly1d) else result

    return call


polyadd, polysub, polymul = table.functions(globals(), _two, """
polyadd(a1, a2): Return the sum of two polynomials.
polysub(a1, a2): Return the difference of two polynomials.
polymul(a1, a2): Return the product of two polynomials.
""")
poly1d.variable = property(operator.attrgetter("_variable"), doc="The variable's name.")
poly1d.__add__ = lambda self, other: polyadd(self, other)
poly1d.__radd__ = lambda self, other: polyadd(other, self)
poly1d.__sub__ = lambda self, other: polysub(self, other)
poly1d.__rsub__ = lambda self, other: polysub(other, self)


def evaluate(p, x):
    """Return the polynomial's value at x."""
    p = p.coeffs if isinstance(p, poly1d) else p
    if not _host.is_array(p) or p.ndim == 0:
        raise TypeError("p must be 1d ndarray or poly1d object")
    if p.ndim > 1:
        raise ValueError("p must be 1d array")
    if isinstance(x, poly1d):
        return poly1d(np.polyval(_host.look(p), x.get()))
    kind = np.result_type(p.dtype, x.dtype if hasattr(x, "dtype") else x)
    x = _host.asarray(x)
    return _host.compute(np.polyval, [p, x], x.shape, kind)
