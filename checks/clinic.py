"""The clinic of lesson 10: broken kernels, what they should compute, and what GPUs reported."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from helpers import data, kernels
from helpers.formats import aligned
from helpers.inspection import Report, inspect

RECORDED = data.FOLDER / "recorded" / "clinic"


@dataclass(frozen=True)
class Patient:
    """A broken kernel.

    Attributes
    ----------
    name : str
        Of the kernel, and of its file in helpers/kernels/clinic.
    kind : str
        The kind of the fault, one of those of nogpu's faults.
    lines, threads : tuple of int
        The source lines at fault (of a race both accesses, of two barriers both)
        and ``threadIdx.x`` of the threads (of a race either party).
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
    unwritten: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The broken source."""
        return kernels.source(f"clinic/{self.name}")

    def arguments(self, seed: int = 7) -> tuple[list, int]:
        """Arguments as NumPy arrays and scalars, and the output's position."""
        arguments, output = self.setup(np.random.default_rng(seed))
        for k in self.shifted:
            arguments[k] = np.append(arguments[k][:1], arguments[k])[1:]
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


def _vector(n: int) -> Callable[[np.random.Generator], tuple[list, int]]:
    """Arguments x, y, n: `n` numbers each."""
    return lambda rng: ([_floats(rng, n), np.zeros(n, np.float32), np.int32(n)], 1)


def _some_vector(rng: np.random.Generator) -> tuple[list, int]:
    return _vector((1000, 960)[rng.integers(2)])(rng)  # 960: whole tiles only


def _tiles(results: int) -> Callable[[np.random.Generator], tuple[list, int]]:
    """Arguments x, y: 256 numbers, and so many results."""
    return lambda rng: ([_floats(rng, 256), np.zeros(results, np.float32)], 1)


def _overlap_add(frames: np.ndarray, y: np.ndarray, width: int, hop: int) -> np.ndarray:
    result = np.zeros_like(y)
    for k, frame in enumerate(frames):
        result[k * hop:k * hop + width] += frame
    return result


def _blocks(x: np.ndarray) -> list[np.ndarray]:
    return [x[k:k + 64] for k in range(0, len(x), 64)]


PATIENTS = {patient.name: patient for patient in (
    Patient("past_the_end", "out of bounds", (4, 5), (232,), _vector(1000),
            lambda x, y, n: x * x, 4, 256),
    Patient("edge_of_the_tile", "out of bounds", (8,), (63,), _some_vector,
            lambda x, y, n: x + np.append(x[1:], np.float32(0)), 16, 64),
    Patient("reverse", "race", (5, 6), range(64), _tiles(256),
            lambda x, y: x.reshape(-1, 64)[:, ::-1].ravel(), 4, 64),
    Patient("one_barrier_too_few", "race", (7, 9), range(64),
            lambda rng: ([_floats(rng, 512), np.zeros(64, np.float32), np.int32(8)], 1),
            lambda x, y, tiles: x.reshape(-1, 64).sum(axis=0)[::-1], 1, 64),
    Patient("two_barriers", "barrier", (8, 11), range(32, 64), _vector(1000),
            lambda x, y, n: np.concatenate([part[::-1] for part in _blocks(x)]), 16, 64),
    Patient("barrier_in_a_branch", "barrier", (8, 10, 13), range(64), _tiles(4),
            lambda x, sums: x.reshape(-1, 64).sum(axis=1), 4, 64),
    Patient("last_warp", "race", (8,), range(32), _tiles(4),
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
    Patient("carry", "race", (7, 10, 11), (0,), _vector(1000),
            lambda x, y, n: np.cumsum(x), 16, 1),
    Patient("absent_lanes", "barrier", (4, 7), range(4, 32),  # who reads, who has left
            lambda rng: ([_floats(rng, 20), np.zeros(1, np.float32), np.int32(20)], 1),
            lambda x, sum, n: x.sum(keepdims=True), 1, 32),
)}

KINDS = tuple(dict.fromkeys(patient.kind for patient in PATIENTS.values()))


# ---- what a GPU and compute-sanitizer say; `python -m authoring.profiles.clinic` records it

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


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
    lines = [line.rstrip() for line in aligned(rows, left=5)]
    heading = (f"Recorded on {content['gpu']} ({content['date']}, {content['cupy']}, "
               f"compute-sanitizer {content['compute-sanitizer'].split()[1]})")
    return "\n".join([heading, "", *lines])
