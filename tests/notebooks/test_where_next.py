"""Lesson 20: every statement about another system has its source, its date and its lesson."""

import re
from datetime import date

import nbformat
import pytest

from authoring.notebook_form import ROOT

PAGE = ROOT / "notebooks" / "20_where_next.ipynb"
# What the syllabus and the article on PyTorch's libraries name.
SYSTEMS = ("torch.compile", "torch.export", "TorchScript", "torch.amp", "FlashAttention",
           "scaled_dot_product_attention", "CuPy with PyTorch", "TensorRT", "ONNX Runtime", "JAX",
           "XLA", "TPU", "ROCm", "array-api-compat", "Numba", "Triton", "cuTile", "cuda.core",
           "cupyx.jit", "NCCL", "cupyx.distributed", "Dask", "cuPyNumeric")


def rows():
    """The cells of each row of the map's tables."""
    text = "\n".join(cell.source for cell in nbformat.read(PAGE, as_version=4).cells
                     if cell.cell_type == "markdown")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines
            if not line.startswith("| system ")]


def missing_in(row):
    """What a row lacks: one of its five cells, a link, the day it was looked up."""
    if len(row) != 5 or not all(row):
        return "a cell"
    if not re.search(r"\]\(https://[^)]+\)", " ".join(row)):
        return "a link"
    days = re.findall(r"\d{4}-\d{2}-\d{2}", row[4])
    if not days or date.fromisoformat(days[-1]) < date(2026, 1, 1):
        return "the day it was looked up"
    return ""


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_each_row_has_its_source_and_date(row):
    assert missing_in(row) == ""


def test_every_system_has_its_place_in_the_map():
    text = "\n".join(" ".join(row) for row in rows())
    assert [name for name in SYSTEMS if name not in text] == []


@pytest.mark.parametrize("row, words", [
    (["a", "b", "c", "[d](https://e.org)"], "a cell"),
    (["a", "b", "c", "", "[d](https://e.org), 2026-11-21"], "a cell"),
    (["a", "b", "c", "d", "2026-11-21"], "a link"),
    (["a", "b", "c", "d", "[e](https://e.org)"], "the day"),
    (["a", "b", "c", "d", "[e](https://e.org), 2019-05-01"], "the day"),
])
def test_a_row_can_fail(row, words):
    assert words in missing_in(row)
