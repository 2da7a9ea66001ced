"""Pictures drawn from the learner's own arrays, each with the same facts as text."""

from .broadcasting import broadcast
from .charts import bars
from .contraction import einsum
from .digits import digits
from .driver import driver
from .gains import gains
from .gpu import latency, occupancy, threads
from .heatmap import heatmap
from .indexing import indexing
from .ladder import ladder
from .lanes import shuffles
from .layout import memory
from .lifetimes import lifetimes
from .number_formats import formats
from .pictures import pictures
from .reader import reader
from .scores import scores, shares
from .sheets import sheets
from .streams import timeline
from .style import show
from .tiles import owners, tiles

__all__ = [
    "bars", "broadcast", "digits", "driver", "einsum", "formats",
    "gains", "heatmap", "indexing", "ladder", "latency", "lifetimes", "memory", "occupancy",
    "owners", "pictures", "reader", "scores", "shares", "sheets", "show", "shuffles",
    "threads", "tiles", "timeline",
]
