"""Updates at indices that may repeat: every one counts."""

from cupy import _tables
from cupy._core.core import ndarray  # noqa: F401 -- the signatures name it

_tables.functions(globals(), _tables.method, """
scatter_add(a: ndarray, slices: object, value: object) -> None:
    ``a[slices] += value``, also where an index repeats.
scatter_max(a: ndarray, slices: object, value: object) -> None:
    ``a[slices] = max(a[slices], value)``, also where an index repeats.
scatter_min(a: ndarray, slices: object, value: object) -> None:
    ``a[slices] = min(a[slices], value)``, also where an index repeats.
""")
