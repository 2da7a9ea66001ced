"""Which files the tools of this room may overwrite.

A tool overwrites a file only where nothing is lost: git has the file's present content in the last
commit, or a tool has written it. The tools note the digests of what they write.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Set
from pathlib import Path

from .notebook_form import AuthoringError, is_stored_form
from .repository import committed, make_known

WRITTEN = Path("build", "written.json")  # digests by file name


def text_now(name: str, root: Path) -> str | None:
    """The text of a file as it is here; None where there is none."""
    path = root / name
    return path.read_text(encoding="utf-8") if path.exists() else None


def would_be_lost(name: str, root: Path, part: Callable[[str], str] = str) -> bool:
    """Whether a file has a content that neither the last commit nor a tool's note has.

    Parameters
    ----------
    name : str
        As "exercises/03_einsum.ipynb".
    root : Path
        The course's folder.
    part : callable
        What of the file's text a tool overwrites, if not all of it.
    """
    text, before = text_now(name, root), committed(name, root)
    return text is not None and not (before is not None and part(text) == part(before)
                                     or _digest(part(text)) == _notes(root).get(name))


def refuse_to_lose(names: Iterable[str], root: Path, part: Callable[[str], str] = str) -> None:
    """Raise an AuthoringError that names the files whose content `would_be_lost`."""
    if lost := [name for name in names if would_be_lost(name, root, part)]:
        raise AuthoringError(f"{', '.join(lost)}: edited here and not committed, so this would"
                             " destroy work. Commit it, or move it elsewhere. Nothing was written")


def refuse_to_edit(names: Iterable[str], root: Path) -> None:
    """Raise an AuthoringError that names the notebooks in which somebody is at work.

    These are edited and not committed, and they are not in the stored form. `make record` brings
    an author's notebook into that form.
    """
    refuse_to_lose([name for name in names if name.endswith(".ipynb")
                    and not is_stored_form(text_now(name, root) or "")], root)


def update_files(texts: dict[str, str], root: Path, check: bool = False,
                 generated: Set[str] = frozenset()) -> list[str]:
    """Write the files whose text has changed, or with `check` only name them.

    Raises
    ------
    AuthoringError
        When somebody is at work in one of the notebooks, and when one of the files in `generated`
        was edited here; nothing is then written.
    """
    changed = {name: text for name, text in texts.items() if text_now(name, root) != text}
    if not check:
        refuse_to_lose(generated & changed.keys(), root)
        refuse_to_edit(changed, root)
        for name, text in changed.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        note_written(changed, root)
    return list(changed)


def note_written(texts: dict[str, str], root: Path) -> None:
    """Note the texts that a tool has written, by file name, and tell git about new files."""
    notes = {**_notes(root), **{name: _digest(text) for name, text in texts.items()}}
    (root / WRITTEN).parent.mkdir(exist_ok=True)
    (root / WRITTEN).write_text(json.dumps(notes, indent=1) + "\n", encoding="utf-8")
    if texts:
        make_known(texts, root)


def _notes(root: Path) -> dict[str, str]:
    try:
        return json.loads((root / WRITTEN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
