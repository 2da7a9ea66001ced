"""Marks for tools: see `cupy_backends.cuda.libs.nvtx`."""

from cupy_backends.cuda.libs.nvtx import *  # noqa: F403
from cupy_backends.cuda.libs.nvtx import available as available
