"""Kernels of the simulator's CuPy: what the recorded behaviours do not cover."""

from __future__ import annotations

import contextlib
import pickle

import numpy as np
import pytest
from machine import gpu_answers, use_libraries

from nogpu import engine
from nogpu.inspect import sources

if gpu_answers():
    pytest.skip("a GPU answers: the simulator is not in use", allow_module_level=True)
use_libraries()
cp = pytest.importorskip("cupy")

DTYPES = "?bhilBHILefdFD"
random = np.random.default_rng(20261121)


def sample(shape, char):
    """Small numbers, none of them 0, that every type of a kind has exactly."""
    values = random.integers(1, 9, shape)
    return values.astype(bool if char == "?" else char)


@contextlib.contextmanager
def fault(kind):
    """A kernel's fault, which comes out when the device is waited for."""
    with pytest.raises(kind) as caught:
        yield caught
        engine.streams.synchronize()


@pytest.fixture(scope="module")
def weighted():
    return cp.ElementwiseKernel("T x, T y", "T z", "z = x + x * y", "weighted")


# element-wise kernels


@pytest.mark.parametrize("char", DTYPES)
def test_every_type_computes_as_numpy_does(weighted, char):
    x, y = sample((3, 5), char), sample((5,), char)
    z = weighted(cp.asarray(x), cp.asarray(y))
    assert z.dtype == x.dtype and (z.get() == x + x * y).all()


@pytest.mark.parametrize("char", "bilfdD")
def test_views_of_every_kind_are_read_and_written_as_they_stand(weighted, char):
    host, out_host = sample((4, 6, 5), char), np.zeros((5, 6, 4), char)
    views = [
        (lambda a: a, lambda a: a),
        (lambda a: a.transpose(2, 1, 0), lambda a: a.transpose(2, 1, 0)),
        (lambda a: a[::-1, 1::2], lambda a: a[:1, :1]),
        (lambda a: a[:, :, ::-2], lambda a: a[0, 0, 0]),
        (lambda a: a[1:3, :, 4:], lambda a: a[1:3, :1, 4:]),
    ]
    for of_x, of_y in views:
        x, y = of_x(host), of_y(host)
        device = cp.asarray(host)
        assert (weighted(of_x(device), of_y(device)).get() == x + x * y).all()
    out = cp.asarray(out_host)
    weighted(cp.asarray(host), 2, out.transpose(2, 1, 0))
    assert (out.get() == (3 * host).transpose(2, 1, 0)).all()


def test_a_view_that_is_written_leaves_its_neighbours_alone(weighted):
    out = cp.full((4, 6), -1)
    weighted(cp.ones((2, 3), int), 1, out[1:3, ::2])
    expected = np.full((4, 6), -1)
    expected[1:3, ::2] = 2
    assert (out.get() == expected).all()


def test_axes_are_joined_only_where_told(weighted):
    code = "z = _ind.shape()[0]"
    joined = cp.ElementwiseKernel("T x", "T z", code, "joined")
    apart = cp.ElementwiseKernel("T x", "T z", code, "apart", reduce_dims=False)
    x = cp.ones((3, 4), int)
    assert int(joined(x)[0, 0]) == 12 and int(apart(x)[0, 0]) == 3


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4, 2)])
def test_no_elements_no_launch(weighted, shape):
    assert weighted(cp.zeros(shape), cp.zeros(shape)).shape == shape


def test_zero_dimensions(weighted):
    z = weighted(cp.array(2.0), cp.array(3.0))
    assert z.shape == () and float(z) == 8.0


@pytest.mark.parametrize("block_size", [1, 32, 100, 1024])
def test_no_launch_shape_gives_a_false_alarm(weighted, block_size):
    x = sample((1025,), "f")
    z = weighted(cp.asarray(x), 3.0, block_size=block_size)
    assert (z.get() == 4 * x).all()


def test_complex_functions_agree_with_numpy():
    kernel = cp.ElementwiseKernel(
        "complex128 x, complex128 y", "complex128 a, complex128 b",
        "a = exp(x) / y + conj(y) * sqrt(x); b = log(x) - pow(x, y) + abs(y)", "functions",
    )  # fmt: skip
    x, y = random.normal(size=(2, 20, 2)).view(complex)[..., 0]
    a, b = kernel(cp.asarray(x), cp.asarray(y))
    np.testing.assert_allclose(a.get(), np.exp(x) / y + np.conj(y) * np.sqrt(x), rtol=1e-12)
    np.testing.assert_allclose(b.get(), np.log(x) - x**y + abs(y), rtol=1e-12)


def test_raw_arrays_know_their_shape_and_take_an_index_for_each_axis():
    kernel = cp.ElementwiseKernel(
        "raw T x, int64 width", "T z",
        "ptrdiff_t at[] = {i / width, i % width}; z = x[at] * 10 + (x[i] == x[at])", "by_index",
    )  # fmt: skip
    x = np.arange(12).reshape(3, 4)[:, ::-1]
    z = kernel(cp.asarray(np.arange(12).reshape(3, 4))[:, ::-1], 4, size=12)
    assert (z.get() == x.ravel() * 10 + 1).all()


def test_the_same_kernel_serves_many_types_and_keeps_their_code():
    kernel = cp.ElementwiseKernel("T x", "T z", "z = -x", "negated")
    for char in "ifd":
        assert (kernel(cp.arange(3, dtype=char)).get() == -np.arange(3)).all()
    assert [types[0].char for types in kernel.cached_codes] == list("ifd")
    with pytest.warns(UserWarning, match="could not be inferred"):
        assert "z = -x" in kernel.cached_code


def test_an_overlapping_output_is_read_where_it_was_written():
    x = cp.arange(5)
    cp.ElementwiseKernel("T x", "T z", "z = x * 2", "twice")(x, x)
    assert x.tolist() == [0, 2, 4, 6, 8]


def test_i_counts_the_elements_and_n_does_not_exist():
    with pytest.raises(cp.cuda.compiler.CompileException, match='"n" is undefined'):
        cp.ElementwiseKernel("T x", "T z", "z = n - i", "counted")(cp.zeros(2))


# faults


def test_out_of_bounds_of_a_raw_array_names_parameter_and_line():
    kernel = cp.ElementwiseKernel(
        "raw T signal", "T z", "int next = i + 1;\nz = signal[next] - signal[i]", "difference"
    )
    with fault(engine.GlobalOutOfBounds) as caught:
        kernel(cp.arange(5), cp.zeros(5, int))
    found = caught.value
    assert (found.array, found.index, found.kernel) == ("signal", 5, "difference")
    assert (found.file, found.line) == ("operation", 2)
    assert found.text == "z = signal[next] - signal[i];"


def test_a_fault_in_the_preamble_is_placed_there():
    kernel = cp.ElementwiseKernel(
        "raw int32 table, int32 x", "int32 z", "z = look_up(&table[0], x)", "looked_up",
        preamble="__device__ int look_up(const int* table, int x) {\n  return table[x];\n}",
    )  # fmt: skip
    with fault(engine.GlobalOutOfBounds) as caught:
        kernel(cp.zeros(3, "i4"), cp.array([0, 7], "i4"))
    assert (caught.value.array, caught.value.index) == ("table", 7)
    assert (caught.value.file, caught.value.line) == ("preamble", 2)


def test_writing_one_element_from_all_threads_is_a_race():
    kernel = cp.ElementwiseKernel("T x", "raw T total", "total[0] += x", "sum")
    with fault(engine.Race) as caught:
        kernel(cp.ones(64), cp.zeros(1))
    assert caught.value.array == "total"


def test_adding_to_a_new_output_reads_what_nobody_wrote():
    with fault(engine.UninitialisedRead) as caught:
        cp.ElementwiseKernel("T x", "T z", "z += x", "added")(cp.ones(4))
    assert caught.value.array == "z"


def test_a_local_array_names_its_line_in_the_operation():
    kernel = cp.ElementwiseKernel(
        "T x", "T z", "T part[2];\nfor (int k = 0; k <= 2; k++) part[k] = x;\nz = part[1]", "local"
    )
    with fault(engine.LocalOutOfBounds) as caught:
        kernel(cp.ones(4))
    assert (caught.value.array, caught.value.line) == ("part", 2)
    assert "part[k] = x" in caught.value.text


def test_raw_kernels_faults_name_parameters_too():
    code = """
    extern "C" __global__ void shift(const float *source, float* target, const int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        target[i] = source[i];
    }"""
    source, target = cp.ones(5, "f4"), cp.zeros(8, "f4")
    with fault(engine.GlobalOutOfBounds) as caught:
        cp.RawKernel(code, "shift")((1,), (8,), (source, target, np.int32(5)))
    assert (caught.value.array, caught.value.index, caught.value.line) == ("source", 5, 4)


def test_after_a_fault_the_next_kernel_works(weighted):
    with fault(engine.KernelFault):
        cp.ElementwiseKernel("raw T x", "T z", "z = x[i + 9]", "far")(cp.ones(3), cp.ones(3))
    assert weighted(cp.ones(2), 1.0).tolist() == [2.0, 2.0]


# reductions


@pytest.mark.parametrize("shape", [(7,), (300, 5), (5, 300), (3, 4, 5), (9000,), (2, 6000)])
def test_reductions_agree_with_numpy_over_every_axis(shape):
    total = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "squares")
    host = random.integers(-9, 9, shape)
    x = cp.asarray(host)
    axes = [None, *range(len(shape)), *([(0, -1)] if len(shape) > 1 else [])]
    for axis in axes:
        for keepdims in (False, True):
            y = total(x, axis=axis, keepdims=keepdims)
            assert (y.get() == (host * host).sum(axis, keepdims=keepdims)).all()


def test_a_reduction_without_identity_of_views():
    least = cp.ReductionKernel("T x", "T y", "x", "min(a, b)", "y = a", None, "least")
    host = random.normal(size=(40, 70))
    x = cp.asarray(host)
    assert (least(x.T[::3], axis=0).get() == host.T[::3].min(0)).all()
    assert float(least(x[::-2, 5:])) == host[::-2, 5:].min()


def test_a_reduction_into_a_view():
    total = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    out = cp.zeros((3, 4), int)
    total(cp.ones((4, 5), int), axis=1, out=out[1])
    assert out.tolist() == [[0] * 4, [5] * 4, [0] * 4]


def test_raw_inputs_need_the_reduced_axes_first():
    kernel = cp.ReductionKernel("T x, raw T w", "T y", "x * w[_j]", "a + b", "y = a", "0", "k")
    with pytest.raises(NotImplementedError, match="Illegal conditions"):
        kernel(cp.ones((2, 3)), cp.ones(6), axis=1)


def test_a_reductions_fault_is_placed_in_its_expression():
    kernel = cp.ReductionKernel("T x, raw T w", "T y", "x * w[_j]", "a + b", "y = a", "0", "k2")
    with fault(engine.GlobalOutOfBounds) as caught:
        kernel(cp.ones(4), cp.ones(3))
    assert (caught.value.array, caught.value.index) == ("w", 3)
    assert (caught.value.file, caught.value.line) == ("map_expr", 1)


# raw kernels and modules


def test_functions_that_c_lacks():
    kernel = cp.ElementwiseKernel(
        "float64 x", "float64 y, float32 z", "y = erfinv(erf(x)); z = nanf(\"\")", "functions2"
    )
    x = np.linspace(-3, 3, 13)
    y, z = kernel(cp.asarray(x))
    np.testing.assert_allclose(y.get(), x, atol=1e-11)
    assert np.isnan(z.get()).all()


def test_denormals_of_float_are_zero_unless_told_otherwise():
    code = 'extern "C" __global__ void half_of(float* x) { x[0] *= 0.5f; }'
    for options, expected in (((), 0.0), (("-ftz=false",), np.float32(1e-38))):
        x = cp.full(1, 2e-38, "f4")
        cp.RawKernel(code, "half_of", options)((1,), (1,), (x,))
        assert x.get()[0] == expected


def test_parameters_that_are_too_large_do_not_compile():
    code = """struct Big { char bytes[40000]; };
    extern "C" __global__ void take(Big big, char* out) { *out = big.bytes[0]; }"""
    with pytest.raises(cp.cuda.compiler.CompileException, match="parameter space overflowed"):
        cp.RawKernel(code, "take").compile()


def test_vector_types_by_value():
    code = """extern "C" __global__ void unpack(float4 v, double2 w, float* out) {
        out[0] = v.x + v.y + v.z + v.w + (float)(w.x * w.y);
    }"""
    out = cp.zeros(1, "f4")
    four = np.array((1, 2, 3, 4), np.dtype("f4,f4,f4,f4"))
    two = np.array((5, 6), np.dtype("f8,f8"))
    cp.RawKernel(code, "unpack")((1,), (1,), (four, two, out))
    assert out.tolist() == [40.0]


def test_too_few_arguments_are_told_and_not_launched():
    code = 'extern "C" __global__ void set(int* x, int value) { x[0] = value; }'
    x = cp.zeros(1, "i4")
    with pytest.raises(engine.InvalidLaunch, match="takes 2 arguments, and 1 were passed"):
        cp.RawKernel(code, "set")((1,), (1,), (x,))


def test_complex_and_c_arrays_of_the_librarys_headers():
    code = """
    #include <cupy/carray.cuh>
    #include <cupy/complex.cuh>
    extern "C" __global__ void turn(CArray<complex<float>, 2> x, complex<float>* out) {
        ptrdiff_t at[2] = {threadIdx.y, threadIdx.x};
        out[threadIdx.y * x.shape()[1] + threadIdx.x] = x[at] * complex<float>(0, 1);
    }"""
    host = (np.arange(6) + 1j).astype("F").reshape(2, 3)
    x, out = cp.asarray(host).T, cp.zeros((3, 2), "F")
    cp.RawKernel(code, "turn")((1,), (2, 3), (x.cstruct, out))
    assert (out.get() == host.T * 1j).all()


def test_the_same_source_is_one_module_and_another_is_not():
    code = """__device__ int calls = 0;
    extern "C" __global__ void count(int* out) { out[0] = ++calls; }"""
    out, counts = cp.zeros(1, "i4"), []
    for text in (code, code, code + " "):
        cp.RawModule(code=text).get_function("count")((1,), (1,), (out,))
        counts.append(int(out[0]))
    assert counts == [1, 2, 1]


def test_names_in_namespaces_and_templates_and_mistyped_ones():
    code = """namespace math { template <class T, int N> __global__ void fill(T* x) { *x = N; } }"""
    name = "math::fill<double, 7>"
    module = cp.RawModule(code=code, name_expressions=[name])
    x = cp.zeros(1)
    module.get_function(name)((1,), (1,), (x,))
    assert x.tolist() == [7.0]
    with pytest.raises(RuntimeError, match="CUDA_ERROR_NOT_FOUND"):
        module.get_function("math::fill")


def test_raw_kernels_and_modules_can_be_pickled():
    sources.record_sources()  # as a program does at its start
    module = cp.RawModule(code='extern "C" __global__ void one(int* x) { *x = 1; }')
    again = pickle.loads(pickle.dumps(module)).get_function("one")
    x = cp.zeros(1, "i4")
    pickle.loads(pickle.dumps(again))((1,), (1,), (x,))
    assert x.tolist() == [1]


def test_a_compilers_log_reads_as_nvrtcs():
    code = 'extern "C" __global__ void k(int* x) {\n  x[0] = 1;\n  y[0] = foo(2)\n}'
    with pytest.raises(cp.cuda.compiler.CompileException) as caught:
        cp.RawKernel(code, "k").compile()
    log = str(caught.value)
    assert 'kernel.cu(3): error: identifier "y" is undefined' in log
    assert 'identifier "foo" is undefined' in log
    assert "detected in the compilation of" in log
    assert pickle.loads(pickle.dumps(caught.value)).get_message() == log


def test_an_image_is_loaded_and_nothing_else_is(tmp_path):
    image, _ = cp.cuda.compiler.compile_using_nvrtc(
        'extern "C" __global__ void two(int* x) { *x = 2; }'
    )
    path = tmp_path / "kernels.cubin"
    path.write_bytes(image)
    x = cp.zeros(1, "i4")
    cp.RawModule(path=str(path)).get_function("two")((1,), (1,), (x,))
    assert x.tolist() == [2]
    path.write_bytes(b"\x7fELF of another kind")
    with pytest.raises(RuntimeError, match="CUDA_ERROR_INVALID_IMAGE"):
        cp.cuda.Module().load_file(str(path))


# functions written in Python


def test_vectorize_follows_python_where_c_differs():
    @cp.vectorize
    def mixed(x, y):
        quotient = x // y
        rest = x % y
        if rest < 0 or not quotient > -3:
            return quotient * 100 - rest
        return quotient * 100 + rest + y**2

    x, y = random.integers(-20, 20, 50), random.integers(1, 6, 50) * random.choice([-1, 1], 50)
    expected = [mixed.pyfunc(int(a), int(b)) for a, b in zip(x, y)]
    assert mixed(cp.asarray(x), cp.asarray(y)).tolist() == expected


def test_vectorize_calls_functions_and_loops():
    def root(x, steps):
        guess = x / 2 + 1
        count = 0
        while count < steps:
            guess = (guess + x / guess) / 2
            count += 1
        total = 0.0
        for k in range(1, 7, 2):
            total += np.sin(guess * k) if k > 1 else max(guess, 1.5)
        return total, abs(x) > 2

    x = np.linspace(0.5, 9, 11)
    a, b = cp.vectorize(root)(cp.asarray(x), 8)
    expected = [root(v, 8) for v in x]
    np.testing.assert_allclose(a.get(), [e[0] for e in expected], rtol=1e-12)
    assert b.tolist() == [bool(e[1]) for e in expected]


def test_vectorize_refuses_a_variable_of_two_types():
    def changing(x):
        y = 1
        y = x
        return y

    with pytest.raises(TypeError, match="Cannot cast from .float64. to int64 with casting rule"):
        cp.vectorize(changing)(cp.ones(2))


def test_fuse_refuses_to_branch_on_elements_and_takes_what_it_should():
    @cp.fuse()
    def branching(x):
        return x if x > 0 else -x

    with pytest.raises(TypeError, match="Cannot convert to Python scalar in cupy.fuse"):
        branching(cp.ones(2))

    @cp.fuse()
    def smooth(x, scale):
        y = cp.clip(x * scale, -1, 1)
        y[...] = cp.maximum(y, 0.25)
        return y.astype("f4"), cp.all(y > 0)

    values, positive = smooth(cp.array([-3.0, 0.3, 4.0]), 2.0)
    assert values.dtype == "f4" and bool(positive)
    np.testing.assert_allclose(values.get(), [0.25, 0.6, 1.0], rtol=1e-6)


def test_a_cooperative_launch_has_as_many_blocks_as_the_device_holds():
    code = r"""#include <cooperative_groups.h>
    extern "C" __global__ void f(int* out) {
        auto grid = cooperative_groups::this_grid();
        atomicAdd(out, 1);
        grid.sync();
        if (grid.thread_rank() == 0) out[1] = *(volatile int*)out * 10 + grid.is_valid();
    }"""
    most = 32 * min(cp.cuda.Device().attributes["MultiProcessorCount"], 8)
    for kernel in (
        cp.RawKernel(code, "f", enable_cooperative_groups=True),
        cp.RawModule(code=code, enable_cooperative_groups=True).get_function("f"),
    ):
        out = cp.zeros(2, "i4")
        with pytest.warns(UserWarning, match=f"will be reduced from 5000 to {most},"):
            kernel((5000,), (32,), (out,))
        assert out.get().tolist() == [32 * most, 320 * most + 1]
        with pytest.raises(ValueError, match=r"grid size \(70 \* 70 \* 1\) exceeds the limit"):
            kernel((70, 70), (32,), (out,))


def test_transforms_call_functions_for_what_they_load_and_store():
    code = r"""
    __device__ cufftComplex scaled(void* in, size_t i, void* info, void* shared) {
        cufftComplex x = ((cufftComplex*)in)[i];
        x.x *= ((float*)info)[0];
        x.y *= 2;
        return x;
    }
    __device__ cufftCallbackLoadC d_loadCallbackPtr = scaled;
    """
    a = (cp.arange(16) + 1j * cp.arange(16)).astype(np.complex64)
    two = cp.array([2], np.float32)
    with cp.fft.config.set_cufft_callbacks(cb_load=code, cb_load_aux_arr=two):
        assert cp.allclose(cp.fft.fft(a), cp.fft.fftn(a))
        scaled = cp.fft.fft(a)
    assert cp.allclose(scaled, 2 * cp.fft.fft(a))
    code = """
    #include <cufftXt.h>
    __device__ void put(void* out, unsigned long long i, cufftReal x, void* info, void* shared) {
        ((float*)out)[i] = x + 1;
    }
    """
    x = cp.fft.rfft(cp.arange(8, dtype=np.float32))
    with cp.fft.config.set_cufft_callbacks(cb_store=code, cb_store_name="put", cb_ver="jit"):
        y = cp.fft.irfft(x)
    assert cp.allclose(y, cp.arange(8) + 1, atol=1e-5)
    with pytest.raises(ValueError, match="unrecognized callback version"):
        with cp.fft.config.set_cufft_callbacks(cb_load=code, cb_ver="other"):
            pass
