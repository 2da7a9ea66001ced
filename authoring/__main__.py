"""The command line: `python -m authoring COMMAND`, or `make COMMAND`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from checks.grading.submissions import GIGABYTES, SECONDS, GradingError, grade

from .exercises import write_exercises
from .index import write_pages
from .new_lesson import new_lesson
from .notebook_form import ROOT, AuthoringError
from .record import bench, record
from .tables import write_open_in, write_tables
from .timetable import write_minutes


def parser() -> argparse.ArgumentParser:
    """What can be asked for on the command line."""
    top = argparse.ArgumentParser(prog="python -m authoring")
    commands = top.add_subparsers(dest="command", required=True)

    def command(name: str, help: str, check: str = "") -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help)
        if check:
            added.add_argument("--check", action="store_true", help=check)
        return added

    command("new", "write the files of a new lesson").add_argument("name", help="15_sparse_arrays")
    command("exercises", "write exercises/ from solutions/", "only name what is not up to date")
    command("record", "run notebooks in place and store their outputs").add_argument(
        "notebook", nargs="+", type=Path)
    command("bench", "write this machine's times to helpers/data/recorded")
    command("index", "write index and glossary of the lessons, and the links to them",
            "only name what is not up to date")
    command("tables", "write tables, badges, and minutes wherever they are stated",
            "only say whether they are up to date")
    again = command("grade", "judge submissions again, each answer in a process of its own")
    again.add_argument("solution", type=Path, help="solutions/03_einsum.ipynb")
    again.add_argument("folder", type=Path, help="nbgrader's folder, or one of notebooks")
    again.add_argument("--table", type=Path, default=Path("judged_again.csv"))
    again.add_argument("--seconds", type=float, default=SECONDS, help="for one answer")
    again.add_argument("--gigabytes", type=float, default=GIGABYTES, help="for one answer")
    mutants = command("mutants", "give every mutant of the solutions to its check")
    mutants.add_argument("arguments", nargs=argparse.REMAINDER, help="lessons: 06, or einsum")
    command("house", "print which room imports which, and what breaks the rules")
    return top


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run one command; return the exit status, which is 1 where `--check` finds something."""
    options = parser().parse_args(arguments)
    check = getattr(options, "check", False)
    changed: list[str] = []
    if options.command == "house":  # what its rules are stands beside it, in test_house.py
        return subprocess.run([sys.executable, str(root / "tests" / "house.py")]).returncode
    if options.command == "mutants":  # what proves checks stands beside their other tests
        return subprocess.run([sys.executable, "-m", "mutation", *options.arguments],
                              cwd=root / "tests" / "checks",
                              env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}).returncode
    try:
        if options.command == "new":
            changed = new_lesson(options.name, root)
        elif options.command == "exercises":
            changed = write_exercises(check, root)
        elif options.command == "index":
            changed = write_pages(root / "notebooks", check)
        elif options.command == "tables":
            changed = [*write_minutes(root, check), *write_tables(root, check),
                       *write_open_in(root, check)]
        elif options.command == "grade":
            grade(options.solution, options.folder, options.table, options.seconds,
                  options.gigabytes)
            changed = [str(options.table)]
        elif options.command == "record":
            for path in options.notebook:
                record(path)
                changed.append(str(path))
        else:
            changed = [str(bench().relative_to(ROOT))]
            # In a process of its own, because the simulator installs threads and signal handlers.
            subprocess.run([sys.executable, str(ROOT / "simulator" / "benchmark.py")], check=True)
    except (AuthoringError, GradingError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for name in changed:
        print(f"{name}: not up to date, run make {options.command}" if check else name)
    if not changed:
        print("nothing to change")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
