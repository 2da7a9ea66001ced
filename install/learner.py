"""The learner's own folder: copies of the notebooks that nothing of ours changes once they differ.

`bring` fills the folder at each `make lab` and brings it to a new edition at `make update`. For
each file of the course `.course/copies.json` has where its latest copy was put, and two digests
of it as it was copied: of all its bytes, and of its sources. A copy with the same sources is
unchanged, also where it was run. Whatever was broken off, `bring` can be run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

from basics import PART, ROOT, WORK, Problem, is_writable, one_at_a_time, put, put_free, say, shown
from repository import GitError, content_in, git

FOLDERS = ("notebooks", "exercises", "solutions")
PLACES = tuple(f"{folder}/" for folder in FOLDERS)
# What the copies and the README link to, or import. The links follow the course when it moves.
LINKED = ("README.md", "LICENSE", "LICENSE-CC-BY-4.0", "docs", "tests", "simulator", "helpers",
          "checks")
IMPORTED = ("helpers", "checks")
COPIES = WORK / ".course" / "copies.json"
# Lessons that got another name: what a file was called and what it is called now. A test holds
# this against git's history.
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


def bring(new_edition: bool) -> None:
    """Copy what the learner's folder lacks; bring a new edition to its unchanged copies.

    Parameters
    ----------
    new_edition : bool
        Whether copies of an earlier edition are brought to that of the course's folder. The
        learner's changes are kept in any case: a changed copy stays, and the new edition is put
        beside it.
    """
    refuse_other_places()
    WORK.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(ROOT), one_at_a_time(WORK):
        for folder in (*FOLDERS, ".course"):
            for left in (WORK / folder).glob(f".*{PART}"):
                left.unlink()  # by one that was killed
        for name in LINKED:
            link(name)
        copies = load_copies()
        try:
            later = Bringing(copies, new_edition).all_files()
        finally:
            save_copies(copies)
    if later:
        say(f"There is a new edition of {later} of your files; this brings it, and keeps what you"
            f" changed: make update{'' if WORK == ROOT / 'work' else f' WORK={WORK}'}")


def refuse_other_places() -> None:
    """Raise a Problem where the learner's folder cannot be: in this course or another one."""
    if WORK == ROOT or (WORK.is_relative_to(ROOT) and WORK != ROOT / "work"):
        raise Problem(f"WORK={WORK} is inside the course: name a folder elsewhere, or none.")
    if (WORK / "install" / "learner.py").exists():
        raise Problem(f"WORK={WORK} is itself a course: name another folder.")
    if not is_writable(WORK):
        raise Problem(f"{WORK} cannot be written to: name a folder of your own, as in"
                      " make lab WORK=~/my-course")
    for name in IMPORTED:
        if (WORK / name).exists() and not (WORK / name).is_symlink():
            raise Problem(f"{WORK / name} would be imported instead of the course's {name}: give"
                          " it another name.")


def link(name: str) -> None:
    """Link a file or folder of the course into the learner's, but over nothing of the learner's."""
    place, target = WORK / name, os.path.relpath(ROOT / name, WORK)
    if not WORK.is_relative_to(ROOT):
        target = str(ROOT / name)
    if place.is_symlink():
        old = WORK / os.readlink(place)
        if os.readlink(place) == target or old.name != name or (
                old.exists() and not (old.parent / "install").is_dir()):
            return
        place.unlink()  # it led to where this course was, or to another one
    if not os.path.lexists(place) and (ROOT / name).exists():
        try:
            os.symlink(target, place)
        except PermissionError:
            pass  # A disk without links: what the notebooks link to is in the course's folder.


class Bringing:
    """One run of `bring` over all files."""

    def __init__(self, copies: dict[str, dict], new_edition: bool) -> None:
        self.copies = copies
        self.new_edition = new_edition
        self.brought = 0
        self.later = 0  # copies of an earlier edition, left for `make update`
        self.edited = edited_in_the_course()

    def all_files(self) -> int:
        """Bring each file; return how many copies are left for `make update`."""
        for name in course_files():
            content = (ROOT / name).read_bytes()
            original = (self.edited or {}).get(name, content)
            if original is not None:
                self.one(name, content, original)
            elif not os.path.lexists(WORK / name):
                put(WORK / name, content)  # the learner's own, made in the course's folder
        for name in [name for name in self.copies if not (ROOT / name).exists()]:
            self.renamed(name)
        if self.brought:
            say(f"Brought to the new edition, as you had not changed them: {self.brought} files.")
        return self.later

    def one(self, name: str, content: bytes, original: bytes) -> None:
        """Bring one file: `content` is what the course's folder has, `original` what git has."""
        new = {"path": name, "sources": sources(original, name), "bytes": digest(original)}
        old = self.copies.get(name)
        if old and not os.path.lexists(WORK / old["path"]):
            old = dict(old, path=name)  # the learner has put the new edition in the old one's place
        copy = dict(old or new, sources=new["sources"])
        path = WORK / copy["path"]
        if not os.path.lexists(path):
            put(path, original if old else content)
            self.copies[name] = new
            return
        mine = path.read_bytes()
        if sources(mine, name) == new["sources"]:
            if self.new_edition and old and digest(mine) == old["bytes"] != new["bytes"]:
                put(path, original, over=True)  # never run, and recorded anew since
                copy["bytes"] = new["bytes"]
            self.copies[name] = copy
        elif old and old["sources"] == new["sources"]:
            self.copies[name] = copy  # the learner's, from this same edition
        elif not self.new_edition:
            self.later += 1
        elif old and sources(mine, name) == old["sources"]:
            self.replace(path, mine)
            put(path, original, over=True)
            self.copies[name] = dict(new, path=old["path"])
        else:
            beside = put_free(WORK / name, original, "new_edition")
            say(f"{shown(path)} is yours and stays; the new edition is {shown(beside)}")
            self.copies[name] = dict(new, path=str(beside.relative_to(WORK)))

    def renamed(self, name: str) -> None:
        """Take away the unchanged copy of a file that the course has under another name now."""
        now, old = successor(name), self.copies[name]
        if now and not self.new_edition:
            self.later += 1
            return
        path = WORK / old["path"]
        if now and path.exists() and sources(path.read_bytes(), name) == old["sources"]:
            self.replace(path, path.read_bytes())
            path.unlink()
        if now and (WORK / name).exists():
            say(f"{shown(WORK / name)} is yours and stays; the new edition is {shown(WORK / now)}")
        del self.copies[name]

    def replace(self, path: Path, mine: bytes) -> None:
        """Count an unchanged copy that goes; keep it where git cannot tell that it is unchanged."""
        self.brought += 1
        if self.edited is None:
            put_free(kept(path.relative_to(WORK)), mine)


def course_files() -> list[str]:
    """The notebooks and pages of the course's folder, as "exercises/03_einsum.ipynb"."""
    return [f"{folder}/{path.name}" for folder in FOLDERS
            for path in sorted((ROOT / folder).glob("*"))
            if path.suffix in (".ipynb", ".md") and path.is_file()]


def successor(name: str) -> str | None:
    """What a file of an earlier edition is called in this one, where it got another name."""
    path = Path(name)
    stem = path.stem
    while stem in RENAMED:
        stem = RENAMED[stem]
    now = str(path.with_name(stem + path.suffix))
    return now if now != name and (ROOT / now).exists() else None


def edited_in_the_course() -> dict[str, bytes | None] | None:
    """Files that somebody edited in the course's own folder, with what git has in their place.

    Files that git does not know have None. Returns None where nobody can tell what was edited.
    """
    if not is_writable(ROOT):
        return {}
    try:
        listed = git("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--",
                     *FOLDERS)
        return {name: None if mark == "??" else content_in("HEAD", name)
                for mark, name in ((line[:2], line[3:])
                                   for line in os.fsdecode(listed).split("\0") if line)}
    except (OSError, GitError):
        return None


def sources(content: bytes, name: str | Path) -> str:
    """A digest of what people write in a file: a notebook's outputs and metadata do not count.

    Nor do empty cells, of which JupyterLab adds one where the last cell is run.
    """
    if Path(name).suffix == ".ipynb":
        try:
            cells = [(cell.get("id"), cell["cell_type"], "".join(cell["source"]),
                      cell.get("attachments")) for cell in json.loads(content)["cells"]]
        except (ValueError, LookupError, TypeError, AttributeError):
            return digest(content)  # no notebook any more
        content = json.dumps([cell for cell in cells if cell[2].strip()]).encode()
    return digest(content)


def digest(content: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def kept(name: str | Path) -> Path:
    """Where something of the learner's is kept that has no other place."""
    return WORK / "kept" / time.strftime("%Y-%m-%d") / name


def note_copy(name: str, original: bytes) -> None:
    """Note that the learner's folder has a changed copy of what git has as `original`."""
    copies = load_copies()
    if name not in copies:
        copies[name] = {"path": name, "sources": sources(original, name), "bytes": digest(original)}
        save_copies(copies)


def load_copies() -> dict[str, dict]:
    """What is known of the copies; nothing where that file is missing or broken."""
    try:
        return json.loads(COPIES.read_text(encoding="utf-8"))["copies"]
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def save_copies(copies: dict[str, dict]) -> None:
    """Write what is known of the copies."""
    put(COPIES, (json.dumps({"copies": copies}, indent=1) + "\n").encode(), over=True)
