"""Where CUDA is installed. The simulator needs no CUDA and finds none."""

from __future__ import annotations

import shutil

from nogpu.faces import table


def get_nvcc_path() -> str | None:
    """The nvcc on the path, if there is one. The simulator does not use it."""
    return shutil.which("nvcc")


table.functions(globals(), lambda name: table.nothing, """
get_cuda_path() -> str | None: The folder of the CUDA toolkit: None, since the simulator uses none.
get_rocm_path() -> str | None: The folder of ROCm: None.
get_hipcc_path() -> str | None: The hipcc: None.
""")
