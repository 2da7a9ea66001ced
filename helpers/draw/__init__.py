"""Pictures drawn from the learner's own arrays, each with the same facts as text."""

from .charts import bars, roof
from .contraction import einsum
from .layout import memory

__all__ = ["bars", "einsum", "memory", "roof"]
