"""Exceptions: NumPy's."""

from numpy.exceptions import (  # noqa: F401
    AxisError,
    ComplexWarning,
    ModuleDeprecationWarning,
    RankWarning,
    TooHardError,
    VisibleDeprecationWarning,
)
