"""Write the README's four tables, of lessons, faults, speeds and one run, and the page of badges.

Each table stands between two comments, `<!-- lessons -->` and `<!-- end of lessons -->`. The
numbers come from the notebooks and from recorded data. In the table of lessons a title and the
words on what is learnt are written by hand, in the README, and are kept.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from checks import clinic
from helpers.data import load_profile
from helpers.draw.reader import OURS, groups
from helpers.formats import listed
from nogpu import engine

from .minutes import lesson_minutes, task_minutes
from .notebook_form import ROOT, AuthoringError, course_of, lesson_paths, notebooks, number_of, read
from .publish import BRANCH, badges
from .working_copy import note_written, refuse_to_lose, update_files

RECORDED = ROOT / "helpers" / "data" / "recorded" / "nvidia-h200.json"
# The kinds of faults that the clinic's kernels have.
FAULTS = (engine.GlobalOutOfBounds, engine.Race, engine.BarrierFault, engine.UninitialisedRead,
          engine.MisalignedAccess)
# Rows of recorded runs: the lesson's subject, the run's key, the names of the row that is shown
# and of the row that it is compared with, and what the README calls it.
SPEEDS = (
    ("first_kernels", "kernels/leaky", "RawKernel, float4", "copy",
     "leaky ReLU, a kernel of your own"),
    ("first_kernels", "kernels/bias_gelu", "one kernel, float4", "copy",
     "bias and GELU in one kernel"),
    ("threads_together", "memory/sum", "shuffles", "cp.sum", "sum of 2^28 numbers"),
    ("memory_and_tiles", "memory/transpose", "tile[64][65], float4", "copy",
     "transpose through a tile"),
    ("fast_kernels", "product/early", "8 x 8, next slice early", "cuBLAS",
     "product of 4096 x 4096, without TF32"),
    ("pycuda_dynamic_compilation", "generated/formula", "SourceModule", "each operation",
     "a formula, one kernel in place of nine"),
    ("pycuda_dynamic_compilation", "generated/stencil", "generated, long", "copy",
     "generated stencil of radius 4"),
    ("streams", "streams/graph", "graph", "loop", "100 small kernels as a graph, to their end"),
    ("streams", "streams/graph_queued", "graph", "loop", "the same, until Python goes on"),
)


def lessons(readme: str) -> str:
    """The table of lessons.

    Parameters
    ----------
    readme : str
        The README's text; titles and the words on what is learnt are taken from its table.
    """
    written = {file: (title, words) for title, file, words in re.findall(
        r"^\| \d\d \| \[(.+?)\]\(notebooks/(\S+?)\) \| \d+ \| (.+?) \|", readme, flags=re.M)}
    lines = ["| | lesson | minutes | what you learn | exercises |", "|---|---|---|---|---|"]
    taken = []  # of each lesson: its number, minutes of core, spine and core tasks, if all is spine
    for path in lesson_paths():
        number, lesson, exercise = path.stem[:2], read(path), ROOT / "exercises" / path.name
        heading = lesson.cells[0].source.partition("\n")[0].removeprefix(f"# {number} ")
        title, words = written.get(path.name, (heading, "..."))
        core = task_minutes(read(exercise), "core") if exercise.exists() else 0
        taken.append((number, lesson_minutes(lesson), lesson_minutes(lesson, "spine"), core,
                      course_of(lesson.cells[0]).get("path") == "spine"))
        tasks = f"[tasks](exercises/{path.name}), core {core} " if core else ""
        lines.append(f"| {number} | [{title}](notebooks/{path.name}) | {taken[-1][1]} | {words} "
                     f"| {tasks}|")
    spine = [row for row in taken if row[4]]
    looked_at = [row for row in taken if row[2] and not row[4]]  # without its tasks

    def hours(rows: list[tuple], column: int) -> int:
        return round(sum(row[column] for row in rows) / 60)

    lines += ["", f"The lessons take about {hours(taken, 1)} hours, their core tasks"
              f" {hours(taken, 3)}. The spine, a way for one learner alone, takes"
              f" {hours(taken, 2)} hours and {hours(spine, 3)} for its core tasks:"
              f" lessons {listed([row[0] for row in spine])}; and the pictures of"
              f" {listed([row[0] for row in looked_at])}."]
    return "\n".join(lines)


def write_open_in(root: Path = ROOT, check: bool = False) -> list[str]:
    """Write docs/open_in.md, a page of badges, or with `check` only name it if it would change."""
    text = ("# Open a lesson elsewhere\n\nWhat each service needs is in the "
            "[README](../README.md#where-it-runs). Exercises have badges of their own, at their "
            "beginning. Where the badges lead to OWNER/REPO, take [the badges of this repository]"
            f"(../../../blob/{BRANCH}/docs/open_in.md), on GitHub.\n\n| lesson | open in |\n"
            "|---|---|\n")
    for path in notebooks("notebooks", root):
        text += f"| {path.stem.replace('_', ' ')} | {badges(f'notebooks/{path.name}', root)} |\n"
    return update_files({"docs/open_in.md": text}, root, check, {"docs/open_in.md"})


def faults() -> str:
    """The table of faults: how many broken kernels the GPU and two tools report.

    The kernels are those of `checks.clinic`.
    """
    content = json.loads((clinic.RECORDED / "nvidia-h200.json").read_text(encoding="utf-8"))
    counts = {fault.kind: [0, 0, 0] for fault in FAULTS}
    for kernel in clinic.PATIENTS.values():
        recorded = content["patients"][kernel.name]
        by_sanitizer = any(recorded[tool]["said"] for tool in clinic.TOOLS)
        for k, reported in enumerate((True, "error" in recorded["plain"], by_sanitizer)):
            counts[kernel.kind][k] += reported
    lines = ["| fault planted | kernels | the GPU reports | compute-sanitizer reports "
             "| the simulator reports |", "|---|---|---|---|---|"]
    totals = [sum(column) for column in zip(*counts.values())]
    rows = [(fault.called, counts[fault.kind]) for fault in FAULTS]
    for words, (kernels, gpu, sanitizer) in [*rows, ("**all**", totals)]:
        lines.append(f"| {words} | {kernels} | {gpu} | {sanitizer} | {kernels} |")
    version = content["compute-sanitizer"].split()[1]
    lines += ["", f"Recorded on an {content['gpu']}, {content['date']}, with compute-sanitizer "
              f"{version} and its four tools in turn. The kernels are those of lesson "
              f"{number_of('debugging_kernels')}'s clinic; a test demands the simulator's reports, "
              "with kind, line and thread."]
    return "\n".join(lines)


def ratio_in_words(ratio: float) -> str:
    """How fast something is compared with something else, from the ratio of their speeds."""
    if ratio >= 10:
        return f"{ratio:.0f} times faster"
    return f"{ratio:.1f} times faster" if ratio >= 1.3 else f"{ratio:.0%} of its speed"


def speeds() -> str:
    """The table of speeds: the lessons' kernels on the recorded GPU, beside a copy or a library."""
    content = json.loads(RECORDED.read_text(encoding="utf-8"))
    rows = []
    for subject, key, ours, other, words in SPEEDS:
        seconds = {row["name"]: row["median"] for row in content["runs"][key]["rows"]}
        rows.append((subject, words, f"the {other}" if other in ("copy", "loop") else other,
                     seconds[other] / seconds[ours]))
    measured = {(row["name"], row["dtype"]): row["ms"] for row in load_profile("attention")["rows"]}
    rows.append(("attention", "attention, 4 x 16 heads, 4096 x 64, the lesson's kernel",
                 "CuPy's `matmul`",
                 measured["matmul", "float32"] / measured["this lesson's kernel", "float32"]))
    for dtype in ("float32", "float16"):
        rows.append(("attention", f"the same, tuned, {dtype}", "PyTorch's scaled-dot-product",
                     measured["PyTorch scaled-dot-product", dtype] / measured["tuned", dtype]))
    lines = ["| lesson | what | set against | reached |", "|---|---|---|---|"]
    lines += [f"| {number_of(subject)} | {words} | {against} | {ratio_in_words(ratio)} |"
              for subject, words, against, ratio in rows]
    lines += ["", f"Recorded on an {content['gpu']}, {content['date']}, {content['cupy']}, medians "
              "of one run each. \"The copy\" moves as many bytes as the kernel must; a sum only "
              "reads. On your card the ratios differ: the lessons show yours beside these."]
    return "\n".join(lines)


def one_run() -> str:
    """The table of one run: the reader in one kernel, and what it is set against."""
    run = load_profile("reader")
    lines = [f"| one run on an {run['gpu']}, {run['date']} | one kernel | beside it |",
             "|---|---|---|"]
    for title, unit, values in groups(run):
        row = [f"{title}, {unit}"]
        for ours in (True, False):
            row.append("; ".join(f"{name.removeprefix('one kernel, ')} {value:,.0f}"
                                 for name, value in values.items() if (name in OURS) == ours))
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def _tables_in(readme: str) -> str:
    """The tables of which `write_tables` keeps nothing; in that of the lessons it keeps words."""
    found = re.findall(r"<!-- (faults|speeds|one run) -->\n(.*?)<!-- end of \1 -->", readme, re.S)
    return "".join(table for _, table in found)


def write_tables(readme: Path, check: bool = False) -> list[str]:
    """Write the four tables into the README.

    Parameters
    ----------
    readme : Path
    check : bool
        Only find out whether that would change it.

    Returns
    -------
    list of str
        The README's name if it changed (with `check`: if it is not up to date), else nothing.

    Raises
    ------
    AuthoringError
        When the README lacks the comments around a table, and when a table was edited here.
    """
    text = old = readme.read_text(encoding="utf-8")
    for name, table in (("lessons", lessons(old)), ("faults", faults()), ("speeds", speeds()),
                        ("one run", one_run())):
        text, found = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)",
                              lambda match, table=table: f"{match[1]}{table}\n{match[2]}", text,
                              flags=re.S)
        if found != 1:
            raise AuthoringError(
                f"{readme.name} lacks <!-- {name} --> ... <!-- end of {name} -->")
    if text != old and not check:
        refuse_to_lose([readme.name], readme.parent, _tables_in)
        readme.write_text(text, encoding="utf-8")
        note_written({readme.name: _tables_in(text)}, readme.parent)
    return [readme.name] if text != old else []
