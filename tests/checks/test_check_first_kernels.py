"""The checks of lesson 06, proven."""

from check_cases import proofs_of

globals().update(proofs_of("first_kernels"))
