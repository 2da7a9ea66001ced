"""The small package behind the notebooks of Strides to Streams."""

from . import draw
from .backend import describe_machine, size, start
from .errors import show_error
from .inspect import inspect
from .printing import device_output
from .timing import bench, ceiling, compare, peak_bytes
from .traffic import traffic

__all__ = [
    "bench",
    "ceiling",
    "compare",
    "describe_machine",
    "device_output",
    "draw",
    "inspect",
    "peak_bytes",
    "show_error",
    "size",
    "start",
    "traffic",
]
