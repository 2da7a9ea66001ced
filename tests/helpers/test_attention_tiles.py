"""Lesson 16's own kernel, its picture, and the network with another attention."""

import math

import matplotlib
import numpy as np
import pytest

import helpers

matplotlib.use("Agg")
helpers.start()

import cupy as cp  # noqa: E402

from helpers import draw, inspect, kernels, network  # noqa: E402
from helpers.data import load_network, load_profile, load_split  # noqa: E402


def exact(q, k, v, causal):
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        scores[..., ~np.tri(*scores.shape[-2:], dtype=bool)] = -np.inf
    return network.softmax(scores) @ v


@pytest.mark.parametrize("d, m, n, causal, half", [
    (64, 64, 128, False, False), (64, 65, 129, True, False), (32, 3, 70, False, False),
    (128, 33, 31, True, False), (16, 65, 70, True, False), (64, 40, 70, True, True),
    (128, 1, 1, False, True)])
def test_the_lessons_kernel(d, m, n, causal, half):
    rng = np.random.default_rng(d + m)
    dtype = np.float16 if half else np.float32
    q, k, v = ((3 * rng.standard_normal((2, length, d)) + 1).astype(dtype) for length in (m, n, n))
    side = 32 if d > 64 else 64
    kernel = cp.RawKernel(kernels.source("attention"), "attention",
                          options=(f"-DD={d}", *(("-DHALF",) if half else ())))
    o = cp.full(q.shape, cp.nan, dtype)
    launch = ((-(-m // side), 2), (16, 8),
              (cp.asarray(q), cp.asarray(k), cp.asarray(v), o, np.int32(m), np.int32(n),
               np.float32(1 / math.sqrt(d)), np.int32(causal)))
    inspect(kernel, *launch).raise_fault()
    kernel(*launch)
    assert np.allclose(o.get(), exact(q, k, v, causal), rtol=0, atol=1e-2 if half else 1e-4)


def test_picture_counts_tiles(capsys):
    draw.scores(200, 330, (64, 32), causal=True)
    draw.scores(300, 300, (64, 64), block=2)
    text = capsys.readouterr().out
    assert "4 x 11 = 44 tiles,\n12 computed, 7 computed and masked, 25 never touched." in text
    assert "5 x 5 = 25 tiles, all computed.\nBlock 2 visits 5 of them" in text


@pytest.mark.parametrize("arguments, words", [
    ((0, 10, (2, 2)), "queries"), ((6500, 10, (64, 64)), "too many to draw"),
    ((10, 10, (4, 4), False, 3), "there are blocks 0 to 2")])
def test_picture_refuses(arguments, words):
    with pytest.raises(ValueError, match=words):
        draw.scores(*arguments)


def test_network_takes_another_attention():
    images, weights = load_split()[2][:5], load_network()
    shapes = []

    def attend(q, k, v):
        shapes.append((q.shape, k.shape, v.shape))
        return network.softmax(q @ k.swapaxes(-1, -2) / 4) @ v

    plain = network.forward(images, weights)
    assert np.allclose(network.forward(images, weights, attend=attend), plain, atol=1e-5)
    assert shapes == [((5, 2, 16, 16),) * 3]
    assert network.attention(np.ones((1, 16, 32), np.float32), weights, attend=attend)[1] is None


def test_recorded_attention_names_its_machine():
    profile = load_profile("attention")
    assert profile["gpu"] and profile["date"] and profile["torch"]
    assert {row["dtype"] for row in profile["rows"]} == {"float32", "float16"}
    assert min(row["ms"] for row in profile["rows"]) > 0


def test_picture_of_a_threads_share(capsys):
    draw.shares(side=64, d=64, thread=(5, 2))
    text = capsys.readouterr().out
    assert "queries 16 to 23, keys 5, 21, 37, 53,\nnumbers 5, 21, 37, 53 of the answers" in text
    assert "32 scores and 32 numbers in its registers; its warp\nhas all keys of queries 16 to 31" \
        in text
    with pytest.raises(ValueError, match="multiples of 16"):
        draw.shares(side=60, d=64, thread=(0, 0))
    with pytest.raises(ValueError, match="y from 0 to 7"):
        draw.shares(side=64, d=64, thread=(0, 8))
