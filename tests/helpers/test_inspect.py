"""`helpers.inspect`: what the report says, on every backend the same; device printf."""

from __future__ import annotations

import os
import subprocess
import sys
import types

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import helpers
from helpers import backend, device_output, inspect
from nogpu import engine
from nogpu.inspect import sources


def kernel(code: str, name: str, options: tuple = ()) -> types.SimpleNamespace:
    """What `inspect` needs of a RawKernel."""
    return types.SimpleNamespace(code=code, name=name, options=options)


COPY = r"""
extern "C" __global__ void copy(const float* x, float* y, int n, int step) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * step;
    if (i < n) y[i] = x[i];
}"""
REVERSE = r"""
extern "C" __global__ void reverse(const float* x, float* y, int n) {
    __shared__ float tile[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n) tile[t] = x[i];
    BARRIER
    y[i] = tile[blockDim.x - 1 - t];
}"""


def run(step: int = 1, **options: object):
    x = np.arange(4096, dtype=np.float32)
    arguments = [x, np.zeros_like(x), np.int32(4096), np.int32(step)]
    return inspect(kernel(COPY, "copy"), 4096 // 256 // step, 256, arguments, **options)


def test_a_good_kernel():
    report = run(predict={"global_load_sectors": 512, "global_store_requests": 128})
    assert str(report) == """\
copy: 16 blocks of 256 threads. No fault found.

     4 | if (i < n) y[i] = x[i];
         global load x   128 requests  512 sectors      4.0 each, ideal 4.0
         global store y  128 requests  512 sectors      4.0 each, ideal 4.0

global memory loaded:         16,384 bytes asked for,         16,384 in sectors
global memory stored:         16,384 bytes asked for,         16,384 in sectors
No barrier.

                            predicted         counted
global_load_sectors               512             512
global_store_requests             128             128"""
    assert report.ok and report.raise_fault() is None
    np.testing.assert_array_equal(report.arrays["y"], np.arange(4096))
    assert list(report.arrays) == ["x", "y"]


def test_an_uncoalesced_kernel_is_marked():
    report = run(step=8, predict={"global_load_sectors": 64})
    text = str(report)
    assert "global load x   16 requests  512 sectors     32.0 each, ideal 4.0  <- 8.0x" in text
    assert "global_load_sectors              64             512  <- not as predicted" in text
    html = report._repr_html_()
    assert "<b>" in html and "i &lt; n" in html and "8.0x" in html


def test_a_race_shows_both_lines_and_goes_on():
    x = np.arange(1024, dtype=np.float32)
    arguments = [x, np.zeros_like(x), np.int32(1024)]
    code = REVERSE.replace("BARRIER", "// a barrier is missing here")
    report = inspect(kernel(code, "reverse"), 4, 256, arguments)
    text = str(report)
    assert text.startswith("reverse: 4 blocks of 256 threads. FAULT in line 5: race.\n")
    assert "->   5 |     if (i < n) tile[t] = x[i];" in text
    assert "->   7 |     y[i] = tile[blockDim.x - 1 - t];" in text
    assert "which thread (127, 0, 0) of" in text and "The other access is in line 7." in text
    assert isinstance(report.fault, engine.Race) and report.went_on
    assert report.counts.shared_load_requests == 32
    with pytest.raises(engine.Race):
        report.raise_fault()
    assert (x == np.arange(1024)).all()
    good = inspect(kernel(REVERSE.replace("BARRIER", "__syncthreads();"), "reverse"), 4, 256,
                   arguments)  # fmt: skip
    assert good.ok and good.counts.barriers == 4
    np.testing.assert_array_equal(good.arrays["y"], x.reshape(4, 256)[:, ::-1].ravel())


@pytest.mark.parametrize(
    "body, words",
    [
        ("x[i + 1] = 1;", ["access outside an array", "x[64]", "right behind its end"]),
        ("*(float*)(i * 4) = 1;", ["null pointer"]),
        ("*(float*)((char*)x + 2) = 1;", ["misaligned access", "is no multiple of 4"]),
        ("x[i] = 5 / (i / 99);", ["integer division by zero"]),
        ("assert(i < 40); x[i] = 1;", ["failed assertion", "i < 40"]),
        ("if (i > 5) __syncthreads(); else __syncthreads(); x[i] = 1;",
         ["barrier not reached together"]),
    ],
)
def test_a_fault_is_told_without_an_address_and_raises_nothing(body, words):
    code = f'extern "C" __global__ void bad(float* x) {{\n    int i = threadIdx.x;\n    {body}\n}}'
    report = inspect(kernel(code, "bad"), 1, 64, [np.zeros(64, np.float32)])
    text = " ".join(str(report).split())
    for word in words:
        assert word in text
    assert "FAULT in line 3" in text and "0x" not in text
    assert "nothing is counted" in text and not report.ok and report.counts is None
    assert set(report.arrays) == {"x"}


def test_blocks_that_race_are_told_in_their_order():
    # Where blocks run side by side, block 2 is done long before block 0.
    code = """extern "C" __global__ void sum(float* total, float* work) {
    for (int i = 0; i < (blockIdx.x == 0 ? 2000000 : 1); i++) work[blockIdx.x] += i;
    total[blockIdx.x % 2 + blockIdx.x / 4 * 2] += 1;
}"""
    arrays = [np.zeros(64, np.float32), np.zeros(64, np.float32)]
    text = " ".join(str(inspect(kernel(code, "sum"), 64, 1, arrays)).split())
    assert (
        "Thread (0, 0, 0) of block (2, 0, 0) reads 4 bytes at total[0], which thread (0, 0, 0) of "
        "block (0, 0, 0) wrote as well" in text
    )


def test_memory_that_holds_nothing_yet():
    code = """extern "C" __global__ void add(const float* x, float* y) {
    y[threadIdx.x] += x[threadIdx.x];
}"""
    arrays = [np.ones(32, np.float32), np.zeros(32, np.float32)]
    assert inspect(kernel(code, "add"), 1, 32, arrays).ok
    report = inspect(kernel(code, "add"), 1, 32, arrays, unwritten=["y"])
    assert "read of memory that nobody has written" in str(report) and "y[0]" in str(report)
    with pytest.raises(ValueError, match="x, y"):
        inspect(kernel(code, "add"), 1, 32, arrays, unwritten=["z"])


def test_a_kernel_that_does_not_end_is_stopped():
    code = """extern "C" __global__ void hang(volatile int* x) { while (x[0] == 0); }"""
    report = inspect(kernel(code, "hang"), 1, 1, [np.zeros(1, np.int32)], time_limit=0.3)
    assert "FAULT: time limit." in str(report)


# ---- arguments --------------------------------------------------------------------------------


def test_views_keep_their_strides_and_their_common_memory():
    code = """extern "C" __global__ void shift(const float* x, float* y, int n) {
    int i = threadIdx.x;
    float v = x[i];
    __syncthreads();
    if (i < n) y[i] = v;
}"""
    whole = np.arange(65, dtype=np.float32)
    report = inspect(kernel(code, "shift"), 1, 64, [whole[:64], whole[1:], np.int32(64)])
    assert report.ok
    np.testing.assert_array_equal(report.arrays["y"], np.arange(64))
    np.testing.assert_array_equal(report.arrays["x"], [0, *range(63)])
    assert report.counts.global_load_sectors == 8  # from a round address
    assert report.counts.global_store_sectors == 10  # from one float on: five sectors a warp
    alone = inspect(kernel(code, "shift"), 1, 32, [whole[:64], whole[1:].copy(), np.int32(32)])
    assert alone.counts.global_store_sectors == 4
    code = 'extern "C" __global__ void set(float* x) { x[threadIdx.x] = 1; }'
    assert inspect(kernel(code, "set"), 1, 32, [whole[1:]]).counts.global_store_sectors == 5
    columns = np.zeros((64, 4), np.float32)[:, 1]
    spread = """extern "C" __global__ void spread(float* x) { x[4 * threadIdx.x] = threadIdx.x; }"""
    report = inspect(kernel(spread, "spread"), 1, 64, [columns])
    assert report.ok and report.counts.global_store_sectors == 32
    np.testing.assert_array_equal(report.arrays["x"], np.arange(64))


@pytest.mark.parametrize("offset", range(0, 512, 52))
def test_neighbours_on_the_host_do_not_overlap_on_the_device(offset):
    both = bytearray(10_000)
    x = np.frombuffer(both, np.float32, 1000, offset)
    y = np.frombuffer(both, np.float32, 1000, offset + x.nbytes)
    code = """extern "C" __global__ void add(const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1000) y[i] = x[i] + 1;
}"""
    report = inspect(kernel(code, "add"), 4, 256, [x, y])
    assert report.ok
    assert (report.arrays["x"] == 0).all() and (report.arrays["y"] == 1).all()


def test_names_of_parameters_come_from_the_source():
    code = """
    // __global__ void k(int wrong)
    __device__ float f(float k);
    template <class T, int N>
    __global__ void k(const T* __restrict__ first, /* the second, */ T second[], int n = 3) {}
    """
    source = sources.Source(code, "k<float, 4>")
    assert sources.parameter_names(source, 3) == ["first", "second", "n"]
    assert sources.parameter_names(source, 2) == ["argument 0", "argument 1"]


def test_an_instance_of_a_template():
    code = """template <class T, int N> __global__ void times(T* x) { x[threadIdx.x] *= N; }"""
    report = inspect(kernel(code, "times<double, 3>"), 1, 32, [np.ones(32)])
    assert report.ok and (report.arrays["x"] == 3).all()
    assert report.counts.global_load_sectors == 8


def test_variables_of_the_module_can_be_given():
    code = """__constant__ float w[4]; __device__ int calls;
extern "C" __global__ void weigh(float* y) { y[threadIdx.x] = w[threadIdx.x]; calls = 1; }"""
    weights = np.arange(4, dtype=np.float32)
    report = inspect(kernel(code, "weigh"), 1, 4, [np.zeros(4, np.float32)],
                     variables={"w": weights})  # fmt: skip
    np.testing.assert_array_equal(report.arrays["y"], weights)
    assert report.counts.global_load_requests == 0  # constant memory is counted apart
    with pytest.raises(ValueError, match="w has 16 bytes in the source, and the value given has 4"):
        inspect(kernel(code, "weigh"), 1, 4, [weights], variables={"w": np.float32(1)})


def test_an_engine_kernel_and_its_options():
    module = engine.compile('extern "C" __global__ void set(int* x) { x[0] = N; }', ["-DN=7"])
    report = inspect(module.kernel("set"), 1, 1, [np.zeros(1, np.int32)])
    assert report.arrays["x"][0] == 7


def parameter(name: str, ctype: str, dtype: object = None, raw: bool = False) -> object:
    return types.SimpleNamespace(name=name, ctype=ctype, dtype=dtype, raw=raw)


def test_an_elementwise_kernel():
    leaky = types.SimpleNamespace(
        name="leaky", operation="y = x > 0 ? x : a * x", preamble="",
        in_params=(parameter("x", "T"), parameter("a", "T")), out_params=(parameter("y", "T"),),
    )  # fmt: skip
    x = np.linspace(-1, 1, 1000, dtype=np.float32)
    report = inspect(leaky, args=(x, np.float32(0.1)))
    np.testing.assert_array_equal(report.arrays["y"], np.where(x > 0, x, np.float32(0.1) * x))
    assert report.counts.global_load_requests == 32 and report.block == (128, 1, 1)
    smooth = types.SimpleNamespace(
        name="smooth", operation="y = i > 0 ? (x[i - 1] + x[i]) / 2 : x[i]", preamble="",
        in_params=(parameter("x", "T", raw=True),),
        out_params=(parameter("y", "float32", np.float32),),
    )  # fmt: skip
    report = inspect(smooth, args=(x, np.zeros_like(x)))
    assert report.ok
    np.testing.assert_allclose(report.arrays["y"][1:], (x[1:] + x[:-1]) / 2, rtol=1e-6)


def test_what_cannot_be_inspected_says_so():
    with pytest.raises(TypeError, match="cannot find the source of this SimpleNamespace"):
        inspect(types.SimpleNamespace(), 1, 1)
    with pytest.raises(TypeError, match="grid and block are missing"):
        inspect(kernel(COPY, "copy"))
    with pytest.raises(TypeError, match="argument 'x' is a str"):
        inspect(kernel(COPY, "copy"), 1, 1, ["x", "y", 1, 1])
    with pytest.raises(KeyError, match="global_load_sectors"):
        run(predict={"sectors": 4})


# ---- sources that the libraries do not keep -----------------------------------------------------


class SealedModule:
    """Like CuPy's RawModule: its functions do not know their source."""

    def __init__(self, code: str | None = None, *, options: tuple = (), backend: str = "nvrtc"):
        self.made_with = code

    def get_function(self, name: str) -> object:
        return types.SimpleNamespace(name=name, code=None)


class OldModule:
    """Like PyCUDA's SourceModule."""

    def __init__(self, source: str, nvcc: str = "nvcc", options: list | None = None,
                 no_extern_c: bool = False):  # fmt: skip
        self.made_with = source

    def get_function(self, name: str) -> object:
        return object()


def test_a_kernel_that_was_launched_is_not_compiled_again_but_for_counting(cp, monkeypatch):
    compiled = []
    run_compiler = engine.module.Module._run_compiler

    def note(self, arguments, text):
        compiled.append("-DCUSIM_COUNTED=1" in arguments)
        return run_compiler(self, arguments, text)

    monkeypatch.setattr(engine.module.Module, "_run_compiler", note)
    code = COPY.replace("copy", f"copy_{os.getpid()}")  # one that no cache has
    raw = cp.RawKernel(code, f"copy_{os.getpid()}")
    x = cp.arange(64, dtype=cp.float32)
    arguments = (x, cp.empty_like(x), np.int32(64), np.int32(1))
    raw((1,), (64,), arguments)
    assert inspect(raw, 1, 64, arguments, counters=False).ok and compiled == [False]
    assert inspect(raw, 1, 64, arguments).counts.launches == 1 and compiled == [False, True]


def test_denormal_numbers_are_what_they_are_for_cupy(cp):
    code = """extern "C" __global__ void half(float* x) { x[0] *= 0.5f; }"""
    x = cp.full(1, np.finfo(np.float32).tiny, dtype=cp.float32)
    report = inspect(cp.RawKernel(code, "half"), 1, 1, (x,))
    assert report.arrays["x"][0] == 0


def test_an_operation_may_end_with_a_comment(cp):
    double = cp.ElementwiseKernel("T x", "T y", "y = x + x  // twice\n", "double_it")
    report = inspect(double, args=(cp.arange(4.0),))
    assert report.ok and list(report.arrays["y"]) == [0, 2, 4, 6]


def test_record_sources_makes_modules_remember(monkeypatch):
    cupy, pycuda = types.ModuleType("cupy"), types.ModuleType("pycuda")
    compiler = types.ModuleType("pycuda.compiler")
    cupy.RawModule, compiler.SourceModule = SealedModule, OldModule
    import importlib.machinery

    pycuda.__spec__ = importlib.machinery.ModuleSpec("pycuda", None)
    for module in (cupy, pycuda, compiler):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    sources.record_sources()
    sources.record_sources("pycuda")
    made = cupy.RawModule(code=COPY, options=("-DN=3",))
    assert isinstance(made, SealedModule) and made.made_with == COPY
    found = sources.find_source(made.get_function("copy"))
    assert found == sources.Source(COPY, "copy", ("-ftz=true", "-DN=3"), "nvrtc")
    old = compiler.SourceModule("__global__ void f(int* x) {\n    x[64] = 1;\n}")
    report = inspect(old.get_function("f"), 1, 1, [np.zeros(64, np.int32)])
    assert "FAULT in line 2: access outside an array" in str(report)
    assert "->   2 |     x[64] = 1;" in str(report)


# ---- pictures ---------------------------------------------------------------------------------


def test_pictures_say_the_same_as_their_text(capsys):
    report = run(step=8)
    report.draw()
    figure = plt.gcf()
    assert all(round(10 * inches, 6) % 1 == 0 for inches in figure.get_size_inches())
    numbers = [text.get_text() for text in figure.axes[0].texts]
    assert [str(lane) in numbers for lane in range(32)] == [True] * 32
    assert capsys.readouterr().out == """\
Line 4 stores to y, 4 bytes a lane:
  warp 0 of block (0, 0, 0): 32 lanes, 32 sectors of 32 bytes for 128 bytes;
    lane 0 at byte 0, each next lane 32 bytes on.
  warp 1 of block (0, 0, 0): 32 lanes, 32 sectors of 32 bytes for 128 bytes;
    lane 0 at byte 1,024, each next lane 32 bytes on.
"""
    plt.close("all")


def test_banks_are_drawn_with_their_conflicts(capsys):
    code = """extern "C" __global__ void column(float* y) {
    __shared__ float tile[32][32];
    for (int i = 0; i < 32; i++) tile[i][threadIdx.x] = i;
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x][0];
}"""
    report = inspect(kernel(code, "column"), 1, 32, [np.zeros(32, np.float32)])
    report.draw(array="tile", line=5)
    out = capsys.readouterr().out
    assert "32 lanes, 1 bank, up to 32 words in one bank" in out
    assert "+24" in [text.get_text() for text in plt.gcf().axes[0].texts]
    report.draw(array="tile", line=3, time=2)
    assert "lane 0 at byte 256, each next lane 4 bytes on" in capsys.readouterr().out
    with pytest.raises(ValueError, match="line 5"):
        report.draw(line=4)
    plt.close("all")


def test_nothing_to_draw(capsys):
    code = """extern "C" __global__ void bad(float* x) { x[99] = 1; }"""
    inspect(kernel(code, "bad"), 1, 1, [np.zeros(4, np.float32)]).draw()
    printed = capsys.readouterr().out  # the fault is the reason, so it is what the reader sees
    assert "access outside an array" in printed and "nothing is counted" in printed
    nothing = """extern "C" __global__ void idle(float* x) { }"""
    inspect(kernel(nothing, "idle"), 1, 1, [np.zeros(4, np.float32)]).draw()
    assert capsys.readouterr().out.startswith("idle: nothing to draw")


def test_without_counters_only_faults_are_looked_for():
    code = """extern "C" __global__ void bad(float* x) { x[threadIdx.x] = 1; }"""
    x = np.zeros(4, np.float32)
    assert inspect(kernel(code, "bad"), 1, 5, [x], counters=False).fault is not None
    report = inspect(kernel(code, "bad"), 1, 4, [x], counters=False)
    assert report.ok and report.counts is None and report.arrays["x"].sum() == 4


# ---- printf -----------------------------------------------------------------------------------


# Each in a process of its own: what `device_output` does depends on the backend that was started
# in the process, and on what else the process writes to its standard output.

SAYS = """
import os
import helpers
from helpers import backend, device_output

helpers.start()
import cupy as cp

hello = cp.RawKernel(r'''
extern "C" __global__ void hello(int n) { printf("thread %d of %d\\n", threadIdx.x, n); }
''', "hello")
print("begin")
"""


def say(script: str, backend: str = "simulator") -> list[str]:
    """The lines that a script prints after the backend's."""
    done = subprocess.run([sys.executable, "-c", SAYS + script], capture_output=True, text=True,
                          env={**os.environ, "COURSE_BACKEND": backend}, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("begin\n", 1)[1].splitlines()


def test_device_output_shows_what_kernels_print():
    assert say("""
with device_output():
    hello((1,), (2,), (2,))
    print("python")
print("behind")
""") == ["python", "thread 0 of 2", "thread 1 of 2", "behind"]


def test_device_output_gives_the_printer_back_after_an_error():
    assert say("""
try:
    with device_output():
        hello((1,), (1,), (1,))
        1 / 0
except ZeroDivisionError:
    print("error")
hello((1,), (1,), (2,))
cp.cuda.Device().synchronize()
""") == ["thread 0 of 1", "error", "thread 0 of 2"]


def test_device_output_of_a_gpu_is_what_lands_on_descriptor_1():
    assert say("""
backend.is_simulated = lambda cupy: False
with device_output():
    os.write(1, b"from the driver\\n")
print("after it", flush=True)
try:
    with device_output():
        os.write(1, b"before the error\\n")
        1 / 0
except ZeroDivisionError:
    pass
os.write(1, b"behind\\n")
""") == ["from the driver", "after it", "before the error", "behind"]


@pytest.mark.skipif(backend.find_gpu() is None, reason="needs a GPU")
def test_device_output_on_a_gpu():
    lines = say("""
import sys
with device_output():
    hello((1,), (2,), (2,))
hello((1,), (1,), (3,))  # without the block: past Python, at the next synchronisation
sys.stdout.flush()
cp.cuda.Device().synchronize()
""", "cuda")
    assert sorted(lines[:2]) == ["thread 0 of 2", "thread 1 of 2"]
    assert lines[2:] == ["thread 0 of 3"]


def test_the_package_offers_them():
    assert helpers.inspect is inspect and helpers.device_output is device_output
