"""Directed rounding against exact fractions, packed arithmetic against NumPy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from engine_support import array, pack, read

from nogpu import engine

N = 400
WAYS = ("rd", "ru", "rz")
OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}
PACKED = {
    "vadd": (False, lambda x, y: x + y),
    "vsub": (False, lambda x, y: x - y),
    "vaddss": (True, lambda x, y: x + y),
    "vsubus": (False, lambda x, y: np.maximum(x - y, 0)),
    "vavgu": (False, lambda x, y: (x + y + 1) >> 1),
    "vhaddu": (False, lambda x, y: (x + y) >> 1),
    "vmaxs": (True, np.maximum),
    "vminu": (False, np.minimum),
    "vabsdiffu": (False, lambda x, y: abs(x - y)),
    "vcmpgts": (True, lambda x, y: -(x > y).astype(int)),
    "vcmpltu": (False, lambda x, y: -(x < y).astype(int)),
    "vseteq": (False, lambda x, y: (x == y).astype(int)),
}
FLOAT = "".join(
    f"out[{3 * k + w} * n + i] = __f{name}_{way}(x[i], y[i]);"
    for k, name in enumerate(OPERATIONS) for w, way in enumerate(WAYS)
)  # fmt: skip
DOUBLE = FLOAT.replace("__f", "__d")
MORE = "".join(
    f"m[{5 * w} * n + i] = __fsqrt_{way}(fabsf(x[i])); "
    f"m[{5 * w + 1} * n + i] = __fmaf_{way}(x[i], y[i], x[n - 1 - i]); "
    f"m[{5 * w + 2} * n + i] = __double2float_{way}(d[i]); "
    f"m[{5 * w + 3} * n + i] = __ll2float_{way}(l[i]); "
    f"m[{5 * w + 4} * n + i] = __int2float_{way}((int)l[i]);"
    for w, way in enumerate(WAYS)
)
WORDS = "".join(
    f"out[{2 * k} * n + i] = __{name}2(x[i], y[i]); "
    f"out[{2 * k + 1} * n + i] = __{name}4(x[i], y[i]);"
    for k, name in enumerate(PACKED)
)
SOURCE = f"""
__global__ void floats(const float* x, const float* y, float* out, int n)
{{ int i = threadIdx.x; {FLOAT} }}
__global__ void doubles(const double* x, const double* y, double* out, int n)
{{ int i = threadIdx.x; {DOUBLE} }}
__global__ void more(const float* x, const float* y, const double* d, const long long* l, float* m,
                     int n)
{{ int i = threadIdx.x; {MORE} }}
__global__ void words(const unsigned* x, const unsigned* y, unsigned* out, int n)
{{ int i = threadIdx.x; {WORDS} }}
"""


@pytest.fixture(scope="module")
def module(compiler: str) -> engine.Module:
    return engine.compile(SOURCE, name="arithmetic.cu")


def launch(module: engine.Module, name: str, given: list, rows: int, dtype: type) -> np.ndarray:
    arrays = [*(array(x, "x") for x in given), array(np.zeros(rows * N, dtype), "out")]
    try:
        arguments = [*pack(*arrays), np.int32(N).tobytes()]
        module.kernel(name).launch((1,), (N,), arguments, time_limit=60)
        return read(arrays[-1], dtype).reshape(rows, N)
    finally:
        for one in arrays:
            one.free()


def neighbours(exact: Fraction, dtype: type) -> tuple[float, float]:
    """The largest number of the type that is not above, and the least that is not below."""
    near = dtype(float(exact)) if dtype is np.float64 else dtype(np.float64(float(exact)))
    while Fraction(float(near)) > exact:
        near = np.nextafter(near, dtype(-np.inf))
    while (above := np.nextafter(near, dtype(np.inf))) <= exact:
        near = above
    return float(near), float(near if Fraction(float(near)) == exact else above)


def expected(exact: Fraction, way: str, dtype: type) -> float:
    low, high = neighbours(exact, dtype)
    return {"rd": low, "ru": high, "rz": low if exact > 0 else high}[way]


def numbers(seed: int, dtype: type) -> np.ndarray:
    random = np.random.default_rng(seed)
    x = random.standard_normal(N) * 2.0 ** random.integers(-20, 20, N)
    x[:20] = np.round(x[:20] * 8) / 8 + 1  # some results are exact
    return x.astype(dtype)


@pytest.mark.parametrize("kernel, dtype", [("floats", np.float32), ("doubles", np.float64)])
def test_directed_rounding(module: engine.Module, kernel: str, dtype: type) -> None:
    x, y = numbers(1, dtype), numbers(2, dtype)
    out = launch(module, kernel, [x, y], 12, dtype)
    for k, operation in enumerate(OPERATIONS.values()):
        for i in range(N):
            exact = operation(Fraction(float(x[i])), Fraction(float(y[i])))
            for w, way in enumerate(WAYS):
                assert out[3 * k + w, i] == expected(exact, way, dtype), (k, way, x[i], y[i])


def test_roots_fused_sums_and_conversions(module: engine.Module) -> None:
    x, y, d = numbers(3, np.float32), numbers(4, np.float32), numbers(5, np.float64)
    whole = np.random.default_rng(6).integers(-(2**62), 2**62, N)
    out = launch(module, "more", [x, y, d, whole], 15, np.float32)
    for w, way in enumerate(WAYS):
        for i in range(N):
            fused = Fraction(float(x[i])) * Fraction(float(y[i])) + Fraction(float(x[N - 1 - i]))
            low = int(np.int64(whole[i]).astype(np.int32))
            for row, exact in ((1, fused), (2, Fraction(float(d[i]))), (3, int(whole[i])),
                               (4, low)):  # fmt: skip
                assert out[5 * w + row, i] == expected(Fraction(exact), way, np.float32), (row, way)
            root, square = float(out[5 * w, i]), Fraction(abs(float(x[i])))
            next_one = np.nextafter(np.float32(root), np.float32(0 if way == "ru" else 9e9))
            low, high = sorted((root, float(next_one)))
            assert Fraction(low) ** 2 <= square <= Fraction(high) ** 2
            assert square != Fraction(float(next_one)) ** 2


def test_an_overflow_is_rounded_like_any_result(compiler: str) -> None:
    body = "x[0] = __fmul_rz(y, y); x[1] = __fmul_ru(y, y); x[2] = __fmul_rd(-y, y);"
    module = engine.compile(f"__global__ void f(float* x, float y) {{ {body} }}")
    out = array(np.zeros(3, np.float32), "out")
    module.kernel("f").launch((1,), (1,), [*pack(out), np.float32(1e30).tobytes()])
    largest = np.finfo(np.float32).max
    assert read(out, np.float32).tolist() == [largest, math.inf, -math.inf]
    out.free()


def test_packed_arithmetic(module: engine.Module) -> None:
    random = np.random.default_rng(7)
    x, y = (random.integers(0, 2**32, N, np.uint32) for _ in range(2))
    y[:40] = x[:40]
    out = launch(module, "words", [x, y], 2 * len(PACKED), np.uint32)
    for k, (name, (signed, function)) in enumerate(PACKED.items()):
        for row, bits in ((2 * k, 16), (2 * k + 1, 8)):
            piece = np.dtype(f"{'i' if signed else 'u'}{bits // 8}")
            result = function(x.view(piece).astype(int), y.view(piece).astype(int))
            if name == "vaddss":
                result = np.clip(result, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            assert (out[row].view(piece) == result.astype(piece)).all(), (name, bits)


SPECIAL = r"""
__global__ void f(const double* y, double* out, int n) {
    int i = threadIdx.x;
    out[i] = erfcinv(y[i]);
    out[n + i] = normcdfinv(y[i] / 2);
    out[2 * n + i] = erfcx(10 * y[i]);
    out[3 * n + i] = cyl_bessel_i0(y[i]);
    out[4 * n + i] = cyl_bessel_i1(y[i]);
    out[5 * n + i] = norm4d(y[i], 1, 2, 3) * rnorm3d(y[i], 1, 2) * norm(i, y) * norm3d(1, 2, y[i]);
    out[6 * n + i] = erfcinvf((float)y[i]) - out[i];
    out[7 * n + i] = jn(2, y[i]) + jn(0, y[i]) - 2 / y[i] * jn(1, y[i]);
    sincospi(y[i], &out[8 * n + i], &out[9 * n + i]);
}
__global__ void reduce(const int* x, int* out) {
    int i = threadIdx.x, v = x[i];
    unsigned mask = i % 2 ? 0xaaaaaaaau : 0x55555555u;
    out[i] = __reduce_add_sync(mask, v);
    out[32 + i] = __reduce_min_sync(mask, v);
    out[64 + i] = __reduce_max_sync(mask, v);
    out[96 + i] = (int)__reduce_max_sync(mask, (unsigned)v);
    out[128 + i] = (int)(__reduce_and_sync(mask, v) ^ __reduce_or_sync(mask, v));
    out[160 + i] = (int)__reduce_xor_sync(mask, v);
}
"""


@pytest.mark.parametrize("dialect", ["nvrtc", "nvcc"])
def test_functions_that_a_c_library_lacks(compiler: str, dialect: str) -> None:
    first = "#include <cstdio>\n" if dialect == "nvcc" else ""
    module = engine.compile(first + SPECIAL, dialect=dialect)
    y = np.concatenate([10.0 ** -np.arange(1, 13), np.linspace(0.05, 1.95, 20)])
    x, out = array(y, "x"), array(np.zeros((10, 32)), "out")
    module.kernel("f").launch((1,), (32,), pack(x, out, np.int32(32)), time_limit=30)
    found = read(out, np.float64, (10, 32))
    x.free()
    out.free()
    back = np.array([math.erfc(v) for v in found[0]])
    np.testing.assert_allclose(back, y, rtol=1e-13)
    np.testing.assert_allclose(found[1], -math.sqrt(2) * found[0], rtol=1e-12, atol=1e-15)
    scaled = np.array([math.exp(v * v) * math.erfc(v) for v in 10 * y])
    np.testing.assert_allclose(found[2], scaled, rtol=1e-12)
    angle = (np.arange(400) + 0.5) * np.pi / 400  # Bessel's integral
    integral = np.exp(y[:, None] * np.cos(angle))
    np.testing.assert_allclose(found[3], integral.mean(1), rtol=1e-13)
    np.testing.assert_allclose(found[4], (integral * np.cos(angle)).mean(1), rtol=1e-9, atol=1e-15)
    norms = np.array([np.sqrt((y[:i] ** 2).sum()) for i in range(32)])
    expected = np.sqrt(y**2 + 14) / np.sqrt(y**2 + 5) * norms * np.sqrt(5 + y**2)
    np.testing.assert_allclose(found[5], expected, rtol=1e-14)
    assert (np.abs(found[6]) < 1e-6 * np.maximum(1, found[0])).all()
    assert (np.abs(found[7]) < 1e-3 * y).all()
    np.testing.assert_allclose(found[8:], [np.sin(np.pi * y), np.cos(np.pi * y)], atol=1e-15)


def test_a_warp_reduces(compiler: str) -> None:
    x = np.random.default_rng(8).integers(-1000, 1000, 32).astype(np.int32)
    memory, out = array(x, "x"), array(np.zeros((6, 32), np.int32), "out")
    engine.compile(SPECIAL).kernel("reduce").launch((1,), (32,), pack(memory, out))
    found = read(out, np.int32, (6, 32))
    memory.free()
    out.free()
    for odd in (0, 1):
        own, unsigned = x[odd::2], x[odd::2].view(np.uint32)
        both = np.bitwise_and.reduce(own) ^ np.bitwise_or.reduce(own)
        expected = [own.sum(), own.min(), own.max(), unsigned.max().view(np.int32), both,
                    np.bitwise_xor.reduce(own)]  # fmt: skip
        assert (found[:, odd::2] == np.array(expected)[:, None]).all()
