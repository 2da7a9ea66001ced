"""Measure attention in several ways on this machine's GPU and write what lesson 12 shows.

    python -m helpers.data.measure_attention [FILE]

times einsum, matmul, the lesson's kernel, the tuned ones and, where it is installed, PyTorch, with
their peak memory and errors, and counts the lesson's kernel under Nsight Compute (`ncu` on the
PATH). FILE is `helpers/data/recorded/profiles/lesson12.json` unless given; `$OUT/lesson12.json`
where OUT is set.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from .profile_kernels import METRICS, under_ncu

FILE = Path(__file__).parent / "recorded" / "profiles" / "lesson12.json"
SHAPE = 4, 16, 4096, 64  # batch, heads, n, head size
LONG = 1, 1, 65536, 64
REPEATS = 20
Array = Any  # cupy.ndarray or torch.Tensor


@dataclass(frozen=True)
class Way:
    """One way to compute attention: `call(q, k, v)` on the arrays that `prepare` makes."""

    name: str
    call: Callable[[Array, Array, Array], Array]
    torch: bool = False


def heads(shape: tuple[int, ...], dtype: str) -> list[Array]:
    """Queries, keys and values, normally distributed, the same at each call."""
    import cupy as cp

    rng = cp.random.default_rng(12)
    return [rng.standard_normal(shape, dtype=cp.float32).astype(dtype) for _ in range(3)]


def by_lesson(q: Array, k: Array, v: Array) -> Array:
    """The lesson's own kernel."""
    import cupy as cp

    from .. import kernels

    batch, count, n, d = q.shape
    options = (f"-DD={d}", *(("-DHALF",) if q.dtype == np.float16 else ()))
    kernel = cp.RawKernel(kernels.source("attention"), "attention", options=options)
    out, side = cp.empty_like(q), 64 if d <= 64 else 32
    kernel((-(-n // side), batch * count), (16, 8),
           (q, k, v, out, np.int32(n), np.int32(n), np.float32(d**-0.5), np.int32(0)))
    return out


def ways() -> Iterator[Way]:
    """What is compared, in the order of the table."""
    import cupy as cp

    from .. import network
    from ..attention import attention

    def einsum(q: Array, k: Array, v: Array) -> Array:
        scores = cp.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
        return cp.einsum("bhij,bhjd->bhid", network.softmax(scores, cp), v)

    def matmul(q: Array, k: Array, v: Array) -> Array:
        return network.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]), cp) @ v

    yield Way("einsum", einsum)
    yield Way("matmul", matmul)
    yield Way("lesson", by_lesson)
    yield Way("tuned", attention)
    try:
        import torch
    except ImportError:
        return

    def by_hand(q: Array, k: Array, v: Array) -> Array:
        return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1) @ v

    yield Way("PyTorch by hand", by_hand, torch=True)
    yield Way("PyTorch scaled-dot-product", torch.nn.functional.scaled_dot_product_attention,
              torch=True)


def milliseconds(call: Callable[[], object], torch: bool) -> float:
    """Median of single calls, each between two events on the library's stream."""
    if torch:
        from torch import cuda

        def event() -> Any:
            return cuda.Event(enable_timing=True)

        elapsed = cuda.Event.elapsed_time
    else:
        import cupy

        event, elapsed = cupy.cuda.Event, cupy.cuda.get_elapsed_time
    for _ in range(3):
        call()
    taken = []
    for _ in range(REPEATS):
        before, behind = event(), event()
        before.record()
        call()
        behind.record()
        behind.synchronize()
        taken.append(elapsed(before, behind))
    return statistics.median(taken)


def peak(call: Callable[[], Array], torch: bool) -> int:
    """Most bytes that the library's own pool held during a call, without inputs and result."""
    if torch:
        from torch import cuda

        cuda.empty_cache()
        cuda.reset_peak_memory_stats()
        before = cuda.memory_allocated()
        result = call()
        return cuda.max_memory_allocated() - before - result.nbytes
    import cupy

    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        result = call()
        return pool.total_bytes() - -(-result.nbytes // 512) * 512


def exact(q: Array, k: Array, v: Array) -> Array:
    """The definition in float64, head by head."""
    import cupy as cp

    from .. import network

    out = cp.empty(q.shape, cp.float64)
    for where in np.ndindex(q.shape[:2]):
        a, b, c = (x[where].astype(cp.float64) for x in (q, k, v))
        out[where] = network.softmax(a @ b.T / math.sqrt(q.shape[-1]), cp) @ c
    return out


def table() -> list[dict[str, object]]:
    """A row for each way and dtype."""
    import cupy as cp

    rows = []
    batch, count, n, d = SHAPE
    for dtype in ("float32", "float16"):
        arrays = heads(SHAPE, dtype)
        truth = exact(*arrays)
        for way in ways():
            given = arrays
            if way.torch:
                import torch

                given = [torch.from_dlpack(x) for x in arrays]
            result = cp.asarray(way.call(*given))
            error = abs(result - truth).max()
            del result

            def call(way: Way = way, given: list = given) -> Array:
                return way.call(*given)

            ms = milliseconds(call, way.torch)
            rows.append({"dtype": dtype, "name": way.name, "ms": round(ms, 4),
                         "tflops": round(4 * batch * count * n * n * d / ms / 1e9, 2),
                         "peak": peak(call, way.torch), "error": float(f"{float(error):.2e}")})
            print(rows[-1], flush=True)
            cp.get_default_memory_pool().free_all_blocks()
            if way.torch:
                torch.cuda.empty_cache()
    return rows


def others() -> list[dict[str, object]]:
    """The tuned kernels for other sizes, causal and long, beside PyTorch where it is installed."""
    from ..attention import attention

    rows = []
    batch, count, n, _ = SHAPE
    for dtype in ("float32", "float16"):
        for shape, causal in [(LONG, False), *(((batch, count, n, d), causal)
                                               for d in (32, 64, 128) for causal in (False, True))]:
            arrays = heads(shape, dtype)
            row = {"dtype": dtype, "shape": shape, "causal": causal}
            row["ms"] = round(milliseconds(lambda: attention(*arrays, causal), False), 4)  # noqa: B023
            row["peak"] = peak(lambda: attention(*arrays, causal), False)  # noqa: B023
            try:
                import torch
            except ImportError:
                pass
            else:
                given = [torch.from_dlpack(x) for x in arrays]
                function = torch.nn.functional.scaled_dot_product_attention
                row["torch_ms"] = round(milliseconds(
                    lambda: function(*given, is_causal=causal), True), 4)  # noqa: B023
            rows.append(row)
            print(row, flush=True)
    return rows


def counted() -> dict[str, float]:
    """What Nsight Compute counts of the lesson's kernel, by the names of METRICS."""
    (row,) = under_ncu(["lesson"], list(METRICS.values()), "helpers.data.measure_attention")
    found = {}
    for short, metric in METRICS.items():
        try:
            value = float(row[metric].replace(",", ""))
        except (KeyError, ValueError):
            continue
        found[short] = int(value) if value == int(value) else round(value, 2)
    return found


def run() -> None:
    """Launch the lesson's kernel twice, the second time in an NVTX range."""
    import cupy as cp
    from cupyx.profiler import time_range

    arrays = heads(SHAPE, "float32")
    by_lesson(*arrays)
    cp.cuda.Device().synchronize()
    with time_range("lesson"):
        by_lesson(*arrays)
        cp.cuda.Device().synchronize()


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
    try:
        import torch

        version = torch.__version__
    except ImportError:
        version = None
    content = {
        "gpu": cp.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "date": date.today().isoformat(),
        "cupy": cp.__version__,
        "torch": version,
        "shape": SHAPE,
        "rows": table(),
        "others": others(),
        "counted": counted(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
