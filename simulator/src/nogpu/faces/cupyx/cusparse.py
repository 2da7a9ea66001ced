"""Of cuSPARSE's routines those that bring a sparse matrix into order."""

from __future__ import annotations


def csrsort(x: object) -> None:
    """Sort the column indices of each row of a `csr_matrix`, in place."""
    x.sort_indices()


def cscsort(x: object) -> None:
    """Sort the row indices of each column of a `csc_matrix`, in place."""
    x.sort_indices()
