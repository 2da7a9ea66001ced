"""The checks of lesson 10, proven."""

from check_cases import proofs_of

globals().update(proofs_of("lesson10"))
