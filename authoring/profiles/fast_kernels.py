"""Profile the kernels of the lesson "Fast kernels" on this machine's GPU.

    python -m authoring.profiles.fast_kernels [FILE]

runs itself under Nsight Compute (`ncu` on the PATH) and, where it is installed, under Nsight
Systems, and measures cuBLAS's products of other number formats. Without FILE it writes
`helpers/data/recorded/profiles/fast_kernels.json`, which the lesson shows.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from helpers import bench, kernels, network
from helpers.data import load_network, load_split

from ..notebook_form import ROOT
from . import profiling

MODULE = "authoring.profiles.fast_kernels"
SIDE = 4096  # of the products
STATES = {state: f"smsp__average_warps_issue_stalled_{state}_per_issue_active.ratio" for state in (
    "selected", "not_selected", "long_scoreboard", "short_scoreboard", "mio_throttle",
    "lg_throttle", "barrier", "dispatch_stall", "math_pipe_throttle", "wait")}
IMAGES = 4080  # in a batch for Nsight Systems: eight times those that the network is tested on


def launches() -> dict[str, tuple[Callable[[], object], Any, Callable[[Any], bool]]]:
    """By name: what launches a kernel once, the array of its result, and what checks that."""
    import cupy as cp

    lesson = profiling.lesson_code(
        "fast_kernels", "owners", "naive", "tile", "sums", "early-source")
    a, b, c = lesson.matrices(SIDE, SIDE, SIDE)

    def is_product(result: cp.ndarray) -> bool:
        return bool((abs(result - a.astype(cp.float64) @ b.astype(cp.float64)) < 1e-2).all())

    grid, block, arguments = lesson.launch(a, b, c)
    found = {"naive": partial(lesson.naive, grid, block, arguments),
             "tile": partial(lesson.tile, grid, block, arguments)}
    for shape in (1, 8), (8, 1), (8, 8):
        found["{} x {}".format(*shape)] = partial(lesson.sums(*shape),
                                                  *lesson.launch(a, b, c, *shape))
    others = lesson.source.replace("void sums", "void __launch_bounds__(256, 1) sums")
    for name, kernel in (("other registers", lesson.sums(8, 8, others)), ("in fours", lesson.late),
                         ("in fours, early", lesson.early),
                         ("in fours, one barrier", lesson.one_barrier)):
        found[name] = partial(kernel, *lesson.launch(a, b, c, 8, 8))
    found["cuBLAS"] = partial(cp.matmul, a, b, out=c)
    checked = {name: (call, c, is_product) for name, call in found.items()}
    x, weights, y = lesson.matrices(156 * SIDE, 32, 288)  # the reader's, for 639,000 pixels
    for shape in (8, 8), (8, 2):
        checked["reader {} x {}".format(*shape)] = (
            partial(lesson.sums(*shape), *lesson.launch(x, weights, y, *shape)), y,
            lambda result: bool((abs(result - x @ weights) < 1e-2).all()))
    return checked


def run() -> None:
    """Launch each kernel."""
    import cupy as cp

    for name, (launch, result, is_right) in launches().items():
        result.fill(cp.nan)
        profiling.launch_in_range(name, launch)
        if not is_right(result):
            raise SystemExit(f"{name}: wrong result")


def profile() -> dict[str, dict[str, Any]]:
    """What Nsight Compute counts for each kernel, by the names of METRICS, and its warps' states.

    A state is the mean number of a scheduler's warps in it whenever an instruction is issued.
    """
    names = list(launches())
    rows = profiling.launches_in_ranges(MODULE, names, *STATES.values())
    if len(rows) != len(names):
        raise SystemExit(f"{len(rows)} kernels: {[profiling.kernel_name(row) for row in rows]}")
    return {name: {"kernel": profiling.kernel_name(row), **profiling.counts(row),
                   "states": profiling.counts(row, STATES)} for name, row in zip(names, rows)}


def products() -> dict[str, Any]:
    """What `profile` counts: of the products of SIDE x SIDE numbers, and of the reader's."""
    counted = profile()
    reader = {name: counted.pop(name) for name in list(counted) if name.startswith("reader")}
    return {"kernels_date": date.today().isoformat(), "kernels": counted, "reader": reader}


def batches() -> None:
    """The network on a batch of images six times, in NVTX ranges; the first time is a warm-up."""
    import cupy as cp
    from cupyx.profiler import time_range

    weights = {name: cp.asarray(array) for name, array in load_network().items()}
    images = np.repeat(load_split()[2], IMAGES // len(load_split()[2]), axis=0)
    for step in range(6):
        with time_range("batch" if step else "warm-up"):
            with time_range("copy in"):
                x = cp.asarray(images)
            with time_range("forward"):
                y = network.forward(x, weights, xp=cp)
            with time_range("copy out"):
                y.get()


def systems() -> dict[str, object] | None:
    """What Nsight Systems measures of `batches`, or None where it is not installed.

    `nsys` is taken from the PATH, or from the folder of Nsight Compute, which brings a copy.
    """
    copies = sorted(Path("/opt/nvidia/nsight-compute").glob("*/host/target-linux-x64/nsys"))
    nsys = shutil.which("nsys") or (str(copies[-1]) if copies else None)
    if nsys is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        report = str(Path(folder) / "report")
        made = subprocess.run([nsys, "profile", "--sample=none", "--cpuctxsw=none",
                               "--backtrace=none", "-t", "cuda,nvtx", "-o", report, sys.executable,
                               "-m", MODULE, "--batches"], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        if not Path(report + ".nsys-rep").exists():
            raise SystemExit("nsys could not import its own report. Its importer, QdstrmImporter,"
                             " needs libdw.so.1 (of elfutils): install it, or ask `ldd` what else"
                             f" is missing.\n{made.stdout[-1500:]}\n{made.stderr[-1500:]}")
        reports = {}
        for name in "nvtx_gpu_proj_sum", "cuda_gpu_kern_sum":
            stats = subprocess.run([nsys, "stats", "--force-export=true", "--report", name,
                                    "--format", "csv", report + ".nsys-rep"], capture_output=True,
                                   text=True, check=True)
            reports[name] = profiling.table_in(stats.stdout, ",Total ")
    version = subprocess.run([nsys, "--version"], capture_output=True, text=True, check=True)
    return {"version": re.search(r"version (\S+)", version.stdout).group(1),
            "date": date.today().isoformat(), "images": IMAGES, **summary(reports)}


def summary(reports: dict[str, list[dict[str, str]]]) -> dict[str, list]:
    """What the lesson shows of two reports of `nsys stats`, times in nanoseconds."""
    ranges = [{"range": row["Range"].lstrip(":"), "times": int(row["Range Instances"]),
               "host_total": int(row["Total Range Time (ns)"]),
               "gpu_total": int(row["Total Proj Time (ns)"]),
               "gpu_median": float(row["Proj Med (ns)"]),
               "operations": float(row["Avg GPU Ops"])} for row in reports["nvtx_gpu_proj_sum"]]
    kernels = [[row["Name"][:60], int(row["Instances"]), int(row["Total Time (ns)"])]
               for row in reports["cuda_gpu_kern_sum"]]
    return {"ranges": ranges, "kernels": kernels}


def formats() -> list[dict[str, object]]:
    """cuBLAS's products of SIDE x SIDE numbers in other formats, with their errors."""
    import cupy as cp
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas

    rng = cp.random.default_rng(8)
    a, b = (rng.standard_normal((SIDE, SIDE), dtype=cp.float32) for _ in range(2))
    exact = a.astype(cp.float64) @ b.astype(cp.float64)
    size = float(cp.sqrt((exact * exact).mean()))
    half = [x.astype(cp.float16) for x in (a, b)]
    bf16 = [((x.view(cp.uint32) + 0x8000) >> 16).astype(cp.uint16) for x in (a, b)]
    step = 4 / 127  # of int8: what is beyond 4 standard deviations is clipped
    int8 = [cp.clip(cp.rint(x / step), -127, 127).astype(cp.int8) for x in (a, b)]
    out_kinds = {"float64": 1, "float32": 0, "int32": 10}  # cudaDataType_t
    # name, inputs, their cudaDataType_t, dtype of result and scalars, cublasComputeType_t, scale
    table = [
        ("float64", [x.astype(cp.float64) for x in (a, b)], 1, "float64", 70, 1),
        ("float32", [a, b], 0, "float32", 68, 1),
        ("TF32", [a, b], 0, "float32", 77, 1),
        ("bfloat16", bf16, 14, "float32", 68, 1),
        ("float16", half, 2, "float32", 68, 1),
        ("int8", int8, 3, "int32", 72, step * step),
    ]
    found = []

    def add(name: str, function: Callable, out: cp.ndarray, scale: float) -> None:
        function()
        error = abs(out.astype(cp.float64) * scale - exact)
        timing = bench(function, device="gpu", name=name)
        found.append({"format": name, "ms": timing.median * 1e3,
                      "tera_a_second": 2 * SIDE**3 / timing.median / 1e12,
                      "error": float(cp.sqrt((error * error).mean())) / size})
        print(found[-1])

    for name, (x, y), kind, dtype, compute, scale in table:
        out, one, zero = cp.empty((SIDE, SIDE), dtype), np.ones(1, dtype), np.zeros(1, dtype)
        # cuBLAS stores matrices by columns: out.T = y.T @ x.T. For int8 it needs both factors
        # contiguous along the summed axis.
        turn = name == "int8"
        y = cp.ascontiguousarray(y.T) if turn else y
        add(name, partial(
            cublas.gemmEx, device.get_cublas_handle(), int(turn), 0, SIDE, SIDE, SIDE,
            one.ctypes.data, y.data.ptr, kind, SIDE, x.data.ptr, kind, SIDE, zero.ctypes.data,
            out.data.ptr, out_kinds[dtype], SIDE, compute, -1), out, scale)
    kernel = cp.RawKernel(kernels.source("tensor_cores"), "tensor",
                          options=("-I/usr/local/cuda/include",))
    out = cp.empty_like(a)
    try:
        add("float16, tensor_cores.cu",
            partial(kernel, (SIDE // 16, SIDE // 16), (32,), (*half, out, *(np.int32(SIDE),) * 3)),
            out, 1)
    except Exception as error:  # no mma.h
        print(error, file=sys.stderr)
    return found


def measured() -> dict:
    """What the lesson shows."""
    import cupy as cp

    version = subprocess.run(["ncu", "--version"], capture_output=True, text=True, check=False)
    return {
        "cupy": cp.__version__,
        "ncu": re.search(r"Version (\S+)", version.stdout).group(1),
        "side": SIDE,
        **products(),
        "nsys": systems(),
        "formats": formats(),
    }


if __name__ == "__main__":
    profiling.run_program("fast_kernels", measured, sys.argv[1:], run=run, batches=batches)
