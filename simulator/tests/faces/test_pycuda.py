"""The simulator's PyCUDA: what the recorded behaviours do not reach."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nogpu import engine

ROOT = Path(__file__).parents[2]
FACES = ROOT / "src" / "nogpu" / "faces"


@pytest.fixture(scope="module")
def drv(cp):
    """pycuda.driver with the primary context current."""
    import pycuda.driver as driver

    assert FACES in Path(driver.__file__).parents
    driver.init()
    context = driver.Device(0).retain_primary_context()
    context.push()
    yield driver
    driver.Context.pop()
    cp.cuda.Device(0).use()  # for the tests of other files that this process runs

@pytest.fixture(scope="module")
def gpuarray(drv):
    from pycuda import gpuarray

    return gpuarray


def source_module(*args, **kwargs):
    from pycuda.compiler import SourceModule

    return SourceModule(*args, **kwargs)


# memory


def test_a_kernel_that_leaves_its_allocation_is_caught_and_named(drv):
    code = "__global__ void fill(float* values, int n) { values[threadIdx.x + n] = 1; }"
    fill = source_module(code).get_function("fill")
    a = drv.mem_alloc(16)
    fill(a, np.int32(1), block=(4, 1, 1))
    with pytest.raises(engine.GlobalOutOfBounds, match="values"):
        drv.Context.synchronize()
    drv.memset_d32(a, 0, 4)  # the process, and the memory, survive
    assert drv.from_device(a, 4, np.float32).tolist() == [0, 0, 0, 0]


def test_memory_comes_back_with_its_object(drv):
    before = engine.usage()[0]
    a = drv.mem_alloc(1 << 20)
    assert engine.usage()[0] >= before + (1 << 20)
    del a
    gc.collect()
    drv.Context.synchronize()
    drv.mem_alloc(16).free()
    assert engine.usage()[0] <= before


def test_a_copy_too_far_says_which_allocation_is_too_small(drv):
    a = drv.mem_alloc(16)
    with pytest.raises(drv.LogicError, match="cuMemcpyHtoD failed: invalid argument") as caught:
        drv.memcpy_htod(a, np.zeros(5, np.float32))
    assert "16 bytes" in caught.value.__notes__[0]


def test_what_is_freed_twice_and_how_large_a_block_may_be_is_said(drv, cp):
    from pycuda.compiler import SourceModule

    memory = drv.mem_alloc(8)
    kernel = SourceModule("__global__ void k(float* x) { }").get_function("k")
    raw = cp.RawKernel("extern \"C\" __global__ void k() { }", "k")
    address = cp.cuda.runtime.malloc(8)
    with pytest.raises(drv.LogicError) as too_large:
        kernel(memory, block=(2048, 1, 1))
    with pytest.raises(cp.cuda.driver.CUDADriverError) as also_too_large:
        raw((1,), (2048,), ())
    memory.free()
    cp.cuda.runtime.free(address)
    with pytest.raises(drv.LogicError) as freed:
        memory.free()
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError) as also_freed:
        cp.cuda.runtime.free(address)
    for error, words in (
        (too_large, "block of (2048, 1, 1): 1 to 1,024"), (also_too_large, "must be 1 to 1,024"),
        (freed, "freed a second time"), (also_freed, "the array of 8 bytes"),
    ):  # fmt: skip
        assert words in error.value.__notes__[0] and "invalid" in str(error.value)


def test_memory_never_written_is_reported_when_a_kernel_reads_it(drv):
    k = source_module("__global__ void k(float* y, float* x) { y[0] = x[0]; }").get_function("k")
    k(drv.mem_alloc(4), drv.mem_alloc(4), block=(1, 1, 1))
    with pytest.raises(engine.UninitialisedRead):
        drv.Context.synchronize()


@pytest.mark.parametrize("order", ["C", "F"])
def test_pagelocked_arrays_have_their_order_and_count_as_pinned(drv, order):
    from cupy_backends.cuda.api import runtime
    from pycuda import _memory

    x = drv.pagelocked_zeros((3, 5), np.int16, order)
    assert x.flags.c_contiguous == (order == "C") and x.sum() == 0
    assert runtime._is_pinned(_memory.HostBuffer(x).address)
    assert runtime._is_pinned(_memory.HostBuffer(x.T).address)
    assert not runtime._is_pinned(_memory.HostBuffer(np.zeros(4)).address)


@pytest.mark.parametrize("device", [True, False])
def test_the_garbage_collector_leaves_a_pool_its_blocks(drv, device: bool):
    from cupy_backends.cuda.api import runtime
    from pycuda import tools

    pool = tools.DeviceMemoryPool() if device else tools.PageLockedMemoryPool()
    gc.collect()
    block = pool.allocate(1000) if device else pool.allocate(1000, np.uint8).base
    address = int(block) if device else block.__array_interface__["data"][0]
    circle = [block]
    circle.append(circle)
    del circle, block
    gc.collect()
    assert (pool.held_blocks, pool.active_blocks, pool.managed_bytes) == (1, 0, 1023)
    assert engine.lookup(address) if device else runtime._is_pinned(address)
    again = pool.allocate(1000) if device else pool.allocate(1000, np.uint8)
    assert (int(again) if device else again.ctypes.data) == address
    assert (pool.held_blocks, pool.active_blocks) == (0, 1)
    del again
    pool.stop_holding()
    assert not (engine.lookup(address) if device else runtime._is_pinned(address))


@pytest.mark.parametrize("prepared", [True, False])
def test_a_queued_launch_keeps_no_argument(drv, prepared: bool):
    from pycuda import compiler, tools

    wait = compiler.SourceModule("""
__global__ void wait(float* x, long long clocks) {
    long long begin = clock64();
    while (clock64() - begin < clocks) { }
    x[0] = 7;
}
""").get_function("wait").prepare("Pq")
    pool, end = tools.DeviceMemoryPool(), drv.Event()
    block = pool.allocate(1000)
    address = int(block)
    if prepared:
        wait.prepared_call((1, 1), (1, 1, 1), block, 2 * 10**8)
    else:
        wait(block, np.int64(2 * 10**8), block=(1, 1, 1))
    end.record()
    del block
    other = pool.allocate(1000)  # the next work in the queue is behind the kernel
    assert not end.query() and int(other) == address
    drv.memset_d32(address, 5, 1)
    found = np.empty(1, np.int32)
    drv.memcpy_dtoh(found, other)
    assert found[0] == 5


def test_cupys_pinned_memory_counts_as_pinned_here(cp, drv):
    cupyx = pytest.importorskip("cupyx")
    if not hasattr(cupyx, "zeros_pinned"):
        pytest.skip("no pinned memory in this CuPy")
    from cupy_backends.cuda.api import runtime
    from pycuda import _memory

    assert runtime._is_pinned(_memory.HostBuffer(cupyx.zeros_pinned(4, dtype=np.float32)).address)


def test_boxes_are_copied_by_rows_and_planes(drv):
    x = np.arange(2 * 3 * 4, dtype=np.int32).reshape(2, 3, 4)
    y = np.full((2, 2, 2), -1, np.int32)
    a = drv.to_device(x)
    box = drv.Memcpy3D()
    box.set_src_device(a)
    box.set_dst_host(y)
    box.src_pitch, box.src_height, box.dst_pitch, box.dst_height = 16, 3, 8, 2
    box.src_x_in_bytes, box.src_y = 4, 1
    box.width_in_bytes, box.height, box.depth = 8, 2, 2
    box()
    assert np.array_equal(y, x[:, 1:, 1:3])


# launches


def test_arguments_are_packed_as_a_struct_in_c_has_them(drv):
    from pycuda.driver import _arguments

    _, packed, _ = _arguments((np.int8(1), np.float64(2), np.int32(3), np.complex64(1 + 2j)))
    expected = np.zeros((), np.dtype(
        [("a", "i1"), ("b", "f8"), ("c", "i4"), ("re", "f4"), ("im", "f4")], align=True))
    for name, value in zip(expected.dtype.names, (1, 2, 3, 1, 2)):
        expected[name] = value
    assert packed == expected.tobytes()[: len(packed)]


@pytest.mark.parametrize(("mangled", "plain"), [
    ("_Z1kPi", "k"),
    ("_Z3setIiEvPT_", "set<int>"),
    ("_Z5scaleIfLi3EEvPT_", "scale<float, 3>"),
    ("_ZN2ns4kernEv", "ns::kern"),
    ("_Z1fILb1EEvv", "f<true>"),
    ("kernel", None),
    ("_Z3setISt6vectorIiEEvPT_", None),
])  # fmt: skip
def test_mangled_names(drv, mangled, plain):
    from pycuda._modules import plain_name

    assert plain_name(mangled) == plain


def test_source_module_keeps_what_inspection_needs(drv):
    code = "__global__ void k(int* x) { x[0] = N; }"
    module = source_module(code, options=["-DN=3"])
    assert module._source == code and module._options == ("-DN=3",) and not module._no_extern_c


def test_a_fault_names_the_line_of_the_source_as_it_was_written(drv):
    k = source_module("\n\n__global__ void k(int* x) { x[0] = 1; }").get_function("k")
    k(np.intp(0), block=(1, 1, 1))
    with pytest.raises(engine.NullPointer, match="kernel.cu:3"):
        drv.Context.synchronize()


def test_a_compile_error_counts_the_line_that_source_module_adds(drv):
    with pytest.raises(drv.CompileError) as caught:
        source_module("\n__global__ void k() { oops }")
    assert "kernel.cu(3): error" in caught.value.stderr
    with pytest.raises(drv.CompileError) as caught:
        source_module("\n__global__ void k() { oops }", no_extern_c=True)
    assert "kernel.cu(2): error" in caught.value.stderr


def test_an_image_loads_where_the_source_includes_headers(drv):
    from pycuda.compiler import compile

    image = compile("#include <cmath>\n__global__ void k(double* x) { x[0] = INFINITY; }")
    x = np.zeros(1)
    drv.module_from_buffer(image).get_function("k")(drv.InOut(x), block=(1, 1, 1))
    assert x[0] == np.inf


def test_memory_is_named_by_the_parameter_of_its_last_kernel(drv, gpuarray):
    g = gpuarray.zeros(4, np.float32)
    code = "__constant__ float w[2]; __global__ void NAME(float* NAME) { NAME[0] = w[1]; }"
    for name in ("first", "second"):
        module = source_module(code.replace("NAME", name))
        module.get_function(name)(g, block=(1, 1, 1))
        assert engine.lookup(g.ptr).name == name
        assert engine.lookup(module.get_global("w")[0]).name == "w"
    drv.Context.synchronize()


def test_a_modules_variable_keeps_its_name(drv):
    code = "__device__ int counter; __global__ void k(int* x) { atomicAdd(x, counter); }"
    module = source_module(code)
    address, _ = module.get_global("counter")
    module.get_function("k")(np.uintp(address), block=(1, 1, 1))
    drv.Context.synchronize()
    assert engine.lookup(address).name == "counter"


# arrays


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "i2", "c8"])
def test_arithmetic_is_numpys_where_c_has_the_same(gpuarray, dtype):
    rng = np.random.default_rng(7)
    a = rng.integers(1, 9, (5, 3)).astype(dtype)
    b = rng.integers(1, 9, (5, 3)).astype(dtype)
    x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    for mine, numpys in ((x + y, a + b), (x - y, a - b), (x * y, a * b), (x + 1, a + 1)):
        assert mine.dtype == numpys.dtype
        assert np.array_equal(mine.get(), numpys)
    quotient = a / b if a.dtype.kind in "fc" else a // b
    assert np.allclose((x / y).get(), quotient)


def test_division_of_integers_is_towards_zero(gpuarray):
    x, y = (gpuarray.to_gpu(np.array(v, np.int64)) for v in ([-7, 7, -7, 2**62], [2, -2, -2, 3]))
    assert (x / y).get().tolist() == [-3, -3, 3, 2**62 // 3]


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4)])
def test_slices_are_numpys(gpuarray, shape):
    a = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    g = gpuarray.to_gpu(a)
    for index in ((slice(1, None),), (0,), (slice(None), Ellipsis), (Ellipsis, slice(0, 3, 2)),
                  (None, slice(1, 3)), (-1,)):  # fmt: skip
        assert g[index].shape == a[index].shape
        assert np.array_equal(g[index].get(), a[index])


def test_slices_are_assigned_also_from_the_host(gpuarray):
    a = np.zeros((4, 5), np.float32)
    g = gpuarray.to_gpu(a)
    for index, value in (((slice(1, 3), slice(1, 4)), np.arange(6, dtype=np.float32)),
                         ((slice(None), 2), np.full(4, 9, np.float32))):  # fmt: skip
        value = value.reshape(a[index].shape)
        a[index] = value
        g[index] = value
    assert np.array_equal(g.get(), a)


def test_an_array_with_another_order_of_axes_is_refused(gpuarray):
    g = gpuarray.zeros((3, 5), np.float32)
    with pytest.raises(ValueError, match="same order"):
        g[:, :4] = gpuarray.zeros((4, 5), np.float32)[:, :3].T


def test_a_long_operation_is_queued_and_keeps_its_operands(gpuarray):
    x = gpuarray.ones(1 << 20, np.float32)
    for _ in range(5):
        x = x * 2
    gc.collect()
    assert float(x.get().max()) == 32


def test_reductions_of_many_elements_agree_with_numpy(gpuarray):
    from pycuda.reduction import ReductionKernel

    a = np.random.default_rng(3).integers(-99, 99, 300_007).astype(np.int32)
    largest = ReductionKernel(np.int32, neutral="-1000", reduce_expr="a > b ? a : b",
                              map_expr="x[i]", arguments="int *x")
    assert int(largest(gpuarray.to_gpu(a)).get()) == a.max()


def test_complex_numbers_in_generated_kernels(gpuarray):
    from pycuda.elementwise import ElementwiseKernel

    k = ElementwiseKernel("pycuda::complex<float> *z, pycuda::complex<float> c", "z[i] = z[i] * c")
    a = np.array([1 + 2j, 3 - 1j], np.complex64)
    g = gpuarray.to_gpu(a)
    k(g, 2j)
    assert np.array_equal(g.get(), a * np.complex64(2j))


def test_scans_agree_with_numpy(gpuarray):
    from pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel

    a = np.arange(1, 40, dtype=np.int32)
    assert np.array_equal(
        InclusiveScanKernel(np.int32, "a+b")(gpuarray.to_gpu(a)).get(), a.cumsum())
    exclusive = ExclusiveScanKernel(np.int32, "a+b", neutral=0)(gpuarray.to_gpu(a)).get()
    assert np.array_equal(exclusive, a.cumsum() - a)


# names


def test_functions_of_complex_numbers(gpuarray):
    from pycuda.elementwise import ElementwiseKernel

    z = (np.arange(1, 9) + 1j * np.arange(8)[::-1]).astype(np.complex128)
    found = gpuarray.zeros(5 * 8, np.complex128)
    expressions = ["pow(z[i], 3)", "pow(z[i], -2)", "pow(z[i], 0.5)", "log(sqrt(z[i]))",
                   "sin(z[i]) + cos(z[i])"]  # fmt: skip
    body = "; ".join(f"out[{8 * k} + i] = {text}" for k, text in enumerate(expressions))
    kind = "pycuda::complex<double>"
    ElementwiseKernel(f"{kind} *z, {kind} *out", body)(gpuarray.to_gpu(z), found)
    expected = [z**3, z**-2.0, np.sqrt(z), np.log(np.sqrt(z)), np.sin(z) + np.cos(z)]
    assert found.get().reshape(5, 8) == pytest.approx(np.array(expected))


def test_vector_types_are_filled_and_passed(gpuarray):
    from pycuda.elementwise import ElementwiseKernel

    vec = gpuarray.vec
    points = gpuarray.zeros(4, vec.float3).fill(vec.make_float3(1, 2, 3))
    assert points.get()["z"].tolist() == [3] * 4
    code = "__global__ void parts(float3 p, float* out) { out[0] = p.x; out[1] = p.z; }"
    out = gpuarray.zeros(2, np.float32)
    prepared = source_module(code).get_function("parts").prepare([vec.float3, np.intp])
    prepared.prepared_call((1, 1), (1, 1, 1), vec.make_float3(4, 5, 6), out.gpudata)
    assert out.get().tolist() == [4, 6]
    sums = ElementwiseKernel("float3 p, float3 *q, float *out", "out[i] = p.y + q[i].z")
    out = gpuarray.zeros(4, np.float32)
    sums(vec.make_float3(7, 8, 9), points, out)
    assert out.get().tolist() == [11] * 4


def test_a_position_for_out_is_taken_and_does_nothing(gpuarray):
    """PyCUDA warns, and reads the keywords only."""
    from pycuda import cumath

    x, out = gpuarray.to_gpu(np.ones(2, np.float32)), gpuarray.zeros(2, np.float32)
    with pytest.warns(DeprecationWarning, match="keyword arguments"):
        found = cumath.exp(x, out)
    assert found.get() == pytest.approx(np.e)
    assert out.get().tolist() == [0, 0]


def test_a_scan_takes_an_array_of_another_type_of_the_same_size(gpuarray):
    from pycuda.scan import ExclusiveScanKernel

    values = gpuarray.to_gpu(np.arange(5, dtype=np.uint32))
    scan = ExclusiveScanKernel(np.int32, "a+b", neutral="0")
    assert scan(values, "new").get().tolist() == [0, 0, 1, 3, 6]
    with pytest.raises(ValueError, match="same shape"):
        scan(values, gpuarray.zeros(3, np.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint32])
def test_rand_follows_numpys_seed(gpuarray, dtype):
    from pycuda import curandom

    np.random.seed(3)  # noqa: NPY002
    first, second = curandom.rand((50, 40), dtype).get(), curandom.rand((50, 40), dtype).get()
    np.random.seed(3)  # noqa: NPY002
    assert (curandom.rand((50, 40), dtype).get() == first).all()
    assert (first != second).any()
    low, size = (0, 1) if first.dtype.kind == "f" else (np.iinfo(dtype).min, 2.0**32)
    assert ((first - float(low)) / size).mean() == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("name", ["XORWOWRandomNumberGenerator", "MRG32k3aRandomNumberGenerator"])
def test_generators_draw_what_their_kernels_say(gpuarray, name):
    from pycuda import curandom

    def generator():
        return getattr(curandom, name)(lambda n: gpuarray.to_gpu(np.full(n, 5, np.int32)))

    one, other = generator(), generator()
    whole = one.gen_uniform(one.block_count * one.generators_per_block, np.uint32).get()
    code = f"""
    #include <curand_kernel.h>
    extern "C" __global__ void words(unsigned* out) {{
        {one.state_type} s;
        curand_init(5, threadIdx.x, 0, &s);
        out[threadIdx.x] = curand(&s);
    }}"""
    words = gpuarray.zeros(8, np.uint32)
    source_module(code, no_extern_c=True).get_function("words")(words, block=(8, 1, 1))
    assert words.get().tolist() == whole[:8].tolist()
    other.call_skip_ahead_sequence(2)
    assert (other.gen_uniform(8, np.uint32).get()[:3] != whole[:3]).all()
    for dtype in (np.float32, np.float64):
        for n in (4000, 4001):
            assert one.gen_normal(n, dtype).get().std() == pytest.approx(1, abs=0.08)
        found = np.log(one.gen_log_normal((50, 80), dtype, 10.0, 3.0).get())
        assert found.mean() == pytest.approx(10, abs=0.3)
        rates = gpuarray.zeros(2000, dtype).fill(6)
        one.fill_poisson(rates)
        assert rates.get().mean() == pytest.approx(6, abs=0.4)
    assert one.gen_poisson(2000, np.uint32, 13.0).get().mean() == pytest.approx(13, abs=0.6)
    for refused in (lambda: one.gen_uniform(3, np.int16), lambda: one.gen_normal(3, np.int32)):
        with pytest.raises(NotImplementedError):
            refused()
    with pytest.raises(TypeError, match="right length"):
        getattr(curandom, name)(lambda n: np.zeros(n, np.int32))


def test_sobols_generators_are_refused_by_name(gpuarray):
    from pycuda.curandom import ScrambledSobol64RandomNumberGenerator, get_curand_version

    assert get_curand_version() >= (10, 0, 0)
    with pytest.raises(NotImplementedError, match="ScrambledSobol64.*nogpu lacks it"):
        ScrambledSobol64RandomNumberGenerator()


def test_sources_are_linked_and_kernels_launch_kernels(gpuarray):
    from pycuda.compiler import DynamicModule, DynamicSourceModule

    outer = """#include <cstdio>
    __global__ void outer(int *out) {
        extern __global__ void inner(int *out, int value);
        inner<<<1, 4>>>(out, 5);
    }"""
    inner = "__global__ void inner(int *out, int value) { out[threadIdx.x] = value; }"
    out = gpuarray.zeros(4, np.int32)
    module = DynamicModule().add_source(outer, nvcc_options=["-rdc=true"]).add_source(inner)
    module.add_stdlib("cudadevrt").link().get_function("outer")(out, block=(1, 1, 1))
    assert out.get().tolist() == [5] * 4
    again = DynamicSourceModule(f"{inner}\n" + outer.replace("5", "6")).get_function("outer")
    again(out, block=(1, 1, 1))
    assert out.get().tolist() == [6] * 4
    for refused in (lambda: module.add_file("x.a", 4), lambda: module.add_stdlib("cublas_device")):
        with pytest.raises(NotImplementedError, match="nogpu lacks"):
            refused()


def test_names_that_the_real_library_has_say_what_lacks(drv):
    from nogpu.faces import missing

    names = missing.recorded_names()["pycuda.driver"]
    lacking = next(name for name in names if not hasattr(drv, name))
    with pytest.raises(AttributeError) as caught:
        getattr(drv, lacking)
    assert str(caught.value) == missing.explain(f"pycuda.driver.{lacking}")
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = drv.no_such_name


@pytest.mark.parametrize("module", ["gl", "debug", "sparse"])
def test_modules_that_lack_say_so(drv, module):
    with pytest.raises(ImportError, match=f"pycuda.{module} exists in PyCUDA, but nogpu lacks it"):
        __import__(f"pycuda.{module}")


def test_it_is_imported_without_cupy():
    code = (
        "import nogpu, sys; nogpu.install()\n"
        "import pycuda.autoinit, pycuda.gpuarray, pycuda.compiler\n"
        "print('cupy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "src", check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["False"]


def test_pop_makes_the_context_before_on_pycudas_own_list_current():
    """CuPy makes the primary context current, which is not on that list: as on an H200."""
    program = """
import cupy as cp
from pycuda.autoinit import context
from pycuda.compiler import SourceModule
f = SourceModule("__global__ void f() { }").get_function("f")
str(cp.ones(3) + 1)
context.push()
context.pop()
f(block=(1, 1, 1))
print("launched")
"""
    done = subprocess.run([sys.executable, "-m", "nogpu", "-c", program], capture_output=True,
                          text=True)
    assert done.stdout == "launched\n", done.stderr
