"""`helpers.inspect`: one launch looked at on the simulator, on every machine, and drawn."""

from nogpu.inspect import Report, inspect

__all__ = ["Report", "inspect"]
