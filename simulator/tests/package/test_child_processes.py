"""Python processes that a program starts are served, too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from package_support import PACKAGE, RACE, WHERE, names_the_race, run

from nogpu import children

STARTS = {
    "subprocess": "subprocess.check_output([sys.executable, 'where.py'], text=True).strip()",
    "grandchild": (
        "subprocess.check_output([sys.executable, '-c', 'import subprocess, sys; print(subprocess."
        "check_output([sys.executable, \"where.py\"], text=True))'], text=True).strip()"
    ),
    "shell": "subprocess.getoutput(f'{sys.executable} where.py')",
    "spawn": "multiprocessing.get_context('spawn').Pool(1).map(where, [0])[0]",
    "fork": "multiprocessing.get_context('fork').Pool(1).map(where, [0])[0]",
    "forkserver": "multiprocessing.get_context('forkserver').Pool(1).map(where, [0])[0]",
    "executor": "concurrent.futures.ProcessPoolExecutor(1).submit(where).result()",
    "spawning executor": (
        "concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('spawn'))"
        ".submit(where).result()"
    ),
}
PARENT = """\
import concurrent.futures, multiprocessing, subprocess, sys
{install}
from where import where

if __name__ == "__main__":
    print({start})
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "where.py").write_text(WHERE + "if __name__ == '__main__': print(where())\n")
    return tmp_path


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
@pytest.mark.parametrize("how", ["command line", "install"])
def test_child_finds_nogpu_s_cupy(folder, start, how):
    install = "import nogpu; nogpu.install()" if how == "install" else ""
    (folder / "parent.py").write_text(PARENT.format(start=start, install=install))
    words = ["-m", "nogpu"] if how == "command line" else []
    assert run(*words, "parent.py", cwd=folder).stdout == "nogpu\n"


def test_child_of_a_module_and_of_code(folder):
    (folder / "parent.py").write_text(PARENT.format(start=STARTS["spawn"], install=""))
    assert run("-m", "nogpu", "-m", "parent", cwd=folder).stdout == "nogpu\n"
    code = f"import subprocess, sys; print({STARTS['subprocess']})"
    assert run("-m", "nogpu", "-c", code, cwd=folder).stdout == "nogpu\n"


def test_fault_comes_back_from_a_child(folder):
    (folder / "race.py").write_text(RACE)
    (folder / "parent.py").write_text("""\
import concurrent.futures, multiprocessing, subprocess, sys
import race

def work():
    race.launch().get()

if __name__ == "__main__":
    for way in ("spawn", "fork"):
        pool = concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context(way))
        try:
            pool.submit(work).result()
        except Exception as fault:
            print(type(fault).__name__, fault.kernel, fault.line, fault.thread is not None)
    subprocess.run([sys.executable, "race.py"])
""")
    done = run("-m", "nogpu", "parent.py", cwd=folder)
    assert done.stdout == "Race reverse 4 True\n" * 2
    assert names_the_race(done.stderr)


def test_without_install_no_child_is_served(folder):
    (folder / "parent.py").write_text(PARENT.format(start=STARTS["spawn"], install="import nogpu"))
    assert run("parent.py", cwd=folder).stdout == "nowhere\n"


def test_uninstall_ends_it_and_leaves_pythonpath_as_it_was(folder):
    code = """
import os, nogpu, subprocess, sys
def child():
    print(subprocess.check_output([sys.executable, "where.py"], text=True).strip())
before = os.environ.get("PYTHONPATH")
nogpu.install()
assert os.environ["PYTHONPATH"] != before
child()
nogpu.uninstall()
assert os.environ.get("PYTHONPATH") == before, os.environ["PYTHONPATH"]
child()
"""
    found = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n"
    for path in ((), (PACKAGE.parent,), (folder, PACKAGE.parent)):
        assert run("-c", found + code, cwd=folder, path=path).stdout == "nogpu\nnowhere\n"


def test_child_that_ignores_the_environment_is_not_served(folder):
    code = "import subprocess, sys; subprocess.run([sys.executable, '{}', 'where.py'])"
    for option in ("-I", "-E", "-S"):
        out = run("-m", "nogpu", "-c", code.format(option), cwd=folder).stdout
        assert out == "nowhere\n", option


def test_child_with_an_environment_of_its_own_is_not_served(folder):
    code = "import subprocess, sys; subprocess.run([sys.executable, 'where.py'], env={})"
    assert run("-m", "nogpu", "-c", code, cwd=folder).stdout == "nowhere\n"


def test_child_finds_nogpu_where_it_is_not_on_the_path(folder):
    place = str(PACKAGE.parent)
    found = f"import sys; sys.path.insert(0, {place!r})\nimport nogpu; nogpu.install()"
    child = "import cupy, nogpu; print(cupy.arange(3).sum(), nogpu.__file__, nogpu.Race.__name__)"
    code = f"{found}\nimport subprocess; subprocess.run([sys.executable, '-c', '''{child}'''])"
    assert run("-c", code, path=(), cwd=folder).stdout == f"3 {PACKAGE / '__init__.py'} Race\n"


def test_a_child_s_path_is_what_it_would_be(folder):
    code = "import sys; print(sys.path, 'sitecustomize' in sys.modules)"
    plain = run("-c", code, path=(folder,), cwd=folder).stdout
    served = run("-c", code, path=(children.STARTUP, folder), cwd=folder).stdout
    assert served.split("]")[0] == plain.split("]")[0]


def test_the_folder_offers_nothing_but_sitecustomize():
    offered = {p.name for p in Path(children.STARTUP).iterdir()} - {"__pycache__"}
    assert offered == {"sitecustomize.py"}


def test_the_next_sitecustomize_runs(folder):
    (folder / "sitecustomize.py").write_text("import sys; print('next', __name__, __file__)\n")
    code = "import sys, sitecustomize; print(sitecustomize.__file__ == sys.argv[1])"
    done = run("-c", code + "\n" + WHERE + "print(where())", folder / "sitecustomize.py",
               path=(children.STARTUP, folder))  # fmt: skip
    assert done.stdout == f"next sitecustomize {folder / 'sitecustomize.py'}\nTrue\nnogpu\n"
    assert done.stderr == ""


def test_an_error_in_the_next_sitecustomize_is_reported_as_ever(folder):
    for text in ("import lacking_module", "1 / 0"):
        (folder / "sitecustomize.py").write_text(text)
        plain = run("-c", "", path=(folder,))
        served = run("-c", "", path=(children.STARTUP, folder))
        assert served.stderr == plain.stderr != ""


def test_no_other_sitecustomize():
    done = run("-c", WHERE + "print(where())", path=(children.STARTUP,))
    assert (done.stdout, done.stderr) == ("nogpu\n", "")


def test_a_python_without_numpy_has_no_cupy(folder):
    python = _empty_environment(folder)
    done = run("-c", WHERE + "print(where())\nimport cupy", python=python, expect=1,
               path=(children.STARTUP,))  # fmt: skip
    assert done.stdout == "nowhere\n"
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'cupy'"


def _empty_environment(folder: Path) -> str:
    """A Python without any packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "empty"], check=True)
    return str(folder / "empty" / "bin" / "python")


OLD = sorted(Path.home().glob(".pyenv/versions/[23].[678]*/bin/python"))


@pytest.mark.parametrize("python", OLD, ids=lambda path: path.parts[-3])
def test_a_python_that_is_too_old_starts_as_ever(python, folder):
    code = "import sys; sys.stdout.write(str([p for p in sys.path if 'startup' in p]))"
    # Python 2 would leave a sitecustomize.pyc in the package.
    done = run("-Bc", code, python=str(python), path=(children.STARTUP,))
    assert (done.stdout, done.stderr) == ("[]", "")


def test_a_path_that_pythonpath_cannot_name_is_left_out(monkeypatch):
    monkeypatch.setattr(children, "STARTUP", f"a{os.pathsep}b")
    before = dict(os.environ)
    children.serve()
    children.leave()
    assert dict(os.environ) == before
