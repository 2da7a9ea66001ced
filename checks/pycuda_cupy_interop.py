"""The tasks about PyCUDA and CuPy together: addresses, views, contexts, strides, kernels."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from helpers.backend import is_simulated
from helpers.transfers import observed_copies
from nogpu import engine
from nogpu.inspect import inspect

from .machinery.kernel_task import TIME_LIMIT, KernelTask, explained, launch, to_device
from .machinery.task import (
    Case,
    ExperimentTask,
    Refusal,
    Task,
    Verdict,
    describe_returned,
    describe_value,
    replaced,
    require_tuple,
    require_type,
)


@functools.cache
def _libraries() -> SimpleNamespace:
    """Both libraries, in one context; imported when a check runs, not with this module."""
    import cupy
    import pycuda.autoprimaryctx as auto
    import pycuda.driver as drv
    from pycuda import gpuarray, tools

    return SimpleNamespace(cp=cupy, drv=drv, gpuarray=gpuarray, GPUArray=gpuarray.GPUArray,
                           DeviceMemoryPool=tools.DeviceMemoryPool, context=auto.context)


class DeviceTask(ExperimentTask):
    """A task whose answer gets objects of both libraries."""

    def judge(self, answer: object) -> Verdict:
        """The verdict. What an answer left in cycles is freed here, in the context's thread."""
        verdict = super().judge(answer)
        if not is_simulated(_libraries().cp):
            gc.collect()
        return verdict


@contextmanager
def _observe_copies() -> Iterator[list]:
    """The bytes of each copy to the host or to the device by CuPy, in a list."""
    copied: list[int] = []
    with observed_copies(_libraries().cp, lambda nbytes, to_device: copied.append(nbytes)):
        yield copied


# hit and flip_rows, two warm-ups: what a kernel does with a view, and a kernel for views

hit = Task(
    "hit",
    lambda width, top, left, columns, i, j: divmod(top * width + left + i * columns + j, width),
    lambda: [(512, 50, 160, 190, 1, 0), (512, 50, 160, 190, 0, 7), (512, 50, 160, 190, 2, 3),
             (70, 0, 0, 70, 5, 6), (40, 3, 30, 9, 2, 8), (33, 7, 1, 30, 11, 29)],
    mistakes=[
        ("the pixel that CuPy's view shows there; the kernel does not know the width",
         lambda width, top, left, columns, i, j: (top + i, left + j)),
        ("a view that begins at the photograph's first pixel",
         lambda width, top, left, columns, i, j: divmod(i * columns + j, width)),
        ("rows of `columns` pixels; those of the photograph have `width`",
         lambda width, top, left, columns, i, j: divmod(
             top * width + left + i * columns + j, columns)),
    ],
)

FLIP_ROWS = r"""
extern "C" __global__ void flip_rows(float* x, int rows, int columns, int row) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows / 2 && j < columns) {
        int upper = i * row + j, lower = (rows - 1 - i) * row + j;
        float kept = x[upper];
        x[upper] = x[lower];
        x[lower] = kept;
    }
}
"""


def _run_flip_rows(kernel: object, x: np.ndarray) -> np.ndarray:
    there, room, places = _inside_larger(x, 1000)
    before, (rows, columns) = room.get(), x.shape
    launch(kernel, (-(-columns // 32), -(-rows // 8)), (32, 8),
           (there, np.int32(rows), np.int32(columns), np.int32(x.strides[0] // 4)))
    after = room.get()
    found = after[places]
    after[places] = before[places] = 0
    if (found == x[::-1]).all() and (after != before).any():
        raise Refusal("it changes memory outside of the view.")
    return found


def _flip_rows_cases() -> list[Case]:
    x = np.random.default_rng(116).normal(2, 1, (48, 96)).astype(np.float32)
    return [(x.copy(),), (x[3:23, 10:60],), (x[1:34, 20:21],), (x[5:6, 2:40],), (x[::2, 7:77],),
            (x[40:9:-1, 5:50],)]


flip_rows = KernelTask(
    "flip_rows", lambda x: x[::-1].copy(), _flip_rows_cases, run=_run_flip_rows, right=FLIP_ROWS,
    given=FLIP_ROWS.replace("* row +", "* columns +"),
    mistakes=[
        ("only the upper row at the right place", "i) * row", "i) * columns"),
        ("only the lower row at the right place", "= i * row", "= i * columns"),
    ],
)

# kernel_address: the check that a kernel's argument needs


@dataclass(frozen=True)
class Described:
    """An array of some library, as far as the dictionary goes; strides may be "missing"."""

    shape: tuple
    typestr: str
    strides: tuple | str | None
    address: int = 4096

    @property
    def __cuda_array_interface__(self) -> dict:
        strides = {} if self.strides == "missing" else {"strides": self.strides}
        return {"shape": self.shape, "typestr": self.typestr, "data": (self.address, False),
                "stream": None, "version": 3, **strides}


def _kernel_address(array, dtype, *, kinds=True, ones=True, empty=True, last=False, unit=0):
    """The specification, or a mistake: what it does not look at, or takes for wrong."""
    described = getattr(array, "__cuda_array_interface__", None)
    if described is None:
        raise TypeError("it has no __cuda_array_interface__")
    given, wanted = np.dtype(described["typestr"]), np.dtype(dtype)
    if kinds and given != wanted:
        raise TypeError(f"its elements are {given}, not {wanted}")
    shape, strides, step = described["shape"], described.get("strides"), unit or given.itemsize
    if strides is not None and not (empty and 0 in shape):
        for n, stride in [*zip(shape, strides)][::-1][:1 if last else None]:
            if (n != 1 or not ones) and stride != step:
                raise ValueError("its elements do not lie one after another in C order")
            step *= n
    return described["data"][0]


def _kernel_address_cases() -> list[Case]:
    return [
        (Described((4, 5), "<f4", (20, 4), 512), np.float32),
        (Described((250, 190), "<f4", (2048, 4)), np.float32), (int, np.int64),
        (Described((4, 5), "<f8", None, 1024), np.float64),
        (Described((7,), "<i4", "missing", 1536), "int32"), (Described((7,), ">f4", None), "f4"),
        (Described((4, 5), "<f8", (40, 8)), "f4"), (Described((4, 5), "<u4", None), "f4"),
        (Described((5, 4), "<f8", (8, 40)), "f4"), (Described((5, 4), "<f4", (4, 20)), "f4"),
        (Described((3, 4), "<i8", (64, 16)), np.int64),
        (Described((1, 5), "<f4", (999, 4), 2048), np.float32),
        (Described((5, 1), "<f4", (4, 400), 2560), np.float32),
        (Described((5, 1), "<f4", (8, 4)), "f4"), (Described((0, 3), "<f4", (16, 8), 0), "f4"),
        (Described((), "<f8", (), 3584), float), (Described((6,), "<f4", (-4,)), "f4"),
        (Described((3, 4), "<f4", (0, 4)), "f4"),
        *((Described((2, 3, 4), "<i2", strides, 5120), np.int16)
          for strides in ((24, 8, 2), (48, 8, 2), (48, 16, 2))),
    ]


kernel_address = Task(
    "kernel_address", _kernel_address, _kernel_address_cases, right=_kernel_address,
    mistakes=[
        ("elements of any dtype: a kernel for float32 would read them wrongly", {"kinds": False}),
        ("an axis of length 1 refused for its stride; nothing steps along it", {"ones": False}),
        ("an array without elements refused for its strides", {"empty": False}),
        ("a look at the last stride only: the rows of a view can have gaps between them",
         {"last": True}),
        ("strides counted in elements; they are bytes", {"unit": 1}),
    ],
)

# exchange: a view of each library's array in the other one


def _run_exchange(answer: Callable, g: np.ndarray, x: np.ndarray) -> tuple:
    """Compare both views after the originals are gone and their memory holds other arrays."""
    libraries = _libraries()
    cp, pycuda_pool = libraries.cp, libraries.DeviceMemoryPool()
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        theirs = libraries.gpuarray.to_gpu(g.base if g.base is not None else g,
                                           allocator=pycuda_pool.allocate)
        theirs = theirs.T if g.base is not None else theirs
        ours = to_device(x)
        places = theirs.ptr, ours.data.ptr
        with _observe_copies() as copied:
            in_cupy, in_pycuda = require_tuple(answer(theirs, ours), "CuPy's view",
                                               "PyCUDA's view")
        require_type(in_cupy, cp.ndarray, "the first of the two must be a CuPy array; it is")
        require_type(in_pycuda, libraries.GPUArray, "the second must be a GPUArray; it is")
        found = in_cupy.data.ptr, in_pycuda.ptr
        if found[0] == places[1] or found[1] == places[0]:
            raise Refusal("it returns the arrays themselves, not views in the other library.")
        for kind, place, there in zip(("CuPy array", "GPUArray"), places, found):
            if there != place:
                raise Refusal(f"the {kind} is a copy: its address is another one.")
        if not hasattr(type(in_pycuda.gpudata), "__index__"):
            raise Refusal("PyCUDA cannot compute with this GPUArray: gpudata= must be the address,"
                          f" an int; it is {describe_value(in_pycuda.gpudata)}.")
        if copied:
            raise Refusal("it copies through the host; a view copies nothing.")
        del theirs, ours
        libraries.context.synchronize()
        fillers = [cp.full(128, -77, cp.float32) for _ in range(pool.free_bytes() // 512)]
        others = [pycuda_pool.allocate(g.nbytes) for _ in range(2)]
        for other in others:
            libraries.drv.memset_d32(int(other), 0x7F7F7F7F, g.nbytes // 4)
        values = in_cupy.get(), in_pycuda.get()
        del fillers, others, other, in_cupy, in_pycuda
        gc.collect()
        if pycuda_pool.active_blocks or pool.used_bytes():
            raise Refusal("memory is in use after both views are gone: something keeps g, x or a"
                          " view of them for ever.")
    return values


def _exchange(g, x, *, view="asarray", changed=()):
    libraries = _libraries()
    described = {"dtype": x.dtype, "base": x, "strides": x.strides, **dict(changed)}
    in_cupy = getattr(libraries.cp, view)(g)
    return in_cupy, libraries.GPUArray(x.shape, gpudata=x.data.ptr, **described)


def _exchange_cases() -> list[Case]:
    random = np.random.default_rng(111)
    numbers = random.normal(100, 30, (9, 14)).astype(np.float32)
    return [
        (numbers[:3, :4].copy(), numbers[:2, 5:11].copy()),
        (numbers[:5, 3:9].copy().T, numbers.astype(np.float64)[2:7, 3:11:2]),
        (numbers[4].astype(np.int64), numbers.astype(np.int32).T),
    ]


exchange = DeviceTask(
    "exchange", lambda g, x: (g.copy(), x.copy()), _exchange_cases, run=_run_exchange,
    right=_exchange,
    mistakes=[
        ("a GPUArray without `base=`: it does not keep x alive, and then reads what came to the"
         " same memory", {"changed": {"base": None}}),
        ("strides forgotten: x need not be in C order", {"changed": {"strides": None}}),
        ("float32 written where x's own dtype belongs", {"changed": {"dtype": np.float32}}),
        ("cp.array, which copies; cp.asarray does not", {"view": "array"}),
    ],
)


# steps_that_run: which context is current, and to which a kernel belongs


def _steps_that_run(steps, *, cupy=True, loaded=True, listed=True, again=True):
    """The specification, or a mistake: what does not change the current context or a kernel's."""
    current, pushed, home = None, [], {}
    for number, (step, *name) in enumerate(map(str.split, steps)):
        if step in ("autoinit", "autoprimaryctx", "push"):
            current = name[0] if name else "own" if step == "autoinit" else "primary"
            pushed.append(current)
        elif step == "CuPy" and cupy:
            current = "primary"
            if not listed:
                pushed[-1] = current
        elif step == "pop":
            del pushed[-1]
            current = pushed[-1]
        elif step == "load" and (again or name[0] not in home):
            home[name[0]] = current if loaded else "own"
        elif step == "launch" and home[name[0]] != current:
            return number
    return len(steps)


def _steps_that_run_cases() -> list[Case]:
    return [(tuple(text.split(", ")),) for text in (
        "autoinit, load f, launch f, CuPy, launch f", "autoprimaryctx, load f, CuPy, launch f",
        "autoinit, CuPy, load f, launch f, CuPy, launch f", "autoinit, load f, launch f",
        "autoinit, load f, CuPy, push own, launch f, pop, launch f, launch f", "autoinit, CuPy",
        "autoinit, load f, CuPy, load g, launch g, push own, launch f, pop, launch f, launch g",
        "autoinit, CuPy, load f, push own, pop, launch f",
        "autoinit, load f, CuPy, load f, launch f, push primary, launch f, pop, launch f",
        "autoinit, load g, push primary, CuPy, load f, push own, launch g, pop, launch f, pop,"
        " launch g, launch f", "autoprimaryctx, push primary, load f, pop, launch f",
        "autoinit, push primary, load f, push own, push own, load g, pop, launch g, pop, launch f",
        "autoprimaryctx, CuPy, load g, load f, launch f, launch g",
    )]


steps_that_run = Task(
    "steps_that_run", _steps_that_run, _steps_that_run_cases, right=_steps_that_run,
    mistakes=[
        ("a computation of CuPy's that leaves the current context as it was", {"cupy": False}),
        ("a kernel that always belongs to PyCUDA's own context; what counts is the context that"
         " was current when it was loaded", {"loaded": False}),
        ("CuPy's change on PyCUDA's list; `pop` knows only what PyCUDA has made current",
         {"listed": False}),
        ("a kernel that is loaded again, and still belongs to the first context",
         {"again": False}),
    ],
)


# add_scaled: strides as arguments of a kernel of PyCUDA's

ADD_SCALED = """
__global__ void add_scaled(float* y, int y_row, int y_column,
                           const float* x, int x_row, int x_column,
                           float factor, int rows, int columns) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < rows && j < columns) {
        y[i * y_row + j * y_column] += factor * x[i * x_row + j * x_column];
    }
}
"""
_LARGER = 40_000  # floats around each view, so that wrong strides stay inside the check's memory


@functools.cache
def _add_scaled_kernel() -> object:
    from pycuda.compiler import SourceModule

    _libraries()
    return SourceModule(ADD_SCALED).get_function("add_scaled")


def _inside_larger(x: np.ndarray, outside: float) -> tuple:
    """A CuPy array with the strides of `x` in the middle of a larger one, and the larger one."""
    cp = _libraries().cp
    room = outside + cp.arange(_LARGER, dtype=cp.float32)
    low = sum(min(0, (n - 1) * step) for n, step in zip(x.shape, x.strides))
    there = cp.ndarray(x.shape, x.dtype, room.data + (2 * _LARGER - low), x.strides)
    host = room.get()
    at = (2 * _LARGER - low) // 4
    places = at + sum(np.arange(n).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
                      * (step // 4) for axis, (n, step) in enumerate(zip(x.shape, x.strides)))
    host[places] = x
    room.set(host)
    return there, room, places


class _CheckedKernel:
    """PyCUDA's kernel, with a check of its arguments before each launch."""

    def __init__(self, y: object, x: object) -> None:
        self.places, self.launches = {0: ("y", y.data.ptr), 3: ("x", x.data.ptr)}, 0

    def __call__(self, *args: object, **launch: object) -> None:
        self.launches += 1
        if len(args) != 9:
            raise Refusal(f"the kernel takes 9 arguments; you pass {len(args)}.")
        for k, (name, place) in self.places.items():
            described = getattr(args[k], "__cuda_array_interface__", {"data": (args[k],)})
            if described["data"][0] != place:
                raise Refusal(f"argument {k} of the kernel must be {name} itself, and no copy.")
        for k, kind in {**dict.fromkeys((1, 2, 4, 5, 7, 8), np.int32), 6: np.float32}.items():
            if not isinstance(args[k], kind):
                raise Refusal(f"argument {k} of the kernel must be np.{kind.__name__} for PyCUDA;"
                              f" you pass {describe_value(args[k])}.")
        _add_scaled_kernel()(*args, **launch)


def _run_add_scaled(answer: Callable, y: np.ndarray, x: np.ndarray, factor: float) -> tuple:
    libraries = _libraries()
    ours, y_room, places = _inside_larger(y, 1000)
    theirs, x_room, _ = _inside_larger(x, 7000)
    before, after = x_room.get(), y_room.get()
    kernel = _CheckedKernel(ours, theirs)
    value = answer(kernel, ours, theirs, factor)
    libraries.context.synchronize()
    if value is not ours:
        raise Refusal(f"it must return y; it returned {describe_returned(value)}")
    if kernel.launches != 1:
        raise Refusal(f"the number of launches is {kernel.launches}; one launch is enough.")
    if (x_room.get() != before).any():
        raise Refusal("it changed x, or memory around x.")
    found = y_room.get()
    inside = found[places]
    found[places] = after[places] = 0
    return inside, int((found != after).sum())


def _add_scaled(kernel, y, x, factor, *, unit=4, own=True, swapped=False, round_up=True):
    def steps(z):
        row, column = (np.int32(step // unit) for step in z.strides)
        if not own:
            row, column = np.int32(z.shape[1]), np.int32(1)
        return (column, row) if swapped else (row, column)

    rows, columns = y.shape
    more = 15 if round_up else 0
    grid = max(1, (columns + more) // 16), max(1, (rows + more) // 16)
    kernel(y, *steps(y), x, *steps(x), np.float32(factor), np.int32(rows), np.int32(columns),
           block=(16, 16, 1), grid=grid)
    return y


def _add_scaled_cases() -> list[Case]:
    # In these cases no mistake lets two threads write one element, in an order that varies.
    random = np.random.default_rng(114)
    one, other = random.normal(3, 1, (2, 60, 90)).astype(np.float32)
    return [
        (one[:16, :32].copy(), other[:16, :32].copy(), 0.5),
        (one[:30, :50].copy().T, other[2:52, 5:65:2], -2.0),
        (one[5:35, 7:70:3], other[40:10:-1, 80:17:-3], 1.5),
        (one[:40, 3:20], np.broadcast_to(other[3, 3:20], (40, 17)), 3.0),
    ]


add_scaled = DeviceTask(
    "add_scaled", lambda y, x, factor: ((y + np.float32(factor) * x).astype(np.float32), 0),
    _add_scaled_cases, run=_run_add_scaled, right=_add_scaled,
    mistakes=[
        ("strides in bytes; the kernel counts floats", {"unit": 1}),
        ("strides of an array in C order, whatever the view's are", {"own": False}),
        ("the strides of rows and columns exchanged", {"swapped": True}),
        ("a grid rounded down: the last rows and columns have no thread", {"round_up": False}),
    ],
)


# generated_softmax: a generated kernel inside the CuPy network


def _generated_softmax(columns: int, scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@contextmanager
def _rehearse_launches(copied: list) -> Iterator[dict]:
    """Run each launch of PyCUDA's in the simulator first, on copies; yields the sources launched.

    What the rehearsal itself copies is taken out of `copied` again.
    """
    from nogpu.inspect.sources import find_source, record_sources

    drv = _libraries().drv
    record_sources("pycuda")
    plain, seen = drv.Function.__call__, {}

    def call(function: object, *args: object, **launch: object) -> object:
        try:
            source = find_source(function)
        except TypeError:
            return plain(function, *args, **launch)
        if source.code not in seen:
            seen[source.code] = source
            before = len(copied)
            try:
                report = inspect(function, launch.get("grid", (1, 1)), launch.get("block"), args,
                                 time_limit=TIME_LIMIT)
            except (engine.RuntimeUnavailable, engine.CompileError, TypeError, ValueError):
                report = None  # the launch itself raises PyCUDA's error
            del copied[before:]
            if report is not None and report.fault is not None:
                raise explained(report.fault, source.kernel)
        return plain(function, *args, **launch)

    drv.Function.__call__ = call
    try:
        yield seen
    finally:
        drv.Function.__call__ = plain


def _run_generated_softmax(answer: Callable, columns: int, scores: np.ndarray) -> np.ndarray:
    libraries = _libraries()
    ours = to_device(scores)
    with _observe_copies() as copied, _rehearse_launches(copied) as seen:
        function = answer(columns)
        if not callable(function):
            raise Refusal(f"expected a function of the scores, got {describe_returned(function)}")
        value = function(ours)
    libraries.context.synchronize()
    require_type(value, libraries.cp.ndarray, "your function must return a CuPy array; it is")
    if isinstance(value.data.mem, libraries.cp.cuda.UnownedMemory):
        raise Refusal("its result is in memory of PyCUDA's. Take CuPy's, from its pool.")
    if copied:
        raise Refusal("it copies through the host.")
    if not seen:
        raise Refusal("it launches no kernel of a SourceModule by a call of it.")
    if not any(str(columns) in code for code in seen):
        raise Refusal(f"no kernel that it launches has the {columns} columns in its source: write"
                      " them there.", "not generated")
    if not np.array_equal(ours.get(), scores):
        raise Refusal("it changes the scores. Leave the caller's array as it is.")
    return value.get()


SOFTMAX = """
__global__ void softmax(const float* x, float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    x += row * COLUMNS;
    y += row * COLUMNS;
    float v[COLUMNS], top = -3.4e38f, sum = 0;
    for (int j = 0; j < COLUMNS; j++) { v[j] = x[j]; top = fmaxf(top, v[j]); }
    for (int j = 0; j < COLUMNS; j++) { v[j] = expf(v[j] - top); sum += v[j]; }
    for (int j = 0; j < COLUMNS; j++) y[j] = v[j] / sum;
}
"""


def _softmax(columns, *, texts=(), contiguous=True, round_up=True):
    """The right answer, or one with other source, without the copy or with a smaller grid."""
    from pycuda.compiler import SourceModule

    code = replaced(SOFTMAX, *texts).replace("COLUMNS", str(columns))
    kernel = SourceModule(code).get_function("softmax")

    def softmax(scores):
        cp = _libraries().cp
        scores = cp.ascontiguousarray(scores) if contiguous else scores
        result = cp.full(scores.shape, cp.nan, scores.dtype)
        rows = scores.size // columns
        kernel(scores, result, np.int32(rows), block=(64, 1, 1),
               grid=(-(-rows // 64) if round_up else max(1, rows // 64), 1))
        return result

    return softmax


def _softmax_cases() -> list[Case]:
    random = np.random.default_rng(115)
    scores = random.normal(-40, 9, (5, 2, 9, 16)).astype(np.float32)
    largest = 200 * np.tile(np.eye(16, dtype=np.float32), (4, 1))  # once in each column
    return [(16, scores), (9, scores.swapaxes(2, 3)), (16, scores.reshape(90, 16)[:64] + largest),
            (16, scores[1, 0, 0] - 300)]


generated_softmax = DeviceTask(
    "generated_softmax", _generated_softmax, _softmax_cases, run=_run_generated_softmax,
    right=_softmax, rtol=1e-5,
    mistakes=[
        ("powers of scores without the row's largest subtracted first: they overflow, or vanish",
         {"texts": ("expf(v[j] - top)", "expf(v[j])")}),
        ("a largest score that begins at 0: where all scores of a row are far below 0, their"
         " powers vanish", {"texts": ("top = -3.4e38f", "top = 0")}),
        ("a view's strides ignored: the kernel needs its rows one after another",
         {"contiguous": False}),
        ("a grid rounded down: the last rows have no thread", {"round_up": False}),
    ],
)
