"""nogpu is a distribution of its own: nothing in its folder speaks of the course beside it."""

import re

from package_support import SIMULATOR

WORDS = re.compile(r"COURSE_|\b(?:courses?|lessons?|helpers\.(?!hpp)\w+|(?:from|import) helpers)\b")
TEXT = {".py", ".md", ".toml", ".h", ".cuh", ".cpp", ".hpp", ".cu", ".json", ""}


def test_no_file_speaks_of_the_course():
    found = []
    for path in sorted(SIMULATOR.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(SIMULATOR).parts)
        if hidden or not path.is_file() or path.suffix not in TEXT:
            continue
        if path.name != "test_no_course.py":
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                name = str(path.relative_to(SIMULATOR))
                if WORDS.search(line.replace("of course", "")):
                    found.append(f"{name}:{number}: {line.strip()[:80]}")
    assert not found, "\n".join(found)
