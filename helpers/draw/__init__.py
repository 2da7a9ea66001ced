"""Pictures drawn from the learner's own arrays, each with the same facts as text."""

from .broadcasting import broadcast
from .charts import bars, levels, roof
from .contraction import einsum
from .digits import attention, digits
from .gpu import latency, launch, occupancy, warps, waves
from .indexing import indexing
from .lanes import shuffles
from .layout import memory
from .numbers import formats
from .tiles import tiles

__all__ = ["attention", "bars", "broadcast", "digits", "einsum", "formats", "indexing", "latency",
           "launch", "levels", "memory", "occupancy", "roof", "shuffles", "tiles", "warps",
           "waves"]
