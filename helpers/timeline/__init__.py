"""What ran when on which stream, recorded while a block of code runs as it is."""

from .record import timeline
from .spans import HOST, IN, KERNEL, OUT, Span, Timeline

__all__ = ["HOST", "IN", "KERNEL", "OUT", "Span", "Timeline", "timeline"]
