"""Columns that line up, words for lists, and what compilers say."""

import numpy as np
import pytest

from helpers.errors import find_compiler_error
from helpers.formats import aligned, listed, show_predictions


def test_columns_line_up():
    rows = [("", "time"), ("copy", "1 s"), ("a", "")]
    assert aligned(rows) == ["      time", "copy   1 s", "a         "]
    assert aligned(rows, left=2) == ["      time", "copy  1 s ", "a         "]
    assert aligned([("1", "20")], left=0) == ["1  20"]


def test_lists_in_words():
    assert listed([1]) == "1" and listed("ab") == "a and b" and listed("abc") == "a, b and c"


@pytest.mark.parametrize("log, found", [
    ("warning: x\nkernel.cu(5): error: identifier \"y\" is undefined\n1 error",
     ("kernel.cu", 5, 'identifier "y" is undefined')),
    ("k.cu(7): catastrophic error: cannot open\nk.cu(9): error: z", ("k.cu", 7, "cannot open")),
    ("a.cpp:3:14: error: expected ';'", ("a.cpp", 3, "expected ';'")),
    ("a.cpp:3:14: fatal error: b.h: No such file", ("a.cpp", 3, "b.h: No such file")),
    ("all is well", None),
])
def test_the_first_error_of_a_compilers_log(log, found):
    assert find_compiler_error(log) == found


def test_predictions_stand_beside_what_was_measured(capsys):
    show_predictions(
        ("bytes moved", 200, 402_653_184, "bytes"),
        ("speedup", 8.0, 6.2345, "times"),
        ("left empty", ..., np.float32(1234.5), "ms"),
        ("which", "view", "copy"),
        ("strides", (8, 8), (8, 16)),
        ("typed a word", "many", np.int64(7), "MB"),
        ("typed a truth", True, False),
    )
    assert capsys.readouterr().out.splitlines() == [
        "                    yours           measured",
        "bytes moved     200 bytes  402,653,184 bytes",
        "speedup        8.00 times         6.23 times",
        "left empty              -           1,234 ms",
        "which                view               copy",
        "strides            (8, 8)            (8, 16)",
        "typed a word         many               7 MB",
        "typed a truth        True              False",
    ]


@pytest.mark.parametrize("typed", [None, [], {}, "", float("nan"), 1e300, -0.0, 1 + 2j, print])
def test_whatever_was_typed_as_a_prediction_is_shown(typed, capsys):
    show_predictions(("thing", typed, 3.0, "s"))
    assert "3.00 s" in capsys.readouterr().out
