"""One address stands in all badges, setup cells and pages, and `make publish` changes it."""

import pytest

from authoring.__main__ import main
from authoring.notebook_form import ROOT, AuthoringError
from authoring.publish import publish, published_files, repository


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


def test_publish_writes_one_address_everywhere(unpublished, commit):
    before, root, now = unpublished
    commit()
    assert set(publish("ada-l/a.b", root)) == set(before)
    assert repository(root) == "ada-l/a.b"
    assert now()["README.md"] == (
        "cd a.b\n[b](https://mybinder.org/v2/gh/ada-l/a.b/main) MY-OWNER/REPO,"
        " github.com/OWNER/REPO-2, OWNER/REPO. See github.com/ada-l/a.b.\n")
    assert now()["docs/teaching.md"] == "git clone https://github.com/ada-l/a.b.git\ncd a.b\n"
    assert "github/ada-l/a.b/blob" in now()["notebooks/00.ipynb"]
    assert "content.com/ada-l/a.b/main" in now()["notebooks/00.ipynb"]
    assert publish("ada-l/a.b", root) == []
    commit()
    assert set(publish("OWNER/REPO", root)) == set(before)
    assert now() == before


def test_publish_refuses_over_a_notebook_that_was_edited_here(unpublished, commit):
    _, root, now = unpublished
    commit()
    (root / "notebooks/00.ipynb").write_text("github.com/OWNER/REPO, and what a learner wrote")
    before = now()
    with pytest.raises(AuthoringError, match=r"^notebooks/00.ipynb: edited here and not committed"):
        publish("ada-l/a.b", root)
    assert now() == before


@pytest.mark.parametrize("name, words", [
    ("", "owner/name"), ("no slash", "owner/name"), ("one", "owner/name"),
    ("https://github.com/ada/course", "owner/name"), ("a/b/c", "owner/name"),
    ("ada-/course", "owner on GitHub"), ("a--b/course", "owner on GitHub"),
    ("ada lovelace/course", "owner on GitHub"), ("a" * 40 + "/course", "owner on GitHub"),
    ("ada/", "repository on GitHub"), ("ada/..", "repository on GitHub"),
    ("ada/x y", "repository on GitHub"), ("ada/" + "x" * 101, "repository on GitHub"),
    ("ada/course.git", "leave .git out"),
])
def test_publish_refuses_an_impossible_address(unpublished, capsys, name, words):
    before, root, now = unpublished
    assert main(["publish", name] if name else ["publish"], root) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and words in said and said.count("\n") == 1
    assert now() == before
