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


def test_sheets_print_each_shape(capsys):
    draw.sheets({"image": (8, 8, 1), "rows": (16, 32), "head": (10,)}, "Shapes")
    assert capsys.readouterr().out == "image (8, 8, 1)\nrows  (16, 32)\nhead  (10,)\n"


@pytest.mark.parametrize("shapes", [{}, {"logit": ()}, {"all": (2, 8, 8, 1)}])
def test_sheets_need_one_to_three_axes(shapes):
    with pytest.raises(ValueError, match="one to three axes"):
        draw.sheets(shapes, "Shapes")
