"""The simulator in the place of CuPy's bindings to CUDA."""

from nogpu.faces import missing as _missing

__getattr__ = _missing.missing(__name__)
