"""Measure attention in several ways on this machine's GPU, for the lesson "Attention".

    python -m authoring.profiles.attention [FILE]

needs CuPy, for some of its rows PyTorch, and for the counts Nsight Compute (`ncu` on the PATH).
Without FILE it writes `helpers/data/recorded/profiles/attention.json`, which the lesson shows.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Any

import numpy as np

from .nsight import METRICS, kernel_name, launches_in_ranges, number, write_profile

MODULE = "authoring.profiles.attention"
SHAPE = 4, 16, 4096, 64  # batch, heads, length, numbers of a head
LENGTHS = 1024, 4096, 16384, 65536  # of one head
CHECKED = 2  # heads compared with float64
COUNTED = "load_sectors", "store_sectors", "l2_read_sectors", "l2_write_sectors", "dram_read", \
    "dram_written", "shared_wavefronts", "l1_percent", "fma_percent", "dram_percent", "registers"
TENSOR = "sm__inst_executed_pipe_tensor_op_hmma.sum"  # products of 16 x 8 x 8 numbers, for TF32
Array = Any


def by_einsum(q: Array, k: Array, v: Array) -> Array:
    """As the lesson writes it."""
    import cupy as cp

    from helpers import network

    scores = cp.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    return cp.einsum("bhij,bhjd->bhid", network.softmax(scores, cp), v)


def by_matmul(q: Array, k: Array, v: Array) -> Array:
    """As the lesson writes it."""
    import cupy as cp

    from helpers import network

    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return network.softmax(scores, cp) @ v


@cache
def compiled(d: int, half: bool) -> Any:
    """The lesson's kernel for heads of `d` numbers."""
    import cupy as cp

    from helpers import kernels

    options = (f"-DD={d}", *(("-DHALF",) if half else ()))
    return cp.RawKernel(kernels.source("attention"), "attention", options=options)


def by_tiles(q: Array, k: Array, v: Array) -> Array:
    """The lesson's kernel, launched."""
    import cupy as cp

    kernel = compiled(q.shape[-1], q.dtype == np.float16)
    batch, heads, n, d = q.shape
    o = cp.empty(q.shape, q.dtype)
    side = 32 if d > 64 else 64
    kernel((-(-n // side), batch * heads), (16, 8),
           (q, k, v, o, np.int32(n), np.int32(n), np.float32(1 / math.sqrt(d)), np.int32(0)))
    return o


def tuned(q: Array, k: Array, v: Array) -> Array:
    """The course's tuned kernels, on tensor cores where there are some."""
    from helpers.attention import attention

    return attention(q, k, v)


def tuned_plain(q: Array, k: Array, v: Array) -> Array:
    """The course's tuned kernel that multiplies in float32."""
    from helpers.attention import attention

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


WAYS = {"einsum": by_einsum, "matmul": by_matmul, "this lesson's kernel": by_tiles,
        "tuned, plain float32": tuned_plain, "tuned": tuned, "PyTorch by hand": torch_by_hand,
        "PyTorch scaled-dot-product": torch_sdpa}


def random_heads(shape: tuple[int, ...], dtype: str) -> list[Array]:
    """Queries, keys and values, standard normal, rounded to `dtype`."""
    import cupy as cp

    rng = cp.random.default_rng(12)
    return [rng.standard_normal(shape, dtype=cp.float32).astype(dtype) for _ in range(3)]


def exact(arrays: list[Array]) -> Array:
    """The first heads in float64, on the device."""
    import cupy as cp

    from helpers import network

    q, k, v = (x.reshape(-1, *x.shape[2:])[:CHECKED].astype(cp.float64) for x in arrays)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return network.softmax(scores, cp) @ v


def peak(function: Callable, arrays: list[Array], torch: Any) -> int:
    """Bytes of device memory that a call uses besides its arguments and its result."""
    import cupy as cp

    function(*arrays)  # so that memory allocated only by a first call is not counted
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


def measure(name: str, shape: tuple[int, ...], dtype: str, truth: Array | None) -> dict:
    """A row of the table: time, rate, peak memory and error of one way."""
    import cupy as cp

    from helpers import bench

    function, torch = WAYS[name], None
    arrays = random_heads(shape, dtype)
    if name.startswith("PyTorch"):
        import torch

        arrays = [torch.as_tensor(x) for x in arrays]
    row = {"name": name, "dtype": dtype, "shape": list(shape)}
    row["peak"] = peak(function, arrays, torch)
    timing = bench(function, *arrays, device="gpu", seconds=0.1)
    batch, heads, n, d = shape
    row["ms"] = timing.median * 1e3
    row["tflops"] = 4 * batch * heads * n * n * d / timing.median / 1e12
    if truth is not None:
        result = cp.asarray(function(*arrays)).reshape(-1, n, d)[:CHECKED].astype(cp.float64)
        error = float(cp.sqrt(((result - truth) ** 2).mean() / (truth**2).mean()))
        row["error"] = error
    cp.get_default_memory_pool().free_all_blocks()
    if torch is not None:
        torch.cuda.empty_cache()
    return row


def rows(shape: tuple[int, ...] = SHAPE) -> list[dict]:
    """The rows of the table: each way that this machine can run, in float32 and float16."""
    truth = exact(random_heads(shape, "float32"))
    found = []
    for dtype in ("float32", "float16"):
        for name in WAYS:
            try:
                found.append(measure(name, shape, dtype, truth))
            except (ImportError, NotImplementedError):  # no PyTorch, no tensor cores
                pass
    return found


def lengths() -> list[dict]:
    """One head of growing length."""
    return [measure(name, (1, 1, n, 64), "float32", None) for n in LENGTHS
            for name in ("matmul", "this lesson's kernel", "tuned")]


def one_query() -> float:
    """Milliseconds of the lesson's kernel for a single query over the longest strip."""
    import cupy as cp

    from helpers import bench

    kernel = compiled(64, False)
    q = random_heads((1, 1, 1, 64), "float32")[0]
    k, v = random_heads((1, 1, LENGTHS[-1], 64), "float32")[:2]
    args = (q, k, v, cp.empty_like(q), np.int32(1), np.int32(LENGTHS[-1]), np.float32(0.125),
            np.int32(0))
    return bench(kernel, (1, 1), (16, 8), args, device="gpu").median * 1e3


def run() -> None:
    """Launch the kernels that `counted` counts, each in an NVTX range, after one launch before."""
    import cupy as cp
    from cupyx.profiler import time_range

    arrays = random_heads(SHAPE, "float32")
    ways = {"lesson": (by_tiles, arrays)}
    try:
        import torch

        ways["sdpa"] = torch_sdpa, [torch.as_tensor(x) for x in arrays]
    except ImportError:
        pass
    for name, (function, given) in ways.items():
        function(*given)
        cp.cuda.Device().synchronize()
        with time_range(name):
            function(*given)
            cp.cuda.Device().synchronize()


def counted() -> dict[str, dict[str, float | str]]:
    """What Nsight Compute counts for the lesson's kernel, and how PyTorch's float32 multiplies."""
    metrics = [METRICS[name] for name in COUNTED]
    lesson, *sdpa = launches_in_ranges(MODULE, ["lesson", "sdpa"], [*metrics, TENSOR])
    found: dict[str, dict] = {"lesson": {name: number(lesson[METRICS[name]]) for name in COUNTED}}
    if sdpa:
        found["sdpa"] = {"kernel": kernel_name(sdpa[0]),
                         "tensor": sum(number(row[TENSOR]) for row in sdpa)}
    return found


def main(arguments: list[str]) -> None:
    """Measure and write, or with `--run` do what Nsight Compute looks at."""
    os.environ.setdefault("COURSE_BACKEND", "cuda")
    import helpers

    helpers.start()
    if "--run" in arguments:
        return run()
    import cupy as cp

    content = {
        "gpu": cp.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "date": date.today().isoformat(),
        "cupy": cp.__version__,
        "shape": list(SHAPE),
        "rows": rows(),
        "lengths": lengths(),
        "one_query_ms": one_query(),
        "counted": counted(),
    }
    if "torch" in sys.modules:
        content["torch"] = sys.modules["torch"].__version__
    write_profile(content, "attention", arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
