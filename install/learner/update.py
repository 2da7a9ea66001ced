"""`make update`: bring the course, and then the learner's folder, to the newest edition.

git refuses to update files that were edited, and names under which a file of the learner's already
exists. So these files are first saved in the learner's folder. After an interruption at any step
the update can be run again.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

from basics import ROOT, WORK, Problem, is_writable, one_at_a_time, put_free, say, shown

from . import copies
from .repository import GitError, answer, content_in, git, names


def update() -> None:
    """Update the course from its upstream branch, and the learner's folder from the course.

    Raises
    ------
    Problem
        Where the course could not be updated. Without a network nothing is changed; otherwise the
        learner's folder is updated all the same.
    """
    copies.refuse_unusable_folder()
    problem = None
    if not is_writable(ROOT):
        say(f"{ROOT} is not yours to update: your own files are brought to its edition.")
    elif not (ROOT / ".git").exists():
        say("This course was not made by git clone, so nothing is fetched. Unpack the new edition"
            f" into another folder, and run there: make update WORK={WORK}")
    else:
        with one_at_a_time(ROOT):
            problem = reason_to_stop() or update_course()
        if not problem:
            # The new edition's own program continues, because it knows the new names of lessons.
            os.execv(sys.executable, [sys.executable, str(ROOT / "install"), "work"])
    copies.copy_course(update=True)
    if problem:
        raise Problem(problem)


def reason_to_stop() -> str | None:
    """One line that says why this repository cannot be updated; None if it can."""
    git("rev-parse", "--git-dir")
    branch = answer("symbolic-ref", "-q", "--short", "HEAD")
    if not branch:
        return "The course's folder is on no branch: run git switch main, then this again."
    if not answer("rev-parse", "-q", "--verify", "@{upstream}"):
        return (f"Branch {branch} has no upstream branch: run git branch --set-upstream-to="
                "origin/main, then this again.")
    if answer("rev-parse", "-q", "--verify", "MERGE_HEAD"):
        return "A merge is unfinished: run git commit or git merge --abort, then this again."
    lock = Path(ROOT, answer("rev-parse", "--git-path", "index.lock"))
    for _ in range(50):
        if not lock.exists():
            return None
        time.sleep(0.1)
    return f"Another git runs here, or was killed. If none runs: rm '{lock}', then this again."


def update_course() -> str | None:
    """Fetch the new edition and check it out; return why not, in one line, or None.

    Raises
    ------
    Problem
        Without a network, and where git fails.
    """
    branch = answer("symbolic-ref", "--short", "HEAD")
    upstream = answer("rev-parse", "--abbrev-ref", "@{upstream}")
    say("Fetching the new edition.")
    try:
        git("fetch", "--quiet", answer("config", f"branch.{branch}.remote"))
    except GitError as error:
        raise Problem("The new edition cannot be fetched. Connect this machine to the network and"
                      f" run this again. Nothing was changed. ({error})") from None
    new = answer("rev-parse", "@{upstream}")
    if not git("rev-list", "--max-count=1", f"HEAD..{new}"):
        say("The course is up to date.")
        return None
    if git("rev-list", "--max-count=1", f"{new}..HEAD"):
        return (f"This folder has commits that {upstream} lacks, perhaps your own: run"
                f" git merge {upstream}, then this again.")
    save_local_changes(new)
    try:
        git("merge", "--quiet", "--ff-only", new)
    except GitError as error:
        raise Problem("git could not check out all of the new edition. None of your work is lost:"
                      f" correct this and run it again. ({error})") from None
    say(f"The course is now the edition of {answer('log', '-1', '--format=%cs')}.")
    return None


def save_local_changes(new: str) -> None:
    """Save each file over which git would refuse to check out commit `new`; restore git's file."""
    changed = names("diff", "--name-only", "--no-renames", "-z", "HEAD", new)
    staged = names("diff", "--name-only", "--no-renames", "-z", "--cached", "HEAD")
    edited = names("diff", "--name-only", "--no-renames", "-z", "HEAD") | staged
    in_head = names("ls-tree", "-r", "--name-only", "-z", "HEAD")
    unknown = changed - names("ls-files", "-z")
    already_new, restored, unstaged = [], [], []
    WORK.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(WORK):
        for name in sorted(changed & edited | unknown):
            path = obstructing_path(name)
            if path == ROOT / name and path.is_file() and (
                    path.read_bytes() == content_in(new, name)):
                already_new.append(name)  # by an update that was interrupted
                continue
            if path:
                save(path, new, name in staged)
            if name in in_head:
                restored.append(name)
            elif path:
                path.unlink(missing_ok=True)
            if name in staged and name not in in_head:
                unstaged.append(name)
    if already_new:
        listed = git("ls-tree", "-r", "-z", new, "--", *already_new)
        git("update-index", "-z", "--index-info", given=listed)
    if unstaged:
        git("rm", "--quiet", "--cached", "--force", "--", *unstaged)
    if restored:
        git("checkout", "--quiet", "HEAD", "--", *restored)


def obstructing_path(name: str) -> Path | None:
    """What exists at the path of a file, or a file where one of its folders would be; or None."""
    path = ROOT
    for part in Path(name).parts:
        path = path / part
        if not path.is_dir() or path.is_symlink():
            break
    return path if os.path.lexists(path) else None


def save(path: Path, new: str, is_staged: bool) -> None:
    """Copy what the learner wrote in a file, if anything, into the learner's folder; say where."""
    name = str(path.relative_to(ROOT))
    if path.is_symlink() or path.is_dir():
        place = copies.saved(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        while os.path.lexists(place):
            place = place.with_name(f"{place.name}_")
        shutil.move(path, place)
        say(f"{name} had a name that the new edition needs. It is now {shown(place)}.")
        return
    in_head, in_new = content_in("HEAD", name), content_in(new, name) or b""
    for mine in (path.read_bytes(), content_in("", name) if is_staged else None):
        # Part of the new edition was written by a git that was killed. It is nobody's work.
        if mine is None or in_new.startswith(mine):
            continue
        if in_head is not None and copies.sources(mine, name) == copies.sources(in_head, name):
            continue
        if name.split("/")[0] in copies.FOLDERS and name.endswith(".ipynb"):
            place = put_free(WORK / name, mine, "mine")
            if place == WORK / name and in_head is not None:
                copies.note_changed_copy(name, in_head)
        else:
            place = put_free(copies.saved(name), mine)
        say(f"{name} had changes of yours. They are now in {shown(place)}.")
