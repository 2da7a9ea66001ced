"""CuPy and PyCUDA on nogpu's engine: what `import cupy` and `import pycuda` find."""
