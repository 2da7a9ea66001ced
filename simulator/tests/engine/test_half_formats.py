"""float16 and bfloat16: conversions, arithmetic and pairs against NumPy, rounded once."""

from __future__ import annotations

import numpy as np
import pytest
from engine_support import array, pack, read

from nogpu import engine

N = 64
SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>

template <class H> struct Names;
template <> struct Names<__half> {
    typedef __half2 Pair;
    static __device__ __half2 pair(float x, float y) { return __floats2half2_rn(x, y); }
};
template <> struct Names<__nv_bfloat16> {
    typedef __nv_bfloat162 Pair;
    static __device__ __nv_bfloat162 pair(float x, float y) { return __floats2bfloat162_rn(x, y); }
};

template <class H> __global__ void numbers(const float* x, float* out, int n) {
    int i = threadIdx.x;
    H a = x[i], b = x[n - 1 - i];
    out[i] = (float)a;
    out[n + i] = (float)(a + b);
    out[2 * n + i] = (float)__hmul(a, b);
    out[3 * n + i] = (float)(a / b);
    out[4 * n + i] = (float)__hfma(a, b, a);
    out[5 * n + i] = (float)hsqrt(__habs(a));
    out[6 * n + i] = (float)__hmax(a, -b);
    out[7 * n + i] = a < b ? 1 : a == b ? 2 : 3;
    out[8 * n + i] = (float)H((double)x[i] * 1.0000001);
    out[9 * n + i] = (float)H(100 * i + 1);
}

template <class H> __global__ void pairs(const float* x, float* out, int n) {
    int i = threadIdx.x;
    auto p = Names<H>::pair(x[i], x[n - 1 - i]), q = __hfma2(p, p, p);
    q += __hneg2(p);
    auto m = __hmin2(p, __lowhigh2highlow(p));
    auto other = __shfl_xor_sync(0xffffffffu, p, 1);
    out[i] = __low2float(q);
    out[n + i] = __high2float(q);
    out[2 * n + i] = __low2float(m);
    out[3 * n + i] = __high2float(other);
    out[4 * n + i] = __hbge2(p, p) + 2 * __hbgt2(p, other);
}

template <class H> __global__ void sums(typename Names<H>::Pair* sum) {
    atomicAdd(sum, Names<H>::pair(1, 2));
}
"""
FORMATS = {"__half": 10, "__nv_bfloat16": 7}


def rounded(x: np.ndarray, digits: int) -> np.ndarray:
    """To nearest even with so many binary digits behind the point; the exponent is not limited."""
    mantissa, exponent = np.frexp(np.asarray(x, np.longdouble))
    return np.ldexp(np.rint(np.ldexp(mantissa, digits + 1)), exponent - digits - 1).astype(float)


@pytest.fixture(scope="module")
def module(compiler: str) -> engine.Module:
    names = [f"{kernel}<{h}>" for kernel in ("numbers", "pairs", "sums") for h in FORMATS]
    return engine.compile(SOURCE, ("-std=c++17",), names, dialect="nvrtc")


def launch(module: engine.Module, name: str, x: np.ndarray, rows: int) -> np.ndarray:
    given, out = array(x, "x"), array(np.zeros(rows * N, np.float32), "out")
    try:
        module.kernel(name).launch((1,), (N,), [*pack(given, out), np.int32(N).tobytes()])
        return read(out, np.float32).reshape(rows, N).astype(float)
    finally:
        given.free()
        out.free()


@pytest.fixture
def x() -> np.ndarray:
    random = np.random.default_rng(11)
    x = (random.standard_normal(N) * 2.0 ** random.integers(-3, 4, N)).astype(np.float32)
    x[:8] = [1, 1.00390625, 1.01171875, 1.00048828125, -1.00146484375, 0.25, -0.75, 3]  # ties
    return x


@pytest.mark.parametrize("name, digits", FORMATS.items())
def test_numbers(module: engine.Module, x: np.ndarray, name: str, digits: int) -> None:
    out = launch(module, f"numbers<{name}>", x, 10)
    a = rounded(x, digits)
    b = a[::-1]
    expected = [
        a, rounded(a + b, digits), rounded(a * b, digits),
        rounded(a.astype(np.longdouble) / b, digits), rounded(a * b + a, digits),
        rounded(np.sqrt(abs(a).astype(np.longdouble)), digits), np.maximum(a, -b),
        np.select([a < b, a == b], [1, 2], 3),
        rounded(x.astype(float) * 1.0000001, digits), rounded(100.0 * np.arange(N) + 1, digits),
    ]  # fmt: skip
    for row, values in enumerate(expected):
        assert (out[row] == values).all(), row


@pytest.mark.parametrize("name, digits", FORMATS.items())
def test_pairs(module: engine.Module, x: np.ndarray, name: str, digits: int) -> None:
    out = launch(module, f"pairs<{name}>", x, 5)
    low = rounded(x, digits)
    high = low[::-1]
    for row, a in enumerate((low, high)):
        assert (out[row] == rounded(rounded(a * a + a, digits) - a, digits)).all()
    assert (out[2] == np.minimum(low, high)).all()
    swapped = np.arange(N) ^ 1
    assert (out[3] == high[swapped]).all()
    assert (out[4] == 1 + 2 * ((low > low[swapped]) & (high > high[swapped]))).all()


@pytest.mark.parametrize("name", FORMATS)
def test_pairs_are_added_atomically(module: engine.Module, name: str) -> None:
    out = array(np.zeros(2, np.uint16), "sum")
    module.kernel(f"sums<{name}>").launch((2,), (32,), pack(out), time_limit=30)
    bits = read(out, np.uint16)
    wide = bits.astype(np.uint32) << 16
    sums = wide.view(np.float32) if name == "__nv_bfloat16" else bits.view(np.float16)
    assert sums.tolist() == [64, 128]
    out.free()


def test_bounds_and_what_is_no_number(compiler: str) -> None:
    code = "#include <cuda_bf16.h>\n__global__ void f(unsigned short* out, float* x) { "
    code += "int i = threadIdx.x; out[i] = __bfloat16_as_ushort(__float2bfloat16(x[i])); }"
    x = np.array([np.inf, -np.inf, np.nan, 3.4e38, 1e-40, -0.0], np.float32)
    given, out = array(x, "x"), array(np.zeros(len(x), np.uint16), "out")
    engine.compile(code).kernel("f").launch((1,), (len(x),), pack(out, given))
    assert [hex(v) for v in read(out, np.uint16)[[0, 1, 2, 3, 5]]] == [
        "0x7f80", "0xff80", "0x7fff", "0x7f80", "0x8000"]  # fmt: skip
    given.free()
    out.free()
