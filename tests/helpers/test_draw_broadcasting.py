"""The broadcasting and indexing pictures: their facts against NumPy's own, their sentences."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers import draw
from helpers.draw.broadcasting import clash
from helpers.draw.indexing import plan

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_broadcast_prints_repetitions_and_strides(capsys):
    draw.broadcast(x=np.zeros((3, 4)), mean=np.zeros((3, 1)))
    text = capsys.readouterr().out
    assert "mean is repeated along axis -1 (1 -> 4); its strides become (8, 0)" in text
    assert "result (3, 4): 12 elements" in text


@pytest.mark.parametrize("shapes, words", [
    (((3, 4), (3,)), "axis -1 has size 4 in a and 3 in b"),
    (((3, 4), (3,)), "b[..., None], of shape (3, 1), would fit."),
    (((8, 3, 28, 27), (3,)), "b[..., None, None], of shape (3, 1, 1), would fit."),
    (((2, 5, 1), (3, 1, 4)), "axis -3 has size 2 in a and 3 in b"),
    (((0,), (2,)), "axis -1 has size 0 in a and 2 in b"),
    (((2, 3), (1, 3), (4, 3)), "axis -2 has size 2 in a and 4 in c"),
])
def test_broadcast_names_the_axis_and_both_sizes(shapes, words):
    with pytest.raises(ValueError) as caught:
        draw.broadcast(*shapes)
    assert words in str(caught.value)


def test_broadcast_refuses_what_has_no_shape():
    with pytest.raises(TypeError, match="b must be an array, or a shape .* not list"):
        draw.broadcast((3,), [1, 2, 3])
    with pytest.raises(TypeError, match=r"none of them negative, not the tuple \(3, -1\)"):
        draw.broadcast((3, -1))


@pytest.mark.parametrize("operands", [((), ()), ((0, 3), (1,)), (np.float32(2), (7, 30)),
                                      ((2,) * 8, (1,) * 8), (np.arange(5),)])
def test_broadcast_draws_the_odd_ones(operands):
    draw.broadcast(*operands)


def test_clash_agrees_with_numpy_on_random_shapes():
    rng = np.random.default_rng(0)
    failed = 0
    for _ in range(2000):
        shapes = [tuple(rng.choice([0, 1, 1, 2, 3], rng.integers(0, 4)).tolist())
                  for _ in range(3)]
        try:
            np.broadcast_shapes(*shapes)
            possible = True
        except ValueError:
            possible = False
        failed += not possible
        assert (clash(["a", "b", "c"], shapes) is None) == possible, shapes
    assert 200 < failed < 1800


def _random_index(rng, shape):
    """An index with entries of every kind that fits `shape`."""
    entries, axis, dots = [], 0, False
    pair = tuple(rng.integers(1, 4, rng.integers(1, 3)))
    while axis < len(shape) and rng.random() < 0.85:
        kind = rng.choice(["slice", "integer", "array", "mask", "new", "dots"])
        if kind == "new":
            entries.append(None)
        elif kind == "dots":
            if not dots:
                entries.append(Ellipsis)
            dots = True
        elif kind == "mask":
            depth = min(rng.integers(1, 3), len(shape) - axis)
            entries.append(np.ones(shape[axis:axis + depth], bool))
            axis += depth
        else:
            size = shape[axis]
            entries.append({
                "slice": slice(None, None, int(rng.choice([-2, 1, 2]))),
                "integer": int(rng.integers(-size, size)),
                "array": rng.integers(0, size, [n if rng.random() < 0.7 else 1 for n in pair]),
            }[kind])
            axis += 1
    return tuple(entries)


def test_plan_agrees_with_numpy_on_random_indices():
    rng = np.random.default_rng(1)
    apart = failed = 0
    for _ in range(3000):
        shape = tuple(rng.integers(1, 5, rng.integers(1, 5)).tolist())
        x = np.zeros(shape)
        index = _random_index(rng, shape)
        try:
            expected = x[index]
        except IndexError:
            with pytest.raises(IndexError):
                plan(shape, index)
            failed += 1
            continue
        drawn = plan(shape, index)
        assert drawn.shape == expected.shape, (shape, index)
        if expected.shape:
            assert drawn.advanced != np.shares_memory(x, expected), (shape, index)
        apart += drawn.apart
    assert apart > 100 and failed > 100


@pytest.mark.parametrize("index, error, words", [
    (np.s_[:, 7], IndexError, "axis 1 of x has size 4, so index 7 does not exist"),
    (np.s_[:, [0, -5]], IndexError, "index -5 does not exist; valid are -4 to 3"),
    (np.s_[0, 0, 0], IndexError, "x has 2 axes, but the index has entries for 3"),
    (np.s_[[0, 1], [0, 1, 2]], IndexError, "size 2 in [0, 1] (for axis 0) and 3 in"),
    (np.s_[[0, 1], [0, 1, 2]], IndexError, "np.ix_"),
    (np.s_[[True, False]], IndexError, "axis 0 of x has size 3, but the mask has size 2"),
    (np.s_[..., ...], IndexError, "only one Ellipsis"),
    (np.s_[1.5], TypeError, "axis 0 is of type float"),
    (np.s_[[0.5, 1.0]], TypeError, "dtype float64"),
])
def test_indexing_says_what_does_not_fit(index, error, words):
    with pytest.raises(error) as caught:
        draw.indexing((3, 4), index)
    assert words in str(caught.value)


def test_indexing_prints_where_the_new_axis_lands(capsys):
    draw.indexing((2, 3, 4, 5), np.s_[:, [0, 1], :, [2, 0]])
    text = capsys.readouterr().out
    assert "axis of the result  1       0  2       0" in text
    assert "make (2,), which comes first, since they are apart" in text
    draw.indexing((2, 3, 4, 5), np.s_[:, [0, 1], [2, 0]])
    assert "result (2, 2, 5): a copy" in capsys.readouterr().out


@pytest.mark.parametrize("index", [1, np.s_[1, 2], np.s_[...], None, [], np.s_[:, None, [1]],
                                   np.ones((3, 4), bool), np.s_[[[0, 1], [1, 0]], 2]])
def test_indexing_draws_the_odd_ones(index):
    draw.indexing(np.zeros((3, 4)), index)
