"""pycuda.sparse: not in nogpu."""

raise ImportError(
    "pycuda.sparse exists in PyCUDA, but nogpu lacks it: "
    "it needs a machine with a GPU"
)
