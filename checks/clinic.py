"""The clinic of lesson 10: broken kernels, what they should compute, and what GPUs reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from helpers import data, kernels
from helpers.inspection import Report, inspect

RECORDED = data.FOLDER / "recorded" / "clinic"


@dataclass(frozen=True)
class Patient:
    """A broken kernel, and what a diagnosis of it must say."""

    name: str  # of the kernel, and of its file in helpers/kernels/clinic
    kind: str  # of the fault, one of those of nogpu's faults
    lines: tuple[int, ...]  # at fault: of a race both accesses, of two barriers both
    # Whether a thread (blockIdx.x, threadIdx.x) is at fault, or two, the lower one first.
    threads: Callable[..., bool]
    # From a generator to the arguments, arrays and scalars of NumPy, and the result's position.
    setup: Callable[[np.random.Generator], tuple[list, int]]
    spec: Callable[..., np.ndarray]  # from the arguments to what the result should be
    grid: int
    block: int
    shifted: tuple[int, ...] = ()  # positions of arrays that are views, one element further
    unwritten: tuple[str, ...] = ()  # parameters that come from ``cp.empty``

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
    """Eighths of 13 bits, so that sums are exact in any order."""
    return rng.integers(1, 8000, shape).astype(np.float32) / 8


def _vector(n: int) -> Callable[[np.random.Generator], tuple[list, int]]:
    """Arguments x, y, n: `n` numbers each."""
    return lambda rng: ([_floats(rng, n), np.zeros(n, np.float32), np.int32(n)], 1)


def _some_vector(rng: np.random.Generator) -> tuple[list, int]:
    return _vector((1000, 961, 960)[rng.integers(3)])(rng)  # 960: whole tiles only


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
    Patient("squares", "out of bounds", (4, 5), lambda a: a == (3, 232), _vector(1000),
            lambda x, y, n: x * x, 4, 256),
    Patient("with_next", "out of bounds", (3, 7, 8),
            lambda a: a[0] < 15 and a[1] == 63, _some_vector,
            lambda x, y, n: x + np.append(x[1:], np.float32(0)), 16, 64),
    Patient("reverse", "race", (5, 6),
            lambda a, b: a[0] == b[0] and a[1] + b[1] == 63, _tiles(256),
            lambda x, y: x.reshape(-1, 64)[:, ::-1].ravel(), 4, 64),
    Patient("tile_by_tile", "race", (7, 9), lambda a, b: a[1] + b[1] == 63,
            lambda rng: ([_floats(rng, 512), np.zeros(64, np.float32), np.int32(8)], 1),
            lambda x, y, tiles: x.reshape(-1, 64).sum(axis=0)[::-1], 1, 64),
    Patient("reverse_all", "barrier", (6, 8, 11),
            lambda a, b: a[0] == b[0] == 15 and a[1] < 40 <= b[1], _vector(1000),
            lambda x, y, n: np.concatenate([part[::-1] for part in _blocks(x)]), 16, 64),
    Patient("sum_tree", "barrier", (8, 10, 13),
            lambda a, b: a[0] == b[0] and a[1].bit_length() < b[1].bit_length(), _tiles(4),
            lambda x, sums: x.reshape(-1, 64).sum(axis=1), 4, 64),
    Patient("block_sums", "race", (8,),
            lambda a, b: a[0] == b[0] and a[1] < b[1] - a[1] in (1, 2, 4, 8, 16), _tiles(4),
            lambda x, sums: x.reshape(-1, 64).sum(axis=1), 4, 64),
    Patient("overlap_add", "race", (5,),
            lambda a, b: a[0] < b[0] and 16 * a[0] + a[1] == 16 * b[0] + b[1],
            lambda rng: ([_floats(rng, 100, 64), np.zeros(99 * 16 + 64, np.float32),
                          np.int32(64), np.int32(16)], 1),
            _overlap_add, 100, 64),
    Patient("votes", "race", (8,), lambda a, b: a != b,
            lambda rng: ([rng.integers(0, 10, 1797).astype(np.int32), np.zeros(10, np.int32),
                          np.int32(1797)], 1),
            lambda labels, counts, n: np.bincount(labels, minlength=10).astype(np.int32), 1, 128),
    Patient("row_sums", "uninitialised", (6,), lambda a: a[1] < 50,
            lambda rng: ([_floats(rng, 50, 30), np.zeros(50, np.float32), np.int32(50),
                          np.int32(30)], 1),
            lambda x, sums, rows, columns: x.sum(axis=1), 1, 64, unwritten=("sums",)),
    Patient("block_maxima", "uninitialised", (5, 10), lambda a: a[0] == 15 and 8 <= a[1] < 32,
            lambda rng: ([np.append(np.float32(-.1), -_floats(rng, 999) / 64 - 984)  # x[0]: largest
                          * np.float32((1, 1e35)[rng.integers(2)]),
                          np.zeros(16, np.float32), np.int32(1000)], 1),
            lambda x, largest, n: np.array([part.max() for part in _blocks(x)]), 16, 64),
    Patient("doubled", "misaligned", (5,), lambda a: 64 * a[0] + a[1] < 250,
            lambda rng: ([_floats(rng, 1000), np.zeros(1000, np.float32), np.int32(250)], 1),
            lambda x, y, n: 2 * x, 4, 64, shifted=(0,)),
    Patient("carry", "race", (7, 10, 11), lambda a, b: b[0] == a[0] + 1, _vector(1000),
            lambda x, y, n: np.cumsum(x), 16, 1),
    Patient("warp_sum", "barrier", (4, 7), lambda a, b: 4 <= a[1] < 20 <= b[1],  # reads, left
            lambda rng: ([_floats(rng, 20), np.zeros(1, np.float32), np.int32(20)], 1),
            lambda x, sum, n: x.sum(keepdims=True), 1, 32),
)}

KINDS = tuple(dict.fromkeys(patient.kind for patient in PATIENTS.values()))


# ---- what a GPU and compute-sanitizer say; `python tests/record_clinic.py` records it

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def as_on_a_gpu() -> AbstractContextManager:
    """Let the simulator go on after races in a ``with`` block, as a GPU does."""
    import nogpu

    return nogpu.checks(race=False)


def _recorded() -> dict:
    return json.loads((RECORDED / "nvidia-h200.json").read_text())["patients"]


def said(name: str, tool: str) -> str:
    """What a tool of compute-sanitizer said of a patient: its first finding, without addresses."""
    return "\n".join(_recorded()[name][tool]["said"]) or "nothing"


def reports() -> list[tuple[str, ...]]:
    """Rows of a table: each fault, how many of 20 launches were right, and who reported it."""
    rows = []
    for kind, source, of in ((PATIENTS[k].kind, PATIENTS[k].source, of)
                             for k, of in _recorded().items()):
        where = ("shuffle" if "__shfl" in source else "__syncthreads" if kind == "barrier" else
                 "shared memory" if "__shared__" in source else "global memory")
        rows.append((f"{kind}, {where}", str(of["plain"].get("right", "error")),
                     "error" if "error" in of["plain"] else "silent",
                     ", ".join(tool for tool in TOOLS if of[tool]["said"]) or "none"))
    return [("fault", "right of 20", "the GPU", "compute-sanitizer"), *sorted(rows)]
