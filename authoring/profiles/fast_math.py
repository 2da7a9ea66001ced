"""Measure what nvcc's `--use_fast_math` gains and costs on this machine's GPU.

    python -m authoring.profiles.fast_math [FILE]

needs CuPy and PyCUDA. The errors are those against NumPy's float64 at the same float32 arguments;
the times are medians of `helpers.bench`. Without FILE it writes
`helpers/data/recorded/profiles/fast_math.json`, which the lesson on PyCUDA's dynamic compilation
shows.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import Any

import numpy as np

from helpers import bench
from helpers.generate import render

from .profiling import run_program

NUMBERS, ROUNDS = 2**26, 64
TEMPLATE = """
__global__ void apply(const float4* x, float4* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = x[i];
    for (int k = 0; k < {{ rounds }}; k++) {
{% for part in "xyzw" %}
        { float v_ = v.{{ part }} {% if rounds > 1 %}+ 1e-3f * k{% endif %};
          v.{{ part }} = {{ expression }}; }
{% endfor %}
    }
    y[i] = v;
}
"""
# The function in C and in NumPy, and the range of the arguments.
FUNCTIONS = {
    "sinf": ("sinf(v_)", np.sin, (-3.14159, 3.14159)),
    "sinf, far": ("sinf(v_)", np.sin, (-10_000, 10_000)),
    "expf": ("expf(v_)", np.exp, (-20, 20)),
    "logf": ("logf(v_)", np.log, (0.9, 1.1)),
    "1 / x": ("1 / v_", lambda v: 1 / v, (0.1, 10)),
    "sqrtf": ("sqrtf(v_)", np.sqrt, (0.1, 10)),
    "tanhf": ("tanhf(v_)", np.tanh, (-3, 3)),
}


def measure(expression: str, fast: bool, x: Any, rounds: int) -> tuple[float, np.ndarray]:
    """Milliseconds of a launch, and what it computed."""
    import pycuda.gpuarray as gpuarray
    from pycuda.compiler import SourceModule

    source = render(TEMPLATE, expression=expression, rounds=rounds)
    module = SourceModule(source, options=["--use_fast_math"] if fast else [])
    y = gpuarray.empty_like(x)
    launch = partial(module.get_function("apply"), x, y, np.int32(x.size // 4),
                     block=(256, 1, 1), grid=(-(-x.size // 1024), 1))
    return bench(launch, device="gpu").median * 1e3, y.get()


def measured() -> dict:
    """All functions, plain and fast."""
    import pycuda
    import pycuda.autoprimaryctx  # noqa: F401
    import pycuda.compiler
    import pycuda.gpuarray as gpuarray

    rng, rows = np.random.default_rng(9), []
    for name, (expression, exact, (low, high)) in FUNCTIONS.items():
        host = rng.uniform(low, high, NUMBERS).astype(np.float32)
        x, wanted = gpuarray.to_gpu(host), exact(host.astype(np.float64))
        row = {"function": name, "from": low, "to": high}
        for option, fast in (("plain", False), ("fast", True)):
            once, got = measure(expression, fast, x, 1)
            often, _ = measure(expression, fast, x, ROUNDS)
            error = np.abs(got - wanted)
            row[option] = {
                "absolute": float(error.max()), "once_ms": once, "often_ms": often,
                "relative": float((error / np.maximum(np.abs(wanted), 1e-30)).max()),
            }
        rows.append(row)
        print(row, flush=True)
    nvcc = pycuda.compiler.get_nvcc_version("nvcc")
    return {
        "pycuda": pycuda.VERSION_TEXT, "nvcc": re.search("release (.*)", nvcc)[1],
        "numbers": NUMBERS, "rounds": ROUNDS, "rows": rows,
    }


if __name__ == "__main__":
    run_program("fast_math", measured, sys.argv[1:])
