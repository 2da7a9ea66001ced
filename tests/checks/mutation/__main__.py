"""`python -m mutation [LESSON ...]`: judge the mutants of lessons and write their reports."""

from __future__ import annotations

import argparse
import os
import sys

from .agreement import agrees, least_inputs
from .judging import ROOT, in_processes, judge_all
from .report import summary, unexplained, write_report


def lessons(numbers: list[str]) -> list[str]:
    """The subjects of lessons, given by number or subject; all where none is given."""
    paths = sorted((ROOT / "solutions").glob("[0-9][0-9]_*.ipynb"))
    found = [path.stem[3:] for path in paths
             if not numbers or path.stem[:2] in numbers or path.stem[3:] in numbers]
    if numbers and len(found) < len(numbers):
        sys.exit(f"there is no lesson with tasks of that number or name: {' '.join(numbers)}")
    return found


def main() -> int:
    """Return 1 where a survivor has no reason."""
    parser = argparse.ArgumentParser(prog="python -m authoring mutants", description=__doc__)
    parser.add_argument("lesson", nargs="*", help="its number or its subject; all unless given")
    parser.add_argument("--task", action="append", default=[])
    parser.add_argument("--processes", type=int, default=0, help="as many as there are cores")
    parser.add_argument("--inputs", type=int, default=0, help="for a survivor")
    options = parser.parse_args()
    failed = False
    for lesson in lessons(options.lesson):
        judged = judge_all(lesson, options.task, options.processes)
        survivors = [(task, mutant) for task, mutants in judged.items()
                     for mutant, end, _ in mutants if end == "survived"]
        counts = [options.inputs or least_inputs(lesson, task) for task, _ in survivors]
        answers = in_processes(agrees, lesson, [(task, mutant.source, wanted) for (task, mutant),
                                                wanted in zip(survivors, counts)],
                               options.processes or os.cpu_count() or 1, seconds=900)
        agreed = {}
        for (task, mutant), wanted, (count, text) in zip(survivors, counts, answers):
            agreed[task, mutant.name] = count if count == wanted else 0
            if count != wanted:
                print(f"differs  {task}: {mutant.name}\n         after {count} inputs: {text}")
        report = write_report(lesson, judged, agreed)
        print(f"{lesson}\n{summary(report)}", flush=True)
        failed |= bool(unexplained(report))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
