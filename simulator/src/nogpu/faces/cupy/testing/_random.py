"""Numbers that repeat, for a test."""

import contextlib
import random

import numpy as np


@contextlib.contextmanager
def fix_random():
    """Return a decorator that runs a function with the generators seeded."""
    import cupy.random

    python, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    shared = cupy.random.get_random_state()
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    cupy.random.set_random_state(cupy.random.RandomState(0))
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy_state)  # noqa: NPY002
        cupy.random.set_random_state(shared)
