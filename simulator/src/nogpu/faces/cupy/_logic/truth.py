"""Truth of arrays."""

from cupy._core import core
from cupy._core._fusion_thread_local import fusable


@fusable
def all(a, axis=None, out=None, keepdims=False):  # noqa: A001
    """Whether all elements are true."""
    return core._checked(a, "a").all(axis=axis, out=out, keepdims=keepdims)


@fusable
def any(a, axis=None, out=None, keepdims=False):  # noqa: A001
    """Whether any element is true."""
    return core._checked(a, "a").any(axis=axis, out=out, keepdims=keepdims)


alltrue, sometrue = all, any
