"""Libraries that come with CUDA."""

from nogpu.faces import missing as _missing

__getattr__ = _missing.missing(__name__)
