"""CuPy and PyCUDA on nogpu's engine: what `import cupy` and `import pycuda` find."""

from pathlib import Path

HEADERS = Path(__file__).parent / "include"
"""NVIDIA's C++ libraries, for the kernels of both: cub, thrust and libcu++, as far as they go."""
