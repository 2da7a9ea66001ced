"""The wheel in an arm64 Python under qemu, whose kernels the cross compiler compiles.

Debian's packages of that Python are unpacked into a folder; nothing is installed and no rights
are needed. A machine whose package sources have no arm64 packages skips this.
"""

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from package_support import RACE, SIMULATOR, build_wheel, names_the_race, run

QEMU, CROSS = "qemu-aarch64", "aarch64-linux-gnu-g++"
pytestmark = [
    pytest.mark.slow,
    *(pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not on this machine")
      for tool in (QEMU, CROSS, "apt-get", "dpkg")),
]  # fmt: skip
TWICE = '''\
import platform
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

module = SourceModule("__global__ void twice(float* x) { x[threadIdx.x] *= 2; }")
twice = module.get_function("twice")
x = np.arange(4, dtype=np.float32)
twice(cuda.InOut(x), block=(4, 1, 1))
print(platform.machine(), x)
'''


def _unpack_debian_python(folder: Path) -> Path:
    """The root folder of an arm64 Debian with Python in it, or a skip."""
    for name in ("lists/partial", "cache/archives/partial", "root"):
        (folder / name).mkdir(parents=True)
    apt = [
        "apt-get", "-qq", "-oAPT::Architecture=arm64", "-oAPT::Architectures=arm64",
        f"-oDir::State::Lists={folder}/lists", f"-oDir::Cache={folder}/cache",
        "-oDir::State::status=/dev/null", "-oDebug::NoLocking=1", "-oAPT::Sandbox::User=",
    ]  # fmt: skip
    for words in (["update"], ["-y", "--no-install-recommends", "--download-only", "install",
                               "python3-minimal", "libpython3-stdlib", "libstdc++6"]):  # fmt: skip
        done = subprocess.run([*apt, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no arm64 Python from this machine's package sources: {done.stderr[:200]}")
    for package in (folder / "cache" / "archives").glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder / "root"], check=True)
    return folder / "root"


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A command that behaves as an arm64 Python, and the folder of its packages."""
    folder = tmp_path_factory.mktemp("arm64")
    root = _unpack_debian_python(folder)
    (binary,) = (path for path in (root / "usr/bin").iterdir()
                 if re.fullmatch(r"python3\.\d+", path.name))  # fmt: skip
    command = folder / "python"
    command.write_text(f'#!/bin/sh\nexec {QEMU} -0 {command} -L {root} {binary} "$@"\n')
    command.chmod(0o755)
    (folder / "simulator").mkdir()
    shutil.copytree(SIMULATOR / "src", folder / "simulator" / "src")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(SIMULATOR / name, folder / "simulator")
    wheels = folder / "wheels"
    build_wheel(folder / "simulator", wheels)
    platforms = [f"--platform=manylinux_2_{n}_aarch64" for n in (17, 27, 28)]
    run("-m", "pip", "download", "--quiet", "--only-binary=:all:", "--no-deps",
        "--python-version", binary.name.removeprefix("python"), *platforms, "--dest", wheels,
        "numpy", "pyelftools", "pytest", "pluggy", "iniconfig", "packaging", "pygments")
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "site")
    return command, folder / "site"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "race.py").write_text(RACE)
    (tmp_path / "twice.py").write_text(TWICE)
    (tmp_path / "test_race.py").write_text("import race\ndef test_it(): race.launch()\n")
    (tmp_path / "parent.py").write_text(
        "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, 'race.py']))\n"
    )
    return tmp_path


def run_on_arm64(python, cwd, *words, expect):
    command, site = python
    return run(*words, python=str(command), path=(site,), cwd=cwd, expect=expect, CXX=CROSS,
               PYTHONHOME="/usr", NOGPU_CACHE_DIR=str(cwd / "cache"))  # fmt: skip


@pytest.mark.parametrize("script", ["race.py", "parent.py"])
def test_race_is_named(python, project, script):
    assert names_the_race(run_on_arm64(python, project, "-m", "nogpu", script, expect=1).stderr)


def test_pytest_names_the_race(python, project):
    words = ["-m", "pytest", "--nogpu", "-p", "no:cacheprovider"]
    assert names_the_race(run_on_arm64(python, project, *words, expect=1).stdout)


def test_program_with_pycuda(python, project):
    done = run_on_arm64(python, project, "-m", "nogpu", "twice.py", expect=0)
    assert done.stdout == "aarch64 [0. 2. 4. 6.]\n"
