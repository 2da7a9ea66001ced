"""Local variables without a value: what is said of them, and that doubts are no faults."""

from __future__ import annotations

import numpy as np
import pytest
from engine_support import COMPILERS, array, pack

from nogpu import engine
from nogpu.engine import unset

SURE = {
    "total": "float v; for (int k = 0; k < n; k++) v += x[k]; y[0] = v;",
    "plain": "float v; y[0] = v + 1;",
    "count": "int v; for (int k = 0; k < n; k++) if (x[k] > 0) v++; y[0] = v;",
    "bins": "float v[8]; for (int k = 0; k < n; k++) v[k & 7] += x[k]; y[0] = v[i & 7];",
    "member": "float4 v; v.x = 1; y[0] = v.x + v.y;",
}
FINE = {
    "branch": "float v; if (i < n) v = x[i]; y[i] = v;",
    "guarded": "float v; if (i < n) v = x[i]; __syncthreads(); if (i < n) y[i] = v;",
    "largest": "float v; for (int k = 0; k < n; k++) if (k == 0 || x[k] > v) v = x[k]; y[0] = v;",
    "flagged": "bool any = false; float v; for (int k = 0; k < n; k++) if (x[k] > 0) { v = x[k]; "
               "any = true; } if (any) y[0] = v;",
    "cleared": "float v[4]; memset(v, 0, sizeof v); for (int k = 0; k < 4; k++) v[k] += x[k]; "
               "y[0] = v[1];",
    "by_pointer": "float v, w; sincosf(x[0], &v, &w); v += 1; y[0] = v + w;",
    "passed": "float v[2]; set(v); v[0] += 1; y[0] = v[0];",
    "shared": "__shared__ float v[32]; if (i < 32) v[i] = 0; __syncthreads(); "
              "if (i == 0) v[0] += 1; y[0] = 1;",
}  # fmt: skip
SOURCE = "__device__ void set(float* v) { v[0] = v[1] = 0; }\n" + "".join(
    f"__global__ void {name}(const float* x, float* y, int n) {{\nint i = threadIdx.x; (void)i;\n"
    f"{body}\n}}\n"
    for name, body in {**SURE, **FINE}.items()
)


@pytest.mark.parametrize("dialect", ["nvrtc", "nvcc"])
def test_each_kernel_alone_answers_for_its_variables(dialect: str) -> None:
    module = engine.compile(SOURCE, dialect=dialect)
    arguments = pack(array(np.ones(32, np.float32), "x"), array(np.ones(32, np.float32), "y"),
                     np.int32(8))  # fmt: skip
    for name in FINE:
        module.kernel(name).launch((1,), (32,), arguments)
    lines = SOURCE.split("\n")
    for name, body in SURE.items():
        with pytest.raises(engine.UninitialisedRead, match="the local variable 'v'") as caught:
            module.kernel(name).launch((1,), (32,), arguments)
        fault = caught.value
        assert fault.array == "v" and lines[fault.line - 1] == body and fault.text == body
        with engine.checks(uninitialised=False):
            module.kernel(name).launch((1,), (1,), arguments)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_compiler_tells(compiler: str) -> None:
    engine.use_compiler(compiler)
    try:
        module = engine.compile(f"// {compiler}\n{SOURCE}")
    finally:
        engine.use_compiler(None)
    told = {row[2] for row in module._first.description["unset"]}
    assert told <= set(SURE) and {"plain", "bins"} <= told


def test_source_that_renumbers_its_lines_is_left_alone() -> None:
    log = ("kernel.cu:3:5: warning: 'v' is used uninitialized [-Wuninitialized]\n"
           "kernel.cu:3:1: note: 'v' was declared here\n")  # fmt: skip
    text = "__global__ void k(float* y) {\n\nfloat v; y[0] = v;\n}\n"
    assert unset.find(log, text, "kernel.cu", ["k"]) == [["v", 3, "k"]]
    assert unset.find(log, "#line 7\n" + text, "kernel.cu", ["k"]) == []
    assert unset.find(log, text, "other.cu", ["k"]) == unset.find(log, text, "kernel.cu", []) == []
