"""What `make lab` and `make test` do, on machines where all goes well and where something is wrong.

Nothing is downloaded: each test has a checkout of its own, whose `.venv` gets a pip that writes
down its arguments and does what the test says.
"""

import ast
import errno
import fcntl
import importlib
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import venv
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALL = ROOT / "install" / "__main__.py"

# What pip is asked to install: the simulator's package and the course, in one call.
COURSE = "--editable ./simulator --editable ."
COURSE_WITH_TESTS = COURSE + "[dev]"
COURSE_WITH_SITE = COURSE + "[dev,site]"

PIP = """
import os, sys
with open(os.environ["PIP_ASKED"], "a") as asked:
    print(*sys.argv[sys.argv.index("off") + 1:], file=asked)
exec(os.environ.get("PIP_DOES", ""))
"""


def fail_with(text, where=""):
    """Code that makes pip print `text` and fail, if its last argument contains `where`."""
    return f"if {where!r} in sys.argv[-1]: print({text!r}); sys.exit(1)"


class Course:
    """A checkout in a folder whose name has a space, and the machine around it."""

    def __init__(self, folder, monkeypatch):
        self.root = folder / "my course"
        self.tools = folder / "tools"
        self.tools.mkdir()
        for name in ("Makefile", "pyproject.toml", "simulator/pyproject.toml",
                     *(str(path.relative_to(ROOT)) for path in INSTALL.parent.glob("**/*.py"))):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.asked_file = folder / "asked"
        self.fonts_listed = folder / "fonts listed"
        self.monkeypatch = monkeypatch
        self.ran = None
        for name in ("CUDA_PATH", "CUDA_HOME", "COURSE_BACKEND", "COURSE_WORK"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        # Nothing of the machine that runs the test, which may have a GPU.
        monkeypatch.setenv("PATH", str(self.tools))
        monkeypatch.setenv("PIP_ASKED", str(self.asked_file))
        monkeypatch.setattr(os, "execve", self.note_what_is_run)
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        self.load()

    def load(self):
        """Read the modules of install/ as if they had just been started."""
        folder = self.root / "install"
        for name in list(sys.modules.keys() - {"__main__"}):  # pytest's own, not the folder's
            if (folder / f"{name.partition('.')[0]}.py").exists() or name.startswith("learner"):
                sys.modules.pop(name)
        self.monkeypatch.syspath_prepend(folder)
        self.commands = importlib.import_module("commands")
        self.module = importlib.import_module("environment")
        self.module.USUAL_TOOLKIT = str(self.tools / "cuda")
        self.module.WSL_PROGRAMS = str(self.tools / "wsl")
        really_run = self.module.run

        def run(command, name, *follow):
            return self.fake_venv() if name == "venv" else really_run(command, name, *follow)

        self.module.run = run

    def fake_venv(self):
        """A real environment with our pip instead of the real one, created 20 times faster."""
        venv.create(self.venv, symlinks=True)
        pip = next(self.venv.glob("lib/python*/site-packages")) / "pip"
        pip.mkdir()
        (pip / "__init__.py").touch()
        (pip / "__main__.py").write_text(PIP)
        fonts = pip.parent / "matplotlib" / "font_manager.py"
        fonts.parent.mkdir()
        fonts.write_text(f"open({str(self.fonts_listed)!r}, 'w')")

    def note_what_is_run(self, program, arguments, variables):
        self.ran, self.variables = arguments, variables
        raise SystemExit(0)

    def make(self, *arguments):
        """Run a command as `python install` does; return its exit status."""
        self.ran = None
        try:
            return self.commands.main(list(arguments))
        except SystemExit as done:
            return done.code

    def pip_does(self, code):
        self.monkeypatch.setenv("PIP_DOES", code)

    @property
    def venv(self):
        return self.module.VENV

    @property
    def asked(self):
        """What pip was asked for since the last time, a list with one text for each call."""
        lines = self.asked_file.read_text().splitlines() if self.asked_file.exists() else []
        self.asked_file.unlink(missing_ok=True)
        return lines

    @property
    def stamp(self):
        return json.loads((self.venv / "course.json").read_text())

    def tool(self, path, code="exit 0"):
        """A program on PATH, or anywhere under the folder that PATH names."""
        program = self.tools / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{code}\n")
        program.chmod(0o755)
        return program

    def gpu(self):
        self.tool("nvidia-smi", 'echo "GPU 0: NVIDIA H200 (UUID: GPU-1-2)"')

    def toolkit(self, version=12):
        """A CUDA toolkit where its installer puts it, which is not on PATH."""
        self.tool("cuda/bin/nvcc")
        for name in ("include/cuda_fp16.h", "lib64/libnvrtc.so.%d", "lib64/libcublas.so.%d"):
            file = self.tools / "cuda" / (name % version if "%" in name else name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()


@pytest.fixture
def course(tmp_path, monkeypatch):
    return Course(tmp_path, monkeypatch)


# The entry, which any Python reads


def test_an_old_python_can_read_the_entry():
    """f-strings, annotations and the like are errors in Python 2.7 before any of it has run."""
    text = INSTALL.read_bytes().decode("ascii")
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Match, ast.Starred, ast.Nonlocal)
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, newer), ast.dump(node)
        assert not getattr(node, "returns", None) and not getattr(node, "annotation", None)
        assert not getattr(node, "kwonlyargs", None)


@pytest.mark.parametrize("version", ["(2, 7, 18)", "(3, 9, 18)"])
def test_an_old_python_says_what_to_do(version):
    code = f"import sys, runpy; sys.version_info = {version}; sys.argv[1:] = ['lab']; "
    code += f"runpy.run_path({str(INSTALL)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "needs Python 3.10 or newer" in done.stderr and "make lab PYTHON=" in done.stderr


@pytest.mark.parametrize("folder", ["install", "helpers"])
def test_no_module_hides_one_of_the_standard_library(folder):
    """`python install` searches install/ first, and a notebook may be started in helpers/."""
    names = {path.stem for path in (ROOT / folder).iterdir()
             if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert names and not names & set(sys.stdlib_module_names)


def test_the_folder_is_a_program_that_says_how_it_is_used(course):
    command = [sys.executable, str(course.root / "install")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr[:29]) == (2, "usage: python install lab|tes")


# Installing, and what is already there


@pytest.mark.parametrize(
    "first, second, calls",
    [
        ("lab", "lab", [COURSE, None]),
        ("lab", "test", [COURSE, COURSE_WITH_TESTS]),
        ("test", "lab", [COURSE_WITH_TESTS, None]),
        ("run", "test", [COURSE_WITH_TESTS, None]),
        ("test", "site", [COURSE_WITH_TESTS, COURSE_WITH_SITE]),
        ("site", "run", [COURSE_WITH_SITE, None]),
    ],
)
def test_each_command_works_first_and_installs_only_what_is_missing(course, first, second, calls):
    for command, call in zip((first, second), calls, strict=True):
        assert course.make(command) == 0 and course.ran
        assert course.asked == ([call] if call else [])
    assert not (course.venv / "unfinished").exists()


def test_all_tests_need_what_builds_the_site(course):
    course.make("test", "--slow")
    assert course.asked == [COURSE_WITH_SITE]


def test_kernels_of_the_venv_can_tell_of_a_notebooks_first_cell(course):
    course.make("lab")
    (copied,) = (course.venv / "etc" / "ipython" / "startup").iterdir()
    assert copied.read_bytes() == (ROOT / "install" / "first_cell.py").read_bytes()


def test_matplotlib_lists_the_fonts_at_installation_and_before_each_test_run(course):
    for command, listed in (("lab", True), ("lab", False), ("test", True), ("test", True)):
        course.make(command)
        assert course.fonts_listed.exists() == listed
        course.fonts_listed.unlink(missing_ok=True)


@pytest.mark.parametrize("changed", ["pyproject.toml", "simulator/pyproject.toml"])
def test_a_changed_pyproject_is_installed_in_place(course, changed):
    course.make("test")
    course.asked  # noqa: B018, forgotten
    witness = course.venv / "witness"
    witness.touch()
    with open(course.root / changed, "a") as file:
        file.write("# changed\n")
    assert course.make("lab") == 0
    assert course.asked == [COURSE_WITH_TESTS] and witness.exists()


@pytest.mark.parametrize("end", [0, 1])
def test_what_the_build_leaves_is_not_among_the_learners_folders(course, end):
    folders = "strides_to_streams.egg-info", "simulator/src/nogpu.egg-info"
    made = "; ".join(f"os.makedirs({folder!r})" for folder in folders)
    course.pip_does(f"{made}; print('ERROR: x'); sys.exit({end})")
    assert course.make("lab") == end
    assert not list(course.root.rglob("*.egg-info"))


def moved(course):
    new = course.root.with_name("elsewhere")
    course.root.rename(new)
    course.root = new
    course.load()


def other_python(course):
    stamp = dict(course.stamp, python="3.8")
    (course.venv / "course.json").write_text(json.dumps(stamp))


def broken_off(course):
    (course.venv / "unfinished").touch()


def never_finished(course):
    (course.venv / "course.json").unlink()


def stamp_cut_short(course):
    (course.venv / "course.json").write_text('{"place": "')


def python_gone(course):
    for python in course.venv.glob("bin/python*"):
        python.unlink()
    (course.venv / "bin" / "python").symlink_to("/no/such/python")


@pytest.mark.parametrize(
    "harm, reason",
    [
        (moved, "moved or copied"),
        (other_python, "was created by 3.8"),
        (broken_off, "was interrupted"),
        (never_finished, "did not finish creating"),
        (stamp_cut_short, "did not finish creating"),
        (python_gone, "no longer runs"),
    ],
)
def test_a_venv_that_cannot_be_right_is_made_anew(course, capfd, harm, reason):
    course.make("lab")
    (course.venv / "witness").touch()
    harm(course)
    assert course.make("lab") == 0
    assert reason in capfd.readouterr().out
    assert not (course.venv / "witness").exists()
    assert course.stamp["place"] == str(course.venv.resolve())


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_no_venv_is_not_touched(course, capfd, kind):
    if kind == "folder":
        course.venv.mkdir()
        (course.venv / "thesis.tex").touch()
    else:
        course.venv.touch()
    assert course.make("lab") == 1
    assert "is not a virtual environment" in capfd.readouterr().err
    assert course.venv.is_file() or (course.venv / "thesis.tex").exists()


def test_a_second_make_waits_for_the_first(course, capfd):
    held = os.open(course.root, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    release = threading.Timer(0.3, os.close, [held])
    release.start()
    begun = time.monotonic()
    assert course.make("lab") == 0
    release.join()
    assert time.monotonic() - begun > 0.25
    assert "waiting until it has finished" in capfd.readouterr().out


def test_a_course_that_is_not_writable_is_installed_in_the_learners_folder(
        course, monkeypatch, tmp_path):
    """By way of a folder of links, since pip writes beside pyproject.toml."""
    own, really = tmp_path / "not yet there" / "mine", os.access
    monkeypatch.setenv("COURSE_WORK", str(own))
    monkeypatch.setattr(os, "access", lambda path, mode: (
        not Path(path).is_relative_to(course.root) and really(path, mode)))
    for name in ("helpers/__init__.py", "simulator/src/nogpu/__init__.py"):
        (course.root / name).parent.mkdir(parents=True)
        (course.root / name).touch()
    before = sorted(course.root.rglob("*"))
    course.load()
    assert course.make("lab") == 0
    source = own / ".course" / "source"
    assert course.asked == [f"--editable {source}/simulator --editable {source}"]
    for name in ("pyproject.toml", "simulator/pyproject.toml"):
        assert not (source / name).is_symlink()
        assert (source / name).read_bytes() == (course.root / name).read_bytes()
    for name in ("helpers", "simulator/src/nogpu"):
        assert (source / name).resolve() == course.root / name
    assert course.ran[0] == str(own / ".venv" / "bin" / "python")
    assert [path for path in sorted(course.root.rglob("*")) if "__pycache__" not in str(path)] == \
        [path for path in before if "__pycache__" not in str(path)]
    assert course.make("lab") == 0 and course.asked == []


@pytest.mark.parametrize("harm, words", [
    (None, ""), ("pyproject.toml", "not yours to change"), (".venv/unfinished", "Creating")])
def test_somebody_elses_venv_is_used_unless_it_is_unfinished(
        course, monkeypatch, tmp_path, capfd, harm, words):
    course.make("lab")
    course.asked  # noqa: B018, forgotten
    if harm:
        with open(course.root / harm, "a") as file:
            file.write("\n# the owner's new edition\n")
    own, really = tmp_path / "mine", os.access
    monkeypatch.setenv("COURSE_WORK", str(own))
    monkeypatch.setattr(os, "access", lambda path, mode: (
        not Path(path).is_relative_to(course.root) and really(path, mode)))
    (course.root / "simulator" / "src").mkdir()
    course.load()
    before = sorted(course.root.rglob("*"))
    for _ in range(2):
        capfd.readouterr()
        assert course.make("lab") == 0
        place = own if words == "Creating" else course.root
        assert course.ran[0] == str(place / ".venv" / "bin" / "python")
        (course.root / ".venv" / "unfinished").unlink(missing_ok=True)
        course.load()  # whoever has one of their own keeps it
        if words != "Creating":
            assert course.asked == [] and words in capfd.readouterr().out
    assert not [path for path in course.root.rglob("*")
                if path not in before and "__pycache__" not in str(path)]


def test_nothing_of_another_course_is_found_before_the_venv(course, monkeypatch):
    for name in ("PYTHONPATH", "PYTHONHOME", "JUPYTER_PATH"):
        monkeypatch.setenv(name, "/another/course")
    course.make("lab")
    assert not {"PYTHONPATH", "PYTHONHOME", "JUPYTER_PATH"} & set(course.variables)
    assert course.variables["JUPYTER_PREFER_ENV_PATH"] == "1"


# What goes wrong

UNREACHABLE = [
    "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken",
    "NewConnectionError('<HTTPSConnection>: Failed to establish a new connection')",
    "socket.gaierror: [Errno -3] Temporary failure in name resolution",
    "ReadTimeoutError(\"HTTPSConnectionPool(host='a', port=443): Read timed out. (timeout=15)\")",
    "ConnectTimeoutError(<HTTPSConnection>, 'Connection to a timed out.')",
    "ProxyError('Cannot connect to proxy.')",
    "ConnectionResetError(104, 'Connection reset by peer')",
    "SSLError(SSLCertVerificationError(1, 'certificate verify failed'))",
]
# What pip prints for a file that is shorter than the index says, by pip's age and by the file.
CUT_OFF = [
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated",
    "pip._vendor.urllib3.exceptions.ProtocolError: ('Connection broken: IncompleteRead(5 bytes "
    "read, 95 more expected)', IncompleteRead(5 bytes read, 95 more expected))",
    "error: incomplete-download\n\n\u00d7 Download failed because not enough bytes were received",
    "ERROR: Wheel 'numpy' located at ./numpy-2.1-py3-none-any.whl is invalid.",
    "zipfile.BadZipFile: File is not a zip file",
]
NO_NETWORK = (
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(': Failed "
    "to establish a new connection: [Errno -3] Temporary failure in name resolution'\n"
    "ERROR: No matching distribution found for setuptools>=61"
)
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
FAILURES = [
    (NO_NETWORK, "pip cannot reach the package index", "network"),
    (FULL, "The disk is full", "Free some space"),
    ("ERROR: [Errno 122] Disk quota exceeded", "The disk is full", "Free some space"),
    ("ERROR: [Errno 30] Read-only file system: 'x'", "is not writable", "folder of your own"),
    *[(line, "pip cannot reach the package index", "HTTPS_PROXY") for line in UNREACHABLE],
    *[(line, "A download was cut off, or changed", "run this again") for line in CUT_OFF],
    ("error: command 'x86_64-linux-gnu-g++' failed: No such file", "C++ compiler", "apt install"),
    ("src/a.hpp:1: fatal error: cuda.h: None\nERROR: Failed", "error: cuda.h: None", "its output"),
    ("ERROR: something new\n", "pip failed: ERROR: something new", "all of its output"),
]


@pytest.mark.parametrize("output, names, remedy", FAILURES)
def test_a_failed_installation_leaves_one_line_and_no_venv(course, capfd, output, names, remedy):
    course.pip_does(fail_with(output))
    assert course.make("lab") == 1
    said = capfd.readouterr().err
    assert names in said and remedy in said and said.count("\n") == 1
    assert not course.venv.exists() and course.ran is None
    log = re.search(r"output: (\S+)\)", said)
    if log:
        assert output in Path(log[1]).read_text()


def test_an_update_without_network_keeps_the_venv_as_it_is(course):
    course.make("lab")
    before = course.stamp
    course.pip_does(fail_with(NO_NETWORK))
    assert course.make("test") == 1
    assert course.stamp == before
    assert course.make("lab") == 0


def test_an_update_that_breaks_off_among_the_packages_takes_the_venv_away(course):
    course.make("lab")
    course.pip_does(fail_with("Installing collected packages: a, b\n" + FULL))
    assert course.make("test") == 1
    assert not course.venv.exists()


@pytest.mark.parametrize("output", ["", "Installing collected packages: a, b"])
def test_ctrl_c_stops_pip_and_leaves_no_venv(course, capfd, output):
    code = "import signal, time; print(os.getpid(), file=open(os.environ['PIP_ASKED'], 'w'))\n"
    # The wait lets a busy machine's main program get from starting pip to listening to it.
    code += (
        f"print({output!r}); time.sleep(0.2); os.kill(os.getppid(), signal.SIGINT); time.sleep(30)"
    )
    course.pip_does(code)
    begun = time.monotonic()
    assert course.make("lab") == 130
    assert time.monotonic() - begun < 10
    with pytest.raises(ProcessLookupError):
        os.kill(int(course.asked[0]), 0)
    assert not course.venv.exists()
    assert "Nothing unfinished is left" in capfd.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_names_the_package_to_install(course, capfd, monkeypatch, module):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == module else find(n))
    assert course.make("lab") == 1
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert f"sudo apt install python{version}-venv" in capfd.readouterr().err
    assert not course.venv.exists()


@pytest.mark.parametrize(
    "number, words",
    [(errno.EROFS, "is not writable"), (errno.EACCES, "is not writable")]
    + [(errno.ENOSPC, "The disk is full"), (errno.EIO, "Input/output error: .venv")],
)
def test_a_disk_that_takes_nothing_is_one_line(course, capfd, monkeypatch, number, words):
    def refuse(path, *arguments, **options):
        raise OSError(number, os.strerror(number), ".venv")

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert course.make("lab") == 1
    said = capfd.readouterr().err
    assert words in said and said.count("\n") == 1


def test_a_disk_that_is_full_when_the_stamp_is_written_leaves_no_venv(course, monkeypatch):
    def refuse(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), target)

    monkeypatch.setattr(os, "replace", refuse)
    assert course.make("lab") == 1
    assert not course.venv.exists()


# With a GPU

CUPY = "cupy-cuda12x[ctk]>=14.0"
CUPY_ALONE = "cupy-cuda12x>=14.0"
PYCUDA = "pycuda>=2025.1"


def test_without_a_gpu_there_is_no_cuda(course):
    course.toolkit()
    course.make("lab")
    assert course.asked == [COURSE]


@pytest.mark.parametrize("code", ["exit 9", "echo No devices found", "echo GPU 0: x; exit 9"])
def test_a_driver_that_does_not_answer_is_no_gpu(course, code):
    course.tool("nvidia-smi", code)
    course.make("lab")
    assert course.asked == [COURSE]


def test_a_learner_may_want_the_simulator_all_the_same(course, monkeypatch):
    course.gpu()
    monkeypatch.setenv("COURSE_BACKEND", "simulator")
    course.make("lab")
    assert course.asked == [COURSE]


def test_wsl_keeps_nvidia_smi_off_the_path(course):
    course.tool("wsl/nvidia-smi", 'echo "GPU 0: NVIDIA T1000 (UUID: 1)"')
    course.make("lab")
    assert course.asked == [COURSE, CUPY]


def test_a_gpu_without_toolkit_gets_cudas_libraries_and_no_pycuda(course, capfd):
    course.gpu()
    assert course.make("lab") == 0
    assert course.asked == [COURSE, CUPY]
    said = capfd.readouterr().out
    assert "Found GPU 0: NVIDIA H200." in said
    assert len([line for line in said.splitlines() if "PyCUDA is left out" in line]) == 1
    assert course.make("lab") == 0 and course.asked == []
    assert "PyCUDA" not in capfd.readouterr().out


def test_a_gpu_with_toolkit_gets_cupy_alone_and_then_pycuda(course, capfd):
    course.gpu()
    course.toolkit()
    course.make("test")
    assert course.asked == [COURSE_WITH_TESTS, CUPY_ALONE, PYCUDA]
    assert "two to three minutes" in capfd.readouterr().out
    assert str(course.tools / "cuda" / "bin") in course.variables["PATH"].split(os.pathsep)
    assert course.make("lab") == 0 and course.asked == []


@pytest.mark.parametrize("lacks", ["include/cuda_fp16.h", "lib64/libnvrtc.so.12"])
def test_half_a_toolkit_is_none_for_cupy(course, lacks):
    course.gpu()
    course.toolkit()
    (course.tools / "cuda" / lacks).unlink()
    course.make("lab")
    assert course.asked == [COURSE, CUPY, PYCUDA]


def test_a_toolkit_of_another_cuda_is_none_for_cupy(course):
    course.gpu()
    course.toolkit(13)
    course.make("lab")
    assert course.asked == [COURSE, CUPY, PYCUDA]


@pytest.mark.parametrize("name", ["CUDA_PATH", "CUDA_HOME"])
def test_a_toolkit_may_be_named(course, monkeypatch, name):
    course.gpu()
    course.toolkit()
    elsewhere = course.tools / "cuda-12.4"
    (course.tools / "cuda").rename(elsewhere)
    monkeypatch.setenv(name, str(elsewhere))
    course.make("lab")
    assert course.asked == [COURSE, CUPY_ALONE, PYCUDA]


def test_a_toolkit_is_found_through_nvcc_on_the_path(course):
    course.gpu()
    course.toolkit()
    elsewhere = course.tools / "apps"
    (course.tools / "cuda").rename(elsewhere)
    (course.tools / "nvcc").symlink_to(elsewhere / "bin" / "nvcc")
    course.make("lab")
    assert course.asked == [COURSE, CUPY_ALONE, PYCUDA]


def test_an_nvcc_that_does_not_run_is_none(course, capfd):
    course.gpu()
    course.tool("nvcc", "exec /no/such/nvcc")
    assert course.make("lab") == 0
    assert course.asked == [COURSE, CUPY]
    assert "needs the nvcc" in capfd.readouterr().out


def test_a_gpu_that_comes_later_adds_to_the_venv(course):
    course.make("lab")
    witness = course.venv / "witness"
    witness.touch()
    course.gpu()
    assert course.make("lab") == 0
    assert course.asked == [COURSE, CUPY] and witness.exists()


def test_pycuda_that_fails_loses_nothing_and_is_not_tried_at_each_start(course, capfd):
    course.gpu()
    course.toolkit()
    output = "Installing collected packages: siphash\nfatal error: Python.h: No such file"
    course.pip_does(fail_with(output, "pycuda"))
    assert course.make("lab") == 0 and course.ran
    assert course.asked == [COURSE, CUPY_ALONE, PYCUDA]
    said = capfd.readouterr().out
    assert "everything else is installed. The compiler finds no Python.h: install it" in said
    assert course.stamp["cupy"] == CUPY_ALONE
    assert course.make("lab") == 0 and course.asked == []
    course.pip_does("")
    course.tool("nvcc")
    assert course.make("lab") == 0 and course.asked == [PYCUDA]


def test_pycuda_broken_off_keeps_the_rest_and_is_tried_again(course):
    course.gpu()
    course.toolkit()
    stop = "import signal, time; print('Installing collected packages: a', flush=True); "
    stop += "time.sleep(0.2); os.kill(os.getppid(), signal.SIGINT); time.sleep(30)"
    course.pip_does(f"if 'pycuda' in sys.argv[-1]: {stop}")
    assert course.make("lab") == 130
    assert course.stamp["cupy"] == CUPY_ALONE
    course.pip_does("")
    course.asked  # noqa: B018, forgotten
    assert course.make("lab") == 0
    assert course.asked == [PYCUDA]


def test_cupy_without_network_keeps_the_course(course):
    course.gpu()
    course.pip_does(fail_with(NO_NETWORK, "cupy"))
    assert course.make("lab") == 1
    course.pip_does("")
    course.asked  # noqa: B018, forgotten
    assert course.make("lab") == 0
    assert course.asked == [CUPY]


# Which program is started in the end


def test_lab_opens_the_rendered_readme_and_passes_options_on(course):
    course.make("lab", "--no-browser", "--port", "8899")
    assert course.ran[0] == str(course.venv / "bin" / "python")
    assert course.ran[1:3] == ["-m", "jupyterlab"]
    assert "--LabApp.default_url=/lab/tree/README.md" in course.ran
    assert course.ran[-3:] == ["--no-browser", "--port", "8899"]
    assert f"--ServerApp.root_dir={course.root / 'work'}" in course.ran
    assert "--HTMLExporter.template_name=course" in course.ran
    pages = f"--TemplateExporter.extra_template_basedirs={course.root / 'install' / 'pages'}"
    assert pages in course.ran
    (folder,) = [one.partition("=")[2] for one in course.ran if "app_settings_dir" in one]
    settings = json.loads(Path(folder, "overrides.json").read_text())
    viewers = settings["@jupyterlab/docmanager-extension:plugin"]
    assert viewers == {"defaultViewers": {"markdown": "Markdown Preview"}}


def test_the_settings_are_ones_that_jupyterlab_has(course):
    """A setting that JupyterLab does not know would be passed over in silence."""
    schemas = Path(sys.prefix) / "share" / "jupyter" / "lab" / "schemas"
    if not schemas.exists():
        pytest.skip("this environment has no JupyterLab")
    for plugin, settings in course.commands.LAB_SETTINGS.items():
        package, name = plugin.split(":")
        known = json.loads((schemas / package / f"{name}.json").read_text())["properties"]
        for key, value in settings.items():
            kind = {"boolean": bool, "string": str, "object": dict}[known[key]["type"]]
            assert isinstance(value, kind), key


def test_jupyter_sends_a_picture_that_lies_behind_a_link(course, tmp_path):
    """As the README's picture does in the learner's folder."""
    pytest.importorskip("jupyter_server")
    course.make("lab")
    (option,) = [one for one in course.ran if "files_handler_class" in one]
    for name in ("work", "helpers"):
        (tmp_path / "there" / name).mkdir(parents=True)
    (tmp_path / "there/helpers/ladder.png").write_bytes(b"a picture")
    (tmp_path / "there/work/helpers").symlink_to("../helpers")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter_server", "--allow-root", f"--port={port}", option,
         "--IdentityProvider.token=t", f"--ServerApp.root_dir={tmp_path / 'there/work'}"],
        env=os.environ | {"HOME": str(tmp_path)}, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}/files/helpers/ladder.png?token=t"
        for _ in range(300):
            try:
                assert urlopen(address, timeout=60).read() == b"a picture"
                break
            except HTTPError:
                raise
            except OSError:  # it does not listen yet
                time.sleep(0.2)
        else:
            pytest.fail("the server did not start within a minute")
    finally:
        server.terminate()
        server.wait()


def test_root_gets_jupyterlab_too_and_is_told(course, capfd, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    course.make("lab", "--no-browser")
    assert course.ran[-2:] == ["--allow-root", "--no-browser"]
    assert "You are root" in capfd.readouterr().out
    course.make("lab", "--allow-root")
    assert course.ran.count("--allow-root") == 1


def test_test_runs_pytest_and_passes_options_on(course):
    course.make("test", "-k", "a or b")
    assert course.ran[1] == "tests/run.py" and course.ran[-2:] == ["-k", "a or b"]
    assert "--dist=loadfile" in course.ran  # a notebook's cells belong to one process
    assert course.variables["PATH"].split(os.pathsep)[0] == str(course.venv / "bin")


# The Makefile and .ci/run

TOOLS = ["make", "sh", "awk"]


@pytest.fixture
def bare(course):
    """A machine with make and no Python but the ones that a test adds."""
    for name in TOOLS:
        (course.tools / name).symlink_to(shutil.which(name, path="/usr/bin:/bin:/usr/local/bin"))
    # These tests may themselves be run by make, which tells the makes below it.
    for name in ("PYTHON", "ARGS", "NOTEBOOKS", "REPO", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        course.monkeypatch.delenv(name, raising=False)
    return course


def run_make(course, *arguments):
    return subprocess.run(
        [str(course.tools / "make"), *arguments],
        cwd=course.root,
        capture_output=True,
        text=True,
    )


def python(course, name, new_enough=True):
    """A Python that says whether it is new enough and else only who it is and what it is given."""
    version = "(3, 10, 0)" if new_enough else "(3, 9, 18)"
    question = f'"import sys; sys.version_info = {version}; $2"'
    asked = f'[ "$1" = -c ] && exec "{sys.executable}" -c {question}'
    course.tool(name, f'{asked}\nprintf "%s|" {name} "$@"')


@pytest.mark.parametrize(
    "new, old, chosen",
    [
        (["python3", "python3.13"], [], "python3"),
        (["python3.10", "python3.12"], ["python3", "python3.13"], "python3.12"),
        (["python3.11"], [], "python3.11"),
        ([], ["python3"], "python3"),
    ],
)
def test_make_takes_a_python_that_is_new_enough(bare, new, old, chosen):
    for name in new + old:
        python(bare, name, name in new)
    assert run_make(bare, "lab").stdout == f"{chosen}|install|lab|"


def test_make_takes_the_python_that_is_named(bare):
    for name in ("python3", "my python"):
        python(bare, name)
    (bare.tools / "my python").write_text('#!/bin/sh\nprintf "%s|" mine "$@"\n')
    named = f"PYTHON={bare.tools / 'my python'}"
    assert run_make(bare, "test", named).stdout == "mine|install|test|"


@pytest.mark.parametrize("named", [[], ["PYTHON=python9"]])
def test_make_without_python_says_what_to_install(bare, named):
    done = run_make(bare, "lab", *named)
    assert done.returncode == 2 and "needs Python 3.10 or newer" in done.stderr
    assert "sudo apt install python3" in done.stderr
    assert done.stderr.count("\n") == 2, "our line and make's"


@pytest.mark.parametrize(
    "arguments, passed",
    [
        (["lab", "ARGS=--no-browser --port 8899"], "lab|--no-browser|--port|8899|"),
        (["test", "ARGS=-k 'a or b'"], "test|-k|a or b|"),
        (["record", "NOTEBOOKS=a.ipynb b.ipynb"], "run|-m|authoring|record|a.ipynb|b.ipynb|"),
        (["exercises", "ARGS=--check"], "run|-m|authoring|exercises|--check|"),
        (["publish", "REPO=owner/name"], "run|-m|publishing|publish|owner/name|"),
        (["bench"], "run|-m|authoring|bench|"),
    ],
)
def test_make_passes_on_what_it_is_given(bare, arguments, passed):
    python(bare, "python3")
    assert run_make(bare, *arguments).stdout == "python3|install|" + passed


def test_help_is_the_default_and_two_lists_name_every_target(bare):
    for_learners = run_make(bare).stdout
    for_authors = run_make(bare, "help-authors").stdout
    assert for_learners == run_make(bare, "help").stdout
    listed = [re.findall(r"^make ([\w-]+) +\S", shown, re.MULTILINE)
              for shown in (for_learners, for_authors)]
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert listed[0] + listed[1] == targets.split()
    assert {"lab", "test", "clean"} <= set(listed[0]) and "publish" in listed[1]


def test_ci_runs_make_test_and_ends_with_pytests_closing_line(tmp_path):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "Makefile").write_text(
        "test:\n\t@echo a test that prints: 5 passed in 1.00s\n"
        '\t@echo "=== 1 failed, 2 passed in 3.00s (0:00:03) ==="; exit 1\n'
    )
    done = subprocess.run([tmp_path / ".ci" / "run"], capture_output=True, text=True)
    assert done.returncode != 0
    lines = done.stdout.splitlines()
    assert lines[-1] == "=== 1 failed, 2 passed in 3.00s (0:00:03) ==="
    assert sum("5 passed" in line for line in lines) == 1
