"""The checks of lesson 01, proven."""

from check_cases import proofs_of

globals().update(proofs_of("strided_views"))
