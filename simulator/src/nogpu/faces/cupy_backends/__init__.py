"""The simulator in the place of CuPy's bindings to CUDA."""
