"""What `inspect` compiles of a kernel that nogpu has compiled already."""

import uuid

import nogpu

nogpu.install()

import cupy  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

from nogpu import engine  # noqa: E402
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


SCALED = r"""
extern "C" __global__ void scale(float* x, float by, int n) {
    if (threadIdx.x < n) x[threadIdx.x] *= by;
}
"""


@pytest.mark.parametrize(
    ("by", "n", "told", "result"),
    [
        (np.float32(2.5), 2, [], [2.5, 2.5]),
        (2.5, 2, ["by: 8 bytes are passed (float), 4 declared: the kernel reads the first 4"],
         [0, 0]),
        (np.float32(2.5), np.int64(2),
         ["n: 8 bytes are passed (int64), 4 declared: the kernel reads the first 4"], [2.5, 2.5]),
        (np.float16(2.5), 0,
         ["by: 2 bytes are passed (float16), 4 declared: the kernel reads on in what lies behind"],
         [1, 1]),
        (np.float32(2.5), 2**40,
         ["n: 8 bytes are passed (int), 4 declared: the kernel reads the first 4"], [1, 1]),
    ],
)  # fmt: skip
def test_arguments_of_another_size_are_named_and_their_bytes_read_as_they_lie(by, n, told, result):
    kernel = cupy.RawKernel(SCALED, "scale")
    x = cupy.ones(2, np.float32)
    report = inspect(kernel, 1, 2, (x, by, n), counters=False)
    assert report.misfits == told and report.arrays["x"].tolist() == result
    assert all(line in str(report) for line in told)
    if by != np.float16(2.5):  # on a GPU, too, what lies behind those two bytes is unknown
        kernel((1,), (2,), (x, by, n))
        assert x.tolist() == result


def test_arguments_too_many_or_too_few_are_counted():
    kernel, x = cupy.RawKernel(SCALED, "scale"), cupy.ones(2, np.float32)
    report = inspect(kernel, 1, 2, (x, np.float32(2), 2, 3), counters=False)
    assert report.misfits == ["4 arguments are passed, the kernel takes 3"]
    assert report.arrays["argument 0"].tolist() == [2, 2]
    with pytest.raises(engine.InvalidLaunch, match="takes 3 arguments, and 2 were passed"):
        inspect(kernel, 1, 2, (x, np.float32(2)), counters=False)


def test_in_pycuda_a_wrong_size_shifts_what_follows():
    from pycuda import driver, gpuarray
    from pycuda.compiler import SourceModule

    driver.init()
    context = driver.Device(0).make_context()
    try:
        kernel = SourceModule(SCALED.replace('extern "C"', "")).get_function("scale")
        x = gpuarray.to_gpu(np.ones(2, np.float32))
        arguments = (x, np.float64(2.5), np.int32(2))
        report = inspect(kernel, 1, 2, arguments, counters=False)
        assert report.misfits == [
            "by: 8 bytes are passed (float64), 4 declared: the kernel reads the first 4, and all "
            "that follow are shifted"]  # fmt: skip
        assert report.arrays["x"].tolist() == [0, 0]  # n is the other half of 2.5
        right = inspect(kernel, 1, 2, (x, np.float32(2.5), np.int32(1)), counters=False)
        assert right.misfits == [] and right.arrays["x"].tolist() == [2.5, 1]
        with pytest.raises(driver.LaunchError, match="too many resources"):
            kernel(*arguments, grid=(1, 1), block=(2, 1, 1))
    finally:
        context.pop()
