"""`make update`: the new edition of the course, over nothing of the learner's.

git refuses a new edition where somebody edited a file that it changes, or has a file of a name
that it adds. So those files are first copied into the learner's folder, then given back to git.
Each step leaves a state from which all of it can be run again.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import learner
from basics import ROOT, WORK, Problem, is_writable, one_at_a_time, put_free, say, shown
from repository import GitError, answer, content_in, git, names


def update() -> None:
    """Bring the course, then the learner's folder, to the new edition."""
    learner.refuse_other_places()
    if not is_writable(ROOT):
        say(f"{ROOT} is brought to a new edition by whoever may write there; your files follow it.")
    elif not (ROOT / ".git").exists():
        say("This course was not made by git clone, so nothing is fetched: unpack the new edition"
            f" into a folder of its own and run there: make update WORK={WORK}")
    else:
        with one_at_a_time(ROOT):
            problem = obstacle() or bring_course()
        if not problem:
            # The new edition knows which of its lessons had other names before.
            os.execv(sys.executable, [sys.executable, str(ROOT / "install"), "work"])
        learner.bring(new_edition=True)
        raise Problem(problem)
    learner.bring(new_edition=True)


def obstacle() -> str | None:
    """Why this repository cannot be brought to a new edition, in one line; None where it can."""
    git("rev-parse", "--git-dir")
    branch = answer("symbolic-ref", "-q", "--short", "HEAD")
    if not branch:
        return "The course's folder is on no branch (detached HEAD): git switch main, then again."
    if not answer("rev-parse", "-q", "--verify", "@{upstream}"):
        return (f"Branch {branch} follows no branch elsewhere, so nothing is fetched:"
                " git branch --set-upstream-to=origin/main, then again.")
    if answer("rev-parse", "-q", "--verify", "MERGE_HEAD"):
        return "A merge of yours is not finished: git commit, or git merge --abort, then again."
    lock = Path(ROOT, answer("rev-parse", "--git-path", "index.lock"))
    for _ in range(50):
        if not lock.exists():
            return None
        time.sleep(0.1)
    return f"Another git is at work here, or was killed: where none runs, rm {lock}, then again."


def bring_course() -> str | None:
    """Fetch and bring the new edition; return why not, in one line, where it cannot be brought."""
    upstream = answer("rev-parse", "--abbrev-ref", "@{upstream}")
    say("Fetching the new edition.")
    try:
        branch = answer("symbolic-ref", "--short", "HEAD")
        git("fetch", "--quiet", answer("config", f"branch.{branch}.remote"))
    except GitError as error:
        raise Problem(f"The new edition cannot be fetched: connect this machine to the network and"
                      f" run this again; nothing was changed. ({error})") from None
    there = answer("rev-parse", "@{upstream}")
    if not git("rev-list", "--max-count=1", f"HEAD..{there}"):
        say("The course is up to date.")
        return None
    if git("rev-list", "--max-count=1", f"{there}..HEAD"):
        return (f"This folder has commits that {upstream} lacks, as where you committed work of"
                f" yours: git merge {upstream}, then again.")
    protect(there)
    try:
        git("merge", "--quiet", "--ff-only", there)
    except GitError as error:
        raise Problem(f"git could not bring all of the new edition: mend that and run this again;"
                      f" nothing of yours is lost. ({error})") from None
    say(f"The course is now the edition of {answer('log', '-1', '--format=%cs')}.")
    return None


def protect(there: str) -> None:
    """Give back to git what it would refuse over, once that is safe in the learner's folder."""
    changed = names("diff", "--name-only", "--no-renames", "-z", "HEAD", there)
    staged = names("diff", "--name-only", "--no-renames", "-z", "--cached", "HEAD")
    edited = names("diff", "--name-only", "--no-renames", "-z", "HEAD") | staged
    before = names("ls-tree", "-r", "--name-only", "-z", "HEAD")
    arrived, restored, unstaged = [], [], []
    WORK.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(WORK):
        for name in sorted(changed & edited | changed - names("ls-files", "-z")):
            path = in_the_way(name)
            if path == ROOT / name and path.is_file() and (
                    path.read_bytes() == content_in(there, name)):
                arrived.append(name)  # by an update that was broken off
                continue
            if path:
                secure(path, there, name in staged)
            if name in before:
                restored.append(name)
            elif path:
                path.unlink(missing_ok=True)
            if name in staged and name not in before:
                unstaged.append(name)
    if arrived:
        listed = git("ls-tree", "-r", "-z", there, "--", *arrived)
        git("update-index", "-z", "--index-info", given=listed)
    if unstaged:
        git("rm", "--quiet", "--cached", "--force", "--", *unstaged)
    if restored:
        git("checkout", "--quiet", "HEAD", "--", *restored)


def in_the_way(name: str) -> Path | None:
    """What is where the new edition has the file `name`, or a file where it has a folder."""
    path = ROOT
    for part in Path(name).parts:
        path = path / part
        if not path.is_dir() or path.is_symlink():
            break
    return path if os.path.lexists(path) else None


def secure(path: Path, there: str, staged: bool) -> None:
    """Copy what the learner made of a file, if anything, into the learner's folder; say where."""
    name = str(path.relative_to(ROOT))
    if path.is_symlink() or path.is_dir():
        place = learner.kept(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        while os.path.lexists(place):
            place = place.with_name(f"{place.name}_")
        shutil.move(path, place)
        say(f"{name} was in the way of the new edition's; it is now {shown(place)}")
        return
    old, new = content_in("HEAD", name), content_in(there, name) or b""
    for mine in (path.read_bytes(), content_in("", name) if staged else None):
        # Nothing, or what a git that was killed has written so far, is nobody's work.
        if mine is None or new.startswith(mine) or (
                old is not None and learner.sources(mine, name) == learner.sources(old, name)):
            continue
        if name.startswith(learner.PLACES) and name.endswith(".ipynb"):
            place = put_free(WORK / name, mine, "mine")
            if place == WORK / name and old is not None:
                learner.note_copy(name, old)
        else:
            place = put_free(learner.kept(name), mine)
        say(f"{name} had changes of yours, which are now in {shown(place)}")
