"""The README's tables are made from notebooks and recorded data, and its figures are right."""

import json
import re
import shutil

import pytest

from authoring import tables
from authoring.notebook_form import ROOT, AuthoringError, notebooks
from authoring.publish import badges
from authoring.tables import write_open_in, write_tables
from helpers.data import load_profile

README = ROOT / "README.md"


def test_tables_are_up_to_date():
    assert write_tables(README, check=True) == [], "run make tables"


@pytest.mark.parametrize("right, wrong", [
    ("| **all** | 14 |", "| **all** | 15 |"),
    ("exercises/06_first_kernels.ipynb), core 50 |", "exercises/06_first_kernels.ipynb), core 3 |"),
    ("The lessons take about ", "The lessons take about 1"),
    ("| 16 | attention, 4", "| 12 | attention, 4"),
])
def test_a_wrong_number_is_found_and_corrected(tmp_path, commit, right, wrong):
    copy = tmp_path / "README.md"
    text = README.read_text(encoding="utf-8")
    assert text.count(right) == 1
    copy.write_text(text.replace(right, wrong), encoding="utf-8")
    assert write_tables(copy, check=True) == ["README.md"]
    assert wrong in copy.read_text(encoding="utf-8")
    commit()
    assert write_tables(copy) == ["README.md"]
    assert copy.read_text(encoding="utf-8") == text


def test_the_words_of_a_lesson_are_kept_and_a_missing_row_is_added(tmp_path, commit):
    copy = tmp_path / "README.md"
    text = README.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    (row,) = (line for line in lines if line.startswith("| 03 | "))
    copy.write_text(text.replace(row, "").replace("a program that reads", "our program that reads"))
    commit()
    write_tables(copy)
    written = copy.read_text(encoding="utf-8")
    assert "| our program that reads digits" in written
    (row,) = (line for line in written.splitlines() if line.startswith("| 03 | "))
    assert re.match(r"\| 03 \| \[Einsum\]\(\S+\) \| \d+ \| \.\.\. \| \[tasks\]", row)


def test_a_table_that_was_edited_here_is_not_overwritten(tmp_path, commit):
    """A change elsewhere in the README is no obstacle, and neither is what the tool wrote."""
    copy = tmp_path / "README.md"
    text = README.read_text(encoding="utf-8")
    copy.write_text(text, encoding="utf-8")
    commit()
    edited = text.replace("| **all** | 14 |", "| **my own sum** | 15 |")
    copy.write_text(edited, encoding="utf-8")
    with pytest.raises(AuthoringError, match="^README.md: edited here and not committed"):
        write_tables(copy)
    assert copy.read_text(encoding="utf-8") == edited
    commit()
    copy.write_text("# Mine\n" + edited, encoding="utf-8")
    assert write_tables(copy) == ["README.md"]
    assert copy.read_text(encoding="utf-8") == "# Mine\n" + text


def test_a_readme_without_the_comments_is_refused(tmp_path):
    (tmp_path / "README.md").write_text("# no tables\n", encoding="utf-8")
    with pytest.raises(AuthoringError, match="lacks <!-- lessons -->"):
        write_tables(tmp_path / "README.md")


def test_the_page_of_badges_has_every_lesson_and_is_up_to_date():
    assert write_open_in(check=True) == [], "run make tables"
    page = (ROOT / "docs" / "open_in.md").read_text(encoding="utf-8")
    for path in notebooks("notebooks"):
        assert f"| {path.stem.replace('_', ' ')} | {badges(f'notebooks/{path.name}')} |" in page


def test_a_wrong_badge_is_found_and_corrected(tmp_path, commit):
    for name in ("pyproject.toml", "docs/open_in.md", "notebooks/00_start_here.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    commit()
    page = tmp_path / "docs" / "open_in.md"
    assert write_open_in(tmp_path, check=True) == ["docs/open_in.md"]
    assert "01_strided" in page.read_text(encoding="utf-8")
    assert write_open_in(tmp_path) == ["docs/open_in.md"]
    assert "00_start_here" in page.read_text("utf-8") and "01_" not in page.read_text("utf-8")
    page.write_text("my own words", encoding="utf-8")
    with pytest.raises(AuthoringError, match="edited here and not committed"):
        write_open_in(tmp_path)


def test_the_number_of_behaviours_is_the_one_recorded():
    recorded = ROOT / "simulator" / "tests" / "behaviour" / "recorded"
    programs = sum(len(json.loads((recorded / f"{name}.json").read_text())["answers"])
                   for name in ("cupy", "pycuda"))
    stated = re.search(r"(\d+) small programs", README.read_text(encoding="utf-8"))
    assert int(stated[1]) == programs


def test_the_one_runs_table_has_its_numbers_on_the_right_side():
    run = load_profile("reader")
    rows = [line.split(" | ") for line in tables.one_run().splitlines()]
    assert len(rows) == 6 and f"{run['rates']['one kernel, float16']['rate']:,.0f}" in rows[3][1]
    peer = run["rates"]["torch.compile, float16"]["rate"]
    assert f"torch.compile, float16 {peer:,.0f}" in rows[3][2]
    assert f"copies alone {run['from_host']['bus']:,.0f}" in rows[5][2]
