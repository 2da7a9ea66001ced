"""Run the tests, also where a learner has worked in the course's own folder.

    python tests/run.py [options of pytest]

The tests are about the course, not about a learner's answers. So where notebooks were edited here,
or made here, or deleted, pytest runs in a copy of the course that has them as git has them. An
author's notebook is tested as it is: it is in the stored form, which Jupyter does not write, and an
exercise is what `make exercises` writes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # started as a program, it is in no package

from authoring.exercises import exercise_text  # noqa: E402
from authoring.notebook_form import FOLDERS, ROOT, is_stored_form  # noqa: E402
from authoring.repository import committed, git_names, has_git, make_known  # noqa: E402


def learners_notebooks(root: Path = ROOT) -> list[str]:
    """The notebooks of the course's folders that are not as an author leaves them.

    They were made here and git does not know them; or they were deleted; or they differ from the
    last commit and are neither in the stored form nor what `make exercises` writes.
    """
    if not has_git(root):
        return []
    known = git_names(root, "ls-files", "-z", "--", *FOLDERS)
    return sorted(name for name in changed_names(root, *FOLDERS) if name.endswith(".ipynb") and (
        not _is_an_authors(name, root) if name in known else (root / name).exists()))


def changed_names(root: Path, *folders: str) -> set[str]:
    """The files that differ from the last commit, and those that git does not know."""
    return (git_names(root, "diff", "--name-only", "--no-renames", "-z", "HEAD", "--", *folders)
            | git_names(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *folders))


def _is_an_authors(name: str, root: Path) -> bool:
    """Whether an edited notebook is as the tools write it."""
    path, solution = root / name, root / "solutions" / Path(name).name
    if not path.exists():
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    if not name.startswith("exercises/") or committed(name, root) is None:
        return is_stored_form(text)
    try:
        return text == exercise_text(solution)
    except (OSError, ValueError):
        return False  # the solution is gone, or no notebook that the tools can read


def copy_course(folder: Path, left_out: list[str], root: Path = ROOT) -> None:
    """Copy the course into an empty folder, with some notebooks as the last commit has them.

    Parameters
    ----------
    folder : Path
        It becomes a git repository with the same commits and the same edits.
    left_out : list of str
        The notebooks whose edits are left out.
    root : Path
        The course's folder.
    """
    subprocess.run(["git", "clone", "--quiet", "--shared", str(root), str(folder)], check=True)
    for name in sorted(changed_names(root) - set(left_out)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (root / name).exists():
            shutil.copy2(root / name, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    known = git_names(root, "ls-files", "-z") - set(left_out)
    make_known(sorted(name for name in known if (folder / name).exists()), folder)


def main(options: list[str], root: Path = ROOT) -> int:
    """Run pytest with options; return its exit status."""
    command = [sys.executable, "-m", "pytest", *options]
    left_out = learners_notebooks(root)
    if not left_out:
        os.chdir(root)
        sys.stdout.flush()
        os.execv(sys.executable, command)
    said = ("Edited or made here, so the tests see what git has in their place: "
            + ", ".join(left_out))
    print(said, flush=True)
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        copy = Path(folder, "course")
        copy_course(copy, left_out, root)
        packages = os.pathsep.join([str(copy), str(copy / "simulator" / "src")])
        try:
            status = subprocess.run(command, cwd=copy,
                                    env={**os.environ, "PYTHONPATH": packages}).returncode
        except KeyboardInterrupt:
            status = 130
    print(said)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
