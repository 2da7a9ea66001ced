"""Reports: what became of each task's mutants, and why those that survived are no holes.

A report, `tests/checks/mutants/<lesson>.json`, has for each task

- `mutants`: how many there are, and how they ended (`refused`, `does not compile`, `survived`, and
  `no end` for what a time limit stopped, or what its process died of);
- `rules`: for each rule how many mutants it made and how many of them survived;
- `survivors`: each with its reason, written by hand, and with the number of random inputs on which
  it agrees with the solution, 0 where it differs on one of them.

`make mutants` writes reports anew and keeps the reasons of mutants that still survive.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from .source import Mutant

FOLDER = Path(__file__).parents[1] / "mutants"
ENDS = {"timed out": "no end", "crashed": "no end"}
UNEXPLAINED = "?"


def read_report(lesson: str, folder: Path = FOLDER) -> dict:
    """The report of a lesson; an empty one where there is none."""
    path = folder / f"{lesson}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_report(lesson: str, judged: Mapping[str, Sequence[tuple[Mutant, str, str]]],
                 agreed: Mapping[tuple[str, str], int], folder: Path = FOLDER) -> dict:
    """Write what became of mutants, and return it.

    Parameters
    ----------
    lesson : str
    judged : mapping
        For each task its mutants, each with how it ended and the verdict's text.
    agreed : mapping
        For a task and the name of a survivor, the number of inputs on which it agrees with the
        solution.
    """
    report = read_report(lesson, folder)
    for task, mutants in judged.items():
        reasons = {one["mutant"]: one["reason"]
                   for one in report.get(task, {}).get("survivors", ())}
        survivors = [mutant.name for mutant, end, _ in mutants if end == "survived"]
        ends = Counter(ENDS.get(end, end) for _, end, _ in mutants)
        report[task] = {
            "mutants": {"made": len(mutants), **dict(sorted(ends.items()))},
            "rules": _rules(mutants),
            "survivors": [{"mutant": name, "reason": reasons.get(name, UNEXPLAINED),
                           "agrees_on": agreed.get((task, name), 0)} for name in survivors],
        }
    folder.mkdir(exist_ok=True)
    text = json.dumps(report, indent=1, ensure_ascii=False)
    (folder / f"{lesson}.json").write_text(f"{text}\n", encoding="utf-8")
    return report


def _rules(mutants: Sequence[tuple[Mutant, str, str]]) -> dict[str, dict[str, int]]:
    made = Counter(mutant.rule for mutant, _, _ in mutants)
    alive = Counter(mutant.rule for mutant, end, _ in mutants if end == "survived")
    return {rule: {"made": made[rule], "survived": alive[rule]} for rule in sorted(made)}


def unexplained(report: Mapping) -> list[str]:
    """The survivors of a report that nobody has given a reason for."""
    return [f"{task}: {one['mutant']}" for task, found in report.items()
            for one in found["survivors"] if one["reason"] == UNEXPLAINED]


def summary(report: Mapping) -> str:
    """A line for each task, and the survivors without a reason."""
    lines = []
    for task, found in report.items():
        counts = dict(found["mutants"])
        made = counts.pop("made")
        ends = ", ".join(f"{count} {end}" for end, count in counts.items())
        lines.append(f"{task:24} {made:4} mutants: {ends}")
    lines += [f"NO REASON  {name}" for name in unexplained(report)]
    return "\n".join(lines)
