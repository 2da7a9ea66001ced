"""The notebooks' form: what every lesson, solution and exercise must look like."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

from authoring.notebook_form import (
    FOLDERS,
    IGNORE_TAG,
    METADATA,
    REASONS,
    ROOT,
    SETUP_TEXT,
    SETUP_TITLE,
    WITHOUT_EXERCISES,
    course_of,
    lesson_paths,
    notebooks,
    outputs_of,
    read,
    stored_text,
)
from authoring.publish import repository

PATHS = [path for folder in FOLDERS for path in notebooks(folder)]
RECORDED = [path for path in PATHS if path.parent.name != "exercises"]
LESSONS = lesson_paths()
PLACES = re.compile(r"/(?:home|root|tmp|Users|usr|opt|work)/|[A-Z]:\\\\")


def ids(paths):
    return [f"{path.parent.name}/{path.stem}" for path in paths]


every = pytest.mark.parametrize("path", PATHS, ids=ids(PATHS))
recorded = pytest.mark.parametrize("path", RECORDED, ids=ids(RECORDED))
lesson = pytest.mark.parametrize("path", LESSONS, ids=ids(LESSONS))


def code_cells(path):
    """The code cells, each with what was recorded of it, wherever in the cell that stands."""
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    for cell in cells:
        cell.outputs = outputs_of(cell)
    return cells


def prose(path):
    return "\n\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")


# Words that say nothing of where a link leads when they are read alone.
VAGUE = {"here", "this", "link", "more", "click", "click here", "read more", "see", "page", "docs",
         "this page", "source", "documentation", "website", "article"}


def links(text):
    """Words and address of each link in Markdown text, pictures and badges left out."""
    text = re.sub(r"```.*?```|(?<!`)`[^`\n]*`(?![`\]])", "", text, flags=re.S)
    text = re.sub(r"\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\)", "", text)
    return re.findall(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", text)


def not_compared(path):
    return [cell for cell in code_cells(path) if IGNORE_TAG in cell.metadata.get("tags", [])]


@every
def test_is_stored_in_one_form(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata == METADATA
    assert path.read_text(encoding="utf-8") == stored_text(notebook)
    names = [cell.id for cell in notebook.cells]
    assert len(set(names)) == len(names)
    assert all(cell.source.strip() for cell in notebook.cells)


@every
def test_setup_cell_is_the_same_everywhere(path):
    setup = code_cells(path)[0].source
    without_needs = re.sub(r'start\((needs="\w+"|devices=2)\)', "start()", setup)
    assert without_needs == code_cells(LESSONS[0])[0].source
    assert f"https://github.com/{repository()}.git" in setup


@every
def test_setup_cell_is_folded_and_says_so(path):
    """In JupyterLab by `jupyter.source_hidden`, on Colab as a form with a title."""
    cells = read(path).cells
    at = next(k for k, cell in enumerate(cells) if cell.cell_type == "code")
    assert cells[at].id == "setup" and cells[at].source.startswith(f"{SETUP_TITLE}\n")
    assert cells[at].metadata["jupyter"] == {"source_hidden": True}
    assert cells[at].metadata["cellView"] == "form"
    assert cells[at - 1].id == "run-setup" and SETUP_TEXT in cells[at - 1].source


@every
def test_only_setup_and_an_opening_picture_are_folded(path):
    """The picture's cell comes right after the setup, with a title, and the text above says so."""
    cells = read(path).cells
    at = next(k for k, cell in enumerate(cells) if cell.id == "setup")
    folded = [k for k, cell in enumerate(cells) if "cellView" in cell.metadata
              or "source_hidden" in cell.metadata.get("jupyter", {})]
    assert folded in ([at], [at, at + 1])
    if len(folded) > 1:
        picture = cells[at + 1]
        assert picture.metadata["jupyter"] == {"source_hidden": True}
        assert picture.metadata["cellView"] == "form"
        assert picture.source.startswith("#@title The picture: ")
        assert any("image/png" in output.get("data", {}) for output in picture.outputs)
        assert "The folded cell after it draws the picture" in cells[at - 1].source


def opening(path):
    """The text above a notebook's first section."""
    texts = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    return "\n\n".join(texts).partition("\n## ")[0]


def badges(place):
    """The addresses that open a file of the course on Colab, Kaggle and Binder."""
    address = repository()
    page = f"{address}/blob/main/{place}"
    return (f"(https://colab.research.google.com/github/{page})",
            f"(https://kaggle.com/kernels/welcome?src=https://github.com/{page})",
            f"(https://mybinder.org/v2/gh/{address}/main?labpath={place.replace('/', '%2F')})")


@every
def test_badges_open_this_notebook(path):
    place = f"{path.parent.name}/{path.name}"
    if path.parent.name == "solutions":
        place = f"exercises/{path.name}"  # solutions are where exercises are authored
    first = opening(path)
    for url in badges(place):
        assert url in first


@every
def test_headings_are_in_order(path):
    text = re.sub(r"```.*?```", "", prose(path), flags=re.S)
    levels = [len(mark) for mark in re.findall(r"^(#+) ", text, flags=re.M)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in zip(levels, levels[1:]))


@every
def test_a_section_begins_a_cell(path):
    """Where a workshop skips a section, the end of the one before it must stay."""
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"```.*?```", "", cell.source, flags=re.S)
            assert not re.search(r"(?<=\n)## ", text), cell.id


@every
def test_folded_text_is_well_formed(path):
    text = prose(path)
    assert text.count("<details>") == text.count("</details>")
    # Markdown inside needs an empty line after the summary.
    assert not re.findall(r"</summary>\n(?!\n)", text)


@every
def test_links_inside_the_course_lead_somewhere(path):
    targets = re.findall(r"\]\(([^)]+)\)", prose(path))
    for target in targets:
        if target.startswith(("http://", "https://")):
            continue
        file = (path.parent / unquote(target.split("#")[0])).resolve()
        assert file.exists(), target
        assert file.is_relative_to(ROOT), target


@every
def test_images_have_alternative_text(path):
    assert not re.findall(r"!\[\s*\]\(|<img(?![^>]*\balt=\"[^\"]+\")", prose(path))


@every
def test_links_say_where_they_lead(path):
    """Read alone, as a screen reader lists them; the same words lead to one place."""
    places = {}
    for words, target in links(prose(path)):
        said = re.sub(r"[`*_]", "", words).strip().lower()
        assert len(said) > 1 and said not in VAGUE, words
        assert not said.startswith(("http", "www.")), words
        places.setdefault(said, set()).add(target)
    assert not {said: found for said, found in places.items() if len(found) > 1}


@recorded
def test_was_run_from_top_to_bottom(path):
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))


@recorded
def test_prints_no_error_warning_or_place(path):
    for cell in code_cells(path):
        for output in cell.outputs:
            assert output.output_type != "error", cell.id
            assert output.get("name") != "stderr", cell.id
            text = json.dumps(output.get("text", output.get("data", {}).get("text/plain", "")))
            assert not PLACES.search(text), cell.id


@recorded
def test_ignored_cells_give_a_reason_and_are_few(path):
    cells, ignored = code_cells(path), not_compared(path)
    for cell in ignored:
        assert course_of(cell).get("not_compared") in REASONS, cell.id
    for cell in cells:
        assert "NBVAL" not in cell.source, cell.id
        if cell not in ignored:
            assert "not_compared" not in course_of(cell), cell.id
    assert len(ignored) <= 0.3 * len(cells)


NOTES = {"not_compared", "prediction", "answer", "recorded", "warm_up", "path"}


@every
def test_only_keys_that_are_described_are_noted_in_cells(path):
    described = set(re.findall(r"^\| `(\w+)", (ROOT / "docs" / "authoring.md").read_text(), re.M))
    assert NOTES <= described
    allowed = NOTES if path.parent.name != "exercises" else set()
    for cell in read(path).cells:
        assert set(course_of(cell)) <= allowed, cell.id


@recorded
def test_each_picture_has_an_alternative_text(path):
    for cell in code_cells(path):
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                about = output.metadata.get("image/png", {}).get("alt", "")
                assert len(about.partition("\n")[0].split()) >= 3, cell.id
                assert output.data["text/plain"] == about, cell.id  # what a terminal shows


def text_beside(cell):
    """What a cell prints or shows as text, and the facts of its pictures without their names."""
    texts = [output.text if output.output_type == "stream" else
             output.data.get("text/plain", "").partition("\n")[2]
             if "image/png" in output.get("data", {}) else output.data.get("text/plain", "")
             for output in cell.outputs if output.output_type != "error"]
    return "\n".join(texts)


@recorded
def test_pictures_have_the_same_facts_as_text(path):
    """A picture's facts stand in its text, or below it: two lines, or one that has numbers."""
    for cell in code_cells(path):
        pictures = [output for output in cell.outputs if "data" in output
                    and any(kind.startswith("image/") for kind in output.data)]
        if pictures:
            text = text_beside(cell).strip()
            assert "\n" in text or re.search(r"\d", text), cell.id


@lesson
def test_lesson_has_its_parts(path):
    text = prose(path)
    number, first = path.stem[:2], read(path).cells[0].source
    assert first.startswith(f"# {number} ")
    assert re.search(r"\*\*\d+ minutes\.\*\*", first) and "you can" in opening(path)
    assert "?" in first and "](https://colab" not in first
    kinds = [cell.metadata.get("course", {}) for cell in read(path).cells]
    warm_ups = sum("warm_up" in kind for kind in kinds)
    assert 2 <= warm_ups <= 3 or path.stem in WITHOUT_EXERCISES
    assert 1 <= sum("prediction" in kind for kind in kinds) <= 3
    assert "**Try it on " in text
    after = text.split("## Key points")[1]
    if path.stem not in WITHOUT_EXERCISES:
        assert f"(../exercises/{path.name})" in after
    assert text.count("You may have read") <= 3


@lesson
def test_lesson_has_exercise_and_solution(path):
    has = path.stem not in WITHOUT_EXERCISES
    assert (ROOT / "exercises" / path.name).exists() == has
    assert (ROOT / "solutions" / path.name).exists() == has


def test_each_lesson_links_the_next_one():
    for path, following in zip(LESSONS, LESSONS[1:]):
        assert f"]({following.name})" in read(path).cells[-1].source, path.name


def test_grade_ids_are_unique():
    seen = {}
    for path in notebooks("solutions"):
        for cell in code_cells(path):
            if name := cell.metadata.get("nbgrader", {}).get("grade_id"):
                assert name not in seen, (path.name, seen[name])
                seen[name] = path.name
    assert seen


def test_code_in_cells_is_clean():
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed here (extra `dev`)")
    done = subprocess.run([ruff, "check", "--quiet", "."], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_links_files_that_exist_and_the_authors_page_names_every_folder():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("http"):
            assert (ROOT / unquote(target)).exists(), target
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)/`", text.split("## Where things are")[1].split("\n## ")[0]))
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir()
             and path.name.isidentifier() and path.name not in ("build", "__pycache__")}
    assert listed == rooms


PAGES = sorted(path for pattern in ("*.md", "docs/**/*.md", "notebooks/*.md", "helpers/**/*.md",
                                    "simulator/*.md") for path in ROOT.glob(pattern))


@pytest.mark.parametrize("path", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_pages_have_headings_in_order_alternative_texts_and_telling_links(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    levels = [len(mark) for mark in re.findall(r"^(#+) ", text, flags=re.M)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in zip(levels, levels[1:]))
    assert not re.findall(r"!\[\s*\]\(|<img(?![^>]*\balt=\"[^\"]+\")", text)
    for words, _ in links(text):
        assert re.sub(r"[`*_]", "", words).strip().lower() not in VAGUE, words
