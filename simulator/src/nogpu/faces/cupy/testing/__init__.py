"""Assertions across libraries, and arrays to test with."""

from cupy.testing._array import (
    assert_allclose,
    assert_array_almost_equal,
    assert_array_almost_equal_nulp,
    assert_array_equal,
    assert_array_less,
    assert_array_list_equal,
    assert_array_max_ulp,
)
from cupy.testing._random import fix_random
from cupy.testing._shaped import (
    empty,
    shaped_arange,
    shaped_linspace,
    shaped_random,
    shaped_reverse_arange,
)

__all__ = [
    "assert_allclose", "assert_array_almost_equal", "assert_array_almost_equal_nulp",
    "assert_array_equal", "assert_array_less", "assert_array_list_equal", "assert_array_max_ulp",
    "empty", "fix_random", "shaped_arange", "shaped_linspace", "shaped_random",
    "shaped_reverse_arange",
]


def __getattr__(name):
    raise AttributeError(f"the simulator's cupy.testing has no {name!r}")
