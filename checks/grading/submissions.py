"""Judge submissions again, each answer in a fresh process and by the teacher's copy of the checks.

nbgrader runs a submission as it is, so an answer can replace the checks that come after it, and an
answer that ends the process leaves the whole notebook without a mark. Here only the answers are
taken from a submission. The solution is judged first: where it is not right, the machine is not.
"""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[2]  # the course's folder
SECONDS = 300  # for one answer
GIGABYTES = 4  # for one answer
# Names that no answer of this course needs: a reason to read the answer.
UNUSUAL = {"check", "checks", "sys", "os", "gc", "inspect", "ctypes", "importlib", "builtins",
           "subprocess", "exec", "eval", "__import__", "globals", "setattr", "__class__", "spec",
           "modules", "_getframe", "__dict__", "__globals__", "system", "incbin"}


class GradingError(ValueError):
    """Nothing was judged: no submission, no task, or a machine that finds no answer right."""


@dataclass(frozen=True)
class Question:
    """One task of the teacher's notebook.

    Attributes
    ----------
    name, check_name : str
        nbgrader's `grade_id` of the answer's cell and of the check's.
    points : float
    before : list of str
        Sources of the teacher's that run first: imports, and the solutions of earlier tasks.
    answer, check : str
        The solution and the check.
    needs : str
        What the notebook's setup cell says to `helpers.start(needs=...)`.
    """

    name: str
    check_name: str
    points: float
    before: list[str]
    answer: str
    check: str
    needs: str


@dataclass
class Result:
    """What one submission got for one task.

    `state` is "ok", "no", "todo", "unchecked", "tampered" (the answer replaced a function of the
    checks), "died" (the answer ended its process), "endless" or "missing".
    """

    learner: str
    task: str
    points: float
    worth: float
    state: str
    text: str
    nbgrader: float | None = None
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        marks = "" if self.nbgrader in (None, self.points) else f" (nbgrader: {self.nbgrader:g})"
        line = f"{self.learner}  {self.task}  [{self.state}]  {self.points:g} of {self.worth:g}"
        return "; ".join([f"{line}{marks}  {' '.join(self.text.split())[:200]}", *self.notes])


def questions(solution: Path) -> list[Question]:
    """The tasks of a solution notebook, in its order.

    Raises
    ------
    GradingError
        If the notebook has no task, or a check without an answer before it.
    """
    found: list[Question] = []
    before: list[str] = []
    answer = None
    needs = ""
    for cell in nbformat.read(solution, as_version=4).cells:
        mark = cell.metadata.get("nbgrader", {})
        if cell.id == "setup":
            needs = "".join(re.findall(r'start\(needs="(\w+)"\)', cell.source))
        elif cell.id == "imports":
            before.append(cell.source)
        elif mark.get("solution"):
            answer = mark["grade_id"], cell.source
        elif mark.get("grade"):
            if answer is None:
                raise GradingError(f"{solution.name}: no answer before {mark['grade_id']}")
            found.append(Question(answer[0], mark["grade_id"], mark["points"], list(before),
                                  answer[1], cell.source, needs))
            before.append(answer[1])
            answer = None
    if not found:
        raise GradingError(f"{solution}: no cell is marked as a task of nbgrader's")
    return found


def submissions(folder: Path, name: str) -> dict[str, Path]:
    """The submitted notebooks by learner.

    Parameters
    ----------
    folder : Path
        nbgrader's course folder, with `submitted/LEARNER/ASSIGNMENT/name`, or a folder with
        `LEARNER/name` or `LEARNER.ipynb`.
    name : str
        The notebook's file name.
    """
    inside = folder / "submitted" if (folder / "submitted").is_dir() else folder
    found = {path.relative_to(inside).parts[0]: path
             for pattern in (f"*/*/{name}", f"*/{name}") for path in sorted(inside.glob(pattern))}
    return found or {path.stem: path for path in sorted(inside.glob("*.ipynb"))}


def run_answer(question: Question, answer: str, seconds: float = SECONDS,
               gigabytes: float = GIGABYTES) -> tuple[str, str]:
    """State and text of the verdict on one answer, from a process of its own.

    Parameters
    ----------
    answer : str
        The source of the answer's cell.
    seconds, gigabytes : float
        How long the process may run, and how much memory it may hold.
    """
    reading, writing = os.pipe()
    secret = secrets.token_hex(16)
    job = {"before": question.before, "answer": answer, "check": question.check,
           "needs": question.needs, "pipe": writing, "secret": secret}
    paths = [str(ROOT), str(ROOT / "simulator" / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {"COURSE_BACKEND": "simulator", **os.environ, "MPLBACKEND": "Agg",
                   "COURSE_QUICK_TIMES": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    environment.pop("NBGRADER_EXECUTION", None)
    limited = ["sh", "-c", f'ulimit -d {int(gigabytes * 2**20)}; exec "$@"', "sh"]
    with tempfile.TemporaryDirectory(prefix="grading-") as place:
        process = subprocess.Popen(
            [*limited, sys.executable, "-m", "checks.grading.judge_one"],
            cwd=place, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=[writing], start_new_session=True)
        os.close(writing)
        timed_out = False
        try:
            process.communicate(json.dumps(job).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            _end_group(process)
    os.set_blocking(reading, False)  # a process that the answer left behind may hold the pipe
    with os.fdopen(reading, "rb") as pipe:
        lines = (pipe.read() or b"").decode(errors="replace").splitlines()
    told = [json.loads(line[len(secret):]) for line in lines if line.startswith(secret)]
    if told and "state" in told[-1] and not timed_out:
        return told[-1]["state"], told[-1]["text"]
    stage = told[-1].get("stage", "the end") if told else "the start"
    if timed_out:
        return "endless", f"stopped after {seconds:g} seconds in {stage}"
    code = process.returncode
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    return "died", f"the process ended in {stage} ({how})"


def _end_group(process: subprocess.Popen) -> None:
    """End a process and those that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def unusual_names(source: str) -> list[str]:
    """Names in an answer that are a reason to read it: it may reach for the checks."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    words = {word for node in ast.walk(tree) for key in ("id", "attr", "module", "name")
             if isinstance(word := getattr(node, key, None), str)}
    strings = " ".join(node.value for node in ast.walk(tree)
                       if isinstance(node, ast.Constant) and isinstance(node.value, str))
    words = {part for word in words for part in word.split(".")}
    return sorted((words & UNUSUAL) | (set(re.findall(r"\w+", strings)) & {"system", "incbin"}))


def judge_submission(learner: str, notebook: nbformat.NotebookNode, asked: list[Question],
                     seconds: float = SECONDS, gigabytes: float = GIGABYTES) -> Iterator[Result]:
    """The results of one submission, one for each task."""
    cells: dict[str, list[str]] = {}
    for cell in notebook.cells:
        cells.setdefault(cell.metadata.get("nbgrader", {}).get("grade_id", ""), []).append(
            cell.source)
    for question in asked:
        answers, checks = cells.get(question.name, []), cells.get(question.check_name, [])
        notes = []
        for kind, found in (("answer", answers), ("check", checks)):
            if not found:
                notes.append(f"its {kind} cell was deleted")
            elif len(found) > 1:
                notes.append(f"its {kind} cell stands {len(found)} times; the last one counts")
        if checks and checks[-1].strip() != question.check.strip():
            notes.append("its check cell was changed")
        if not answers:
            state, text = "missing", "there is no answer"
        else:
            state, text = run_answer(question, answers[-1], seconds, gigabytes)
            if names := unusual_names(answers[-1]):
                notes.append(f"read this answer: it says {', '.join(names)}")
        yield Result(learner, question.name, question.points * (state == "ok"), question.points,
                     state, text, notes=notes)


def marks_of_nbgrader(folder: Path, assignment: str) -> dict[tuple[str, str], float | None]:
    """nbgrader's marks by learner and check; empty without a gradebook or without nbgrader."""
    book = folder / "gradebook.db"
    if not book.exists():
        return {}
    try:
        from nbgrader.api import Gradebook, MissingEntry
    except ImportError:
        return {}
    with Gradebook(f"sqlite:///{book}") as gradebook:
        try:
            return {(one.student.id, grade.name): grade.auto_score
                    for one in gradebook.assignment_submissions(assignment)
                    for notebook in one.notebooks for grade in notebook.grades}
        except MissingEntry:
            return {}


def grade(solution: Path, folder: Path, table: Path, seconds: float = SECONDS,
          gigabytes: float = GIGABYTES) -> list[Result]:
    """Judge all submissions of one notebook, print a line for each answer, and write a table.

    Parameters
    ----------
    solution : Path
        The teacher's solved notebook, whose checks count.
    folder : Path
        As for `submissions`.
    table : Path
        The CSV file to write.

    Raises
    ------
    GradingError
        Where there is no submission, or where this machine does not find the solution right.
    """
    asked = questions(solution)
    found = submissions(folder, solution.name)
    if not found:
        raise GradingError(f"{folder}: no submitted notebook {solution.name}")
    for question in asked:
        state, text = run_answer(question, question.answer, seconds, gigabytes)
        if state != "ok":
            raise GradingError(f"nothing was judged, since here the solution's own answer to"
                                 f" {question.name} is not right: [{state}] {text}")
    marks = marks_of_nbgrader(folder, solution.stem)
    by_check = {question.name: question.check_name for question in asked}
    results = []
    for learner, path in found.items():
        try:
            notebook = nbformat.read(path, as_version=4)
        except Exception as error:  # nbformat raises errors of many types
            results += [Result(learner, question.name, 0, question.points, "missing",
                               f"the notebook cannot be read: {error}") for question in asked]
            continue
        for result in judge_submission(learner, notebook, asked, seconds, gigabytes):
            key = learner, by_check[result.task]
            if marks:
                result.nbgrader = marks.get(key)
                if result.nbgrader is None:
                    result.notes.append("nbgrader has no mark for it")
            print(result, flush=True)
            results.append(result)
    write_table(results, table)
    return results


def write_table(results: list[Result], path: Path) -> None:
    """Write results as CSV, a row for each answer."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["learner", "task", "points", "of", "verdict", "text", "nbgrader", "notes"])
        for one in results:
            rows.writerow([one.learner, one.task, one.points, one.worth, one.state, one.text,
                           one.nbgrader, "; ".join(one.notes)])
