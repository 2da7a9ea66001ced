"""Factors of speed, promised and measured: what the picture says, and that its text has it."""

import matplotlib.pyplot as plt
import pytest

from helpers.draw import gains
from helpers.draw.gains import speed


@pytest.mark.parametrize("factor, words", [
    (420.4, "420 times as fast"), (1.64, "1.6 times as fast"), (1 / 27.2, "27 times slower"),
    (1.02, "the same speed"), (0.98, "the same speed"), (1 / 9.96, "10 times slower"),
])
def test_factors_are_said_in_words(factor, words):
    assert speed(factor) == words


def test_the_text_has_what_the_picture_shows(capsys):
    gains({"einsum": ("faster", 1 / 16), "threads": (1.0, 7.2), "one product": (None, 690)}, "All")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0].strip() for line in lines[1:]] == ["einsum", "threads",
                                                                   "one product"]
    assert [" ".join(line[11:].split()) for line in lines[1:]] == [
        "faster 16 times slower", "the same speed 7.2 times as fast", "- 690 times as fast"]
    axes = plt.gcf().axes[0]
    low, high = axes.get_xlim()
    assert axes.get_xscale() == "log" and low < 1 / 16 and high > 690
    assert [text.get_text() for text in axes.get_yticklabels()] == ["einsum", "threads",
                                                                    "one product"]
    plt.close()
