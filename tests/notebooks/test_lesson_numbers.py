"""Lessons are named by number in many places: each number is right wherever it stands."""

import re
from pathlib import Path

import pytest

from authoring.notebook_form import FOLDERS, ROOT, lesson_paths, notebooks, read

LESSONS = {path.stem[:2]: path for path in lesson_paths()}
HEADINGS = {number: read(path).cells[0].source.partition("\n")[0].removeprefix("# ")
            for number, path in LESSONS.items()}
NOTEBOOKS = [path for folder in FOLDERS for path in notebooks(folder)]
ROOMS = ("authoring", "checks", "docs", "helpers", "install", "simulator", "tests")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("notebooks/*.md"),
         *(path for room in ROOMS for kind in ("*.py", "*.md", "*.cu", "*.j2")
           for path in (ROOT / room).rglob(kind))]
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
# "lesson 05", "lesson 12 or 13", "lessons 12, 13 and 16", "lessons 05 to 16".
NAMED = re.compile(r"\b[Ll]esson\s+\d\d\b(?:(?:, \d\d)* or \d\d\b)?"
                   r"|\b[Ll]essons\s+\d\d\b(?:(?:, | and | or | to )\d\d\b)*")
FILE = re.compile(r"(?:^|/)(\d\d)_\w+\.ipynb$")


def prose(path: Path) -> str:
    """The text in which a file may name lessons: all of a page, the Markdown of a notebook."""
    if path.suffix != ".ipynb":
        return path.read_text(encoding="utf-8")
    return "\n\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")


def unknown_lessons(text: str) -> list[str]:
    """The places in a text that name a lesson which does not exist."""
    without_targets = LINK.sub(lambda link: link[1], text)
    return [named for named in NAMED.findall(without_targets)
            if not set(re.findall(r"\d\d", named)) <= set(LESSONS)]


def wrong_links(text: str) -> list[str]:
    """The links to lessons whose words give another number or title than their target has."""
    found = []
    for words, target in LINK.findall(text):
        file = FILE.search(target.partition("#")[0])
        if file is None or file[1] not in LESSONS:
            continue
        plain = re.sub(r"[*`]", "", words)
        number = re.match(r"(?:[Ll]esson )?(\d\d)(?!\d)", plain)
        if number and number[1] != file[1]:
            found.append(f"[{words}]({target})")
        # "08 Memory and tiles": the words are the beginning of the lesson's heading.
        if re.match(r"\d\d \w", plain) and not HEADINGS[file[1]].startswith(plain):
            found.append(f"[{words}]({target})")
    return found


def wrong_titles(code: str) -> list[str]:
    """The docstrings like "Checks of lesson 08, Memory and tiles." whose title is another one."""
    return [f"lesson {number}, {title}"
            for number, title in re.findall(r"\blesson (\d\d), ([A-Z][^.\n]*)\.\"", code)
            if not HEADINGS.get(number, "").startswith(f"{number} {title}")]


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names(NOTEBOOKS))
def test_a_notebook_names_only_lessons_that_exist_and_links_them_by_their_numbers(path):
    assert wrong_links(prose(path)) == []
    assert unknown_lessons("\n\n".join(cell.source for cell in read(path).cells)) == []


def test_pages_and_code_name_only_lessons_that_exist():
    this = Path(__file__).resolve()
    problems = {str(path.relative_to(ROOT)): found for path in PAGES if path != this
                if (found := unknown_lessons(prose(path)) + wrong_links(prose(path)))}
    assert problems == {}
    code = "\n".join(prose(path) for path in PAGES if path.suffix == ".py" and path != this)
    assert wrong_titles(code) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names(NOTEBOOKS))
def test_next_is_the_lesson_with_the_next_number(path):
    numbers = sorted(LESSONS)
    following = dict(zip(numbers, numbers[1:]))
    for words, target in re.findall(r"\bNext(?: lesson)?:(?:\*\*)? \[([^\]]+)\]\(([^)]+)\)",
                                    prose(path)):
        assert target.endswith(f"{LESSONS[following[path.stem[:2]]].name}"), words


def test_the_numbers_in_the_picture_of_the_last_lesson_are_those_of_lessons():
    """Its data name lessons as `"Triton": ("08", ...`."""
    picture = next(cell for cell in read(LESSONS["20"]).cells if cell.id == "picture")
    numbers = set(re.findall(r'": \("(\d\d)", "', picture.source))
    assert len(numbers) >= 8 and numbers <= set(LESSONS)


@pytest.mark.parametrize("text, found", [
    ("as lesson 99 shows", ["lesson 99"]), ("Lessons 05, 06 and 98.", ["Lessons 05, 06 and 98"]),
    ("lesson 97's tile", ["lesson 97"]), ("lessons 00 to 96", ["lessons 00 to 96"]),
    ("in [lesson 95](06_first_kernels.ipynb)", ["lesson 95"]),
    ("lesson 12, 94 or 13", ["lesson 12, 94 or 13"]),
    ("lessons 05 to 16", []), ("lesson 130 of 200", []), ("lesson 05, 12 cells", []),
])
def test_a_number_without_a_lesson_is_found(text, found):
    assert unknown_lessons(text) == found


def test_another_title_is_found():
    assert wrong_titles('"""Of lesson 08, Memory and tiles."""') == []
    assert wrong_titles('"""Of lesson 08, Kernels."""') == ["lesson 08, Kernels"]


@pytest.mark.parametrize("link, wrong", [
    ("[lesson 05](06_first_kernels.ipynb)", True),
    ("[06](../notebooks/05_numpy_to_cupy.ipynb)", True),
    ("[06 Kernels and memory](06_first_kernels.ipynb)", True),
    ("[**06**](06_first_kernels.ipynb#a)", False),
    ("[06 First kernels](06_first_kernels.ipynb)", False),
    ("[its traps](06_first_kernels.ipynb)", False),
])
def test_a_link_with_another_number_or_title_is_found(link, wrong):
    assert bool(wrong_links(link)) == wrong
