"""pycuda.debug: not in nogpu."""

raise ImportError(
    "pycuda.debug exists in PyCUDA, but nogpu lacks it: "
    "it needs a machine with a GPU"
)
