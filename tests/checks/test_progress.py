"""Progress is remembered on the learner's machine, and only there and then."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from authoring.notebook_form import (
    PROGRESS_TEXT,
    ROOT,
    course_of,
    notebooks,
    outputs_of,
    read,
    subject_of,
)
from checks import start_here
from checks.learner import progress
from checks.machinery.task import Task

RIGHT, WRONG = start_here.share_of_product.spec, (lambda m, k, n, seconds, bandwidth, rate: m)
AUTOMATIC = progress.AUTOMATIC
KEY = "start_here/share_of_product"


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """A learner's folder, at work in its exercises; this process forgets what it has checked."""
    monkeypatch.setattr(progress, "AUTOMATIC", ())
    monkeypatch.delenv("COURSE_WORK", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for folder in (".course", "exercises"):
        (tmp_path / "work" / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work" / "exercises")
    monkeypatch.setattr(progress, "_seen", {})
    return tmp_path / "work"


def stored(learner):
    return json.loads((learner / ".course" / "progress.json").read_text())["tasks"]


def test_a_right_answer_is_remembered_for_the_next_process(learner, monkeypatch, capsys):
    start_here.share_of_product(WRONG)
    assert stored(learner) == {KEY: "tried"}
    start_here.share_of_product(RIGHT)
    monkeypatch.setattr(progress, "_seen", {})
    start_here.share_of_product(WRONG)  # what was right once stays right
    assert stored(learner) == {KEY: "right"}
    assert os.listdir(learner / ".course") == ["progress.json"]
    capsys.readouterr()
    progress.progress("start_here")
    assert capsys.readouterr().out == ("1 of 3 exercises are right.\n"
                                       "share_of_product  core  right\n"
                                       "effect            core  not attempted yet\n"
                                       "smallest_batch    more  not attempted yet\n")
    progress.progress()
    first, _, heading, lesson, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("1 of ") and heading.split() == ["core", "more", "warm-ups"]
    assert lesson.split() == "00_start_here 1 of 2 0 of 1 0 of 2".split()


def test_a_stub_is_not_remembered(learner):
    start_here.share_of_product(lambda *work: ...)
    assert os.listdir(learner / ".course") == []


def test_a_task_of_no_lesson_is_not_remembered(learner):
    Task("toy", lambda x: x, lambda: [(1,)])(lambda x: x)
    assert os.listdir(learner / ".course") == []


def test_elsewhere_the_users_state_folder_is_used(learner, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    start_here.share_of_product(RIGHT)
    state = tmp_path / "state" / "strides-to-streams" / "progress.json"
    assert json.loads(state.read_text()) == {"tasks": {KEY: "right"}}
    monkeypatch.setenv("COURSE_WORK", str(learner))
    assert progress.find_file() == learner / ".course" / "progress.json"


@pytest.mark.parametrize("name", ["PYTEST_VERSION", "PYTEST_CURRENT_TEST", "COURSE_QUIET", "CI",
                                  "NBGRADER_EXECUTION"])
def test_nothing_is_remembered_while_tests_grades_or_recordings_run(name, learner, monkeypatch):
    for other in AUTOMATIC:
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, "1")
    monkeypatch.setattr(progress, "AUTOMATIC", AUTOMATIC)
    start_here.share_of_product(RIGHT)
    assert os.listdir(learner / ".course") == []
    assert progress.known() == {KEY: "right"}  # but this process knows


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_disk_that_cannot_be_written_is_no_error(number, learner, monkeypatch, capsys):
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "write_text", refuse)
    start_here.share_of_product(RIGHT)
    assert capsys.readouterr().out == "[ok] share_of_product: right in all 5 cases\n"
    assert os.listdir(learner / ".course") == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"tasks": 3}', '{"tasks": {"a/b": []}}',
                                  "\udcff"])
def test_a_damaged_file_is_no_error_and_is_replaced(text, learner):
    path = learner / ".course" / "progress.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert progress.known() == {}
    start_here.share_of_product(RIGHT)
    assert stored(learner) == {KEY: "right"}


def test_without_a_home_or_a_current_folder_nothing_fails(learner, monkeypatch):
    def gone(*args):
        raise FileNotFoundError(errno.ENOENT, "gone")

    monkeypatch.setattr(Path, "cwd", gone)
    start_here.share_of_product(RIGHT)
    assert progress.known() == {KEY: "right"}


def test_every_task_of_every_notebook_is_listed_once():
    tasks = list(progress.listed())
    assert len({task.key for task in tasks}) == len(tasks)
    graded = [cell for path in notebooks("solutions") for cell in read(path).cells
              if cell.metadata.get("nbgrader", {}).get("grade")]
    warm_ups = [cell for path in notebooks("notebooks") for cell in read(path).cells
                if course_of(cell).get("warm_up")]
    kinds = [task.kind for task in tasks]
    assert kinds.count("core") + kinds.count("more") == len(graded)
    assert kinds.count("warm-up") == len(warm_ups) > 0


@pytest.mark.parametrize("path", notebooks("solutions"), ids=lambda path: path.stem)
def test_each_exercise_ends_with_the_progress_in_it(path):
    """Solved, all of its tasks are right: recorded, and compared like any other cell."""
    *_, text, cell = read(path).cells
    assert (text.id, text.source) == ("progress-text", PROGRESS_TEXT)
    assert cell.id == "progress"
    assert cell.source == f'from checks import progress\n\nprogress("{subject_of(path.stem)}")'
    rows = [task for task in progress.listed()
            if task.notebook == path.stem and task.kind != "warm-up"]
    first, *lines = outputs_of(cell)[0].text.splitlines()
    assert first == f"{len(rows)} of {len(rows)} exercises are right."
    assert [line.split() for line in lines] == [[row.name, row.kind, "right"] for row in rows]


def test_a_kernel_of_nbval_and_of_make_record_remembers_nothing(tmp_path):
    """pytest sets a variable that its kernels inherit, and `execute` sets one of the course's."""
    code = ("from checks.learner import progress; print(progress.find_file())")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, check=True,
                          capture_output=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(
                              [str(ROOT), *sys.path])})
    assert done.stdout == "None\n"
