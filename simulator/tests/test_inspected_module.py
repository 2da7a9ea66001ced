"""What `inspect` compiles of a kernel that nogpu has compiled already."""

import uuid

import nogpu

nogpu.install()

import cupy  # noqa: E402
import numpy as np  # noqa: E402

from nogpu.engine.module import Module  # noqa: E402
from nogpu.inspect import inspect  # noqa: E402

COUNTER = r"""
// %s
__device__ int launches = 0;
extern "C" __global__ void count(float* x, int n) {
    launches++;
    for (int i = 0; i < n; i++) x[i] += launches;
}
"""


def test_a_kernel_that_was_launched_is_not_compiled_again(monkeypatch):
    compiled = []
    plain = Module._run_compiler
    monkeypatch.setattr(Module, "_run_compiler",
                        lambda *args: compiled.append(args) or plain(*args))
    kernel = cupy.RawKernel(COUNTER % uuid.uuid4(), "count")
    x = cupy.zeros(40, np.float32)
    kernel((1,), (1,), (x, np.int32(40)))
    assert x.get()[39] == 1 and len(compiled) == 1
    assert inspect(kernel, 1, 1, (x, np.int32(40)), counters=False).ok
    assert len(compiled) == 1


def test_the_inspected_launch_has_variables_of_its_own():
    kernel = cupy.RawKernel(COUNTER % "variables", "count")
    x = cupy.zeros(40, np.float32)
    kernel((1,), (1,), (x, np.int32(40)))
    report = inspect(kernel, 1, 1, (x, np.int32(40)), counters=False)
    assert report.arrays["x"][0] == 2  # 1 from the launch before, and its own first launch
    kernel((1,), (1,), (x, np.int32(40)))
    assert x.get()[0] == 3  # the kernel's own second launch
