"""The pictures of a GPU's model, by the text that they print, and their sentences for bad input."""

import matplotlib.pyplot as plt
import pytest

from helpers import draw
from helpers.draw.gpu import GPUS, resident_blocks


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("arguments, words", [
    ((10, 3, 4), "2 threads have no element, the guard stops them"),
    ((12, 3, 4), "0 threads have no element"),
    ((20, 3, 4), "elements 12 to 19 have no thread"),
    ((27, 3, 4, True), "each thread takes 2 or 3, in steps of 12"),
    ((24, 3, 4, True), "each thread takes 2, in steps of 12"),
    ((5, 1, 1, True), "each thread takes 5, in steps of 1"),
])
def test_threads(arguments, words, capsys):
    draw.threads(*arguments)
    assert words in capsys.readouterr().out


@pytest.mark.parametrize("warps, busy", [(1, 6), (2, 12), (8, 48), (12, 48)])
def test_latency_is_hidden_by_enough_warps(warps, busy, capsys):
    draw.latency(warps, work=2, wait=14)
    assert f"issues in {busy} of 48 cycles" in capsys.readouterr().out


@pytest.mark.parametrize("block, registers, shared, gpu, blocks", [
    (256, 32, 0, "H200", 8), (256, 64, 0, "H200", 4), (32, 32, 0, "T4", 16),
    (1024, 64, 0, "RTX 4090", 1), (128, 40, 48 * 1024, "A100", 3), (96, 33, 0, "H200", 17),
])
def test_resident_blocks(block, registers, shared, gpu, blocks):
    assert min(resident_blocks(block, registers, shared, GPUS[gpu]).values()) == blocks


def test_occupancy_names_the_limit(capsys):
    draw.occupancy(256, 64)
    assert "limited by registers:\n1024 of 2048 threads, occupancy 50%" in capsys.readouterr().out


@pytest.mark.parametrize("wrong, words", [
    (lambda: draw.threads(0, 1, 1), "n=0: it must be a whole number from 1 on"),
    (lambda: draw.threads(10, 8, 8), "8 x 8 = 64 threads"),
    (lambda: draw.latency(20), "at most 16 warps"),
    (lambda: draw.occupancy(256, gpu="8800 GTX"), "there are T4, A100"),
    (lambda: draw.occupancy(2000), "at most 1024 threads"),
    (lambda: draw.occupancy(1024, 255), "enough registers for one such block"),
])
def test_bad_input_gets_a_sentence(wrong, words):
    with pytest.raises((ValueError, TypeError), match=words.replace("(", r"\(")):
        wrong()


def test_lifetimes_name_each_array_from_its_first_to_its_last_stage(capsys):
    draw.lifetimes(("load", "work", "store"), {"shared": [("x", 0, 1), ("y", 2, 2)]}, "A kernel")
    assert capsys.readouterr().out == "shared: x, load to work\nshared: y, store\n"
    (axes,) = plt.gcf().axes
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, 2), (2, 1)]
