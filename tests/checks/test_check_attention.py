"""The checks of lesson 16, proven."""

from check_cases import proofs_of

globals().update(proofs_of("attention"))
