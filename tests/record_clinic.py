"""Record what this machine's GPU and compute-sanitizer say of the clinic's broken kernels.

    python tests/record_clinic.py FILE

launches each kernel several times plainly, and once under each tool of compute-sanitizer where it
is installed; each launch in a process of its own, because most faults end the CUDA context. Lesson
10 shows FILE when it lies in helpers/data/recorded/clinic.
"""

from __future__ import annotations

import glob
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # started as a program, it is in no package

from authoring.profiles.profiling import heading  # noqa: E402
from checks.clinic import PATIENTS, TOOLS, Patient  # noqa: E402
from helpers import backend  # noqa: E402
from nogpu.inspect.sources import Source, parameter_names  # noqa: E402

LAUNCHES = 20
TIME_LIMIT = 120  # seconds for one process


def launch_on_gpu(name: str, pool: bool, launches: int) -> dict:
    """Launch a kernel on the GPU of this process; how often it was right, or what was raised.

    Without CuPy's pool each array is an allocation of its own, as compute-sanitizer needs it.
    """
    import cupy as cp

    if not pool:
        cp.cuda.set_allocator(None)
    patient = PATIENTS[name]
    kernel = cp.RawKernel(patient.source, name, options=("-lineinfo",))
    right = 0
    for launch in range(launches):
        values, output = patient.arguments(launch)
        expected = patient.expected(launch)
        on_device = tuple(_to_device(cp, patient, values))
        try:
            kernel((patient.grid,), (patient.block,), on_device)
            right += bool((on_device[output].get() == expected).all())
        except Exception as error:  # of whatever kind: it is what is to be recorded
            return {"error": f"{type(error).__name__}: {error}", "launches": launch + 1}
    return {"right": right, "launches": launches}


def _to_device(cp: Any, patient: Patient, values: list) -> Iterator:
    names = parameter_names(Source(patient.source, patient.name), len(values))
    for k, (name, value) in enumerate(zip(names, values)):
        if not isinstance(value, np.ndarray):
            yield value
        elif k in patient.shifted:
            yield cp.asarray(np.append(value[:1], value))[1:]
        elif name in patient.unwritten:
            yield cp.empty(value.shape, value.dtype)
        else:
            yield cp.asarray(value)


def find_sanitizer() -> str | None:
    """The path of compute-sanitizer, also where its toolkit is not on PATH."""
    installed = sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))
    return shutil.which("compute-sanitizer") or (installed[-1] if installed else None)


def launch_apart(name: str, tool: str | None, pool: bool) -> dict:
    """Launch a kernel in a process of its own, under a tool of compute-sanitizer or plainly."""
    command = [sys.executable, __file__, "--one", name,
               "pool" if pool else "", str(1 if tool else LAUNCHES)]
    if tool:
        command = [find_sanitizer(), "--tool", tool, "--print-limit", "3", *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return {"error": f"no end within {TIME_LIMIT} s"}
    lines = done.stdout.split("\n")
    if not tool:
        return next((json.loads(line) for line in lines if line.startswith("{")),
                    {"error": done.stderr[-300:]})
    said = [line.removeprefix("=========").strip() for line in lines
            if line.startswith("=========")]
    return {"summary": next((line for line in reversed(said) if "SUMMARY" in line),
                            done.stderr[-300:]),
            "said": first_finding(said)}


def first_finding(said: Sequence[str]) -> list[str]:
    """What compute-sanitizer says of its first finding, without addresses and file names."""
    kept = []
    for line in said:
        finding = line.startswith(("Invalid", "Uninit", "Barrier", "Error:", "Warning:"))
        if kept and finding:
            break
        if kept or finding:
            kept.append(re.sub(r"[0-9a-f]{40}\.cubin\.cu", "kernel.cu", line))
    return [line for line in kept if line.startswith(("at ", "by ", "and Read", "and Write"))
            or line is kept[0]]


def record(path: Path) -> None:
    """Launch every kernel plainly and under each tool, and write what was said."""
    jobs = [(name, tool, pool) for name in PATIENTS
            for tool, pool in ((None, True), ("memcheck", True), *((t, False) for t in TOOLS))]
    sanitizer = find_sanitizer()
    if sanitizer is None:
        jobs = [job for job in jobs if job[1] is None]
    with ThreadPoolExecutor(4) as executor:
        answers = list(executor.map(lambda job: launch_apart(*job), jobs))
    version = subprocess.run([sanitizer or "true", "--version"], capture_output=True, text=True)
    content = {
        **heading(),
        "cupy": backend.installed(*backend.CUPY),
        "compute-sanitizer": version.stdout.strip().split("\n")[-1],
        "patients": {},
    }
    for (name, tool, pool), answer in zip(jobs, answers):
        key = "plain" if tool is None else tool + (" with CuPy's pool" if pool else "")
        content["patients"].setdefault(name, {})[key] = answer
    path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(launch_on_gpu(sys.argv[2], sys.argv[3] == "pool", int(sys.argv[4]))))
    else:
        record(Path(sys.argv[1]))
