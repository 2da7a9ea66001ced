"""Runs programs in worker processes, several at a time; no program can stop the others."""

from __future__ import annotations

import json
import math
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from machine import gpu_answers

from .collect import HERE, ROOT, Program

SECONDS = 60  # a spin of a quarter of a second takes long where many processes share a GPU
SECONDS_TO_START = 90  # imports, a context, and the first kernel, with every core busy
FORKS = hasattr(os, "fork") and not gpu_answers()  # a driver does not survive a fork


@dataclass
class Answer:
    """What a program printed, the exception it ended with, and what went wrong beside it."""

    output: list[str] = field(default_factory=list)
    error: str = ""
    trouble: str = ""  # why there is no answer
    broken: str = ""  # what the device said after the program


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS or Windows
        return os.cpu_count() or 1


class Worker:
    """One worker process and the lines that it has said."""

    def __init__(self, wanted):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
            [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        )}
        # Processes that share the cache of PyCUDA's compiler read what another half wrote.
        environment["PYCUDA_CACHE_DIR"] = tempfile.mkdtemp(prefix="behaviour-")
        self._cache = environment["PYCUDA_CACHE_DIR"]
        self.stderr = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"{HERE.name}.worker"], cwd=ROOT, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr,
            text=True, encoding="utf-8", start_new_session=True,
        )
        self.lines = queue.Queue()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        try:
            with self.process.stdin as stdin:
                json.dump(wanted, stdin)
        except OSError:
            pass  # it died at once: `hear` will say so

    def _listen(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def hear(self, seconds: float) -> dict | None:
        """Return the next report, None at the end; TimeoutError after so many seconds."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"no answer within {seconds} s") from None
        return None if line is None else json.loads(line)

    def end(self, hangs: bool = False) -> str:
        """End the process; return its exit status and the last lines of its standard error."""
        try:
            status = self.process.wait(0 if hangs else SECONDS)
        except subprocess.TimeoutExpired:
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)  # what it forked, too
            else:
                self.process.kill()
            status = self.process.wait()
        self.listener.join(SECONDS)
        shutil.rmtree(self._cache, ignore_errors=True)
        self.stderr.seek(0)
        tail = " / ".join(self.stderr.read().strip().splitlines()[-3:])
        self.stderr.close()
        return f"exit status {status}" + (f": {tail}" if tail else "")


def _wanted(library: str, names: list[str] | str, alone: bool = False) -> dict:
    """What a worker is told: PyCUDA's programs that are alone make their contexts themselves."""
    untouched = alone and library == "pycuda"
    return {"library": library, "names": names, "untouched": untouched,
            "simulator": alone and FORKS, "fork": alone and FORKS}


def ask(names: list[str] | str = "all", library: str = "cupy") -> tuple[dict, dict | None]:
    """Start one worker for one question; return its greeting and its next report."""
    worker = Worker(_wanted(library, names))
    try:
        greeting = worker.hear(SECONDS_TO_START)
        report = worker.hear(SECONDS_TO_START) if greeting and "ready" in greeting else None
        problem = ""
    except TimeoutError as error:
        greeting, report, problem = None, None, str(error)
    ended = worker.end(hangs=bool(problem))
    return greeting or {"absent": problem or ended}, report


def _run_group(group: list[Program], seconds: float) -> dict[str, Answer]:
    """Run programs in one worker, and in a new one after each that breaks or hangs it."""
    names, library, alone = [one.name for one in group], group[0].library, group[0].alone
    answers: dict[str, Answer] = {}
    left = list(names)
    starts_to_lose = 1  # with every core busy a process may fail to get its context
    while left:
        worker = Worker(_wanted(library, left, alone))
        broken, trouble, hangs = "", "", False
        try:
            greeting = worker.hear(SECONDS_TO_START)
            if greeting is None or "ready" not in greeting:
                trouble = "the worker did not start: " + str((greeting or {}).get("absent", ""))
            while left and not trouble:
                report = worker.hear(seconds)
                if report is None:
                    break
                broken = report["broken"]
                answer = Answer(report["output"], report["error"], broken=broken)
                answers[report["name"]] = answer
                left.remove(report["name"])
        except TimeoutError as error:
            trouble, hangs = str(error), True
        ended = worker.end(hangs)
        if trouble.startswith("the worker"):
            if starts_to_lose:
                starts_to_lose -= 1
                continue
            return answers | {name: Answer(trouble=f"{trouble} ({ended})") for name in left}
        if left and not broken:  # the first one left hung, or took the process down
            answers[left.pop(0)] = Answer(trouble=trouble or f"the process died, {ended}")
    return answers


def run(
    programs: Iterable[Program], jobs: int | None = None, seconds: float = SECONDS
) -> dict[str, Answer]:
    """Run programs: many share a process, one that is marked `alone` has its own.

    Parameters
    ----------
    programs : iterable of Program
        All of one library.
    jobs : int, optional
        Processes at a time; as many as there are cores unless said.
    seconds : float
        How long one program may take.

    Returns
    -------
    dict of str to Answer
        By program name, in the order given.
    """
    programs = list(programs)
    jobs = jobs or cores()
    shared = [program for program in programs if not program.alone]
    alone = [program for program in programs if program.alone]
    # Starting a process takes seconds. On a GPU, where a program may break the context of those
    # after it, there are more of them.
    size = max(8, math.ceil(len(shared) / (jobs if FORKS else 4 * jobs)))
    groups = [shared[first:first + size] for first in range(0, len(shared), size)]
    size = math.ceil(len(alone) / jobs) if FORKS else 1
    groups += [alone[first:first + size] for first in range(0, len(alone), size or 1)]
    answers: dict[str, Answer] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for part in pool.map(lambda group: _run_group(group, seconds), groups):
            answers |= part
    return {program.name: answers[program.name] for program in programs}
