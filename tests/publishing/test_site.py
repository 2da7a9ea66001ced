"""The course as static pages: every page is reached, nothing is shown too early, links resolve."""

import runpy
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from pygments.token import Comment, Keyword, String

from authoring.exercises import exercise_from
from authoring.notebook_form import ROOT, read
from helpers.data import load_claims
from publishing.claims import verdict_of
from publishing.site import build_site, page_of, write_source


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "source"
    write_source(folder)
    return folder


def listed(page: Path) -> list[Path]:
    """The files that a page's toctrees name."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "\n".join(cell.source for cell in read(page).cells)
    names = [line for block in text.split("```{toctree}")[1:]
             for line in block.partition("```")[0].splitlines() if line and line[0] != ":"]
    return [file for name in names for file in (page.parent / name).resolve().parent.glob(
        Path(name).name + ".*") if file.suffix in (".md", ".ipynb")]


def test_every_page_is_reached_from_the_first_one(source):
    reached, new = {source / "README.md"}, [source / "README.md"]
    while new:
        found = listed(new.pop())
        assert not reached & set(found), "listed twice"
        reached |= set(found)
        new += found
    pages = {path for folder in ("notebooks", "exercises", "docs")
             for path in (source / folder).iterdir() if path.suffix in (".md", ".ipynb")}
    assert pages <= reached and (source / "kernels.md") in reached


def test_the_appendix_has_every_claim(source):
    cells = {cell.id: cell.source for cell in read(source / "notebooks" / "claims.ipynb").cells}
    for row in load_claims():
        text = cells[row["id"] + "-row"]
        assert row["claim"] in text and row["found"] in text and f"**{verdict_of(row)}.**" in text


def test_no_picture_comes_from_another_host(source):
    for path in (source / "README.md", *source.glob("*s/*.ipynb")):
        assert "](https://colab.research.google.com/assets" not in path.read_text("utf-8")


def small_notebook(*cells):
    return new_notebook(cells=list(cells))


def test_an_answer_is_there_and_folded():
    recorded = [new_output("stream", name="stdout", text="26\n")]
    cell = new_code_cell("show()", metadata={"course": {"answer": True, "recorded": recorded}})
    (shown,) = page_of(small_notebook(cell)).cells
    assert shown.outputs == recorded and shown.metadata["tags"] == ["hide-output"]
    assert shown.metadata["mystnb"]["code_prompt_show"] == "Show the recorded answer"
    nbformat.validate(small_notebook(shown))


def test_an_open_cell_stays_open():
    (shown,) = page_of(small_notebook(new_code_cell("x = 1"))).cells
    assert "tags" not in shown.metadata


def test_a_picture_has_an_alternative_text_and_a_printed_kernel_its_colours():
    picture = new_output("display_data", {"image/png": "", "text/plain": "<Figure>"},
                         metadata={"image/png": {"alt": "Two bars.\n1 2"}})
    kernel = new_output("stream", name="stdout", text="    int i = 0;\n    y[i] = 1;\n")
    (shown,) = page_of(small_notebook(new_code_cell("", outputs=[picture, kernel]))).cells
    assert shown.metadata["mystnb"] == {"image": {"alt": "Two bars."}, "text_lexer": "cuda"}


def test_a_solution_is_folded_below_its_stub():
    solved = small_notebook(
        new_markdown_cell("# Tasks"),
        new_code_cell("def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION",
                      metadata={"nbgrader": {"solution": True}}),
        new_code_cell("check.f(f)"))
    cells = page_of(exercise_from(solved, "tasks"), solved).cells
    assert [cell.source.splitlines()[-1].strip() for cell in cells] == [
        "# Tasks", "raise NotImplementedError()", "return 1", "check.f(f)"]
    assert ["tags" in cell.metadata for cell in cells] == [False, False, True, False]
    assert cells[2].metadata["tags"] == ["hide-input"] and "SOLUTION" not in cells[2].source


PYTHON = '''def f(x):
    """Not a kernel; only a sentence."""
    return cp.RawKernel(r"""
extern "C" __global__ void f(float* x) {  // a comment
    x[0] = 1;
}
""", "f")


print("after")  # the kernel
'''


def test_kernels_in_python_are_coloured_as_cuda():
    lexer = runpy.run_path(str(ROOT / "docs" / "conf.py"))["PythonWithKernels"]()
    tokens = list(lexer.get_tokens_unprocessed(PYTHON))
    assert "".join(value for _, _, value in tokens) == PYTHON
    assert all(PYTHON[place:].startswith(value) for place, _, value in tokens)
    kinds = {value.strip(): kind for _, kind, value in tokens}
    assert kinds["__global__"] in Keyword and kinds["// a comment"] in Comment
    assert kinds["def"] in Keyword and kinds["# the kernel"] in Comment
    assert kinds['"""Not a kernel; only a sentence."""'] in String


def test_the_workflow_builds_with_make():
    workflow = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text(encoding="utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    made = [step["run"] for step in steps if step.get("run", "").startswith("make ")]
    assert [run.split()[1] for run in made] == ["publish", "site"]
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {"contents": "read"}  # only one job may push
    assert [name for name in jobs if "contents" in jobs[name].get("permissions", {})] == ["publish"]
    assert jobs["build"]["needs"] == "publish"
    assert [step["with"]["ref"] for step in steps if "ref" in step.get("with", {})] == ["published"]
    (folder,) = (step["with"]["path"] for step in steps if "path" in step.get("with", {}))
    assert folder == "build/site/html"


class Page(HTMLParser):
    """What a built page links, loads and shows."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.without_alt = set(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        if tag == "a":
            self.links.append(given.get("href", "#"))
        self.loads += [given[key] for key in ("src", "href") if tag != "a" and key in given]
        if tag == "img" and not given.get("alt"):
            self.without_alt.append(given["src"])


def problems(folder: Path) -> list[str]:
    """Links that lead nowhere, what is loaded from elsewhere, pictures without a text."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")
             if "_static" not in path.parts}
    found = []
    for path, page in pages.items():
        found += [f"{path.name}: {picture} has no text" for picture in page.without_alt]
        found += [f"{path.name} loads {file}" for file in page.loads if urlsplit(file).netloc]
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = pages[target].ids if target in pages else {unquote(parts.fragment)}
            if not target.exists() or parts.fragment and unquote(parts.fragment) not in there:
                found.append(f"{path.name}: {link} leads nowhere")
    return found


@pytest.mark.parametrize("html", [
    '<a href="there.html#no">', '<a href="not_there.html">', '<img alt="" src="a.html">',
    '<script src="https://cdn.example/a.js">', '<link href="//cdn.example/a.css">'])
def test_problems_of_a_page_are_found(tmp_path, html):
    (tmp_path / "there.html").write_text('<p id="yes">')
    (tmp_path / "a.html").write_text('<a href="there.html#yes"><a href="https://example.org">')
    assert not problems(tmp_path)
    (tmp_path / "a.html").write_text(html)
    assert len(problems(tmp_path)) == 1


@pytest.mark.slow
@pytest.mark.skipif(find_spec("myst_nb") is None, reason="needs the extra `site`")
def test_the_site_is_built_without_a_warning_and_its_links_resolve():
    page = build_site()
    folder = page.parent
    assert not problems(folder)
    lesson = (folder / "notebooks" / "06_first_kernels.html").read_text(encoding="utf-8")
    assert "<summary" in lesson and 'class="kt">float' in lesson
    for original in (*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("exercises/*.ipynb")):
        copied = folder / "_sources" / original.relative_to(ROOT)
        assert copied.read_bytes() == original.read_bytes()
