"""Measure the digit reader in one kernel beside all that it is set against, in one run.

    python -m authoring.profiles.reader [FILE]

needs CuPy, PyCUDA and PyTorch. Without FILE it writes
`helpers/data/recorded/profiles/reader.json`, which lesson 17 and the README show.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np

import helpers
from helpers import backend, bench, ladder, network, one_kernel, recordings
from helpers.data import load_network, load_split

from ..notebook_form import ROOT, read
from . import ladder as rungs
from . import profiling

DIGITS, STREAMS = 1_000_000, (1, 2, 3)
LAST = 150  # seconds after which PyTorch compiles no other reader
READERS = {"float32": one_kernel.float32, "float16": one_kernel.tensor_cores}
CELLS = "steps", "conv1", "right-run", "cores-run", "host-time", "one-time"
BEGIN = perf_counter()
Digit = Callable[[np.ndarray], int]  # from an image (8, 8) in NumPy's memory to the digit


def rates() -> dict[str, dict]:
    """Rungs of the ladder by name: images on the device, and `measure` checks the answers."""
    found = {}

    def keep(_: str, run: Any, __: str) -> None:
        if isinstance(run, ladder.Rung):
            found[run.name] = {"rate": run.rate, "low": run.images / run.high,
                               "high": run.images / run.low, "number": run.number,
                               "batch": run.batch, "images": run.images}
            print(f"{perf_counter() - BEGIN:.0f} s: {run}", flush=True)

    recordings.listeners.append(keep)
    for number, make in READERS.items():
        ladder.measure(make(load_network()), f"one kernel, {number}", batch=DIGITS, images=DIGITS,
                       where="device", number=number)
    rungs.numpy_rungs()
    rungs.cupy_rungs()
    names: dict[str, Any] = {"backend": helpers.start(needs="pycuda")}
    (path,) = (ROOT / "solutions").glob("[0-9]*_pycuda_dynamic_compilation.ipynb")
    for cell in read(path).cells:  # lesson 12's rung
        if cell.id in ("imports", "convolution", "conv2", "rung"):
            exec(cell.source, names)
    names.clear()  # PyCUDA may not unload modules later, while a graph is captured
    rungs.torch_rungs(kind for kind in rungs.KINDS if perf_counter() - BEGIN < LAST)
    recordings.listeners.remove(keep)
    return found


@cache
def the_lesson() -> tuple[SimpleNamespace, dict[str, Callable]]:
    """The lesson's own code, and the readers of bytes by the format of their products."""
    lesson = profiling.lesson_code("one_kernel_reader", *CELLS)
    return lesson, {name: make(lesson.weights, in_bytes=True) for name, make in READERS.items()}


def from_host() -> dict[str, Any]:
    """Digits a second of the lesson's `from_host`, of the kernel alone, and of the copies alone."""
    lesson, readers = the_lesson()
    found = {"digits": lesson.n, "chunk": lesson.chunk,
             "bus": _rate(lesson, lesson.from_host, lambda _: lesson.nothing_read, 3)}
    for name, reader in readers.items():
        expected = reader(lesson.on_gpu).get()
        found[name] = {"kernel": _rate(lesson, reader, lesson.on_gpu)}
        for streams in STREAMS:
            lesson.answers[:] = 255
            found[name][f"streams {streams}"] = _rate(lesson, lesson.from_host, reader, streams)
            if not np.array_equal(lesson.answers, expected):
                raise ValueError(f"{name}, {streams} streams: other digits")
        found[name]["right"] = int((reader(lesson.test).get() == lesson.labels).sum())
    return found


def _rate(lesson: SimpleNamespace, function: Callable, *args: object) -> float:
    return lesson.n / bench(function, *args, device="gpu", seconds=0.5).median


def one_digit() -> dict[str, dict]:
    """Microseconds from an image in NumPy's memory to its digit, and how many of 510 are right."""
    (lesson, readers), test = the_lesson(), load_split()[2]
    ink, found = np.rint(255 * test).astype(np.uint8), {}
    ways = (
        *((f"one kernel, {name}", lesson.in_one_graph(reader), ink)
          for name, reader in readers.items()),
        ("NumPy", lambda x: int(network.forward(x[None], lesson.weights).argmax()), test))
    for name, digit, images in ways:
        found[name] = _one(digit, images)
    return found


def one_digit_by_torch() -> dict[str, dict]:
    """The same for PyTorch: without a graph, with one of its kernels, with one of all work."""
    found = {}
    for words, copies in (("", None), (" with a graph", False), (" with copies in a graph", True)):
        for number in READERS:
            with suppress(RuntimeError):  # not every PyTorch captures copies
                found[f"PyTorch{words}, {number}"] = _one(_by_torch(number, copies),
                                                          load_split()[2])
    return found


def _one(digit: Digit, images: np.ndarray) -> dict[str, float]:
    right = sum(digit(image) == label for image, label in zip(images, load_split()[3]))
    timing = bench(digit, images[0], seconds=0.5)
    return {"us": timing.median * 1e6, "low": timing.low * 1e6, "high": timing.high * 1e6,
            "right": int(right)}


def _by_torch(number: str, copies: bool | None) -> Digit:
    """PyTorch: without a graph, with one of the computation, or of the copies as well."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    dtype = getattr(torch, number)
    w = {name: torch.as_tensor(array, dtype=dtype, device="cuda")
         for name, array in load_network().items()}

    @torch.inference_mode()
    def forward(x: Any) -> Any:
        return rungs.torch_forward(x.to(dtype), w).argmax(dim=1)

    if copies is None:
        return lambda image: int(forward(torch.from_numpy(image[None]).cuda()))
    host, answer = torch.empty((1, 8, 8)).pin_memory(), torch.empty(1).long().pin_memory()
    x, graph = host.cuda(), torch.cuda.CUDAGraph()
    forward(x)
    with torch.cuda.graph(graph):
        if copies:
            x.copy_(host, non_blocking=True)
        digit = forward(x)
        if copies:
            answer.copy_(digit, non_blocking=True)

    def replay(image: np.ndarray) -> int:
        host.numpy()[0] = image
        if not copies:
            x.copy_(host, non_blocking=True)
        graph.replay()
        if copies:
            torch.cuda.synchronize()
        return int(answer if copies else digit)

    return replay


def measured() -> dict:
    """What the lesson and the README show; written after each part, so that none is lost."""
    content = {"machine": recordings.this_machine(), "numpy": np.__version__,
               "cupy": backend.installed(*backend.CUPY), "torch": version("torch")}
    failed = []
    for part in (rates, from_host, one_digit, one_digit_by_torch):
        try:
            content[part.__name__] = part()
        except Exception:  # of whatever kind: the other parts may succeed
            failed.append(f"{part.__name__}:\n{traceback.format_exc()}")
        profiling.write_profile(profiling.heading() | content, "reader", sys.argv[1:])
    if failed:
        raise SystemExit("\n".join(failed))
    return content


if __name__ == "__main__":
    profiling.run_program("reader", measured, sys.argv[1:])
