"""The checks of lesson 08, proven."""

from check_cases import proofs_of

globals().update(proofs_of("memory_and_tiles"))
