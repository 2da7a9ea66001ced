"""Cooperative groups: each group's members, and what they compute together, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from engine_support import array, pack, read

from nogpu import engine

THREADS, BLOCKS = 120, 8  # the last warp of a block has 24 lanes
SOURCE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

struct Wide { double first, second; int third; };

__device__ int sum_of(cg::thread_group g, int* temp, int v) {
    int rank = g.thread_rank();
    for (int i = 64; i > 0; i /= 2) {
        temp[rank] = v;
        g.sync();
        if (rank < i && rank + i < g.size()) v += temp[rank + i];
        g.sync();
    }
    return v;
}

__global__ void block_sum(const int* x, int* out) {
    __shared__ int temp[128];
    cg::thread_block block = cg::this_thread_block();
    int s = sum_of(block, temp, x[cg::this_grid().thread_rank()]);
    if (block.thread_rank() == 0) out[block.group_index().x] = s;
}

template <int WHAT> __global__ void tiles(const int* x, int* out) {
    int i = cg::this_grid().thread_rank(), v = x[i];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    auto part = cg::tiled_partition<2>(tile);
    Wide w = {v * 0.5, v * 2.0, v};
    if (WHAT == 0) out[i] = cg::reduce(tile, v, cg::plus<int>());
    if (WHAT == 1) out[i] = cg::reduce(tile, v, cg::less<int>());
    if (WHAT == 2) out[i] = cg::inclusive_scan(tile, v);
    if (WHAT == 3) out[i] = cg::exclusive_scan(tile, v, cg::plus<int>());
    if (WHAT == 4) out[i] = tile.shfl_xor(v, 3) + 1000 * tile.meta_group_rank();
    if (WHAT == 5) out[i] = tile.ballot(v & 1) + 1000 * tile.any(v > 45) + 2000 * tile.all(v > 5);
    if (WHAT == 6) out[i] = part.meta_group_rank() * 100 + part.thread_rank() * 10 + part.size();
    if (WHAT == 7) { Wide r = tile.shfl(w, 2); out[i] = r.first * 2 + r.second + r.third; }
    if (WHAT == 8) {
        cg::thread_group half = cg::tiled_partition(cg::thread_group(block), 4);
        half.sync();
        out[i] = half.thread_rank() * 10 + half.size();
    }
}

template <int WHAT> __global__ void lanes(const int* x, int* out) {
    int i = cg::this_grid().thread_rank(), v = x[i];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    if (WHAT == 0 && v % 3 == 0) {
        cg::coalesced_group some = cg::coalesced_threads();
        out[i] = some.size() * 10000 + some.thread_rank() * 100 + some.shfl(v, 0);
    }
    if (WHAT == 1) {
        auto parity = cg::binary_partition(warp, v & 1);
        out[i] = cg::reduce(parity, v, cg::plus<int>()) + 10000 * parity.thread_rank();
    }
    if (WHAT == 2) {
        auto same = cg::labeled_partition(warp, v % 5);
        out[i] = same.meta_group_size() * 10000 + same.meta_group_rank() * 100 + same.size();
    }
}

__global__ void copies(const int* x, int* out) {
    __shared__ int tile[120];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, x + 120 * blockIdx.x, sizeof tile);
    cg::wait(block);
    out[cg::this_grid().thread_rank()] = tile[119 - block.thread_rank()];
}
"""
NAMES = [*(f"tiles<{k}>" for k in range(9)), *(f"lanes<{k}>" for k in range(3))]
X = np.random.default_rng(5).integers(0, 50, THREADS * BLOCKS).astype(np.int32)


@pytest.fixture(scope="module")
def module(compiler: str) -> engine.Module:
    return engine.compile(SOURCE, ("-std=c++17",), NAMES, dialect="nvrtc")


def run(module: engine.Module, name: str) -> np.ndarray:
    x, out = array(X, "x"), array(np.zeros(len(X), np.int32), "out")
    try:
        module.kernel(name).launch((BLOCKS,), (THREADS,), pack(x, out), time_limit=30)
        return read(out, np.int32)
    finally:
        x.free()
        out.free()


def test_a_block_is_a_group(module: engine.Module) -> None:
    assert (run(module, "block_sum")[:BLOCKS] == X.reshape(BLOCKS, THREADS).sum(1)).all()


T = X.reshape(-1, 8)
PLACE = np.arange(THREADS * BLOCKS)
BITS = 1 << np.arange(8)
TILES = [
    np.repeat(T.sum(1), 8),
    np.repeat(T.min(1), 8),
    T.cumsum(1).ravel(),
    (T.cumsum(1) - T).ravel(),
    T[:, np.arange(8) ^ 3].ravel() + 1000 * (PLACE % THREADS // 8),
    np.repeat(((T & 1) * BITS).sum(1) + 1000 * (T > 45).any(1) + 2000 * (T > 5).all(1), 8),
    PLACE % 8 // 2 * 100 + PLACE % 2 * 10 + 2,
    np.repeat(T[:, 2] * 4, 8),
    PLACE % 4 * 10 + 4,
]


@pytest.mark.parametrize("what", range(9))
def test_tiles_compute_together(module: engine.Module, what: int) -> None:
    assert (run(module, f"tiles<{what}>") == TILES[what]).all()


def of_warps(function) -> np.ndarray:
    blocks = X.reshape(BLOCKS, THREADS)
    return np.concatenate([
        function(block[k : k + 32]) for block in blocks for k in range(0, THREADS, 32)
    ])


def some_lanes(x: np.ndarray) -> np.ndarray:
    some = x % 3 == 0
    first = x[some][0] if some.any() else 0
    return np.where(some, some.sum() * 10000 + (some.cumsum() - 1) * 100 + first, 0)


def parities(x: np.ndarray) -> np.ndarray:
    same = (x[:, None] & 1) == (x & 1)
    return (same * x).sum(1) + 10000 * np.tril(same, -1).sum(1)


def labels(x: np.ndarray) -> np.ndarray:
    order = list(dict.fromkeys(x % 5))  # by their first lanes
    ranks = np.array([order.index(label) for label in x % 5])
    return len(order) * 10000 + ranks * 100 + (x[:, None] % 5 == x % 5).sum(1)


@pytest.mark.parametrize("what, expected", list(enumerate([some_lanes, parities, labels])))
def test_parts_of_a_warp_compute_together(module: engine.Module, what: int, expected) -> None:
    assert (run(module, f"lanes<{what}>") == of_warps(expected)).all()


def test_a_group_copies(module: engine.Module) -> None:
    assert (run(module, "copies") == X.reshape(BLOCKS, THREADS)[:, ::-1].ravel()).all()


@pytest.mark.parametrize("code, words", [
    ("cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block());",
     "nogpu lacks tiles of more than one warp"),
])  # fmt: skip
def test_what_is_lacking_is_named(compiler: str, code: str, words: str) -> None:
    text = f"#include <cooperative_groups.h>\n__global__ void f() {{ {code} }}"
    with pytest.raises(engine.CompileError, match=words):
        engine.compile(text).kernel("f").launch((1,), (1,), [])


GRID = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <int WHAT> __global__ void f(int* x, int rounds) {
    auto grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    if (WHAT == 1 && blockIdx.x == 2) return;
    if (WHAT == 2) while (blockIdx.x == 2 && *(volatile int*)(x + 2 * n) == 0) {}
    if (WHAT == 4) x[2 * n] = grid.is_valid();
    for (int r = 0; r < rounds; r++) {
        int* from = x + r % 2 * n;
        int* to = x + (r + 1) % 2 * n;
        to[i] = from[(i + 65) % n] + 1;
        if (WHAT == 0) grid.sync();
        if (WHAT == 1 || WHAT == 2) cg::sync(grid);
    }
}
"""
GRID_THREADS = 4 * 64


@pytest.fixture(scope="module")
def grids(compiler: str) -> engine.Module:
    return engine.compile(GRID, ("-std=c++17",), [f"f<{k}>" for k in range(5)], dialect="nvrtc")


def launched(
    grids: engine.Module, what: int, rounds: int = 0, cooperative: bool = True, **more: object
) -> np.ndarray:
    x = array(np.r_[np.arange(GRID_THREADS), np.zeros(GRID_THREADS + 1)].astype(np.int32), "x")
    try:
        grids.kernel(f"f<{what}>").launch(
            (4,), (64,), pack(x, np.int32(rounds)), cooperative=cooperative, **more
        )
        return read(x, np.int32)
    finally:
        x.free()


@pytest.mark.parametrize("rounds", [1, 2, 30])
def test_a_grid_waits_for_all_its_blocks(grids: engine.Module, checked: bool, rounds: int) -> None:
    found = launched(grids, 0, rounds, time_limit=60)
    whole = found[: 2 * GRID_THREADS].reshape(2, GRID_THREADS)[rounds % 2]
    expected = (np.arange(GRID_THREADS) + 65 * rounds) % GRID_THREADS + rounds
    assert (whole == expected).all()


def test_a_grid_knows_whether_it_can_wait(grids: engine.Module) -> None:
    assert [launched(grids, 4, cooperative=which)[-1] for which in (True, False)] == [1, 0]


@pytest.mark.parametrize("what, cooperative, fault, words", [
    (0, False, engine.BarrierFault, "waits for the whole grid, but the launch is not cooperative"),
    (1, True, engine.BarrierFault, r"the whole grid, of which 1 block\(s\) have ended"),
    (3, True, engine.Race, "blocks are not ordered within a launch"),
])  # fmt: skip
def test_wrong_waits_of_a_grid(
    grids: engine.Module, what: int, cooperative: bool, fault: type, words: str
) -> None:
    with pytest.raises(fault, match=words) as caught:
        launched(grids, what, 2, cooperative, time_limit=60)
    assert caught.value.line is not None


def test_a_grid_that_waits_is_stopped(grids: engine.Module) -> None:
    with pytest.raises(engine.KernelTimeout):
        launched(grids, 2, 1, time_limit=0.5)
    assert launched(grids, 4)[-1] == 1


def test_a_grid_that_the_device_cannot_hold_is_refused(grids: engine.Module) -> None:
    kernel = grids.kernel("f<0>")
    most = kernel.resident_blocks(64)
    x = array(np.zeros(1, np.int32), "x")
    with pytest.raises(engine.InvalidLaunch, match="holds") as caught:
        kernel.launch((most + 1,), (64,), pack(x, np.int32(0)), cooperative=True)
    assert caught.value.code == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
    kernel.launch((most,), (64,), pack(x, np.int32(0)), cooperative=True)
    x.free()
