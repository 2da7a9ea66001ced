"""Lesson 11's kernels, pictures and tables."""

import matplotlib
import numpy as np
import pytest

import helpers
from authoring.notebook_form import ROOT, read

matplotlib.use("Agg")
helpers.start()

import cupy as cp  # noqa: E402

from helpers import draw, inspect, kernels, network  # noqa: E402
from helpers.data import load_gpus, load_network, load_profile, load_split  # noqa: E402


def matrices(m, n, k):
    rng = cp.random.default_rng(8)
    return (rng.standard_normal((m, k), dtype=cp.float32),
            rng.standard_normal((k, n), dtype=cp.float32), cp.full((m, n), cp.nan, cp.float32))


@pytest.mark.parametrize("name, kernel, tile, block, shape", [
    ("matmul_sums", "sums", 128, (16, 16), (128, 256, 96)),
    ("matmul_sums", "sums", 128, (16, 16), (70, 290, 50)),
    ("matmul_sums", "sums", 128, (16, 16), (1, 3, 1)),
    ("matmul_register", "product", 128, (256,), (128, 256, 8)),
    ("matmul_register", "product", 128, (256,), (256, 128, 72)),
])
def test_products(name, kernel, tile, block, shape):
    a, b, c = matrices(*shape)
    m, n, _ = shape
    launch = ((-(-n // tile), -(-m // tile)), block, (a, b, c, *map(np.int32, shape)))
    made = cp.RawKernel(kernels.source(name), kernel, ("-DHIGH=8", "-DWIDE=8"))
    inspect(made, *launch).raise_fault()
    made(*launch)
    assert cp.allclose(c, a @ b, rtol=0, atol=1e-4)


@pytest.mark.parametrize("columns", [4, 1000, 4096])
def test_softmax(columns):
    x = 30 * cp.random.default_rng(8).standard_normal((3, columns), dtype=cp.float32) + 100
    y = cp.full_like(x, cp.nan)
    launch = (3,), (256,), (x, y, np.int32(columns))
    kernel = cp.RawKernel(kernels.source("softmax"), "softmax")
    inspect(kernel, *launch).raise_fault()
    kernel(*launch)
    assert cp.allclose(y, network.softmax(x, cp), rtol=1e-5, atol=1e-30)


def test_parts_of_a_source():
    assert "sum[i][j] +=" in kernels.part("matmul_register", "multiply")
    assert "// ==" not in kernels.part("matmul_register", "keep")
    with pytest.raises(KeyError, match="main"):
        kernels.part("matmul_register", "main")


def test_network_takes_another_softmax():
    images, weights = load_split()[2][:5], load_network()
    plain = network.forward(images, weights)
    calls = []

    def doubled(scores):
        calls.append(scores.shape)
        return 2 * network.softmax(scores)

    assert abs(network.forward(images, weights, row_softmax=doubled) - plain).max() > 1e-3
    assert calls == [(5, 2, 16, 16)]
    same = network.forward(images, weights, row_softmax=network.softmax)
    assert np.array_equal(same, plain)


def test_tiles_says_what_is_read(capsys):
    draw.tiles(512, 256, 128, (128, 64), 8)
    text = " ".join(capsys.readouterr().out.split())
    assert "128 + 64 numbers for 8192 multiply-adds, 42.7 for each number" in text
    assert "reads A 4 times and B 4 times" in text


def test_owners_says_what_a_block_has(capsys):
    draw.owners((1, 1), (4, 2))
    assert capsys.readouterr().out.splitlines() == [
        "1 x 1 numbers a thread: 4 x 2 blocks, each has 16 x 16 of C.",
        "4 x 2 numbers a thread: 1 x 1 blocks, each has 64 x 32 of C."]


def test_the_lessons_kernel_is_the_file():
    cells = {cell.id: cell.source for cell in read(ROOT / "notebooks/11_fast_kernels.ipynb").cells}
    assert kernels.source("matmul_sums").split("k) {\n")[1] in cells["sums"]


@pytest.mark.parametrize("arguments, words", [
    ((16, 16, 16, (32, 8), 8), "larger than C, 16 x 16"),
    ((16, 16, 16, (8, 8), 32), "k = 16"),
    ((0, 16, 16, (8, 8)), "m=0"),
])
def test_tiles_refuses(arguments, words):
    with pytest.raises(ValueError, match=words):
        draw.tiles(*arguments)


def test_formats_agree_with_numpy(capsys):
    from helpers.draw.number_formats import FORMATS

    for name in "float32", "float16":
        info = np.finfo(name)
        assert FORMATS[name].eps == info.eps
        assert FORMATS[name].largest == info.max
        assert FORMATS[name].smallest == info.smallest_normal
    draw.formats()
    assert "bfloat16     1        8        7" in capsys.readouterr().out


def test_gpus_are_plausible():
    gpus = load_gpus()
    assert [g["name"] for g in gpus][0] == "T4" and gpus[-1]["name"].startswith("H200")
    for g in gpus:
        assert g["source"] and g["float64"] < g["float32"] < g["tensor16"]
        # every multiprocessor does `lanes` multiply-adds a clock, at 1 to 2.6 GHz
        clock = g["float32"] * 1e12 / (2 * g["lanes"] * g["multiprocessors"])
        assert 1e9 < clock < 2.6e9, g["name"]


def test_profile_agrees_with_the_counters():
    """What Nsight Compute counted on a GPU is what the simulator's rule says, scaled."""
    counted = load_profile("fast_kernels")["kernels"]
    n = 4096
    assert counted["naive"]["load_sectors"] == n**3 // 32 * 4
    assert counted["tile"]["load_sectors"] == n * n // 32 * (n // 16) * 8
    assert counted["8 x 1"]["load_sectors"] == n // 128 * (n // 16) * (128 + 16) * n // 8
    assert counted["8 x 8"]["load_sectors"] == (n // 128) ** 2 * 2 * 128 * n // 8


def test_recorded_ranges_add_up():
    seen = load_profile("fast_kernels")["nsys"]
    rows = {row["range"]: row for row in seen["ranges"]}
    inner = sum(rows[name]["operations"] for name in ("copy in", "forward", "copy out"))
    assert inner == rows["batch"]["operations"] == rows["warm-up"]["operations"] == 150
    assert sum(times for _, times, _ in seen["kernels"]) <= 6 * rows["forward"]["operations"]
