"""The checks of lesson 03, proven."""

from check_cases import proofs_of

globals().update(proofs_of("einsum"))
