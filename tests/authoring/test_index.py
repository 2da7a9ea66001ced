"""The index of functions and the glossary: up to date, complete, and every link alive."""

import re
import shutil
from urllib.parse import unquote

import nbformat
import pytest

from authoring import index as indexing
from authoring.notebook_form import (
    ROOT,
    AuthoringError,
    lesson_paths,
    read,
    stored_text,
    subject_of,
)

FOLDER = ROOT / "notebooks"
LESSONS = lesson_paths()
PAGES = [FOLDER / "glossary.md", FOLDER / "index.md"]
# Bold words that are emphasis, not terms.
EMPHASIS = re.compile(
    r"Predict.*|predict|Before .*|\d+ minutes\.|Exercises:|Next lesson:|Claim\.|.*[.?:]"
    r"|one|first|last|once|result|order|every|at least|in both|in one|meet|needed|with memory"
    r"|asked for|threads|small is slow|summed alone|portable advice|alphabetical order"
    r"|top|total|out|\d{4}-\d{2}-\d{2}"
    r"|.*`.*|.*[=·].*|(\S+ ){3,}\S+")


def text_of(path):
    return "\n".join(cell.source for cell in read(path).cells
                     if cell.cell_type == "markdown")


def test_pages_and_links_are_up_to_date():
    assert indexing.write_pages(FOLDER, check=True) == []


@pytest.mark.parametrize("path", LESSONS, ids=[path.stem for path in LESSONS])
def test_bold_words_are_terms(path):
    known = {term[key].lower() for term in indexing.load_terms() for key in ("term", "written")}
    text = re.sub(r"```.*?```", "", text_of(path), flags=re.S)
    bold = set(re.findall(r"(?<!\*)\*\*([^*\n]+)\*\*(?!\*)", text))
    words = {word for word in bold if not EMPHASIS.fullmatch(word)}
    assert {word for word in words if word.lower() not in known
            and word.lower().rstrip("s") not in known} == set()


def test_terms_are_well_formed():
    terms = indexing.load_terms()
    names = [term["term"] for term in terms]
    assert names == sorted(set(names), key=str.lower)
    assert len({indexing.anchor(name) for name in names}) == len(names) > 90
    assert {term["lesson"] for term in terms} <= {subject_of(path.stem) for path in LESSONS}
    for term in terms:
        assert set(term) == {"term", "written", "lesson", "meaning"}
        assert 3 <= len(term["meaning"].split()) <= 40 and term["meaning"].endswith("."), term


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_of_the_pages_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    assert len(targets) > 90
    for target in targets:
        if not target.startswith("https://"):
            assert (FOLDER / unquote(target.split("#")[0])).exists(), target


def test_links_into_the_glossary_meet_a_heading():
    headings = {indexing.anchor(name) for name in re.findall(
        r"^### (.+)$", PAGES[0].read_text(encoding="utf-8"), flags=re.M)}
    linked = {anchor for path in LESSONS
              for anchor in re.findall(r"\]\(glossary\.md#([^)]+)\)", text_of(path))}
    assert linked == headings


def test_every_lesson_and_the_readme_can_find_them():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(notebooks/index.md)" in text and "(notebooks/glossary.md)" in text


def test_functions_are_found_by_what_was_imported():
    code = """
import numpy as np
import cupy as cp
import pycuda.driver as drv
from numpy.lib.stride_tricks import as_strided as s
from helpers import compare, draw, show_error
x = np.add.outer(np.arange(3), s(np.float32(1), (), ()))
y = cp.asarray(x).reshape(3, 1).T.get()
{}.get("key"); other.thing(x); y[0].item.something
draw.memory(x); compare; drv.Stream()
cp.RawKernel('__global__ void f() { __syncthreads(); atomicAdd(p, 1); }', "f")
"""
    assert set(indexing.functions_in(code)) == {
        "np.add.outer", "np.arange", "np.lib.stride_tricks.as_strided", "cp.asarray",
        "array.reshape", "array.T", "array.get", "array.item", "draw.memory", "helpers.compare",
        "drv.Stream", "cp.RawKernel", "cuda.__global__", "cuda.__syncthreads", "cuda.atomicAdd"}


@pytest.fixture
def copy(tmp_path):
    """A copy of the lessons' folder."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for path in [*LESSONS, *PAGES]:
        shutil.copy(path, folder)
    return folder


def test_a_function_that_the_index_lacks_is_noticed(copy, commit):
    page = copy / "index.md"
    page.write_text(page.read_text().replace("`np.einsum_path`", "`np.einsum_road`"))
    assert indexing.write_pages(copy, check=True) == ["index.md"]
    with pytest.raises(AuthoringError, match="^notebooks/index.md: edited here"):
        indexing.write_pages(copy)
    commit()
    indexing.write_pages(copy)
    assert page.read_text() == PAGES[1].read_text(encoding="utf-8")


def test_a_lesson_in_which_somebody_is_at_work_is_not_written(copy, commit):
    """Links are added to lessons in the stored form only; Jupyter saves another one."""
    commit()
    lesson = next(copy.glob("06_*.ipynb"))
    text = lesson.read_text(encoding="utf-8")
    glossary = re.compile(r"\[(\*\*?[\w ]+\*\*?)\]\(glossary.md#[\w-]+\)")
    lesson.write_text(glossary.sub(r"\1", text, count=1).rstrip("\n"), encoding="utf-8")
    before = lesson.read_text(encoding="utf-8")
    with pytest.raises(AuthoringError, match=f"^notebooks/{lesson.name}: edited here"):
        indexing.write_pages(copy)
    assert lesson.read_text(encoding="utf-8") == before
    lesson.write_text(before + "\n", encoding="utf-8")
    assert indexing.write_pages(copy) == [lesson.name]
    assert lesson.read_text(encoding="utf-8") == text


def test_a_term_of_an_unknown_lesson_is_an_error(copy, monkeypatch):
    term = {"term": "a", "written": "a", "lesson": "thread_painting", "meaning": "A."}
    monkeypatch.setattr(indexing, "load_terms", lambda: [term])
    with pytest.raises(AuthoringError, match="no lesson has the subject 'thread_painting'"):
        indexing.write_pages(copy)


def test_a_function_is_listed_where_code_uses_it_and_text_names_it(copy):
    path = copy / LESSONS[1].name
    notebook = read(path)
    notebook.cells.append(nbformat.v4.new_code_cell("np.polyder([1], 2)", id="new"))
    path.write_text(stored_text(notebook))
    assert indexing.write_pages(copy, check=True) == []
    notebook.cells.append(nbformat.v4.new_markdown_cell("`np.polyder([1], x)` is 1.", id="text"))
    path.write_text(stored_text(notebook))
    assert indexing.write_pages(copy, check=True) == ["index.md"]
    assert "| `np.polyder` | **[01]" in indexing.index_page({path.name: notebook})


@pytest.mark.parametrize("name, text, named", [
    ("np.add", "`np.add(x, y)`", True),
    ("np.add", "`np.add.at`", False),
    ("array.T", "`x.T`", True),
    ("array.T", "`T x`", False),
    ("cuda.threadIdx", "`blockDim.x + threadIdx.x`", True),
    ("helpers.compare", "`compare(...)`", True),
    ("helpers.compare", "`compare_all`", False),
])
def test_what_names_a_function(name, text, named):
    assert indexing.is_named(name, text) is named


def test_a_removed_link_is_put_back_and_an_unused_term_is_an_error(copy):
    path = copy / LESSONS[1].name
    before = path.read_text()
    path.write_text(before.replace("[**view**](glossary.md#view)", "**view**"))
    assert indexing.write_pages(copy, check=True) == [path.name]
    indexing.write_pages(copy)
    assert path.read_text() == before
    path.write_text(before.replace("[**view**](glossary.md#view)", "look").replace("*view*", ""))
    with pytest.raises(AuthoringError, match=f"{path.name} does not use 'view'"):
        indexing.write_pages(copy)
    assert "look" in path.read_text()


def test_a_term_that_links_documentation_keeps_that_link():
    for source in ("See [**view**](https://a.b), *view*.", "See **[view](https://a.b)**. *view*"):
        cell = nbformat.v4.new_markdown_cell(source)
        term = {"term": "view", "written": "view", "lesson": "strided_views", "meaning": ""}
        assert indexing.link_terms(nbformat.v4.new_notebook(cells=[cell]), [term]) == []
        assert cell.source.startswith(
            "See [**view**](glossary.md#view) ([documentation](https://a.b))")
        assert cell.source.count("glossary") == 1
