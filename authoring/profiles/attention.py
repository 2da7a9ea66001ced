"""Measure attention in several ways on this machine's GPU, for the lesson "Attention".

    python -m authoring.profiles.attention [FILE]

needs CuPy, for some of its rows PyTorch, and for the counts Nsight Compute (`ncu` on the PATH).
Without FILE it writes `helpers/data/recorded/profiles/attention.json`, which the lesson shows.
With `--times` in place of FILE it leaves out the counts, and keeps those of that file.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from importlib import import_module
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

from helpers import bench, network
from helpers.attention import attention
from helpers.backend import find_cupy
from helpers.bounds import ceiling

from . import profiling

MODULE = "authoring.profiles.attention"
SHAPE = 4, 16, 4096, 64  # batch, heads, length, numbers of a head
FLOAT16 = (4, 16, 2048, 64), (4, 16, 8192, 64), (2, 16, 2048, 128), (2, 16, 8192, 128)
LENGTHS = 1024, 4096, 16384, 65536  # of one head
OTHER, SAMPLES = 2**28, 51  # floats that fill the caches; calls of a single query
CHECKED = 2  # heads compared with float64
Array = Any  # cupy.ndarray or torch.Tensor
TENSOR = "sm__inst_executed_pipe_tensor_op_hmma.sum"  # products of 16 x 8 x 8 numbers, for TF32


def torch_by_hand(q: Array, k: Array, v: Array) -> Array:
    """PyTorch, with the scores in memory."""
    return (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v


def torch_sdpa(q: Array, k: Array, v: Array, causal: bool = False, backend: str = "") -> Array:
    """PyTorch's fused attention, by a backend of this name or by the one that PyTorch chooses."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    with sdpa_kernel(getattr(SDPBackend, backend)) if backend else nullcontext():
        return scaled_dot_product_attention(q, k, v, is_causal=causal)


TORCH = {"PyTorch by hand": torch_by_hand, "PyTorch scaled-dot-product": torch_sdpa}


def measure(variants: Mapping[str, Callable], shape: tuple[int, ...], dtype: str,
            errors: bool = True) -> list[dict]:
    """A row for each variant that this machine has.

    `variants` are by name functions of queries, keys and values: CuPy arrays, or tensors if the
    name begins with PyTorch. One that raises ImportError or NotImplementedError gets no row.
    A row has `ms`, `tflops`, `peak` (bytes besides arguments and result), and with `errors` the
    relative `error` against float64, for which two heads' scores are in memory.
    """
    cp = find_cupy()
    rng = cp.random.default_rng(12)
    exactly = [rng.standard_normal(shape, dtype=cp.float32) for _ in range(3)]
    rows, (batch, heads, n, d) = [], shape
    for name, function in variants.items():
        arrays = [x.astype(dtype) for x in exactly]
        try:
            torch = import_module("torch") if name.startswith("PyTorch") else None
            arrays = _as_tensors(arrays) if torch else arrays
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


def _as_tensors(arrays: list[Array]) -> list[Array]:
    """PyTorch's tensors of the same memory."""
    return [import_module("torch").as_tensor(x) for x in arrays]


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
    peak = pool.total_bytes() - result_bytes
    pool.free_all_blocks()  # 51 GB for one head of 65,536 words
    return peak


def own_code() -> SimpleNamespace:
    """The lesson's functions `by_einsum`, `by_matmul`, `by_tiles` and `random_heads`."""
    return profiling.lesson_code("attention", "noisy", "by-matmul", "libraries-code", "launch",
                                 "squares-code")


def rows() -> dict[str, list[dict]]:
    """All variants that this machine has in float32 and float16; one head of growing length."""
    lesson = own_code()
    variants = {"einsum": lesson.by_einsum, "matmul": lesson.by_matmul,
                "this lesson's kernel": lesson.by_tiles,
                "tuned, plain float32": partial(attention, tensor_cores=False), "tuned": attention,
                **TORCH}
    halves = {name: way for name, way in variants.items() if name != "tuned, plain float32"}
    some = {name: variants[name] for name in ("matmul", "this lesson's kernel", "tuned")}
    return {"rows": measure(variants, SHAPE, "float32") + measure(halves, SHAPE, "float16"),
            "lengths": [row for n in LENGTHS
                        for row in measure(some, (1, 1, n, 64), "float32", errors=False)]}


def one_query() -> dict:
    """A single query over the longest strip: microseconds of a call in each way, and the bound.

    `us` is a call whose keys and values are in no cache, `cached_us` a call right behind another
    one. The bound is the time in which the memory delivers keys and values once.
    """
    lesson = own_code()
    q = lesson.random_heads(1, 1, 1, 64)[0]
    k, v = lesson.random_heads(1, 1, LENGTHS[-1], 64)[:2]
    bound = (k.nbytes + v.nbytes) / ceiling("gpu").bandwidth * 1e6
    rows = []
    for name, function in {"matmul": lesson.by_matmul, "this lesson's kernel": lesson.by_tiles,
                           "tuned": attention, **TORCH}.items():
        with suppress(ImportError):
            arrays = _as_tensors([q, k, v]) if name in TORCH else [q, k, v]
            us, cached = (_microseconds(function, arrays, times) for times in (1, 2))
            rows.append({"name": name, "us": us, "cached_us": cached, "share": bound / us})
    return {"keys": LENGTHS[-1], "bound_us": bound, "rows": rows}


def _microseconds(function: Callable, arrays: list[Array], times: int) -> float:
    """Of the last of so many calls in a row, after other data filled the caches: the median.

    While these are written, the host queues the calls: its own time is not measured.
    """
    cp = find_cupy()
    other, (before, behind) = cp.zeros(OTHER, cp.float32), (cp.cuda.Event(), cp.cuda.Event())
    taken = []
    for _ in range(SAMPLES):
        cp.add(other, 1, out=other)
        for _ in range(times):
            before.record()
            function(*arrays)
        behind.record()
        behind.synchronize()
        taken.append(cp.cuda.get_elapsed_time(before, behind) * 1e3)
    return statistics.median(taken)


def float16() -> list[dict]:
    """The tuned kernel beside PyTorch's two; `tflops` are counted as without a mask."""
    found = []
    for shape, causal in product(FLOAT16, (False, True)):
        ways = {"tuned": partial(attention, causal=causal),
                "PyTorch flash": partial(torch_sdpa, causal=causal, backend="FLASH_ATTENTION"),
                "PyTorch cuDNN": partial(torch_sdpa, causal=causal, backend="CUDNN_ATTENTION")}
        found += [row | {"causal": causal} for row in measure(ways, shape, "float16", errors=False)]
    return found


def times() -> None:
    """Measure all but what Nsight Compute counts, and put it into the profile."""
    before = json.loads((profiling.FOLDER / "attention.json").read_text())
    kept = {"counted": {"date": before.get("date"), **before["counted"]}}
    profiling.write_profile(profiling.heading() | timed() | kept, "attention", [])


def run() -> None:
    """Launch the kernels that `counted` counts."""
    lesson = own_code()
    arrays = lesson.random_heads(*SHAPE)
    profiling.launch_in_range("lesson", lesson.by_tiles, *arrays)
    with suppress(ImportError):
        profiling.launch_in_range("sdpa", torch_sdpa, *_as_tensors(arrays))


def counted() -> dict[str, dict[str, float | str]]:
    """What Nsight Compute counts for the lesson's kernel, and how PyTorch's float32 multiplies."""
    rows = profiling.launches_in_ranges(MODULE, ["lesson", "sdpa"], TENSOR)
    lesson, *sdpa = (row for row in rows if "cupy_" not in row["Kernel Name"])  # nor its NaNs
    found: dict[str, dict] = {"lesson": profiling.counts(lesson)}
    if sdpa:
        found["sdpa"] = {"kernel": profiling.kernel_name(sdpa[0]),
                         "tensor": sum(profiling.number(row[TENSOR]) for row in sdpa)}
    return found


def timed() -> dict:
    """What the lesson shows, but for the counts."""
    import cupy as cp

    content = {"cupy": cp.__version__, "shape": list(SHAPE), **rows(),
               "one_query": one_query(), "float16": float16()}
    if "torch" in sys.modules:
        content["torch"] = sys.modules["torch"].__version__
    return content


if __name__ == "__main__":
    profiling.run_program("attention", lambda: timed() | {
        "counted": {"date": profiling.heading()["date"], **counted()}}, sys.argv[1:],
        run=run, times=times)
