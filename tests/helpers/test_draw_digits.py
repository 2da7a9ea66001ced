"""Pictures of digits and of attention: the text says what the picture shows."""

import matplotlib
import numpy as np
import pytest

from helpers import draw

matplotlib.use("Agg")

RAMP_IMAGE = np.arange(6, dtype=np.float32).reshape(2, 3) / 5


def test_digits_print_their_ink_and_captions(capsys):
    draw.digits(np.stack([RAMP_IMAGE, 1 - RAMP_IMAGE]), ["left", "two\nlines"], title="Two")
    assert capsys.readouterr().out.split("\n") == [
        "Two",
        "left  two",
        "      lines",
        " .:   @#+",
        "+#@   :.",
        "",
    ]


def test_eleven_digits_take_two_rows(capsys):
    draw.digits(np.ones((11, 2, 2)))
    assert capsys.readouterr().out.count("@@ @@") > 0


@pytest.mark.parametrize("arguments, words", [
    ((np.zeros((3, 8, 8)), ["a", "b"]), "3 images along axis 0 and 2 captions"),
    ((np.zeros((3, 8, 8, 1)),), "not (3, 8, 8, 1)"),
    ((np.zeros((0, 8, 8)),), "not (0, 8, 8)"),
    ((np.zeros((61, 8, 8)),), "at most 60 images, and axis 0 has 61"),
])
def test_digits_say_what_is_wrong(arguments, words):
    with pytest.raises(ValueError) as error:
        draw.digits(*arguments)
    assert words in str(error.value)


def test_digits_want_an_array():
    with pytest.raises(TypeError, match="not list"):
        draw.digits([[0, 1]])


def uniform(heads, queries, keys):
    return np.full((heads, queries, keys), 1 / keys)


def test_attention_prints_percent_by_head(capsys):
    weights = uniform(2, 4, 4)
    weights[1, 3] = [0.7, 0, 0.1, 0.2]
    draw.attention(weights, np.zeros((8, 8)), query=3)
    assert capsys.readouterr().out.split("\n") == [
        "position 3 is row 1, column 1 of 2 x 2; shares in percent",
        "head 0     head 1",
        "  25  25     70   0",
        "  25  25     10  20",
        "",
    ]


def test_attention_takes_a_single_head_and_a_wide_image(capsys):
    draw.attention(uniform(1, 8, 8)[0], np.zeros((4, 8)), query=6)
    assert "row 1, column 2 of 2 x 4" in capsys.readouterr().out


@pytest.mark.parametrize("weights, image, query, words", [
    (uniform(2, 60, 60), np.zeros((8, 8)), 0, "60 keys, and they make no grid over an image of"
                                              " 8 x 8"),
    (uniform(2, 16, 16), np.zeros((8, 8)), 16, "query is 16, but axis 1 of the weights has 16"),
    (uniform(1, 16, 16)[0], np.zeros((8, 8)), -1, "query is -1, but axis 0"),
    (uniform(2, 16, 16) * 2, np.zeros((8, 8)), 0, "these sum to 2, 2"),
    (uniform(2, 16, 16)[None], np.zeros((8, 8)), 0, "not (1, 2, 16, 16)"),
    (uniform(2, 16, 16), np.zeros((1, 8, 8)), 0, "not (1, 8, 8)"),
])
def test_attention_says_what_is_wrong(weights, image, query, words):
    with pytest.raises(ValueError) as error:
        draw.attention(weights, image, query)
    assert words in str(error.value)


def test_attention_wants_arrays():
    with pytest.raises(TypeError, match="weights are a list"):
        draw.attention([[1.0]], np.zeros((8, 8)), 0)


def test_sheets_print_each_shape(capsys):
    draw.sheets({"image": (8, 8, 1), "rows": (16, 32), "head": (10,)}, "Shapes")
    assert capsys.readouterr().out == "image (8, 8, 1)\nrows  (16, 32)\nhead  (10,)\n"


@pytest.mark.parametrize("shapes", [{}, {"logit": ()}, {"all": (2, 8, 8, 1)}])
def test_sheets_need_one_to_three_axes(shapes):
    with pytest.raises(ValueError, match="one to three axes"):
        draw.sheets(shapes, "Shapes")
