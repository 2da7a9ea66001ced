"""The checks of lesson 05, proven."""

from check_cases import proofs_of

globals().update(proofs_of("numpy_to_cupy"))
