"""pycuda.gl: not in nogpu."""

raise ImportError(
    "pycuda.gl exists in PyCUDA, but nogpu lacks it: "
    "it needs a machine with a GPU"
)
