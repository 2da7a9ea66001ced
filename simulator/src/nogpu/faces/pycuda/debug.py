"""pycuda.debug: not in the simulator."""

raise ImportError(
    "pycuda.debug exists in PyCUDA, but the course's simulator lacks it: "
    "it needs a machine with a GPU"
)
