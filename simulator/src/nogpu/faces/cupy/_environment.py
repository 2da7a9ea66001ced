"""Where CUDA is installed. The simulator needs no CUDA and finds none."""

from __future__ import annotations

import shutil


def get_cuda_path() -> str | None:
    """The folder of the CUDA toolkit: None, since the simulator uses none."""
    return None


def get_nvcc_path() -> str | None:
    """The nvcc on the path, if there is one. The simulator does not use it."""
    return shutil.which("nvcc")


def get_rocm_path() -> str | None:
    """The folder of ROCm: None."""
    return None


def get_hipcc_path() -> str | None:
    """The hipcc: None."""
    return None
