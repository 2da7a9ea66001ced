"""Makes a context of its own on the default device, current at once.

It is not the primary context, in which CuPy works: see `pycuda.autoprimaryctx`.
"""

from __future__ import annotations

import atexit

import pycuda.driver as cuda
from pycuda.tools import _clean_up, make_default_context

cuda.init()
context = make_default_context()
device = context.get_device()
atexit.register(_clean_up, globals())
