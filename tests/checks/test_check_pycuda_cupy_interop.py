"""The checks of lesson 13, proven."""

from check_cases import proofs_of

globals().update(proofs_of("pycuda_cupy_interop"))
