"""The checks of lesson 00, proven."""

from check_cases import proofs_of

globals().update(proofs_of("start_here"))
