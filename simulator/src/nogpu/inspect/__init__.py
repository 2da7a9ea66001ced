"""One kernel looked at: its faults, what it asks of memory, which thread touches what."""

from .report import Report, inspect

__all__ = ["Report", "inspect"]
