"""Create `.venv`, keep it up to date, and start programs in it.

A virtual environment cannot be moved, so `.venv` is not created elsewhere and renamed. Two files
in it show its state. `.venv/course.json`, the stamp, is written last and lists what is installed.
`.venv/unfinished`, the mark, exists while packages are being changed; a run that finds it removes
`.venv` and creates it again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from basics import (
    ROOT,
    WORK,
    Problem,
    disk_is_full,
    is_writable,
    not_writable,
    one_at_a_time,
    put,
    say,
    tells_of_full_disk,
)


def find_venv() -> Path:
    """The course's `.venv`; the learner's own where the course is not writable and has none.

    One that somebody else has not finished counts as none. Whoever has one of their own keeps it.
    """
    shared, own = ROOT / ".venv", WORK / ".venv"
    is_finished = (shared / "course.json").exists() and not (shared / "unfinished").exists()
    return shared if is_writable(ROOT) or (is_finished and not own.exists()) else own


VENV = find_venv()
STAMP = VENV / "course.json"  # lists what a finished .venv contains
UNFINISHED = VENV / "unfinished"  # exists while .venv is not finished
PYPROJECT = ROOT / "pyproject.toml"
SIMULATOR = ROOT / "simulator"

PYTHON_VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"  # as packages are built for it

# What pip and what it starts print, and what then helps; "" stands for `not_writable`.
CAUSES = (
    (r"DO NOT MATCH THE HASHES|IncompleteRead|incomplete-download|BadZipFile"
     r"|Wheel '.*' located at .* is invalid",
     "A download was cut off, or changed on its way here: run this again. If it fails again, empty"
     " pip's cache (python3 -m pip cache purge) or use another network."),
    ("Read-only file system|Permission denied", ""),
    (r"NewConnectionError|Failed to establish a new connection|name resolution"
     r"|ConnectTimeout|Connection(Reset)?Error|ProxyError|Read timed out|SSLError|Retrying \(",
     "pip cannot reach the package index. Connect this machine to the network (behind a proxy: set"
     " HTTPS_PROXY) and run this again."),
    ("Python.h: No such file",
     "The compiler finds no Python.h: install it (Debian, Ubuntu, WSL: sudo apt install"
     f" python{PYTHON_VERSION}-dev)."),
    (r"command '\S*(gcc|g\+\+|cc|c\+\+)' failed: No such file",
     "There is no C++ compiler: install one (Debian, Ubuntu, WSL: sudo apt install"
     " build-essential)."),
)

# CUDA's installer puts a toolkit here, and WSL the driver's programs; neither is always on PATH.
USUAL_TOOLKIT = "/usr/local/cuda"
WSL_PROGRAMS = "/usr/lib/wsl/lib"

def become_python(arguments: list[str]) -> None:
    """Replace this process by `.venv`'s Python, which then receives Ctrl-C and exits for it."""
    os.chdir(ROOT)
    sys.stdout.flush()
    python = str(VENV / "bin" / "python")
    os.execve(python, [python, *arguments], inner_environment())


def inner_environment() -> dict[str, str]:
    """Environment variables for programs in `.venv`, so that they find its `pip` and the `nvcc`."""
    variables = dict(os.environ, VIRTUAL_ENV=str(VENV))
    # No package and no kernel of another course, or of the machine's, is found before .venv's.
    for name in ("PYTHONHOME", "PYTHONPATH", "JUPYTER_PATH"):
        variables.pop(name, None)
    variables["JUPYTER_PREFER_ENV_PATH"] = "1"
    folders = [str(VENV / "bin")]
    nvcc = find_nvcc()
    if nvcc and not shutil.which("nvcc"):
        folders.append(os.path.dirname(nvcc))
    variables["PATH"] = os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])
    return variables


# Creating .venv and keeping it up to date


def ensure(extras: set[str]) -> None:
    """Install what is missing in `.venv`: the course, its `extras`, and CuPy where there is a GPU.

    Parameters
    ----------
    extras : set of str
        Names under [project.optional-dependencies] in pyproject.toml.
    """
    with one_at_a_time(ROOT):
        if not is_writable(VENV):
            if digest_of_requirements() != json.loads(STAMP.read_text())["pyproject"]:
                say(f"{VENV} is of another edition of the course and not yours to change. If a"
                    " package is missing, ask its owner to run make lab.")
            return
        state = usable_state()
        if state is None:
            state = create_venv()
        install_course(state, extras)
        gpu = find_gpu()
        if gpu:
            install_cupy(state, gpu)
            install_pycuda(state)


def usable_state() -> dict | None:
    """The content of the stamp; None where `.venv` is missing or had to be removed.

    Raises
    ------
    Problem
        When `.venv` exists and is not a virtual environment.
    """
    if not VENV.exists() and not VENV.is_symlink():
        return None
    if not VENV.is_dir() or not (looks_like_a_venv() or not any(VENV.iterdir())):
        raise Problem(f"{VENV} is not a virtual environment: move it elsewhere and run this again.")
    try:
        state = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        state = {}
    if UNFINISHED.exists():
        why = "The last installation was interrupted"
    elif "place" not in state:
        why = "The course did not finish creating this .venv"
    elif state["place"] != str(VENV.resolve()):
        why = "The course's folder was moved or copied"
    elif state["python"] != PYTHON_VERSION:
        why = f"This is Python {PYTHON_VERSION} and .venv was created by {state['python']}"
    elif not answers([str(VENV / "bin" / "python"), "-c", "import pip"]):
        why = "The Python in .venv no longer runs"
    else:
        return state
    say(f"{why}: creating it again.")
    remove_venv()
    return None


def looks_like_a_venv() -> bool:
    """Whether `.venv` is a virtual environment, or the rest of one that the course created."""
    return any(mark.exists() for mark in (VENV / "pyvenv.cfg", STAMP, UNFINISHED))


def create_venv() -> dict:
    """Create an empty `.venv`, marked as unfinished; return the beginning of its stamp."""
    missing = [name for name in ("venv", "ensurepip") if not importlib.util.find_spec(name)]
    if missing:
        raise Problem(
            f"Python {PYTHON_VERSION} has no {missing[0]} module: install it (Debian, Ubuntu, "
            f"WSL: sudo apt install python{PYTHON_VERSION}-venv) and run this again."
        )
    say(f"Creating .venv with Python {PYTHON_VERSION}: some seconds.")
    VENV.mkdir(parents=True, exist_ok=True)
    UNFINISHED.touch()
    # In an activated environment this is the Python that created it, because the environment
    # itself may be the one that is being replaced.
    python = getattr(sys, "_base_executable", None) or sys.executable
    with removing_what_is_unfinished():
        run([python, "-m", "venv", str(VENV)], "venv")
    return {"place": str(VENV.resolve()), "python": PYTHON_VERSION, "extras": []}


def install_course(state: dict, extras: set[str]) -> None:
    """Install the course and its dependencies, unless `state` says that they are installed."""
    pyproject = digest_of_requirements()
    wanted = sorted(extras | set(state["extras"]))
    if state.get("pyproject") == pyproject and state["extras"] == wanted:
        return
    if "pyproject" not in state:
        say("Installing JupyterLab, NumPy, Matplotlib and more, 440 MB: about a minute.")
    else:
        say("Bringing .venv up to date: some seconds.")
    with removing_what_is_unfinished():
        source = source_folder()
        try:
            course = f"{source}[{','.join(wanted)}]" if wanted else source
            pip("--editable", f"{source}/simulator", "--editable", course)
        finally:
            # The build leaves folders that nothing reads later. Learners would see them.
            for left in (*ROOT.glob("*.egg-info"), *ROOT.glob("simulator/src/*.egg-info")):
                shutil.rmtree(left)
        build_font_cache()
        startup = VENV / "etc" / "ipython" / "startup"
        startup.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "install" / "first_cell.py", startup)
        finish(state, pyproject=pyproject, extras=wanted, cupy=None)


def source_folder() -> str:
    """The folder that pip installs the course from, relative to the course's folder.

    pip creates files beside pyproject.toml. So for a course that is not writable it is a folder
    in the learner's folder, with copies of the course's files and links to its folders.
    """
    if is_writable(ROOT):
        return "."
    source = VENV.parent / ".course" / "source"
    shutil.rmtree(source, ignore_errors=True)
    for folder, inner in ((".", "simulator"), ("simulator", "src"), ("simulator/src", "")):
        (source / folder).mkdir(parents=True)
        for entry in (ROOT / folder).iterdir():
            if entry.is_file():
                shutil.copyfile(entry, source / folder / entry.name)
            elif entry.name != inner and not entry.name.startswith("."):
                (source / folder / entry.name).symlink_to(entry)
    return str(source)


def digest_of_requirements() -> str:
    """A text that changes when a pyproject.toml of the course or of its simulator changes."""
    contents = [file.read_bytes() for file in (PYPROJECT, SIMULATOR / "pyproject.toml")]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()


def build_font_cache() -> None:
    """Let Matplotlib list the fonts now. Else a notebook's output contains its notice about it."""
    answers([str(VENV / "bin" / "python"), "-c", "import matplotlib.font_manager"])


def install_cupy(state: dict, gpu: str) -> None:
    """Install CuPy, and CUDA's libraries where the machine has no toolkit that CuPy can use."""
    toolkit = find_toolkit()
    wanted = requirement("cupy-cuda12x")
    if toolkit:
        wanted = wanted.replace("[ctk]", "")
    if state["cupy"] in (wanted, requirement("cupy-cuda12x")):
        return
    say(f"Found {gpu}.")
    if toolkit:
        say(f"Installing CuPy for the CUDA 12 toolkit in {toolkit}: about a minute.")
    else:
        say("Installing CuPy and, as there is no CUDA 12 toolkit, CUDA's libraries, 2.8 GB:")
        say("some minutes.")
    with removing_what_is_unfinished():
        pip(wanted)
        finish(state, cupy=wanted)


def install_pycuda(state: dict) -> None:
    """Build PyCUDA where there is an nvcc. If that fails, everything else stays installed."""
    nvcc = find_nvcc()
    if nvcc and not answers([nvcc, "--version"]):
        nvcc = None  # a link or a wrapper whose toolkit was removed
    before = state.get("pycuda")
    if before == "installed" or (before and before == (nvcc or "no nvcc")):
        return
    if not nvcc:
        say("PyCUDA is left out, because it needs the nvcc of the CUDA 12 toolkit.")
        finish(state, pycuda="no nvcc")
        return
    say("Building PyCUDA, for which there is no ready package: two to three minutes.")
    try:
        pip(requirement("pycuda"), marked=False)
    except Problem as problem:
        say(f"PyCUDA is left out, everything else is installed. {problem}")
        say("Try again with: .venv/bin/python -m pip install pycuda")
        # So it is not tried again at each start, but only when there is another nvcc.
        finish(state, pycuda=nvcc)
    else:
        finish(state, pycuda="installed")


def requirement(name: str) -> str:
    """The requirement of the package `name` as pyproject.toml states it.

    It is searched as text, because Python 3.10 cannot read TOML.
    """
    found = re.search(rf'"({re.escape(name)}[^"]*)"', PYPROJECT.read_text(encoding="utf-8"))
    if not found:
        raise Problem(f"pyproject.toml does not name {name}: get a new copy of the course.")
    return found[1]


# The stamp and the mark


def finish(state: dict, **news: object) -> None:
    """Write what is now installed into the stamp, and remove the mark."""
    state.update(news)
    put(STAMP, (json.dumps(state, indent=2) + "\n").encode(), replace=True)
    UNFINISHED.unlink(missing_ok=True)


@contextmanager
def removing_what_is_unfinished() -> Iterator[None]:
    """After an error remove `.venv` if it is unfinished; keep it if nothing was changed."""
    try:
        yield
    except BaseException:
        if UNFINISHED.exists():
            remove_venv()
        raise


def remove_venv() -> None:
    """Remove `.venv`, and the mark last, so that the next run notices an interrupted removal."""
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # On a full or read-only disk the mark cannot be created.
        try:
            UNFINISHED.touch()
        except OSError:
            pass
        for entry in VENV.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry != UNFINISHED:
                entry.unlink()
        UNFINISHED.unlink(missing_ok=True)
        if not VENV.is_symlink():
            VENV.rmdir()
    finally:
        signal.signal(signal.SIGINT, former)


# Running pip and others


def pip(*packages: str, marked: bool = True) -> None:
    """Install `packages` into `.venv` and print a line now and then.

    Parameters
    ----------
    *packages : str
        Arguments of `pip install`.
    marked : bool
        Whether `.venv` is marked as unfinished once pip begins to change packages.
    """
    # Python compiles a module when it is first imported: most of what comes here never is.
    command = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--no-input", "--no-compile"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", *packages]
    begun = said = time.monotonic()

    def follow(line: str) -> None:
        nonlocal said
        seconds = time.monotonic() - begun
        if line.startswith("Installing collected packages"):
            # Until here pip has only downloaded and built, outside .venv.
            if marked:
                UNFINISHED.touch()
            said = time.monotonic()
            say(f"{seconds:6.0f} s: unpacking {line.count(',') + 1} packages")
        elif line.startswith("Collecting ") and time.monotonic() - said > 10:
            said = time.monotonic()
            say(f"{seconds:6.0f} s: fetching {line.split()[1]}")

    run(command, "pip", follow)
    say(f"{time.monotonic() - begun:6.0f} s: done")


def run(command: list[str], name: str, follow=lambda line: None) -> None:
    """Run `command` and print nothing of what it prints; `follow` gets each line.

    Raises
    ------
    Problem
        When it fails, with the cause.
    """
    lines = []
    variables = dict(inner_environment(), PIP_USER="0", PYTHONUNBUFFERED="1")
    # With its usual five retries pip takes most of a minute to say that there is no network.
    variables.setdefault("PIP_RETRIES", "2")
    process = subprocess.Popen(
        command, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace")
    try:
        for line in process.stdout:
            lines.append(line.rstrip())
            follow(line)
        status = process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise
    if status:
        raise Problem(cause(name, lines))


def cause(name: str, lines: list[str]) -> str:
    """One line with the cause and what to do, from what the program `name` printed."""
    output = "\n".join(lines)
    if tells_of_full_disk(output):
        return disk_is_full()
    for pattern, remedy in CAUSES:
        if re.search(pattern, output):
            return remedy or not_writable()
    # A compiler's message says more than pip's message about it.
    fatal = [line.strip() for line in lines if "fatal error:" in line]
    errors = [line.strip() for line in lines if re.match(r"\s*(ERROR|error|Error):", line)]
    printed = [line.strip() for line in lines if line.strip()]
    last = (fatal or errors or printed or ["it printed nothing"])[-1]
    return f"{name} failed: {last[:200]} (all of its output: {save_log(lines)})"


def save_log(lines: list[str]) -> str:
    """Write what a program printed to a file outside `.venv`; return the file's path."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="course-", suffix=".log", encoding="utf-8",
                                         delete=False) as log:
            log.write("\n".join(lines) + "\n")
        return log.name
    except OSError:
        return "could not be written"


def answers(command: list[str]) -> bool:
    """Whether `command` runs and ends without an error."""
    try:
        return not subprocess.run(command, capture_output=True, timeout=120).returncode
    except (OSError, subprocess.TimeoutExpired):
        return False


# What the machine has


def find_gpu() -> str | None:
    """The first GPU as nvidia-smi names it; None without one, or where it is not to be used."""
    if os.environ.get("COURSE_BACKEND") == "simulator":
        return None
    smi = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path=WSL_PROGRAMS)
    if not smi:
        return None
    try:
        answer = subprocess.run([smi, "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(r"(GPU \d+: [^(\n]*[^(\s])", answer.stdout)
    return found[1] if found and not answer.returncode else None


def cuda_folders() -> list[Path]:
    """The folders in which CuPy looks for a CUDA toolkit."""
    named = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME")]
    nvcc = shutil.which("nvcc")
    if nvcc:
        named.append(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))))
    return [Path(folder) for folder in [*named, USUAL_TOOLKIT] if folder]


def find_toolkit() -> Path | None:
    """The folder of a toolkit that cupy-cuda12x can use; None where there is none.

    CuPy needs CUDA 12's headers, run-time compiler and libraries. An nvcc alone, or a toolkit of
    CUDA 11 or 13, is not enough.
    """
    for folder in cuda_folders():
        libraries = [folder / "lib64", folder / "lib", *folder.glob("targets/*-linux/lib")]
        if (folder / "include" / "cuda_fp16.h").exists() and any(
            all((place / name).exists() for name in ("libnvrtc.so.12", "libcublas.so.12"))
            for place in libraries
        ):
            return folder
    return None


def find_nvcc() -> str | None:
    """The path of nvcc, also of one that is installed but not on PATH."""
    places = os.pathsep.join(str(folder / "bin") for folder in cuda_folders())
    return shutil.which("nvcc") or shutil.which("nvcc", path=places)
