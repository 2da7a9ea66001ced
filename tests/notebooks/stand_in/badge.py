"""Opens notebooks alone, in an empty folder, as their Colab and Kaggle badges do.

The notebook finds no course beside it and clones it, from a local repository in place of GitHub.
With Colab's versions this stands in for Colab (without a GPU, and without Colab's own window):

    python3.13 -m venv colab-env
    colab-env/bin/python -m pip install -r tests/notebooks/stand_in/colab.txt
    colab-env/bin/python tests/notebooks/stand_in/badge.py notebooks/00_start_here.ipynb

It imports nothing of the course, which is not there before the first cell has run.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LESSONS = [
    "notebooks/00_start_here.ipynb",
    "notebooks/05_numpy_to_cupy.ipynb",
    "notebooks/08_memory_and_tiles.ipynb",
    "notebooks/12_pycuda_dynamic_compilation.ipynb",
]


def published(folder: Path) -> Path:
    """A git repository in `folder` with what a clone of the course needs, as it is here now."""
    course = folder / "published"
    for place in ("helpers", "checks", "simulator/src"):
        shutil.copytree(ROOT / place, course / place,
                        ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", course)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost"]
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "course"]):
        subprocess.run([*git, *arguments], cwd=course, check=True, capture_output=True)
    return course


def variables(course: str, hosted: bool = True) -> dict[str, str]:
    """An environment in which git takes the course's address on GitHub for `course`."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    address = re.search(r'Repository = "([^"]+)"', text)[1]
    kept = {name: value for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "COURSE_BACKEND", "KAGGLE_KERNEL_RUN_TYPE")}
    kept.update(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0=f"url.{course}.insteadOf",
                GIT_CONFIG_VALUE_0=f"{address}.git")
    kept.pop("COLAB_RELEASE_TAG", None)
    if hosted:
        kept["COLAB_RELEASE_TAG"] = "stand-in"
    return kept


def open_alone(path: Path, course: Path) -> tuple[str, float]:
    """Run the notebook in an empty folder: what its first cell printed, and the seconds taken.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        When a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code:
        cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(variables(course.as_uri()))
        os.environ.pop("PYTHONPATH", None)
        os.environ.pop("COURSE_BACKEND", None)
        begun = time.monotonic()
        client = NotebookClient(notebook, timeout=600, kernel_name="python3",
                                resources={"metadata": {"path": folder}})
        client.execute()
        seconds = time.monotonic() - begun
    return "".join(output.get("text", "") for output in code[0].outputs), seconds


def main(names: list[str]) -> int:
    """Open each notebook alone; 1 if any cell of any fails."""
    from importlib.metadata import version

    print("Python", sys.version.split()[0], *(f"{name} {version(name)}" for name in
                                              ("numpy", "ipython", "ipykernel", "matplotlib")))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        course = published(Path(folder))
        for name in names or LESSONS:
            try:
                said, seconds = open_alone(ROOT / name, course)
            except Exception as error:  # the kernel may also die, or not start
                print(f"[no] {name}: {error}")
                failed = 1
            else:
                print(f"[ok] {name}: {seconds:.0f} s\n{said}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
