"""Of cuSPARSE's routines those that bring a sparse matrix into order."""

from nogpu.faces import table

table.functions(globals(), lambda name: lambda x: x.sort_indices(), """
csrsort(x) -> None: Sort the column indices of each row of a `csr_matrix`, in place.
cscsort(x) -> None: Sort the row indices of each column of a `csc_matrix`, in place.
""")
