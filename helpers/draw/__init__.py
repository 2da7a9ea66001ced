"""Pictures drawn from the learner's own arrays, each with the same facts as text."""

from .charts import bars, roof
from .digits import attention, digits
from .layout import memory

__all__ = ["attention", "bars", "digits", "memory", "roof"]
