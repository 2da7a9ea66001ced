"""Lesson 20: each tool of the picture has its section, lesson, link, version and day."""

import ast
import copy
import re
from datetime import date

import pytest

from authoring.notebook_form import ROOT, read

PAGE = read(ROOT / "notebooks" / "20_where_next.ipynb")
# What the syllabus and the article on PyTorch's libraries name.
SYSTEMS = ("torch.compile", "torch.export", "TorchScript", "torch.amp", "FlashAttention",
           "scaled_dot_product_attention", "from_dlpack", "TensorRT", "ONNX Runtime", "JAX",
           "XLA", "TPU", "ROCm", "array-api-compat", "Numba", "Triton", "cuTile", "cuda.core",
           "PyCUDA", "RawKernel", "cupyx.jit", "NCCL", "mpi4py", "Dask", "cuPyNumeric")
ENTRY = re.compile(r"(.+?)(?: in \w+)? (\d[\w.]*), (\d{4}-\d{2}-\d{2})")


def tools(notebook):
    """The picture's data: {question: {tool: (lesson, case)}}."""
    picture = next(cell for cell in notebook.cells if cell.id == "picture")
    for node in ast.parse(picture.source).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "TOOLS":
            found = ast.literal_eval(node.value)
            return {" ".join(question.split()): its for question, its in found.items()}


def sections(notebook):
    """The text of each section, by its heading."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def looked_up(section):
    """The entries of a section's line "Looked up": {tool: day}."""
    found = re.search(r"^\*Looked up: (.+)\.\*$", section, flags=re.M)
    entries = [ENTRY.fullmatch(entry) for entry in (found[1].split("; ") if found else ())]
    return {entry[1]: date.fromisoformat(entry[3]) for entry in entries if entry}


def missing(notebook):
    """What the tools of the picture lack, a sentence for each."""
    found, texts = [], sections(notebook)
    for question, its in tools(notebook).items():
        text = texts.get(question, "")
        days = looked_up(text)
        for tool, (lesson, _) in its.items():
            if not re.search(rf"\[`?{re.escape(tool)}`?\]\(https://[^)]+\)", text):
                found.append(f"{tool}: no link in the section {question!r}")
            if f"]({lesson}_" not in text:
                found.append(f"{tool}: no link to lesson {lesson}")
            if tool not in days:
                found.append(f"{tool}: not looked up, or without version or day")
            elif not date(2026, 1, 1) <= days[tool] <= date.today():
                found.append(f"{tool}: looked up on {days[tool]}")
        found += [f"{tool}: not in the picture" for tool in days if tool not in its]
    return found


def test_each_tool_has_its_section_lesson_link_version_and_day():
    assert missing(PAGE) == []


def test_every_system_is_named():
    text = "\n".join(sections(PAGE).values())
    assert [name for name in SYSTEMS if name not in text] == []


def test_the_text_beside_the_picture_names_every_tool():
    picture = next(cell for cell in PAGE.cells if cell.id == "picture")
    shown = [output for output in picture.outputs if "data" in output]
    alt = " ".join(shown[0].metadata["image/png"]["alt"].split())
    for question, its in tools(PAGE).items():
        assert question in alt
        for tool, (lesson, case) in its.items():
            assert f"{tool} (lesson {lesson}): {' '.join(case.split())}" in alt


@pytest.mark.parametrize("old, new, words", [
    ("## A NumPy program?", "## A program?", "CuPy: no link in the section"),
    ("[JAX](https://", "JAX (https://", "JAX: no link in the section"),
    ("](17_one", "](16_one", "TensorRT: no link to lesson 17"),
    ("Triton 3.9, ", "Triton, ", "Triton: not looked up"),
    ("mpi4py 4.1, 2026-11-23", "mpi4py 4.1", "mpi4py: not looked up"),
    ("JAX 0.10, 2026", "JAX 0.10, 2019", "JAX: looked up on 2019"),
    ("JAX 0.10, 2026", "JAX 0.10, 2999", "JAX: looked up on 2999"),
    ("Looked up: NCCL 2.30", "Looked up: NVSHMEM 3.1, 2026-11-23; NCCL 2.30", "NVSHMEM: not in"),
    ('"Dask": (', '"Ray": (', "Ray: no link in the section"),
])
def test_what_is_missing_is_noticed(old, new, words):
    page = copy.deepcopy(PAGE)
    for cell in page.cells:
        cell.source = cell.source.replace(old, new)
    assert page != PAGE
    assert any(words in sentence for sentence in missing(page))
