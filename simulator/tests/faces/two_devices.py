"""Tests in a process of two devices: `test_devices.py` runs them in one.

What CuPy does here was seen with CuPy 14.2 on two NVIDIA H200s (2026-11-23), but for a reach
without peer access, which there ends in cudaErrorIllegalAddress.
"""

from __future__ import annotations

import pickle
import threading
import time
import warnings

import cupy as cp
import numpy as np
import pycuda.driver as drv
import pytest
from pycuda.compiler import SourceModule

import nogpu
from nogpu import engine

runtime = cp.cuda.runtime
Device, Stream, Event = cp.cuda.Device, cp.cuda.Stream, cp.cuda.Event
ADD = 'extern "C" __global__ void add(float* x, int n) { int i = threadIdx.x; if (i < n) x[i]++; }'
COUNT = "__device__ int calls; extern \"C\" __global__ void count(int* x) { *x = ++calls; }"
SLOW = r"""extern "C" __global__ void slow(float* x, int n) {
    for (int k = 0; k < n; k++) x[threadIdx.x] += 1;
}"""
WARNING = (
    "The device where the array resides (1) is different from the current device (0). Peer access "
    "has been activated automatically."
)


@pytest.fixture(autouse=True)
def apart():
    """Each test begins on device 0, without peer access."""
    Device(0).use()
    engine.devices.peers.clear()
    yield
    Device(0).use()
    engine.streams.synchronize()


def wait_for_both() -> None:
    for device in (0, 1):
        Device(device).synchronize()


def made_on(device: int) -> cp.ndarray:
    with Device(device):
        x = cp.ones(1000, cp.float32)
        Device(device).synchronize()
        return x


@pytest.fixture
def x0():
    return made_on(0)


@pytest.fixture
def x1():
    return made_on(1)


def test_the_current_device_belongs_to_a_thread() -> None:
    assert runtime.getDeviceCount() == 2 and cp.cuda.is_available()
    with Device(1) as device:
        assert runtime.getDevice() == device.id == cp.zeros(3).device.id == 1
        with Device(0):
            assert cp.cuda.get_device_id() == 0
        seen = []
        thread = threading.Thread(target=lambda: seen.append(runtime.getDevice()))
        thread.start()
        thread.join()
        assert seen == [0] and runtime.getDevice() == 1
    assert runtime.getDevice() == 0
    assert [Device(i).pci_bus_id for i in (0, 1)] == ["0000:00:00.0", "0000:01:00.0"]
    assert Device.from_pci_bus_id("0000:01:00.0") == Device(1)
    for call in (lambda: Device(2).use(), lambda: runtime.getDeviceProperties(-1)):
        with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidDevice"):
            call()


def test_each_device_has_its_memory_and_pool() -> None:
    before = [Device(i).mem_info[0] for i in (0, 1)]
    pool = cp.cuda.MemoryPool()
    with Device(1), cp.cuda.using_allocator(pool.malloc):
        x = cp.zeros(1 << 20, cp.uint8)
        assert pool.used_bytes() == 1 << 20
    assert pool.used_bytes() == pool.total_bytes() == 0
    assert [b - Device(i).mem_info[0] for i, b in enumerate(before)] == [0, 1 << 20]
    assert runtime.pointerGetAttributes(x.data.ptr).device == x.data.device_id == 1
    with Device(1):
        pool.set_limit(size=1 << 20)
        assert pool.get_limit() == 1 << 20
        with pytest.raises(cp.cuda.memory.OutOfMemoryError):
            pool.malloc(512)
    assert pool.get_limit() == 0
    with pytest.raises(engine.OutOfMemory):
        engine.allocate(engine.usage(1)[1] + 1, device=1)


def test_ufuncs_and_elementwise_kernels_activate_peer_access(x0, x1) -> None:
    kernel = cp.ElementwiseKernel("float32 x", "float32 y", "y = x + 1", "plus_one")
    for work in (lambda: x1 + 1, lambda: x0 + x1, lambda: kernel(x1)):
        with pytest.warns(cp._util.PerformanceWarning) as told:
            assert work().device.id == 0
        assert [(str(one.message), one.filename) for one in told] == [(WARNING, __file__)]
    with pytest.warns(cp._util.PerformanceWarning):
        cp.add(x0, x0, out=x1)
    wait_for_both()
    assert float(x1[0]) == 2
    with pytest.warns(cp._util.PerformanceWarning):
        x1[::2] = x0[::2]
    wait_for_both()
    with pytest.warns(cp._util.PerformanceWarning):
        assert cp.concatenate([x0, x1]).device.id == 0


def test_whole_arrays_go_from_device_to_device(x0, x1) -> None:
    x0 *= 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x1[:] = x0
        assert x1.device.id == 1 and float(x1[1]) == 3
        cp.copyto(x1, x0 * 2)
        assert float(x1[2]) == 6
        x1.set(np.full(1000, 7, np.float32))
        assert x1.get()[3] == 7 and float(x1[3]) == 7
        for copied in (cp.asarray(x1), cp.array(x1), x1.copy(), pickle.loads(pickle.dumps(x1))):
            assert copied.device.id == 0 and float(copied[-1]) == 7
        with Device(1):
            assert cp.asarray(x1) is x1 and cp.asarray(x0).device.id == 1
        assert cp.asarray(x1, np.float64).dtype == np.float64
        table = x1.reshape(10, 100).T
        assert table.copy().strides == (40, 4) and table.get()[0, 0] == 7


def test_without_peer_access_a_kernel_is_stopped(x0, x1) -> None:
    kernel = cp.RawKernel(ADD, "add")
    for _ in range(2):  # the second finds stamps of the first
        with Device(1):
            kernel((1,), (1000,), (x1, np.int32(1000)))
            Device(1).synchronize()
        kernel((1,), (1000,), (x1, np.int32(1000)))
        with pytest.raises(nogpu.NotDeviceMemory) as told:
            Device(0).synchronize()
        assert told.value.device == 0 and (told.value.array, told.value.index) == ("x", 0)
        assert "kernel 'add' on device 0" in str(told.value)
        assert "x[0], which is on device 1: without peer access" in str(told.value)
    for work in (x1.sum, lambda: x1 @ x1, lambda: x1.reshape(10, 100) @ x1.reshape(100, 10)):
        with pytest.raises(nogpu.NotDeviceMemory, match="on device 1: without peer access"):
            work()
    assert runtime.deviceCanAccessPeer(0, 1) == 1 and runtime.deviceCanAccessPeer(1, 1) == 0
    runtime.deviceEnablePeerAccess(1)
    kernel((1,), (1000,), (x1, np.int32(1000)))
    wait_for_both()
    assert float(x1[9]) == 4 and float(x1.sum()) == 4000
    with pytest.raises(runtime.CUDARuntimeError, match="PeerAccessAlreadyEnabled"):
        runtime.deviceEnablePeerAccess(1)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidDevice"):
        runtime.deviceEnablePeerAccess(0)
    runtime.deviceDisablePeerAccess(1)
    with pytest.raises(runtime.CUDARuntimeError, match="PeerAccessNotEnabled"):
        runtime.deviceDisablePeerAccess(1)
    kernel((1,), (1,), (x1, np.int32(1)))
    with pytest.raises(nogpu.NotDeviceMemory):
        Device(0).synchronize()


def test_a_fault_names_its_device(x1) -> None:
    with Device(1):
        cp.RawKernel(ADD, "add")((1,), (1001,), (x1, np.int32(2000)))
    Device(0).synchronize()  # not its own
    with pytest.raises(nogpu.GlobalOutOfBounds, match="kernel 'add' on device 1, kernel.cu:1"):
        Device(1).synchronize()


def test_a_module_is_loaded_on_each_device() -> None:
    kernel, seen = cp.RawKernel(COUNT, "count"), []
    for device in (0, 1, 1, 0, 1):
        with Device(device):
            out = cp.zeros(1, np.int32)
            kernel((1,), (1,), (out,))
            seen.append(int(out[0]))
    assert seen == [1, 1, 2, 2, 3]
    kernel.max_dynamic_shared_size_bytes = 100_000
    out = cp.zeros(1, np.int32)
    kernel((1,), (1,), (out,), shared_mem=100_000)
    with Device(1):
        assert kernel.max_dynamic_shared_size_bytes == 49152
        with pytest.raises(cp.cuda.driver.CUDADriverError, match="INVALID_VALUE"):
            kernel((1,), (1,), (out,), shared_mem=100_000)


def test_a_stream_belongs_to_its_device(x0) -> None:
    with Device(1):
        stream = Stream(non_blocking=True)
    wrong = r"stream is created on \(1\) does not match with the current device \(0\)"
    for use in (stream.__enter__, stream.use):
        with pytest.raises(RuntimeError, match=wrong):
            use()
    with pytest.raises(cp.cuda.driver.CUDADriverError, match="CUDA_ERROR_INVALID_HANDLE"):
        cp.RawKernel(ADD, "add")((1,), (1,), (x0, np.int32(1)), stream=stream)
    with Device(1), stream:
        assert cp.cuda.get_current_stream() is stream
        with Device(0):
            assert cp.cuda.get_current_stream() == Stream.null
            assert cp.cuda.get_current_stream(1) is stream
        assert cp.cuda.get_current_stream() is stream
    x0.set(np.full(1000, 5, np.float32), stream=stream)  # copies may go on any device's stream
    stream.synchronize()
    assert float(x0[0]) == 5


def test_events_order_devices_and_time_one() -> None:
    with Device(1):
        theirs, stream = Event(), Stream(non_blocking=True)
        theirs.record()
    mine = Event()
    mine.record()
    invalid = pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidResourceHandle")
    with invalid:
        mine.record(stream)
    theirs.synchronize()
    mine.synchronize()
    with invalid:
        cp.cuda.get_elapsed_time(mine, theirs)
    stream.wait_event(mine)
    assert theirs.done and stream.done


def test_a_wait_is_for_the_streams_of_one_device(x0, x1) -> None:
    kernel = cp.RawKernel(SLOW, "slow")
    for device, x in ((0, x0), (1, x1)):
        with Device(device):
            kernel((1,), (1000,), (x, np.int32(1)))
    engine.streams.synchronize()
    with Device(1):
        stream = Stream()
        kernel((1,), (1000,), (x1, np.int32(20_000)), stream=stream)
        null = engine.streams.from_handle(0, 1)
    Device(0).synchronize()
    Stream.null.synchronize()
    assert not stream.done
    with Device(1):
        Stream.null.synchronize()  # which waits for the blocking streams of its device
        assert stream.done and null.done
    assert float(x1[0]) == 20_002


def test_a_peer_copy_on_a_default_stream_comes_after_the_work_of_both(x0, x1) -> None:
    kernel = cp.RawKernel(SLOW, "slow")
    with Device(1):
        kernel((1,), (1000,), (x1, np.int32(5000)))
    runtime.memcpyPeer(x0.data.ptr, 0, x1.data.ptr, 1, x0.nbytes)
    with Device(1):
        x1.fill(0)
    assert float(x0[0]) == 5001 and float(x1[0]) == 0
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidValue"):
        runtime.memcpyPeer(x0.data.ptr, 1, x1.data.ptr, 1, 4)


def test_a_missing_order_between_devices_is_found(x0, x1) -> None:
    with Device(1):
        stream = Stream(non_blocking=True)
    runtime.memcpyPeerAsync(x1.data.ptr, 1, x0.data.ptr, 0, x0.nbytes, stream.ptr)
    x0 += 1
    with pytest.raises(nogpu.StreamRace, match="the default stream of device 0"):
        wait_for_both()
    wait_for_both()
    event = Event()
    x0 += 1
    event.record()
    stream.wait_event(event)
    runtime.memcpyPeerAsync(x1.data.ptr, 1, x0.data.ptr, 0, x0.nbytes, stream.ptr)
    stream.synchronize()
    x0 += 1
    Device(0).synchronize()


def test_contexts_of_two_devices() -> None:
    drv.init()
    assert drv.Device.count() == 2 and drv.Device(0).can_access_peer(drv.Device(1))
    with pytest.raises(drv.LogicError, match="invalid device ordinal"):
        drv.Device(2)
    first = drv.Device(0).make_context()
    a = drv.mem_alloc(64)
    drv.memcpy_htod(a, np.arange(16, dtype=np.float32))
    add = SourceModule(ADD).get_function("add")
    second = drv.Device(1).make_context()
    try:
        assert drv.Context.get_device() == drv.Device(1) and runtime.getDevice() == 1
        b, back = drv.mem_alloc(64), np.empty(16, np.float32)
        drv.memcpy_peer(b, a, 64)
        drv.memcpy_dtoh(back, b)
        assert back.tolist() == list(range(16))
        with pytest.raises(drv.LogicError, match="invalid resource handle"):
            add(b, np.int32(16), block=(16, 1, 1))
        mine = SourceModule(ADD).get_function("add")
        mine(a, np.int32(16), block=(16, 1, 1))
        with pytest.raises(nogpu.NotDeviceMemory, match="kernel 'add' on device 1"):
            drv.Context.synchronize()
        drv.Context.enable_peer_access(first)
        with pytest.raises(drv.LogicError, match="peer access is already enabled"):
            drv.Context.enable_peer_access(first)
        mine(a, np.int32(16), block=(16, 1, 1))
        drv.memcpy_dtoh(back, a)
        assert back.tolist() == list(range(1, 17))
    finally:
        second.pop()
        assert drv.Context.get_device() == drv.Device(0) and runtime.getDevice() == 0
        first.pop()


def test_memory_that_is_given_out_again_waits_for_its_own_device(x1) -> None:
    kernel = cp.RawKernel(SLOW, "slow")
    with Device(1):
        block = cp.ones(1000, cp.float32)
        kernel((1,), (1000,), (block, np.int32(5000)))
        del block
        again = cp.zeros(1000, cp.float32)
        assert float(again.sum()) == 0
    start = time.monotonic()
    cp.get_default_memory_pool().free_all_blocks()
    assert time.monotonic() - start < 60
