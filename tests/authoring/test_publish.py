"""One address stands in all badges, setup cells and pages, and `make publish` replaces it."""

import pytest

from authoring.notebook_form import ROOT, AuthoringError
from authoring.publish import address_of, published_files, repository, with_address


@pytest.fixture
def unpublished(tmp_path):
    """A course of six files: their texts by name, its folder, and what reads the texts again."""
    files = {
        "README.md": "cd REPO\n[b](https://mybinder.org/v2/gh/OWNER/REPO/main) MY-OWNER/REPO,"
                     " github.com/OWNER/REPO-2, OWNER/REPO. See github.com/OWNER/REPO.\n",
        "pyproject.toml": 'Repository = "https://github.com/OWNER/REPO"\n',
        "simulator/pyproject.toml": 'Repository = "https://github.com/OWNER/REPO"\n',
        "simulator/README.md": "pip install git+https://github.com/OWNER/REPO.git",
        "docs/teaching.md": "git clone https://github.com/OWNER/REPO.git\ncd REPO\n",
        "notebooks/00.ipynb": "(https://colab.research.google.com/github/OWNER/REPO/blob/main/x)"
                              "(https://raw.githubusercontent.com/OWNER/REPO/main/x)",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return files, tmp_path, lambda: {name: (tmp_path / name).read_text() for name in files}


def test_no_file_with_the_address_is_forgotten():
    address = f"github.com/{repository()}"
    written = {path for kind in ("*.md", "*.toml", "*.ipynb", "*.yml", "*.yaml")
               for path in ROOT.rglob(kind)
               if not {".venv", "build", "work"} & set(path.relative_to(ROOT).parts)
               and address in path.read_text(encoding="utf-8", errors="replace")}
    assert len(written) > 30 and written <= set(published_files())


def test_one_address_is_written_everywhere(unpublished, commit):
    before, root, now = unpublished
    commit()
    texts = with_address("ada-l/a.b", root)
    assert set(texts) == set(before)
    assert texts["README.md"] == (
        "cd a.b\n[b](https://mybinder.org/v2/gh/ada-l/a.b/published) MY-OWNER/REPO,"
        " github.com/OWNER/REPO-2, OWNER/REPO. See github.com/ada-l/a.b.\n")
    assert texts["docs/teaching.md"] == "git clone https://github.com/ada-l/a.b.git\ncd a.b\n"
    assert texts["notebooks/00.ipynb"] == (
        "(https://colab.research.google.com/github/ada-l/a.b/blob/published/x)"
        "(https://raw.githubusercontent.com/ada-l/a.b/published/x)")
    assert now() == before


def test_what_is_edited_and_not_committed_stays_out(unpublished, commit):
    _, root, now = unpublished
    commit()
    (root / "notebooks/00.ipynb").write_text("github.com/OWNER/REPO, and what a learner wrote")
    (root / "notebooks/01.ipynb").write_text("github.com/OWNER/REPO, not added")
    texts = with_address("ada-l/a.b", root)
    assert "learner" not in texts["notebooks/00.ipynb"] and "notebooks/01.ipynb" not in texts
    assert "learner" in now()["notebooks/00.ipynb"]


def test_the_published_text_has_the_address_that_its_badges_have(unpublished, commit):
    """A fork of what is published, as a course of its own, can be published again."""
    before, root, _ = unpublished
    commit()
    for name, text in with_address("ada_corp/a.b", root).items():
        (root / name).write_text(text)
    commit()
    assert repository(root) == "ada_corp/a.b"
    again = with_address("c/d", root)
    assert set(again) == set(before) and "gh/c/d/published" in again["README.md"]


@pytest.mark.parametrize("said, address", [
    ("ada/course", "ada/course"), ("ada-l/a.b_c-d", "ada-l/a.b_c-d"), ("a--b-/x", "a--b-/x"),
    ("ada_corp/course", "ada_corp/course"), ("ada/.github", "ada/.github"),
    ("https://github.com/ada/course", "ada/course"), ("ada/course.git", "ada/course"),
    ("https://token@github.com/ada/a.b.git", "ada/a.b"), ("ada/course/", "ada/course"),
    ("git@github.com:ada/a.b.git", "ada/a.b"), ("ssh://git@github.com/ada/a.b", "ada/a.b"),
])
def test_an_address_is_understood(said, address):
    assert address_of(said) == address


@pytest.mark.parametrize("said", [
    "", "one", "a/b/c", "ada/", "ada/..", "ada/x y", "ada lovelace/course", "-ada/course",
    "a" * 40 + "/course", "ada/" + "x" * 101, "/srv/ada/course.git", "../ada/course",
    "https://gitlab.com/ada/course.git", "https://notgithub.com/ada/course", "git@host:ada/course",
])
def test_an_impossible_address_is_refused(said):
    with pytest.raises(AuthoringError, match="no repository on GitHub: make publish REPO=owner"):
        address_of(said)
