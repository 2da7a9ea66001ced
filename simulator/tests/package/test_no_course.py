"""nogpu is a distribution of its own: nothing in its folder speaks of the course beside it."""

import re

from package_support import SIMULATOR

WORDS = re.compile(r"COURSE_|\bcourses?\b|\blessons?\b|\bhelpers\.(?!hpp)\w+|\b(?:from|import) helpers\b")
# What is still to be reworded.
STILL_THERE = {
    "src/nogpu/faces/cupy/_missing.py",
    "src/nogpu/faces/pycuda/_missing.py",
    "src/nogpu/inspect/report.py",
    "tests/test_structure.py",
}
TEXT = {".py", ".md", ".toml", ".h", ".cuh", ".cpp", ".hpp", ".cu", ".json", ""}


def test_no_file_speaks_of_the_course():
    found = []
    for path in sorted(SIMULATOR.rglob("*")):
        if path.is_file() and path.suffix in TEXT and path.name != "test_no_course.py":
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                name = str(path.relative_to(SIMULATOR))
                if WORDS.search(line.replace("of course", "")) and name not in STILL_THERE:
                    found.append(f"{name}:{number}: {line.strip()[:80]}")
    assert not found, "\n".join(found)
