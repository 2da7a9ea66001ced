"""nvcuda::wmma: products against NumPy and an H200, and what a wrong use is told.

``wmma_recorded.npz`` holds what an H200 (CUDA 13.0) made of each format: operands and results of
products, and for each kind of fragment the place of each lane's elements in the matrix.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from engine_support import array, pack, read

from nogpu import engine

SOURCE = r"""
#include <mma.h>
using namespace nvcuda;
typedef wmma::row_major R;
typedef wmma::col_major L;

template <class T, class C, class D, int M, int N, int K, class A, class B, wmma::layout_t O>
__global__ void product(const typename wmma::fragment<wmma::matrix_a, M, N, K, T, A>
                            ::storage_element_type* a,
                        const typename wmma::fragment<wmma::matrix_b, M, N, K, T, B>
                            ::storage_element_type* b, const C* c, D* d,
                        int lda, int ldb, int ldc, int saturates) {
    wmma::fragment<wmma::matrix_a, M, N, K, T, A> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, B> fb;
    wmma::fragment<wmma::accumulator, M, N, K, C> fc;
    wmma::fragment<wmma::accumulator, M, N, K, D> fd;
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, O);
    wmma::mma_sync(fd, fa, fb, fc, saturates);
    wmma::store_matrix_sync(d, fd, ldc, O);
}
"""
ROW, COLUMN = "wmma::mem_row_major", "wmma::mem_col_major"
TF32 = "wmma::precision::tf32"
BF16 = "__nv_bfloat16"
S8, U8 = "signed char", "unsigned char"
CASES = [  # types of the factors, of what is added, of the sum; the shape; layouts of all three
    ("half", "float", "float", 16, 16, 16, "R", "R", ROW),
    ("half", "float", "half", 16, 16, 16, "L", "R", ROW),
    ("half", "half", "float", 16, 16, 16, "R", "L", COLUMN),
    ("half", "half", "half", 32, 8, 16, "L", "L", COLUMN),
    ("half", "float", "float", 8, 32, 16, "R", "L", ROW),
    (BF16, "float", "float", 16, 16, 16, "R", "L", COLUMN),
    (BF16, "float", "float", 32, 8, 16, "L", "R", ROW),
    (BF16, "float", "float", 8, 32, 16, "R", "R", ROW),
    (TF32, "float", "float", 16, 16, 8, "R", "L", ROW),
    (TF32, "float", "float", 16, 16, 8, "L", "R", COLUMN),
    (S8, "int", "int", 16, 16, 16, "R", "L", ROW),
    (S8, "int", "int", 8, 32, 16, "L", "L", ROW),
    (U8, "int", "int", 32, 8, 16, "R", "R", COLUMN),
    ("double", "double", "double", 8, 8, 4, "R", "L", ROW),
]
NAMES = [f"product<{', '.join(map(str, case))}>" for case in CASES]
TYPES = {
    "half": np.float16, "float": np.float32, "double": np.float64, "int": np.int32,
    TF32: np.float32, BF16: np.uint16, S8: np.int8, U8: np.uint8,
}  # fmt: skip


def bfloat16(values: np.ndarray) -> np.ndarray:
    """Bits of the nearest bfloat16, halves to even."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def floats(bits: np.ndarray) -> np.ndarray:
    """What bits of bfloat16 mean."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def stored(values: np.ndarray, kind: str) -> np.ndarray:
    """Values in a type's own format, cut to what it can hold."""
    if kind == BF16:
        return bfloat16(values)
    if kind == TF32:
        return (values.astype(np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32)
    return values.astype(TYPES[kind])


def meant(stored_values: np.ndarray, kind: str) -> np.ndarray:
    return (floats(stored_values) if kind == BF16 else stored_values).astype(np.float64)


def in_memory(matrix: np.ndarray, by_column: bool, extra: int) -> np.ndarray:
    """The matrix line by line, each line with some elements more that nobody should touch."""
    lines = matrix.T if by_column else matrix
    return np.pad(lines, ((0, 0), (0, extra)), constant_values=99)


@pytest.fixture(scope="module")
def module(compiler: str) -> engine.Module:
    return engine.compile(SOURCE, ("-std=c++17",), NAMES, dialect="nvrtc")


@pytest.mark.parametrize("case, name", list(zip(CASES, NAMES)), ids=NAMES)  # noqa: B905
def test_products(module: engine.Module, checked: bool, case: tuple, name: str) -> None:
    kind, added, summed, m, n, k, by_a, by_b, layout = case
    rng = np.random.default_rng(m + k)
    whole = kind in (S8, U8)

    def numbers(rows: int, columns: int, of: str) -> np.ndarray:
        if whole:
            return stored(rng.integers(-128, 256, (rows, columns)), of)
        return stored(rng.standard_normal((rows, columns)), of)

    a, b, c = numbers(m, k, kind), numbers(k, n, kind), numbers(m, n, added)
    extra = 16 if whole else 32 // a.itemsize
    by_column = layout == COLUMN
    stride = (m if by_column else n) + 16
    d = array(np.full(((n if by_column else m), stride), 7, TYPES[summed]), "d")
    memory = [array(in_memory(a, by_a == "L", extra), "a"),
              array(in_memory(b, by_b == "L", extra), "b"), array(in_memory(c, by_column, 16), "c")]
    try:
        lda, ldb = (m if by_a == "L" else k) + extra, (k if by_b == "L" else n) + extra
        arguments = pack(*memory, d, np.int32(lda), np.int32(ldb), np.int32(stride), np.int32(0))
        module.kernel(name).launch((1,), (32,), arguments, time_limit=30)
        result = read(d, TYPES[summed], (-1, stride))
    finally:
        for allocation in (*memory, d):
            allocation.free()
    assert (result[:, -16:] == 7).all()
    got = result[:, :-16].T if by_column else result[:, :-16]
    factors = meant(a, kind), meant(b, kind)
    exact = factors[0] @ factors[1] + c.astype(np.float64)
    if whole:
        assert (got == exact).all()
        return
    size = np.abs(factors[0]) @ np.abs(factors[1]) + np.abs(c.astype(np.float64))
    last_place = {"half": 2.0**-11, "float": 0.0, "double": 0.0}[summed]
    one_sum = 2.0**-53 if kind == "double" else 2.0**-24
    assert (np.abs(got - exact) <= size * (k * one_sum) + np.abs(exact) * last_place).all()


RECORDED = np.load(Path(__file__).with_name("wmma_recorded.npz"))
RECORDED_KINDS = {  # names in the recording: types of the factors, of what is added, of the sum
    "hff": ("half", "float", "float"), "hhh": ("half",) * 3, "hhf": ("half", "half", "float"),
    "hfh": ("half", "float", "half"), "bff": (BF16, "float", "float"),
    "rff": (TF32, "float", "float"), "tff": (TF32, "float", "float"), "ddd": ("double",) * 3,
    "sii": (S8, "int", "int"), "siis": (S8, "int", "int"), "uii": (U8, "int", "int"),
}  # fmt: skip
PRODUCTS = sorted({key.split("|")[0] for key in RECORDED.files if key.count("|") == 2})


def product_name(key: str) -> str:
    kind, *shape = key.split("_")
    types = RECORDED_KINDS[kind]
    return f"product<{', '.join([*types, *shape, 'R', 'R', ROW])}>"


@pytest.fixture(scope="module")
def recorded(compiler: str) -> engine.Module:
    # What a program does to float before it is a factor in TF32: tff has it, rff has not.
    names = sorted({product_name(key) for key in PRODUCTS})
    return engine.compile(SOURCE, ("-std=c++17",), names, dialect="nvrtc")


def tf32(values: np.ndarray) -> np.ndarray:
    """The nearest numbers of 10 bits after the leading one, halves away from zero."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    special = bits & np.uint32(0x7F800000) == 0x7F800000
    return np.where(special, bits, rounded).view(np.float32)


@pytest.mark.parametrize("product", PRODUCTS)
def test_products_are_a_gpus_within_its_rounding(recorded: engine.Module, product: str) -> None:
    kind, m, n, k = product.split("_")
    m, n, k = int(m), int(n), int(k)
    factor, added, summed = RECORDED_KINDS[kind]
    cases = sorted({key.split("|")[1] for key in RECORDED.files if key.startswith(product + "|")})
    for case in cases:
        a, b, c, d = (RECORDED[f"{product}|{case}|{which}"] for which in "abcd")
        if kind == "tff":
            a, b = tf32(a), tf32(b)
        memory = [array(part, name) for part, name in ((a, "a"), (b, "b"), (c, "c"))]
        out = array(np.zeros_like(d), "d")
        strides = np.int32([k, n, n, kind == "siis"])
        recorded.kernel(product_name(product)).launch((1,), (32,), pack(*memory, out, *strides))
        found = read(out, d.dtype)
        for allocation in (*memory, out):
            allocation.free()
        if factor in (S8, U8):
            assert (found == d).all()
            continue
        with np.errstate(all="ignore"):
            found, d = found.astype(np.float64), d.astype(np.float64)
            a = stored(meant(a, factor), factor) if factor == TF32 else meant(a, factor)
            b = stored(meant(b, factor), factor) if factor == TF32 else meant(b, factor)
            size = np.abs(a.reshape(m, k)).astype(float) @ np.abs(b.reshape(k, n)).astype(float)
            size = size.ravel() + np.abs(c.astype(np.float64))
            # Each of k sums may be cut off after 24 bits; a half result is rounded once more.
            close = size * k * (2.0**-52 if factor == "double" else 2.0**-23)
            if summed == "half":
                close += np.abs(d) * 2.0**-10 + 2.0**-24
            same = (np.abs(found - d) <= close) | (found == d) | (np.isnan(found) & np.isnan(d))
        assert same.all(), (case, np.flatnonzero(~same)[:5], found[~same][:5], d[~same][:5])


def test_float_to_tf32_is_a_gpus(compiler: str) -> None:
    text = """#include <mma.h>
    __global__ void f(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = nvcuda::wmma::__float_to_tf32(x[i]);
    }"""
    x, expected = RECORDED["to_tf32|x"], RECORDED["to_tf32|y"]
    memory, out = array(x, "x"), array(np.zeros_like(x), "y")
    engine.compile(text).kernel("f").launch((8,), (128,), pack(memory, out, np.int32(x.size)))
    found = read(out, np.uint32)
    memory.free()
    out.free()
    both_nan = np.isnan(found.view(np.float32)) & np.isnan(expected.view(np.float32))
    assert ((found == expected) | both_nan).all()


PLACES = r"""
#include <mma.h>
using namespace nvcuda;
template <class F> __global__ void f(const typename F::storage_element_type* p, int* out, int ld) {
    F a;
    if constexpr (F::nogpu_shape().use == nogpu::kAccumulator)
        wmma::load_matrix_sync(a, p, ld, wmma::mem_row_major);
    else
        wmma::load_matrix_sync(a, p, ld);
    for (int i = 0; i < a.num_elements; i++)
        out[threadIdx.x * a.num_elements + i] = (int)(float)a.x[i];
}
"""


def test_each_lane_holds_what_it_holds_on_a_gpu(compiler: str) -> None:
    kinds = {"half": "half", "bf16": BF16, "s8": S8, "u8": U8, "tf32": TF32, "double": "double",
             "float": "float", "int": "int"}  # fmt: skip
    places = {key[7:]: RECORDED[key] for key in RECORDED.files if key.startswith("places|")}
    names = {}
    for key in places:
        use, kind, m, n, k = key.rsplit("_", 4)
        layout = "" if use == "accumulator" else ", wmma::row_major"
        names[key] = f"f<wmma::fragment<wmma::{use}, {m}, {n}, {k}, {kinds[kind]}{layout}>>"
    with engine.checks(False):
        module = engine.compile(PLACES, ("-std=c++17",), [*names.values()], dialect="nvrtc")
        for key, name in names.items():
            use, kind, *shape = key.rsplit("_", 4)
            m, n, k = map(int, shape)
            rows, columns = {"matrix_a": (m, k), "matrix_b": (k, n), "accumulator": (m, n)}[use]
            number = np.arange(rows * columns)
            found = 0
            for digit in (1, 64):  # all formats hold numbers below 64
                data = stored(number // digit % 64, kinds[kind])
                p, out = array(data, "p"), array(np.zeros(places[key].size, np.int32), "out")
                module.kernel(name).launch((1,), (32,), pack(p, out, np.int32(columns)))
                found = found + digit * read(out, np.int32)
                p.free()
                out.free()
            assert (found == places[key].ravel()).all(), key


def test_sums_of_whole_numbers_stop_at_the_bounds_where_asked(module: engine.Module) -> None:
    name = NAMES[CASES.index((S8, "int", "int", 16, 16, 16, "R", "L", ROW))]
    a = array(np.full((16, 16), 127, np.int8), "a")
    c = array(np.full((16, 16), 2**31 - 5, np.int32), "c")
    d = array(np.zeros((16, 16), np.int32), "d")
    found = []
    for saturates in (0, 1):
        arguments = pack(a, a, c, d, *np.int32([16, 16, 16, saturates]))
        module.kernel(name).launch((1,), (32,), arguments, time_limit=30)
        found.append(int(read(d, np.int32)[0]))
    for allocation in (a, c, d):
        allocation.free()
    assert found == [-(2**31) - 5 + 16 * 127 * 127, 2**31 - 1]


USES = r"""
#include <mma.h>
using namespace nvcuda;
typedef wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> A;
typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> C;
template <int WHAT> __global__ void f(const half* x, float* y) {
    __shared__ half tile[256];
    A a;
    C c, d;
    if (WHAT == 0) {
        for (int i = threadIdx.x; i < 256; i += 32) tile[i] = x[i];
        wmma::load_matrix_sync(a, tile, 16);
    }
    if (WHAT == 1) wmma::load_matrix_sync(a, x + 8, 16);
    if (WHAT == 2) wmma::load_matrix_sync(a, x, 12);
    if (WHAT == 3) wmma::load_matrix_sync(a, x, threadIdx.x < 16 ? 16 : 8);
    if (WHAT == 4 && threadIdx.x == 5) return;
    wmma::fill_fragment(c, 1.5f);
    wmma::fill_fragment(d, 2.0f);
    if (WHAT == 5) {
        for (int i = 0; i < c.num_elements; i++) c.x[i] = 2 * c.x[i] + d.x[i];
        wmma::store_matrix_sync(y, c, 16, wmma::mem_row_major);
    }
    if (WHAT == 6) wmma::store_matrix_sync(y + 8, c, 16, wmma::mem_row_major);
    if (WHAT == 4 || WHAT == 7) wmma::load_matrix_sync(a, x, 16);
    if (WHAT == 8) {
        wmma::store_matrix_sync(y, c, 16, wmma::mem_row_major);
        if (y[8 * threadIdx.x] == 7) __trap();  // without __syncwarp
    }
}
"""


@pytest.fixture(scope="module")
def uses(compiler: str) -> engine.Module:
    return engine.compile(USES, ("-std=c++17",), [f"f<{k}>" for k in range(9)], dialect="nvrtc")


def launched(uses: engine.Module, what: int, threads: int = 32) -> np.ndarray:
    x, y = array(np.ones(256, np.float16), "x"), array(np.zeros(256, np.float32), "y")
    try:
        uses.kernel(f"f<{what}>").launch((1,), (threads,), pack(x, y), time_limit=30)
        return read(y, np.float32)
    finally:
        x.free()
        y.free()


@pytest.mark.parametrize("what, fault, words, threads", [
    (0, engine.Race, r"reads 16 bytes at tile\[\d+\]", 32),
    (1, engine.MisalignedAccess, "reads 32 bytes .* is no multiple of 32", 32),
    (2, engine.MisalignedAccess, "reads 16 bytes .* is no multiple of 16", 32),
    (3, engine.BarrierFault, "different pointers, strides, layouts or fragments", 32),
    (4, engine.BarrierFault, "needs all its 32 threads, and 1 of them are not there", 32),
    (6, engine.GlobalOutOfBounds, r"writes 16 bytes at .*past its end", 32),
    (7, engine.BarrierFault, "needs all its 32 threads, and 8 of them are not there", 24),
    (8, engine.Race, r"reads 4 bytes at y\[\d+\], which thread", 32),
])  # fmt: skip
def test_wrong_uses_are_faults_at_their_lines(
    uses: engine.Module, what: int, fault: type, words: str, threads: int
) -> None:
    with pytest.raises(fault) as caught:
        launched(uses, what, threads)
    assert re.search(words, str(caught.value)), caught.value
    if what != 4:
        line = USES.split("\n")[caught.value.line - 1]
        assert ("load_matrix_sync(" if what < 6 or what == 7 else "y[8 *" if what == 8
                else "store_matrix_sync(") in line


def test_elements_are_computed_with_one_by_one(uses: engine.Module) -> None:
    assert (launched(uses, 5) == 5).all()


COUNTED = r"""
#include <mma.h>
using namespace nvcuda;
template <class F> __global__ void f(const void* p, float* y) {
    F a;
    wmma::load_matrix_sync(a, (const typename F::storage_element_type*)p, 64);
    y[threadIdx.x] = (float)a.x[0];
}
__global__ void shared(const half* p, float* y) {
    __shared__ half tile[16 * 64];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    for (int i = threadIdx.x; i < 1024; i += 32) tile[i] = p[i];
    __syncwarp();
    wmma::load_matrix_sync(a, tile, 64);
    y[threadIdx.x] = (float)a.x[0];
}
template <wmma::layout_t L> __global__ void sums(float* p, float* y) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::load_matrix_sync(c, p, 64, L);
    wmma::store_matrix_sync(p, c, 64, L);
}
"""
# What Nsight Compute said of the same loads on an H200: requests and sectors.
MEASURED = {
    "f<wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>>": (4, 32),
    "f<wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major>>": (4, 32),
    "f<wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>>": (4, 32),
    "f<wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major>>": (4, 32),
    f"f<wmma::fragment<wmma::matrix_a, 16, 16, 8, {TF32}, wmma::row_major>>": (4, 32),
    f"f<wmma::fragment<wmma::matrix_b, 16, 16, 8, {TF32}, wmma::row_major>>": (4, 16),
    f"f<wmma::fragment<wmma::matrix_a, 16, 16, 16, {S8}, wmma::row_major>>": (2, 16),
    f"sums<{ROW}>": (4, 32),
    f"sums<{COLUMN}>": (8, 32),
}


def test_loads_and_stores_are_counted_as_on_a_gpu(compiler: str) -> None:
    module = engine.compile(COUNTED, ("-std=c++17",), [*MEASURED, "shared"], dialect="nvrtc")
    p, y = array(np.zeros(64 * 64, np.float32), "p"), array(np.zeros(32, np.float32), "y")
    found = {}
    for name in [*MEASURED, "shared"]:
        with engine.counting() as counts:
            module.kernel(name).launch((1,), (32,), pack(p, y))
        moved = [line for line in counts.lines if "_matrix_sync" in line.text]
        found[name] = [(line.requests, line.sectors) for line in moved]
        if name == "shared":
            assert moved[0].wavefronts == 32  # one ldmatrix whose eight lines meet in the banks
    p.free()
    y.free()
    del found["shared"]
    assert found == {
        name: [figures] * (2 if name.startswith("sums") else 1)
        for name, figures in MEASURED.items()
    }


@pytest.mark.parametrize("words, declaration", [
    ("there is no fragment of this shape", "wmma::fragment<wmma::accumulator, 16, 8, 16, float> c"),
    ("nogpu lacks wmma of numbers of 4 bits", "wmma::fragment<wmma::matrix_a, 8, 8, 32, "
     "wmma::experimental::precision::s4, wmma::row_major> a"),
])  # fmt: skip
def test_what_there_is_not_is_named(compiler: str, words: str, declaration: str) -> None:
    with pytest.raises(engine.CompileError, match=words):
        engine.compile(f"#include <mma.h>\nusing namespace nvcuda;\n__global__ void f() {{ "
                       f"{declaration}; }}")  # fmt: skip


@pytest.mark.parametrize("source, architecture", [
    ("", 900),
    ("#include <mma.h>\ntypedef nvcuda::wmma::precision::tf32 T;", 900),
    ("#if __CUDA_ARCH__ >= 800\n__device__ void wait() { asm(\"cp.async.wait_all;\"); }\n#endif",
     750),
])  # fmt: skip
def test_what_has_inline_ptx_for_newer_devices_is_compiled_for_an_older(
    source: str, architecture: int
) -> None:
    out = array(np.zeros(1, np.int32), "out")
    text = source + "\n__global__ void f(int* out) { *out = __CUDA_ARCH__; }"
    engine.compile(text).kernel("f").launch((1,), (1,), pack(out))
    assert read(out, np.int32)[0] == architecture
    out.free()
