# ruff: noqa: F401 (names that PyCUDA has here)
"""The driver's interface, which in PyCUDA is compiled."""

from nogpu import engine
from nogpu.faces import missing as _missing

from ._contexts import (
    Context,
    Device,
    Error,
    LaunchError,
    LogicError,
    MemoryError,
    RuntimeError,
    init,
)
from ._enums import (
    compute_mode,
    ctx_flags,
    device_attribute,
    event_flags,
    func_cache,
    function_attribute,
    host_alloc_flags,
    limit,
    mem_attach_flags,
    mem_host_register_flags,
    mem_peer_register_flags,
    memory_type,
    shared_config,
)
from ._memory import (
    AlignedHostAllocation,
    DeviceAllocation,
    HostAllocation,
    HostPointer,
    ManagedAllocation,
    Memcpy2D,
    Memcpy3D,
    PagelockedHostAllocation,
    PointerHolderBase,
    RegisteredHostMemory,
    aligned_empty,
    managed_empty,
    mem_alloc,
    mem_alloc_pitch,
    mem_get_address_range,
    mem_get_info,
    memcpy_dtod,
    memcpy_dtod_async,
    memcpy_dtoh,
    memcpy_dtoh_async,
    memcpy_htod,
    memcpy_htod_async,
    memcpy_peer,
    memcpy_peer_async,
    memset_d2d8,
    memset_d2d16,
    memset_d2d32,
    memset_d8,
    memset_d8_async,
    memset_d16,
    memset_d16_async,
    memset_d32,
    memset_d32_async,
    pagelocked_empty,
    register_host_memory,
)
from ._modules import Function, Module, module_from_buffer, module_from_file
from ._pools import (
    DeviceMemoryPool,
    PageLockedMemoryPool,
    PooledDeviceAllocation,
    PooledHostAllocation,
    bitlog2,
)
from ._streams import Event, Stream


def get_version() -> tuple[int, int, int]:
    """The version of CUDA whose language the simulator takes."""
    version = engine.limits.CUDA_VERSION
    return version // 1000, version % 1000 // 10, 0


def get_driver_version() -> int:
    """The same as one number."""
    return engine.limits.CUDA_VERSION


def initialize_profiler(*arguments: object) -> None:
    """There is no profiler here."""


def start_profiler() -> None:
    """There is no profiler here."""


def stop_profiler() -> None:
    """There is no profiler here."""


__getattr__ = _missing.missing("pycuda._driver")
