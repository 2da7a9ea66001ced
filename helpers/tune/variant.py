"""A variant of a kernel: its text and launch, what compiles it, and whether it is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import backend
from ..generate import explain

Array = Any  # numpy.ndarray or cupy.ndarray
Size = int | Sequence[int] | Callable[..., int | Sequence[int]]
# Relative tolerances where none is given: a few dozen roundings.
RTOL = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}


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
    sizes = tuple(np.atleast_1d(found).tolist())
    if not 1 <= len(sizes) <= 3 or not all(isinstance(n, int) and n > 0 for n in sizes):
        raise ValueError(f"{what} is {found!r}; it must be one to three whole numbers, each 1 or"
                         " more.")
    return sizes + (1,) * (3 - len(sizes))


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
    with ThreadPoolExecutor(backend.cores()) as pool:
        for variant in {v.source: v for v in variants}.values():
            pool.submit(compile_one, variant)


class Failure(Exception):
    """What a variant failed at: `state` is the step, the text says why."""

    def __init__(self, state: str, text: str) -> None:
        super().__init__(text)
        self.state = state


@dataclass(frozen=True)
class Case:
    """Arguments for one launch, and what one of its arrays must hold after it.

    Attributes
    ----------
    args : tuple
        NumPy arrays and scalars.
    out : int
        Which of them holds the result.
    expected : numpy.ndarray
    rtol, atol : float
        Tolerances; `rtol` None picks that of the dtype.
    name : str
        Of a case that is only checked, "" for the one that is measured.
    """

    args: tuple
    out: int
    expected: np.ndarray
    rtol: float | None
    atol: float
    name: str = ""

    def check(self, result: Array) -> None:
        """Raise a Failure where the result is not what is expected."""
        if text := difference(result, self.expected, self.rtol, self.atol):
            raise Failure("wrong", f"{text} ({self.name})" if self.name else text)


def difference(got: Array, expected: np.ndarray, rtol: float | None, atol: float) -> str | None:
    """Say how `got`, of NumPy or CuPy, differs from `expected`; None where it does not.

    Numbers agree when they differ by no more than `atol + rtol * abs(expected)`; nan agrees with
    nan, an infinity with itself, integers with equal ones.
    """
    xp = np if isinstance(got, np.ndarray) else backend.find_cupy()
    wanted = xp.asarray(expected)
    if got.dtype.kind in "fc":
        rtol = RTOL.get(got.dtype.name, 0.0) if rtol is None else rtol
        same = xp.isclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True)
    else:
        same = got == wanted
    wrong = xp.flatnonzero(~same)
    if not wrong.size:
        return None
    first = np.unravel_index(int(wrong[0]), got.shape)
    verb = "is" if wrong.size == 1 else "are"
    return (f"{wrong.size:,} of {got.size:,} numbers {verb} wrong, the first at"
            f" [{', '.join(map(str, first))}]: {got[first]} instead of {expected[first]}")


def compiled(generated: Generated) -> Tuned:
    """The variant as something to launch; a Failure where it does not compile."""
    try:
        return Tuned(generated)
    except Exception as error:
        raise Failure("compile", compiler_error(error, generated)) from error


def compiler_error(error: Exception, generated: Generated) -> str:
    """The first thing that a compiler says against a variant, with the line in its text."""
    if "cuModuleGetFunction" in str(error):
        return f"there is no kernel {generated.name!r} in the source"
    return explain(error, generated.source).split("\n")[0]
