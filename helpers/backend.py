"""Finds out what this machine can run kernels on, and says so in one line."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import TypeVar

import nogpu.finder

from . import hosted

CHOICES = ("auto", "cuda", "simulator")
SIMULATOR = "nogpu, the course's simulator"  # as lines and tables call it
is_simulated = nogpu.finder.is_simulated  # whether a CuPy or PyCUDA is the simulator's
CUPY = ("cupy-cuda12x", "cupy-cuda13x", "cupy")
INSTALL_CUPY = 'python -m pip install "cupy-cuda12x[ctk]"'
INSTALL_PYCUDA = "python -m pip install pycuda"
INSTALL_ELF = "python -m pip install pyelftools"
INSTALL_COMPILER = "sudo apt install g++, or python -m pip install ziglang"

T = TypeVar("T")


@dataclass(frozen=True)
class Gpu:
    """A CUDA device as its driver describes it; `memory` in bytes, `count` devices in all."""

    name: str
    compute_capability: tuple[int, int]
    memory: int
    driver_cuda: tuple[int, int]
    count: int = 1


@dataclass(frozen=True)
class Backend:
    """What `start` found: `name` is "cuda" or "simulator"; `line` is the sentence it printed."""

    name: str
    gpu: Gpu | None
    line: str


_started: Backend | None = None


def find_gpu() -> Gpu | None:
    """Ask the CUDA driver for its first device, without importing any GPU library.

    Returns
    -------
    Gpu or None
        None where there is no driver or no device that answers.
    """
    cuda = None
    for library in ("libcuda.so.1", "nvcuda.dll"):
        with suppress(OSError):
            cuda = cuda or ctypes.CDLL(library)
    if cuda is None:
        return None
    count, device, number = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        return None
    if cuda.cuDeviceGet(ctypes.byref(device), 0):
        return None
    name, memory = ctypes.create_string_buffer(256), ctypes.c_size_t()
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    capability = []
    for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
        cuda.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
        capability.append(number.value)
    cuda.cuDriverGetVersion(ctypes.byref(number))
    driver = (number.value // 1000, number.value % 1000 // 10)
    return Gpu(name.value.decode(), tuple(capability), memory.value, driver,
               count.value)


def installed(*packages: str) -> str | None:
    """Name and version of the first of these distributions that is installed, or None."""
    for package in packages:
        with suppress(PackageNotFoundError):
            return f"{package} {version(package)}"
    return None


def _cuda_line(gpu: Gpu, needs: str | None) -> str:
    major, minor = gpu.compute_capability
    driver = ".".join(map(str, gpu.driver_cuda))
    line = f"Backend: CUDA on {gpu.name} (compute capability {major}.{minor}, driver for CUDA"
    line += f" {driver}),\nNumPy {version('numpy')}"
    if gpu.driver_cuda < (12, 0):
        return line + ". The driver is too old for CuPy 14: it must support CUDA 12 or newer."
    cupy = installed(*CUPY)
    if cupy is None:
        return line + f". CuPy is missing: {INSTALL_CUPY}"
    line += f", {cupy}"
    try:
        import cupy

        cupy.cuda.nvrtc.getVersion()
    except Exception as error:  # CuPy fails in many ways where a CUDA library is missing
        return line + f", which cannot compile here ({type(error).__name__}): {INSTALL_CUPY}"
    if needs == "pycuda":
        if importlib.util.find_spec("pycuda") is None:
            return line + f". PyCUDA is missing, building it takes minutes: {INSTALL_PYCUDA}"
        line += f", {installed('pycuda')}"
        if shutil.which("nvcc") is None:
            return line + ". PyCUDA needs nvcc on the PATH: install the CUDA toolkit"
    return line + "."


def _use_simulator() -> None:
    """Let `import cupy` and `import pycuda` find nogpu's, unless the real ones are imported."""
    try:
        nogpu.install()
    except RuntimeError as error:
        real = nogpu.finder.imported_real_libraries()[0]
        raise RuntimeError(
            f"The real {real} was imported before helpers.start(), and no GPU answers it. "
            f"Restart the kernel, and call helpers.start() before `import {real}`."
        ) from error
    # Lessons show what happens where order between streams is missing, as on a GPU.
    nogpu.checks(order=False)


def _simulator_line(gpu: Gpu | None, devices: int) -> str:
    why = "no CUDA GPU answers here" if gpu is None else f"instead of {gpu.name}"
    why += f"; it simulates {devices}" if devices > 1 else ""
    line = (
        f"Backend: {SIMULATOR} ({why}): CUDA C++ runs on this processor,\n"
        f"{cores()} cores, NumPy {version('numpy')}. Its results are a GPU's, its times are not."
    )
    if platform.system() != "Linux":
        return line + " Kernels run on Linux only: on Windows use WSL, or open the course on Colab."
    if importlib.util.find_spec("elftools") is None:
        return line + f" Kernels need pyelftools: {INSTALL_ELF}"
    from nogpu import engine

    try:
        engine.find_compiler()
    except engine.CompilerNotFound:
        return line + f" Kernels need a C++ compiler: {INSTALL_COMPILER}"
    return line


def start(needs: str | None = None, devices: int = 1) -> Backend:
    """Find the backend for the kernels' lessons and say in a sentence which it is.

    Parameters
    ----------
    needs : {None, "pycuda"}
        A library beyond CuPy that the notebook uses; the line says how to get it where it lacks.
    devices : int
        GPUs that the notebook uses: where fewer answer, the simulator simulates so many.

    Returns
    -------
    Backend
        Calling again is harmless and prints the same line.

    Raises
    ------
    ValueError
        For an unknown `needs` or an unknown value of the environment variable COURSE_BACKEND.
    RuntimeError
        Where COURSE_BACKEND asks for a backend that is not here, or where the simulator is to
        run and the real CuPy or PyCUDA is imported already.

    Notes
    -----
    Without a GPU `import cupy` and `import pycuda` find nogpu's from then on. On Colab and Kaggle
    what is missing is installed; on other machines the line only says how.
    """
    global _started
    if needs not in (None, "pycuda"):
        raise ValueError(f'needs={needs!r} is unknown; it must be None or "pycuda".')
    choice = os.environ.get("COURSE_BACKEND", "auto").strip().lower() or "auto"
    if choice not in CHOICES:
        raise ValueError(f"COURSE_BACKEND is {choice!r}; it must be one of {', '.join(CHOICES)}.")
    gpu = find_gpu()
    enough = gpu is not None and gpu.count >= devices
    if choice == "cuda" and not enough:
        raise RuntimeError(f"COURSE_BACKEND=cuda, but {gpu.count if gpu else 'no'} CUDA device"
                           " answers on this machine.")
    # Whoever started this process with `python -m nogpu` wants nogpu, on a GPU machine too.
    asked = choice == "simulator" or (choice == "auto" and nogpu.finder.is_installed())
    on_gpu = enough and not asked
    if hosted.is_hosted():
        hosted.complete(needs, on_gpu)
    if on_gpu:
        if _started is not None and _started.name == "simulator":
            raise RuntimeError("The simulator runs in this process: restart the kernel to change.")
        nogpu.uninstall()
        _started = Backend("cuda", gpu, _cuda_line(gpu, needs))
    else:
        if devices > 1:
            os.environ.setdefault("NOGPU_DEVICES", str(devices))  # of child processes, too
        _use_simulator()
        _started = Backend("simulator", gpu, _simulator_line(gpu, devices))
    from nogpu.inspect.sources import record_sources

    record_sources(needs)
    print(_started.line)
    return _started


def find_cupy() -> ModuleType:
    """The CuPy of the backend that runs.

    Raises
    ------
    RuntimeError
        Where there is neither CuPy with a GPU nor the simulator.
    """
    try:
        import cupy
    except ImportError:
        cupy = None
    if cupy is None or not cupy.cuda.is_available():
        raise RuntimeError('device="gpu" needs CuPy and a CUDA GPU, or the course\'s simulator:'
                           " call helpers.start() first.")
    return cupy


def device_name(cupy: ModuleType) -> str:
    """The name of CuPy's current device."""
    return cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()


def synchronize() -> None:
    """Wait for the current stream where CuPy or the simulator's is in use."""
    cupy = sys.modules.get("cupy")
    if cupy is not None and cupy.cuda.is_available():
        cupy.cuda.get_current_stream().synchronize()


def simulated_spans() -> AbstractContextManager[list]:
    """Within the block the simulator notes what each of its streams does, and when."""
    from nogpu.engine.streams import record_spans

    return record_spans()


def simulated_counts() -> AbstractContextManager:
    """Within the block the simulator counts what kernels ask of memory."""
    return nogpu.counting()


@contextmanager
def simulated_prints() -> Iterator[list[bytes]]:
    """Within the block kernels print into the list, which is complete once the block has ended."""
    from nogpu import engine

    parts: list[bytes] = []
    engine.streams.synchronize()  # kernels launched before still print elsewhere
    before = engine.set_printer(parts.append)
    try:
        yield parts
    finally:
        try:
            engine.streams.synchronize()
        finally:
            engine.set_printer(before)


def size(gpu: T, simulator: T) -> T:
    """Pick a problem size: `gpu` where a real GPU runs the kernels, else `simulator`."""
    if _started is None:
        raise RuntimeError("Call helpers.start() first: size() depends on the backend.")
    return gpu if _started.name == "cuda" else simulator


def cores() -> int:
    """Processor cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def cpu_name() -> str:
    """The processor's name as the operating system gives it."""
    with suppress(OSError), open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cpu() -> str:
    """The processor's name and how many of its cores this process may use."""
    return f"{cpu_name()}, {cores()} cores"


def blas() -> str:
    """Name and version of the BLAS library that this NumPy was built with."""
    import numpy as np

    build = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{build.get('name', 'unknown')} {build.get('version', '')}".strip()


def describe_machine() -> dict[str, str]:
    """What the course can use on this machine, one entry a line for lesson 00."""
    gpu = find_gpu()
    compiler = next((c for c in ("c++", "g++", "clang++") if shutil.which(c)), None)
    return {
        "Python": platform.python_version(),
        "CPU": f"{cpu()} for this process",
        "NumPy": f"{version('numpy')} with {blas()}",
        "GPU": f"{gpu.name}, {gpu.memory / 2**30:.0f} GiB" if gpu else "none that answers",
        "CuPy": installed(*CUPY) or "not installed",
        "PyCUDA": installed("pycuda") or "not installed",
        "nvcc": "found" if shutil.which("nvcc") else "not found",
        "C++ compiler": compiler or "none found",
        "System": f"{platform.system()} on {platform.machine()}",
    }
