"""The devices, which are this machine's processor: one, or as many as the program wants."""

from __future__ import annotations

import functools
from collections.abc import Callable

from cupy.cuda import _synchronize
from cupy_backends.cuda.api import runtime

from nogpu.faces import table


def get_device_id() -> int:
    """The current device's number."""
    return runtime.getDevice()


_LIBRARIES = {
    "cublas": "cuBLAS", "cusolver": "cuSOLVER", "cusolver_sp": "cuSOLVER", "cusparse": "cuSPARSE",
    "cutensor": "cuTENSOR",
}  # fmt: skip


def _handle_of(library: str) -> Callable:
    def get(*device: Device) -> int:
        raise RuntimeError(f"nogpu has no {library}: it needs a machine with a GPU")

    return get


table.functions(
    globals(), lambda name: _handle_of(_LIBRARIES[name.split("_")[1]]), """
get_cublas_handle() -> int: A handle of cuBLAS, which the simulator lacks.
get_cusolver_handle() -> int: A handle of cuSOLVER, which the simulator lacks.
get_cusparse_handle() -> int: A handle of cuSPARSE, which the simulator lacks.
""")


def get_compute_capability() -> str:
    """The current device's compute capability, as digits."""
    return Device().compute_capability


@functools.total_ordering
class Device:
    """A device; in a ``with`` block the current one."""

    def __init__(self, device: int | Device | None = None) -> None:
        self.id = runtime.getDevice() if device is None else int(device)
        self._before: list[int] = []

    @classmethod
    def from_pci_bus_id(cls, pci_bus_id: str) -> Device:
        """The device at a place of the PCI bus."""
        return cls(runtime.deviceGetByPCIBusId(pci_bus_id))

    def __int__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, Device) else NotImplemented

    def __lt__(self, other: Device) -> bool:
        return self.id < other.id if isinstance(other, Device) else NotImplemented

    def __enter__(self) -> Device:
        before = runtime.getDevice()
        if before != self.id:
            self.use()
        self._before.append(before)
        return self

    def __exit__(self, *args: object) -> None:
        runtime.setDevice(self._before.pop())

    def use(self) -> None:
        """Make it the current device."""
        runtime.setDevice(self.id)

    def synchronize(self) -> None:
        """Wait for all work on all of its streams."""
        _synchronize._declare_synchronize()
        with self:
            runtime.deviceSynchronize()

    @property
    def compute_capability(self) -> str:
        """Its compute capability, as digits."""
        major = runtime.deviceGetAttribute(runtime.cudaDevAttrComputeCapabilityMajor, self.id)
        minor = runtime.deviceGetAttribute(runtime.cudaDevAttrComputeCapabilityMinor, self.id)
        return f"{major}{minor}"

    @property
    def attributes(self) -> dict[str, int]:
        """What `runtime.deviceGetAttribute` knows, by name."""
        return {
            name: runtime.deviceGetAttribute(number, self.id)
            for name, (number, _) in runtime._attributes().items()
        }

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes of its memory."""
        with self:
            return runtime.memGetInfo()

    @property
    def pci_bus_id(self) -> str:
        """Its place on the PCI bus: the simulator's devices follow one another there."""
        return runtime.deviceGetPCIBusId(self.id)


for _name, _library in _LIBRARIES.items():
    _doc = f"A handle of {_library}, which the simulator lacks."
    setattr(Device, f"{_name}_handle", property(_handle_of(_library), doc=_doc))


def from_pointer(ptr: int) -> Device:
    """The device whose memory an address lies in."""
    return Device(runtime.pointerGetAttributes(ptr).device)
