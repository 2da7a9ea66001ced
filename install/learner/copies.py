"""The learner's folder: copies of the notebooks, which are not overwritten once they are changed.

`copy_course` copies what the folder lacks at each `make lab`, and updates it at `make update`. For
each file of the course `.course/copies.json` states where its newest copy is, and two digests of
that copy when it was made: of its bytes, and of its sources. A copy whose sources are still the
same is unchanged, even if it was run. After an interruption `copy_course` can be run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path

from basics import (
    PART,
    ROOT,
    WORK,
    Problem,
    is_writable,
    not_writable,
    one_at_a_time,
    put,
    put_free,
    say,
    shown,
)

from .repository import GitError, content_in, git

FOLDERS = ("notebooks", "exercises", "solutions")
# Links to the course for what notebooks import, and for what the copies and the README link to.
IMPORTED = ("helpers", "checks")
LINKED = (*IMPORTED, "README.md", "README.zh.md", "AGENTS.md", "CONTRIBUTING.md", "LICENSE",
          "LICENSE-CC-BY-4.0", "docs", "tests", "simulator")
PROGRAM = Path(__file__).read_bytes()
COPIES = WORK / ".course" / "copies.json"
# Lessons with a new name: the old name and the new one. A test compares this with git's history.
RENAMED = {
    "07_kernels_and_memory": "08_memory_and_tiles",
    "08_fast_kernels": "11_fast_kernels",
    "09_pycuda_dynamic_compilation": "12_pycuda_dynamic_compilation",
    "10_streams": "14_streams",
    "11_pycuda_cupy_interop": "13_pycuda_cupy_interop",
    "12_attention": "16_attention",
    "13_myths_measured": "19_myths_measured",
    "14_where_next": "20_where_next",
}


def copy_course(update: bool) -> None:
    """Copy what the learner's folder lacks, and with `update` update its unchanged copies.

    A changed copy always stays. If the course has a new edition of it, `update` puts the new
    edition beside it.

    Raises
    ------
    Problem
        Where the learner's folder cannot be used.
    """
    refuse_unusable_folder()
    WORK.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(ROOT), one_at_a_time(WORK):
        if Path(__file__).read_bytes() != PROGRAM:
            # While this waited, another make updated the course. Only its own program knows the
            # new names of lessons.
            os.execv(sys.executable, sys.orig_argv)
        for folder in (*FOLDERS, ".course"):
            for part in (WORK / folder).glob(f".*{PART}"):
                part.unlink()  # a process that was killed left it
        for name in LINKED:
            link(name)
        Copying(update).copy_all()


def refuse_unusable_folder() -> None:
    """Raise a Problem if the learner's folder is in the course, is a course, or is not writable."""
    if WORK == ROOT or (WORK.is_relative_to(ROOT) and WORK != ROOT / "work"):
        raise Problem(f"WORK={WORK} is inside the course: name a folder elsewhere, or none.")
    if (WORK / "install" / "basics.py").exists():
        raise Problem(f"WORK={WORK} is itself a course: name another folder.")
    if not is_writable(WORK):
        raise Problem(not_writable())
    for name in IMPORTED:
        if (WORK / name).exists() and not (WORK / name).is_symlink():
            raise Problem(f"{WORK / name} would be imported instead of the course's {name}: rename"
                          " it and run this again.")


def link(name: str) -> None:
    """Link a file or folder of the course into the learner's folder, and replace no other file."""
    place, target = WORK / name, str(ROOT / name)
    if WORK.is_relative_to(ROOT):
        target = os.path.relpath(target, WORK)  # stays right when the course is moved
    if place.is_symlink():
        old = WORK / os.readlink(place)
        is_of_a_course = not old.exists() or (old.parent / "install").is_dir()
        if os.readlink(place) == target or old.name != name or not is_of_a_course:
            return
        place.unlink()
    if not os.path.lexists(place) and (ROOT / name).exists():
        try:
            os.symlink(target, place)
        except PermissionError:
            pass  # The disk has no links. .venv has what notebooks import.


class Copying:
    """One run of `copy_course` over all files."""

    def __init__(self, update: bool) -> None:
        self.update = update
        self.copies = load_copies()
        self.edited = edited_in_the_course()
        self.updated = self.outdated = 0

    def copy_all(self) -> None:
        """Copy or update each file, and print how many were updated or could be."""
        try:
            for name in course_files():
                content = (ROOT / name).read_bytes()
                original = (self.edited or {}).get(name, content)
                if original is not None:
                    self.copy(name, content, original)
                elif not os.path.lexists(WORK / name):
                    put(WORK / name, content)  # a file that the learner made in the course's folder
            for name in [name for name in self.copies if not (ROOT / name).exists()]:
                self.remove_renamed(name)
        finally:
            save_copies(self.copies)
        if self.updated:
            say(f"Updated, because you had not changed them: {self.updated} files.")
        if self.outdated:
            option = "" if WORK == ROOT / "work" else f" WORK={WORK}"
            say(f"The course has a new edition of {self.outdated} of your files. This updates them"
                f" and keeps what you changed: make update{option}")

    def copy(self, name: str, content: bytes, original: bytes) -> None:
        """Copy or update one file.

        Parameters
        ----------
        name : str
            As "exercises/03_einsum.ipynb".
        content, original : bytes
            The file in the course's folder, and the same file as it is in git.
        """
        new = {"path": name, "sources": sources(original, name), "bytes": digest(original)}
        old = self.copies.get(name)
        if old and not os.path.lexists(WORK / old["path"]):
            old = dict(old, path=name)  # The learner removed the new edition, or renamed it.
        copy = dict(old or new, sources=new["sources"])
        path = WORK / copy["path"]
        if not os.path.lexists(path):
            put(path, original if old else content)
            self.copies[name] = new
            return
        mine = path.read_bytes()
        if sources(mine, name) == new["sources"]:
            if self.update and old and digest(mine) == old["bytes"] != new["bytes"]:
                put(path, original, replace=True)  # Only recorded outputs changed; it was not run.
                copy["bytes"] = new["bytes"]
            self.copies[name] = copy
        elif old and old["sources"] == new["sources"]:
            self.copies[name] = copy  # changed by the learner, and this edition is no newer
        elif not self.update:
            self.outdated += 1
        elif old and sources(mine, name) == old["sources"]:
            self.save_unless_in_git(path, mine)
            put(path, original, replace=True)
            self.copies[name] = dict(new, path=old["path"])
            self.updated += 1
        else:
            beside = put_free(WORK / name, original, "new_edition")
            say(f"{shown(path)} is yours and stays. The new edition is {shown(beside)}.")
            self.copies[name] = dict(new, path=str(beside.relative_to(WORK)))

    def remove_renamed(self, name: str) -> None:
        """Remove the unchanged copy of a file that has a new name in this edition."""
        now, path = new_name(name), WORK / self.copies[name]["path"]
        if now and not self.update:
            self.outdated += 1
            return
        if now and path.exists():
            mine = path.read_bytes()
            if sources(mine, name) == self.copies[name]["sources"]:
                self.save_unless_in_git(path, mine)
                path.unlink()
                self.updated += 1
        if now:
            place = WORK / name
            for mine in sorted(place.parent.glob(f"{place.stem}*{place.suffix}")):
                say(f"{shown(mine)} is yours and stays. The new edition is {shown(WORK / now)}.")
        del self.copies[name]

    def save_unless_in_git(self, path: Path, mine: bytes) -> None:
        """Save what is replaced where git cannot tell that nobody changed it."""
        if self.edited is None:
            put_free(saved(path.relative_to(WORK)), mine)


def course_files() -> list[str]:
    """The notebooks and pages in the course's folder, as "exercises/03_einsum.ipynb"."""
    return [f"{folder}/{path.name}" for folder in FOLDERS
            for path in sorted((ROOT / folder).glob("*"))
            if path.suffix in (".ipynb", ".md") and path.is_file()]


def new_name(name: str) -> str | None:
    """The name in this edition of a file of an earlier one; None if it was not renamed."""
    path = Path(name)
    stem = path.stem
    while stem in RENAMED:
        stem = RENAMED[stem]
    now = str(path.with_name(stem + path.suffix))
    return now if now != name and (ROOT / now).exists() else None


def edited_in_the_course() -> dict[str, bytes | None] | None:
    """The files that were edited or made in the course's own folder, with their content in git.

    A file that is not in git has None. Without git the answer is unknown, and None is returned.
    """
    if not is_writable(ROOT):
        return {}
    try:
        listed = git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--",
                     *FOLDERS)
    except GitError:
        return None
    lines = [line for line in os.fsdecode(listed).split("\0") if line]
    return {line[3:]: None if line[:2] == "??" else content_in("HEAD", line[3:]) for line in lines}


def sources(content: bytes, name: str | Path) -> str:
    """A digest of what people write in a file. In a notebook outputs and metadata do not count.

    Empty cells do not count either: JupyterLab adds one when the last cell is run.
    """
    if Path(name).suffix == ".ipynb":
        try:
            cells = [(cell.get("id"), cell["cell_type"], "".join(cell["source"]),
                      cell.get("attachments")) for cell in json.loads(content)["cells"]]
        except (ValueError, LookupError, TypeError, AttributeError):
            return digest(content)  # It is not a notebook.
        content = json.dumps([cell for cell in cells if cell[2].strip()]).encode()
    return digest(content)


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def saved(name: str | Path) -> Path:
    """Where the learner's version of a file is saved when it has no place beside a copy."""
    return WORK / "kept" / time.strftime("%Y-%m-%d") / name


def note_changed_copy(name: str, original: bytes) -> None:
    """Note that the copy of a file is the learner's version of what is `original` in git."""
    copies = load_copies()
    if name not in copies:
        copies[name] = {"path": name, "sources": sources(original, name), "bytes": digest(original)}
        save_copies(copies)


def load_copies() -> dict[str, dict]:
    """The notes about the copies; none where the file is missing or damaged."""
    try:
        return json.loads(COPIES.read_text(encoding="utf-8"))["copies"]
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def save_copies(copies: dict[str, dict]) -> None:
    """Write the notes about the copies."""
    put(COPIES, (json.dumps({"copies": copies}, indent=1) + "\n").encode(), replace=True)
