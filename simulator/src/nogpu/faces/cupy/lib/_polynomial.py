"""The class of polynomials, the highest power first."""

import operator

import numpy as np
from cupy import _host

from nogpu.faces import table


class poly1d:  # noqa: N801
    """A polynomial."""

    __hash__ = None

    def __init__(self, c_or_r, r=False, variable=None):
        if isinstance(c_or_r, poly1d):
            self._coeffs = c_or_r.coeffs.copy()
            self._variable = c_or_r.variable if variable is None else variable
            return
        values = c_or_r if _host.is_array(c_or_r) else _host.device(np.asarray(c_or_r))
        if r:
            values = _host.compute_now(np.poly, [values])
        if values.ndim < 1:
            values = values.reshape((1,))
        if values.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        host = np.trim_zeros(_host.look(values), "f")
        self._coeffs = _host.device(host if host.size else np.zeros(1, values.dtype))
        self._variable = "x" if variable is None else variable

    @property
    def order(self):
        """The degree."""
        return self._coeffs.size - 1

    o = order

    @property
    def roots(self):
        """The roots."""
        return _host.compute_now(np.roots, [self._coeffs])

    r = roots

    def get(self, stream=None, out=None):
        """Return NumPy's polynomial."""
        return np.poly1d(self._coeffs.get(), variable=self._variable)

    def __repr__(self):
        return repr(self.get())

    def __str__(self):
        return str(self.get())

    def __len__(self):
        return self.order

    def __call__(self, value):
        return evaluate(self, value)

    def _other(self, other):
        if isinstance(other, poly1d):
            return other.get()
        return _host.look(other) if _host.is_array(other) else other

    def __rsub__(self, other):
        return -self + other

    def __neg__(self):
        return poly1d(-self._coeffs)

    def __pos__(self):
        return self

    def __eq__(self, other):
        if not isinstance(other, poly1d):
            raise NotImplementedError
        return bool(np.array_equal(self._coeffs.get(), other._coeffs.get()))

    def __ne__(self, other):
        return not self == other

    def __getitem__(self, power):
        return _host.device(self.get()[power])

    def __iter__(self):
        return iter(self._coeffs)

    def deriv(self, m=1):
        """Return the m-th derivative."""
        return poly1d(self.get().deriv(m).coeffs)

    def integ(self, m=1, k=0):
        """Return an antiderivative."""
        return poly1d(self.get().integ(m, k).coeffs)


table.properties(poly1d, """
coeffs = _coeffs: Coefficients from the highest power down.
variable = _variable: The variable's name.
""")
poly1d.c = poly1d.coef = poly1d.coefficients = poly1d.coeffs


def _operator(name):
    function = getattr(operator, name)
    return lambda self, other: poly1d(function(self.get(), self._other(other)).coeffs)


for _name in ("add", "sub", "mul", "pow"):
    setattr(poly1d, f"__{_name}__", _operator(_name))
poly1d.__radd__, poly1d.__rmul__ = poly1d.__add__, poly1d.__mul__


def coefficients(x):
    """Return a polynomial's coefficients, an array itself, a number as an array."""
    if isinstance(x, poly1d):
        return x.coeffs
    return _host.device(x) if isinstance(x, _host.SCALARS) else _host.argument(x)


def evaluate(p, x):
    """Return the polynomial's value at x."""
    if isinstance(x, poly1d):
        return poly1d(np.polyval(p.get() if isinstance(p, poly1d) else _host.look(p), x.get()))
    p, x = coefficients(p), coefficients(x)
    return _host.compute(np.polyval, [p, x], x.shape, np.result_type(p.dtype, x.dtype))
