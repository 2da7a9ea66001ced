"""What is in use: the simulator names itself, its engine and its compiler."""

from __future__ import annotations

import platform
from collections.abc import Callable

import numpy as np
from cupy import cuda
from cupy._version import __version__

from nogpu import engine

_LACKS = "(nogpu has none)"


def _compiler() -> str:
    try:
        return engine.find_compiler().identity
    except engine.CompilerNotFound:
        return "none found: arrays work, kernels do not"


def _answer(ask: Callable[[], int]) -> object:
    try:
        return ask()
    except cuda.runtime.CUDARuntimeError as error:
        return repr(error)


class _RuntimeInfo:
    """Versions and the device, to be printed."""

    def __init__(self, *, full: bool = True) -> None:
        self.full = full
        self.cupy_version, self.numpy_version = __version__, np.__version__
        self.cuda_path = cuda.get_cuda_path()
        self.cuda_build_version = cuda.driver.get_build_version()
        self.cuda_driver_version = _answer(cuda.runtime.driverGetVersion)
        self.cuda_runtime_version = _answer(cuda.runtime.runtimeGetVersion)
        self.nvrtc_version = cuda.nvrtc.getVersion()

    def _records(self) -> list[tuple[str, object]]:
        runtime = cuda.runtime
        records: list[tuple[str, object]] = [
            ("OS", platform.platform()),
            ("Python Version", platform.python_version()),
            ("CuPy Version", f"{self.cupy_version} (interface; this is nogpu)"),
            ("CuPy Platform", "nogpu: kernels run on this machine's processor"),
            ("nogpu Engine", f"{runtime.deviceGetAttribute(16, 0)} threads"),
            ("nogpu Compiler", _compiler()),
            ("NumPy Version", self.numpy_version),
            ("CUDA Root", self.cuda_path),
            ("CUDA Build Version", self.cuda_build_version),
            ("CUDA Driver Version", self.cuda_driver_version),
            ("CUDA Runtime Version", self.cuda_runtime_version),
        ]
        if self.full:
            records += [(f"{name} Version", _LACKS) for name in
                        ("cuBLAS", "cuFFT", "cuRAND", "cuSOLVER", "cuSPARSE")]  # fmt: skip
        records.append(("NVRTC Version", f"{self.nvrtc_version} (the language that is compiled)"))
        for device_id in range(runtime.getDeviceCount()):
            device = cuda.Device(device_id)
            name = runtime.getDeviceProperties(device_id)["name"].decode()
            records += [
                (f"Device {device_id} Name", name),
                (f"Device {device_id} Compute Capability", device.compute_capability),
                (f"Device {device_id} PCI Bus ID", device.pci_bus_id),
            ]
        return records

    def __str__(self) -> str:
        records = self._records()
        width = max(len(name) for name, _ in records) + 2
        return "".join(f"{name:{width}}: {value}\n" for name, value in records)


def get_runtime_info(*, full: bool = True) -> _RuntimeInfo:
    """What `cupy.show_config` prints."""
    return _RuntimeInfo(full=full)
