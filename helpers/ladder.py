"""The ladder: how many digits a second each version of the digit reader reads, and why."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from . import backend, memory, network, recordings
from .bounds import Ceiling, from_recorded, quick
from .data import jittered_chunks, load_network, load_split
from .formats import duration
from .timing import bench

Array = Any  # numpy.ndarray or cupy.ndarray
Reader = Callable[[Array], Array]
FLOPS = 1_512_064  # of a digit, with the products by the convolutions' padded zeros
TOLERANCE = 1e-4  # of float32's logits against float64's
LEAST_RIGHT = 500  # of the 510 digits of the test part, for narrower numbers
CHECKED = 2000  # jittered digits that are compared with float64


@dataclass(frozen=True)
class Rung:
    """One version of the reader, measured.

    Attributes
    ----------
    name : str
    machine : str
        The processor or GPU that did the work.
    where : str
        "host" or "device": where the images lie and the logits are wanted.
    number : str
        The format of the products.
    batch, images : int
        Digits of a call, and different digits read in all.
    seconds, low, high : float
        For all images: median and quartiles.
    launches, sectors, nbytes, arrays : int
        On the simulator, of one call: pieces of work queued on the device; what the program's own
        kernels ask of global memory; bytes of the arrays that CuPy's read and write, a model.
    """

    name: str
    machine: str
    where: str
    number: str
    batch: int
    images: int
    seconds: float
    low: float
    high: float
    launches: int = 0
    sectors: int = 0
    nbytes: int = 0
    arrays: int = 0

    @property
    def rate(self) -> float:
        """Digits a second."""
        return self.images / self.seconds

    def __repr__(self) -> str:
        if self.launches:
            text = (f"{self.name}: its times here are not a GPU's. A call for {self.batch:,}"
                    f" digits queues {self.launches} pieces of work. A digit's share of the arrays"
                    f" that CuPy reads and writes is {self.arrays / self.batch:,.0f} bytes")
            return text + (f"; your own kernels ask for {self.nbytes / self.batch:,.0f} bytes more,"
                           f" {self.sectors / self.batch:,.0f} sectors." if self.sectors else ".")
        return (f"{self.name}: {self.rate:,.0f} digits a second on {self.machine};"
                f" a billion take {duration(1e9 / self.rate)}.")


def measure(read: Reader, name: str, *, batch: int, images: int, where: str = "host",
            number: str = "float32", seconds: float = 0.5, device: str | None = None) -> Rung:
    """Check a reader's answers, then measure how many digits a second it reads.

    Parameters
    ----------
    read : callable
        From images, shape (n, 8, 8), float32, to logits, shape (n, 10).
    name : str
        Of the rung. What is measured here is remembered on this machine under this name.
    batch : int
        Digits of a call.
    images : int
        Different digits to read, in calls of `batch`: no call sees the images of another. For
        float32, as many digits of the test part are checked as well, at most.
    where : {"host", "device"}
        Where `read` gets its images and leaves the logits: NumPy arrays, or CuPy arrays.
    number : str
        The format of the products. With "float32" each logit must be within 1e-4 of float64's, and
        the digit the same wherever its lead is larger; with others 500 of 510 digits must be right.
    seconds : float
        Time to spend on samples.
    device : {"cpu", "gpu"}, optional
        What does the work; where the images lie, if it is not given.

    Raises
    ------
    ValueError
        Where the answers are not right, with the first that is wrong.
    """
    if where not in ("host", "device"):
        raise ValueError(f'where={where!r}: it must be "host" or "device".')
    gpu = (device or where) in ("device", "gpu")
    cupy = backend.find_cupy() if gpu else None
    simulated = gpu and backend.is_simulated(cupy)
    give = cupy.asarray if where == "device" else np.asarray
    pool = next(jittered_chunks(images, seed=17, chunk=images))[0]
    check(lambda x: read(give(x)), batch, number, pool[:CHECKED])
    parts = [give(pool[k:k + batch]) for k in range(0, images, batch)]
    timing = bench(lambda: [read(part) for part in parts], name=name, seconds=seconds,
                   device="gpu" if gpu else "cpu")
    machine = backend.device_name(cupy) if gpu and not simulated else backend.cpu()
    rung = Rung(name, machine, where, number, batch, images, timing.median, timing.low, timing.high)
    if simulated:
        with backend.simulated_counts() as counts, backend.simulated_spans() as spans:
            read(parts[0])
        sectors = sum(counts[f"global_{access}_sectors"] for access in ("load", "store", "atomic"))
        return replace(rung, launches=len([span for span in spans if span.name]), sectors=sectors,
                       nbytes=counts["bytes_loaded"] + counts["bytes_stored"],
                       arrays=counts["array_bytes"])
    recordings.tell(f"ladder/{name}", rung, "gpu" if gpu else "cpu")
    if not quick():
        memory.keep("ladder", {name: asdict(rung)})
    return rung


def check(read: Reader, batch: int, number: str, images: Array) -> None:
    """Raise a ValueError where a reader's answers are not right; see `measure`."""
    most = len(images) if number == "float32" else None
    test, labels = (part[:most] for part in load_split()[2:])
    got = [_on_host(read(x[k:k + batch])) for x in (test, images)
           for k in range(0, len(x), batch)]
    if any(one.ndim != 2 or one.shape[1] != 10 for one in got):
        raise ValueError(f"the logits have shape {got[0].shape}: it must be (digits, 10).")
    logits = np.concatenate(got).astype(np.float64)
    if number != "float32":
        right = int((logits[:len(labels)].argmax(axis=1) == labels).sum())
        if right < LEAST_RIGHT:
            raise ValueError(f"only {right} of {len(labels)} digits are right.")
        return
    exact = np.concatenate([_exact_test()[:len(test)], _exact(images)])
    far = np.abs(logits - exact).max(axis=1)
    first, second = np.sort(exact, axis=1)[:, :-3:-1].T
    other = (logits.argmax(axis=1) != exact.argmax(axis=1)) & (first - second > TOLERANCE)
    wrong = np.flatnonzero(~(far <= TOLERANCE) | other)
    if wrong.size:
        raise ValueError(f"{wrong.size} of {len(exact)} digits have logits that are more than"
                         f" {TOLERANCE:g} off: digit {wrong[0]} by {far[wrong[0]]:.2g}.")


def _on_host(array: Array) -> np.ndarray:
    return array.get() if hasattr(array, "get") else np.asarray(array)


@cache
def _exact_test() -> np.ndarray:
    return _exact(load_split()[2])


def _exact(images: np.ndarray) -> np.ndarray:
    """The logits in float64, a hundred digits at a time."""
    weights = {name: value.astype(np.float64) for name, value in load_network().items()}
    return np.concatenate([network.forward(images[k:k + 100].astype(np.float64), weights)
                           for k in range(0, len(images), 100)])


# ---- the table and the picture --------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """What is known of one machine: its rungs by name, and the roof of its float32 arithmetic."""

    name: str
    rungs: dict[str, Rung]
    roof: Ceiling | None = None


def machines() -> list[Machine]:
    """The recorded machines that have a ladder, then this one if it was measured."""
    found = []
    for path in sorted(recordings.FOLDER.glob("*.json")):
        content = json.loads(path.read_text())
        rungs = {key.removeprefix("ladder/"): Rung(**run["rung"])
                 for key, run in content["runs"].items() if key.startswith("ladder/")}
        limit = content["ceilings"].get(f"{content['gpu']}: float32")
        if rungs:
            found.append(Machine(f"{content['gpu'] or content['machine']}, recorded", rungs,
                                 limit and from_recorded(limit)))
    own = {} if {"PYTEST_VERSION", "COURSE_QUIET"} & set(os.environ) else {  # tests, recordings
        name: Rung(**kept) for name, kept in memory.load("ladder").items()}
    return [*found, Machine("this machine", own)] if own else found


def show(*only: str) -> None:
    """Draw the ladder, recorded and of this machine, and print it: all rungs, or those named."""
    from . import draw

    draw.ladder(machines(), FLOPS, only)
