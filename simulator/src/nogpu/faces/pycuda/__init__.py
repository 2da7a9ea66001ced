"""The simulator's PyCUDA: the real library's interface over the engine's memory and kernels."""

VERSION = (2026, 1)
VERSION_STATUS = ""
VERSION_TEXT = ".".join(str(part) for part in VERSION) + VERSION_STATUS
