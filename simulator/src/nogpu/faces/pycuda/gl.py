"""pycuda.gl: not in nogpu."""

from nogpu.faces import missing

raise ImportError(missing.explain("pycuda.gl"))
