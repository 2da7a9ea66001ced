"""Makes `.venv`, keeps it right, and runs programs in it.

A virtual environment cannot be built aside and renamed,
so it is built in place and `.venv/course.json` is written last. While pip is changing packages
there is also `.venv/unfinished`; whoever finds that file makes `.venv` anew.
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
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from basics import ROOT, WORK, Problem, disk_is_full, is_writable, not_writable, one_at_a_time, say

# A course that cannot be written to and that nobody has installed is installed in the learner's
# own folder.
VENV = (ROOT if (ROOT / ".venv").exists() or is_writable(ROOT) else WORK) / ".venv"
PYPROJECT = ROOT / "pyproject.toml"
SIMULATOR = ROOT / "simulator"

# Where CUDA's installer puts a toolkit, and WSL the driver's programs, often not on PATH.
USUAL_TOOLKIT = "/usr/local/cuda"
WSL_PROGRAMS = "/usr/lib/wsl/lib"

def take_over(arguments: list[str]) -> None:
    """Become `.venv`'s Python with `arguments`, so that Ctrl-C and the exit status are its own."""
    os.chdir(ROOT)
    sys.stdout.flush()
    python = str(VENV / "bin" / "python")
    os.execve(python, [python, *arguments], inner_environment())


def inner_environment() -> dict[str, str]:
    """Variables for what runs in `.venv`: `pip` and `nvcc` in a cell are the right ones."""
    variables = dict(os.environ, VIRTUAL_ENV=str(VENV))
    # Nothing of another course or of the machine's comes before what .venv has.
    for name in ("PYTHONHOME", "PYTHONPATH", "JUPYTER_PATH"):
        variables.pop(name, None)
    variables["JUPYTER_PREFER_ENV_PATH"] = "1"  # over kernels in the learner's home
    folders = [str(VENV / "bin")]
    nvcc = find_nvcc()
    if nvcc and not shutil.which("nvcc"):
        folders.append(os.path.dirname(nvcc))
    variables["PATH"] = os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])
    return variables


# Making .venv and keeping it right


def ensure(extras: set[str]) -> None:
    """Leave `.venv` with the course, its `extras` of pyproject.toml and what a GPU needs."""
    with one_at_a_time(ROOT):
        state = usable_state()
        if state is None:
            state = make_venv()
        install_course(state, extras)
        gpu = find_gpu() if is_writable(VENV) else None
        if gpu:
            install_cupy(state, gpu)
            install_pycuda(state)


def usable_state() -> dict | None:
    """What `.venv` holds, as its stamp has it; None where it has to be made anew (and why)."""
    if not VENV.exists() and not VENV.is_symlink():
        return None
    if not VENV.is_dir() or not (marks_of_a_venv() or not any(VENV.iterdir())):
        raise Problem(f"{VENV} is in the way and not a virtual environment: move it elsewhere.")
    try:
        state = json.loads(stamp().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        state = {}
    if unfinished().exists():
        why = "The last installation was broken off"
    elif "place" not in state:
        why = "This .venv is not one that the course has finished"
    elif state["place"] != str(VENV.resolve()):
        why = "The course's folder was moved or copied"
    elif state["python"] != python_version():
        why = f"This is Python {python_version()} and .venv was made by {state['python']}"
    elif not answers([str(VENV / "bin" / "python"), "-c", "import pip"]):
        why = "The Python in .venv no longer runs"
    else:
        return state
    say(f"{why}: making it anew.")
    discard()
    return None


def marks_of_a_venv() -> bool:
    """Whether the folder is a virtual environment or the remains of one of ours."""
    return any(mark.exists() for mark in (VENV / "pyvenv.cfg", stamp(), unfinished()))


def make_venv() -> dict:
    """Make an empty `.venv`, still marked as unfinished."""
    missing = [name for name in ("venv", "ensurepip") if not importlib.util.find_spec(name)]
    if missing:
        raise Problem(
            f"Python {python_version()} has no {missing[0]} module: install it (Debian, Ubuntu, "
            f"WSL: sudo apt install python{python_version()}-venv) and run this again."
        )
    say(f"Making .venv with Python {python_version()}: some seconds.")
    VENV.mkdir(exist_ok=True)
    unfinished().touch()
    # The Python behind an activated environment, as that environment may be what is replaced.
    python = getattr(sys, "_base_executable", None) or sys.executable
    with discarding_what_is_unfinished():
        run([python, "-m", "venv", str(VENV)], "venv")
    return {"place": str(VENV.resolve()), "python": python_version(), "extras": []}


def install_course(state: dict, extras: set[str]) -> None:
    """Install the course and its dependencies, where pyproject.toml or `extras` ask for more."""
    pyproject = digest_of_requirements()
    wanted = sorted(extras | set(state["extras"]))
    if state.get("pyproject") == pyproject and state["extras"] == wanted:
        return
    if "pyproject" not in state:
        say("Installing JupyterLab, NumPy, Matplotlib and more, 440 MB: about a minute.")
    else:
        say("Bringing .venv up to date: some seconds.")
    with discarding_what_is_unfinished():
        source = source_folder()
        try:
            course = f"{source}[{','.join(wanted)}]" if wanted else str(source)
            pip("--editable", f"{source}/simulator", "--editable", course)
        finally:
            # Folders that nothing reads later and that learners would see among theirs.
            for left in (*ROOT.glob("*.egg-info"), *ROOT.glob("simulator/src/*.egg-info")):
                shutil.rmtree(left)
        build_font_cache()
        finish(state, pyproject=pyproject, extras=wanted, cupy=None)


def source_folder() -> str:
    """The folder to install from, as pip reads it.

    That is the course's own or, where nothing can be written there, one of links to it: pip makes
    files beside pyproject.toml.
    """
    if is_writable(ROOT):
        return "."
    links = VENV.parent / ".course" / "source"
    shutil.rmtree(links, ignore_errors=True)
    for folder, within in ((".", "simulator"), ("simulator", "src"), ("simulator/src", "")):
        (links / folder).mkdir(parents=True)
        for entry in (ROOT / folder).iterdir():
            if entry.is_file():
                shutil.copyfile(entry, links / folder / entry.name)
            elif entry.name != within and not entry.name.startswith("."):
                (links / folder / entry.name).symlink_to(entry)
    return str(links)


def digest_of_requirements() -> str:
    """A text that changes when a pyproject.toml of the course or of its simulator changes."""
    contents = [file.read_bytes() for file in (PYPROJECT, SIMULATOR / "pyproject.toml")]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()


def build_font_cache() -> None:
    """Let Matplotlib list the fonts now: its notice about it would be in a notebook's output."""
    answers([str(VENV / "bin" / "python"), "-c", "import matplotlib.font_manager"])


def install_cupy(state: dict, gpu: str) -> None:
    """Install CuPy, with CUDA's libraries where the machine has no toolkit that could serve it."""
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
    with discarding_what_is_unfinished():
        pip(wanted)
        finish(state, cupy=wanted)


def install_pycuda(state: dict) -> None:
    """Build PyCUDA where there is an nvcc; whatever comes of it, the rest stays as it is."""
    nvcc = find_nvcc()
    if nvcc and not answers([nvcc, "--version"]):
        nvcc = None  # A link or a wrapper whose toolkit has gone.
    before = state.get("pycuda")
    if before == "installed" or (before and before == (nvcc or "no nvcc")):
        return
    if not nvcc:
        say("PyCUDA is left out: no working nvcc is here (it comes with the CUDA 12 toolkit).")
        finish(state, pycuda="no nvcc")
        return
    say("Building PyCUDA, for which there is no ready package: two to three minutes.")
    try:
        pip(requirement("pycuda"), marked=False)
    except Problem as problem:
        say(f"PyCUDA is left out, all else is in place. {problem}")
        say("Try again with: .venv/bin/python -m pip install pycuda")
        # Not tried again at each start: only once there is another nvcc.
        finish(state, pycuda=nvcc)
    else:
        finish(state, pycuda="installed")


def requirement(name: str) -> str:
    """The line for package `name` in pyproject.toml, the one place where it is written.

    Python 3.10 has no TOML reader, and a name in quotes needs none.
    """
    found = re.search(rf'"({re.escape(name)}[^"]*)"', PYPROJECT.read_text(encoding="utf-8"))
    if not found:
        raise Problem(f"pyproject.toml does not name {name}: get a fresh copy of it.")
    return found[1]


# The stamp, the mark, the lock


def stamp() -> Path:
    """The file that says what a finished `.venv` holds."""
    return VENV / "course.json"


def unfinished() -> Path:
    """The file that stands in `.venv` while it is in between."""
    return VENV / "unfinished"


def finish(state: dict, **news: object) -> None:
    """Note in the stamp what is now installed, and take the mark away."""
    state.update(news)
    aside = stamp().with_suffix(".new")
    aside.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
    os.replace(aside, stamp())
    unfinished().unlink(missing_ok=True)


@contextmanager
def discarding_what_is_unfinished() -> Iterator[None]:
    """Remove `.venv` if it is left in between; a failure that changed nothing keeps it."""
    try:
        yield
    except BaseException:
        if unfinished().exists():
            discard()
        raise


def discard() -> None:
    """Remove `.venv`, the mark last, so that a removal broken off is seen by the next run."""
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # On a disk that is full or cannot be written to, there may be no making the mark.
        try:
            unfinished().touch()
        except OSError:
            pass
        for entry in VENV.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry != unfinished():
                entry.unlink()
        unfinished().unlink(missing_ok=True)
        if not VENV.is_symlink():
            VENV.rmdir()
    finally:
        signal.signal(signal.SIGINT, former)


# Running pip and others


def pip(*packages: str, marked: bool = True) -> None:
    """Install `packages` into `.venv`, saying now and then what is going on."""
    command = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar", "off", *packages]
    begun = said = time.monotonic()

    def follow(line: str) -> None:
        nonlocal said
        seconds = time.monotonic() - begun
        if line.startswith("Installing collected packages"):
            # Until here pip has only fetched and built, elsewhere.
            if marked:
                unfinished().touch()
            said = time.monotonic()
            say(f"{seconds:6.0f} s: unpacking {line.count(',') + 1} packages")
        elif line.startswith("Collecting ") and time.monotonic() - said > 10:
            said = time.monotonic()
            say(f"{seconds:6.0f} s: fetching {line.split()[1]}")

    run(command, "pip", follow)
    say(f"{time.monotonic() - begun:6.0f} s: done")


def run(command: list[str], name: str, follow=lambda line: None) -> None:
    """Run `command` without its chatter; a failure is a `Problem` that names the cause."""
    lines = []
    variables = dict(inner_environment(), PIP_USER="0", PYTHONUNBUFFERED="1")
    # pip's own five take most of a minute until it says that there is no network.
    variables.setdefault("PIP_RETRIES", "2")
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
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
    """Cause and remedy in one line, from what `name` printed."""
    output = "\n".join(lines)
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return disk_is_full()
    if "Read-only file system" in output or "Permission denied" in output:
        return not_writable()
    if re.search(
        r"NewConnectionError|Failed to establish a new connection|name resolution"
        r"|ConnectTimeout|Connection(Reset)?Error|ProxyError|Read timed out|SSLError|Retrying \(",
        output,
    ):
        return (
            "pip cannot reach the package index: connect this machine to the network "
            "(behind a proxy: set HTTPS_PROXY) and run this again."
        )
    if "Python.h: No such file" in output:
        return (
            "The compiler finds no Python.h: install it (Debian, Ubuntu, WSL: "
            f"sudo apt install python{python_version()}-dev)."
        )
    if re.search(r"command '\S*(gcc|g\+\+|cc|c\+\+)' failed: No such file", output):
        return (
            "There is no C++ compiler: install one (Debian, Ubuntu, WSL: "
            "sudo apt install build-essential)."
        )
    # A compiler's own word says more than what pip makes of it.
    fatal = [line.strip() for line in lines if "fatal error:" in line]
    errors = [line.strip() for line in lines if re.match(r"\s*(ERROR|error|Error):", line)]
    said = [line.strip() for line in lines if line.strip()]
    last = (fatal or errors or said or ["it said nothing"])[-1]
    log = save_log(lines)
    return f"{name} failed: {last[:200]} (all of its output: {log})"


def save_log(lines: list[str]) -> str:
    """Keep what a program printed, outside `.venv`, which may be about to go; say where."""
    import tempfile

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="course-", suffix=".log", encoding="utf-8", delete=False
        ) as log:
            log.write("\n".join(lines) + "\n")
        return log.name
    except OSError:
        return "could not be kept"


def answers(command: list[str]) -> bool:
    """Whether `command` runs and ends well."""
    try:
        return not subprocess.run(command, capture_output=True, timeout=120).returncode
    except (OSError, subprocess.TimeoutExpired):
        return False


# What the machine has


def python_version() -> str:
    """The version that decides whether packages fit, such as 3.12."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def find_gpu() -> str | None:
    """The first GPU as nvidia-smi names it; None where there is none or it is not wanted."""
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
    """Where a CUDA toolkit may be, as CuPy looks for one."""
    named = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME")]
    nvcc = shutil.which("nvcc")
    if nvcc:
        named.append(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))))
    return [Path(folder) for folder in [*named, USUAL_TOOLKIT] if folder]


def find_toolkit() -> Path | None:
    """The toolkit that could serve cupy-cuda12x; None where there is none.

    It takes the headers, the run-time compiler and the libraries, of CUDA 12: an nvcc alone or
    a CUDA 11 or 13 beside it compiles nothing for CuPy.
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
    """The path of nvcc, also where its toolkit is installed but not on PATH."""
    places = os.pathsep.join(str(folder / "bin") for folder in cuda_folders())
    return shutil.which("nvcc") or shutil.which("nvcc", path=places)
