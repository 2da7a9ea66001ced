"""On Colab and Kaggle: installs what a notebook uses and the machine lacks.

Such a machine exists for one session, so that nothing on the learner's own machine changes.
Anywhere else `helpers.start` only says which command would install it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

SIGNS = ("COLAB_RELEASE_TAG", "KAGGLE_KERNEL_RUN_TYPE")
PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
TOOLKIT_PROGRAMS = "/usr/local/cuda/bin"  # where CUDA's installer puts nvcc, often not on PATH
SECONDS_BETWEEN_LINES = 20
# What every lesson imports: package and module. Colab lacks the last, Kaggle has old ones.
RUNTIME = {"numpy": "numpy", "matplotlib": "matplotlib", "pyelftools": "elftools"}


def is_hosted() -> bool:
    """Whether this is a machine of Colab's or Kaggle's."""
    return any(os.environ.get(name) for name in SIGNS)


def complete(needs: str | None, on_gpu: bool) -> None:
    """Install what `start(needs)` misses here, saying how long it takes and what went wrong.

    Parameters
    ----------
    needs : {None, "pycuda"}
        As for `helpers.start`. PyCUDA is built only where a GPU runs the notebook: the simulator
        has a `pycuda` of its own.
    on_gpu : bool
        Whether kernels run on a GPU.
    """
    lacking = {name: module in sys.modules for name, module in RUNTIME.items() if _lacking(name)}
    loaded = [name for name, was_loaded in lacking.items()
              if _install(_lacking(name), "missing or too old here: some seconds") and was_loaded]
    if loaded:
        print(f"There is a newer {' and '.join(loaded)} now. Restart the session (menu Run or"
              " Runtime),\nwhich still uses the old one, then run this cell again.")
    if needs == "pycuda" and on_gpu and (wanted := _lacking("pycuda")):
        _build_pycuda(wanted)


def requirement(name: str) -> str:
    """The package with its lower bound, as pyproject.toml writes it: "numpy>=2.1"."""
    return re.search(rf'"({re.escape(name)}[^"]*)"', PYPROJECT.read_text(encoding="utf-8"))[1]


def find_nvcc() -> str | None:
    """The path of nvcc, also where its toolkit is installed but not on PATH."""
    return shutil.which("nvcc") or shutil.which("nvcc", path=TOOLKIT_PROGRAMS)


def _lacking(name: str) -> str | None:
    """What pip has to install so that a package is as new as pyproject.toml asks; None if it is.

    In place of one that is too old it is the first series that is new enough: the machine's other
    packages were chosen for the old one, so a small step spares them.
    """
    wanted = requirement(name)
    try:
        have = version(name)
    except PackageNotFoundError:
        return wanted
    is_enough = _numbers(have) >= _numbers(wanted.partition(">=")[2])
    return None if is_enough else wanted.replace(">=", "~=") + ".0"


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.match(r"[\d.]*", text)[0].strip(".").split(".") if part]


def _build_pycuda(wanted: str) -> None:
    nvcc = find_nvcc()
    if nvcc is None:
        print("PyCUDA cannot be built here: the CUDA toolkit's nvcc is not on this machine.")
    else:
        # PyCUDA calls nvcc whenever it compiles a kernel, not only while it is built.
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath),
                                              os.path.dirname(nvcc)])
        if _install(wanted, "for which there is no ready package: two to three minutes"):
            return
    print("To use the simulator instead: restart the session, run `%env COURSE_BACKEND=simulator`"
          " in a\nnew first cell, then this one.")


def _install(wanted: str, note: str) -> bool:
    """Install what a requirement names with pip, a line now and then; whether that worked."""
    name = re.match(r"[\w-]+", wanted)[0]
    print(f"Installing {name}, {note}.", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--no-input", "--progress-bar", "off",
               "--disable-pip-version-check", wanted]
    # pip's own five retries take most of a minute until it says that there is no network.
    variables = {"PIP_RETRIES": "2", "PYTHONUNBUFFERED": "1", **os.environ}
    begun = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=variables,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        try:
            while process.returncode is None:
                try:
                    said, _ = process.communicate(timeout=SECONDS_BETWEEN_LINES)
                except subprocess.TimeoutExpired:
                    print(f"{time.monotonic() - begun:6.0f} s: still at it", flush=True)
        except BaseException:  # the learner has pressed stop
            process.terminate()
            raise
    seconds = time.monotonic() - begun
    if process.returncode:
        print(f"{name} could not be installed ({seconds:.0f} s). pip says: {_reason(said)}")
    else:
        print(f"{seconds:6.0f} s: done", flush=True)
        importlib.invalidate_caches()
    return not process.returncode


def _reason(said: str) -> str:
    """The line of pip's output that says most: a compiler's error, pip's own, else the last."""
    if re.search("DO NOT MATCH THE HASHES|IncompleteRead", said):
        return "a download was cut off, or changed on its way here. Run this cell again."
    for mark in ("fatal error:", "ERROR:", ""):
        if found := [line for line in said.splitlines() if mark in line and line.strip()]:
            return found[-1].strip()[:200]
    return "nothing"
