"""The checks of lesson 02, proven."""

from check_cases import proofs_of

globals().update(proofs_of("broadcasting_and_indexing"))
