"""Windows of signals."""

from __future__ import annotations

import numpy as np
from cupy import _host


def bartlett(M):  # noqa: N803
    """Return the Bartlett window."""
    return _host.device(np.bartlett(M))


def blackman(M):  # noqa: N803
    """Return the Blackman window."""
    return _host.device(np.blackman(M))


def hamming(M):  # noqa: N803
    """Return the Hamming window."""
    return _host.device(np.hamming(M))


def hanning(M):  # noqa: N803
    """Return the Hanning window."""
    return _host.device(np.hanning(M))


def kaiser(M, beta):  # noqa: N803
    """Return the Kaiser window."""
    return _host.device(np.kaiser(M, beta))
