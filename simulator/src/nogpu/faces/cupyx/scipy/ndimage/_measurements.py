"""Figures of the parts of an image."""

import numpy as np
from cupy import _host, _tables

from nogpu.engine import images


def _by_label(array, labels, index, average):
    _host.argument(array)
    inputs = [array] if labels is None else [array, _host.argument(labels)]
    if index is not None and labels is not None:
        inputs.append(index if _host.is_array(index) else _host.device(index))
    shape = inputs[2].shape if len(inputs) == 3 else ()

    def work(v, parts=None, wanted=None):
        return images.by_label(v, parts, wanted, average)

    return _host.compute(work, inputs, shape, np.float64)


_tables.functions(
    globals(), lambda name: lambda *given: _by_label(*given, average=name == "mean"), """
sum_labels(input, labels=None, index=None):
    Return the sum, or for each label in ``index`` the sum of its elements.
sum(input, labels=None, index=None): Return what `sum_labels` returns.
mean(input, labels=None, index=None):
    Return the mean, or for each label in ``index`` the mean of its elements.
""")
