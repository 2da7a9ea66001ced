"""The tuned attention kernels and the function that launches them."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import helpers

helpers.start()

import cupy as cp  # noqa: E402

from helpers import attention as attention_module  # noqa: E402
from helpers import inspect, kernels  # noqa: E402
from helpers.attention import TILES, Tile, attention  # noqa: E402
from helpers.backend import is_simulated  # noqa: E402

SIMULATOR = is_simulated(cp)
CAPABILITY = 0 if SIMULATOR else int(cp.cuda.Device().compute_capability)
# The kernels by name, how far each may be from float64 here, and whether it can run here.
TOLERANCE = {"float32": 1e-5, "tf32": 2e-5, "float16": 5e-3}
RUNS = {"float32": True, "tf32": CAPABILITY >= 80, "float16": CAPABILITY >= 75}
NVCC = shutil.which("nvcc")
# In place of the float16 kernel's instructions for fragments, which the simulator does not have.
FRAGMENTS = r"""
__device__ float number(unsigned bits) {
    int exponent = bits >> 10 & 31;
    float size = exponent ? ldexpf(1024 + (bits & 1023), exponent - 25) : ldexpf(bits & 1023, -24);
    return bits & 0x8000 ? -size : size;
}
__device__ unsigned bits(float x) {  // rounded to even; what is too large is not a number any more
    float size = fabsf(x);
    unsigned normal = __float_as_uint(ldexpf(size, -112));
    return (x < 0 ? 0x8000 : 0)
        | (size < 6.1e-5f ? (unsigned)rintf(ldexpf(size, 24))
                          : (normal + 0xfff + (normal >> 13 & 1)) >> 13 & 0x7fff);
}
__device__ unsigned of_lane(const half* row, int lane, int column) {
    auto there = __shfl_sync(0xffffffff, reinterpret_cast<unsigned long long>(row), lane);
    return reinterpret_cast<const half*>(there)[column];
}
__device__ void load(unsigned (&matrices)[4], const half* row) {
    int r = threadIdx.x % 32 / 4, c = threadIdx.x % 4 * 2;
    for (int i = 0; i < 4; i++)
        matrices[i] = of_lane(row, 8 * i + r, c) | of_lane(row, 8 * i + r, c + 1) << 16;
}
__device__ void load_turned(unsigned (&matrices)[4], const half* row) {
    int r = threadIdx.x % 32 / 4, c = threadIdx.x % 4 * 2;
    for (int i = 0; i < 4; i++)
        matrices[i] = of_lane(row, 8 * i + c, r) | of_lane(row, 8 * i + c + 1, r) << 16;
}
__device__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    int lane = threadIdx.x % 32;
    for (int k = 0; k < 8; k++) {  // two of 16
        unsigned left[2], right[2];
        for (int i = 0; i < 2; i++) {
            left[i] = __shfl_sync(0xffffffff, a[k / 4 * 2 + i], lane / 4 * 4 + k % 4);
            right[i] = __shfl_sync(0xffffffff, k < 4 ? b0 : b1, (lane % 4 * 2 + i) * 4 + k % 4);
        }
        for (int e = 0; e < 4; e++)
            sum[e] += number(left[e / 2] & 0xffff) * number(right[e % 2] & 0xffff)
                + number(left[e / 2] >> 16) * number(right[e % 2] >> 16);
    }
}
__device__ unsigned pair(float low, float high) { return bits(low) | bits(high) << 16; }
__device__ float power(float x) { return exp2f(x); }

"""


def inputs(shape, dtype="float32"):
    """Queries and keys far from the origin, and no two numbers alike."""
    rng = np.random.default_rng(12)
    q, k, v = (rng.standard_normal(shape) for _ in range(3))
    return [cp.asarray((x + shift).astype(dtype)) for x, shift in ((q, 0.5), (k, -0.5), (v, 3))]


def exact(q, k, v, causal, scale=None):
    """The definition, in float64."""
    q, k, v = (x.get().astype(np.float64) for x in (q, k, v))
    scores = np.einsum("bhid,bhjd->bhij", q, k) * (scale or q.shape[-1] ** -0.5)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)


def run(kernel, q, k, v, causal=False, scale=None):
    return attention(q, k, v, causal, scale, tensor_cores=kernel != "float32")


each_kernel = pytest.mark.parametrize("kernel", [
    pytest.param(name, marks=pytest.mark.skipif(not runs, reason=f"{name} cannot run here"))
    for name, runs in RUNS.items()])


def dtype_of(kernel):
    return "float16" if kernel == "float16" else "float32"


@each_kernel
@pytest.mark.parametrize("head", [32, 64, 128])
@pytest.mark.parametrize("n", [1, 33, 100, 300])
def test_equals_the_definition(kernel, head, n):
    if SIMULATOR and n > 100:
        pytest.skip("long on the simulator")
    q, k, v = inputs((2, 3, n, head), dtype_of(kernel))
    for causal in (False, True):
        out = run(kernel, q, k, v, causal)
        assert out.dtype == q.dtype and out.shape == q.shape
        assert abs(out.get() - exact(q, k, v, causal)).max() < TOLERANCE[kernel]


def options(tile):
    return "-std=c++17", *(f"-D{name}={value}" for name, value in tile.macros)


def launch(module, tile, q, k, v, causal, scale):
    """The module's kernel, and grid, block and arguments for it."""
    kernel = module.get_function("attention")
    kernel.max_dynamic_shared_size_bytes = tile.shared
    batch, heads, m, _ = q.shape
    out = cp.full_like(q, cp.nan)
    arguments = (q, k, v, out, np.int32(m), np.int32(k.shape[2]), np.float32(scale),
                 np.int32(causal))
    return kernel, ((-(-m // tile.rows), heads, batch), (tile.threads,), arguments)


def compiled(tile, kernel="float32"):
    return cp.RawModule(code=kernels.source(f"attention_{kernel}"), options=options(tile))


@pytest.mark.parametrize("head", [32, 64, 128])
def test_the_smallest_tile_has_no_fault(head):
    tile = TILES["float32"][head][-1]
    kernel, how = launch(compiled(tile), tile, *inputs((2, 1, tile.rows + 1, head)), True, 0.1)
    inspect(kernel, *how, shared=tile.shared).raise_fault()


@each_kernel
def test_every_tile_that_fits(kernel):
    most = cp.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
    tiles = [tile for tiles in TILES[kernel].values() for tile in tiles if tile.shared <= most]
    for tile in tiles:
        q, k, v = inputs((1, 2, tile.rows + 1, dict(tile.macros)["HEAD"]), dtype_of(kernel))
        function, how = launch(compiled(tile, kernel), tile, q, k, v, True, 0.1)
        function(*how, shared_mem=tile.shared)
        assert abs(how[-1][3].get() - exact(q, k, v, True, 0.1)).max() < TOLERANCE[kernel], tile


@pytest.mark.parametrize("block, multiprocessor, keys", [
    (227, 228, {32: 64, 64: 64, 128: 64}), (163, 164, {32: 64, 64: 64, 128: 32}),  # H200, A100
    (99, 100, {32: 64, 64: 32, 128: 32}), (64, 64, {32: 64, 64: 64, 128: 32})])    # L4, T4
def test_two_blocks_of_float16_where_they_fit(block, multiprocessor, keys):
    for head, expected in keys.items():
        tile = attention_module._tile("float16", head, 1024 * block, 1024 * multiprocessor)
        assert dict(tile.macros)["KEYS"] == expected and tile.shared <= 1024 * block
    assert attention_module._tile("float32", 64, 1024 * 163, 1024 * 164) == TILES["float32"][64][0]


@each_kernel
@pytest.mark.parametrize("m, n", [(1, 90), (90, 20), (20, 90)])
def test_fewer_or_more_queries_than_keys(kernel, m, n):
    q = inputs((1, 2, m, 32), dtype_of(kernel))[0]
    k, v = inputs((1, 2, n, 32), dtype_of(kernel))[1:]
    for causal in (False, True):
        error = abs(run(kernel, q, k, v, causal).get() - exact(q, k, v, causal)).max()
        assert error < TOLERANCE[kernel]


@pytest.mark.skipif(not RUNS["tf32"], reason="no tensor cores with TF32 here")
def test_long_sums_on_tensor_cores_do_not_drift():
    """They cut off where additions round: 4096 values of 3 came out 2e-4 too small."""
    q, k, v = inputs((1, 2, 4096, 64))
    assert abs(attention(q, k, v).get() - exact(q, k, v, False)).max() < TOLERANCE["tf32"]


def rising(q, k, v):
    """The same with scores that rise by 16 in 64 keys: weights become too large for a float16."""
    q[..., 0] = 8
    k[..., 0] = cp.arange(k.shape[2]) * (q.shape[-1] ** 0.5 / 32)
    return q, k, v


@each_kernel
def test_weights_that_become_too_large(kernel):
    q, k, v = rising(*inputs((1, 2, 100 if SIMULATOR else 300, 32), dtype_of(kernel)))
    for causal in (False, True):
        error = abs(run(kernel, q, k, v, causal).get() - exact(q, k, v, causal)).max()
        assert error < 1e-3 if kernel != "float16" else error < TOLERANCE[kernel]


@pytest.mark.skipif(not SIMULATOR, reason="for the simulator")
@pytest.mark.parametrize("head, tall, keys, m, n", [
    (32, 2, 64, 1, 70), (64, 2, 64, 129, 65), (128, 1, 32, 70, 40),
    # Other tiles and lengths, which compile for seconds.
    *(pytest.param(*case, marks=pytest.mark.slow) for case in (
        (32, 2, 64, 130, 141), (64, 2, 64, 40, 256), (128, 2, 64, 33, 140), (128, 2, 32, 20, 66)))])
def test_float16_with_other_instructions_for_fragments(head, tall, keys, m, n):
    """All but these few functions is the kernel's own text: tiles, masks, tops, what a lane has."""
    before, rest = kernels.source("attention_float16").split("// == fragments\n")
    text = before + FRAGMENTS + rest[rest.index("// == a warp's queries"):]
    (tile,) = (tile for tile in TILES["float16"][head] if dict(tile.macros)["TALL"] == tall
               and dict(tile.macros)["KEYS"] == keys)
    module = cp.RawModule(code=text, options=options(tile))
    for change in (lambda *x: x), rising:
        q, (k, v) = inputs((1, 2, m, head), "float16")[0], inputs((1, 2, n, head), "float16")[1:]
        q, k, v = change(q, k, v)
        for causal in (False, True):
            kernel, (grid, block, arguments) = launch(module, tile, q, k, v, causal, head**-0.5)
            kernel(grid, block, arguments, shared_mem=tile.shared)
            assert abs(arguments[3].get() - exact(q, k, v, causal)).max() < TOLERANCE["float16"]
    if m < 30:
        inspect(kernel, grid, block, arguments, shared=tile.shared).raise_fault()


def test_large_scores_do_not_overflow():
    q, k, v = inputs((1, 1, 70, 64))
    out = run("float32", 60 * q, 60 * k, v)
    assert abs(out.get() - exact(60 * q, 60 * k, v, False)).max() < 1e-3


def test_scale_and_zeros_for_a_smaller_head():
    """A head of 16 numbers, as the network has, is one of 32 with zeros behind them."""
    q, k, v = inputs((1, 2, 16, 16))
    padded = (cp.pad(x, ((0, 0), (0, 0), (0, 0), (0, 16))) for x in (q, k, v))
    out = attention(*padded, scale=1 / 4).get()
    assert abs(out[..., :16] - exact(q, k, v, False)).max() < TOLERANCE["tf32"]
    assert not out[..., 16:].any()


def test_takes_no_memory_but_the_result():
    q, k, v = inputs((1, 1, 300, 64))
    pool = cp.get_default_memory_pool()
    attention(q, k, v)
    before = pool.used_bytes()
    out = attention(q, k, v)
    assert pool.used_bytes() - before == -(-out.nbytes // 512) * 512


@pytest.fixture
def many(monkeypatch, request):
    """64 multiprocessors, or so many, to share the keys of few queries; the simulator has two."""
    count = getattr(request, "param", 64)
    monkeypatch.setattr(attention_module, "multiprocessors", lambda device: count)


@pytest.mark.parametrize("many, m, n, head", [
    (64, 1, 1, 64), (64, 1, 127, 64), (64, 1, 129, 64), (5, 1, 1000, 64), (64, 1, 600, 128),
    (64, 1, 513, 32), (5, 2, 300, 64), (64, 5, 260, 128), (64, 5, 3, 32)], indirect=["many"])
def test_few_queries_split_their_keys(many, m, n, head):
    """Ragged pieces and empty ones; the second call needs the counters of the first at 0."""
    q, (k, v) = inputs((1, 2, m, head))[0], inputs((1, 2, n, head))[1:]
    for causal in (False, True, False):
        for factor in (1, 10):  # with 10 few keys have nearly all of the weight
            out = attention(factor * q, k, v, causal)
            assert abs(out.get() - exact(factor * q, k, v, causal)).max() < 2e-5


def test_one_query_a_head_for_more_heads_than_multiprocessors():
    q, k, v = inputs((2, 70, 9, 32))
    one = cp.ascontiguousarray(q[:, :, :1])
    assert abs(attention(one, k, v).get() - exact(one, k, v, False)).max() < 1e-5


@pytest.mark.parametrize("many", [64, 3], indirect=True)
def test_few_queries_whatever_their_largest_score_and_where(many):
    q, k, v = inputs((1, 1, 2200, 128))  # 35 pieces, or 12 rounds
    one, steps = cp.zeros_like(q[:, :, :1]), np.arange(2200) / 4
    one[..., 0] = 8
    for first in (steps, -steps, -30_000 - 3 * (steps * 7 % 600)):
        k[0, 0, :, 0] = cp.asarray(first, dtype=cp.float32)
        assert abs(attention(one, k, v).get() - exact(one, k, v, False)).max() < 1e-3
    k[0, 0, 500, 0] = cp.nan  # does not disappear in a maximum
    assert cp.isnan(attention(one, k, v)).all()


def test_few_queries_have_no_fault_and_no_race(many):
    q, k, v = inputs((1, 1, 300, 64))
    out, kept = cp.empty_like(q[:, :, :2]), attention_module._kept(0, 0)
    inspect(attention_module._few_kernel(64, 0), (6,), (256,), (
        q, k, v, out, *kept, np.int32(2), np.int32(300), np.int32(3), np.int32(128),
        np.float32(0.1), np.int32(0))).raise_fault()
    assert not kept[-1].any()


def test_nothing_to_do():
    q, k, v = inputs((2, 0, 5, 32))
    assert attention(q, k, v).shape == (2, 0, 5, 32)


def arrays(shape=(1, 2, 5, 32), dtype="float32"):
    return cp.ones(shape, dtype)


@pytest.mark.parametrize("given, error, words", [
    ((np.ones((1, 1, 5, 32), np.float32),) * 3, TypeError,
     "q is a numpy.ndarray, attention() takes CuPy arrays: cp.asarray(q)"),
    (([1.0], arrays(), arrays()), TypeError, "q is a list"),
    ((arrays(), arrays(), arrays(dtype="float64")), TypeError, "float32, float32 and float64"),
    ((arrays(dtype="int32"),) * 3, TypeError, "all three as float16"),
    ((arrays(), arrays((1, 2, 6, 32)), arrays()), ValueError,
     "(1, 2, 5, 32), (1, 2, 6, 32) and (1, 2, 5, 32)"),
    ((arrays((1, 3, 5, 32)), arrays(), arrays()), ValueError,
     "equal but for the number of queries"),
    ((arrays((5, 32)),) * 3, ValueError, "(batch, heads, n, head size)"),
    ((arrays((1, 2, 5, 16)),) * 3, ValueError, "is 16: the kernels are written for 32, 64 and 128"),
    ((arrays(), arrays((1, 5, 2, 32)).swapaxes(1, 2), arrays()), ValueError,
     "k, shape (1, 2, 5, 32), has strides (1280, 128, 256, 4) and is not C-contiguous"),
    ((arrays(), arrays(), cp.ones(321, cp.float32)[1:].reshape(1, 2, 5, 32)), ValueError,
     "v begins 4 bytes after a multiple of 16"),
    ((*(arrays(),) * 3, False, -1), ValueError, "scale is -1: it must be above 0"),
])
def test_refuses(given, error, words):
    with pytest.raises(error, match=re.escape(words)):
        attention(*given)


@pytest.mark.skipif(not SIMULATOR, reason="for the simulator")
def test_float16_says_what_it_needs():
    with pytest.raises(NotImplementedError, match="tensor cores, which the simulator does not"):
        attention(*[arrays(dtype="float16")] * 3)


def nvcc(kernel, tile, target, *more):
    """Compile a kernel; what nvcc said."""
    done = subprocess.run([NVCC, *options(tile), "-x", "cu", "-", "-o", str(target), *more],
                          input=kernels.source(f"attention_{kernel}").encode(),
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode()


@pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
@pytest.mark.parametrize("kernel", [
    name if name == "float32" else pytest.param(name, marks=pytest.mark.slow) for name in TILES])
def test_nvcc_accepts(tmp_path, kernel):
    """For the oldest and the recorded GPU, each with its tile, without a register spilled."""
    for arch, tile in (75, TILES[kernel][64][-1]), (90, TILES[kernel][64][0]):
        said = nvcc(kernel, tile, tmp_path / "kernel.cubin", f"-arch=sm_{arch}", "--cubin",
                    "-Xptxas", "-v")
        assert " 0 bytes spill stores, 0 bytes spill loads" in said


@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
@pytest.mark.parametrize("head, keys", [(32, 8), (64, 4), (128, 2)])
def test_nvcc_accepts_the_kernel_for_few_queries(tmp_path, head, keys):
    tile = Tile((("HEAD", head), ("WARPS", 8), ("KEYS", keys)), 256, 1, 0)
    said = nvcc("one_query", tile, tmp_path / "kernel.cubin", "-arch=sm_90", "--cubin",
                "-Xptxas", "-v")
    assert " 0 bytes spill stores, 0 bytes spill loads" in said


@pytest.mark.skipif(NVCC is None or not RUNS["float16"], reason="needs nvcc and a GPU")
@pytest.mark.parametrize("kernel", ["float32", "float16"])
def test_what_a_t4_would_run_is_right(tmp_path, kernel):
    """Compute capability 7.5 has no cp.async and half as large products; newer GPUs run its PTX."""
    tile = TILES[kernel][64][-1]
    nvcc(kernel, tile, tmp_path / "kernel.ptx", "-arch=compute_75", "--ptx")
    q, k, v = inputs((1, 2, 200, 64), kernel)
    module = cp.RawModule(path=str(tmp_path / "kernel.ptx"))
    function, how = launch(module, tile, q, k, v, True, 0.1)
    function(*how, shared_mem=tile.shared)
    assert abs(how[-1][3].get() - exact(q, k, v, True, 0.1)).max() < TOLERANCE[kernel]
