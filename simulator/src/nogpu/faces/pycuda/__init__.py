"""The simulator's PyCUDA: the real library's interface over the engine's memory and kernels."""

from nogpu.faces import missing as _missing

VERSION = (2026, 1)
VERSION_STATUS = ""
VERSION_TEXT = ".".join(str(part) for part in VERSION) + VERSION_STATUS
__getattr__ = _missing.missing(__name__)
