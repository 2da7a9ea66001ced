"""The checks of lesson 11, proven."""

from check_cases import proofs_of

globals().update(proofs_of("fast_kernels"))
