"""Pictures drawn from the learner's own arrays, each with the same facts as text."""

from .broadcasting import broadcast
from .charts import bars, roof
from .contraction import einsum
from .digits import attention, digits
from .gpu import latency, launch, occupancy, warps, waves
from .indexing import indexing
from .layout import memory

__all__ = ["attention", "bars", "broadcast", "digits", "einsum", "indexing", "latency", "launch",
           "memory", "occupancy", "roof", "warps", "waves"]
