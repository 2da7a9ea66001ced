"""conda's files ask for the same packages and versions as pyproject.toml.

No test here lets conda create the environments, because that needs conda and its servers.
"""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML, of the dev extra, is not installed")
try:
    import tomllib
except ImportError:  # Python 3.10, where pytest brings tomli
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
FULL = ROOT / "environment.yml"
BINDER = ROOT / ".binder" / "environment.yml"

# Packages with another name in conda than in pip.
PIP_NAMES = {"cupy": "cupy-cuda12x"}
# Python itself and programs that are no Python packages: pyproject.toml cannot ask for them.
CONDA_ONLY = {
    FULL: {"python": ">=3.10", "cuda-version": "=12.9", "cuda-nvcc": ""},
    BINDER: {"python": "=3.13", "cxx-compiler": ""},
}


def split(line):
    """Name, extras left out, and bounds of a requirement: cupy-cuda12x[ctk]>=14 -> ..., >=14."""
    name, bounds = re.fullmatch(r"([A-Za-z0-9_-]+)(?:\[[^]]*\])?\s*([<>=!~].*)?", line).groups()
    return name.lower(), (bounds or "").replace(" ", "")


def pip_bounds(*extras):
    """Bounds by package name, as pyproject.toml has them for pip."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return dict(split(line) for line in lines)


def conda_bounds(path):
    """Bounds by package name, as a conda file has them; each name once, and no pip section."""
    lines = yaml.safe_load(path.read_text(encoding="utf-8"))["dependencies"]
    assert all(isinstance(line, str) for line in lines), "a pip section: see the file's comments"
    bounds = dict(split(line) for line in lines)
    assert len(bounds) == len(lines), "a package is named twice"
    return bounds


def without_conda_only(path):
    """The packages that pyproject.toml has to ask for as well, under pip's names."""
    bounds = conda_bounds(path)
    return {PIP_NAMES.get(k, k): v for k, v in bounds.items() if k not in CONDA_ONLY[path]}


def test_environment_holds_what_pyproject_names_with_the_same_bounds():
    assert without_conda_only(FULL) == pip_bounds("gpu", "dev")


def test_binder_holds_the_dependencies_with_the_same_bounds():
    assert without_conda_only(BINDER) == pip_bounds()


@pytest.mark.parametrize("path", [FULL, BINDER], ids=["environment", "binder"])
def test_what_only_conda_has_is_as_decided(path):
    bounds = conda_bounds(path)
    assert {name: bounds.get(name) for name in CONDA_ONLY[path]} == CONDA_ONLY[path]
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["channels"][0] == "conda-forge"


def test_bounds_leave_room_for_colab_and_for_new_versions():
    """Colab's versions of August 2026 are accepted, so it need not install other ones."""
    colab = {"numpy": "2.1.3", "cupy-cuda12x": "14.0.1", "matplotlib": "3.10.0", "pytest": "8.4.2"}
    bounds = pip_bounds("gpu", "dev")
    for name, version in colab.items():
        assert numbers(bounds[name].removeprefix(">=")) <= numbers(version), name
    assert all(bound.startswith(">=") and "," not in bound for bound in bounds.values())


def test_no_upper_bound_on_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.10"
    assert conda_bounds(FULL)["python"] == project["requires-python"]


def numbers(version):
    """2.1.3 as (2, 1, 3), to compare versions."""
    return tuple(int(part) for part in version.split("."))


def test_the_workflow_tests_the_pythons_that_the_course_supports():
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    jobs = workflow["jobs"]
    oldest = project["requires-python"].removeprefix(">=")
    assert jobs["newest"]["strategy"]["matrix"]["python"][0] == oldest
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    targets = {word for line in commands for word in re.findall(r"\bmake (\w+)", line)}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets and all(re.search(rf"^{target}:", makefile, re.M) for target in targets)
    files = re.findall(r"--file (\S+)", "\n".join(commands))
    assert {ROOT / name for name in files} == {FULL, BINDER}
    numpy = re.search(r"numpy==([\d.]+)\.\*", "\n".join(commands))[1]
    assert pip_bounds()["numpy"] == f">={numpy}"


def test_the_workflow_opens_notebooks_as_on_colab():
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    commands = [step["run"] for step in workflow["jobs"]["colab"]["steps"] if "run" in step]
    named = re.findall(r"tests/notebooks/stand_in/\S+", " ".join(commands))
    assert len(named) == 2 and all((ROOT / name).exists() for name in named)
    pins = (ROOT / "tests/notebooks/stand_in/colab.txt").read_text(encoding="utf-8")
    bounds = pip_bounds("gpu", "dev")
    for name, version in re.findall(r"^([\w-]+)==([\d.]+)$", pins, flags=re.M):
        if name in bounds:
            assert numbers(bounds[name].removeprefix(">=")) <= numbers(version), name
