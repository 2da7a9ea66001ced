"""The devices, which are this machine's processor: one, or as many as the program wants."""

from __future__ import annotations

import functools

from cupy.cuda import _synchronize
from cupy_backends.cuda.api import runtime

from nogpu.faces import missing as _missing


def get_device_id() -> int:
    """The current device's number."""
    return runtime.getDevice()


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

    def __getattr__(self, name: str) -> object:
        raise _missing.error("cupy.cuda.Device", name, "'Device' object")

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
        properties = runtime.getDeviceProperties(self.id)
        return f"{properties['major']}{properties['minor']}"

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


def from_pointer(ptr: int) -> Device:
    """The device whose memory an address lies in."""
    return Device(runtime.pointerGetAttributes(ptr).device)
