"""Run git in the course's folder."""

from __future__ import annotations

import os
import subprocess

from basics import ROOT, Problem, disk_is_full, tells_of_full_disk


class GitError(Problem):
    """git failed; the text has git's own message."""


def git(*arguments: str, given: bytes | None = None) -> bytes:
    """Run git in the course's folder and return what it prints."""
    command = ["git", "--literal-pathspecs", "-C", str(ROOT), *arguments]
    # If this runs in a git hook, these variables name another repository.
    ours = {k: v for k, v in os.environ.items()
            if k not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")}
    try:
        done = subprocess.run(command, input=given, capture_output=True,
                              env=dict(ours, LC_ALL="C", GIT_OPTIONAL_LOCKS="0"))
    except FileNotFoundError:
        raise GitError("git is not installed (Debian, Ubuntu, WSL: sudo apt install git)") from None
    if done.returncode:
        if tells_of_full_disk(done.stderr.decode(errors="replace")):
            raise Problem(disk_is_full())
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        told = [line for line in lines if line.startswith(("fatal:", "error:"))]
        raise GitError(f"git says: {(told or lines)[0]}")
    return done.stdout


def answer(*arguments: str) -> str:
    """What git prints, without spaces around it; an empty text if git fails."""
    try:
        return os.fsdecode(git(*arguments)).strip()
    except GitError:
        return ""


def names(*arguments: str) -> set[str]:
    """The names that git prints with its option -z."""
    return {name for name in os.fsdecode(git(*arguments)).split("\0") if name}


def content_in(revision: str, name: str) -> bytes | None:
    """The content of a file in a commit, or in the index if `revision` is ""; None if it lacks it.

    Line endings are those that git writes in this folder.
    """
    try:
        return git("cat-file", "--filters", f"{revision}:{name}")
    except GitError:
        return None
