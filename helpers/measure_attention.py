"""Variants of attention beside each other: time, rate, peak memory and error of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from . import network
from .backend import find_cupy
from .timing import bench

CHECKED = 2  # heads compared with float64
Array = Any  # cupy.ndarray or torch.Tensor


def torch_by_hand(q: Array, k: Array, v: Array) -> Array:
    """PyTorch, with the scores in memory."""
    return (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v


def torch_sdpa(q: Array, k: Array, v: Array) -> Array:
    """PyTorch's fused attention."""
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(q, k, v)


TORCH = {"PyTorch by hand": torch_by_hand, "PyTorch scaled-dot-product": torch_sdpa}


def measure(variants: Mapping[str, Callable], shape: tuple[int, ...], dtype: str,
            errors: bool = True) -> list[dict]:
    """A row for each variant that this machine has.

    Parameters
    ----------
    variants : mapping of str to callable
        By name the functions of queries, keys and values: CuPy arrays, for `TORCH` tensors. One
        that raises ImportError or NotImplementedError gets no row.
    shape : tuple of int
        Batch, heads, length, numbers of a head.
    dtype : {"float32", "float16"}
    errors : bool
        Whether to compare with float64, which keeps two heads' scores in memory.

    Returns
    -------
    list of dict
        `ms`, `tflops`, `peak` (bytes besides arguments and result), and the relative `error`.
    """
    cp = find_cupy()
    rng = cp.random.default_rng(12)
    exactly = [rng.standard_normal(shape, dtype=cp.float32) for _ in range(3)]
    rows, (batch, heads, n, d) = [], shape
    for name, function in variants.items():
        arrays = [x.astype(dtype) for x in exactly]
        try:
            torch = import_module("torch") if name in TORCH else None
            arrays = [torch.as_tensor(x) for x in arrays] if torch else arrays
            peak = _peak_bytes(function, arrays, torch)
        except (ImportError, NotImplementedError):
            continue
        seconds = bench(function, *arrays, device="gpu", seconds=0.1).median
        rows.append({"name": name, "dtype": dtype, "shape": list(shape), "peak": peak,
                     "ms": seconds * 1e3,
                     "tflops": 4 * batch * heads * n * n * d / seconds / 1e12})
        if errors:
            result = cp.asarray(function(*arrays)).reshape(-1, n, d)[:CHECKED]
            rows[-1]["error"] = _error(result, exactly)
        cp.get_default_memory_pool().free_all_blocks()
        if torch:
            torch.cuda.empty_cache()
    return rows


def _error(result: Array, exactly: list[Array]) -> float:
    """Root mean square of the error over that of the first heads' answers in float64."""
    cp = find_cupy()
    q, k, v = (x.reshape(-1, *x.shape[2:])[:CHECKED].astype(np.float64) for x in exactly)
    exact = network.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), cp) @ v
    return float(cp.sqrt(((result.astype(np.float64) - exact) ** 2).mean() / (exact**2).mean()))


def _peak_bytes(function: Callable, arrays: list[Array], torch: Any) -> int:
    cp = find_cupy()
    function(*arrays)  # memory that only the first call takes does not count
    cp.cuda.Device().synchronize()
    cp.get_default_memory_pool().free_all_blocks()
    if torch:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = function(*arrays)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before - result.nbytes
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        result_bytes = function(*arrays).nbytes
    cp.cuda.Device().synchronize()
    return pool.total_bytes() - result_bytes
