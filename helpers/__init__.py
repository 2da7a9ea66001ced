"""What the notebooks of Strides to Streams import: `import helpers`, then `helpers.start()`."""

import importlib
import importlib.util
import sys
from pathlib import Path

# No ModuleNotFoundError: a notebook's first cell takes that for a course that is not here.
if not (importlib.util.find_spec("numpy") and importlib.util.find_spec("matplotlib")):
    raise ImportError(
        f"This Python ({sys.executable}) has no NumPy or no Matplotlib: run `make lab` in"
        f" {Path(__file__).resolve().parent.parent}, and open the notebook there.")

# Where nobody has installed the course (Colab clones it), its own simulator is not found yet.
if importlib.util.find_spec("nogpu") is None:
    sys.path.append(str(Path(__file__).resolve().parent.parent / "simulator" / "src"))

from .backend import describe_machine, size, start
from .bounds import ceiling
from .errors import show_error
from .formats import show_predictions
from .inspection import inspect
from .printing import device_output
from .timeline import timeline
from .timing import bench, compare, peak_bytes
from .transfers import traffic
from .tune import Generated, tune

__all__ = [
    "Generated", "bench", "ceiling", "compare", "describe_machine", "device_output", "draw",
    "inspect", "peak_bytes", "show_error", "show_predictions", "size", "start", "timeline",
    "traffic", "tune",
]


def __getattr__(name: str) -> object:
    """Import `draw` when it is asked for: Matplotlib takes half a second."""
    if name == "draw":
        return importlib.import_module(".draw", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
