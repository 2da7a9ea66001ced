"""One kernel looked at: its faults, what it asks of memory, which thread touches what."""

from .accesses import AccessPattern, WarpAccess
from .report import Report, inspect

__all__ = ["AccessPattern", "Report", "WarpAccess", "inspect"]
