"""Lesson 12's generated stencil, its picture, and the network with products of one's own."""

import matplotlib
import numpy as np
import pytest

import helpers

matplotlib.use("Agg")
helpers.start(needs="pycuda")

import pycuda.autoprimaryctx  # noqa: E402, F401
import pycuda.driver as drv  # noqa: E402
from pycuda.compiler import SourceModule  # noqa: E402

from helpers import draw, inspect, kernels, network  # noqa: E402
from helpers.data import load_network, load_profile, load_split  # noqa: E402
from helpers.generate import render  # noqa: E402


def crossed(x, across, down):
    radius = len(across) // 2
    padded, (rows, columns) = np.pad(x, radius), x.shape
    return sum(across[k] * padded[radius:radius + rows, k:k + columns]
               + down[k] * padded[k:k + rows, radius:radius + columns]
               for k in range(2 * radius + 1))


@pytest.mark.parametrize("radius, steps, shape", [
    (4, 8, (37, 52)), (1, 3, (8, 4)), (5, 2, (20, 132)),
])
def test_stencils(radius, steps, shape):
    rng = np.random.default_rng(9)
    x = rng.standard_normal(shape, dtype=np.float32)
    across, down = rng.standard_normal((2, 2 * radius + 1), dtype=np.float32)
    across[0] = 0
    sizes = np.int32(shape[0]), np.int32(shape[1])
    source = render(kernels.template("stencil"), across=across, down=down, radius=radius,
                    steps=steps)
    generated = SourceModule(source).get_function("stencil")
    y, grid = np.full_like(x, np.nan), (-(-shape[1] // 128), -(-shape[0] // steps))
    inspect(generated, grid, (32,), (drv.In(x), drv.Out(y), *sizes)).raise_fault()
    generated(drv.In(x), drv.Out(y), *sizes, block=(32, 1, 1), grid=grid)
    assert np.allclose(y, crossed(x, across, down), rtol=0, atol=1e-4)

    module = SourceModule(kernels.source("stencil_general"))
    for name, weights in ("across", across), ("down", down):
        drv.memcpy_htod(module.get_global(name)[0], weights)
    general, y = module.get_function("stencil"), np.full_like(x, np.nan)
    grid = (-(-shape[1] // 128), -(-shape[0] // 8))
    general(drv.In(x), drv.Out(y), *sizes, np.int32(radius), block=(32, 8, 1), grid=grid)
    assert np.allclose(y, crossed(x, across, down), rtol=0, atol=1e-4)


def test_network_takes_products_of_ones_own():
    images, weights, asked = load_split()[2][:5], load_network(), []

    def product(x, name):
        asked.append(name)
        return x @ network.matrix(weights[name])

    plain = network.forward(images, weights)
    assert (network.forward(images, weights, product=product) == plain).all()
    assert sorted(asked) == sorted(k for k, w in weights.items()
                                   if w.ndim > 1 and k.endswith(".weight"))


def test_driver(capsys):
    draw.driver("\n__constant__ float c[64];\n__global__ void f(int n) {}\n", x=np.zeros(5))
    assert capsys.readouterr().out == (
        "source, 2 lines -> nvcc -> machine code -> module with function f and variable c[64]\n"
        "array x -> copy -> memory, 40 bytes at an address\n"
        "module and memory belong to a context\n")
    with pytest.raises(ValueError, match="no `__global__ void` in the source"):
        draw.driver("void f() {}")
    with pytest.raises(ValueError, match="room for 3 arrays, not 4: a, b, c, d"):
        draw.driver("__global__ void f() {}", **dict.fromkeys("abcd", np.zeros(1)))


def test_fast_math_is_recorded():
    recorded = load_profile("fast_math")
    assert recorded["gpu"] and recorded["nvcc"] and len(recorded["rows"]) == 7
    for row in recorded["rows"]:
        assert row["plain"]["relative"] < 1e-6 and row["fast"]["often_ms"] > 0
