"""An autotuner: generated variants of a kernel are checked, measured and ranked."""

from .result import Tuning, Variant
from .search import tune
from .variant import Generated

__all__ = ["Generated", "Tuning", "Variant", "tune"]
