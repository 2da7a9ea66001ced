"""One variant of a kernel: its text, how it is launched, and what compiles it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from .. import backend

LIBRARIES = ("pycuda", "cupy")
SHARED_AT_FIRST = 48 * 1024  # bytes of shared memory that a kernel may have without asking

Size = int | Sequence[int] | Callable[..., int | Sequence[int]]


@dataclass(frozen=True)
class Generated:
    """What a generator returns: a kernel's text and how it is launched.

    Attributes
    ----------
    source : str
        CUDA C++ in which `name` is a `__global__` function. PyCUDA puts it into `extern "C"`; for
        CuPy write that before `__global__` (PyCUDA does not mind).
    name : str
    block, grid : int, sequence of int, or callable
        Threads in a block and blocks in the grid. A callable gets the kernel's arguments, so that
        one variant fits arrays of any size: `grid=lambda x, n: -(-x.size // 256)`.
    options : sequence of str
        The compiler's.
    shared : int
        Bytes of dynamic shared memory.
    """

    source: str
    name: str
    block: Size
    grid: Size
    options: Sequence[str] = ()
    shared: int = 0

    def launch_shape(self, args: Sequence) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Grid and block for these arguments, three numbers each."""
        return _triple(self.grid, args, "grid"), _triple(self.block, args, "block")


def _triple(size: Size, args: Sequence, what: str) -> tuple[int, ...]:
    found = size(*args) if callable(size) else size
    sizes = (found,) if np.ndim(found) == 0 else tuple(found)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(n, (int, np.integer)) for n in sizes):
        raise TypeError(f"{what} is {found!r}; it must be one to three whole numbers.")
    if min(sizes) < 1:
        raise ValueError(f"{what} is {found!r}; each number must be 1 or more.")
    return (*map(int, sizes), *(1,) * (3 - len(sizes)))


class Tuned:
    """A variant, compiled. Call it with the kernel's arguments; grid and block come by themselves.

    Attributes
    ----------
    generated : Generated
        Its text and how it is launched.
    function
        PyCUDA's function or CuPy's RawKernel.
    """

    def __init__(self, generated: Generated, library: str) -> None:
        self.generated, self.library = generated, library
        compile_one = _with_pycuda if library == "pycuda" else _with_cupy
        self.function = compile_one(generated)
        if generated.shared > SHARED_AT_FIRST:
            self._ask_for_shared_memory()

    def __call__(self, *args: object) -> None:
        """Launch it on the current device's default stream."""
        grid, block = self.generated.launch_shape(args)
        if self.library == "cupy":
            self.function(grid, block, args, shared_mem=self.generated.shared)
        else:
            self.function(*args, grid=grid, block=block, shared=self.generated.shared)

    def _ask_for_shared_memory(self) -> None:
        try:
            if self.library == "cupy":
                self.function.max_dynamic_shared_size_bytes = self.generated.shared
            else:
                attribute = _pycuda()[0].function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                self.function.set_attribute(attribute, self.generated.shared)
        except Exception as error:
            raise ValueError(f"shared={self.generated.shared:,} bytes are more than a block may"
                             f" have here ({error})") from error

    def __repr__(self) -> str:
        return f"<kernel {self.generated.name}, compiled by {self.library}>"


def _with_pycuda(generated: Generated) -> object:
    module = _pycuda()[1].SourceModule(generated.source, options=list(generated.options) or None)
    return module.get_function(generated.name)


def _with_cupy(generated: Generated) -> object:
    cupy = backend.find_cupy()
    kernel = cupy.RawKernel(generated.source, generated.name, options=tuple(generated.options))
    kernel.compile()
    return kernel


def _pycuda() -> tuple:
    """PyCUDA's driver and compiler, with a current context: CuPy's own where there is none."""
    try:
        import pycuda.driver as driver
    except ImportError as error:
        raise RuntimeError('library="pycuda" needs PyCUDA, which is not here:'
                           f" {backend.INSTALL_PYCUDA} (or library=\"cupy\").") from error

    driver.init()
    if driver.Context.get_current() is None:
        import pycuda.autoprimaryctx  # noqa: F401
    import pycuda.compiler as compiler

    return driver, compiler


def compile_ahead(variants: Sequence[Generated], library: str) -> None:
    """Let nvcc work on all cores; PyCUDA finds what it makes in its cache on disk.

    Nothing is returned and no error raised: the variant's own turn finds both again. CuPy's
    compiler, NVRTC, is fast enough without.
    """
    if library != "pycuda":
        return
    driver, compiler = _pycuda()
    major, minor = driver.Context.get_device().compute_capability()

    def compile_one(generated: Generated) -> None:
        compiler.compile(generated.source, options=list(generated.options) or None,
                         arch=f"sm_{major}{minor}")

    on_all_cores(compile_one, variants)


def on_all_cores(compile_one: Callable[[Generated], object], variants: Sequence[Generated]) -> None:
    """Call a function with each variant of another text, and take no notice of its errors."""
    def try_one(generated: Generated) -> None:
        with contextlib.suppress(Exception):
            compile_one(generated)

    with ThreadPoolExecutor(backend.cores()) as pool:
        list(pool.map(try_one, {v.source: v for v in variants}.values()))
