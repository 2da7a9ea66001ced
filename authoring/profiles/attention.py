"""Measure attention in several ways on this machine's GPU, for the lesson "Attention".

    python -m authoring.profiles.attention [FILE]

needs CuPy, for some of its rows PyTorch, and for the counts Nsight Compute (`ncu` on the PATH).
Without FILE it writes `helpers/data/recorded/profiles/attention.json`, which the lesson shows.
"""

from __future__ import annotations

import os
import sys
from datetime import date

import numpy as np

from helpers import attention_variants as variants
from helpers import bench

from .nsight import METRICS, kernel_name, launches_in_ranges, number, write_profile

MODULE = "authoring.profiles.attention"
SHAPE = 4, 16, 4096, 64  # batch, heads, length, numbers of a head
LENGTHS = 1024, 4096, 16384, 65536  # of one head
COUNTED = "load_sectors", "store_sectors", "l2_read_sectors", "l2_write_sectors", "dram_read", \
    "dram_written", "shared_wavefronts", "l1_percent", "fma_percent", "dram_percent", "registers"
TENSOR = "sm__inst_executed_pipe_tensor_op_hmma.sum"  # products of 16 x 8 x 8 numbers, for TF32


def lengths() -> list[dict]:
    """One head of growing length."""
    return [variants.measure(name, (1, 1, n, 64), "float32") for n in LENGTHS
            for name in ("matmul", "this lesson's kernel", "tuned")]


def one_query() -> float:
    """Milliseconds of the lesson's kernel for a single query over the longest strip."""
    import cupy as cp

    kernel = variants.lesson_kernel(64, False)
    q = variants.random_heads((1, 1, 1, 64), "float32")[0]
    k, v = variants.random_heads((1, 1, LENGTHS[-1], 64), "float32")[:2]
    args = (q, k, v, cp.empty_like(q), np.int32(1), np.int32(LENGTHS[-1]), np.float32(0.125),
            np.int32(0))
    return bench(kernel, (1, 1), (16, 8), args, device="gpu").median * 1e3


def run() -> None:
    """Launch the kernels that `counted` counts, each in an NVTX range, after one launch before."""
    import cupy as cp
    from cupyx.profiler import time_range

    arrays = variants.random_heads(SHAPE, "float32")
    ways = {"lesson": (variants.by_tiles, arrays)}
    try:
        import torch

        ways["sdpa"] = variants.torch_sdpa, [torch.as_tensor(x) for x in arrays]
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
        "rows": variants.measure_all(SHAPE),
        "lengths": lengths(),
        "one_query_ms": one_query(),
        "counted": counted(),
    }
    if "torch" in sys.modules:
        content["torch"] = sys.modules["torch"].__version__
    write_profile(content, "attention", arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
