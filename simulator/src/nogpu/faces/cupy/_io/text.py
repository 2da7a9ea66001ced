"""Arrays in text files."""

import numpy as np
from cupy import _host


def savetxt(fname, X, *args, **kwargs):  # noqa: N803
    """Save an array to a text file, with NumPy's parameters."""
    np.savetxt(fname, _host.look(X) if _host.is_array(X) else X, *args, **kwargs)
