"""The digit network in helpers is the one that lesson 04 builds, and reads as many digits."""

import ast
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from authoring.notebook_form import ROOT
from helpers import network
from helpers.data import load_network, load_split

RIGHT = 500  # of 510, as helpers/data/README.md documents
# All that the forward pass asks of `xp`; CuPy has each of them, with these arguments.
CUPY_HAS = {"exp", "pad", "sqrt", "stack", "tanh"}


@pytest.fixture(scope="module")
def weights():
    return load_network()


@pytest.fixture(scope="module")
def digits():
    return load_split()[2:]


def the_lessons_own():
    """The imports and functions of lesson 04, without running its other code."""
    namespace = {}
    path = ROOT / "notebooks" / "04_network_in_numpy.ipynb"
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code" or cell.id == "setup":
            continue
        kept = [node for node in ast.parse(cell.source).body
                if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef))]
        exec(compile(ast.Module(kept, []), cell.id, "exec"), namespace)
    return SimpleNamespace(**namespace)


def margins(logits):
    ordered = np.sort(logits, axis=1)
    return ordered[:, -1] - ordered[:, -2]


def test_equals_the_lessons_forward_pass(weights, digits):
    lesson = the_lessons_own()
    images, _ = digits
    assert np.allclose(network.forward(images, weights), lesson.forward(images, weights),
                       rtol=0, atol=1e-4)
    x = np.random.default_rng(0).random((3, 16, 32), dtype=np.float32)
    for ours, theirs in zip(network.attention(x, weights), lesson.attention(x, weights)):
        assert np.allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_accuracy_does_not_hang_on_rounding(weights, digits, dtype):
    images, labels = digits
    logits = network.forward(images.astype(dtype),
                             {name: array.astype(dtype) for name, array in weights.items()})
    assert logits.dtype == dtype
    assert (logits.argmax(axis=1) == labels).sum() == RIGHT
    assert margins(logits).min() > 1e-3


def test_rounding_moves_logits_far_less_than_the_smallest_margin(weights, digits):
    images, _ = digits
    exact = network.forward(images.astype(np.float64),
                            {name: array.astype(np.float64) for name, array in weights.items()})
    error = np.abs(network.forward(images, weights) - exact).max()
    assert 100 * error < margins(exact).min()


def test_an_image_is_read_alike_alone_and_among_others(weights, digits):
    images = digits[0]
    assert np.allclose(network.forward(images[7:8], weights),
                       network.forward(images, weights)[7:8], atol=1e-4)


def test_asks_only_xp_for_what_cupy_has_too(weights, digits, monkeypatch):
    class Recorder:
        asked = set()

        def __getattr__(self, name):
            self.asked.add(name)
            return getattr(np, name)

    class Nothing:
        def __getattr__(self, name):
            raise AssertionError(f"np.{name} was used where xp.{name} belongs")

    monkeypatch.setattr(network, "np", Nothing())
    recorder = Recorder()
    network.forward(digits[0][:4], weights, recorder)
    assert recorder.asked == CUPY_HAS


def test_leaves_its_arguments_alone(weights, digits):
    images = digits[0][:4].copy()
    before = {name: array.copy() for name, array in weights.items()}
    network.forward(images, weights)
    assert np.array_equal(images, digits[0][:4])
    assert all(np.array_equal(weights[name], before[name]) for name in before)


def test_attention_weights_sum_to_one(weights):
    x = np.random.default_rng(1).random((2, 16, 32), dtype=np.float32)
    shares = network.attention(x, weights)[1]
    assert shares.shape == (2, network.HEADS, 16, 16)
    assert np.allclose(shares.sum(axis=-1), 1, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 3), (1, 3), (5, 1)])
def test_convolution_against_its_definition(shape):
    random = np.random.default_rng(2)
    x, weight = random.random((2, 5, 6, 3)), random.random((4, 3, *shape))
    bias = random.random(4)
    got = network.patches(x, *weight.shape[2:]) @ network.matrix(weight) + bias
    down, across = shape[0] // 2, shape[1] // 2
    padded = np.pad(x, ((0, 0), (down, down), (across, across), (0, 0)))
    for place in np.ndindex(2, 5, 6):
        n, y, z = place
        patch = padded[n, y:y + shape[0], z:z + shape[1]]
        assert np.allclose(got[place], np.einsum("ijc,ocij->o", patch, weight) + bias)


def test_a_fused_bend_replaces_all_three(weights, digits):
    images, calls = digits[0][:3], []

    def fused(x, bias):
        calls.append(x.shape[-1])
        return network.gelu(x + bias)

    assert np.array_equal(network.forward(images, weights, bias_gelu=fused),
                          network.forward(images, weights))
    assert calls == [32, 32, 64]
