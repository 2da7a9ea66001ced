"""The free pieces of a memory pool, one arena for each stream."""

from __future__ import annotations

from bisect import bisect_left, insort


class Chunk:
    """A piece of what a pool got from its allocator: a block in use, or a free one.

    Attributes
    ----------
    placed : bool
        An allocation of the engine is at its address.
    """

    __slots__ = ("mem", "ptr", "size", "prev", "next", "arena", "placed")

    def __init__(self, mem: object, ptr: int, size: int, arena: Arena) -> None:
        self.mem, self.ptr, self.size, self.arena = mem, ptr, size, arena
        self.prev: Chunk | None = None
        self.next: Chunk | None = None
        self.placed = False


class Arena:
    """The free chunks of one stream, by size; of one size the last comes first."""

    __slots__ = ("bins", "sizes", "stream")

    def __init__(self, stream: object) -> None:
        self.bins: dict[int, dict[Chunk, None]] = {}
        self.sizes: list[int] = []  # of `bins`, in order; a bin may be empty
        self.stream = stream

    def add(self, chunk: Chunk) -> None:
        found = self.bins.get(chunk.size)
        if found is None:
            found = self.bins[chunk.size] = {}
            insort(self.sizes, chunk.size)
        found[chunk] = None

    def remove(self, chunk: Chunk) -> bool:
        """Take a chunk out if it is free."""
        found = self.bins.get(chunk.size)
        if found is None or chunk not in found:
            return False
        del found[chunk]
        return True

    def take(self, size: int) -> Chunk | None:
        """The smallest free chunk of at least this size."""
        found = self.bins.get(size)
        if found:
            return found.popitem()[0]
        sizes = self.sizes
        for index in range(bisect_left(sizes, size), len(sizes)):
            found = self.bins[sizes[index]]
            if found:
                chunk = found.popitem()[0]
                if len(sizes) > 256:
                    self.compact()
                return chunk
        return None

    def compact(self) -> None:
        self.bins = {size: found for size, found in self.bins.items() if found}
        self.sizes = sorted(self.bins)
