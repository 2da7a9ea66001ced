"""The README's tables are made from the recorded data, and its figures are the repository's."""

import json
import re
from pathlib import Path

import pytest

from authoring import tables as frontpage

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


def test_tables_are_up_to_date():
    assert not frontpage.write(README, check=True), "run make tables"


def test_a_changed_table_is_noticed_and_mended(tmp_path):
    copy = tmp_path / "README.md"
    text = README.read_text(encoding="utf-8")
    copy.write_text(text.replace("| **all** | 14 |", "| **all** | 15 |"), encoding="utf-8")
    assert frontpage.write(copy, check=True) and "| 15 |" in copy.read_text(encoding="utf-8")
    assert frontpage.write(copy) and copy.read_text(encoding="utf-8") == text


def test_a_readme_without_the_comments_is_refused(tmp_path):
    (tmp_path / "README.md").write_text("# no tables\n", encoding="utf-8")
    with pytest.raises(ValueError, match="lacks <!-- faults -->"):
        frontpage.write(tmp_path / "README.md")


def test_the_number_of_behaviours_is_the_one_recorded():
    recorded = ROOT / "simulator" / "tests" / "behaviour" / "recorded"
    programs = sum(len(json.loads((recorded / f"{name}.json").read_text())["answers"])
                   for name in ("cupy", "pycuda"))
    said = re.search(r"(\d+) small programs", README.read_text(encoding="utf-8"))
    assert int(said[1]) == programs
