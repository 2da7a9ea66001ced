"""CUDA's runtime interface, as far as the simulator has it."""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable

from nogpu import engine
from nogpu.faces import table

from . import _contexts, _errors
from ._errors import CUDARuntimeError
from ._errors import runtime_error as _error

_NUMBERS = {name: number for name, (number, _) in _errors.RUNTIME.items()}
errorMemoryAllocation = _NUMBERS["cudaErrorMemoryAllocation"]
errorInvalidValue = _NUMBERS["cudaErrorInvalidValue"]
errorInvalidResourceHandle = _NUMBERS["cudaErrorInvalidResourceHandle"]
errorNotReady = _NUMBERS["cudaErrorNotReady"]
errorPeerAccessAlreadyEnabled = _NUMBERS["cudaErrorPeerAccessAlreadyEnabled"]
errorContextIsDestroyed = 709


def _translated(function: Callable) -> Callable:
    """Let it raise the engine's refusals as CUDA words them; a kernel's faults pass."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except engine.StreamError as error:
            raise _error(error.code) from None
        except engine.OutOfMemory:
            raise _error("cudaErrorMemoryAllocation") from None
        except engine.InvalidAddress as error:
            raise _errors.noted(_error("cudaErrorInvalidValue"), error) from error

    return call


# streams and events by their handles

streamLegacy, streamPerThread = 1, 2
streamDefault, streamNonBlocking = 0, 1
streamCaptureModeGlobal, streamCaptureModeThreadLocal, streamCaptureModeRelaxed = 0, 1, 2
streamCaptureStatusNone, streamCaptureStatusActive, streamCaptureStatusInvalidated = 0, 1, 2
eventDefault, eventBlockingSync, eventDisableTiming, eventInterprocess = 0, 1, 2, 4
_CAPTURE_MODES = {0: "global", 1: "thread_local", 2: "relaxed"}
_event_handles = itertools.count(0x10000, 0x10)
_events: dict[int, engine.streams.Event] = {}
_graph_handles = itertools.count(0x20000, 0x10)
_graphs: dict[int, engine.streams.Graph] = {}


@_translated
def _stream(handle: int) -> engine.streams.Stream:
    return engine.streams.from_handle(int(handle), _contexts.state.device)


def _known(table: dict[int, object], handle: int, code: str) -> object:
    if handle not in table:
        raise _error(code)
    return table[handle]


def _forget(table: dict[int, object], known: Callable, handle: int) -> None:
    known(handle)
    table.pop(handle, None)


_event = functools.partial(_known, _events, code="cudaErrorInvalidResourceHandle")
_graph = functools.partial(_known, _graphs, code="cudaErrorInvalidValue")


def _new_stream(flags: int = streamDefault, priority: int = 0) -> int:
    blocking, device = not flags & streamNonBlocking, _contexts.state.device
    return engine.streams.Stream(not blocking, priority, device=device).handle


_CALLS = {  # what the engine's streams and events do for each
    "streamCreate": _new_stream,
    "streamCreateWithFlags": _new_stream,
    "streamCreateWithPriority": _new_stream,
    "streamGetFlags": lambda s: streamNonBlocking if _stream(s).non_blocking else streamDefault,
    "streamGetPriority": lambda s: _stream(s).priority,
    "streamDestroy": lambda s: _stream(s).destroy(),
    "streamSynchronize": lambda s: _stream(s).synchronize(),
    "streamQuery": lambda s: 0 if _stream(s).done else errorNotReady,
    "streamWaitEvent": lambda s, event, flags: _stream(s).wait(_event(event)),
    "streamAddCallback": lambda s, call, arg: _stream(s).call(lambda: call(s, 0, arg)),
    "launchHostFunc": lambda s, call, arg: _stream(s).call(lambda: call(arg)),
    "streamIsCapturing": lambda s: _stream(s).is_capturing(),
    "eventCreate": lambda: eventCreateWithFlags(eventDefault),
    "eventRecord": lambda e, stream: _stream(stream).record(_event(e)),
    "eventQuery": lambda e: 0 if _event(e).done else errorNotReady,
    "eventSynchronize": lambda e: _event(e).synchronize(),
    "eventElapsedTime": lambda e, end: float(_event(e).elapsed(_event(end))),
    "eventDestroy": lambda e: _forget(_events, _event, e),
    "graphDestroy": lambda graph: _forget(_graphs, _graph, graph),
    "graphLaunch": lambda graph, stream: _graph(graph).launch(_stream(stream)),
    "deviceSynchronize": lambda: engine.streams.synchronize(_contexts.state.device),
}
*_, graphDestroy = table.functions(globals(), lambda name: _translated(_CALLS[name]), """
streamCreate() -> int: Make a stream; return its handle.
streamCreateWithFlags(flags: int) -> int: Make a stream; ``flags`` may be `streamNonBlocking`.
streamCreateWithPriority(flags: int, priority: int) -> int:
    Make a stream with a priority, clamped to what the device has.
streamGetFlags(stream: int) -> int: The flags that a stream was made with.
streamGetPriority(stream: int) -> int: A stream's priority.
streamDestroy(stream: int) -> None: Forget a stream; what is queued still runs.
streamSynchronize(stream: int) -> None: Wait for all work on a stream.
streamQuery(stream: int) -> int: 0 where all work is done, 600 (not ready) otherwise.
streamWaitEvent(stream: int, event: int, flags: int = 0) -> None:
    Let what a stream gets from now on wait for an event.
streamAddCallback(stream: int, callback: Callable, arg: object) -> None:
    Call ``callback(stream, status, arg)`` after the work so far.
launchHostFunc(stream: int, callback: Callable, arg: object) -> None:
    Call ``callback(arg)`` after the work so far.
streamIsCapturing(stream: int) -> bool: Whether a stream records.
eventCreate() -> int: Make an event; return its handle.
eventRecord(event: int, stream: int) -> None: Queue an event's mark on a stream.
eventQuery(event: int) -> int: 0 where an event is done, 600 (not ready) otherwise.
eventSynchronize(event: int) -> None: Wait for an event.
eventElapsedTime(start: int, end: int) -> float: Milliseconds between two events.
eventDestroy(event: int) -> None: Forget an event.
graphLaunch(graph: int, stream: int) -> None: Queue a graph on a stream.
deviceSynchronize() -> None: Wait for all work on all streams of the current device.
graphDestroy(graph: int) -> None: Forget a graph.
""")


@_translated
def streamBeginCapture(stream: int, mode: int = streamCaptureModeRelaxed) -> None:
    """Record what a stream gets from now on, and run nothing."""
    if mode not in _CAPTURE_MODES:
        raise _error("cudaErrorInvalidValue")
    _stream(stream).begin_capture(_CAPTURE_MODES[mode])


@_translated
def streamEndCapture(stream: int) -> int:
    """Stop recording; return the graph's handle."""
    graph = _stream(stream).end_capture()
    handle = next(_graph_handles)
    _graphs[handle] = graph
    return handle


def eventCreateWithFlags(flags: int) -> int:
    """Make an event; ``flags`` may hold `eventDisableTiming`."""
    handle = next(_event_handles)
    _events[handle] = engine.streams.Event(
        not flags & eventDisableTiming, _contexts.state.device)
    return handle


def graphUpload(graph: int, stream: int) -> None:
    """Nothing is left to prepare for a launch here."""
    _graph(graph)
    _stream(stream)


graphExecDestroy = graphDestroy


# devices

memoryTypeUnregistered, memoryTypeHost, memoryTypeDevice, memoryTypeManaged = 0, 1, 2, 3
cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor = 75, 76
cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
cudaDevAttrMemoryPoolsSupported = 115
computeModeDefault, computeModeExclusive, computeModeProhibited = 0, 1, 2
is_hip = False
CUDA_VERSION = engine.limits.CUDA_VERSION
_NAME = "nogpu on this machine's processor (no GPU)"
_PCI = [f"0000:{number:02x}:00.0" for number in engine.devices.visible]


def _check_device(device: int) -> None:
    if not 0 <= device < engine.devices.count:
        raise _error("cudaErrorInvalidDevice")


_WITHOUT_COUNTERPART = {  # attributes that are 0 here, and their numbers
    "ClockRate": 13, "KernelExecTimeout": 17, "CanMapHostMemory": 19, "EccEnabled": 32,
    "PciBusId": 33, "PciDeviceId": 34, "TccDriver": 35, "MemoryClockRate": 36,
    "GlobalMemoryBusWidth": 37, "L2CacheSize": 38, "PciDomainId": 50,
    "GlobalL1CacheSupported": 79, "LocalL1CacheSupported": 80, "IsMultiGpuBoard": 84,
    "MultiGpuBoardGroupID": 85, "PageableMemoryAccess": 88,
    "CanUseHostPointerForRegisteredMem": 91, "CooperativeLaunch": 95,
    "CooperativeMultiDeviceLaunch": 96, "PageableMemoryAccessUsesHostPageTables": 100,
    "MaxPersistingL2CacheSize": 108, "MaxAccessPolicyWindowSize": 109,
}  # fmt: skip


@functools.lru_cache(maxsize=1)
def _attributes() -> dict[str, tuple[int, int]]:
    """Number and value of a device's attributes. What has no counterpart here is 0."""
    limits = engine.limits
    block, grid = limits.MAX_BLOCK, limits.MAX_GRID
    return {
        "MaxThreadsPerBlock": (1, limits.MAX_THREADS_PER_BLOCK),
        "MaxBlockDimX": (2, block[0]),
        "MaxBlockDimY": (3, block[1]),
        "MaxBlockDimZ": (4, block[2]),
        "MaxGridDimX": (5, grid[0]),
        "MaxGridDimY": (6, grid[1]),
        "MaxGridDimZ": (7, grid[2]),
        "MaxSharedMemoryPerBlock": (8, limits.SHARED_PER_BLOCK),
        "TotalConstantMemory": (9, limits.CONSTANT_MEMORY),
        "WarpSize": (10, limits.WARP_SIZE),
        "MaxPitch": (11, 2**31 - 1),
        "MaxRegistersPerBlock": (12, limits.REGISTERS_PER_BLOCK),
        "TextureAlignment": (14, 512),
        "GpuOverlap": (15, 1),
        "MultiProcessorCount": (16, limits.worker_count()),
        "Integrated": (18, 1),
        "ComputeMode": (20, computeModeDefault),
        "ConcurrentKernels": (31, 1),
        "MaxThreadsPerMultiProcessor": (39, limits.THREADS_PER_MULTIPROCESSOR),
        "AsyncEngineCount": (40, 1),
        "UnifiedAddressing": (41, 1),
        "ComputeCapabilityMajor": (75, limits.COMPUTE_CAPABILITY[0]),
        "ComputeCapabilityMinor": (76, limits.COMPUTE_CAPABILITY[1]),
        "StreamPrioritiesSupported": (78, 1),
        "MaxSharedMemoryPerMultiprocessor": (81, limits.SHARED_PER_MULTIPROCESSOR),
        "MaxRegistersPerMultiprocessor": (82, limits.REGISTERS_PER_BLOCK),
        "ManagedMemory": (83, 1),
        "HostNativeAtomicSupported": (86, 1),
        "SingleToDoublePrecisionPerfRatio": (87, 2),
        "ConcurrentManagedAccess": (89, 1),
        "ComputePreemptionSupported": (90, 1),
        "MaxSharedMemoryPerBlockOptin": (97, limits.SHARED_PER_BLOCK_OPTIN),
        "DirectManagedMemAccessFromHost": (101, 1),
        "MaxBlocksPerMultiprocessor": (106, limits.BLOCKS_PER_MULTIPROCESSOR),
        "ReservedSharedMemoryPerBlock": (111, limits.SHARED_RESERVED),
        "MemoryPoolsSupported": (115, 1),
    } | {name: (number, 0) for name, number in _WITHOUT_COUNTERPART.items()}


globals().update({f"cudaDevAttr{name}": number for name, (number, _) in _attributes().items()})

# The names that a device's properties have, where they are those of an attribute.
_PROPERTIES = {name: name[0].upper() + name[1:] for name in """
    asyncEngineCount canMapHostMemory canUseHostPointerForRegisteredMem clockRate computeMode
    computePreemptionSupported concurrentKernels concurrentManagedAccess cooperativeLaunch
    cooperativeMultiDeviceLaunch directManagedMemAccessFromHost globalL1CacheSupported
    hostNativeAtomicSupported integrated isMultiGpuBoard l2CacheSize localL1CacheSupported
    managedMemory maxThreadsPerBlock maxThreadsPerMultiProcessor memoryClockRate
    multiGpuBoardGroupID multiProcessorCount pageableMemoryAccess
    pageableMemoryAccessUsesHostPageTables singleToDoublePrecisionPerfRatio
    streamPrioritiesSupported tccDriver textureAlignment unifiedAddressing warpSize
""".split()} | {
    "ECCEnabled": "EccEnabled", "accessPolicyMaxWindowSize": "MaxAccessPolicyWindowSize",
    "deviceOverlap": "GpuOverlap", "kernelExecTimeoutEnabled": "KernelExecTimeout",
    "major": "ComputeCapabilityMajor", "maxBlocksPerMultiProcessor": "MaxBlocksPerMultiprocessor",
    "memoryBusWidth": "GlobalMemoryBusWidth", "minor": "ComputeCapabilityMinor",
    "pciBusID": "PciBusId", "pciDeviceID": "PciDeviceId", "pciDomainID": "PciDomainId",
    "persistingL2CacheMaxSize": "MaxPersistingL2CacheSize", "regsPerBlock": "MaxRegistersPerBlock",
    "regsPerMultiprocessor": "MaxRegistersPerMultiprocessor",
    "reservedSharedMemPerBlock": "ReservedSharedMemoryPerBlock",
    "sharedMemPerBlock": "MaxSharedMemoryPerBlock",
    "sharedMemPerBlockOptin": "MaxSharedMemoryPerBlockOptin",
    "sharedMemPerMultiprocessor": "MaxSharedMemoryPerMultiprocessor",
    "totalConstMem": "TotalConstantMemory",
}  # fmt: skip
# Textures and surfaces, which the simulator lacks: how many extents each has.
_TEXTURES = {
    "maxSurface1D": 1, "maxSurface1DLayered": 2, "maxSurface2D": 2, "maxSurface2DLayered": 3,
    "maxSurface3D": 3, "maxSurfaceCubemap": 1, "maxSurfaceCubemapLayered": 2, "maxTexture1D": 1,
    "maxTexture1DLayered": 2, "maxTexture1DLinear": 1, "maxTexture1DMipmap": 1,
    "maxTexture2D": 2, "maxTexture2DGather": 2, "maxTexture2DLayered": 3,
    "maxTexture2DLinear": 3, "maxTexture2DMipmap": 2, "maxTexture3D": 3, "maxTexture3DAlt": 3,
    "maxTextureCubemap": 1, "maxTextureCubemapLayered": 2,
}  # fmt: skip


_ANSWERS = {
    "getDeviceCount": engine.devices.count, "deviceGetStreamPriorityRange": (0, -5),
    "runtimeGetVersion": CUDA_VERSION, "getLastError": 0,
}  # fmt: skip
*_, runtimeGetVersion, getLastError = table.functions(
    globals(), lambda name: lambda: _ANSWERS[name], """
getDeviceCount() -> int: How many devices there are.
deviceGetStreamPriorityRange() -> tuple[int, int]:
    The least and the greatest priority: a smaller number comes first.
runtimeGetVersion() -> int: The version of CUDA whose language the simulator takes.
getLastError() -> int: 0: errors are exceptions here and leave nothing behind.
""")
driverGetVersion = _getLocalRuntimeVersion = runtimeGetVersion
peekAtLastError = getLastError


def getDevice() -> int:
    """The current device of this thread."""
    return _contexts.state.device


def setDevice(device: int) -> None:
    """Make a device the current one of this thread."""
    _check_device(device)
    _contexts.set_device(device)


def deviceGetAttribute(attrib: int, device: int) -> int:
    """An attribute of a device, by its number."""
    _check_device(device)
    for number, value in _attributes().values():
        if number == attrib:
            return value
    raise _error("cudaErrorInvalidValue")


def getDeviceProperties(device: int) -> dict[str, object]:
    """All about a device. What has no counterpart here is 0."""
    _check_device(device)
    values = _attributes()
    properties: dict[str, object] = {
        name: values[attribute][1] for name, attribute in _PROPERTIES.items()
    }
    for name, extents in _TEXTURES.items():
        properties[name] = 0 if extents == 1 else (0,) * extents
    return properties | {
        "name": _NAME.encode(), "totalGlobalMem": engine.usage(device)[1],
        "maxThreadsDim": engine.limits.MAX_BLOCK, "maxGridSize": engine.limits.MAX_GRID,
        "surfaceAlignment": 512, "texturePitchAlignment": 32,
        "uuid": bytes([*bytes(15), device]), "pciBusID": engine.devices.visible[device],
        "luid": bytes(8), "luidDeviceNodeMask": 0,
    }  # fmt: skip


def deviceGetPCIBusId(device: int) -> str:
    """The place of a device on the PCI bus."""
    _check_device(device)
    return _PCI[device]


def deviceGetByPCIBusId(pciBusId: str) -> int:
    """The device at a place of the PCI bus."""
    if pciBusId not in _PCI:
        raise _error("cudaErrorInvalidValue" if ":" not in pciBusId else "cudaErrorInvalidDevice")
    return _PCI.index(pciBusId)


def deviceCanAccessPeer(device: int, peerDevice: int) -> int:
    """Whether a device reaches another's memory; no device is its own peer."""
    _check_device(device)
    _check_device(peerDevice)
    return int(device != peerDevice)


def deviceEnablePeerAccess(peerDevice: int) -> None:
    """Let kernels of the current device use another one's memory."""
    pair = _pair(peerDevice)
    if pair in engine.devices.peers:
        raise _error("cudaErrorPeerAccessAlreadyEnabled")
    engine.devices.peers.add(pair)


def deviceDisablePeerAccess(peerDevice: int) -> None:
    """Let kernels of the current device use another one's memory no more."""
    pair = _pair(peerDevice)
    if pair not in engine.devices.peers:
        raise _error("cudaErrorPeerAccessNotEnabled")
    engine.devices.peers.discard(pair)


def _pair(peer: int) -> tuple[int, int]:
    _check_device(peer)
    if peer == _contexts.state.device:
        raise _error("cudaErrorInvalidDevice")
    return _contexts.state.device, peer


table.functions(globals(), lambda name: table.nothing, """
profilerStart() -> None: No profiler listens.
profilerStop() -> None: No profiler listens.
""")


def memAdvise(devPtr: int, count: int, advice: int, device: int) -> None:
    """Nothing follows from an advice here, which may also be about the processor (-1)."""
    if device != -1:
        _check_device(device)


def check_status(status: int) -> None:
    """Raise the error of a number that is not 0."""
    if status != 0:
        raise CUDARuntimeError(status)


# memory

hostAllocDefault, hostAllocPortable, hostAllocMapped, hostAllocWriteCombined = 0, 1, 2, 4
hostRegisterDefault, hostRegisterPortable, hostRegisterMapped = 0, 1, 2
memAttachGlobal, memAttachHost, memAttachSingle = 1, 2, 4
memAdviseSetReadMostly, memAdviseUnsetReadMostly = 1, 2
memAdviseSetPreferredLocation, memAdviseUnsetPreferredLocation = 3, 4
memAdviseSetAccessedBy, memAdviseUnsetAccessedBy = 5, 6
_pinned: dict[int, tuple[int, object]] = {}  # page-locked: address -> bytes, what keeps it
_pinned_order: list[int] = []
_pinned_lock = engine.forking.held("pinned memory", threading.RLock())
_managed: set[int] = set()


def memGetInfo() -> tuple[int, int]:
    """Free and total bytes of the current device."""
    used, capacity = engine.usage(_contexts.state.device)
    return capacity - used, capacity


@_translated
def malloc(size: int) -> int:
    """Allocate device memory; return its address, 0 for no bytes."""
    return engine.allocate(size, device=_contexts.state.device).address if size else 0


@_translated
def mallocManaged(size: int, flags: int = memAttachGlobal) -> int:
    """Allocate memory that host and device share."""
    address = malloc(size)
    _managed.add(address)
    return address


@_translated
def mallocAsync(size: int, stream: int) -> int:
    """Allocate device memory in the order of a stream."""
    _stream(stream)
    return malloc(size)


@_translated
def free(ptr: int) -> None:
    """Wait for all work, and free device memory."""
    if ptr:
        engine.streams.synchronize()
        engine.free(ptr)
        _managed.discard(ptr)


@_translated
def freeAsync(ptr: int, stream: int) -> None:
    """Free device memory when the stream's work so far is done."""
    if ptr:
        if engine.lookup(ptr) is None:
            raise _error("cudaErrorInvalidValue")
        _stream(stream).run(lambda: engine.free(ptr), 0, "freeAsync")


def hostAlloc(size: int, flags: int = hostAllocDefault) -> int:
    """Allocate page-locked host memory; return its address."""
    if size <= 0:
        return 0
    try:
        memory = engine.PageLocked(size)
    except MemoryError:
        raise _error("cudaErrorMemoryAllocation") from None
    _pin(memory.address, size, memory)
    return memory.address


def _pin(address: int, size: int, keep: object = None) -> None:
    """Let a host address count as page-locked memory; PyCUDA's face does that too."""
    with _pinned_lock:
        if address not in _pinned:
            insort(_pinned_order, address)
        _pinned[address] = (size, keep)


def _unpin(address: int, error: str | None = None) -> None:
    with _pinned_lock:
        if _pinned.pop(address, None) is None:
            if error is None:
                return
            raise _error(error)
        del _pinned_order[bisect_left(_pinned_order, address)]


def freeHost(ptr: int) -> None:
    """Free page-locked host memory."""
    if ptr:
        _unpin(ptr, "cudaErrorInvalidValue")


def hostRegister(ptr: int, size: int, flags: int = hostRegisterDefault) -> None:
    """Lock the pages of host memory."""
    if not ptr or size <= 0:
        raise _error("cudaErrorInvalidValue")
    if _is_pinned(ptr) or _is_pinned(ptr + size - 1):
        raise _error("cudaErrorHostMemoryAlreadyRegistered")
    _pin(ptr, size, None)


def hostUnregister(ptr: int) -> None:
    """Unlock the pages of host memory."""
    _unpin(ptr, "cudaErrorHostMemoryNotRegistered")


def _is_pinned(address: int) -> bool:
    """Whether a host address lies in page-locked memory."""
    with _pinned_lock:
        index = bisect_right(_pinned_order, address)
        if not index:
            return False
        begin = _pinned_order[index - 1]
        return address < begin + _pinned[begin][0]


class PointerAttributes:
    """What is known about an address; ``device`` is -1 for memory that CUDA does not know."""

    def __init__(self, device: int, devicePointer: int, hostPointer: int, type: int = -1) -> None:
        self.device, self.type = device, type
        self.devicePointer, self.hostPointer = devicePointer, hostPointer


def pointerGetAttributes(ptr: int) -> PointerAttributes:
    """What is known about an address."""
    allocation = engine.lookup(ptr)
    if allocation is not None:
        if allocation.address in _managed:
            return PointerAttributes(allocation.device, ptr, ptr, memoryTypeManaged)
        return PointerAttributes(allocation.device, ptr, 0, memoryTypeDevice)
    if _is_pinned(ptr):
        return PointerAttributes(0, ptr, ptr, memoryTypeHost)
    return PointerAttributes(-1, 0, ptr, memoryTypeUnregistered)


def memPrefetchAsync(devPtr: int, count: int, dstDevice: int, stream: int) -> None:
    """Managed memory is where it is needed, on the device or the processor (-1)."""
    if dstDevice != -1:
        _check_device(dstDevice)
    _stream(stream)


# copies

memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost = 0, 1, 2
memcpyDeviceToDevice, memcpyDefault = 3, 4
_KINDS = {0: "HtoH", 1: "HtoD", 2: "DtoH", 3: "DtoD"}


def _kind(destination: int, source: int, kind: int) -> str:
    if kind == memcpyDefault:
        ends = ["H" if engine.lookup(at) is None else "D" for at in (source, destination)]
        return "to".join(ends)
    if kind not in _KINDS:
        raise _error("cudaErrorInvalidMemcpyDirection")
    return _KINDS[kind]


@_translated
def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    """Copy bytes on the legacy default stream, and wait for it."""
    memcpyAsync(dst, src, size, kind, streamDefault)
    _stream(streamDefault).synchronize()


@_translated
def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    """Queue a copy of bytes on a stream."""
    if not size:
        return
    if not dst or not src:
        raise _error("cudaErrorInvalidValue")
    kind = _kind(dst, src, kind)
    if kind == "HtoH":
        _stream(stream).run(lambda: ctypes.memmove(dst, src, size), size, "copy HtoH")
        return
    host = {"HtoD": src, "DtoH": dst}.get(kind)
    _stream(stream).copy(dst, src, size, kind, pinned=host is None or _is_pinned(host))


def memcpyPeer(dst: int, dstDevice: int, src: int, srcDevice: int, size: int) -> None:
    """Queue a copy between devices on the legacy default stream; it does not wait."""
    memcpyPeerAsync(dst, dstDevice, src, srcDevice, size, streamDefault)


def memcpyPeerAsync(
    dst: int, dstDevice: int, src: int, srcDevice: int, size: int, stream: int
) -> None:
    """Queue a copy between devices on a stream."""
    for device, address in ((dstDevice, dst), (srcDevice, src)):
        _check_device(device)
        found = engine.lookup(address)
        if size and (found is None or found.device != device):
            raise _error("cudaErrorInvalidValue")
    memcpyAsync(dst, src, size, memcpyDeviceToDevice, stream)


@_translated
def memset(ptr: int, value: int, size: int) -> None:
    """Queue setting bytes on the legacy default stream."""
    memsetAsync(ptr, value, size, 0)


@_translated
def memsetAsync(ptr: int, value: int, size: int, stream: int) -> None:
    """Queue setting bytes on a stream."""
    if size:
        _stream(stream).fill(ptr, value, size)


def graphDebugDotStr(graph: int, flags: int = 0) -> str:
    """A drawing of a graph in the DOT language: its nodes, in the order in which they run."""
    nodes = getattr(_graph(graph), "_nodes", None) or ()
    lines = [f'  n{i} [label="{i}: {getattr(node, "name", "work")}"];' for i, node in
             enumerate(nodes)]  # fmt: skip
    lines += [f"  n{i} -> n{i + 1};" for i in range(len(nodes) - 1)]
    return "\n".join(["digraph graph_1 {", *lines, "}"]) + "\n"
