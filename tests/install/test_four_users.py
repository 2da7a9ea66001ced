"""Four users at once, with the real course: nobody loses anything that they have written.

A learner, a second learner and a teacher have a clone each; a reader works in a folder of their
own on the teacher's course, which the reader cannot write. Their homes share a small disk. They all
install, work, update, are interrupted in an update, meet a full disk and clean up; each step is
done by all four at the same time, and after each one every text that somebody has written is looked
for.

The users have numbers and no names, so nothing is changed in the machine's list of users. This
needs root, about 4 GB of memory for the disk, and a package index; it takes some minutes.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIRST_NUMBER = 61001
SIZE = "3500m"
WORKING_PATH = "/usr/local/bin:/usr/bin:/bin"
PYTHON = shutil.which("python3", path=WORKING_PATH)
TOOLS = ("setpriv", "mount", "git", "make", "g++")
PACKAGES = ("jupyterlab>=4.0", "numpy>=2.1", "matplotlib>=3.8", "nbval>=0.11", "pyelftools>=0.29",
            "dask[array,distributed]>=2025.1", "setuptools>=77", "wheel")
# The lesson that the second edition renames, and its new name.
RENAMED = ("16_attention", "17_attention")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be four users"),
    pytest.mark.skipif(not all(map(shutil.which, TOOLS)) or not PYTHON,
                       reason=f"one of these is missing: {', '.join(TOOLS)}"),
]


class User:
    """One of the four, with a home, a course and a folder to work in."""

    def __init__(self, role, number, world, course=None):
        self.role, self.number, self.world = role, number, world
        self.home = world.disk / role
        self.home.mkdir()
        os.chown(self.home, number, number)
        self.home.chmod(0o755)
        self.owns = course is None
        self.course = course or self.home / "course"
        self.folder = self.course / "work" if self.owns else self.home / "mine"
        self.written = {}  # what must be somewhere: the text, and where it was written
        (self.home / "tmp").mkdir()
        # git asks for this, since the upstream repository is a folder of root's.
        (self.home / ".gitconfig").write_text(f"[safe]\ndirectory = {world.upstream}\n")
        for made in ("tmp", ".gitconfig"):
            os.chown(self.home / made, number, number)

    def start(self, *command, cwd=None):
        """Start a program as this user, in a process group of its own."""
        variables = {
            "HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), "PATH": WORKING_PATH,
            "LANG": "C.UTF-8", "COURSE_BACKEND": "simulator", "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.world.wheels), "PIP_NO_CACHE_DIR": "1",
            "NOGPU_WORKERS": "1"}
        number = str(self.number)
        return subprocess.Popen(
            ["setpriv", f"--reuid={number}", f"--regid={number}", "--clear-groups", *command],
            cwd=cwd or self.home, env=variables, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, *command, cwd=None, seconds=400):
        """Run a program as this user; its exit status and all that it printed."""
        process = self.start(*command, cwd=cwd)
        try:
            said = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said = process.communicate()[0]
            raise AssertionError(f"{self.role}: {command} did not end:\n{said}") from None
        assert "Traceback" not in said, (self.role, command, said)
        self.tell(command, process.returncode, said)
        return process.returncode, said

    def tell(self, command, status, said):
        """Print a line of a step's protocol, which `pytest -rP` shows."""
        lines = [line for line in said.splitlines() if line and not line.startswith("make")]
        named = command[3] if command[0] == "make" else " ".join(command)[-60:]
        print(f"{self.role}: {named} ended with {status}: {lines[-1][:150] if lines else ''}")

    def make_command(self, target, *more):
        named = [] if self.owns else [f"WORK={self.folder}"]
        return ["make", "-C", str(self.course), target, f"PYTHON={PYTHON}", *named, *more]

    def make(self, target, *more):
        return self.run(*self.make_command(target, *more))

    def lab(self):
        """`make lab`, as far as JupyterLab's own version."""
        return self.make("lab", "ARGS=--version")

    def write(self, path, content):
        """Write a file as this user would, and remember it."""
        for known in [key for key, (place, _) in self.written.items() if place == path]:
            del self.written[known]  # the user's own next version
        missing = [one for one in (path.parent, *path.parent.parents) if not one.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        for made in (path, *missing):
            os.chown(made, self.number, self.number)
        self.written[content] = (path, self.role)

    def edit(self, path, word):
        """Add a cell to a notebook, as this user would."""
        content = json.loads(path.read_text(encoding="utf-8"))
        content["cells"].append({"cell_type": "markdown", "id": f"by-{word}", "metadata": {},
                                 "source": [f"{self.role}: {word}"]})
        self.write(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    def work(self, word):
        """An evening's work: three lessons edited, one of them renamed later, and files made."""
        for name in ("notebooks/01_strided_views", "exercises/03_einsum",
                     f"exercises/{RENAMED[0]}"):
            path = self.folder / f"{name}.ipynb"
            if path.exists():
                self.edit(path, word)
        self.write(self.folder / "exercises" / "mine_07.ipynb", f'{{"cells": [], "x": "{word}"}}\n')
        self.write(self.folder / "project" / f"{word}.txt", f"{self.role}'s notes: {word}\n")
        if self.owns:
            # In the course's own folder, where nobody should, and where many will.
            for name in ("exercises/03_einsum", "exercises/05_numpy_to_cupy",
                         "solutions/01_strided_views"):
                self.edit(self.course / f"{name}.ipynb", word)
            self.write(self.course / "exercises" / f"mine_{word}.ipynb", f'{{"{word}": 1}}\n')
        if self.role == "teacher":
            self.write(self.course / "room" / "submitted" / f"{word}.ipynb", f'["{word}"]\n')
            self.write(self.course / "docs" / "teaching.md", f"A plan for {word}\n")

    def lost(self):
        """The texts that this user has written and that are in no file any more."""
        sizes = {len(content.encode()) for content in self.written}
        found = set()
        places = {self.home, self.folder, *([self.course] if self.owns else [])}
        for top in places:
            for folder, folders, files in os.walk(top):
                folders[:] = [one for one in folders if one not in (".venv", ".git", "tmp")]
                for name in files:
                    path = Path(folder, name)
                    if not path.is_symlink() and path.stat().st_size in sizes:
                        found.add(path.read_bytes())
        return [str(place) for content, (place, _) in self.written.items()
                if content.encode() not in found]

    def moved(self):
        """The files of the user's own folder that are not where the user left them."""
        return [str(path) for content, (path, _) in self.written.items()
                if path.is_relative_to(self.folder) and not (
                    path.exists() and path.read_text(encoding="utf-8") == content)]

    @property
    def is_new(self):
        heads = [subprocess.run(["git", "-c", "safe.directory=*", "rev-parse", "main"], cwd=folder,
                                check=True, capture_output=True).stdout
                 for folder in (self.course, self.world.upstream)]
        return heads[0] == heads[1]


class World:
    """The disk, the upstream course, the packages and the four users."""

    def __init__(self, folder):
        self.folder, self.disk, self.wheels = folder, folder / "disk", folder / "wheels"
        self.author, self.upstream = folder / "author", folder / "upstream.git"
        self.edition = 0

    def prepare(self):
        python = self.folder / "download" / "bin" / "python"
        subprocess.run([PYTHON, "-m", "venv", python.parents[1]], check=True, timeout=120)
        done = subprocess.run([python, "-m", "pip", "download", "--quiet", "--retries", "1",
                               "--dest", self.wheels, *PACKAGES], capture_output=True, timeout=400)
        if done.returncode:
            pytest.skip("pip cannot get the course's packages here")
        files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                                "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
        for name in filter(None, files.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (self.author / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.author / name)
        self.git("init", "--quiet", "-b", "main", ".")
        self.commit()
        subprocess.run(["git", "clone", "--quiet", "--bare", self.author, self.upstream],
                       check=True)
        self.git("remote", "add", "origin", str(self.upstream))
        subprocess.run(["chmod", "-R", "a+rX", self.wheels, self.upstream], check=True)
        self.disk.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0755", "tmpfs",
                               self.disk], capture_output=True)
        if done.returncode:
            pytest.skip(f"no mount: {done.stderr.decode().strip()}")
        roles = ("learner", "second", "teacher")
        self.users = [User(role, FIRST_NUMBER + k, self) for k, role in enumerate(roles)]
        self.learner, self.second, self.teacher = self.users
        self.reader = User("reader", FIRST_NUMBER + 3, self, course=self.teacher.course)
        self.users.append(self.reader)

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
                       cwd=self.author, check=True, capture_output=True)

    def commit(self):
        self.edition += 1
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "-m", f"edition {self.edition}")

    def publish(self, rename=False):
        """Publish an edition that changes the lessons on which everybody works."""
        for name in ("notebooks/01_strided_views", "exercises/03_einsum",
                     "exercises/05_numpy_to_cupy", "solutions/01_strided_views"):
            path = self.author / f"{name}.ipynb"
            content = json.loads(path.read_text(encoding="utf-8"))
            content["cells"][0]["source"].append(f"\nEdition {self.edition + 1}")
            path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        with open(self.author / "docs" / "teaching.md", "a") as file:
            file.write(f"\nEdition {self.edition + 1}\n")
        with open(self.author / "pyproject.toml", "a") as file:
            file.write(f"\n# edition {self.edition + 1}\n")
        if rename:
            for folder in ("notebooks", "exercises", "solutions"):
                self.git("mv", f"{folder}/{RENAMED[0]}.ipynb", f"{folder}/{RENAMED[1]}.ipynb")
            table = self.author / "install" / "learner" / "copies.py"
            text = table.read_text(encoding="utf-8")
            old, new = RENAMED
            table.write_text(text.replace("RENAMED = {", f"RENAMED = {{\n    {old!r}: {new!r},"),
                             encoding="utf-8")
        self.commit()
        self.git("push", "--quiet", "origin", "main")

    def all(self, act, users=None):
        """Let all users act at the same time; what each act returned, by role."""
        users = users or self.users
        with ThreadPoolExecutor(len(users)) as pool:
            return dict(zip((user.role for user in users), pool.map(act, users), strict=True))

    def nothing_is_lost(self, step):
        lost = {user.role: user.lost() for user in self.users}
        assert not any(lost.values()), (step, lost)
        moved = {user.role: user.moved() for user in self.users}
        assert not any(moved.values()), (step, moved)

    def update_all(self):
        """`make update` of everybody; whoever is told of a killed git's lock follows the advice."""
        done = self.all(lambda user: user.make("update"))
        for user in self.users:
            if advice := re.search(r"If none runs: rm '([^']+)'", done[user.role][1]):
                user.run("rm", advice[1])
                done[user.role] = user.make("update")
        # The reader's folder follows the course, which the teacher may have updated just now.
        done["reader"] = self.reader.make("update")
        return done


@pytest.fixture(scope="module")
def world():
    # Not pytest's own folder, into which other users cannot look.
    world = World(Path(tempfile.mkdtemp(prefix="four-users-")))
    world.folder.chmod(0o755)
    try:
        world.prepare()
        yield world
    finally:
        if os.path.ismount(world.disk):
            subprocess.run(["umount", "-l", world.disk], check=True)
        shutil.rmtree(world.folder)


def succeeded(done):
    failed = {role: said for role, (status, said) in done.items() if status}
    assert not failed, "\n\n".join(f"{role}:\n{said}" for role, said in failed.items())
    return done


# The steps follow each other: each one begins where the last has ended.


def test_1_all_four_install_at_once(world):
    clones = [user for user in world.users if user.owns]
    succeeded(world.all(lambda user: user.run(
        "git", "clone", "--quiet", str(world.upstream), str(user.course)), clones))
    done = succeeded(world.all(User.lab))
    assert all(re.search(r"^\d+\.\d+\.\d+$", said, re.M) for _, said in done.values()), done
    for user in world.users:
        assert (user.folder / "exercises" / "03_einsum.ipynb").exists()
    assert not (world.teacher.course / "work" / "mine").exists()


def test_2_they_work(world):
    world.all(lambda user: user.work("first"))
    code = "import helpers; helpers.start(); import cupy as cp; print(cp.arange(5).sum())"

    def run(user):
        own = user.folder / ".venv"
        venv = own if own.exists() else user.course / ".venv"
        return user.run(str(venv / "bin" / "python"), "-c", code, cwd=user.folder / "exercises")

    done = succeeded(world.all(run))
    assert all(said.splitlines()[-1] == "10" for _, said in done.values())
    succeeded(world.all(User.lab))
    world.nothing_is_lost("make lab again")


def test_3_they_update(world):
    world.publish(rename=True)
    done = succeeded(world.update_all())
    world.nothing_is_lost("update")
    assert all(user.is_new for user in world.users)
    for user in world.users:
        assert (user.folder / "exercises" / f"{RENAMED[1]}.ipynb").exists(), done[user.role][1]
        assert (user.folder / "exercises" / f"{RENAMED[0]}.ipynb").exists(), "it was edited"
        assert not (user.folder / "notebooks" / f"{RENAMED[0]}.ipynb").exists(), "it was not"
        beside = user.folder / "exercises" / "03_einsum_new_edition.ipynb"
        assert "Edition 2" in beside.read_text(encoding="utf-8")
    succeeded(world.all(User.lab))
    world.nothing_is_lost("make lab after the update")


@pytest.mark.parametrize("seconds", [0.15, 0.4, 0.8, 1.6])
def test_4_an_update_is_interrupted(world, seconds):
    world.all(lambda user: user.work(f"before {seconds}"))
    world.publish()

    def interrupt(user):
        process = user.start(*user.make_command("update"))
        time.sleep(seconds)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it had finished
        said = process.communicate()[0]
        user.tell(["make", "", "", "update"], process.returncode, said)

    world.all(interrupt)
    world.nothing_is_lost("interrupted")
    succeeded(world.update_all())
    world.nothing_is_lost("updated again")
    assert all(user.is_new for user in world.users)


@pytest.mark.parametrize("left", [0, 64, 400])
def test_5_the_disk_is_full(world, left):
    world.all(lambda user: user.work(f"with {left} KB"))
    world.publish()
    filling = world.disk / "filling"
    room = shutil.disk_usage(world.disk).free - left * 1024
    subprocess.run(["fallocate", "-l", str(room), filling], check=True)
    try:
        for act in (lambda user: user.make("update"), User.lab):
            for role, (status, said) in world.all(act).items():
                assert not status or "disk is full" in said, (role, said)
            world.nothing_is_lost(f"full, {left} KB")
    finally:
        filling.unlink()
    succeeded(world.update_all())
    world.nothing_is_lost("room again")
    succeeded(world.all(User.lab))
    world.nothing_is_lost("make lab with room again")
    assert all(user.is_new for user in world.users)


def test_6_they_clean_up(world):
    world.all(lambda user: user.work("last"))
    done = world.all(lambda user: user.make("clean"))
    assert done["reader"][0], "the course is not the reader's"
    assert not any(done[user.role][0] for user in world.users if user.owns), done
    world.nothing_is_lost("clean")
    assert not any((user.course / ".venv").exists() for user in world.users)
    succeeded(world.all(User.lab, [world.teacher, world.reader]))
    world.nothing_is_lost("installed again")
