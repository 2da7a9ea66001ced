"""cupy.cuda on the simulator: what the recorded behaviours do not reach."""

from __future__ import annotations

import ctypes
import gc
import io
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from nogpu import engine

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pool(cp):
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        yield pool


class Model:
    """A pool's figures, reckoned the slow way: segments are lists of [size, when it got free]."""

    def __init__(self) -> None:
        self.segments: list[tuple[int, list[list]]] = []
        self.clock = 0

    def _free(self, chunk: list) -> None:
        self.clock += 1
        chunk[1] = self.clock

    def malloc(self, stream: int, nbytes: int) -> list:
        size = -(-nbytes // 512) * 512
        fits = [(chunk[0], -chunk[1], index, chunks, chunk)
                for of, chunks in self.segments if of == stream
                for index, chunk in enumerate(chunks) if chunk[1] and chunk[0] >= size]  # fmt: skip
        if not fits:
            chunk = [size, 0]
            self.segments.append((stream, [chunk]))
            return chunk
        *_, index, chunks, chunk = min(fits, key=lambda fit: fit[:2])
        if chunk[0] > size:
            rest = [chunk[0] - size, 0]
            self._free(rest)
            chunks.insert(index + 1, rest)
        chunk[:] = [size, 0]
        return chunk

    def free(self, chunk: list) -> None:
        chunks = next(c for _, c in self.segments if any(chunk is one for one in c))
        index = next(i for i, one in enumerate(chunks) if one is chunk)
        if index + 1 < len(chunks) and chunks[index + 1][1]:
            chunk[0] += chunks.pop(index + 1)[0]
        if index and chunks[index - 1][1]:
            chunks[index - 1][0] += chunks.pop(index)[0]
            chunk = chunks[index - 1]
        self._free(chunk)

    def free_all_blocks(self, stream: int | None) -> None:
        self.segments = [
            (of, chunks) for of, chunks in self.segments
            if not (len(chunks) == 1 and chunks[0][1] and stream in (None, of))
        ]  # fmt: skip

    def figures(self) -> tuple[int, int, int, int]:
        every = [chunk for _, chunks in self.segments for chunk in chunks]
        free = [chunk[0] for chunk in every if chunk[1]]
        total = sum(chunk[0] for chunk in every)
        return total - sum(free), sum(free), total, len(free)


def figures(pool) -> tuple[int, int, int, int]:
    return pool.used_bytes(), pool.free_bytes(), pool.total_bytes(), pool.n_free_blocks()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("spread", [1, 2])
def test_a_pools_figures_are_those_of_a_simple_model(cp, seed: int, spread: int) -> None:
    rng = np.random.default_rng(seed)
    pool, model = cp.cuda.MemoryPool(), Model()
    pool._pools[0]._spread = spread
    gc.collect()
    streams = [cp.cuda.Stream.null, cp.cuda.Stream(), cp.cuda.Stream(non_blocking=True)]
    sizes = [1, 400, 512, 513, 1024, 3000, 20_000, 100_000]
    live: list[tuple] = []
    before = engine.usage()[0]
    for step in range(1500):
        action = rng.random()
        if action < 0.02:
            which = rng.choice([None, 0, 1, 2])
            pool.free_all_blocks(None if which is None else streams[which])
            model.free_all_blocks(which)
        elif live and action < 0.5:
            pointer, chunk, value, nbytes = live.pop(int(rng.integers(len(live))))
            assert (engine.view(pointer.ptr, nbytes) == value).all()
            pointer = None
            model.free(chunk)
        else:
            which, nbytes = int(rng.integers(3)), int(rng.choice(sizes))
            with streams[which]:
                pointer = pool.malloc(nbytes)
            assert pointer.mem.size == -(-nbytes // 512) * 512
            value = step % 256
            engine.view(pointer.ptr, nbytes)[:] = value
            live.append((pointer, model.malloc(which, nbytes), value, nbytes))
        assert figures(pool) == model.figures(), step
        assert engine.usage()[0] - before == pool.total_bytes()
    spans = sorted((p.ptr, p.ptr + nbytes) for p, _, _, nbytes in live)
    assert all(end <= start for (_, end), (start, _) in zip(spans, spans[1:]))
    live.clear()
    pointer = None
    pool.free_all_blocks()
    assert figures(pool) == (0, 0, 0, 0) and engine.usage()[0] == before


def test_arrays_come_and_go_in_many_threads(cp) -> None:
    pool = cp.cuda.MemoryPool()
    shared: list = []
    problems: list[BaseException] = []

    class Circle:
        """Freed by the garbage collector only, whenever that runs."""

        def __init__(self, pointer) -> None:
            self.pointer, self.me = pointer, self

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(1500):
                nbytes = int(rng.choice([100, 600, 5000, 40_000]))
                pointer = pool.malloc(nbytes)
                view = engine.view(pointer.ptr, nbytes)
                view[:] = seed
                kind = rng.random()
                if kind < 0.2:
                    Circle(pointer)
                elif kind < 0.6:
                    shared.append((pointer, nbytes, seed))
                if len(shared) > 30:
                    other, size, value = shared.pop(int(rng.integers(20)))
                    assert (engine.view(other.ptr, size) == value).all()
                    del other
                assert (view == seed).all()
                pool.used_bytes()
        except BaseException as error:  # noqa: BLE001
            problems.append(error)

    before = gc.get_threshold()
    gc.set_threshold(50)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        gc.set_threshold(*before)
    assert not problems and not any(thread.is_alive() for thread in threads)
    shared.clear()
    gc.collect()
    assert pool.used_bytes() == 0 and pool.free_bytes() == pool.total_bytes()
    pool.free_all_blocks()
    assert figures(pool) == (0, 0, 0, 0)


@pytest.mark.parametrize("straight", [True, False])
def test_the_garbage_collector_leaves_a_pool_its_memory(cp, straight: bool) -> None:
    functions = cp.cuda.memory.PythonFunctionAllocator(
        lambda size, device: engine.allocate(size).address,
        lambda address, device: engine.free(address))  # fmt: skip
    pool = cp.cuda.MemoryPool(None if straight else functions.malloc)
    gc.collect()
    used = engine.usage()[0]
    with cp.cuda.using_allocator(pool.malloc):
        circle = [cp.zeros(1000, np.uint8)]
        circle.append(circle)
        del circle
        gc.collect()
    assert pool.free_bytes() == pool.total_bytes() == 1024
    assert engine.usage()[0] == used + 1024  # nobody else gets these addresses
    pool.free_all_blocks()
    gc.collect()
    assert engine.usage()[0] == used


def test_an_array_deleted_while_its_pool_works(cp, pool) -> None:
    """As the garbage collector may do it: in the thread that holds the pool's lock."""
    x = cp.ndarray(1000, np.uint8)
    with pool._pools[0]._lock:
        del x
    assert figures(pool) == (0, 1024, 1024, 1)


def test_a_pool_may_go_before_its_arrays(cp) -> None:
    gc.collect()
    before = engine.usage()[0]
    pool = cp.cuda.MemoryPool()
    x = pool.malloc(1000)
    address = x.ptr
    del pool
    gc.collect()
    assert engine.lookup(address) is not None
    del x
    assert engine.lookup(address) is None and engine.usage()[0] == before


def test_blocks_have_the_size_asked_for(cp, pool) -> None:
    x = cp.ndarray(100, np.float32)
    found = engine.lookup(x.data.ptr)
    assert (found.address, found.nbytes, found.itemsize) == (x.data.ptr, 400, 4)
    address = x.data.ptr
    del x
    assert engine.lookup(address) is None
    y = cp.ndarray(110, np.float32)
    assert y.data.ptr == address and engine.lookup(address).nbytes == 440
    assert (engine.view(address, 440, np.uint32) == 0xFFF5C0DE).all()


KERNEL = "extern \"C\" __global__ void put(int* x, int i) { x[i] = 1; }"


def launch(module: engine.Module, address: int, index: int) -> None:
    arguments = [np.uint64(address).tobytes(), np.int32(index).tobytes()]
    module.kernel("put").launch((1,), (1,), arguments)


def test_an_overrun_of_the_default_pool_never_hits_a_neighbour(cp) -> None:
    module = engine.compile(KERNEL)
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    block = cp.cuda.alloc(64 * 512)
    del block
    arrays = [pool.malloc(512) for _ in range(64)]  # cut out of one block: each full to its end
    for x in arrays:
        launch(module, x.ptr, 127)
        with pytest.raises(engine.GlobalOutOfBounds):
            launch(module, x.ptr, 128)
        with pytest.raises(engine.GlobalOutOfBounds):
            launch(module, x.ptr, -1)


def test_an_overrun_never_meets_what_lay_behind_a_neighbour_before(cp) -> None:
    module = engine.compile(KERNEL)
    pool = sys.modules["cupy.cuda.memory"].SingleDeviceMemoryPool()
    pool._spread = cp.get_default_memory_pool()._pools[0]._spread  # which other tests may have used
    block = pool.malloc(2**20)
    address = block.ptr
    del block
    first, second = pool.malloc(2048), pool.malloc(4096)
    assert (first.ptr, second.ptr) == (address, address + 2 * 2048)
    del first, second
    neighbour, x = pool.malloc(4096), pool.malloc(512)
    assert (neighbour.ptr, x.ptr) == (address, address + 2 * 4096)
    with pytest.raises(engine.GlobalOutOfBounds):
        launch(module, x.ptr, -1)  # where the second block was


def test_use_after_free_into_a_pools_free_block(cp, pool) -> None:
    module = engine.compile(KERNEL)
    x = cp.ndarray(4096, np.int32)
    address = x.data.ptr
    launch(module, address, 4095)
    del x
    with pytest.raises(engine.UseAfterFree):
        launch(module, address, 0)
    y = cp.ndarray(10, np.int32)  # the address again, smaller
    assert y.data.ptr == address
    launch(module, address, 9)
    with pytest.raises(engine.KernelFault):
        launch(module, address, 10)


def test_a_block_that_queued_work_still_uses(cp, pool, monkeypatch) -> None:
    """It stays valid; who gets its address on the same stream is placed when the work is done."""
    memory = sys.modules["cupy.cuda.memory"]
    queue: list = []
    stream = cp.cuda.Stream()
    with stream:
        x = cp.ndarray(100, np.int32)
        address = x.data.ptr
        engine.view(address, 400)[:] = 7
        monkeypatch.setattr(memory._frees, "quiet", lambda: False)
        monkeypatch.setattr(stream._engine, "run", lambda work, *_: queue.append(work))
        del x
        assert figures(pool) == (0, 512, 512, 1)
        assert engine.lookup(address) is not None
        y = cp.ndarray(120, np.int32)
        assert y.data.ptr == address and len(queue) == 1
        assert (engine.view(address, 400) == 7).all()  # what the queued work reads
        queue.pop()()
        assert engine.lookup(address).nbytes == 480
        assert (engine.view(address, 480, np.uint32) == 0xFFF5C0DE).all()
        del y
        assert engine.lookup(address) is not None
        monkeypatch.undo()
        z = cp.ndarray(1, np.int32)
        assert z.data.ptr == address and engine.lookup(address).nbytes == 4
        assert engine.lookup(address + 8) is None


def test_a_smaller_block_where_queued_work_still_uses_a_larger_one(cp, pool, monkeypatch) -> None:
    memory = sys.modules["cupy.cuda.memory"]
    x, y = cp.ndarray(1024, np.uint8), cp.ndarray(512, np.uint8)
    addresses = x.data.ptr, y.data.ptr
    waited = []
    monkeypatch.setattr(memory._frees, "quiet", lambda: bool(waited))
    monkeypatch.setattr(memory._frees, "wait_until_quiet", lambda: waited.append(1))
    del x, y
    assert all(engine.lookup(address) for address in addresses)
    small = [cp.ndarray(512, np.uint8) for _ in range(3)]
    assert {s.data.ptr for s in small} <= {addresses[0], addresses[0] + 512, addresses[1]}
    assert all(engine.lookup(s.data.ptr).nbytes == 512 for s in small)


def test_memory_freed_while_a_stream_works(cp, pool) -> None:
    s = cp.cuda.Stream(non_blocking=True)
    with s:
        x = cp.ndarray(2000, np.uint8)
        address = x.data.ptr
        engine.view(address, 2000)[:] = 7
        seen = []

        def work() -> None:
            time.sleep(0.2)
            seen.append(engine.view(address, 2000).copy())

        s._engine.run(work, 1 << 20)
        del x
        y = cp.ndarray(1900, np.uint8)  # at once, and not filled before the work is done
        assert y.data.ptr == address and not s.done
        s.synchronize()
        assert (seen[0] == 7).all()
        assert (engine.view(address, 1900, np.uint32) == 0xFFF5C0DE).all()
        s._engine.run(lambda: (time.sleep(0.1), 1 // 0), 1 << 20)
        del y
        z = cp.ndarray(100, np.uint8)  # cut out of it: waits, and leaves the error alone
        assert z.data.ptr == address and engine.lookup(address).nbytes == 100
        pool.free_all_blocks()
        with pytest.raises(ZeroDivisionError):
            s.synchronize()
    del z
    assert pool.used_bytes() == 0


def test_memory_freed_while_a_stream_captures(cp, pool) -> None:
    s = cp.cuda.Stream()  # a blocking one: asking the default stream would spoil the capture
    with s:
        y = cp.ones(100)
        s.begin_capture()
        z = y + 1
        y += z * 2
        pool.free_all_blocks()
        graph = s.end_capture()
    graph.launch(s)
    s.synchronize()
    assert y[0].item() == 5.0


def test_allocators_of_ones_own(cp) -> None:
    given, freed = {}, []

    def malloc(size: int, device: int) -> int:
        allocation = engine.allocate(size)
        given[allocation.address] = size
        return allocation.address

    def free(address: int, device: int) -> None:
        freed.append(address)
        engine.free(address)

    with cp.cuda.using_allocator(cp.cuda.PythonFunctionAllocator(malloc, free).malloc):
        x = cp.arange(10, dtype=np.int32)
        assert given[x.data.ptr] == 40 and x.sum().item() == 45
    address = x.data.ptr
    del x
    gc.collect()
    assert address in freed

    asked: list[int] = []

    def pointer(size: int):
        asked.append(size)
        return cp.cuda.malloc_managed(size)

    pool = cp.cuda.MemoryPool(pointer)
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.ones(1000)
        del x
        x = cp.ones(10)
        assert asked == [8192] and x.sum().item() == 10.0
        assert figures(pool) == (512, 7680, 8192, 1)
    with cp.cuda.using_allocator(cp.cuda.malloc_async):
        assert cp.ones(10).sum().item() == 10.0
    assert cp.cuda.get_allocator() == cp.get_default_memory_pool().malloc


def test_limits_of_a_pool(cp, monkeypatch) -> None:
    total = cp.cuda.runtime.memGetInfo()[1]
    pool = cp.cuda.MemoryPool()
    pool.set_limit(fraction=0.5)
    assert pool.get_limit() == int(total * 0.5)
    with pytest.raises(ValueError, match="memory limit size out of range: -1"):
        pool.set_limit(size=-1)
    monkeypatch.setenv("CUPY_GPU_MEMORY_LIMIT", "2048")
    pool = cp.cuda.MemoryPool()
    assert pool.get_limit() == 2048
    kept = pool.malloc(1024)
    with pytest.raises(cp.cuda.memory.OutOfMemoryError) as caught:
        pool.malloc(1500)
    message = "Out of memory allocating 1,536 bytes (allocated so far: 1,024 bytes, limit set to: "
    assert str(caught.value) == message + "2,048 bytes)."
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert pool.used_bytes() == 1024 and kept.ptr
    monkeypatch.setenv("CUPY_GPU_MEMORY_LIMIT", "25%")
    assert cp.cuda.MemoryPool().get_limit() == int(total * 0.25)


def test_a_full_device_gives_back_what_pools_keep(cp) -> None:
    pool = cp.cuda.MemoryPool()
    capacity = cp.cuda.runtime.memGetInfo()[0] // 512 * 512
    cut = capacity // 3 // 512 * 512
    blocks = [cp.cuda.memory._allocate(1, False)]  # something else is there, too
    with cp.cuda.using_allocator(pool.malloc):
        for _ in range(2):
            blocks.append(cp.cuda.memory._allocate(cut, False))
        del blocks[1:]
        large = cp.cuda.memory._allocate(2 * cut, False)
        assert pool.total_bytes() == 2 * cut
        with pytest.raises(cp.cuda.memory.OutOfMemoryError):
            cp.cuda.memory._allocate(2 * cut, False)
        del large
        pool.free_all_blocks()


def test_hooks_see_what_pools_do(cp, pool) -> None:
    text = io.StringIO()
    with cp.cuda.memory_hooks.DebugPrintHook(file=text):
        x = cp.ndarray(100, np.float32)
        address = x.data.ptr
        del x
    rows = [json.loads(line) for line in text.getvalue().splitlines()]
    assert [row["hook"] for row in rows] == ["alloc", "malloc", "free"]
    assert rows[1]["size"] == 400 and {row["mem_size"] for row in rows} == {512}
    assert {row["mem_ptr"] for row in rows} == {address}
    with cp.cuda.memory_hooks.LineProfileHook() as hook:
        assert cp.ndarray(200, np.float32).size == 200
        with pytest.raises(KeyError, match="already exists"):
            with cp.cuda.memory_hooks.LineProfileHook():
                pass
    text = io.StringIO()
    hook.print_report(text)
    assert text.getvalue().startswith("_root (1.00KB, 1.00KB)")
    assert "test_hooks_see_what_pools_do (1.00KB, 1.00KB)" in text.getvalue()
    assert cp.ndarray(10).size == 10  # no hook any more
    assert sys.modules["cupy.cuda.memory_hook"]._active == 0


def test_pinned_memory_is_a_buffer(cp) -> None:
    runtime = cp.cuda.runtime
    pool = cp.cuda.PinnedMemoryPool()
    pointer = pool.malloc(100)
    assert isinstance(pointer, cp.cuda.PinnedMemoryPointer) and pointer.size() == 512
    view = np.frombuffer(pointer, np.uint8)
    assert view.size == 512 and view.ctypes.data == pointer.ptr and view.flags.writeable
    later = pointer + 12
    assert (int(later), later.size(), later.mem) == (pointer.ptr + 12, 500, pointer.mem)
    assert (later - 12).ptr == pointer.ptr and memoryview(later).nbytes == 500
    found = runtime.pointerGetAttributes(pointer.ptr + 511)
    assert found.type == runtime.memoryTypeHost
    address = pointer.ptr
    del pointer, later
    assert pool.n_free_blocks() == 0  # the view keeps the block
    del view
    assert pool.n_free_blocks() == 1 and pool.malloc(512).ptr == address
    pool.free_all_blocks()
    assert pool.n_free_blocks() == 0
    assert pool.malloc(0).size() == 0


@pytest.mark.parametrize("alone", [True, False])
def test_the_garbage_collector_leaves_a_pool_its_pinned_memory(cp, alone: bool) -> None:
    runtime = cp.cuda.runtime
    pool = cp.cuda.PinnedMemoryPool()
    gc.collect()
    other = None if alone else pool.malloc(512)
    circle = [pool.malloc(1000)]
    address = circle[0].ptr
    circle.append(circle)
    del circle
    gc.collect()
    assert pool.n_free_blocks() == 1
    assert runtime.pointerGetAttributes(address).type == runtime.memoryTypeHost
    assert pool.malloc(1000).ptr == address  # the same memory, not nothing
    pool.free_all_blocks()
    assert runtime.pointerGetAttributes(address).type == runtime.memoryTypeUnregistered
    assert alone or runtime.pointerGetAttributes(other.ptr).type == runtime.memoryTypeHost


def test_pinned_arrays_keep_an_order(cp) -> None:
    import cupyx

    a = np.zeros((2, 3, 4)).transpose(1, 0, 2)
    for like in (a, np.zeros((3, 4), order="F"), cp.zeros((2, 5))):
        host = like.get() if isinstance(like, cp.ndarray) else like
        made = cupyx.empty_like_pinned(like)
        assert made.strides == np.empty_like(host).strides and made.dtype == like.dtype
    assert cupyx.empty_like_pinned(a, dtype="i4", order="F", shape=5).strides == (4,)
    assert cupyx.zeros_pinned(0).shape == (0,)
    x = cupyx.zeros_pinned((2, 2), np.complex64)
    x[0, 1] = 1j
    assert cp.asarray(x).get().tolist() == [[0, 1j], [0, 0]]


def test_registered_host_memory(cp) -> None:
    runtime = cp.cuda.runtime
    host = np.zeros(1000, np.uint8)
    runtime.hostRegister(host.ctypes.data, 1000)
    assert runtime._is_pinned(host.ctypes.data + 999)
    assert not runtime._is_pinned(host.ctypes.data + 1000)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorHostMemoryAlreadyRegistered"):
        runtime.hostRegister(host.ctypes.data + 10, 10)
    runtime.hostUnregister(host.ctypes.data)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorHostMemoryNotRegistered"):
        runtime.hostUnregister(host.ctypes.data)


def test_copies_of_the_runtime(cp) -> None:
    runtime = cp.cuda.runtime
    a, b = runtime.malloc(16), runtime.malloc(16)
    host, back = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    runtime.memcpy(a, host.ctypes.data, 16, runtime.memcpyDefault)
    runtime.memcpyAsync(b, a, 16, runtime.memcpyDefault, 0)
    runtime.memset(b, 255, 4)
    runtime.memcpy(back.ctypes.data, b, 16, runtime.memcpyDefault)
    assert back.tolist() == [-1, 1, 2, 3]
    runtime.memcpy(back.ctypes.data, host.ctypes.data, 16, runtime.memcpyHostToHost)
    assert back.tolist() == [0, 1, 2, 3]
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidMemcpyDirection"):
        runtime.memcpy(a, b, 16, 17)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidValue") as caught:
        runtime.memcpy(a, host.ctypes.data, 20, runtime.memcpyHostToDevice)
    assert caught.value.status == 1
    assert pickle.loads(pickle.dumps(caught.value)).status == 1
    runtime.free(a)
    runtime.free(b)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidValue: invalid argument"):
        runtime.free(a)
    runtime.free(0)


def test_methods_of_a_memory_pointer(cp) -> None:
    p, q = cp.cuda.alloc(16), cp.cuda.alloc(16)
    host = np.arange(4, dtype=np.int32)
    p.copy_from(ctypes.c_void_p(host.ctypes.data), 16)
    q.copy_from_async(p, 16)
    (q + 4).memset_async(0, 4)
    back = np.zeros(4, np.int32)
    q.copy_to_host_async(back.ctypes.data, 16)
    cp.cuda.Stream.null.synchronize()
    assert back.tolist() == [0, 0, 2, 3]
    r = p
    r += 8
    assert r.ptr == q.ptr - q.ptr + p.ptr and int(r) == r.ptr
    assert (4 + q).ptr == q.ptr + 4 and p.device.id == p.device_id == 0
    p.copy_from_host_async(host.ctypes.data, 0)  # nothing


def test_the_device_says_what_it_is(cp) -> None:
    runtime = cp.cuda.runtime
    properties, attributes = runtime.getDeviceProperties(0), cp.cuda.Device().attributes
    assert b"nogpu" in properties["name"]
    assert (properties["major"], properties["minor"]) == engine.limits.COMPUTE_CAPABILITY
    assert cp.cuda.Device().compute_capability == "90"
    assert attributes["MaxThreadsPerBlock"] == properties["maxThreadsPerBlock"] == 1024
    assert attributes["MaxSharedMemoryPerBlockOptin"] == engine.limits.SHARED_PER_BLOCK_OPTIN
    assert cp.cuda.Device.from_pci_bus_id(cp.cuda.Device().pci_bus_id) == cp.cuda.Device(0)
    for call in (lambda: runtime.setDevice(1), lambda: runtime.getDeviceProperties(1),
                 lambda: cp.cuda.Device(1).__enter__()):  # fmt: skip
        with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidDevice"):
            call()
    with pytest.raises(AttributeError, match="cublas_handle exists in CuPy, but nogpu lacks it"):
        cp.cuda.Device().cublas_handle  # noqa: B018
    import cupyx

    text = str(cupyx.get_runtime_info())
    assert "nogpu Engine" in text and "nogpu Compiler" in text


def test_handles_of_streams_and_events(cp) -> None:
    runtime = cp.cuda.runtime
    s = runtime.streamCreateWithFlags(runtime.streamNonBlocking)
    e = runtime.eventCreate()
    runtime.eventRecord(e, s)
    runtime.streamWaitEvent(s, e)
    runtime.eventSynchronize(e)
    assert runtime.eventQuery(e) == runtime.streamQuery(s) == 0
    runtime.eventDestroy(e)
    runtime.streamDestroy(s)
    for call in (lambda: runtime.eventQuery(e), lambda: runtime.streamQuery(s),
                 lambda: cp.cuda.Stream.null.wait_event(type("E", (), {"ptr": e}))):  # fmt: skip
        with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidResourceHandle"):
            call()
    before = len(engine.streams._streams), len(runtime._events), len(runtime._graphs)
    stream = cp.cuda.Stream(non_blocking=True)
    event = stream.record()
    stream.begin_capture()
    stream.launch_host_func(print, "x")
    graph = stream.end_capture()
    assert graph.debug_dot_str().startswith("digraph")
    del stream, event, graph
    gc.collect()
    after = len(engine.streams._streams), len(runtime._events), len(runtime._graphs)
    assert after == before


def test_use_and_with_of_streams(cp) -> None:
    s, t = cp.cuda.Stream(), cp.cuda.Stream()
    current = cp.cuda.get_current_stream
    with s:
        t.use()
        assert current() == t
        with t:
            pass
        assert current() == s  # as the real library: back to the with block's stream
    assert current() == cp.cuda.Stream.null
    assert cp.cuda.Stream.from_external(s) == s and repr(s) == f"<Stream {s.ptr} (device 0)>"


def test_marks_and_magic(cp) -> None:
    import cupyx.profiler as profiler

    with pytest.raises(ValueError, match="the message argument cannot be None"):
        with profiler.time_range():
            pass
    with pytest.raises(ValueError, match="Only either color_id or argb_color"):
        profiler.time_range("x", 1, 2)
    with profiler.time_range("x", argb_color=0xFF00FF00, sync=True):
        cp.cuda.nvtx.Mark("here")
    result = profiler.benchmark(lambda: None, n_repeat=1, n_warmup=0, name="one")
    assert "+/-" not in str(result) and str(result).startswith("one                 :    CPU:")


WITHOUT_A_COMPILER = """
import nogpu
nogpu.install()
import cupy as cp, cupyx
x = cp.arange(10, dtype=cp.float32)
y = (x * 2 + 1).reshape(2, 5)
print(y.sum().item(), y[1].get().tolist(), cp.get_default_memory_pool().used_bytes() > 0)
print(cp.asarray(cupyx.zeros_pinned(3)).get().tolist())
s = cp.cuda.Stream()
with s:
    z = cp.zeros(3) + 1
s.synchronize()
print(z)
print("none found" in str(cupyx.get_runtime_info()))
from nogpu import engine
try:
    engine.compile("__global__ void f() {}")
except engine.CompilerNotFound as error:
    print("kernels:", error)
"""


def test_arrays_work_without_a_compiler(tmp_path: Path) -> None:
    environment = {**os.environ, "CXX": "/nowhere/c++", "PATH": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_COMPILER], capture_output=True, text=True,
        cwd=ROOT / "src", env=environment,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[:4] == ["100.0 [11.0, 13.0, 15.0, 17.0, 19.0] True", "[0.0, 0.0, 0.0]",
                         "[1. 1. 1.]", "True"]  # fmt: skip
    assert lines[4].startswith("kernels:")


IN_A_HOST_FUNCTION = """
import threading
import nogpu
nogpu.install()
import cupy as cp
import numpy as np

pool = cp.get_default_memory_pool()
stream = cp.cuda.Stream(non_blocking=True)
gate, said = threading.Event(), []

def host(arg):
    pool.free_all_blocks()
    said.append(("pool", pool.total_bytes()))
    try:
        with stream:
            y = cp.empty(150_000, cp.float32)  # another size than what is still in use there
        said.append(("array", y.size))
    except cp.cuda.runtime.CUDARuntimeError as error:
        said.append(("array", str(error)))
    try:
        stream.synchronize()
    except cp.cuda.runtime.CUDARuntimeError as error:
        said.append(("wait", str(error)))

kept = cp.empty(10, cp.float32)
with stream:
    stream.launch_host_func(lambda arg: gate.wait(), None)
    x = cp.empty(300_000, cp.float32)
    x += 1  # queued: larger than what runs at once
    del x  # given back while work is queued on it
    stream.launch_host_func(host, None)
gate.set()
stream.synchronize()
print(said[0][0], said[0][1] > kept.nbytes, said[1], said[2], sep="\\n")
pool.free_all_blocks()
print(pool.total_bytes())
"""


def test_free_all_blocks_in_a_host_function_does_not_wait() -> None:
    """What work still uses stays in the pool until then; an array that would wait is refused."""
    done = subprocess.run(
        [sys.executable, "-c", IN_A_HOST_FUNCTION], capture_output=True, text=True, timeout=60,
        check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    refused = "cudaErrorNotPermitted: operation not permitted"
    assert done.stdout.splitlines() == [
        "pool", "True", f"('array', '{refused}')", f"('wait', '{refused}')", "512",
    ], done.stderr  # fmt: skip


def test_a_capture_ends_with_its_stream(cp) -> None:
    """It could never be ended, and all later work on the default stream was refused."""
    stream = cp.cuda.Stream()
    stream.begin_capture()
    del stream
    gc.collect()
    assert (cp.arange(3) + 1).tolist() == [1, 2, 3]
    assert not cp.cuda.Stream.null.is_capturing()


def test_the_default_stream_is_refused_while_a_blocking_one_captures(cp) -> None:
    stream = cp.cuda.Stream()
    with stream:
        stream.begin_capture()
        b = cp.arange(4) + 1
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="CaptureImplicit"):
            cp.cuda.Stream.null.is_capturing()
        graph = stream.end_capture()  # the question has not spoilt it
        graph.launch()
    assert b.tolist() == [1, 2, 3, 4]
    assert not cp.cuda.Stream.null.is_capturing()


def test_work_that_a_capture_forbids_raises_cuda_s_error(cp) -> None:
    stream, a = cp.cuda.Stream(), cp.arange(4)
    stream.begin_capture()
    with pytest.raises(cp.cuda.driver.CUDADriverError, match="STREAM_CAPTURE_IMPLICIT"):
        a + 1
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="CaptureInvalidated"):
        stream.end_capture()
    assert (a + 1).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("operation, nbytes", [
    (lambda x, row: x + x, 2),
    (lambda x, row: 2 * x, 2),
    (lambda x, row: x + row, 2.01),
    (lambda x, row: x.__iadd__(row), 2.01),
    (lambda x, row: x.astype("float64"), 3),
    (lambda x, row: x[:, ::2] * 2, 1),
    (lambda x, row: x.sum(axis=0), 1.01),
    (lambda x, row: x.copy(), 2),
    (lambda x, row: x @ x.T, 3),
    (lambda x, row: x * 2 + row, 4.01),
])
def test_bytes_of_array_operations_take_each_array_once(cp, operation, nbytes):
    x, row = cp.ones((100, 100), cp.float32), cp.ones(100, cp.float32)
    with engine.counting() as counts:
        operation(x, row)
    assert counts["array_bytes"] == round(nbytes * x.nbytes)
    assert counts["launches"] == counts["bytes_loaded"] == 0


def test_bytes_of_array_operations_are_counted_on_streams_and_in_graphs_too(cp):
    x = cp.ones((500, 500), cp.float32)  # too large to run at once
    cp.cuda.Device().synchronize()  # which the stream below does not wait for
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        x += x
        graph = stream.end_capture()
    with engine.counting() as counts:
        with stream:
            x += x
            graph.launch()
        stream.synchronize()
        cp.RawKernel('extern "C" __global__ void one(float* x) { x[0] = 1; }', "one")(
            (1,), (1,), (x,))
    assert counts["array_bytes"] == 2 * 2 * x.nbytes and counts["bytes_stored"] == 4
    x += x
    assert counts["array_bytes"] == 4 * x.nbytes


def test_the_printing_hook_shows_the_pools_memory_by_its_number(cp):
    out = io.StringIO()
    pool = cp.cuda.MemoryPool()
    with cp.cuda.memory_hooks.DebugPrintHook(out):
        block = pool.malloc(1)
    shown = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["hook"] for line in shown] == ["alloc", "malloc"]
    assert shown[1]["pmem_id"] == hex(id(block.mem)) and shown[1]["mem_ptr"] == block.ptr


def test_a_block_lingers_until_its_allocation_has_ended(cp, monkeypatch) -> None:
    # A thread that takes the block looks at the list without the lock: if it stood there no longer
    # while its allocation had yet to end, that end would fall on the next array in its place.
    from cupy.cuda import memory

    ended = []
    displace = memory.engine.displace
    pool = cp.cuda.MemoryPool()
    go, stream = threading.Event(), cp.cuda.Stream(non_blocking=True)
    with cp.cuda.using_allocator(pool.malloc), stream:
        stream.launch_host_func(lambda _: go.wait(), None)
        x = cp.ones(100_000)
        single = x.data.mem.pool()
        monkeypatch.setattr(
            memory.engine, "displace",
            lambda address: (ended.append(address in single._lingering), displace(address)))
        del x  # the stream has work left
        assert single._lingering
        go.set()
        stream.synchronize()
        cp.ones(100_000)
    assert ended and all(ended)
