"""Attention by the course's tuned kernels: `softmax(Q K^T) V` without storing the scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import kernels
from .backend import find_cupy, is_simulated
from .formats import listed

Array = Any  # cupy.ndarray
DTYPES, HEADS = ("float32", "float16"), (32, 64, 128)
CAPABILITY = {"float16": 75, "tf32": 80}  # the first whose tensor cores have what a kernel uses


@dataclass(frozen=True)
class Tile:
    """How a kernel divides the work: its macros, the queries of a block, bytes of shared memory."""

    macros: tuple[tuple[str, int], ...]
    threads: int
    rows: int
    shared: int


def _float32(head: int, warps: int, tall: int, wide: int) -> Tile:
    rows, keys = 4 * warps * tall, 8 * wide
    shared = 4 * ((rows + keys) * (head + 4) + keys * head + rows * (keys + 8))
    macros = ("HEAD", head), ("WARPS", warps), ("TALL", tall), ("WIDE", wide)
    return Tile(macros, 32 * warps, rows, shared)


def _tensor_cores(kind: str, head: int, warps: int, tall: int, keys: int) -> Tile:
    rows = 16 * warps * tall
    shared = {"tf32": 4 * ((rows + keys) * (head + 16) + keys * (head + 4)),
              "float16": 2 * (head + 8) * (rows + 4 * keys)}[kind]
    macros = ("HEAD", head), ("WARPS", warps), ("TALL", tall), ("KEYS", keys)
    return Tile(macros, 32 * warps, rows, shared)


# Of each kernel and head size: from the fastest on an H200 to one that fits into the shared memory
# that a block has on any GPU that can run the kernel, 64 KB from 7.5 on and 99 KB from 8.0 on.
TILES = {
    "float32": {
        32: (_float32(32, 4, 8, 8), _float32(32, 4, 4, 8)),
        64: (_float32(64, 4, 8, 8), _float32(64, 4, 8, 4), _float32(64, 4, 4, 4)),
        128: (_float32(128, 4, 4, 4), _float32(128, 4, 2, 4)),
    },
    "tf32": {
        32: (_tensor_cores("tf32", 32, 4, 2, 64),),
        64: (_tensor_cores("tf32", 64, 4, 2, 64),),
        128: (_tensor_cores("tf32", 128, 4, 1, 64), _tensor_cores("tf32", 128, 4, 1, 32)),
    },
    "float16": {
        32: (_tensor_cores("float16", 32, 4, 2, 64),),
        64: (_tensor_cores("float16", 64, 4, 2, 64), _tensor_cores("float16", 64, 4, 2, 32)),
        128: (_tensor_cores("float16", 128, 4, 2, 64), _tensor_cores("float16", 128, 4, 2, 32),
              _tensor_cores("float16", 128, 4, 1, 32)),
    },
}

# The kernel for few queries (attention_one_query.cu): its macros but for the head size and for how
# many keys are in flight, bytes of keys of a block's round, and pieces of a query, at most.
WARPS, ROUND, PIECES = 8, 2**15, 256


def attention(q: Array, k: Array, v: Array, causal: bool = False,
              scale: float | None = None, tensor_cores: bool = True) -> Array:
    """Softmax of `scale * q @ k.swapaxes(-1, -2)` along the keys, times `v`, for each head.

    Parameters
    ----------
    q : cupy.ndarray
        Queries, shape (batch, heads, m, head size): m any number, the head size 32, 64 or 128;
        float32 or float16, C-contiguous.
    k, v : cupy.ndarray
        Keys and values, shape (batch, heads, n, head size), n at least 1, of the dtype of `q`.
    causal : bool
        Let query i see the keys 0 to i only.
    scale : float, optional
        Factor of the scores, above 0; 1 / sqrt(head size) unless given.
    tensor_cores : bool
        For float32: multiply on tensor cores where they are of compute capability 8.0 or newer,
        each product as three of TF32, to an error like float32's. With False, for few queries,
        on older GPUs and on the simulator products are float32's own. float16 is always multiplied
        on tensor cores.

    Returns
    -------
    cupy.ndarray
        Shape and dtype of `q`; the only memory that a call takes, but for what `few_queries`
        keeps. The work is queued on the current stream, the call does not wait for it.

    Raises
    ------
    TypeError, ValueError
        For arrays that the kernels do not take; the message says which and why.
    NotImplementedError
        For float16 on the simulator and below compute capability 7.5: no tensor cores.

    Notes
    -----
    Sums and softmax are float32 throughout. The float16 kernel rounds the weights to float16
    before the second product, and leaves long sums to the tensor cores, which cut off where
    additions round: on an H200 its results were 4e-4 of themselves too small for 65,536 keys and
    7e-3 for a million. The float32 kernels do not drift so. The float16 kernel's time depends on
    the numbers: it is up to 1.6 times as long if the scores rise by more than 10 every 64 keys.
    float32 queries that are fewer than the GPU's multiprocessors, or one a head, go to
    `few_queries`.
    Sources: online softmax, Milakov and Gimelshein, arXiv 1805.02867; the tiles, Dao et al.,
    arXiv 2205.14135, and Dao, arXiv 2307.08691; three products of TF32 and what tensor cores cut
    off, Ootomo and Yokota, arXiv 2203.03341.
    """
    cupy = find_cupy()
    _check(cupy, {"q": q, "k": k, "v": v})
    (batch, heads, m, head), n = q.shape, k.shape[2]
    factor = 1 / math.sqrt(head) if scale is None else scale
    if not factor > 0:
        raise ValueError(f"scale is {scale}: it must be above 0, or the largest score would not"
                         " have the largest weight.")
    out = cupy.empty_like(q)
    if out.size:
        with q.device:
            few = batch * heads * m < multiprocessors(q.device.id) or m == 1
            if few and q.dtype == "float32":
                few_queries(q, k, v, out, factor, causal)
                return out
            launch, tile = _kernel(q.dtype.name, head, tensor_cores, q.device.id)
            launch((-(-m // tile.rows), heads, batch), (tile.threads,),
                   (q, k, v, out, cupy.int32(m), cupy.int32(n), cupy.float32(factor),
                    cupy.int32(causal)), shared_mem=tile.shared)
    return out


def few_queries(q: Array, k: Array, v: Array, out: Array, scale: float, causal: bool) -> None:
    """Attention into `out` by blocks that share a query's keys; float32, arrays already checked.

    About as many blocks run as the GPU has multiprocessors. The memory in which they leave their
    pieces for the last block of the query is kept for each stream, 134 KB. So call it once on a
    stream before you capture from it, and let the graph not run at the same time as other calls on
    that stream.
    """
    cupy, (batch, heads, m, head), n = find_cupy(), q.shape, k.shape[2]
    queries, seen = batch * heads * m, min(m, n) if causal else n
    most = max(1, min(PIECES, multiprocessors(q.device.id)) // queries)
    rounds = -(-seen // (ROUND // 4 // head * most))
    each = ROUND // 4 // head * rounds
    pieces = -(-seen // each)
    _few_kernel(head, q.device.id)((queries * pieces,), (32 * WARPS,), (
        q, k, v, out, *_kept(q.device.id, cupy.cuda.get_current_stream().ptr), cupy.int32(m),
        cupy.int32(n), cupy.int32(pieces), cupy.int32(each), cupy.float32(scale),
        cupy.int32(causal)))


@cache
def multiprocessors(device: int) -> int:
    """How many multiprocessors a device has."""
    return find_cupy().cuda.Device(device).attributes["MultiProcessorCount"]


@cache
def _few_kernel(head: int, device: int) -> Callable[..., None]:
    """The kernel of `few_queries`, compiled for the current device."""
    macros = {"HEAD": head, "WARPS": WARPS, "KEYS": ROUND // (16 * head * WARPS)}
    options = ("-std=c++17", *(f"-D{macro}={value}" for macro, value in macros.items()))
    module = find_cupy().RawModule(code=kernels.source("attention_one_query"), options=options)
    return module.get_function("attention")


@cache
def _kept(device: int, stream: int) -> tuple[Array, ...]:
    """Largest score, sum of powers, and weighted sum of each piece, and a counter of a query."""
    cupy = find_cupy()
    sizes = PIECES, PIECES, (PIECES, max(HEADS))
    return *(cupy.empty(size, cupy.float32) for size in sizes), cupy.zeros(PIECES, cupy.uint32)


def _check(cupy: Any, arrays: dict[str, Array]) -> None:
    """Raise a TypeError or a ValueError for arrays that the kernels do not take."""
    for name, array in arrays.items():
        if not isinstance(array, cupy.ndarray):
            kind = f"{type(array).__module__}.{type(array).__name__}".removeprefix("builtins.")
            raise TypeError(f"{name} is a {kind}, attention() takes CuPy arrays:"
                            f" cp.asarray({name}) puts it on the device.")
    dtypes = [array.dtype.name for array in arrays.values()]
    if len(set(dtypes)) > 1 or dtypes[0] not in DTYPES:
        raise TypeError(f"q, k and v are {listed(dtypes)}: give all three as float32"
                        " or all three as float16.")
    shapes = q, k, v = [array.shape for array in arrays.values()]
    if any(len(shape) != 4 for shape in shapes) or k != v or q[:2] + q[3:] != k[:2] + k[3:]:
        raise ValueError(f"q, k and v have the shapes {listed(shapes)}: they must be"
                         " (batch, heads, n, head size), equal but for the number of queries.")
    if q[3] not in HEADS:
        raise ValueError(f"the head size, the last length of {q}, is {q[3]}: the kernels"
                         f" are written for {listed(HEADS)}.")
    for name, array in arrays.items():
        if not array.flags.c_contiguous:
            raise ValueError(f"{name}, shape {array.shape}, has strides {array.strides} and is not"
                             f" C-contiguous: cp.ascontiguousarray({name}) copies it in order.")
        if array.data.ptr % 16:
            raise ValueError(f"{name} begins {array.data.ptr % 16} bytes after a multiple of 16,"
                             f" but is read 16 bytes at a time: {name}.copy() begins at one.")


def _tile(name: str, head: int, block: int, multiprocessor: int) -> Tile:
    """The first tile that fits into a block's shared memory, for float16 if possible twice.

    A second block computes while the first one waits. On an H200 with shared memory for one block
    with 64 keys or two with 32, the two took 4/5 of the time for heads of 64 numbers.
    """
    fitting = [tile for tile in TILES[name][head] if tile.shared <= block]
    twice = [tile for tile in fitting if 2 * (tile.shared + 1024) <= multiprocessor]
    return (twice if twice and name == "float16" else fitting)[0]


@cache
def _kernel(dtype: str, head: int, tensor_cores: bool,
            device: int) -> tuple[Callable[..., None], Tile]:
    """The kernel for arrays of this kind, compiled for the current device, and its tile."""
    cupy = find_cupy()
    this = cupy.cuda.Device(device)
    simulator, capability = is_simulated(cupy), int(this.compute_capability)
    name = dtype
    if dtype == "float32" and tensor_cores and not simulator and capability >= CAPABILITY["tf32"]:
        name = "tf32"
    if dtype == "float16":
        if simulator:
            raise NotImplementedError("The float16 kernel runs on tensor cores, which the simulator"
                                      " does not have: give float32 arrays, or run on a GPU.")
        if capability < CAPABILITY["float16"]:
            raise NotImplementedError(
                "The float16 kernel needs tensor cores of compute capability 7.5 or newer, and"
                f" this GPU has {capability // 10}.{capability % 10}: give float32 arrays.")
    tile = _tile(name, head, *(this.attributes[f"MaxSharedMemoryPer{what}"]
                               for what in ("BlockOptin", "Multiprocessor")))
    options = ("-std=c++17", *(f"-D{macro}={value}" for macro, value in tile.macros))
    module = cupy.RawModule(code=kernels.source(f"attention_{name}"), options=options)
    kernel = module.get_function("attention")
    kernel.max_dynamic_shared_size_bytes = tile.shared
    return kernel, tile
