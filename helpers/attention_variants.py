"""Attention in several ways, each measured on this machine: lesson 16's table."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from . import kernels, network
from .attention import attention
from .backend import find_cupy
from .timing import bench

CHECKED = 2  # heads compared with float64
Array = Any  # cupy.ndarray or torch.Tensor


def by_einsum(q: Array, k: Array, v: Array) -> Array:
    """As lesson 16 writes it."""
    cp = find_cupy()
    scores = cp.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    return cp.einsum("bhij,bhjd->bhid", network.softmax(scores, cp), v)


def by_matmul(q: Array, k: Array, v: Array) -> Array:
    """As lesson 16 writes it."""
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return network.softmax(scores, find_cupy()) @ v


@cache
def lesson_kernel(d: int, half: bool) -> Any:
    """The lesson's kernel for heads of `d` numbers."""
    options = (f"-DD={d}", *(("-DHALF",) if half else ()))
    return find_cupy().RawKernel(kernels.source("attention"), "attention", options=options)


def by_tiles(q: Array, k: Array, v: Array) -> Array:
    """The lesson's kernel, launched."""
    batch, heads, n, d = q.shape
    o = find_cupy().empty(q.shape, q.dtype)
    side = 32 if d > 64 else 64
    lesson_kernel(d, q.dtype == np.float16)(
        (-(-n // side), batch * heads), (16, 8),
        (q, k, v, o, np.int32(n), np.int32(n), np.float32(1 / math.sqrt(d)), np.int32(0)))
    return o


def tuned_plain(q: Array, k: Array, v: Array) -> Array:
    """The course's tuned kernel that multiplies in float32."""
    if q.dtype != np.float32:
        raise NotImplementedError("for float32 arrays only")
    return attention(q, k, v, tensor_cores=False)


def torch_by_hand(q: Array, k: Array, v: Array) -> Array:
    """PyTorch, with the scores in memory."""
    return (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v


def torch_sdpa(q: Array, k: Array, v: Array) -> Array:
    """PyTorch's fused attention."""
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(q, k, v)


VARIANTS = {"einsum": by_einsum, "matmul": by_matmul, "this lesson's kernel": by_tiles,
            "tuned, plain float32": tuned_plain, "tuned": attention,
            "PyTorch by hand": torch_by_hand, "PyTorch scaled-dot-product": torch_sdpa}


def random_heads(shape: tuple[int, ...], dtype: str) -> list[Array]:
    """Queries, keys and values, standard normal, rounded to `dtype`."""
    cp = find_cupy()
    rng = cp.random.default_rng(12)
    return [rng.standard_normal(shape, dtype=cp.float32).astype(dtype) for _ in range(3)]


def peak_bytes(function: Callable, arrays: list[Array], torch: Any = None) -> int:
    """Bytes of device memory that a call takes besides its arguments and its result."""
    cp = find_cupy()
    function(*arrays)  # what is taken once only is not meant
    cp.cuda.Device().synchronize()
    cp.get_default_memory_pool().free_all_blocks()
    if torch is not None:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = function(*arrays)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before - result.nbytes
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        result_bytes = function(*arrays).nbytes
    cp.cuda.Device().synchronize()
    taken = pool.total_bytes() - result_bytes
    pool.free_all_blocks()
    return taken


def measure(name: str, shape: tuple[int, ...], dtype: str, exact: Array | None = None) -> dict:
    """One row of the table: a variant's time, rate and peak memory, and its error.

    Parameters
    ----------
    name : str
        One of `VARIANTS`.
    shape : tuple of int
        Batch, heads, length, numbers of a head.
    dtype : {"float32", "float16"}
    exact : array, optional
        The first heads' answer in float64; without it no error is computed.

    Raises
    ------
    ImportError, NotImplementedError
        Where there is no PyTorch, or no such variant for this dtype on this machine.
    """
    cp, torch = find_cupy(), None
    arrays = random_heads(shape, dtype)
    if name.startswith("PyTorch"):
        import torch

        arrays = [torch.as_tensor(x) for x in arrays]
    function = VARIANTS[name]
    row = {"name": name, "dtype": dtype, "shape": list(shape),
           "peak": peak_bytes(function, arrays, torch)}
    seconds = bench(function, *arrays, device="gpu", seconds=0.1).median
    batch, heads, n, d = shape
    row["ms"] = seconds * 1e3
    row["tflops"] = 4 * batch * heads * n * n * d / seconds / 1e12
    if exact is not None:
        result = cp.asarray(function(*arrays)).reshape(-1, n, d)[:CHECKED].astype(cp.float64)
        row["error"] = float(cp.sqrt(((result - exact) ** 2).mean() / (exact**2).mean()))
    cp.get_default_memory_pool().free_all_blocks()
    if torch is not None:
        torch.cuda.empty_cache()
    return row


def measure_all(shape: tuple[int, ...]) -> list[dict]:
    """A row for each variant that this machine has, in float32 and float16; see `measure`."""
    q, k, v = (x.reshape(-1, *x.shape[2:])[:CHECKED].astype(np.float64)
               for x in random_heads(shape, "float32"))
    exact, rows = by_matmul(q, k, v), []
    for dtype in ("float32", "float16"):
        for name in VARIANTS:
            try:
                rows.append(measure(name, shape, dtype, exact))
            except (ImportError, NotImplementedError):
                pass
    return rows
