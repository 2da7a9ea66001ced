"""What the simulated device allows: a device of compute capability 9.0, such as an H200.

Source: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

from . import devices

COMPUTE_CAPABILITY = (9, 0)
WARP_SIZE = 32
MAX_THREADS_PER_BLOCK = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
SHARED_PER_BLOCK = 48 * 1024
SHARED_PER_BLOCK_OPTIN = 227 * 1024
CONSTANT_MEMORY = 64 * 1024
PARAMETER_BYTES = 32764
REGISTERS_PER_BLOCK = 64 * 1024
THREADS_PER_MULTIPROCESSOR = 2048
BLOCKS_PER_MULTIPROCESSOR = 32
SHARED_PER_MULTIPROCESSOR = 228 * 1024
SHARED_RESERVED = 1024  # in each block, by the system
CUDA_VERSION = 12000  # whose language the headers define
_MOST_MEMORY = 15 * 2**30


def host_memory(groups: str = "/sys/fs/cgroup", mine: str = "/proc/self/cgroup") -> int:
    """Bytes of memory that this process may use: the machine's, or its control groups' if less.

    Parameters
    ----------
    groups : str
        Where the control groups are mounted, version 1 or 2.
    mine : str
        The file that names this process's groups, below which each level may set a limit: in a
        container it is the root, under systemd (a user of a shared server) it lies deeper.
    """
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    places = {"": Path("/"), "memory": Path("/")}
    try:
        for line in Path(mine).read_text().splitlines():
            _, controllers, place = line.split(":", 2)
            if controllers in places:
                places[controllers] = Path(place)
    except (OSError, ValueError):
        pass
    for controllers, place in places.items():
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        for level in (place, *place.parents):
            try:
                text = (Path(groups, controllers) / level.relative_to("/") / name).read_text()
            except (OSError, ValueError):
                continue
            if text.strip().isdigit():
                total = min(total, int(text))
    return total


def address_space() -> int:
    """Bytes of addresses that this process may use (``ulimit -v`` and ``-d``), touched or not."""
    allowed = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min([2**63, *(limit for limit in allowed if limit != resource.RLIM_INFINITY)])


def device_memory() -> int:
    """Bytes of each device's memory: of all a quarter of the host's; checks need three more."""
    return min(_MOST_MEMORY, host_memory() // 4 // devices.count)


def worker_count() -> int:
    """Processors that this process may run on."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return max(1, os.cpu_count() or 1)


def resident_blocks(threads: int, shared: int) -> int:
    """Blocks that the device can hold at once, which a cooperative launch may have.

    Parameters
    ----------
    threads, shared : int
        Threads of a block, and bytes of shared memory that it uses.
    """
    each = min(
        BLOCKS_PER_MULTIPROCESSOR,
        THREADS_PER_MULTIPROCESSOR // max(threads, 1),
        SHARED_PER_MULTIPROCESSOR // (shared + SHARED_RESERVED),
    )
    return each * min(worker_count(), 8)  # more would need more memory maps than a process gets
