"""The tasks about many GPUs."""
from .machinery.task import Mistake, Task


def _shares(n, count):
    sizes = [n // count + (k < n % count) for k in range(count)]
    ends = [sum(sizes[:k + 1]) for k in range(count)]
    return [(end - size, end) for size, end in zip(sizes, ends)]


shares = Task("shares", _shares, lambda: [(10, 3), (9, 3), (2, 4), (0, 2), (7, 1)])
ring_bytes = Task("ring_bytes", lambda count, n: 2 * (count - 1) * n // count, lambda: [(4, 800), (1, 100), (2, 64), (8, 80)])
