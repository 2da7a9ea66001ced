"""One variant of a kernel: its text, how it is launched, and what compiles it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from .. import backend

Size = int | Sequence[int] | Callable[..., int | Sequence[int]]


@dataclass(frozen=True)
class Generated:
    """What a generator returns: a kernel's text and how it is launched.

    Attributes
    ----------
    source : str
        CUDA C++ in which `name` is a `__global__` function; PyCUDA puts it into `extern "C"`.
    name : str
    block, grid : int, sequence of int, or callable
        Threads in a block and blocks in the grid. A callable gets the kernel's arguments, so that
        one variant fits arrays of any size: `grid=lambda x, n: -(-x.size // 256)`.
    options : sequence of str
        The compiler's.
    """

    source: str
    name: str
    block: Size
    grid: Size
    options: Sequence[str] = ()

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
    function : pycuda.driver.Function
    """

    def __init__(self, generated: Generated) -> None:
        self.generated = generated
        _, compiler = _pycuda()
        module = compiler.SourceModule(generated.source, options=list(generated.options) or None)
        self.function = module.get_function(generated.name)

    def __call__(self, *args: object) -> None:
        """Launch it on the current device's default stream."""
        grid, block = self.generated.launch_shape(args)
        self.function(*args, grid=grid, block=block)


def _pycuda() -> tuple:
    """PyCUDA's driver and compiler, with a current context: CuPy's own where there is none."""
    try:
        import pycuda.driver as driver
    except ImportError as error:
        raise RuntimeError(f"tune() needs PyCUDA, which is not here: {backend.INSTALL_PYCUDA}"
                           ) from error
    driver.init()
    if driver.Context.get_current() is None:
        import pycuda.autoprimaryctx  # noqa: F401
    import pycuda.compiler as compiler

    return driver, compiler


def compile_ahead(variants: Sequence[Generated]) -> None:
    """Let nvcc work on all cores; PyCUDA finds what it makes in its cache on disk.

    Nothing is returned and no error raised: the variant's own turn finds both again.
    """
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
