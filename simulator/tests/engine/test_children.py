"""Kernels that kernels launch: after their parent, in order, with checks and with faults."""

from __future__ import annotations

import numpy as np
import pytest
from engine_support import array, launch, read

from nogpu import engine

SOURCE = r"""
__device__ int launched = 0;
template <class T> __global__ void fill(T* out, T value) { out[threadIdx.x] = value; }
__global__ void stamp(int* out, int value) { out[threadIdx.x] = value + blockIdx.x; }
__global__ void leaf(int* out, int where) {
    __shared__ int parts[32];
    parts[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&out[where], parts[blockDim.x - 1]);
        atomicAdd(&launched, 1);
    }
}
extern "C" __global__ void root(int* out, int n) {
    int t = threadIdx.x;
    if (t < n) leaf<<<t + 1, 32>>>(out, t);
    out[t] = 0;  // the children run later
}
extern "C" __global__ void count(int* out) { out[0] = launched; }
extern "C" __global__ void down(int depth, int* trace, const char* text) {
    extern __shared__ int dynamic[];
    dynamic[depth] = depth;
    trace[depth] = dynamic[depth] * depth + (text != nullptr);
    if (depth < 5) down<<<dim3(1), 1, 32, cudaStreamFireAndForget>>>(depth + 1, trace, "a<<<b");
}
extern "C" __global__ void typed(double* out) { fill<double><<<1, 4>>>(out, 2.5); }
extern "C" __global__ void outside(int* out) { leaf<<<1, 32>>>(out, 8); }
extern "C" __global__ void racing(int* out) {
    stamp<<<4, 8>>>(out, 1);
    stamp<<<1, 8>>>(out, 2);
}
extern "C" __global__ void too_large(int* out) {
    fill<int><<<1, 2048>>>(out, 1);
    fill<int><<<0, 8>>>(out, 1);
    out[0] = 3;
}
"""


@pytest.fixture(scope="module")
def module() -> engine.Module:
    """The kernels above, relocatable."""
    return engine.compile(SOURCE, ["-rdc=true"])


def zeros(n: int, dtype: object = np.int32) -> engine.Allocation:
    return array(np.zeros(n, dtype), "out")


@pytest.mark.parametrize("checked", [True, False])
def test_children_run_after_their_parent(module, checked):
    out, before, after = zeros(8), zeros(1), zeros(1)
    with engine.checks(checked):
        launch(module.kernel("count"), 1, 1, before)
        launch(module.kernel("root"), 1, 8, out, np.int32(6))
        launch(module.kernel("count"), 1, 1, after)
    assert read(out, np.int32).tolist() == [31 * (t + 1) for t in range(6)] + [0, 0]
    assert read(after, np.int32)[0] - read(before, np.int32)[0] == 1 + 2 + 3 + 4 + 5 + 6


def test_a_kernel_launches_itself_with_dynamic_shared_memory(module):
    out = zeros(6)
    launch(module.kernel("down"), 1, 1, np.int32(0), out, np.uint64(0), shared=32)
    assert read(out, np.int32).tolist() == [0, 2, 5, 10, 17, 26]


def test_an_instance_of_a_template_is_launched(module):
    out = zeros(4, np.float64)
    launch(module.kernel("typed"), 1, 1, out)
    assert read(out, np.float64).tolist() == [2.5] * 4


def test_a_childs_fault_is_found_and_names_line_and_array(module):
    with pytest.raises(engine.GlobalOutOfBounds, match=r"out\[8\]") as caught:
        launch(module.kernel("outside"), 1, 1, zeros(8))
    assert "atomicAdd(&out[where]" in str(caught.value)


def test_one_child_after_another_is_no_race(module):
    with pytest.raises(engine.Race):  # within the first child: four blocks write one place
        launch(module.kernel("racing"), 1, 1, zeros(8))
    once = engine.compile(SOURCE.replace("<<<4, 8>>>", "<<<1, 8>>>"), ["-dc"])
    out = zeros(8)
    launch(once.kernel("racing"), 1, 1, out)
    assert read(out, np.int32).tolist() == [2] * 8


def test_a_launch_that_a_gpu_refuses_does_nothing(module):
    out = zeros(8)
    launch(module.kernel("too_large"), 1, 1, out)
    assert read(out, np.int32).tolist() == [3] + [0] * 7


def test_without_relocatable_code_it_is_refused_by_name():
    with pytest.raises(engine.CompileError, match="<<< >>>.*with the option -rdc=true"):
        engine.compile(SOURCE)
