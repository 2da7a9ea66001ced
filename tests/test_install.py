"""The two commands: what `make lab` and `make test` do on machines good and bad."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_entry_stays_readable_for_old_pythons():
    text = (ROOT / "helpers" / "install.py").read_text(encoding="utf-8")
    assert text.isascii() and ' f"' not in text
