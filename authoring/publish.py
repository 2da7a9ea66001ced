"""The course's address on GitHub: the badges that contain it, and texts with another address."""

from __future__ import annotations

import re
from pathlib import Path

from .notebook_form import FOLDERS, ROOT, AuthoringError, notebooks
from .repository import committed

# OWNER/REPO stands for the address; publishing/branch.py makes the branch that has the real one.
BRANCH = "published"
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


def address_of(said: str) -> str:
    """The `owner/name` in what is that already, or the address of a repository on GitHub.

    Raises
    ------
    AuthoringError
        When it is neither, or GitHub would not accept it.
    """
    found = re.fullmatch(r"(?:.*\bgithub\.com[:/])?([A-Za-z0-9][A-Za-z0-9_-]{0,38}/"
                         r"(?!\.\.?$)[A-Za-z0-9._-]{1,100}?)(?:\.git)?/?", said)
    if found is None:
        raise AuthoringError(f"{said!r} is no repository on GitHub: make publish REPO=owner/name")
    return found[1]


def with_address(new: str, root: Path = ROOT) -> dict[str, str]:
    """The files of the last commit that change when `owner/name` replaces the course's address.

    Badges then open the branch `published`, and the README's commands go into the folder that git
    names after the repository. No file here changes.
    """
    old = repository(root)
    # Only inside addresses: elsewhere `a/b` may be a quotient.
    address = re.compile(rf"(\b(?:github\.com|githubusercontent\.com|com/github|org/v2/gh)/)"
                         rf"{re.escape(old)}(?![\w-]|\.(?!git\b|\s|$))((?:/blob)?/main\b)?")
    folder = re.compile(rf"^cd {re.escape(old.partition('/')[2])}$", flags=re.M)
    changed = {}
    for path in published_files(root):
        name = path.relative_to(root).as_posix()
        text = committed(name, root) or ""
        replaced = address.sub(
            lambda found: found[1] + new + (found[2] or "").replace("main", BRANCH), text)
        if path.suffix == ".md":
            replaced = folder.sub(f"cd {new.partition('/')[2]}", replaced)
        if replaced != text:
            changed[name] = replaced
    return changed
