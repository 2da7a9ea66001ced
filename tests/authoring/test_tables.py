"""The tables of README and docs are made from notebooks and recorded data; figures are right."""

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
MEASURED = "docs/measured.md"


@pytest.fixture
def pages(tmp_path):
    """A folder with copies of the pages that have tables."""
    (tmp_path / "docs").mkdir()
    for page in tables.PLACES:
        shutil.copy(ROOT / page, tmp_path / page)
    return tmp_path


def test_tables_are_up_to_date():
    assert write_tables(check=True) == [], "run make tables"


@pytest.mark.parametrize("page, right, wrong", [
    (MEASURED, "| **all** | 14 |", "| **all** | 15 |"),
    ("README.md", "06_first_kernels.ipynb), core 50 |", "06_first_kernels.ipynb), core 3 |"),
    ("README.md", "The lessons take about ", "The lessons take about 1"),
    (MEASURED, "| 16 | attention, 4", "| 12 | attention, 4"),
])
def test_a_wrong_number_is_found_and_corrected(pages, commit, page, right, wrong):
    copy = pages / page
    text = copy.read_text(encoding="utf-8")
    assert text.count(right) == 1
    copy.write_text(text.replace(right, wrong), encoding="utf-8")
    assert write_tables(pages, check=True) == [page]
    assert wrong in copy.read_text(encoding="utf-8")
    commit()
    assert write_tables(pages) == [page]
    assert copy.read_text(encoding="utf-8") == text


def test_the_words_of_a_lesson_are_kept_and_a_missing_row_is_added(pages, commit):
    copy = pages / "README.md"
    text = README.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    (row,) = (line for line in lines if line.startswith("| 03 | "))
    copy.write_text(text.replace(row, "").replace("a program that reads", "our program that reads"))
    commit()
    write_tables(pages)
    written = copy.read_text(encoding="utf-8")
    assert "| our program that reads digits" in written
    (row,) = (line for line in written.splitlines() if line.startswith("| 03 | "))
    assert re.match(r"\| 03 \| \[Einsum\]\(\S+\) \| \d+ \| \.\.\. \| \[tasks\]", row)


def test_a_table_that_was_edited_here_is_not_overwritten(pages, commit):
    """A change elsewhere on the page is no obstacle, and neither is what the tool wrote."""
    copy = pages / MEASURED
    text = copy.read_text(encoding="utf-8")
    commit()
    edited = text.replace("| **all** | 14 |", "| **my own sum** | 15 |")
    copy.write_text(edited, encoding="utf-8")
    with pytest.raises(AuthoringError, match="^docs/measured.md: edited here and not committed"):
        write_tables(pages)
    assert copy.read_text(encoding="utf-8") == edited
    commit()
    copy.write_text("# Mine\n" + edited, encoding="utf-8")
    assert write_tables(pages) == [MEASURED]
    assert copy.read_text(encoding="utf-8") == "# Mine\n" + text


def test_a_readme_without_the_comments_is_refused(pages):
    (pages / "README.md").write_text("# no tables\n", encoding="utf-8")
    with pytest.raises(AuthoringError, match="README.md lacks <!-- lessons -->"):
        write_tables(pages)


def test_the_readme_tells_who_reports_the_planted_faults_as_the_table_does():
    told = re.search(r"Of the (\d+) broken kernels of lesson (\d+), which we wrote, the GPU reports"
                     r" (\d+), NVIDIA's compute-sanitizer (\d+), and the simulator (\d+)",
                     README.read_text(encoding="utf-8")).groups()
    kernels, lesson, gpu, sanitizer, simulator = told
    assert f"| **all** | {kernels} | {gpu} | {sanitizer} | {simulator} |" in tables.faults()
    assert f"those of lesson {lesson}'s clinic" in tables.faults()


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


@pytest.mark.parametrize("value, words", [
    (30_673_373, "30.7 million"), (119_196_552, "119 million"), (4_692_199, "4.69 million"),
    (9174.9, "9,170"), (313.4, "313")])
def test_a_number_is_shown_with_three_digits(value, words):
    assert tables.three_digits(value) == words


def test_the_tables_of_one_run_have_a_line_for_each_version_and_its_numbers():
    run = load_profile("reader")
    rates, host, text = run["rates"], run["from_host"], tables.one_run()
    rows = [[part.strip() for part in line.strip("| ").split(" | ")]
            for line in text.splitlines() if line.startswith("| ")]
    rate, peer = (rates[f"{name}, float16"]["rate"] for name in ("one kernel", "PyTorch"))
    assert ["**one kernel**", "float16", "100,000", tables.three_digits(rate),
            f"{rate / peer:.2g}"] in rows
    for number in ("float32", "float16", "tf32"):
        assert ["PyTorch", number, "100,000",
                tables.three_digits(rates[f"PyTorch, {number}"]["rate"]), "1"] in rows
    assert ["PyTorch", *(f"{run['one_digit_by_torch'][f'PyTorch, {number}']['us']:,.0f} us"
                         for number in ("float32", "float16"))] in rows
    assert ["the copies alone", *2 * [tables.three_digits(host["bus"])]] in rows
    assert all(f"| {one:,.0f} us |" in text for one in (
        run["one_digit"]["NumPy"]["us"], run["one_digit"]["one kernel, float32"]["us"]))
