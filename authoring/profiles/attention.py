"""Measure attention in several ways on this machine's GPU, for the lesson "Attention".

    python -m authoring.profiles.attention [FILE]

needs CuPy, for some of its rows PyTorch, and for the counts Nsight Compute (`ncu` on the PATH).
Without FILE it writes `helpers/data/recorded/profiles/attention.json`, which the lesson shows.
"""

from __future__ import annotations

import math
import os
import sys
from datetime import date
from functools import cache, partial
from typing import Any

import numpy as np

from helpers import bench, kernels, network
from helpers.attention import attention
from helpers.measure_attention import TORCH, measure, torch_sdpa

from .nsight import METRICS, kernel_name, launches_in_ranges, number, write_profile

MODULE = "authoring.profiles.attention"
SHAPE = 4, 16, 4096, 64  # batch, heads, length, numbers of a head
LENGTHS = 1024, 4096, 16384, 65536  # of one head
COUNTED = "load_sectors", "store_sectors", "l2_read_sectors", "l2_write_sectors", "dram_read", \
    "dram_written", "shared_wavefronts", "l1_percent", "fma_percent", "dram_percent", "registers"
Array = Any  # cupy.ndarray or torch.Tensor
TENSOR = "sm__inst_executed_pipe_tensor_op_hmma.sum"  # products of 16 x 8 x 8 numbers, for TF32


def by_einsum(q: Array, k: Array, v: Array) -> Array:
    """As the lesson writes it."""
    import cupy as cp

    scores = cp.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    return cp.einsum("bhij,bhjd->bhid", network.softmax(scores, cp), v)


def by_matmul(q: Array, k: Array, v: Array) -> Array:
    """As the lesson writes it."""
    import cupy as cp

    return network.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), cp) @ v


@cache
def lesson_kernel(d: int, half: bool) -> Any:
    """The lesson's kernel for heads of `d` numbers."""
    import cupy as cp

    options = (f"-DD={d}", *(("-DHALF",) if half else ()))
    return cp.RawKernel(kernels.source("attention"), "attention", options=options)


def by_tiles(q: Array, k: Array, v: Array) -> Array:
    """The lesson's kernel, launched."""
    import cupy as cp

    batch, heads, n, d = q.shape
    o = cp.empty(q.shape, q.dtype)
    side = 32 if d > 64 else 64
    lesson_kernel(d, q.dtype == np.float16)(
        (-(-n // side), batch * heads), (16, 8),
        (q, k, v, o, np.int32(n), np.int32(n), np.float32(1 / math.sqrt(d)), np.int32(0)))
    return o


VARIANTS = {"einsum": by_einsum, "matmul": by_matmul, "this lesson's kernel": by_tiles,
            "tuned, plain float32": partial(attention, tensor_cores=False), "tuned": attention,
            **TORCH}


def rows() -> list[dict]:
    """All variants that this machine has, in float32 and float16."""
    halves = {name: way for name, way in VARIANTS.items() if name != "tuned, plain float32"}
    return measure(VARIANTS, SHAPE, "float32") + measure(halves, SHAPE, "float16")


def lengths() -> list[dict]:
    """One head of growing length."""
    some = {name: VARIANTS[name] for name in ("matmul", "this lesson's kernel", "tuned")}
    return [row for n in LENGTHS for row in measure(some, (1, 1, n, 64), "float32", errors=False)]


def random_heads(shape: tuple[int, ...]) -> list[Array]:
    """Queries, keys and values, standard normal, float32."""
    import cupy as cp

    rng = cp.random.default_rng(12)
    return [rng.standard_normal(shape, dtype=cp.float32) for _ in range(3)]


def one_query() -> float:
    """Milliseconds of the lesson's kernel for a single query over the longest strip."""
    import cupy as cp

    kernel = lesson_kernel(64, False)
    q = random_heads((1, 1, 1, 64))[0]
    k, v = random_heads((1, 1, LENGTHS[-1], 64))[:2]
    args = (q, k, v, cp.empty_like(q), np.int32(1), np.int32(LENGTHS[-1]), np.float32(0.125),
            np.int32(0))
    return bench(kernel, (1, 1), (16, 8), args, device="gpu").median * 1e3


def run() -> None:
    """Launch the kernels that `counted` counts, each in an NVTX range, after one launch before."""
    import cupy as cp
    from cupyx.profiler import time_range

    arrays = random_heads(SHAPE)
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
