"""The wheel has every file of the package, and nothing else."""

import configparser
import email
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from package_support import SIMULATOR, build_wheel

import nogpu


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy that also has what must not get into it."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "simulator"
    shutil.copytree(SIMULATOR, copy, ignore=shutil.ignore_patterns("*.egg-info", "build", "tests"))
    for place in (".", "faces/cupy", "startup", "native/include"):
        (copy / "src/nogpu" / place / "__pycache__").mkdir(exist_ok=True)
        (copy / "src/nogpu" / place / "__pycache__/left.cpython-310.pyc").write_bytes(b"")
    with zipfile.ZipFile(build_wheel(copy, folder)) as archive:
        yield archive


def files_of_the_package():
    """Names of the files in src, as git has them or, in a copy without git, as they lie there."""
    source = SIMULATOR / "src"
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=source, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode == 0 and listed.stdout:
        names = listed.stdout.splitlines()
    else:
        names = [str(path.relative_to(source)) for path in source.rglob("*")
                 if not {"__pycache__", "nogpu.egg-info"} & set(path.parts)]  # fmt: skip
    return {name for name in names if (source / name).is_file()}


def test_members_are_the_files_of_the_package(wheel):
    members = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert members == files_of_the_package()
    suffixes = {Path(name).suffix for name in members}
    assert {".py", ".h", ".cuh", ".hpp", ".cpp", ".json", ""} <= suffixes


def test_nothing_but_nogpu_is_at_the_top(wheel):
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert tops == {"nogpu", f"nogpu-{nogpu.__version__}.dist-info"}


def test_one_wheel_serves_all_machines(wheel):
    assert wheel.filename.endswith(f"nogpu-{nogpu.__version__}-py3-none-any.whl")
    compiled = {".so", ".a", ".o", ".pyd", ".pyc", ".bin"}
    assert not [name for name in wheel.namelist() if Path(name).suffix in compiled]


def _information(wheel, name):
    return wheel.read(f"nogpu-{nogpu.__version__}.dist-info/{name}").decode()


def test_metadata(wheel):
    metadata = email.message_from_string(_information(wheel, "METADATA"))
    assert metadata["Name"] == "nogpu" and metadata["Version"] == nogpu.__version__
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "MIT" and metadata["License-File"] == "LICENSE"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith("# nogpu")
    assert "Operating System :: POSIX :: Linux" in metadata.get_all("Classifier")
    assert not [c for c in metadata.get_all("Classifier") if c.startswith("License ::")]


def test_pytest_finds_the_plugin(wheel):
    points = configparser.ConfigParser()
    points.read_string(_information(wheel, "entry_points.txt"))
    assert {s: dict(points[s]) for s in points.sections()} == {
        "pytest11": {"nogpu": "nogpu.pytest_plugin"}
    }
