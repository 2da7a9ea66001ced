"""The bit generators' names; here all of them draw from the same source."""

from cupy.random import _draw


class BitGenerator:
    """Holds a seed."""

    def __init__(self, seed=None):
        self._source = _draw.Source(seed)

    def state_size(self):
        """Return how many states it keeps."""
        return self._size


class _Sized(BitGenerator):
    _least = 1000 * 256

    def __init__(self, seed=None, *, size=-1):
        super().__init__(seed)
        self._size = self._least if size < 0 else int(size)


class XORWOW(_Sized):
    """The default."""


class MRG32k3a(_Sized):
    """Named after L'Ecuyer's combined recurrence."""


class Philox4x3210(_Sized):
    """Named after the counter-based generator."""
