"""The course's address on GitHub: the badges that contain it, and writing a new one everywhere."""

from __future__ import annotations

import re
from pathlib import Path

from .notebook_form import FOLDERS, ROOT, AuthoringError, notebooks
from .working_copy import refuse_to_edit

# OWNER/REPO stands for the address until `publish` writes the real one.
REPOSITORY = re.compile(r'Repository = "https://github\.com/([\w.-]+/[\w.-]+)"')


def repository(root: Path = ROOT) -> str:
    """The `owner/name` under which the course is published, as pyproject.toml states it."""
    match = REPOSITORY.search((root / "pyproject.toml").read_text(encoding="utf-8"))
    if match is None:
        raise AuthoringError("pyproject.toml has no Repository in [project.urls]")
    return match[1]


def badges(place: str, root: Path = ROOT) -> str:
    """The badges, in Markdown, that open a notebook on Colab, Kaggle and Binder.

    Parameters
    ----------
    place : str
        The notebook's path in the course, as "notebooks/00_start_here.ipynb".
    root : Path
        The course's folder.
    """
    address = repository(root)
    page = f"{address}/blob/main/{place}"
    return (
        "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
        f"(https://colab.research.google.com/github/{page})"
        " [![Open in Kaggle](https://kaggle.com/static/images/open-in-kaggle.svg)]"
        f"(https://kaggle.com/kernels/welcome?src=https://github.com/{page})"
        " [![Launch Binder](https://mybinder.org/badge_logo.svg)]"
        f"(https://mybinder.org/v2/gh/{address}/main?labpath={place.replace('/', '%2F')})")


def published_files(root: Path = ROOT) -> list[Path]:
    """The files that may contain the course's address: pages, project files and all notebooks."""
    patterns = ("*.md", "CITATION.cff", "docs/**/*.md", "simulator/*.md", "pyproject.toml",
                "simulator/pyproject.toml")
    return [*(path for pattern in patterns for path in sorted(root.glob(pattern))),
            *(path for folder in FOLDERS for path in notebooks(folder, root))]


def publish(new: str, root: Path = ROOT) -> list[str]:
    """Write `owner/name` into every badge, setup cell and page.

    Returns
    -------
    list of str
        The files changed.

    Raises
    ------
    AuthoringError
        When GitHub would not accept `new` as owner/name, and when a notebook was edited here; no
        file is then changed.
    """
    owner, slash, name = new.partition("/")
    if not slash or "/" in name:
        raise AuthoringError(f"{new!r} is not of the form owner/name: make publish REPO=owner/name")
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38}", owner):
        raise AuthoringError(f"{owner!r} cannot be an owner on GitHub: at most 39 letters and"
                             " digits, with single hyphens between them")
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", name) or name in (".", ".."):
        raise AuthoringError(f"{name!r} cannot be a repository on GitHub: at most 100 letters,"
                             " digits, hyphens, dots and underscores")
    if name.endswith(".git"):
        raise AuthoringError(f"{name!r}: leave .git out, the addresses add it where they need it")
    old = repository(root)
    # Only inside addresses: elsewhere `a/b` may be a quotient.
    address = re.compile(rf"(\b(?:github\.com|githubusercontent\.com|com/github|org/v2/gh)/)"
                         rf"{re.escape(old)}(?![\w-]|\.(?!git\b|\s|$))")
    # The README's first commands go into the folder that git names after the repository.
    folder = re.compile(rf"^cd {re.escape(old.partition('/')[2])}$", flags=re.M)
    changed: dict[Path, str] = {}
    for path in published_files(root):
        text = path.read_text(encoding="utf-8")
        replaced = address.sub(lambda found: found[1] + new, text)
        if path.suffix == ".md":
            replaced = folder.sub(f"cd {name}", replaced)
        if replaced != text:
            changed[path] = replaced
    names = [str(path.relative_to(root)) for path in changed]
    refuse_to_edit(names, root)
    for path, replaced in changed.items():
        path.write_text(replaced, encoding="utf-8")
    return names
