"""The clinic of lesson 08: broken kernels, what they should compute, and what GPUs said of them."""

from __future__ import annotations

import glob
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from . import backend, kernels
from .inspection import Report, inspect

RECORDED = Path(__file__).parent / "data" / "recorded" / "clinic"
KINDS = ("out of bounds", "race", "barrier", "uninitialised", "misaligned")


@dataclass(frozen=True)
class Patient:
    """A broken kernel.

    Attributes
    ----------
    name : str
        Of the kernel, and of its file in helpers/kernels/clinic.
    kind : str
        One of `KINDS`.
    lines : tuple of int
        The source lines at fault; of a race both accesses, of a barrier also where threads leave.
    threads : tuple of int
        ``threadIdx.x`` of those at fault (of a race, of either party).
    setup : callable
        ``setup(rng) -> (inputs, output)``: the arguments in the kernel's order, as NumPy arrays and
        scalars; `output` is the position of the array that is asked for.
    spec : callable
        From the arguments to what the output should be.
    grid, block : int
    shifted : tuple of int
        Positions of arrays that are views beginning one element behind a round address.
    unwritten : tuple of str
        Parameters that come from ``cp.empty``.
    """

    name: str
    kind: str
    lines: tuple[int, ...]
    threads: Sequence[int]
    setup: Callable[[np.random.Generator], tuple[list, int]]
    spec: Callable[..., np.ndarray]
    grid: int
    block: int
    shifted: tuple[int, ...] = ()
    unwritten: tuple[str, ...] = field(default=())

    @property
    def source(self) -> str:
        """The broken source."""
        return kernels.source(f"clinic/{self.name}")

    def arguments(self, seed: int = 7) -> tuple[list, int]:
        """Arguments as NumPy arrays and scalars, and the output's position."""
        arguments, output = self.setup(np.random.default_rng(seed))
        for k in self.shifted:
            whole = np.append(arguments[k][:1], arguments[k])
            arguments[k] = whole[1:]
        return arguments, output

    def expected(self, seed: int = 7) -> np.ndarray:
        """What the kernel should have computed."""
        return self.spec(*self.arguments(seed)[0])

    def examine(self, source: str | None = None, seed: int = 7, counters: bool = True) -> Report:
        """What `helpers.inspect` finds in the kernel, or in another source for it."""
        kernel = SimpleNamespace(name=self.name, code=source or self.source, options=())
        return inspect(kernel, self.grid, self.block, self.arguments(seed)[0],
                       unwritten=self.unwritten, counters=counters)


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Small whole numbers, so that sums are exact in any order."""
    return rng.integers(1, 100, shape).astype(np.float32)


def _past_the_end(rng: np.random.Generator) -> tuple[list, int]:
    return [_floats(rng, 1000), np.zeros(1000, np.float32), np.int32(1000)], 1


def _neighbours(rng: np.random.Generator) -> tuple[list, int]:
    n = (1000, 960)[rng.integers(2)]  # 960: whole tiles only
    return [_floats(rng, n), np.zeros(n, np.float32), np.int32(n)], 1


def _whole_tiles(rng: np.random.Generator) -> tuple[list, int]:
    return [_floats(rng, 256), np.zeros(256, np.float32)], 1


def _tile_sums(rng: np.random.Generator) -> tuple[list, int]:
    return [_floats(rng, 256), np.zeros(4, np.float32)], 1


def _overlap_add(frames: np.ndarray, y: np.ndarray, width: int, hop: int) -> np.ndarray:
    result = np.zeros_like(y)
    for k, frame in enumerate(frames):
        result[k * hop:k * hop + width] += frame
    return result


def _blocks(x: np.ndarray) -> list[np.ndarray]:
    return [x[k:k + 64] for k in range(0, len(x), 64)]


PATIENTS = {patient.name: patient for patient in (
    Patient("past_the_end", "out of bounds", (4, 5), (232,), _past_the_end,
            lambda x, y, n: x * x, 4, 256),
    Patient("edge_of_the_tile", "out of bounds", (8,), (63,), _neighbours,
            lambda x, y, n: x + np.append(x[1:], np.float32(0)), 16, 64),
    Patient("reverse", "race", (5, 6), range(64), _whole_tiles,
            lambda x, y: x.reshape(-1, 64)[:, ::-1].ravel(), 4, 64),
    Patient("one_barrier_too_few", "race", (7, 9), range(64),
            lambda rng: ([_floats(rng, 512), np.zeros(64, np.float32), np.int32(8)], 1),
            lambda x, y, tiles: x.reshape(-1, 64).sum(axis=0)[::-1], 1, 64),
    Patient("early_return", "barrier", (6, 8), range(40, 64),
            lambda rng: ([_floats(rng, 1000), np.zeros(1000, np.float32), np.int32(1000)], 1),
            lambda x, y, n: np.concatenate([part[::-1] for part in _blocks(x)]), 16, 64),
    Patient("barrier_in_a_branch", "barrier", (8, 10), range(64), _tile_sums,
            lambda x, sums: x.reshape(-1, 64).sum(axis=1), 4, 64),
    Patient("last_warp", "race", (8,), range(32), _tile_sums,
            lambda x, sums: x.reshape(-1, 64).sum(axis=1), 4, 64),
    Patient("overlap_add", "race", (5,), range(64),
            lambda rng: ([_floats(rng, 100, 64), np.zeros(99 * 16 + 64, np.float32),
                          np.int32(64), np.int32(16)], 1),
            _overlap_add, 100, 64),
    Patient("votes", "race", (8,), range(128),
            lambda rng: ([rng.integers(0, 10, 1797).astype(np.int32), np.zeros(10, np.int32),
                          np.int32(1797)], 1),
            lambda labels, counts, n: np.bincount(labels, minlength=10).astype(np.int32), 1, 128),
    Patient("empty", "uninitialised", (6,), range(64),
            lambda rng: ([_floats(rng, 50, 30), np.zeros(50, np.float32), np.int32(50),
                          np.int32(30)], 1),
            lambda x, sums, rows, columns: x.sum(axis=1), 1, 64, unwritten=("sums",)),
    Patient("half_a_tile", "uninitialised", (5, 10), range(64),
            lambda rng: ([-_floats(rng, 1000), np.zeros(16, np.float32), np.int32(1000)], 1),
            lambda x, largest, n: np.array([part.max() for part in _blocks(x)]), 16, 64),
    Patient("shifted_vector", "misaligned", (5,), range(64),
            lambda rng: ([_floats(rng, 1000), np.zeros(1000, np.float32), np.int32(250)], 1),
            lambda x, y, n: 2 * x, 4, 64, shifted=(0,)),
    Patient("carry", "race", (7, 10, 11), (0,),
            lambda rng: ([_floats(rng, 1000), np.zeros(1000, np.float32), np.int32(1000)], 1),
            lambda x, y, n: np.cumsum(x), 16, 1),
    Patient("absent_lanes", "barrier", (4, 7), range(20, 32),
            lambda rng: ([_floats(rng, 20), np.zeros(1, np.float32), np.int32(20)], 1),
            lambda x, sum, n: x.sum(keepdims=True), 1, 32),
)}


# ---- what a GPU and compute-sanitizer say: `python -m helpers.clinic FILE.json` records it

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
LAUNCHES = 20
PATIENCE = 120  # seconds for one process


def launch_on_gpu(name: str, pool: bool, launches: int) -> dict:
    """Launch a patient on the GPU of this process; how often it was right, or what was raised.

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
        there = [_to_gpu(cp, patient, k, value, name) for k, value in enumerate(values)]
        try:
            kernel((patient.grid,), (patient.block,), tuple(there))
            right += bool((there[output].get() == expected).all())
        except Exception as error:  # whatever it is: it is what we want to know
            return {"error": f"{type(error).__name__}: {error}", "launches": launch + 1}
    return {"right": right, "launches": launches}


def _to_gpu(cp: object, patient: Patient, k: int, value: object, name: str) -> object:
    from nogpu.inspect.sources import Source, parameter_names

    if not isinstance(value, np.ndarray):
        return value
    if k in patient.shifted:
        return cp.asarray(np.append(value[:1], value))[1:]
    names = parameter_names(Source(patient.source, name), len(patient.arguments()[0]))
    return cp.empty(value.shape, value.dtype) if names[k] in patient.unwritten else \
        cp.asarray(value)


def _sanitizer() -> str | None:
    found = shutil.which("compute-sanitizer")
    places = sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))
    return found or (places[-1] if places else None)


def _one(name: str, tool: str | None, pool: bool) -> dict:
    """One patient in a process of its own, under a tool of compute-sanitizer or plainly."""
    command = [sys.executable, "-m", "helpers.clinic", "--one", name, "pool" if pool else "",
               str(1 if tool else LAUNCHES)]
    if tool:
        command = [_sanitizer(), "--tool", tool, "--print-limit", "3", *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {"error": f"no end within {PATIENCE} s"}
    lines = done.stdout.split("\n")
    answer = next((json.loads(line) for line in lines if line.startswith("{")),
                  {"error": done.stderr[-300:]})
    if tool:
        said = [line.removeprefix("=========").strip() for line in lines
                if line.startswith("=========")]
        summary = [line for line in said if "SUMMARY" in line]
        answer = {"summary": summary[-1] if summary else done.stderr[-300:],
                  "said": shortened(said)}
    return answer


def shortened(said: Sequence[str]) -> list[str]:
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
    """Launch every patient plainly and under each tool, and write what was said."""
    jobs = [(name, tool, pool) for name in PATIENTS
            for tool, pool in ((None, True), ("memcheck", True), *((t, False) for t in TOOLS))]
    if _sanitizer() is None:
        jobs = [job for job in jobs if job[1] is None]
    with ThreadPoolExecutor(4) as executor:
        answers = list(executor.map(lambda job: _one(*job), jobs))
    gpu = backend.find_gpu()
    version = subprocess.run([_sanitizer() or "true", "--version"], capture_output=True, text=True)
    content = {
        "gpu": gpu.name if gpu else None,
        "date": date.today().isoformat(),
        "cupy": backend.installed(*backend.CUPY),
        "compute-sanitizer": version.stdout.strip().split("\n")[-1],
        "patients": {},
    }
    for (name, tool, pool), answer in zip(jobs, answers):
        key = "plain" if tool is None else tool + (" with CuPy's pool" if pool else "")
        content["patients"].setdefault(name, {})[key] = answer
    path.write_text(json.dumps(content, indent=1) + "\n")


def recorded(name: str = "nvidia-h200") -> str:
    """What was recorded of all patients on one GPU, as a table."""
    content = json.loads((RECORDED / f"{name}.json").read_text())
    rows = [("patient", "the simulator", "right", "the GPU", "compute-sanitizer")]
    for patient in PATIENTS.values():
        said = content["patients"][patient.name]
        plain = said["plain"]
        error = re.search(r"(?<=cudaError)\w+|no end.*", plain.get("error", ""))
        tools = [tool for tool in TOOLS if said.get(tool, {}).get("said")]
        hidden = ", not in CuPy's pool" if tools == ["memcheck"] and \
            not said["memcheck with CuPy's pool"]["said"] else ""
        rows.append((patient.name, patient.kind,
                     f"{plain['right']} of {plain['launches']}" if "right" in plain else "-",
                     error.group() if error else "nothing",
                     (", ".join(tools) or "nothing") + hidden))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
             for row in rows]
    heading = (f"Recorded on {content['gpu']} ({content['date']}, {content['cupy']}, "
               f"compute-sanitizer {content['compute-sanitizer'].split()[1]})")
    return "\n".join([heading, "", *lines])


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(launch_on_gpu(sys.argv[2], sys.argv[3] == "pool", int(sys.argv[4]))))
    else:
        record(Path(sys.argv[1]))
