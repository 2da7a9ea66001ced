"""The wheel in an empty environment of each Python on this machine, used as a stranger would."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from package_support import RACE, SIMULATOR, build_wheel, names_the_race, run

pytestmark = pytest.mark.slow
PARENT = "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, 'race.py']))\n"
POOL = """\
import concurrent.futures, multiprocessing
import race

def work():
    race.launch().get()

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    concurrent.futures.ProcessPoolExecutor(1, spawn).submit(work).result()
"""
TEST = "import race\n\ndef test_it():\n    assert race.launch()[0] == 255\n"
PYCUDA = '''\
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

double = SourceModule("""
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
""").get_function("twice")
x = np.arange(4, dtype=np.float32)
double(cuda.InOut(x), block=(4, 1, 1))
print(x)
'''


def find_python(version):
    """A Python of this version: from PATH, else one that pyenv installed; None without one."""
    more = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for python in filter(None, [shutil.which(f"python{version}"), *map(str, more)]):
        said = subprocess.run(
            [python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if said.stdout.strip() == version:
            return python
    return None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "simulator"
    shutil.copytree(SIMULATOR, copy, ignore=shutil.ignore_patterns("*.egg-info", "build", "tests"))
    return build_wheel(copy, folder)


@pytest.fixture(scope="module", params=[f"3.{minor}" for minor in range(10, 15)])
def python(request, wheel, tmp_path_factory):
    """The Python of a new environment into which pip installed the wheel, and pytest."""
    base = find_python(request.param)
    if base is None:
        pytest.skip(f"there is no Python {request.param} here")
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([base, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    run("-m", "pip", "install", "--quiet", wheel, "pytest", "pytest-xdist", python=python, path=())
    return python


@pytest.fixture
def project(tmp_path):
    """A stranger's folder."""
    files = {"race.py": RACE, "parent.py": PARENT, "pool.py": POOL, "test_race.py": TEST,
             "conftest.py": "import cupy\n", "twice.py": PYCUDA}  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("words", [["race.py"], ["-m", "race"], ["parent.py"], ["pool.py"]])
def test_race_is_named(python, project, words):
    done = run("-m", "nogpu", *words, python=python, path=(), cwd=project, expect=1)
    assert names_the_race(done.stderr)


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["alone", "workers"])
def test_pytest_names_the_race_and_warns_of_nothing(python, project, options):
    done = run("-m", "pytest", "--nogpu", "-W", "error", *options, python=python, path=(),
               cwd=project, expect=1)  # fmt: skip
    assert names_the_race(done.stdout) and "1 failed in" in done.stdout


def test_pytest_without_the_option(python, project):
    done = run("-m", "pytest", python=python, path=(), cwd=project, expect=4)
    assert "No module named 'cupy'" in done.stderr


def test_program_with_pycuda(python, project):
    done = run("-m", "nogpu", "twice.py", python=python, path=(), cwd=project)
    assert done.stdout == "[0. 2. 4. 6.]\n"


def test_nothing_but_nogpu_is_importable(python, project):
    code = "import importlib.util as u; print([n for n in {} if u.find_spec(n)])"
    names = ["cupy", "cupyx", "cupy_backends", "pycuda", "sitecustomize", "nogpu"]
    done = run("-I", "-c", code.format(names), python=python, path=(), cwd=project)
    assert done.stdout == "['nogpu']\n"


def test_pip_is_content(python):
    assert "No broken requirements" in run("-m", "pip", "check", python=python, path=()).stdout


def test_uninstalling_leaves_nothing(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path], check=True)
    python = str(tmp_path / "bin" / "python")
    before = set(tmp_path.rglob("*.py"))
    run("-m", "pip", "install", "--quiet", "--no-deps", wheel, python=python, path=())
    assert set(tmp_path.rglob("*.py")) != before
    run("-m", "pip", "uninstall", "--quiet", "--yes", "nogpu", python=python, path=())
    assert set(tmp_path.rglob("*.py")) == before
