"""A fork publishes itself: a branch has its address, and `main` merges without conflicts.

Bare repositories in a folder stand in for GitHub. What GitHub itself does (starting the workflow,
its permissions, showing the pages) is not tested here.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin

import pytest
import yaml

from authoring.notebook_form import ROOT
from authoring.repository import has_git
from publishing.__main__ import main

FILES = {
    "README.md": "git clone https://github.com/OWNER/REPO.git\ncd REPO\n",
    "pyproject.toml": 'Repository = "https://github.com/OWNER/REPO"\n',
    "notebooks/00.ipynb": "(https://colab.research.google.com/github/OWNER/REPO/blob/main/x)\n"
                          "\n\n\nThe lesson.\n",
    ".github/workflows/site.yml": "on: push\n",
    "helpers/data.bin": "any",
}
BADGE = "https://colab.research.google.com/github/{}/blob/published/x"
# What a step of the workflow calls `make`: the course's code, on the repository where it is called.
MAKE = f"""make() {{ {sys.executable} -c 'import sys, pathlib, publishing.__main__ as it
[said] = [word[5:] for word in sys.argv if word.startswith("REPO=")]
sys.exit(it.main([sys.argv[1], said], pathlib.Path.cwd()))' "$@"; }}
"""


class Repository:
    """A working copy, and the bare repository that it came from."""

    def __init__(self, folder, bare):
        self.root, self.bare = folder, bare
        self("clone", "--quiet", bare.as_uri(), str(folder), at=folder.parent)
        self("config", "user.name", "Ada")
        self("config", "user.email", "ada@localhost")

    def __call__(self, *arguments, at=None):
        return subprocess.run(["git", "-C", str(at or self.root), *arguments], check=True,
                              capture_output=True, text=True).stdout

    def write(self, files):
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        self("add", "--all")
        self("commit", "--quiet", "--message", "work")

    def published(self, name, at="published"):
        return self("show", f"{at}:{name}")


@pytest.fixture
def world(tmp_path):
    """What makes bare repositories, and working copies of them."""
    def bare(name, source=None):
        arguments = (["clone", "--bare", "--depth=1", source.as_uri()] if source
                     else ["init", "--bare", "-bmain"])
        subprocess.run(["git", *arguments, "--quiet", str(tmp_path / name)], check=True)
        return tmp_path / name

    def working(name, bare):
        return Repository(tmp_path / name, bare)

    return bare, working


@pytest.fixture
def upstream(world):
    bare, working = world
    upstream = working("upstream", bare("upstream.git"))
    upstream("checkout", "--quiet", "-B", "main")
    upstream.write(FILES)
    upstream("push", "--quiet", "origin", "main")
    return upstream


def run_workflow(copy, name):
    """The commands of the workflow's job that publishes, in a fresh clone of depth 1."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text(encoding="utf-8"))
    folder = copy.root.with_name(f"{copy.root.name}-runner-{len(os.listdir(copy.root.parent))}")
    subprocess.run(["git", "clone", "--quiet", "--depth=1", "--branch=main", copy.bare.as_uri(),
                    str(folder)], check=True)
    for step in workflow["jobs"]["publish"]["steps"]:
        if "run" in step:
            subprocess.run(["bash", "-ec", MAKE + step["run"]], cwd=folder, check=True,
                           env=os.environ | {"GITHUB_REPOSITORY": name,
                                             "PYTHONPATH": os.pathsep.join(map(str, sys.path))})
    copy("fetch", "--quiet", "origin")


@pytest.mark.parametrize("name", ["ada-l/a.b-c", *(
    pytest.param(name, marks=pytest.mark.slow) for name in ("ada_corp/course", "a--b/.x"))])
def test_a_fork_publishes_itself_and_merges_without_conflicts(world, upstream, name):
    bare, working = world
    fork = working("fork", bare("fork.git", upstream.bare))
    fork("remote", "add", "upstream", upstream.bare.as_uri())
    run_workflow(fork, name)
    there = "origin/published"
    assert BADGE.format(name) in fork.published("notebooks/00.ipynb", there)
    assert f"{name}.git\ncd {name.split('/')[1]}\n" in fork.published("README.md", there)
    assert fork.published("helpers/data.bin", there) == "any"
    assert ".github" not in fork("ls-tree", "-r", "--name-only", there)
    first = fork("rev-parse", there).strip()

    fork.write({"notebooks/00.ipynb": FILES["notebooks/00.ipynb"].replace("The", "My")})
    lesson = FILES["notebooks/00.ipynb"].replace("/x)", "/x) [a new badge]")
    upstream.write({"notebooks/00.ipynb": lesson, "README.md": FILES["README.md"] + "More.\n",
                    ".github/workflows/site.yml": "on: [push]\n"})
    upstream("push", "--quiet", "origin", "main")
    fork("pull", "--quiet", "--no-rebase", "--no-edit", "upstream", "main")
    fork("push", "--quiet", "origin", "main")
    run_workflow(fork, name)
    text = fork.published("notebooks/00.ipynb", there)
    assert BADGE.format(name) in text and "[a new badge]" in text and "My lesson." in text
    assert fork.published("README.md", there).endswith("More.\n")
    assert fork("merge-base", first, there).strip() == first  # the branch grows
    assert not fork("log", "--format=%H", there, "--", ".github").strip()


def test_a_repository_that_is_a_course_of_its_own_is_published_the_same_way(upstream):
    run_workflow(upstream, "owner/first")
    assert BADGE.format("owner/first") in upstream.published("notebooks/00.ipynb",
                                                             "origin/published")


def test_git_is_asked_for_the_address_and_nothing_else_changes(upstream, capsys):
    upstream("remote", "set-url", "origin", "git@github.com:ada/a.b.git")
    (upstream.root / "README.md").write_text("not committed")
    before = upstream("status", "--porcelain"), upstream("rev-parse", "main")
    assert main(["publish"], upstream.root) == 0
    assert capsys.readouterr().out == ("published: 3 files have the address ada/a.b\n"
                                       "git push origin published  # publishes them\n")
    assert "cd a.b" in upstream.published("README.md")
    assert before == (upstream("status", "--porcelain"), upstream("rev-parse", "main"))
    assert (upstream.root / "README.md").read_text() == "not committed"


def refused(root, capsys, *arguments):
    assert main(["publish", *arguments], root) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1
    return said


def test_a_repository_elsewhere_than_on_github_is_told_what_to_say(upstream, tmp_path, capsys):
    assert "REPO=owner/name" in refused(upstream.root, capsys)  # origin is a folder
    upstream("remote", "remove", "origin")
    assert "REPO=owner/name" in refused(upstream.root, capsys)
    assert "no git repository" in refused(tmp_path, capsys, "ada/course")
    assert "published" not in upstream("branch")


def test_a_branch_of_somebody_else_is_not_touched(upstream, capsys):
    upstream("branch", "published")
    assert "rename a branch published of your own" in refused(upstream.root, capsys, "ada/course")
    assert upstream("rev-parse", "published") == upstream("rev-parse", "main")


def test_the_branch_that_is_checked_out_is_not_changed_below_it(upstream, capsys):
    assert main(["publish", "ada/course"], upstream.root) == 0
    upstream("checkout", "--quiet", "published")
    assert "go to the branch main" in refused(upstream.root, capsys, "ada/course")


def test_a_clone_that_lacks_the_branch_cannot_overwrite_it(world, upstream):
    """The push is refused, and nothing is lost."""
    run_workflow(upstream, "ada/course")
    other = world[1]("other", upstream.bare)
    assert main(["publish", "eva/course"], other.root) == 0  # else, in one second, the same commit
    with pytest.raises(subprocess.CalledProcessError):
        other("push", "origin", "published")
    other("branch", "--quiet", "-D", "published")
    other("fetch", "--quiet", "origin", "published:published")
    assert main(["publish", "ada/course"], other.root) == 0
    other("push", "--quiet", "origin", "published")


@pytest.mark.parametrize("branch", ["main", "published"])
def test_the_page_of_badges_leads_to_the_branch_of_whichever_repository_shows_it(branch):
    page = (ROOT / "docs/open_in.md").read_text(encoding="utf-8")
    link = re.search(r"\[the badges of this repository\]\((\S+)\)", page)[1]
    assert urljoin(f"https://github.com/ada/a.b/blob/{branch}/docs/open_in.md", link) == (
        "https://github.com/ada/a.b/blob/published/docs/open_in.md")


@pytest.mark.skipif(not has_git(ROOT), reason="a copy of the course without git")
def test_the_course_itself_keeps_no_other_address(world):
    bare, working = world
    course = working("course", bare("course.git", ROOT))
    assert main(["publish", "ada-l/a.b"], course.root) == 0
    course("checkout", "--quiet", "published")
    left = subprocess.run(["git", "grep", "-lE", r"(github\.com|com/github|v2/gh)/OWNER/REPO"],
                          cwd=course.root, capture_output=True, text=True).stdout.split()
    assert [name for name in left if Path(name).parts[0] not in ("tests", "publishing")] == []
    assert "blob/main" not in (course.root / "docs/open_in.md").read_text(encoding="utf-8")
    page = (course.root / "notebooks/00_start_here.ipynb").read_text(encoding="utf-8")
    assert "https://github.com/ada-l/a.b.git" in page
