"""Write the README's table of lessons, those of docs/measured.md, and the page of badges.

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
from helpers.draw.reader import FLOAT16, FLOAT32, OURS
from helpers.formats import listed
from nogpu import engine

from .minutes import lesson_minutes, task_minutes
from .notebook_form import ROOT, AuthoringError, course_of, lesson_paths, notebooks, number_of, read
from .publish import BRANCH, badges
from .working_copy import note_written, refuse_to_lose, update_files

RECORDED = ROOT / "helpers" / "data" / "recorded" / "nvidia-h200.json"
README = "README.md"
# The tables of each page.
PLACES = {README: ("lessons",), "docs/measured.md": ("faults", "speeds", "one run")}
# The kinds of faults that the clinic's kernels have.
FAULTS = (engine.GlobalOutOfBounds, engine.Race, engine.BarrierFault, engine.UninitialisedRead,
          engine.MisalignedAccess)
NUMPY = "NumPy, 100 at a time"  # the faster of its two rungs
# Rows of recorded runs: the lesson's subject, the run's key, the names of the row that is shown
# and of the row that it is compared with, and what the table calls it.
SPEEDS = (
    ("first_kernels", "kernels/leaky", "RawKernel, float4", "copy",
     "leaky ReLU, a kernel of your own"),
    ("first_kernels", "kernels/bias_gelu", "one kernel, float4", "copy",
     "bias and GELU in one kernel"),
    ("threads_together", "memory/sum", "shuffles", "cp.sum", "sum of 2^28 numbers"),
    ("memory_and_tiles", "memory/transpose", "tile[64][65], float4", "copy",
     "transpose through a tile"),
    ("fast_kernels", "product/early", "in fours, one barrier", "cuBLAS",
     "product of 4096 x 4096, without TF32"),
    ("pycuda_dynamic_compilation", "generated/formula", "SourceModule", "each operation",
     "a formula, one kernel in place of nine"),
    ("pycuda_dynamic_compilation", "generated/stencil", "generated, long", "copy",
     "generated stencil of radius 4"),
    ("streams", "streams/graph", "graph", "loop", "100 small kernels as a graph, to their end"),
    ("streams", "streams/graph_queued", "graph", "loop",
     "the same, queued only: the GPU still works when Python goes on"),
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
              f" {hours(taken, 3)}. The shorter way takes"
              f" {hours(taken, 2)} hours and {hours(spine, 3)} for its core tasks:"
              f" lessons {listed([row[0] for row in spine])}; and the pictures of"
              f" {listed([row[0] for row in looked_at])}."]
    return "\n".join(lines)


def write_open_in(root: Path = ROOT, check: bool = False) -> list[str]:
    """Write docs/open_in.md, a page of badges, or with `check` only name it if it would change."""
    text = ("# Open a lesson elsewhere\n\n- Binder needs no account and has no GPU: the simulator"
            " runs the kernels. Take it to have a look.\n- Colab needs a Google account. It lends"
            " GPUs, and promises none. Take it for a GPU.\n- Kaggle needs an account, and a"
            " telephone number before it lends a GPU or switches Internet on.\n\nSave a copy on"
            " Colab and Kaggle, and download the notebook from Binder: else your answers are lost"
            " with the session. [Where it runs](where_it_runs.md) says what was tried."
            "\n\nWhere the badges lead to OWNER/REPO, take [the badges of this repository]"
            f"(../../../blob/{BRANCH}/docs/open_in.md), on GitHub.\n\n"
            "| notebook | open the lesson in | open its exercises in |\n|---|---|---|\n")
    for path in notebooks("notebooks", root):
        tasks = f"exercises/{path.name}"
        exercises = badges(tasks, root) if (root / tasks).exists() else ""
        text += (f"| {path.stem.replace('_', ' ')} | {badges(f'notebooks/{path.name}', root)}"
                 f" | {exercises} |\n")
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
              f"{version} and its four tools in turn. racecheck looks at shared memory only, and "
              "initcheck at global memory only. The kernels are those of lesson "
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
    profile = load_profile("attention")
    measured = {(row["name"], row["dtype"]): row["ms"] for row in profile["rows"]}
    rows.append(("attention", "attention, 4 x 16 heads, 4096 x 64, the lesson's kernel",
                 "CuPy's `matmul`, which stores the scores",
                 measured["matmul", "float32"] / measured["this lesson's kernel", "float32"]))
    for dtype in ("float32", "float16"):
        rows.append(("attention", f"the same, tuned, {dtype}",
                     "PyTorch's scaled-dot-product, by the backend that it chooses",
                     measured["PyTorch scaled-dot-product", dtype] / measured["tuned", dtype]))
    ours, flash, cudnn = ([row["ms"] for row in profile["float16"] if row["name"] == name]
                          for name in ("tuned", "PyTorch flash", "PyTorch cuDNN"))
    for backend, other in {"flash": flash, "cuDNN": cudnn}.items():
        rows.append(("attention", "the slowest of eight: 2048 or 8192 words, heads of 64 or 128, "
                     "causal or not, tuned, float16", f"PyTorch's {backend} backend",
                     min(its / our for its, our in zip(other, ours, strict=True))))
    one = profile["one_query"]
    query = {row["name"]: row["us"] for row in one["rows"]}
    rows.append(("attention", f"one query over {one['keys']:,} keys: {query['tuned']:.1f} us, "
                 f"{one['bound_us'] / query['tuned']:.0%} of the memory's bound", "PyTorch by hand",
                 query["PyTorch by hand"] / query["tuned"]))
    lines = ["| lesson | what | set against | reached |", "|---|---|---|---|"]
    lines += [f"| {number_of(subject)} | {words} | {against} | {ratio_in_words(ratio)} |"
              for subject, words, against, ratio in rows]
    days = sorted(run["date"] for run in content["runs"].values())
    lines += ["", f"Recorded on an {content['gpu']}, {days[0]} to {days[-1]}, {content['cupy']}; "
              f"attention {profile['date']}. Each ratio is that of two medians "
              "of one run. \"The copy\" is a measured copy of as many bytes as the kernel must "
              "move. It is no bound, so a kernel can be a little faster. On your card the ratios "
              "differ: the lessons show yours beside these."]
    return "\n".join(lines)


def three_digits(value: float) -> str:
    """A number with three significant digits, "30.7 million" or "9,170"."""
    if value >= 1e6:
        return f"{value / 1e6:.3g} million"
    return f"{float(f'{value:.3g}'):,.0f}"


def one_run() -> str:
    """The tables of one run: the reader in one kernel, and what it is set against."""
    run = load_profile("reader")
    rates = run["rates"]
    lines = [f"One run on an {run['gpu']}, {run['date']}: NumPy {run['numpy']}, {run['cupy']},"
             f" PyTorch {run['torch']}. NumPy ran on the host,"
             f" {run['machine'].split(', host')[0]}; its number of threads was not limited.", "",
             "| version | numbers | digits a call | digits a second | times as fast |",
             "|---|---|---|---|---|"]
    for name in sorted((NUMPY, *FLOAT32, *FLOAT16), key=lambda name: (
            rates[name]["number"], rates[name]["rate"])):
        row, called = rates[name], name.split(", ")[0]
        ratio = row["rate"] / rates[f"PyTorch, {row['number']}"]["rate"]
        lines.append(f"| {f'**{called}**' if name in OURS else called} | {row['number']} |"
                     f" {row['batch']:,} | {three_digits(row['rate'])} | {ratio:.2g} |")
    lines += ["", "The last column compares with PyTorch eager (without `torch.compile`) in the"
              " same numbers. The images are float32, in the memory of the processor that reads"
              " them.", "",
              "| one digit, from the host's memory to the answer | float32 | float16 |",
              "|---|---|---|"]
    measured = run["one_digit"] | run["one_digit_by_torch"]
    one = {name: row["us"] for name, row in measured.items()}
    for called in sorted({name.split(", ")[0] for name in one}, key=lambda called: min(
            us for name, us in one.items() if name.split(", ")[0] == called)):
        us = [one.get(f"{called}, {number}", one.get(called)) for number in ("float32", "float16")]
        if called in one:  # NumPy, in float32 alone
            us[1] = None
        words = "**one kernel**, with its copies in a graph" if called == "one kernel" else called
        lines.append(f"| {words} | " + " | ".join(f"{x:,.0f} us" if x else "" for x in us) + " |")
    host = run["from_host"]
    lines += ["", "| images as bytes, digits a second | float32 | float16 |", "|---|---|---|"]
    for words, key in (("**one kernel**, images on the GPU", "kernel"),
                       ("**one kernel**, images from the host's memory, digits back", "streams 3")):
        lines.append(f"| {words} | {three_digits(host['float32'][key])} |"
                     f" {three_digits(host['float16'][key])} |")
    both = three_digits(host["bus"])
    return "\n".join([*lines, f"| the copies alone | {both} | {both} |", "", "Here an image is 64"
                      " bytes, one for each pixel; as float32, in the first table, it is 256."])


def _tables_in(page: str) -> str:
    """The tables of which `write_tables` keeps nothing; in that of the lessons it keeps words."""
    found = re.findall(r"<!-- (faults|speeds|one run) -->\n(.*?)<!-- end of \1 -->", page, re.S)
    return "".join(table for _, table in found)


def write_tables(root: Path = ROOT, check: bool = False) -> list[str]:
    """Write the tables of `PLACES` into their pages.

    Parameters
    ----------
    root : Path
        The course's folder.
    check : bool
        Only find out whether that would change a page.

    Returns
    -------
    list of str
        The names of the pages that changed (with `check`: that are not up to date).

    Raises
    ------
    AuthoringError
        When a page lacks the comments around a table, and when a table was edited here.
    """
    old = {page: (root / page).read_text(encoding="utf-8") for page in PLACES}
    tables = {"lessons": lessons(old[README]), "faults": faults(), "speeds": speeds(),
              "one run": one_run()}
    changed = {}
    for page, names in PLACES.items():
        text = old[page]
        for name in names:
            text, found = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)",
                                  lambda match, name=name: f"{match[1]}{tables[name]}\n{match[2]}",
                                  text, flags=re.S)
            if found != 1:
                raise AuthoringError(f"{page} lacks <!-- {name} --> ... <!-- end of {name} -->")
        if text != old[page]:
            changed[page] = text
    if not check:
        refuse_to_lose(changed, root, _tables_in)
        for page, text in changed.items():
            (root / page).write_text(text, encoding="utf-8")
        note_written({page: _tables_in(text) for page, text in changed.items()}, root)
    return list(changed)
