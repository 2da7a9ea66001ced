"""Draw the README's picture: how many digits a second the reader's versions read, as recorded."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt

from authoring.notebook_form import ROOT, AuthoringError, number_of
from authoring.tables import three_digits
from helpers.draw.style import COLOURS, INK, style
from helpers.ladder import Rung, machines

PLACE = "helpers/draw/ladder.png"  # JupyterLab, which shows the README too, serves no dot folder
# Rungs of the recorded ladder: what the picture calls them, and the subject of their lesson.
OURS = {
    "NumPy, 100 at a time": ("NumPy", "network_in_numpy"),
    "CuPy, 100,000 at a time": ("CuPy", "numpy_to_cupy"),
    "linear layers in one kernel": ("own kernels", "fast_kernels"),
    "compiled with its weights": ("compiled with its weights", "pycuda_dynamic_compilation"),
    "one kernel, float32": ("one kernel, float32", "one_kernel_reader"),
    "one kernel, tensor cores": ("one kernel, float16", "one_kernel_reader"),
}
PEERS = ("PyTorch, float32", "torch.compile, float32", "torch.compile, float16")


def rows() -> list[tuple[str, Rung]]:
    """What the picture shows, the slowest first: the words for a rung, and the recorded rung."""
    rungs = machines()[0].rungs
    words = {key: f"{called} (lesson {number_of(subject)})"
             for key, (called, subject) in OURS.items()} | {key: key for key in PEERS}
    return sorted(((words[key], rungs[key]) for key in words), key=lambda row: row[1].rate)


def in_words() -> str:
    """The picture's alternative text: each row with its digits a second."""
    facts = "; ".join(f"{words} {three_digits(rung.rate)}" for words, rung in rows())
    return f"Digits a second of each version of the digit reader on {where()}: {facts}."


def where() -> str:
    """What the versions ran on, the GPU or for NumPy the processor, and the batches' sizes."""
    gpu, = {rung.machine for _, rung in rows() if rung.where == "device"}
    few, many = sorted({rung.batch for _, rung in rows()})
    return f"an {gpu}, {many:,} in a call, and of NumPy on its host's processor, {few:,} in a call"


def draw_ladder(path: Path) -> None:
    """Draw the picture into a PNG file, whose field "Description" has its alternative text."""
    with style():
        figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained", dpi=150)
        for ours, marker, colour, label in [(True, "o", COLOURS[0], "this course"),
                                            (False, "s", COLOURS[1], "PyTorch")]:
            have = [(rung.rate, y) for y, (words, rung) in enumerate(rows())
                    if (words not in PEERS) == ours]
            axes.plot(*zip(*have), marker, color=colour, markeredgecolor=INK, markersize=9,
                      label=label)
            for rate, y in have:
                axes.annotate(three_digits(rate), (rate, y), xytext=(10, 0), va="center",
                              textcoords="offset points")
        axes.set_yticks(range(len(rows())), [words for words, _ in rows()])
        axes.grid(axis="x", alpha=0.4)
        axes.set(xscale="log")
        figure.supxlabel(f"digits a second on {where()} (logarithmic)", fontsize=9)
        axes.set_xlim(right=axes.get_xlim()[1] * 10)
        axes.legend(loc="upper left", framealpha=1)
        figure.savefig(path, metadata={"Description": in_words(), "Software": None})
        plt.close(figure)


def write_picture(root: Path = ROOT) -> list[str]:
    """Draw the README's picture anew and write its alternative text; return the files' names.

    Raises
    ------
    AuthoringError
        When the README does not show the picture.
    """
    readme = root / "README.md"
    text, found = re.subn(rf"!\[[^]]*\]\({re.escape(PLACE)}\)", f"![{in_words()}]({PLACE})",
                          readme.read_text(encoding="utf-8"))
    if found != 1:
        raise AuthoringError(f"{readme.name} does not show {PLACE}")
    draw_ladder(root / PLACE)
    readme.write_text(text, encoding="utf-8")
    return [PLACE, readme.name]
