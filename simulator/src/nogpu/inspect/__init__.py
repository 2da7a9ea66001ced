"""One kernel looked at: its faults, what it asks of memory, which thread touches what.

The module can be called: `nogpu.inspect(kernel, ...)` is `nogpu.inspect.inspect(kernel, ...)`.
"""

import sys
from types import ModuleType

from .accesses import AccessPattern, WarpAccess
from .report import Report, fault_sentence, inspect

__all__ = ["AccessPattern", "Report", "WarpAccess", "fault_sentence", "inspect"]


class _Callable(ModuleType):
    __call__ = staticmethod(inspect)


sys.modules[__name__].__class__ = _Callable
