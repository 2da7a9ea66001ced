"""What a learner has made is never lost: the folder of their own, `make update`, `make clean`.

Each test has a small course of its own, with an upstream repository and a learner's clone, and runs
`python install` as `make` does.
"""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IDENTITY = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")}
ENVIRONMENT = {**{k: v for k, v in os.environ.items()
                  if not k.startswith(("GIT_", "COURSE_", "MAKE", "PYTHONDONTWRITE"))},
               **IDENTITY,
               "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
LESSONS = ("00_start_here", "03_einsum", "05_numpy_to_cupy", "08_fast_kernels")


def notebook(*cells, output=None):
    """A notebook's text; `output` is what its last cell has printed."""
    made = [{"cell_type": "code", "execution_count": None, "id": f"c{k}", "metadata": {},
             "outputs": [], "source": [cell]} for k, cell in enumerate(cells)]
    if output:
        made[-1].update(execution_count=7, metadata={"execution": {}}, outputs=[
            {"name": "stdout", "output_type": "stream", "text": [output]}])
    return json.dumps({"cells": made, "metadata": {"language_info": {"version": output}},
                       "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def git(folder, *arguments):
    done = subprocess.run(["git", "-C", str(folder), *arguments], env=ENVIRONMENT, check=True,
                          capture_output=True, text=True)
    return done.stdout


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class Course:
    """An upstream with a first edition, and a learner's clone of it in `root`."""

    def __init__(self, folder, with_update=True):
        self.folder = folder
        self.upstream, self.author = folder / "upstream.git", folder / "author"
        self.root = folder / "my course"
        self.work = self.root / "work"
        self.author.mkdir()
        if with_update:
            self.add_update()
        for lesson in LESSONS:
            for kind in ("notebooks", "exercises", "solutions"):
                write(self.author / kind / f"{lesson}.ipynb", notebook(f"{kind} {lesson}", "todo"))
        for name in ("README.md", "LICENSE", "notebooks/glossary.md", "helpers/tool.py",
                     "helpers/__init__.py", "checks/__init__.py", "docs/teaching.md"):
            write(self.author / name, f"# {name}\n")
        git(folder, "init", "--quiet", "-b", "main", str(self.author))
        self.commit("first edition")
        git(folder, "clone", "--quiet", "--bare", str(self.author), str(self.upstream))
        git(self.author, "remote", "add", "origin", str(self.upstream))
        git(folder, "clone", "--quiet", str(self.upstream), str(self.root))

    def add_update(self):
        """What the first edition did not have."""
        shutil.copytree(ROOT / "install", self.author / "install",
                        ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / ".gitignore", self.author)
        shutil.copy(ROOT / "Makefile", self.author)

    def commit(self, message):
        git(self.author, "add", "--all", "--force")
        git(self.author, "commit", "--quiet", "-m", message)

    def publish(self):
        """Commit what the author did, and push it."""
        self.commit("new edition")
        git(self.author, "push", "--quiet", "origin", "main")

    def new_edition(self, *names):
        """Publish another source cell for each of the notebooks."""
        for name in names:
            write(self.author / name, notebook(f"{name} new edition", "todo"))
        self.publish()

    def run(self, *arguments, root=None, **variables):
        """Run `python install`; its exit status and all that it printed."""
        done = subprocess.run([sys.executable, "install", *arguments], cwd=root or self.root,
                              env={**ENVIRONMENT, **variables}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def ok(self, *arguments, **variables):
        status, said = self.run(*arguments, **variables)
        assert status == 0, said
        assert "Traceback" not in said
        return said

    def fill(self, **variables):
        """What `make lab` does before JupyterLab."""
        code = "from learner import copies; copies.copy_course(update=False)"
        done = subprocess.run([sys.executable, "-c", code], cwd=self.root / "install", text=True,
                              env={**ENVIRONMENT, **variables}, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def is_new(self):
        return git(self.root, "rev-parse", "HEAD") == git(self.upstream, "rev-parse", "main")


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


def everything(*folders):
    """The text of every file, by name; links, git's files and compiled Python are left out."""
    return {str(path): path.read_text() for folder in folders for path in folder.rglob("*")
            if path.is_file() and not path.is_symlink() and ".git" not in path.parts
            and ".pyc" not in path.name}  # one that is half written has a number behind it


def same(path, text):
    return path.read_text() == text


# The learner's folder


def test_the_folder_has_all_notebooks_and_git_does_not_see_it(course):
    course.fill()
    for kind in ("notebooks", "exercises", "solutions"):
        for lesson in LESSONS:
            name = f"{kind}/{lesson}.ipynb"
            assert same(course.work / name, (course.root / name).read_text())
    assert same(course.work / "notebooks/glossary.md", "# notebooks/glossary.md\n")
    assert git(course.root, "status", "--porcelain") == ""


def test_filling_again_overwrites_nothing_and_copies_what_was_deleted(course):
    course.fill()
    answered, deleted = (course.work / f"exercises/{name}.ipynb" for name in LESSONS[:2])
    answered.write_text(notebook("exercises 00", "my answer"))
    deleted.unlink()
    (course.work / "notes.txt").write_text("mine")
    before = everything(course.work)
    course.fill()
    after = everything(course.work)
    assert before.items() <= after.items()
    assert set(after) - set(before) == {str(deleted)}


def test_what_a_killed_run_has_begun_to_write_is_removed(course):
    course.fill()
    begun = course.work / "exercises/.03_einsum.ipynb.course-part"
    begun.write_text("half of")
    course.fill()
    assert not begun.exists()


def test_a_file_of_the_learners_that_was_there_first_stays(course):
    mine = course.work / "exercises/03_einsum.ipynb"
    write(mine, notebook("mine from the start"))
    course.fill()
    course.ok("work")
    assert same(mine, notebook("mine from the start"))
    beside = mine.with_name("03_einsum_new_edition.ipynb")
    assert same(beside, (course.root / "exercises/03_einsum.ipynb").read_text())


def test_what_was_edited_in_the_courses_folder_is_in_the_copy(course):
    write(course.root / "exercises/03_einsum.ipynb", notebook("exercises 03", "answered here"))
    write(course.root / "exercises/mine_07.ipynb", notebook("my own"))
    course.fill()
    assert "answered here" in (course.work / "exercises/03_einsum.ipynb").read_text()
    assert "my own" in (course.work / "exercises/mine_07.ipynb").read_text()
    course.new_edition("exercises/03_einsum.ipynb")
    git(course.root, "checkout", "--quiet", "exercises/03_einsum.ipynb")
    course.ok("update")
    assert "answered here" in (course.work / "exercises/03_einsum.ipynb").read_text()


def links_of(text):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
    return [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)
            if not target.startswith(("http", "#", "mailto"))]


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The learner's folder of this very course."""
    work = tmp_path_factory.mktemp("real") / "work"
    done = subprocess.run([sys.executable, "install", "work"], cwd=ROOT, text=True,
                          env=dict(ENVIRONMENT, COURSE_WORK=str(work)), capture_output=True)
    assert done.returncode == 0, done.stderr
    return work


def test_every_link_in_the_folder_leads_somewhere(real):
    """Of the README, the pages and all copies, read where they are in the learner's folder."""
    pages = [*real.glob("README*.md"), *real.glob("*/*.md"), *real.glob("*/*.ipynb")]
    assert len(pages) > 40
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if page.suffix == ".ipynb":
            text = "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"]
                               if cell["cell_type"] == "markdown")
        for target in links_of(text):
            if target != "../../../blob/published/docs/open_in.md":  # which says: on GitHub
                assert os.path.exists(os.path.normpath(page.parent / target)), (page.name, target)


def test_a_kernel_in_the_folder_imports_this_course(real, tmp_path):
    """Not another course that is installed, as by its own `make lab`, and not a copy."""
    other = tmp_path / "other"
    for name in ("helpers", "checks"):
        write(other / name / "__init__.py", "raise SystemExit('the other course')")
    code = ("import sys; sys.path.insert(0, '..'); import helpers, checks, os; "
            "print(os.path.realpath(helpers.__file__), os.path.realpath(checks.__file__))")
    done = subprocess.run([sys.executable, "-c", code], cwd=real / "exercises", text=True,
                          env=dict(os.environ, PYTHONPATH=str(other)), capture_output=True)
    expected = [str(ROOT / name / "__init__.py") for name in ("helpers", "checks")]
    assert done.stdout.split() == expected, done.stderr


def test_the_links_follow_a_course_that_was_moved(course, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    course.ok("work", COURSE_WORK=str(elsewhere))
    course.fill()
    course.root.rename(tmp_path / "moved")
    assert not (elsewhere / "helpers").exists()
    course.ok("work", COURSE_WORK=str(elsewhere), root=tmp_path / "moved")
    assert (elsewhere / "helpers/tool.py").samefile(tmp_path / "moved/helpers/tool.py")
    assert (tmp_path / "moved/work/helpers/tool.py").samefile(tmp_path / "moved/helpers/tool.py")


def test_a_link_of_the_learners_own_stays(course, tmp_path):
    (tmp_path / "mine" / "docs").mkdir(parents=True)
    course.work.mkdir()
    (course.work / "docs").symlink_to(tmp_path / "mine" / "docs")
    course.fill()
    assert (course.work / "docs").resolve() == tmp_path / "mine" / "docs"


@pytest.mark.parametrize("place, words", [
    (".", "inside the course"), ("notebooks", "inside the course"),
    ("work/deeper", "inside the course"), ("../author", "is itself a course"),
])
def test_a_folder_that_cannot_be_the_learners_is_refused(course, place, words):
    before = everything(course.root, course.author)
    status, said = course.run("work", COURSE_WORK=str(course.root / place))
    assert status == 1 and words in said and said.count("\n") == 1
    assert everything(course.root, course.author) == before


def test_a_folder_of_the_learners_that_would_be_imported_is_named(course):
    write(course.work / "helpers/mine.py", "x = 1")
    status, said = course.run("work")
    assert status == 1 and "would be imported instead" in said and said.count("\n") == 1
    assert same(course.work / "helpers/mine.py", "x = 1")


def test_two_learners_have_a_folder_each(course, tmp_path):
    course.fill()
    course.ok("work", COURSE_WORK=str(tmp_path / "second"))
    write(tmp_path / "second/exercises/03_einsum.ipynb", notebook("second"))
    write(course.work / "exercises/03_einsum.ipynb", notebook("first"))
    course.new_edition("exercises/03_einsum.ipynb", "exercises/00_start_here.ipynb")
    course.ok("update")
    said = course.fill()
    assert "new edition" not in said
    assert "new edition of 2 of your files" in course.fill(COURSE_WORK=str(tmp_path / "second"))
    course.ok("update", COURSE_WORK=str(tmp_path / "second"))
    for folder, who in ((course.work, "first"), (tmp_path / "second", "second")):
        assert same(folder / "exercises/03_einsum.ipynb", notebook(who))
        assert "new edition" in (folder / "exercises/00_start_here.ipynb").read_text()


# `make update`


def test_an_update_brings_what_is_unchanged_and_keeps_what_is_not(course):
    course.fill()
    answered, run, untouched = (course.work / f"exercises/{name}.ipynb" for name in LESSONS[:3])
    answered.write_text(notebook("exercises 00", "my answer"))
    text = json.loads(run.read_text())["cells"]
    run.write_text(notebook(*("".join(cell["source"]) for cell in text), output="42"))
    course.new_edition(*(f"exercises/{name}.ipynb" for name in LESSONS[:3]))
    said = course.ok("update")
    assert course.is_new
    assert same(answered, notebook("exercises 00", "my answer"))
    for name, path in (("00_start_here_new_edition", LESSONS[0]), (LESSONS[1], LESSONS[1]),
                       (LESSONS[2], LESSONS[2])):
        new = (course.root / f"exercises/{path}.ipynb").read_text()
        assert same(course.work / f"exercises/{name}.ipynb", new)
    assert "work/exercises/00_start_here.ipynb is yours and stays" in said
    assert "work/exercises/00_start_here_new_edition.ipynb" in said
    assert "not changed them: 2 files" in said and said.count(".ipynb") == 2
    before = everything(course.work)
    course.ok("update")
    assert everything(course.work) == before


def test_what_the_learner_did_in_the_new_edition_is_kept_by_the_next(course):
    """The second edition is put beside the first answer, the third beside both."""
    course.fill()
    path = course.work / "exercises/03_einsum.ipynb"
    path.write_text(notebook("exercises 03", "first answer"))
    course.new_edition("exercises/03_einsum.ipynb")
    course.ok("update")
    second = path.with_name("03_einsum_new_edition.ipynb")
    second.write_text(notebook("second answer"))
    write(course.author / "exercises/03_einsum.ipynb", notebook("third edition"))
    course.publish()
    course.ok("update")
    assert "first answer" in path.read_text() and "second answer" in second.read_text()
    assert "third edition" in path.with_name("03_einsum_new_edition_2.ipynb").read_text()


def test_a_new_edition_that_took_the_old_ones_place_is_not_brought_back(course):
    """The learner is done with the old copy, and renames the new one; or deletes the new one."""
    course.fill()
    paths = [course.work / f"exercises/{name}.ipynb" for name in LESSONS[:2]]
    for path in paths:
        path.write_text(notebook("answer"))
    course.new_edition(*(f"exercises/{name}.ipynb" for name in LESSONS[:2]))
    course.ok("update")
    paths[0].with_name("00_start_here_new_edition.ipynb").rename(paths[0])
    paths[1].with_name("03_einsum_new_edition.ipynb").unlink()
    before = everything(course.work)
    course.fill()
    course.ok("update")
    assert {k: v for k, v in everything(course.work).items() if "copies.json" not in k} == {
        k: v for k, v in before.items() if "copies.json" not in k}


def test_three_notebooks_edited_in_the_courses_folder_are_kept(course):
    """One whose copy is there, one without, one that the new edition does not change."""
    course.fill()
    names = [f"exercises/{name}.ipynb" for name in LESSONS[:3]]
    (course.work / names[1]).unlink()
    for name in names:
        write(course.root / name, notebook(name, "mine"))
    course.new_edition(*names[:2])
    said = course.ok("update")
    assert course.is_new
    assert git(course.root, "status", "--porcelain") == f" M {names[2]}\n"
    kept = [course.work / "exercises/00_start_here_mine.ipynb", course.work / names[1],
            course.root / names[2]]
    for path, name in zip(kept, names):
        assert same(path, notebook(name, "mine"))
    for name, path in zip(names[:2], kept):
        assert f"{name} had changes of yours. They are now in {path.relative_to(course.root)}" \
            in said
    assert "work/exercises/03_einsum_new_edition.ipynb" in said


def test_a_lesson_that_was_only_run_is_no_conflict(course):
    """JupyterLab adds an empty cell where the last one is run."""
    name = "notebooks/03_einsum.ipynb"
    write(course.root / name, notebook("notebooks 03_einsum", "todo", "", output="3 s"))
    course.new_edition(name)
    said = course.ok("update")
    assert course.is_new and name not in said
    assert not list(course.work.rglob("*mine*")) and not (course.work / "kept").exists()


def test_renamed_lessons_are_recognised(course):
    course.fill()
    changed, old = "exercises/08_fast_kernels.ipynb", "notebooks/08_fast_kernels.ipynb"
    write(course.work / changed, notebook("exercises 08", "mine"))
    for kind in ("notebooks", "exercises", "solutions"):
        (course.author / kind / "08_fast_kernels.ipynb").rename(
            course.author / kind / "11_fast_kernels.ipynb")
    course.publish()
    assert course.fill() == ""
    said = course.ok("update")
    new = changed.replace("08_", "11_")
    assert same(course.work / changed, notebook("exercises 08", "mine"))
    assert f"work/{changed} is yours and stays. The new edition is work/{new}" in said
    for kind in ("notebooks", "exercises", "solutions"):
        assert (course.work / kind / "11_fast_kernels.ipynb").exists()
    assert not (course.work / old).exists()
    assert "not changed them: 2 files" in said


@pytest.mark.parametrize("has_copy", [False, True])
def test_a_renamed_lesson_that_was_edited_in_the_courses_folder_is_kept(course, has_copy):
    old = kept = "exercises/08_fast_kernels.ipynb"
    if has_copy:
        course.fill()
        kept = "exercises/08_fast_kernels_mine.ipynb"
    write(course.root / old, notebook("exercises 08", "mine"))
    (course.author / old).rename(course.author / "exercises/11_fast_kernels.ipynb")
    course.publish()
    said = course.ok("update")
    assert course.is_new and not (course.root / old).exists()
    assert same(course.work / kept, notebook("exercises 08", "mine"))
    new = old.replace("08_", "11_")
    assert f"work/{kept} is yours and stays. The new edition is work/{new}" in said


def test_other_files_that_were_edited_are_kept_too(course):
    write(course.root / "helpers/tool.py", "mine = 1\n")
    write(course.root / "README.md", "# staged\n")
    git(course.root, "add", "README.md")
    write(course.root / "README.md", "# and changed again\n")
    (course.root / "LICENSE").unlink()
    for name in ("helpers/tool.py", "README.md", "LICENSE"):
        write(course.author / name, "# new\n")
    course.publish()
    said = course.ok("update")
    assert course.is_new and git(course.root, "status", "--porcelain") == ""
    kept = everything(course.work / "kept")
    assert sorted(kept.values()) == ["# and changed again\n", "# staged\n", "mine = 1\n"]
    assert all(path.removeprefix(f"{course.root}/") in said for path in kept)


def test_files_of_the_learners_that_git_does_not_know_stay_or_make_way(course):
    """`mine_07.ipynb` stays; names that the new edition takes are moved aside, and said."""
    names = {"exercises/mine_07.ipynb": notebook("mine 07"), "notes.txt": "mine",
             "exercises/09_new.ipynb": notebook("mine 09"), "tools": "a file of mine",
             "helpers/new/deep.py": "mine", "staged.py": "mine, staged",
             "checks/same.py": "# the same\n"}
    for name, text in names.items():
        write(course.root / name, text)
    git(course.root, "add", "staged.py")
    for name in ("exercises/09_new.ipynb", "tools/a.py", "tools/b.py", "helpers/new",
                 "staged.py", "checks/same.py"):
        write(course.author / name, "# the same\n")
    course.publish()
    said = course.ok("update")
    assert course.is_new
    assert git(course.root, "status", "--porcelain") == "?? exercises/mine_07.ipynb\n?? notes.txt\n"
    kept = everything(course.root)
    for name, text in names.items():
        assert text in kept.values(), name
    for name in ("exercises/09_new.ipynb", "tools", "helpers/new", "staged.py"):
        assert f"{name} " in said
    assert "mine_07" not in said and "same.py" not in said


def test_a_learner_of_the_first_edition_gets_there(tmp_path):
    """The lines of docs/updating.md, from a course that has no install/ and no `make update`."""
    course = Course(tmp_path, with_update=False)
    for kind in ("exercises", "notebooks"):
        (course.author / kind / "08_fast_kernels.ipynb").rename(
            course.author / kind / "11_fast_kernels.ipynb")
    course.add_update()
    course.new_edition("exercises/03_einsum.ipynb")
    for name in ("exercises/03_einsum.ipynb", "exercises/08_fast_kernels.ipynb"):
        write(course.root / name, notebook("mine"))
    with pytest.raises(subprocess.CalledProcessError):
        git(course.root, "pull", "--ff-only")
    page = (ROOT / "docs/updating.md").read_text()
    lines = re.search(r"```\n(git fetch\n.*?)```", page, re.S)[1].splitlines()
    assert lines[-1] == "python3 install update"
    for line in lines[:-1]:
        git(course.root, *line.split()[1:])
    said = course.ok("update")
    assert course.is_new and git(course.root, "status", "--porcelain") == ""
    for name in ("exercises/03_einsum.ipynb", "exercises/08_fast_kernels.ipynb"):
        assert same(course.work / name, notebook("mine"))
    assert "work/exercises/11_fast_kernels.ipynb" in said


# What goes wrong


def state(course):
    """Every file of the clone and of the learner's folder, and where git stands."""
    return everything(course.root), git(course.root, "status", "--porcelain"), \
        git(course.root, "rev-parse", "HEAD")


def edited(course):
    """A clone with an edit that an update will have to keep."""
    course.fill()
    write(course.root / "exercises/03_einsum.ipynb", notebook("mine"))
    course.new_edition("exercises/03_einsum.ipynb", "notebooks/00_start_here.ipynb")


def without_network(course):
    course.upstream.rename(course.folder / "gone")


def on_no_branch(course):
    git(course.root, "checkout", "--quiet", "--detach")


def without_upstream(course):
    git(course.root, "branch", "--unset-upstream")


def with_a_commit(course):
    write(course.root / "README.md", "# mine\n")
    git(course.root, "commit", "--quiet", "-m", "mine", "README.md")


def in_a_merge(course):
    (course.root / ".git/MERGE_HEAD").write_text(git(course.root, "rev-parse", "HEAD"))


@pytest.mark.parametrize("harm, words", [
    (without_network, "Connect this machine to the network"),
    (on_no_branch, "git switch main"),
    (without_upstream, "--set-upstream-to=origin/main"),
    (with_a_commit, "git merge origin/main"),
    (in_a_merge, "git merge --abort"),
])
def test_what_cannot_be_updated_says_so_in_one_line_and_stays(course, harm, words):
    edited(course)
    harm(course)
    check_that_it_is_refused(course, words)


def check_that_it_is_refused(course, words):
    """The update says one line with `words` and changes nothing; return that line."""
    before = state(course)
    status, said = course.run("update")
    assert status == 1 and "Traceback" not in said
    lines = [line for line in said.splitlines() if line != "Fetching the new edition."]
    assert len(lines) == 1 and words in lines[0]
    assert state(course) == before
    return lines[0]


def test_a_course_from_a_zip_says_where_the_new_one_goes(course, tmp_path):
    course.fill()
    course.new_edition("exercises/03_einsum.ipynb", "notebooks/00_start_here.ipynb")
    shutil.rmtree(course.root / ".git")
    before = everything(course.root)
    said = course.ok("update")
    assert said.count("\n") == 1 and f"make update WORK={course.work}" in said
    assert everything(course.root) == before
    new = tmp_path / "new"
    shutil.copytree(course.author, new, ignore=shutil.ignore_patterns(".git"))
    (new / "solutions/08_fast_kernels.ipynb").rename(new / "solutions/11_fast_kernels.ipynb")
    answered = course.work / "exercises/00_start_here.ipynb"
    answered.write_text(notebook("mine"))
    status, said = course.run("update", root=new, COURSE_WORK=str(course.work))
    assert status == 0 and same(answered, notebook("mine"))
    assert "new edition" in (course.work / "notebooks/00_start_here.ipynb").read_text()
    assert not (course.work / "solutions/08_fast_kernels.ipynb").exists()
    kept = "".join(everything(course.work / "kept").values())
    assert "notebooks 00_start_here" in kept and "solutions 08_fast_kernels" in kept


def test_a_machine_without_git_says_so(course, tmp_path):
    (tmp_path / "bin").mkdir()
    status, said = course.run("update", PATH=str(tmp_path / "bin"))
    assert status == 1 and "sudo apt install git" in said and said.count("\n") == 1


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounts a disk")
def test_a_read_only_course_fills_and_updates_the_folder_of_each_learner(course, tmp_path):
    seen = tmp_path / "seen"
    seen.mkdir()
    mount = subprocess.run(["mount", "--bind", str(course.root), str(seen)], capture_output=True)
    if mount.returncode or subprocess.run(
            ["mount", "-o", "remount,bind,ro", str(seen)], capture_output=True).returncode:
        subprocess.run(["umount", str(seen)], capture_output=True)
        pytest.skip("this machine mounts nothing")
    try:
        status, said = course.run("work", root=seen)
        assert status == 1 and "make lab WORK=~/my-course" in said and said.count("\n") == 1
        mine = {"root": seen, "COURSE_WORK": str(tmp_path / "mine")}
        assert course.run("work", **mine) == (0, "")
        answered = tmp_path / "mine/exercises/03_einsum.ipynb"
        answered.write_text(notebook("mine"))
        course.new_edition("exercises/03_einsum.ipynb", "exercises/00_start_here.ipynb")
        course.ok("update")  # by whoever may write there
        (tmp_path / "bin").mkdir()  # as for git, which refuses a repository of somebody else
        status, said = course.run("update", **mine, PATH=str(tmp_path / "bin"))
        assert status == 0 and "is not yours to update" in said
        assert same(answered, notebook("mine"))
        assert "new edition" in (tmp_path / "mine/exercises/00_start_here.ipynb").read_text()
        assert not (tmp_path / "mine/kept").exists()
    finally:
        subprocess.run(["umount", str(seen)], check=True)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounts a disk")
@pytest.mark.parametrize("kilobytes", [0, 4, 16, 40, 200])
def test_a_full_disk_loses_nothing(course, tmp_path, kilobytes):
    """`kilobytes` are left: for nothing, for some of the copies, for all of them but not git."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)],
                      capture_output=True).returncode:
        pytest.skip("this machine mounts nothing")
    try:
        course.fill()
        big = notebook("big", "x" * 60_000)
        for name in ("exercises/03_einsum.ipynb", "notebooks/05_numpy_to_cupy.ipynb"):
            write(course.root / name, notebook(name, "mine", "y" * 9000))
        write(course.work / "exercises/00_start_here.ipynb", notebook("mine", "z" * 9000))
        for lesson in LESSONS:
            for kind in ("notebooks", "exercises"):
                write(course.author / kind / f"{lesson}.ipynb", big.replace("big", f"{lesson} big"))
        course.publish()
        shutil.move(course.root, disk / "my course")
        course.root = disk / "my course"
        course.work = course.root / "work"
        if kilobytes:
            git(course.root, "fetch", "--quiet")
        left = shutil.disk_usage(disk).free - 1024 * kilobytes
        (disk / "ballast").write_bytes(bytes(max(left, 0)))
        learners = [text for path, text in everything(course.root).items()
                    if path.endswith(".ipynb") and '"mine"' in text]
        assert len(learners) == 3
        status, said = course.run("update")
        if kilobytes < 100:
            assert status == 1 and said.splitlines()[-1].startswith("The disk is full: ")
        assert "Traceback" not in said
        kept = list(everything(course.root).values())
        assert all(text in kept for text in learners)
        (disk / "ballast").unlink()
        course.ok("update")
        assert course.is_new
        kept = list(everything(course.root).values())
        assert all(text in kept for text in learners)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# Broken off at any step

KILL = """
import os, signal, sys

CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.symlink", "shutil.move",
           "subprocess.Popen", "os.exec", "os.truncate"}
at_step, inside = int(os.environ["KILL_AT"]), False


def watch(event, arguments):
    global inside
    if inside or not (event in CHANGES or event == "open" and arguments[2] & 3):
        return
    if event == "open" and "__pycache__" in str(arguments[0]):
        return
    inside = True
    steps = os.open(os.environ["STEPS"], os.O_CREAT | os.O_APPEND | os.O_RDWR)
    os.write(steps, b".")
    if os.fstat(steps).st_size == at_step:
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(steps)
    inside = False


sys.addaudithook(watch)
"""


def busy(course):
    """A clone in which an update has everything to do; the texts that must not be lost."""
    course.fill()
    mine = {}
    for name, text in {
        "work/exercises/03_einsum.ipynb": "answered in the copy",
        "exercises/05_numpy_to_cupy.ipynb": "answered in place",
        "exercises/08_fast_kernels.ipynb": "answered in place, renamed",
        "work/solutions/08_fast_kernels.ipynb": "answered in the copy, renamed",
        "exercises/mine_07.ipynb": "my own",
        "exercises/09_new.ipynb": "my own, in the way",
    }.items():
        mine[name] = notebook(name, text)
        write(course.root / name, mine[name])
    mine["helpers/tool.py"] = "# my own tool\n"
    write(course.root / "helpers/tool.py", mine["helpers/tool.py"])
    write(course.root / "notebooks/00_start_here.ipynb",
          notebook("notebooks 00_start_here", "todo", output="run"))
    for kind in ("notebooks", "exercises", "solutions"):
        (course.author / kind / "08_fast_kernels.ipynb").rename(
            course.author / kind / "11_fast_kernels.ipynb")
    write(course.author / "helpers/tool.py", "# new\n")
    course.new_edition("exercises/09_new.ipynb", "notebooks/00_start_here.ipynb", *(
        f"exercises/{lesson}.ipynb" for lesson in LESSONS[:3]))
    return mine


def check_that_all_is_well(course, mine):
    assert course.is_new
    assert git(course.root, "status", "--porcelain") == "?? exercises/mine_07.ipynb\n"
    kept = everything(course.root)
    for name, text in mine.items():
        assert text in kept.values(), name
    assert "new edition" in (course.work / "exercises/00_start_here.ipynb").read_text()
    assert not (course.work / "notebooks/08_fast_kernels.ipynb").exists()
    assert not list(course.root.rglob("*-part")), "something half-made"
    new = [text for path, text in kept.items() if "_new_edition_" in path]
    assert not new, "the same edition was put beside twice"


PARTS = 32  # of the steps, each with a set-up of its own


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow)
                                       for k in range(1, PARTS))])
def test_an_update_killed_at_any_step_can_be_run_again(course, tmp_path, part):
    """Killed before the first change of a file or start of a program, before the second, ..."""
    mine = busy(course)
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook/sitecustomize.py").write_text(KILL)
    begun = tmp_path / "begun"
    shutil.copytree(course.root, begun, symlinks=True)
    steps = tmp_path / "steps"
    for step in range(1 + part, 1000, PARTS):
        shutil.rmtree(course.root)
        shutil.copytree(begun, course.root, symlinks=True)
        steps.unlink(missing_ok=True)
        status, said = course.run("update", PYTHONPATH=str(tmp_path / "hook"), STEPS=str(steps),
                                  KILL_AT=str(step))
        if status == 0:
            break
        assert status == -signal.SIGKILL, said
        kept = everything(course.root)
        for name, text in mine.items():
            assert text in kept.values(), (step, name)
        course.ok("update")
        check_that_all_is_well(course, mine)
    check_that_all_is_well(course, mine)
    assert step > 100 - PARTS, "too few steps to be all of them"


@pytest.mark.slow
def test_git_killed_in_the_middle_can_be_run_again(course):
    """What it leaves: its lock, files of the new edition, and one that is half written."""
    mine = busy(course)
    git(course.root, "fetch", "--quiet")
    new = {name: git(course.root, "show", f"origin/main:{name}") for name in
           ("exercises/00_start_here.ipynb", "exercises/11_fast_kernels.ipynb",
            "notebooks/11_fast_kernels.ipynb")}
    for name, text in new.items():
        write(course.root / name, text)
    write(course.root / "exercises/03_einsum.ipynb",
          git(course.root, "show", "origin/main:exercises/03_einsum.ipynb")[:50])
    (course.root / ".git/index.lock").touch()
    course.fill()
    said = check_that_it_is_refused(course, "Another git runs here")  # after five seconds
    os.unlink(re.search(r"rm '(\S.*index\.lock)'", said)[1])
    course.ok("update")
    check_that_all_is_well(course, mine)
    for name in ("00_start_here", "03_einsum"):
        assert not (course.work / f"exercises/{name}_mine.ipynb").exists(), "nobody's work"


def test_two_updates_at_once_do_it_once(course):
    mine = busy(course)
    runs = [subprocess.Popen([sys.executable, "install", "update"], cwd=course.root, text=True,
                             env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for _ in range(3)]
    for run in runs:
        said = run.communicate()[0]
        assert run.returncode == 0, said
    check_that_all_is_well(course, mine)
    assert not list(course.work.rglob("*_mine_*"))


def test_a_second_make_waits_for_the_folder(course, tmp_path):
    """Two courses may have one folder of the learner's."""
    course.fill()
    held = os.open(course.work, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    run = subprocess.Popen([sys.executable, "install", "work"], cwd=course.root, text=True,
                           env=ENVIRONMENT, stdout=subprocess.PIPE)
    assert "waiting until it has finished" in run.stdout.readline()
    assert run.poll() is None
    os.close(held)
    assert run.wait() == 0


def test_an_update_that_waited_for_another_ones_is_done_by_the_new_program(course, tmp_path):
    """A reader of a course that somebody else has just updated: lessons have new names in it."""
    own = str(tmp_path / "mine")
    course.fill(COURSE_WORK=own)
    held = os.open(course.root, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    run = subprocess.Popen([sys.executable, "install", "work"], cwd=course.root, text=True,
                           env={**ENVIRONMENT, "COURSE_WORK": own}, stdout=subprocess.PIPE)
    assert "waiting until it has finished" in run.stdout.readline()
    (course.author / "notebooks/05_numpy_to_cupy.ipynb").rename(
        course.author / "notebooks/05_renamed.ipynb")
    table = course.author / "install/learner/copies.py"
    table.write_text(table.read_text().replace(
        "RENAMED = {", 'RENAMED = {"05_numpy_to_cupy": "05_renamed",'))
    course.publish()
    git(course.root, "pull", "--quiet")
    os.close(held)
    said = run.communicate(timeout=60)[0]
    assert run.returncode == 0 and "not changed them: 1 files" in said
    assert (tmp_path / "mine/notebooks/05_renamed.ipynb").exists()
    assert not (tmp_path / "mine/notebooks/05_numpy_to_cupy.ipynb").exists()


# `make clean`, and the table of names


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_clean_removes_nothing_of_the_learners(course):
    course.fill()
    for name in ("notes.txt", "exercises/mine_07.ipynb", "work/build/lib/a.txt", "build/a.txt",
                 "work/__pycache__/a.txt", "work/.venv/a.txt", "work/mine.egg-info/a.txt",
                 "helpers/mine.py", "notebooks/.ipynb_checkpoints/a.ipynb"):
        write(course.root / name, "mine")
    write(course.root / "exercises/03_einsum.ipynb", notebook("mine"))
    before = everything(course.root)
    for name in (".venv/pyvenv.cfg", ".pytest_cache/a", "helpers/__pycache__/a.pyc"):
        write(course.root / name, "ours")
    (course.root / ".venv/lib64").symlink_to(course.work)
    subprocess.run(["make", "clean"], cwd=course.root, check=True, capture_output=True)
    assert everything(course.root) == before
    assert not (course.root / "helpers/__pycache__").exists()


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
def test_clean_leaves_a_venv_that_is_none(course):
    write(course.root / ".venv/thesis.tex", "mine")
    done = subprocess.run(["make", "clean"], cwd=course.root, capture_output=True, text=True)
    assert done.returncode and "not a virtual environment" in done.stderr
    assert same(course.root / ".venv/thesis.tex", "mine")


def renamed_since(folder):
    """Stems of the notebooks that git's history of a folder calls renamed: old and new.

    Where a notebook has the old name again, a part of it was moved, and nothing was renamed.
    """
    if subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--is-shallow-repository"],
                      capture_output=True, text=True).stdout.strip() != "false":
        pytest.skip("this checkout has no history")
    listed = git(ROOT, "log", "--diff-filter=R", "--find-renames=50%", "--name-status",
                 "--format=", "--", folder)
    return {(Path(old).stem, Path(new).stem)
            for old, new in re.findall(rf"^R\d+\t({folder}/\S+)\t({folder}/\S+)$", listed, re.M)
            if Path(old).stem != Path(new).stem and not (ROOT / old).exists()}


@pytest.mark.parametrize("folder", ["notebooks", "exercises", "solutions"])
def test_the_table_knows_every_lesson_that_was_renamed(folder):
    text = (ROOT / "install/learner/copies.py").read_text()
    table = dict(re.findall(r'^    "(\d\d_\w+)": "(\d\d_\w+)",$', text, re.M))
    assert table and renamed_since(folder) <= set(table.items())
    assert all(new not in table or table[new] != old for old, new in table.items())
    for name in set(table.values()) - set(table):
        assert (ROOT / "notebooks" / f"{name}.ipynb").exists(), name
