"""Figures of the parts of an image."""

import numpy as np
from cupy import _host, _tables


def _by_label(array, labels, index, average):
    _host.argument(array)
    inputs = [array] if labels is None else [array, _host.argument(labels)]
    if index is not None and labels is not None:
        inputs.append(index if _host.is_array(index) else _host.device(index))
    shape = inputs[2].shape if len(inputs) == 3 else ()

    def work(v, parts=None, wanted=None):
        if parts is None:
            return v.mean() if average else v.sum()
        v, parts = np.broadcast_arrays(v, parts)
        if wanted is None:
            chosen = v[parts > 0]
            return chosen.mean() if average else chosen.sum()
        found, inverse = np.unique(parts, return_inverse=True)
        totals = np.bincount(inverse.ravel(), v.ravel().astype(np.float64))
        if average:
            totals = totals / np.bincount(inverse.ravel())
        places = np.minimum(np.searchsorted(found, wanted), len(found) - 1)
        return np.where(found[places] == wanted, totals[places], np.nan if average else 0.0)

    return _host.compute(work, inputs, shape, np.float64)


_tables.functions(
    globals(), lambda name: lambda *given: _by_label(*given, average=name == "mean"), """
sum_labels(input, labels=None, index=None):
    Return the sum, or for each label in ``index`` the sum of its elements.
sum(input, labels=None, index=None): Return what `sum_labels` returns.
mean(input, labels=None, index=None):
    Return the mean, or for each label in ``index`` the mean of its elements.
""")
