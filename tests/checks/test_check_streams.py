"""The checks of lesson 14, proven."""

from check_cases import proofs_of

globals().update(proofs_of("streams"))
