"""`pytest --nogpu` in a project that knows nothing of nogpu."""

import pytest
from package_support import PACKAGE, RACE, run

FAULT = "Race: kernel 'reverse', kernel.cu:4: thread ("


@pytest.fixture
def project(tmp_path):
    (tmp_path / "race.py").write_text(RACE)
    (tmp_path / "conftest.py").write_text("import cupy\n")
    (tmp_path / "test_them.py").write_text("""\
import cupy as cp
from race import launch

def test_waits():
    assert launch()[0] == 255

def test_does_not_wait():
    launch()

def test_fails_in_another_way():
    launch()
    assert [1] == [2]

def test_begins_a_capture():
    cp.cuda.Stream(non_blocking=True).begin_capture()

def test_is_right():
    assert cp.arange(4).sum() == 6

def test_is_nogpu():
    assert "nogpu" in cp.__file__
""")
    return tmp_path


@pytest.fixture(autouse=True)
def not_on_ci(monkeypatch):
    """pytest shows long differences in full where CI is set."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)


def pytest_in(folder, *options, expect=1):
    """pytest's output there: no plugin but nogpu's and those named."""
    return run("-m", "pytest", "-p", "nogpu.pytest_plugin", "-p", "no:cacheprovider", *options,
               cwd=folder, expect=expect, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
               path=(folder, PACKAGE.parent)).stdout  # fmt: skip


def sections(out):
    """What pytest says of each failed test."""
    parts = {}
    for line in out.split("= FAILURES =")[1].split("= short test summary")[0].splitlines():
        if line.startswith("___"):
            name = line.strip("_ ")
            parts[name] = ""
        elif parts:
            parts[name] += line + "\n"
    return parts


def test_faults_fail_the_test_that_launched_the_kernel(project):
    out = pytest_in(project, "--nogpu")
    said = sections(out)
    assert list(said) == ["test_waits", "test_does_not_wait", "test_fails_in_another_way"]
    assert "3 failed, 3 passed" in out
    assert ">       assert launch()[0] == 255" in said["test_waits"]
    assert said["test_does_not_wait"].startswith("The test did not wait for its kernels:\nRace: ")
    assert "assert [1] == [2]" in said["test_fails_in_another_way"]
    for text in said.values():
        assert FAULT in text
        assert "tile[threadIdx.x] = x[threadIdx.x];" in text
        assert str(PACKAGE) not in text and len(text.splitlines()) < 20


def test_one_line_of_the_header_says_what_is_in_use(project):
    lines = pytest_in(project, "--nogpu", "-k", "right", expect=0).splitlines()
    (line,) = [line for line in lines if line.startswith("nogpu 0.")]
    assert "cupy and pycuda are nogpu's; kernels are compiled by " in line


def test_header_without_a_compiler(project):
    out = run("-m", "pytest", "-p", "nogpu.pytest_plugin", "--nogpu", "-k", "right", cwd=project,
              PATH="", CXX="", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
              path=(project, PACKAGE.parent)).stdout  # fmt: skip
    assert "kernels are not compiled: " in out or "ziglang" in out


def test_workers_of_xdist_are_served(project):
    pytest.importorskip("xdist")
    out = pytest_in(project, "--nogpu", "-p", "xdist", "-n", "2", "-q")
    assert "3 failed, 3 passed" in out and out.count(FAULT) >= 3


def test_without_the_option_nothing_changes(project):
    out = run("-m", "pytest", "-p", "nogpu.pytest_plugin", cwd=project, expect=4,
              PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", path=(project, PACKAGE.parent))  # fmt: skip
    assert "ImportError while loading conftest" in out.stderr
    assert "No module named 'cupy'" in out.stderr


def test_a_real_library_that_a_plugin_imported_is_an_error_in_one_line(project):
    (project / "cupy.py").write_text("")
    (project / "early.py").write_text("import cupy")
    out = run("-m", "pytest", "-p", "early", "-p", "nogpu.pytest_plugin", "--nogpu", cwd=project,
              expect=4, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", path=(project, PACKAGE.parent))
    assert out.stderr.strip().startswith("ERROR: --nogpu: The real cupy is imported already.")


def test_run_inside_a_program_leaves_nothing_behind(project):
    code = """
import os, sys, pytest
before = os.environ["PYTHONPATH"], list(sys.meta_path)
print(pytest.main(["--nogpu", "-p", "nogpu.pytest_plugin", "-q", "-k", "right"]))
assert os.environ["PYTHONPATH"] == before[0]
assert not any("nogpu" in type(finder).__module__ for finder in sys.meta_path)
assert "cupy" not in sys.modules
"""
    out = run("-c", code, cwd=project, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
              path=(project, PACKAGE.parent)).stdout  # fmt: skip
    assert "1 passed" in out
