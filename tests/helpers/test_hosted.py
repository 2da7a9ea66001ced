"""A notebook opened alone, on Colab or Kaggle: it fetches the course and what else it needs.

No test here fetches anything from elsewhere. tests/notebooks/stand_in/badge.py runs whole lessons
with Colab's versions, where somebody has installed them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel

from authoring.notebook_form import notebooks
from helpers import backend, hosted
from helpers.backend import Gpu

sys.path.insert(0, str(Path(__file__).parents[1] / "notebooks" / "stand_in"))
import badge  # noqa: E402

T4 = Gpu("Tesla T4", (7, 5), 15 * 2**30, (12, 8))

# A cell in an interpreter that has not got the course, however this one came by it.
SHELL = """
import sys
from pathlib import Path
sys.path[:] = [one for one in sys.path if not Path(one, "helpers", "backend.py").exists()
               and not Path(one, "nogpu").exists()]
sys.meta_path[:] = [one for one in sys.meta_path
                    if not getattr(one, "__module__", "").startswith("__editable__")]
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance().run_cell(sys.argv[1]).raise_error()
import helpers, importlib.util
print("course:", Path(helpers.__file__).resolve().parent.parent)
print("cupy:", importlib.util.find_spec("cupy").origin)
"""


def setup_cell(needs):
    """The first code cell of a notebook whose `start` has or has not `needs`."""
    for path in notebooks("notebooks"):
        cells = nbformat.read(path, as_version=4).cells
        source = next(cell.source for cell in cells if cell.cell_type == "code")
        if ("needs=" in source) == needs:
            return source
    raise AssertionError(f"no notebook with needs={needs}")


def open_alone(source, folder, address):
    variables = badge.variables(address, hosted=False)
    variables["COURSE_BACKEND"] = "simulator"  # whatever this machine has
    variables["IPYTHONDIR"] = str(folder.parent / "ipython")
    return subprocess.run([sys.executable, "-W", "ignore", "-c", SHELL, source], cwd=folder,
                          env=variables, capture_output=True, text=True, timeout=120)


def test_setup_cell_fetches_the_course_into_an_empty_folder(tmp_path):
    published = badge.published(tmp_path)
    folder = tmp_path / "content"
    folder.mkdir()
    first = open_alone(setup_cell(needs=True), folder, published.as_uri())
    # After a restart of the session the course is there, and is not fetched again.
    again = open_alone(setup_cell(needs=False), folder, "file:///nowhere")
    for done in (first, again):
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        assert f"course: {folder / 'course'}" in said
        assert f"cupy: {folder / 'course'}" in said
        assert "Backend: nogpu, the course's simulator" in said
        assert "fatal" not in said and "Kaggle" not in said


def test_setup_cell_says_what_to_do_without_a_network(tmp_path):
    done = open_alone(setup_cell(needs=False), tmp_path, "file:///nowhere")
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "run `make lab` in the course's folder" in said and "On Kaggle: switch Internet" in said
    for other in ("fatal:", "No module named", "During handling"):
        assert other not in said
    assert not (tmp_path / "course").exists()


def test_after_a_first_cell_that_fails_no_cell_runs(tmp_path):
    """As Run All sends them: the kernel drops the others, so there is one message."""
    variables = badge.variables("file:///nowhere", hosted=False)
    variables["IPYTHONDIR"] = str(tmp_path)
    cells = [SHELL.partition("from IPython")[0].replace("sys.argv[1]", "''"),
             setup_cell(needs=False), "import cupy as cp", "x = cp.arange(3)"]
    manager, client = start_new_kernel(kernel_name="python3", env=variables, cwd=str(tmp_path))
    try:
        sent = [client.execute(cell) for cell in cells]
        replies = {}
        while len(replies) < len(sent):
            reply = client.get_shell_msg(timeout=60)
            if reply["parent_header"]["msg_id"] in sent:
                replies[reply["parent_header"]["msg_id"]] = reply["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert [replies[one]["status"] for one in sent] == ["ok", "error", "aborted", "aborted"]
    assert replies[sent[1]]["evalue"].startswith("This notebook needs the course")


def test_a_python_without_the_courses_packages_is_named():
    """Where somebody opens a lesson in the course's folder with another Jupyter."""
    done = subprocess.run([sys.executable, "-S", "-c", "import helpers"], cwd=badge.ROOT,
                          env={**os.environ, "PYTHONPATH": str(badge.ROOT)},
                          capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ") and "no NumPy" in last and sys.executable in last
    assert "run `make lab`" in last and str(badge.ROOT) in last


def test_stand_in_has_the_versions_that_the_bounds_must_allow():
    """Two lists of Colab's versions: this one is installed, that one compared with the bounds."""
    pinned = (Path(badge.__file__).parent / "colab.txt").read_text(encoding="utf-8")
    for line in ("numpy==2.1.3", "cupy-cuda12x==14.0.1", "matplotlib==3.10.0", "pytest==8.4.2"):
        assert line in pinned.splitlines()
    assert all((badge.ROOT / name).exists() for name in badge.LESSONS)


@pytest.mark.skipif("COURSE_STAND_IN" not in os.environ,
                    reason="COURSE_STAND_IN does not name a Python with Colab's versions")
def test_lessons_run_in_the_stand_in():
    done = subprocess.run([os.environ["COURSE_STAND_IN"], str(badge.__file__)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("[ok]") == len(badge.LESSONS)


# What is installed


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Colab with a GPU and its toolkit, without PyCUDA and pyelftools; pip does as told."""
    here = {"numpy": True, "matplotlib": True, "pyelftools": False, "pycuda": False}
    asked = []
    state = SimpleNamespace(here=here, asked=asked, code="", nvcc="/usr/local/cuda/bin/nvcc")
    really = subprocess.Popen

    def popen(command, **options):
        asked.append(command[-1])
        here[re.match(r"[a-z]+", command[-1])[0]] = not state.code
        return really([sys.executable, "-c", state.code], **options)

    def find_version(name):
        if name in ("pyelftools", "pycuda") and not here[name]:
            raise hosted.PackageNotFoundError(name)
        return "2099.1" if here[name] else "2.0.2"

    monkeypatch.setenv("COLAB_RELEASE_TAG", "release-colab-external")
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.delenv("COURSE_BACKEND", raising=False)
    monkeypatch.delitem(sys.modules, "elftools", raising=False)  # if another test has used it
    monkeypatch.setattr(hosted, "version", find_version)
    monkeypatch.setattr(hosted.subprocess, "Popen", popen)
    monkeypatch.setattr(hosted, "find_nvcc", lambda: state.nvcc)
    monkeypatch.setattr(backend, "find_gpu", lambda: T4)
    monkeypatch.setattr(backend, "_started", None)
    return state


def test_pycuda_is_built_only_for_those_who_use_it(machine, capsys):
    hosted.complete(None, on_gpu=True)
    assert machine.asked == ["pyelftools>=0.29"]
    hosted.complete("pycuda", on_gpu=True)
    assert machine.asked == ["pyelftools>=0.29", hosted.requirement("pycuda")]
    said = capsys.readouterr().out
    assert "Installing pycuda" in said and "two to three minutes" in said
    assert "/usr/local/cuda/bin" in os.environ["PATH"].split(os.pathsep)
    hosted.complete("pycuda", on_gpu=True)
    assert len(machine.asked) == 2 and not capsys.readouterr().out


def test_pycuda_is_not_built_for_the_simulator(machine):
    machine.here["pyelftools"] = True
    hosted.complete("pycuda", on_gpu=False)
    assert not machine.asked


def test_long_builds_show_that_they_go_on(machine, monkeypatch, capsys):
    monkeypatch.setattr(hosted, "SECONDS_BETWEEN_LINES", 0.2)
    machine.here["pyelftools"] = True
    machine.code = "import time; time.sleep(0.8)"
    hosted.complete("pycuda", on_gpu=True)
    assert "s: still at it" in capsys.readouterr().out


def test_a_failed_build_says_why_and_what_else_to_do(machine, capsys):
    machine.here["pyelftools"] = True
    machine.code = "print('cc1plus: fatal error: cuda.h: No such file'); raise SystemExit(1)"
    hosted.complete("pycuda", on_gpu=True)
    said = capsys.readouterr().out
    assert "pycuda could not be installed" in said and "cuda.h: No such file" in said
    assert "%env COURSE_BACKEND=simulator" in said
    machine.nvcc = None
    hosted.complete("pycuda", on_gpu=True)
    said = capsys.readouterr().out
    assert "nvcc is not on this machine" in said and "%env COURSE_BACKEND=simulator" in said


def test_an_old_numpy_gets_the_next_series_and_the_lesson_goes_on(
        machine, monkeypatch, capsys):
    """Colab's other packages were chosen for its NumPy. The notebook's first cell prints, and ends
    without an error."""
    machine.here.update(numpy=False, pyelftools=True)
    monkeypatch.setattr(hosted, "requirement", lambda name: f"{name}>=2.1")
    assert backend.start() is not None
    assert machine.asked == ["numpy~=2.1.0"]
    said = capsys.readouterr().out
    assert "There is a newer numpy now" in said and "Restart the session" in said
    assert "Backend:" in said
    backend.start()
    assert len(machine.asked) == 1 and "Restart" not in capsys.readouterr().out


def test_a_download_that_was_cut_off_is_named(machine, capsys):
    machine.code = ("print('ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS');"
                    "raise SystemExit(1)")
    hosted.complete(None, on_gpu=True)
    said = capsys.readouterr().out
    assert "a download was cut off" in said and "Run this cell again" in said


@pytest.mark.parametrize("have, enough", [("2.0.2", False), ("2.1.0", True), ("2.10.1rc1", True),
                                          ("3.0.dev0", True), (None, False)])
def test_versions_are_compared_as_numbers(monkeypatch, have, enough):
    def version(name):
        if have is None:
            raise hosted.PackageNotFoundError(name)
        return have

    monkeypatch.setattr(hosted, "version", version)
    wanted = hosted._lacking("numpy")
    assert wanted == (None if enough else "numpy~=2.1.0" if have else "numpy>=2.1")


@pytest.mark.parametrize("sign", [*hosted.SIGNS, None])
def test_only_a_machine_lent_for_a_session_is_changed(machine, monkeypatch, sign):
    for name in hosted.SIGNS:
        monkeypatch.delenv(name, raising=False)
    if sign:
        monkeypatch.setenv(sign, "Interactive")
    backend.start(needs="pycuda")
    assert bool(machine.asked) == bool(sign)


def test_without_pyelftools_the_line_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(backend, "find_gpu", lambda: None)
    monkeypatch.setattr(backend.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(backend, "_use_simulator", lambda: None)
    monkeypatch.setattr(backend, "_started", None)
    backend.start()
    assert "python -m pip install pyelftools" in capsys.readouterr().out
