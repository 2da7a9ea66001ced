"""The table of differences in the simulator's README: `python -m tests.behaviour.differences`.

With a library and names of programs (``cupy raw_kernel.trap``) it first asks the simulator for
its answers to those that the library's differences have, and stores them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .collect import RECORDED, ROOT, programs

README = ROOT / "README.md"
BEGIN, END = "<!-- differences -->\n", "<!-- end of differences -->\n"


def _path(library: str) -> Path:
    name = "differences.json" if library == "cupy" else f"{library}_differences.json"
    return RECORDED / name


def read(library: str) -> dict[str, dict]:
    """Program name to its row: "why" and the simulator's own answer."""
    path = _path(library)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def table() -> str:
    """The rows of both libraries, grouped by reason, in Markdown."""
    by_reason: dict[str, list[str]] = {}
    for library in ("cupy", "pycuda"):
        says = {one.name: one.says for one in programs(library)}
        for name, row in read(library).items():
            by_reason.setdefault(row["why"], []).append(f"`{library}/{name}`: {says.get(name, '')}")
    lines = ["| what differs | where the tests see it |", "|---|---|"]
    lines += [f"| {why} | {'<br>'.join(rows)} |" for why, rows in by_reason.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Ask where asked to, and write the table."""
    library, *wanted = sys.argv[1:] or ["cupy"]
    if wanted:
        from . import runner

        rows = read(library)
        answers = runner.run(one for one in programs(library) if one.name in wanted)
        for name, answer in answers.items():
            if answer.trouble:
                raise SystemExit(f"{name}: {answer.trouble}")
            rows[name]["simulator"] = answer.output
        text = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
        _path(library).write_text(text, encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    README.write_text(head + BEGIN + table() + END + tail, encoding="utf-8")


if __name__ == "__main__":
    main()
