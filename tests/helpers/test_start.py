"""`helpers.start()` in fresh processes: an uninstalled course, and processes started later.

Colab clones the course, and a GPU machine may have it on PYTHONPATH only.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What this Python knows of an installed course is taken away first.
UNINSTALLED = """
import os, subprocess, sys
sys.meta_path[:] = [one for one in sys.meta_path
                    if not getattr(one, "__module__", "").startswith("__editable__")]
sys.path[:] = [one for one in sys.path
               if one == os.environ["PYTHONPATH"] or not os.path.isdir(os.path.join(one, "nogpu"))]
"""
STARTED = """
import helpers
helpers.start()
"""
CHILD = """
sys.stdout.flush()
child = "import cupy, pycuda; print(cupy.arange(3).sum(), cupy.__file__)"
subprocess.run([sys.executable, "-c", child], check=True)
"""


def run(script: str) -> list[str]:
    """The lines that a script prints with nothing but the course's folder on PYTHONPATH."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "COURSE_BACKEND": "simulator"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], env=variables, cwd="/",
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_course_that_is_not_installed_finds_its_own_simulator():
    lines = run(UNINSTALLED + STARTED + "import nogpu, cupy\n"
                "print(nogpu.__file__)\nprint(cupy.__file__)\n"
                "print(sum(one.endswith('simulator/src') for one in sys.path))")
    assert lines[0].startswith("Backend: nogpu, the course's simulator")
    own = ROOT / "simulator" / "src" / "nogpu"
    assert lines[-3:] == [str(own / "__init__.py"), str(own / "faces/cupy/__init__.py"), "1"]


def test_an_installed_simulator_comes_first(tmp_path):
    package = tmp_path / "nogpu"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('this one is found')")
    lines = run(UNINSTALLED + f"sys.path.append({str(tmp_path)!r})\n"
                "try:\n    import helpers\nexcept ImportError as error:\n    print(error)")
    assert lines == ["this one is found"]


def test_a_process_that_is_started_later_has_cupy_too():
    lines = run(UNINSTALLED + STARTED + CHILD)
    assert lines[-1] == f"3 {ROOT / 'simulator/src/nogpu/faces/cupy/__init__.py'}"


def test_start_serves_later_processes_of_an_installed_course_as_well():
    lines = run("import subprocess, sys\n" + STARTED + CHILD)
    assert lines[-1].startswith("3 ") and Path(lines[-1]).match("nogpu/faces/cupy/__init__.py")


def test_a_notebook_that_needs_two_devices_gets_them():
    lines = run(UNINSTALLED + STARTED.replace("start()", "start(devices=2)")
                + "import cupy\nprint(cupy.cuda.runtime.getDeviceCount())")
    assert "it simulates 2" in lines[0] and lines[-1] == "2"
