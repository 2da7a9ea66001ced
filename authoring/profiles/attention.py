"""Measure attention in several ways on this machine's GPU, for the lesson "Attention".

    python -m authoring.profiles.attention [FILE]

needs CuPy, for some of its rows PyTorch, and for the counts Nsight Compute (`ncu` on the PATH).
Without FILE it writes `helpers/data/recorded/profiles/attention.json`, which the lesson shows.
"""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace

from helpers import bench
from helpers.attention import attention
from helpers.measure_attention import TORCH, measure, torch_sdpa

from . import profiling

MODULE = "authoring.profiles.attention"
SHAPE = 4, 16, 4096, 64  # batch, heads, length, numbers of a head
LENGTHS = 1024, 4096, 16384, 65536  # of one head
TENSOR = "sm__inst_executed_pipe_tensor_op_hmma.sum"  # products of 16 x 8 x 8 numbers, for TF32


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


def one_query() -> float:
    """Milliseconds of the lesson's kernel for a single query over the longest strip."""
    lesson = own_code()
    q = lesson.random_heads(1, 1, 1, 64)[0]
    k, v = lesson.random_heads(1, 1, LENGTHS[-1], 64)[:2]
    return bench(lesson.by_tiles, q, k, v, device="gpu").median * 1e3


def run() -> None:
    """Launch the kernels that `counted` counts."""
    lesson = own_code()
    arrays = lesson.random_heads(*SHAPE)
    profiling.launch_in_range("lesson", lesson.by_tiles, *arrays)
    try:
        import torch
    except ImportError:
        return
    profiling.launch_in_range("sdpa", torch_sdpa, *(torch.as_tensor(x) for x in arrays))


def counted() -> dict[str, dict[str, float | str]]:
    """What Nsight Compute counts for the lesson's kernel, and how PyTorch's float32 multiplies."""
    lesson, *sdpa = profiling.launches_in_ranges(MODULE, ["lesson", "sdpa"], TENSOR)
    found: dict[str, dict] = {"lesson": profiling.counts(lesson)}
    if sdpa:
        found["sdpa"] = {"kernel": profiling.kernel_name(sdpa[0]),
                         "tensor": sum(profiling.number(row[TENSOR]) for row in sdpa)}
    return found


def measured() -> dict:
    """What the lesson shows."""
    import cupy as cp

    content = {"cupy": cp.__version__, "shape": list(SHAPE), **rows(),
               "one_query_ms": one_query(), "counted": counted()}
    if "torch" in sys.modules:
        content["torch"] = sys.modules["torch"].__version__
    return content


if __name__ == "__main__":
    profiling.run_program("attention", measured, sys.argv[1:], run=run)
