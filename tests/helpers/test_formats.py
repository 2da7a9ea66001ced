"""Columns that line up, words for lists, and what compilers say."""

import pytest

from helpers.errors import find_compiler_error
from helpers.formats import aligned, listed


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
