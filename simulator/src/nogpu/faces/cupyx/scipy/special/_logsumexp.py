"""Sums of exponentials, without overflow."""

import numpy as np
from cupy import _host, _tables


def _shifted(v, axes):
    high = np.max(v, axis=axes, keepdims=True)
    return v - np.where(np.isfinite(high), high, 0), np.where(np.isfinite(high), high, 0)


def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    """Return log(sum(b * exp(a))), and its sign where ``return_sign``."""
    _host.argument(a)
    axes = _host.axes_of(axis, a.ndim)
    dtype = _host.floating(a.dtype)
    inputs = [a]
    if b is not None:
        inputs.append(b if _host.is_array(b) else _host.device(b))
        dtype = np.result_type(dtype, inputs[1].dtype)
    shape = _host.reduced(a.shape, axes, keepdims)

    def work(v, weights=None):
        v = v.astype(_host.wide(dtype), copy=False)
        if weights is not None:
            v = np.where(weights == 0, -np.inf, v)
        small, high = _shifted(v, axes)
        terms = np.exp(small) if weights is None else weights * np.exp(small)
        total = np.sum(terms, axis=axes, keepdims=True)
        sign = np.sign(total)
        value = np.log(np.abs(total) if return_sign else total) + high
        return value.reshape(shape), sign.reshape(shape)

    if return_sign:
        return _host.compute_many(work, inputs, [(shape, dtype), (shape, dtype)])
    return _host.compute(lambda *views: work(*views)[0], inputs, shape, dtype)


def _softmax(name):
    def call(x, axis):
        axes = _host.axes_of(axis, x.ndim)
        dtype = _host.floating(x.dtype)

        def work(v):
            small, _ = _shifted(v.astype(_host.wide(dtype), copy=False), axes)
            terms = np.exp(small)
            total = np.sum(terms, axis=axes, keepdims=True)
            return terms / total if name == "softmax" else small - np.log(total)

        return _host.compute(work, [x], x.shape, dtype)

    return call


_tables.functions(globals(), _softmax, """
softmax(x: array, axis=None): Return exp(x) / sum(exp(x)) along axes.
log_softmax(x: array, axis=None): Return the logarithm of `softmax`.
""")
