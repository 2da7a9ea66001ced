"""Lesson 20: each tool of the picture has its section, lesson, link, version and day."""

import ast
import copy
import re
from datetime import date

import pytest

from authoring.notebook_form import ROOT, outputs_of, read

PAGE = read(ROOT / "notebooks" / "20_where_next.ipynb")
# What the syllabus and the article on PyTorch's libraries name.
SYSTEMS = ("torch.compile", "torch.export", "TorchScript", "torch.amp", "FlashAttention",
           "scaled_dot_product_attention", "from_dlpack", "TensorRT", "ONNX Runtime", "JAX",
           "XLA", "TPU", "ROCm", "array-api-compat", "Numba", "Triton", "cuTile", "cuda.core",
           "PyCUDA", "RawKernel", "cupyx.jit", "NCCL", "mpi4py", "Dask", "cuPyNumeric")
LOOKED_UP = re.compile(r"^\*Looked up on (\d{4}-\d{2}-\d{2}): (.+)\.\*$", re.M)
ENTRY = re.compile(r"(.+?)(?: in \w+)? \d[\w.]*")  # "ROCm and torch.mps in PyTorch 2.15"


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
    """The tools with a version in a section's lines "Looked up": {tool: day}."""
    return {tool: date.fromisoformat(day) for day, entries in LOOKED_UP.findall(section)
            for entry in map(ENTRY.fullmatch, entries.split("; ")) if entry
            for tool in re.split(", | and ", entry[1])}


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
    printed = [output.get("text", "") for cell in PAGE.cells if cell.cell_type == "code"
               for output in outputs_of(cell)]
    text = "\n".join([*sections(PAGE).values(), *printed])
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
    ("Triton 3.9; ", "Triton; ", "Triton: not looked up"),
    ("torch.compile, torch.amp and", "torch.compile and", "torch.amp: not looked up"),
    ("Looked up on 2026-11-23: NCCL", "Looked up: NCCL", "mpi4py: not looked up"),
    ("2026-11-23: CuPy 14.2; JAX", "2019-11-23: CuPy 14.2; JAX", "JAX: looked up on 2019"),
    ("2026-11-23: CuPy 14.2; JAX", "2999-11-23: CuPy 14.2; JAX", "JAX: looked up on 2999"),
    ("NCCL 2.30; ", "NVSHMEM 3.1; NCCL 2.30; ", "NVSHMEM: not in"),
    ('"Dask": (', '"Ray": (', "Ray: no link in the section"),
])
def test_what_is_missing_is_noticed(old, new, words):
    page = copy.deepcopy(PAGE)
    for cell in page.cells:
        cell.source = cell.source.replace(old, new)
    assert page != PAGE
    assert any(words in sentence for sentence in missing(page))


def test_the_form_takes_no_share_outside_0_and_1_as_known(capsys):
    tree = ast.parse(next(cell for cell in PAGE.cells if cell.id == "picture").source)
    form = next(node for node in tree.body if getattr(node, "name", "") == "next_step")
    names = {}
    exec(compile(ast.Module([form], []), "picture", "exec"), names)
    for share, step in ((96, "find out: its share of the time"), (0, "find out: its share"),
                        (1, "find out: its share"), (0.96, "try Numba")):
        names["next_step"]("a loop", share, 193, 20, 4e6, "Numba", "close to the loop")
        assert f"Next step: {step}" in capsys.readouterr().out
