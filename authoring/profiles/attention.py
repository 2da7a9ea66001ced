"""Measure attention in several ways on this machine's GPU and write what lesson 16 shows.

    python -m authoring.profiles.attention [FILE]

needs CuPy, and PyTorch and Nsight Compute (`ncu` on the PATH) for their parts. Without FILE it
writes `helpers/data/recorded/profiles/attention.json`, or `$OUT/attention.json` where OUT is set.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np

from helpers import attention_variants as variants
from helpers import bench

from .kernels import METRICS

ROOT = Path(__file__).parents[2]
FILE = ROOT / "helpers/data/recorded/profiles/attention.json"
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
    """Launch what `counted` looks at, after a first time, in NVTX ranges."""
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
    command = ["ncu", "--nvtx", "--nvtx-include", "lesson/", "--nvtx-include", "sdpa/",
               "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
               "--metrics", ",".join([*metrics, TENSOR]),
               sys.executable, "-m", "authoring.profiles.attention", "--run"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if done.returncode or start is None:
        raise SystemExit(f"ncu ended with {done.returncode}\n{done.stdout[-3000:]}"
                         f"\n{done.stderr[-3000:]}")
    table = csv.DictReader(io.StringIO("\n".join(lines[start:])))
    lesson, *sdpa = [row for row in table if row["ID"]]
    found: dict[str, dict] = {"lesson": {name: _number(lesson[METRICS[name]]) for name in COUNTED}}
    if sdpa:
        found["sdpa"] = {"kernel": sdpa[0]["Kernel Name"].split("(")[0][:60],
                         "tensor": sum(_number(row[TENSOR]) for row in sdpa)}
    return found


def _number(text: str) -> float:
    value = float(text.replace(",", ""))
    return int(value) if value == int(value) else round(value, 2)


def main(arguments: list[str]) -> None:
    """See the module's docstring."""
    os.environ.setdefault("COURSE_BACKEND", "cuda")
    import helpers

    helpers.start()
    if "--run" in arguments:
        return run()
    import cupy as cp

    path = Path(arguments[0]) if arguments else FILE
    if not arguments and os.environ.get("OUT"):
        path = Path(os.environ["OUT"]) / FILE.name
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
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(json.dumps(content, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
