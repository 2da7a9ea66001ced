"""Switches of the library's transforms. Here they change nothing: NumPy computes."""

from nogpu.faces import missing as _missing

enable_nd_planning = True
use_multi_gpus = False
_devices = None


def set_cufft_gpus(gpus):
    """Keep which devices a transform over several would use."""
    global _devices
    _devices = list(range(gpus)) if isinstance(gpus, int) else list(gpus)


__getattr__ = _missing.missing("cupy.fft.config")
