"""Measure nogpu on published programs and on the libraries' own tests: README.md says how."""

from __future__ import annotations

import argparse
import collections
import csv
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cut
from common import HERE, SOURCE, ended, git, rows

FAULTS = {
    "GlobalOutOfBounds",
    "SharedOutOfBounds",
    "LocalOutOfBounds",
    "NullPointer",
    "UseAfterFree",
    "MisalignedAccess",
    "UninitialisedRead",
    "Race",
    "BarrierFault",
    "StackOverflow",
    "KernelFault",
    "IntegerDivisionByZero",
    "AssertionFault",
    "NotDeviceMemory",
    "KernelSignal",
    "KernelTimeout",
    "StreamRace",
}
RAISED = re.compile(
    r"[\w.]*(Error|Exception|Fault|Race|Read|Access|OutOfBounds|Pointer|Free|Signal|Timeout"
    r"|Overflow|Zero|Memory|Exit)(:|$)"
)


def kernel_text(mirrors: Path, row: dict[str, str]) -> str:
    """Return a program's file with its repository's own headers in place."""

    def read(path: str) -> str | None:
        found = git(mirrors, row["repository"], "show", f"{row['commit']}:{path}")
        return found and found.replace("\r\n", "\n")

    text = read(row["path"])
    if text is None:
        raise SystemExit(f"{row['repository']} at {row['commit']} is not in {mirrors}")
    return text if row["mode"] == "elementwise" else cut.with_own_headers(text, row["path"], read)


def classified(error: str, message: str) -> str:
    """Say how a program was refused, or that a fault was reported."""
    if error in FAULTS:
        return "false alarm"
    words = re.sub(r"\S*/\S*|nogpu\.\w+", "", message)  # paths and modules name nogpu, too
    return (
        "refused clearly" if re.search(r"\bnogpu\b|\bsimulator\b", words) else "refused unclearly"
    )


def kernel_verdict(mirrors: Path, row: dict, recorded: dict, nogpu: Path, limit: float) -> dict:
    """Run one kernel in a process of its own."""
    text = kernel_text(mirrors, row)
    with tempfile.TemporaryDirectory() as folder:
        status, out, err = ended(
            [sys.executable, "-m", "nogpu", str(HERE / "worker.py")],
            json.dumps([row, text, recorded]),
            limit,
            nogpu,
            Path(folder),
        )
    lines = [line for line in out.splitlines() if line.startswith('{"id"')]
    state = json.loads(lines[-1]) if lines else {"stage": "", "message": err[-2000:]}
    verdict = state.get("verdict", "dies")
    if status is None:
        verdict = "hangs"
    elif verdict == "raised":
        verdict = classified(state["error"], state["message"])
        if row["goal"] == f"fault {state['error']}":
            verdict = "right"
        if state["stage"] == "arguments" or (
            row["goal"] == "compiles" and state["stage"] == "launch"
        ):
            verdict = "compiles"
    elif row["goal"].startswith("fault") and verdict in ("right", "runs"):
        verdict = "fault not found"
    elif status != 0:
        verdict = "dies"
    return {
        "verdict": verdict,
        "stage": state["stage"],
        "error": state.get("error", ""),
        "message": state.get("message", ""),
    }


def script_verdict(mirrors: Path, row: dict, nogpu: Path, limit: float) -> dict:
    """Run one program, among the files of its folder, in a process of its own."""
    folder_of = os.path.dirname(row["path"])
    names = (
        git(
            mirrors,
            row["repository"],
            "ls-tree",
            "--name-only",
            row["commit"],
            folder_of + "/" if folder_of else ".",
        )
        or ""
    ).splitlines()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if name.endswith((".py", ".cu", ".ptx")):
                text = git(mirrors, row["repository"], "show", f"{row['commit']}:{name}") or ""
                if name.endswith(".py") and "python2" in row["form"]:
                    text = python3(text)
                if name == row["path"] and "autoinit" in row["form"]:
                    first = re.compile(r"^(?=(?:import|from) pycuda)", re.M)
                    text = first.sub("import pycuda.autoinit\n", text, count=1)
                Path(folder, os.path.basename(name)).write_text(text)
        status, out, err = ended(
            [
                *(sys.executable, "-m", "nogpu", os.path.basename(row["path"])),
                *row["arguments"].split(),
            ],
            "",
            limit,
            nogpu,
            Path(folder),
        )
    lines = err.splitlines()
    raised = [place for place, line in enumerate(lines) if RAISED.match(line)]
    last = "\n".join(lines[raised[-1] :]) if raised else ""
    name = last.split(":")[0].split(".")[-1].strip()
    if status == 0:
        verdict = "right"
    elif status is None:
        verdict = "hangs"
    elif status < 0:
        verdict = "dies"
    elif name == "ModuleNotFoundError" and any(f"'{p}" in last for p in row["packages"].split()):
        verdict = "needs a package"
    elif name == "AssertionError":
        verdict = "wrong value"
    else:
        verdict = classified(name, last)
        if row["goal"] == f"fault {name}":
            verdict = "right"
    if status == 0 and row["goal"].startswith("fault"):
        verdict = "fault not found"
    return {"verdict": verdict, "stage": "", "error": name, "message": last or err[-300:]}


def python3(text: str) -> str:
    """Turn Python 2's print statements, raw_input, xrange, range and iteritems into Python 3's."""
    text = re.sub(r"^(\s*\w+ *= *)(range\(.*\))[ \t]*$", r"\1list(\2)", text, flags=re.M)
    text = re.sub(r"^([ \t]*)print[ \t]+(.+?)[ \t]*;?[ \t]*$", r"\1print(\2)", text, flags=re.M)
    text = re.sub(r"^([ \t]*)print[ \t]*$", r"\1print()", text, flags=re.M)
    for old, new in (("raw_input", "input"), ("xrange", "range")):
        text = re.sub(rf"(?<!\.)\b{old}\b", new, text)
    text = re.sub(r"^(from|import) Queue\b", r"\1 queue", text, flags=re.M)
    return text.replace(".iteritems()", ".items()")


def reached(goal: str, verdict: str) -> bool:
    """Tell whether a verdict is what the list holds the program to."""
    if goal.startswith("fault"):
        return verdict == "right"
    if goal in ("compiles", "runs"):
        stages = ["right", "runs", "compiles"]
        return verdict in stages[: stages.index(goal) + 1]
    return verdict == {"refused": "refused clearly"}.get(goal, goal)


def run_all(measured: list[dict], one: Callable[[dict], dict], out: Path) -> collections.Counter:
    """Measure every row, two at a time, and write a table of the verdicts."""
    out.parent.mkdir(parents=True, exist_ok=True)
    counts: collections.Counter = collections.Counter()
    with open(out, "w", newline="") as file, ThreadPoolExecutor(2) as pool:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(
            ["id", "repository", "path", "kernel", "goal", "verdict", "stage", "error", "message"]
        )
        for row, state in zip(measured, pool.map(one, measured)):
            counts[state["verdict"]] += 1
            goal = row.get("goal", "right")
            apart = {"refused": "refusals", "own error": "programs that fail by themselves"}
            whose = apart.get(goal, "programs")
            counts[f"goal reached, {whose}"] += reached(goal, state["verdict"])
            table.writerow(
                [
                    row["id"],
                    row["repository"],
                    row["path"],
                    row.get("kernel", ""),
                    row.get("goal", ""),
                    state["verdict"],
                    state["stage"],
                    state["error"],
                    " ".join(state["message"].split())[:600],
                ]
            )
            file.flush()
    return counts


def tests(
    mirrors: Path, library: str, core: bool, every: int, nogpu: Path, out: Path
) -> collections.Counter:
    """Run a library's own tests, a few files in a process, and write one line for each test."""
    chosen = [
        row
        for row in rows("tests.csv")
        if row["repository"].endswith(library) and (row["core"] or not core)
    ]
    counts: collections.Counter = collections.Counter()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("test,outcome,reason\n")
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            [
                "git",
                "--git-dir",
                mirrors / chosen[0]["repository"].replace("/", "+") / "repo",
                "archive",
                chosen[0]["commit"],
                *(["tests", "cupy/testing"] if library == "cupy" else ["test"]),
            ],
            stdout=subprocess.PIPE,
            check=True,
        )
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        plugins = {entry.name for entry in importlib.metadata.entry_points(group="pytest11")}
        own = [] if "nogpu" in plugins else ["-p", "nogpu.pytest_plugin"]
        command = [
            sys.executable,
            "-m",
            "pytest",
            *own,
            "-p",
            "upstream",
            "--nogpu",
            "-p",
            "no:xdist",
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore",
            "--continue-on-collection-errors",
            "--tb=short",
            "-m",
            "not slow",
            "--rootdir",
            folder,
        ]
        given = {
            "NOGPU_OUTCOMES": str(out.resolve()),
            "NOGPU_EVERY": str(every),
            "CUPY_TEST_GPU_LIMIT": "1",
        }
        if library == "cupy":
            given["NOGPU_UPSTREAM"] = folder
        paths = [row["path"] for row in chosen]
        for start in range(0, len(paths), 10):
            group = paths[start : start + 10]
            status, printed, _ = ended(
                command + group,
                "",
                400,
                nogpu,
                Path(folder),
                given | {"PYTHONPATH": os.path.join(folder, "tests")},
            )
            if status is None or status < 0:
                with open(out, "a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow(
                        [" ".join(group), "hangs" if status is None else "dies", printed[-300:]]
                    )
    with open(out, newline="") as file:
        counts.update(row["outcome"] for row in csv.DictReader(file))
    return counts


def recordings() -> dict[str, dict]:
    """Return what a GPU left in each program's arrays: first and last changed element, digest."""
    found: dict[str, dict] = collections.defaultdict(dict)
    if (HERE / "recorded.csv").exists():
        for row in rows("recorded.csv"):
            found[row["id"]][row["argument"]] = (
                int(row["first"]),
                int(row["last"]),
                [float(v) for v in row["digest"].split()],
            )
    return found


def requests(mirrors: Path) -> Iterator[str]:
    """Yield what the worker reads on a machine with a GPU: one line a kernel."""
    for row in rows("programs.csv"):
        if row["goal"] != "refused":
            yield json.dumps([row, kernel_text(mirrors, row), {}])


def main() -> None:
    """Parse the command line; README.md has examples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["kernels", "scripts", "cupy", "pycuda", "requests"])
    parser.add_argument("--mirrors", type=Path, required=True, help="folder with owner+name/repo")
    parser.add_argument(
        "--nogpu", type=Path, default=SOURCE, help="folder that holds the package nogpu"
    )
    parser.add_argument("--out", type=Path, required=True, help="table that is written")
    parser.add_argument("--only", default="", help="ids that match this expression")
    parser.add_argument(
        "--core", action="store_true", help="cupy: the 28 files of what most programs use"
    )
    parser.add_argument("--every", type=int, default=1, help="cupy: every n-th test of each file")
    parser.add_argument("--limit", type=float, default=20, help="seconds for each program")
    options = parser.parse_args()
    options.nogpu = options.nogpu.resolve()
    if options.what == "requests":
        options.out.write_text("\n".join(requests(options.mirrors)) + "\n")
        return
    if options.what in ("cupy", "pycuda"):
        counts = tests(
            options.mirrors, options.what, options.core, options.every, options.nogpu, options.out
        )
        counted = counts["passed"] + sum(
            counts[name] for name in ("failed", "absent", "dies", "hangs")
        )
        present = counted - counts["absent"]
        print(
            f"{100 * counts['passed'] / max(counted, 1):.1f} % of {counted} passed; "
            f"{100 * counts['passed'] / max(present, 1):.1f} % without absent modules"
        )
        print(dict(counts))
        return
    chosen = [
        row
        for row in rows("programs.csv" if options.what == "kernels" else "scripts.csv")
        if re.search(options.only, row["id"])
    ]
    known = recordings()
    if options.what == "kernels":
        counts = run_all(
            chosen,
            lambda row: kernel_verdict(
                options.mirrors, row, known.get(row["id"], {}), options.nogpu, options.limit
            ),
            options.out,
        )
    else:
        counts = run_all(
            chosen,
            lambda row: script_verdict(options.mirrors, row, options.nogpu, options.limit),
            options.out,
        )
    for verdict, count in counts.most_common():
        print(f"{count:5} {verdict}")


if __name__ == "__main__":
    main()
