"""Truth of arrays."""

from cupy import _tables
from cupy._core import core
from cupy._core._fusion_thread_local import fusable


def _fused(name):
    return fusable(lambda a, *how: getattr(core._checked(a, "a"), name)(*how))


all, any = _tables.functions(globals(), _fused, """
all(a, axis=None, out=None, keepdims=False): Whether all elements are true.
any(a, axis=None, out=None, keepdims=False): Whether any element is true.
""")  # noqa: A001
alltrue, sometrue = all, any
