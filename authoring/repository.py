"""What git has of the course's files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path


def has_git(root: Path) -> bool:
    """Whether a folder is a git repository, and not a copy of the course without one."""
    return (root / ".git").exists()


def git(root: Path, *arguments: str, text: str | None = None, **variables: str) -> str:
    """What a git command prints that gets `text` as its input, and environment variables."""
    return subprocess.run(["git", "-C", str(root), "--literal-pathspecs", *arguments], input=text,
                          env=os.environ | variables, capture_output=True, encoding="utf-8",
                          check=True).stdout


def git_names(root: Path, *arguments: str) -> set[str]:
    """The file names that a git command prints with its option -z."""
    return {name for name in git(root, *arguments).split("\0") if name}


def committed(name: str, root: Path) -> str | None:
    """The text of a file in the last commit; None where it is not in it."""
    if not has_git(root):
        return None
    done = subprocess.run(["git", "-C", str(root), "cat-file", "--filters", f"HEAD:{name}"],
                          capture_output=True)
    return done.stdout.decode("utf-8") if done.returncode == 0 else None


def make_known(names: Iterable[str], root: Path) -> None:
    """Tell git about new files, without staging their content."""
    if has_git(root):
        git_names(root, "add", "--force", "--intent-to-add", "--", *names)
