"""The two distributions: what their projects state, and what is in the files that are built.

The slow test builds them as for the package index, which needs the network for `build` and `twine`.
"""

import re
import subprocess
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = {"strides-to-streams": ROOT, "nogpu": ROOT / "simulator"}
# What a build adds to the files of git.
MADE = re.compile(r"PKG-INFO|setup\.cfg|(src/)?\w+\.egg-info/.*")


def files_of_git(folder):
    """The files of a folder that git has, or would have after `git add`."""
    done = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                          cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("this copy of the course was not made by git")
    return {name for name in done.stdout.splitlines() if (folder / name).is_file()}


@pytest.mark.parametrize("name", PROJECTS)
def test_a_project_states_what_the_package_index_shows(name):
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    folder = PROJECTS[name]
    content = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    project = content["project"]
    assert project["name"] == name and project["description"] and project["keywords"]
    assert (folder / project["readme"]).read_text(encoding="utf-8").startswith("# ")
    licences = sorted(path.name for path in folder.glob("LICENSE*"))
    assert sorted(project["license-files"]) == licences
    assert project["license"] == ("MIT AND CC-BY-4.0" if len(licences) == 2 else "MIT")
    # A licence expression needs this setuptools, and excludes classifiers of licences.
    assert content["build-system"]["requires"] == ["setuptools>=77"]
    classifiers = project["classifiers"]
    assert classifiers == sorted(classifiers) and len(classifiers) == len(set(classifiers))
    assert not [one for one in classifiers if one.startswith("License ::")]
    versions = [one.rpartition(".")[2] for one in classifiers if " :: 3." in one]
    assert versions == ["10", "11", "12", "13"] and project["requires-python"] == ">=3.10"
    assert project["urls"]["Repository"].startswith("https://github.com/")


def test_both_projects_have_the_same_licence_for_code():
    assert (ROOT / "LICENSE").read_bytes() == (ROOT / "simulator" / "LICENSE").read_bytes()


@pytest.mark.parametrize("name", PROJECTS)
def test_the_source_distribution_is_told_of_every_file(name):
    lines = (PROJECTS[name] / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    words = [line.split() for line in lines]
    folders = {word for kind, *named in filter(None, words) if kind == "graft" for word in named}
    patterns = {word for kind, *named in filter(None, words) if kind == "include"
                for word in named}
    tops = {name.partition("/")[::2] for name in files_of_git(PROJECTS[name])}
    assert {top for top, inside in tops if inside} == folders
    for top in (top for top, inside in tops if not inside):
        assert any(Path(top).match(pattern) for pattern in patterns), top


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Both distributions, built and checked as before a release, from copies of git's files."""
    folder = tmp_path_factory.mktemp("packages")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--retries", "1", "build", "twine"]
    if subprocess.run(install, capture_output=True, timeout=300).returncode:
        pytest.skip("pip cannot get build and twine here")
    for name, source in PROJECTS.items():
        copy = folder / name
        for file in files_of_git(source):
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            (copy / file).write_bytes((source / file).read_bytes())
        subprocess.run([python, "-m", "build", "--outdir", folder / "dist", copy], check=True,
                       capture_output=True, timeout=300)
    files = sorted((folder / "dist").iterdir())
    done = subprocess.run([python, "-m", "twine", "check", "--strict", *files],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(files) == 4 and done.stdout.count("PASSED") == 4
    return files


@pytest.mark.slow
@pytest.mark.parametrize("name", PROJECTS)
def test_a_source_distribution_has_the_files_of_git(built, name):
    (file,) = [one for one in built
               if one.name.startswith(name.replace("-", "_")) and one.suffix == ".gz"]
    with tarfile.open(file) as archive:
        names = {one.name.partition("/")[2] for one in archive if one.isfile()}
    assert {name for name in names if not MADE.fullmatch(name)} == files_of_git(PROJECTS[name])


@pytest.mark.slow
def test_the_courses_wheel_has_what_notebooks_import(built):
    (file,) = [one for one in built if re.match(r"strides.*\.whl", one.name)]
    with zipfile.ZipFile(file) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = message_from_bytes(archive.read(
            next(name for name in archive.namelist() if name.endswith("/METADATA"))))
    wanted = {name for name in files_of_git(ROOT) if name.startswith(("helpers/", "checks/"))}
    assert names == wanted
    assert metadata["License-Expression"] == "MIT AND CC-BY-4.0"
    assert metadata.get_payload().startswith("# Strides to Streams")
