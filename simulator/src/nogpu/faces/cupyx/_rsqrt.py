"""The reciprocal of the square root."""

from __future__ import annotations

import numpy as np
from cupy._core._ufunc import ufunc


class _Loop:
    """NumPy has no such loop: one made of two."""

    nin, nout = 1, 1
    types = ["e->e", "f->f", "d->d"]

    @staticmethod
    def resolve_dtypes(dtypes: tuple, **options: object) -> tuple:
        return np.sqrt.resolve_dtypes(dtypes, **options)

    def __call__(self, x: object, /, out: object = None, **options: object) -> object:
        with np.errstate(all="ignore"):
            root = np.sqrt(x, **options)
            return np.divide(root.dtype.type(1), root, out=out)


rsqrt = ufunc("cupy_rsqrt", _Loop(), types=list(_Loop.types),
              doc="Returns the reciprocal square root.")  # fmt: skip
