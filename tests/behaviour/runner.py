"""Runs programs in worker processes, several at a time; no program can stop the others."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .collect import HERE, ROOT, Program

SECONDS = 20  # for one program, its kernels' compilation included
SECONDS_TO_START = 90  # imports, a context, and the first kernel, with every core busy


@dataclass
class Answer:
    """What a program printed, the exception it ended with, and what went wrong in running it."""

    output: list[str] = field(default_factory=list)
    error: str = ""
    trouble: str = ""


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
        self.stderr = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"{HERE.name}.worker"], cwd=ROOT, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr,
            text=True, encoding="utf-8",
        )
        self.lines = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
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

    def end(self) -> str:
        """End the process; return its exit status and the last lines of its standard error."""
        if self.process.poll() is None and self.lines.empty():
            self.process.kill()
        status = self.process.wait()
        self.process.stdout.close()
        self.stderr.seek(0)
        tail = " / ".join(self.stderr.read().strip().splitlines()[-3:])
        self.stderr.close()
        return f"exit status {status}" + (f": {tail}" if tail else "")


def ask(wanted="names") -> tuple[dict, dict | None]:
    """Start one worker for one question; return its greeting and its next report."""
    worker = Worker(wanted)
    try:
        greeting = worker.hear(SECONDS_TO_START)
        report = worker.hear(SECONDS_TO_START) if greeting and "ready" in greeting else None
    except TimeoutError as error:
        greeting, report = None, None
        problem = str(error)
    else:
        problem = ""
    ended = worker.end()
    return greeting or {"absent": problem or ended}, report


def _run_group(names: list[str], seconds: float) -> dict[str, Answer]:
    """Run programs in one worker, and in a new one after each that breaks or hangs it."""
    answers: dict[str, Answer] = {}
    left = list(names)
    while left:
        worker = Worker(left)
        limit, broken, trouble = SECONDS_TO_START, False, ""
        try:
            greeting = worker.hear(limit)
            if greeting is None or "ready" not in greeting:
                trouble = "the worker did not start: " + str((greeting or {}).get("absent", ""))
            limit = seconds
            while left and not trouble:
                report = worker.hear(limit)
                if report is None:
                    break
                broken = bool(report["broken"])
                note = f"left a broken context: {report['broken']}" if broken else ""
                answers[report["name"]] = Answer(report["output"], report["error"], note)
                left.remove(report["name"])
        except TimeoutError as error:
            trouble = str(error)
        ended = worker.end()
        if trouble.startswith("the worker"):
            return answers | {name: Answer(trouble=f"{trouble} ({ended})") for name in left}
        if left and not broken:  # the first one left hung, or took the process down
            answers[left.pop(0)] = Answer(trouble=trouble or f"the process died, {ended}")
    return answers


def run(
    programs: Iterable[Program], jobs: int | None = None, seconds: float = SECONDS
) -> dict[str, Answer]:
    """Run programs: a chapter shares a process, a program marked `alone` has its own.

    Parameters
    ----------
    programs : iterable of Program
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
    groups = defaultdict(list)
    for program in programs:
        groups[program.name if program.alone else program.chapter].append(program.name)
    answers: dict[str, Answer] = {}
    with ThreadPoolExecutor(jobs or cores()) as pool:
        longest_first = sorted(groups.values(), key=len, reverse=True)
        for part in pool.map(lambda names: _run_group(names, seconds), longest_first):
            answers |= part
    return {program.name: answers[program.name] for program in programs}
