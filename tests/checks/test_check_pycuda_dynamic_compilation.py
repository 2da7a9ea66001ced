"""The checks of lesson 12, proven."""

from check_cases import proofs_of

globals().update(proofs_of("pycuda_dynamic_compilation"))
