"""Device memory: allocation, copies, views, lookup, and the limits of each."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from engine_support import array, pack, read

from nogpu import engine
from nogpu.engine import memory


def test_round_trip_and_alignment() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 3, 511, 512, 513, 32769, 1_000_003, 5_000_000):
        values = rng.integers(0, 256, n, dtype=np.uint8)
        a = array(values, "a")
        assert a.address % 512 == 0 and a.nbytes == n
        assert (engine.view(a.address, n) == values).all()
        a.free()


def test_live_allocations_never_overlap() -> None:
    rng = np.random.default_rng(1)
    live = []
    for _ in range(2000):
        if live and rng.random() < 0.4:
            live.pop(int(rng.integers(len(live)))).free()
        live.append(engine.allocate(int(rng.integers(1, 90_000)), unwritten=False))
    spans = sorted((a.address, a.address + a.nbytes) for a in live)
    assert all(end < start for (_, end), (start, _) in zip(spans, spans[1:]))  # noqa: B905
    for a in live:
        a.free()


def test_a_freed_address_comes_back_late() -> None:
    first = engine.allocate(1000)
    first.free()
    for _ in range(1000):
        again = engine.allocate(1000)
        assert again.address != first.address
        again.free()


def test_usage_counts_bytes() -> None:
    before, capacity = engine.usage()
    a = engine.allocate(123_456)
    assert engine.usage() == (before + 123_456, capacity)
    a.free()
    assert engine.usage() == (before, capacity)


def test_lookup_by_any_address_inside() -> None:
    owner = object()
    a = engine.allocate(100, "a", owner=owner)
    assert engine.lookup(a.address) is a and engine.lookup(a.address + 99) is a
    assert engine.lookup(a.address + 99).owner is owner
    assert engine.lookup(a.address + 100) is None and engine.lookup(a.address - 1) is None
    a.free()
    assert engine.lookup(a.address) is None
    assert engine.lookup(0) is None and engine.lookup(2**64 - 1) is None


def test_a_view_is_no_copy() -> None:
    a = array(np.arange(10, dtype=np.int32), "a")
    view = engine.view(a.address + 8, 12, np.int32)
    assert view.tolist() == [2, 3, 4]
    view[0] = 77
    assert read(a, np.int32)[2] == 77
    with pytest.raises(ValueError, match="no multiple"):
        engine.view(a.address, 7, np.int32)


def test_fill_by_width() -> None:
    a = engine.allocate(16)
    engine.fill(a.address, 0xAB, 16)
    assert (read(a, np.uint8) == 0xAB).all()
    engine.fill(a.address, 0xABCD, 4, 2)
    engine.fill(a.address + 8, -2, 2, 4)
    assert read(a, np.uint16)[:4].tolist() == [0xABCD] * 4
    assert read(a, np.int32)[2:].tolist() == [-2, -2]
    with pytest.raises(ValueError, match="1, 2 or 4"):
        engine.fill(a.address, 0, 1, 3)


def test_copies_within_the_device_may_overlap() -> None:
    a = array(np.arange(10, dtype=np.int32), "a")
    memory.raw_copy(a.address + 4, a.address, 32, "DtoD")
    assert read(a, np.int32).tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 9]


@pytest.mark.parametrize("what", ["to", "from", "within", "view", "fill"])
def test_ranges_are_checked(what: str) -> None:
    a, host = engine.allocate(40, "small"), np.zeros(11, np.int32)
    actions = {
        "to": lambda at: engine.copy_to_device(at, host),
        "from": lambda at: memory.raw_copy(host.ctypes.data, at, 44, "DtoH"),
        "within": lambda at: memory.raw_copy(a.address, at, 44, "DtoD"),
        "view": lambda at: engine.view(at, 44),
        "fill": lambda at: engine.fill(at, 0, 11, 4),
    }
    with pytest.raises(engine.InvalidAddress, match="'small' has 40 bytes"):
        actions[what](a.address)
    with pytest.raises(engine.InvalidAddress, match="not an address of device memory"):
        actions[what](host.ctypes.data)
    a.free()
    with pytest.raises(engine.InvalidAddress, match="freed"):
        actions[what](a.address)


def test_freeing_twice_or_in_the_middle() -> None:
    a = engine.allocate(100, "mine")
    with pytest.raises(engine.InvalidAddress):
        engine.free(a.address + 4)
    a.free()
    with pytest.raises(engine.InvalidAddress, match="'mine' is freed a second time"):
        a.free()


def test_out_of_memory() -> None:
    _, capacity = engine.usage()
    with pytest.raises(engine.OutOfMemory) as caught:
        engine.allocate(capacity + 1)
    assert caught.value.requested == capacity + 1
    with pytest.raises(ValueError, match="-1"):
        engine.allocate(-1)


def test_empty_allocations_have_addresses_of_their_own() -> None:
    a, b = engine.allocate(0), engine.allocate(0)
    assert a.address and b.address and a.address != b.address
    engine.copy_to_device(a.address, np.empty(0))
    a.free()
    b.free()


def test_memory_reused_after_a_wrap_counts_as_unwritten() -> None:
    """The small part of the arena is a ring of 32 MB: go round it once."""
    module = engine.compile("__global__ void f(const int* a, int* b) { *b = *a; }")
    out = array(np.zeros(1, np.int32), "out")
    first = array(np.ones(8000, np.int32), "first")
    module.kernel("f").launch((1,), (1,), pack(first, out))
    first.free()
    for _ in range(3000):
        again = engine.allocate(32000, "again")
        if again.address == first.address:
            break
        again.free()
    else:
        pytest.fail("the ring was not gone round")
    with pytest.raises(engine.UninitialisedRead):
        module.kernel("f").launch((1,), (1,), pack(again, out))


def test_what_the_host_writes_through_a_view_is_written() -> None:
    module = engine.compile("__global__ void f(const int* a, int* b) { *b = a[threadIdx.x]; }")
    a, out = engine.allocate(80, "a"), array(np.zeros(1, np.int32), "out")
    engine.view(a.address, 40, np.int32)[:] = 5
    module.kernel("f").launch((1,), (1,), pack(a, out))
    with pytest.raises(engine.UninitialisedRead) as caught:
        with engine.checks(race=False):
            module.kernel("f").launch((1,), (20,), pack(a, out))
    assert caught.value.index == 10


@pytest.mark.parametrize(("kind", "nbytes", "index"), [("int", 6, 1), ("short", 5, 2)])
def test_an_access_across_the_end(kind: str, nbytes: int, index: int) -> None:
    module = engine.compile(f"__global__ void f({kind}* x, int n) {{ x[n] = 1; }}")
    x = engine.allocate(nbytes, "x")
    module.kernel("f").launch((1,), (1,), pack(x, np.int32(index - 1)))
    with pytest.raises(engine.GlobalOutOfBounds, match="across its end") as caught:
        module.kernel("f").launch((1,), (1,), pack(x, np.int32(index)))
    assert caught.value.index == index


def test_a_pool_places_allocations_in_addresses_of_its_own() -> None:
    before, capacity = engine.usage()
    base = engine.reserve(8192, 4096)
    assert base % 512 == 0 and engine.usage() == (before + 4096, capacity)
    assert engine.lookup(base) is None
    others = [engine.allocate(5000) for _ in range(50)]
    assert all(o.address + o.nbytes <= base or base + 8192 <= o.address for o in others)
    a = engine.place(base, 1000)
    b = engine.place(base + 1024, 700, itemsize=4)
    assert engine.lookup(base + 999) is a and engine.lookup(base + 1000) is None
    assert engine.lookup(base + 1024) is b
    assert (read(a, np.uint32) == 0xFFF5C0DE).all()
    engine.view(base, 1000)[:] = 7
    engine.displace(base)
    with pytest.raises(engine.InvalidAddress, match="was freed"):
        engine.view(base, 4)
    again = engine.place(base, 600, unwritten=False)
    assert (read(again, np.uint8) == 7).all()
    engine.displace(base)
    engine.displace(base + 1024)
    with pytest.raises(engine.InvalidAddress, match="is freed a second time"):
        engine.displace(base)
    engine.unreserve(base)
    for other in others:
        other.free()
    assert engine.usage() == (before, capacity)


def test_a_block_may_be_succeeded_while_the_one_before_settles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stream's worker settles while the host already gives the same address out again."""
    base = engine.reserve(4096, 4096)
    engine.place(base, 1024)
    runtime = memory._runtime()
    displaced = threading.Event()

    class Slow:
        """The runtime, with a worker that pauses where the address is without an allocation."""

        def __getattr__(self, name: str) -> object:
            return getattr(runtime, name)

        def cs_displace(self, address: int) -> None:
            runtime.cs_displace(address)
            displaced.set()
            time.sleep(0.02)

    _, settle = engine.succeed(base, 768, 1024)
    monkeypatch.setattr(memory, "_runtime_found", Slow())
    worker = threading.Thread(target=settle)
    worker.start()
    assert displaced.wait(10)
    _, settle = engine.succeed(base, 640, 1024)
    worker.join()
    assert engine.lookup(base).nbytes == 768  # both are valid until the second one settles
    settle()
    assert engine.lookup(base).nbytes == 640
    engine.displace(base)
    engine.unreserve(base)


@pytest.mark.parametrize("nbytes", [400, 40_000, 1_000_000, 3_000_000])
def test_a_placed_allocation_is_checked_like_any_other(nbytes: int) -> None:
    module = engine.compile("""
        __global__ void put(int* x, int i) { x[i] = 1; }
        __global__ void half(short* x, int i) { x[i] = 1; }
        __global__ void get(const int* x, int i, int* out) { *out = x[i]; }""")
    n, out = nbytes // 4, array(np.zeros(1, np.int32), "out")
    base = engine.reserve(nbytes + 512, nbytes + 512)
    x = engine.place(base, nbytes)
    module.kernel("put").launch((1,), (1,), pack(x, np.int32(n - 1)))
    module.kernel("half").launch((1,), (1,), pack(x, np.int32(1)))
    with pytest.raises(engine.GlobalOutOfBounds):
        module.kernel("put").launch((1,), (1,), pack(x, np.int32(n)))
    engine.displace(base)
    with pytest.raises(engine.UseAfterFree):
        module.kernel("put").launch((1,), (1,), pack(x, np.int32(0)))
    x = engine.place(base, nbytes - 100)  # the address again: nothing is left of what was known
    for index in (0, 1, n - 26):
        with pytest.raises(engine.UninitialisedRead):
            module.kernel("get").launch((1,), (1,), pack(x, np.int32(index), out))
    with pytest.raises(engine.GlobalOutOfBounds):
        module.kernel("put").launch((1,), (1,), pack(x, np.int32(n - 25)))
    engine.displace(base)
    engine.unreserve(base)


WITHOUT_A_COMPILER = """
import importlib.util
importlib.util.find_spec = lambda name: None  # ziglang may be installed
import numpy as np
from nogpu import engine
from nogpu.engine import memory, plain
rng = np.random.default_rng(0)
live = []
for _ in range(2000):
    if live and rng.random() < 0.45:
        a, value = live.pop(int(rng.integers(len(live))))
        assert (engine.view(a.address, a.nbytes) == value).all()
        a.free()
    a = engine.allocate(int(rng.integers(1, 90_000)))
    assert a.address % 512 == 0 and engine.lookup(a.address + a.nbytes - 1) is a
    value = int(rng.integers(256))
    engine.view(a.address, a.nbytes)[:] = value
    live.append((a, value))
assert isinstance(memory._runtime(), plain.Plain)
spans = sorted((a.address, a.address + a.nbytes) for a, _ in live)
assert all(end < start for (_, end), (start, _) in zip(spans, spans[1:]))
assert engine.usage()[0] == sum(a.nbytes for a, _ in live)
address = live[-1][0].address
for a, _ in live:
    a.free()
assert engine.usage()[0] == 0 and memory.nearest(address)[0] == "freed"
x = engine.allocate(10)
assert engine.view(x.address, 8, np.uint32).tolist() == [0xFFF5C0DE] * 2
engine.copy_to_device(x.address, np.arange(5, dtype=np.int16))
try:
    engine.copy_to_device(x.address, np.zeros(11, np.uint8))
except engine.InvalidAddress as error:
    print(error)
base = engine.reserve(4096, 4096)
engine.place(base + 512, 100)
engine.displace(base + 512)
engine.unreserve(base)
try:
    engine.allocate(engine.usage()[1])
except engine.OutOfMemory:
    print("full")
try:
    engine.compile("__global__ void f() {}")
except engine.CompilerNotFound as error:
    print("kernels:", error)
"""


def test_arrays_work_without_a_compiler(tmp_path: Path) -> None:
    environment = {**os.environ, "CXX": "/nowhere/c++", "PATH": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_COMPILER], capture_output=True, text=True,
        cwd=Path(__file__).parents[2] / "src", env=environment,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert "has 10 bytes" in lines[0] and lines[1] == "full" and lines[2].startswith("kernels:")


UNDER_A_LIMIT = """
import importlib.util, resource, sys
resource.setrlimit(resource.{kind}, ({limit}, {limit}))
if {arrays_alone}:
    from nogpu.engine import compiler, errors
    def find():
        raise errors.CompilerNotFound("none")
    compiler.find = find
import nogpu
nogpu.install()
import cupy as cp
from nogpu import engine
capacity = engine.usage()[1]
print(capacity, cp.cuda.runtime.memGetInfo()[1])
for allocate in (engine.allocate, cp.cuda.alloc, lambda n: cp.zeros(n, cp.uint8)):
    try:
        piece = allocate(capacity + 1)
    except (engine.OutOfMemory, MemoryError) as error:
        print(error)
    piece = allocate(capacity // 2)
    more = allocate(capacity // 4)
    if isinstance(piece, engine.Allocation):
        piece.free()
        more.free()
    del piece, more
    cp.get_default_memory_pool().free_all_blocks()
piece = engine.allocate(capacity)
assert engine.usage() == (capacity, capacity)
piece.free()
parts = [engine.allocate(2**20, unwritten=False) for _ in range(capacity // 2**20)]
"""


@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA"])
@pytest.mark.parametrize(("gigabytes", "arrays_alone"), [(8, False), (5, False), (2, True)])
def test_under_a_limit_the_device_is_as_large_as_it_says(
    kind: str, gigabytes: int, arrays_alone: bool
) -> None:
    """All that it says it has can be allocated, in one piece and in many, and no more."""
    code = UNDER_A_LIMIT.format(kind=kind, limit=gigabytes * 2**30, arrays_alone=arrays_alone)
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    figures, *messages = ran.stdout.splitlines()
    capacity, told = map(int, figures.split())
    assert capacity == told <= gigabytes * 2**30 // 2
    assert messages[0] == (
        f"out of memory: {capacity + 1:,} bytes requested, 0 of {capacity:,} in use"
    )
    assert len(messages) == 3
    for message in messages[1:]:
        assert message.startswith("Out of memory allocating ")
        assert message.endswith(" bytes (allocated so far: 0 bytes).")


def test_memory_that_is_free_in_pieces_only_is_said_so() -> None:
    assert str(engine.OutOfMemory(60, 50, 100)) == (
        "out of memory: 60 bytes requested, 50 of 100 in use"
    )
    assert str(engine.OutOfMemory(50, 50, 100)) == (
        "out of memory: 50 bytes requested, 50 of 100 in use, and no piece of the rest is as large"
    )


@pytest.mark.slow  # 40,000 allocations: fourteen seconds
def test_an_array_meets_no_freed_one_before_its_start_or_behind_its_end():
    """Addresses come round again: an overrun by an element is out of bounds, no use after free."""
    sizes, held = random.Random(1), []
    for _ in range(40_000):
        held.append(engine.allocate(sizes.randrange(1, 24 * 1024)))
        start, end = held[-1].address, held[-1].address + held[-1].nbytes
        assert "freed" not in (memory.nearest(start - 4)[0], memory.nearest(end)[0])
        if len(held) > 20:
            engine.free(held.pop(sizes.randrange(20)).address)
    for allocation in held:
        engine.free(allocation.address)
