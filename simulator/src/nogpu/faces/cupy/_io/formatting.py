"""Arrays as text: NumPy's, of the values copied to the host."""

import numpy as np
from cupy import _host, _tables


def _of_values(name):
    function = getattr(np, name)
    return lambda a, *args, **how: function(_host.on_host(a), *args, **how)


_tables.functions(globals(), _of_values, """
array_repr(arr, max_line_width=None, precision=None, suppress_small=None):
    Return what `repr` gives, with parameters.
array_str(arr, max_line_width=None, precision=None, suppress_small=None):
    Return what `str` gives, with parameters.
array2string(a, *args, **kwargs): Return a text of an array, with NumPy's parameters.
""")
