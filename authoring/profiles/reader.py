"""Measure the digit reader: the ladder's rungs, and the reader in one kernel beside its peers.

    python -m authoring.profiles.reader [FILE]
    python -m authoring.profiles.reader --ladder | --counts

needs CuPy, PyCUDA and PyTorch. It measures all that the reader in one kernel is set against in one
run, and without FILE writes `helpers/data/recorded/profiles/reader.json`, which lesson 17 and the
README show. `--ladder` adds the ladder's rungs to this machine's file in `helpers/data/recorded`,
as `make bench` writes it; rungs that a lesson alone has are measured by the lesson. `--counts`
lets Nsight Compute (`ncu` on the PATH) count what the kernels do, for `profiles/one_kernel.json`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import version
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

import helpers
from helpers import backend, bench, kernels, ladder, network, one_kernel, recordings
from helpers.data import load_network, load_split

from .. import runs
from ..notebook_form import ROOT, read
from ..record import machine_file
from . import profiling

Array = Any  # numpy.ndarray, cupy.ndarray or torch.Tensor
BATCH = 100_000  # digits of a call, on the GPU
COUNTED = 200_000  # digits of the call that Nsight Compute counts
READERS = {"float32": one_kernel.float32, "float16": one_kernel.tensor_cores}
MORE = {"wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
        "tensor_percent": "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
        "issue_percent": "sm__issue_active.avg.pct_of_peak_sustained_elapsed"}
CELLS = "steps", "right-run", "cores-run", "host-time", "one-time"
Digit = Callable[[np.ndarray], int]  # from an image (8, 8) in NumPy's memory to the digit


def numpy_rungs() -> None:
    """NumPy on the host: the same digits in small and in large batches."""
    w = load_network()
    for batch in (10_000, 100):
        ladder.measure(lambda x: network.forward(x, w), f"NumPy, {batch:,} at a time", batch=batch,
                       images=10_000)


def cupy_rungs() -> None:
    """CuPy: the same program, then with bias and GELU in one kernel."""
    import cupy as cp

    w = {name: cp.asarray(array) for name, array in load_network().items()}
    kernel = cp.RawKernel(kernels.source("bias_gelu"), "bias_gelu")

    def bias_gelu(x: Array, bias: Array) -> Array:
        y = cp.empty_like(x)
        n = x.size // 4
        kernel((-(-n // 128),), (128,), (x, bias, y, np.uint32(len(bias)), np.uint32(n)))
        return y

    for batch in (1000, 100_000):
        ladder.measure(lambda x: network.forward(x, w, cp), f"CuPy, {batch:,} at a time",
                       batch=batch, images=100_000, where="device")
    ladder.measure(lambda x: network.forward(x, w, cp, bias_gelu=bias_gelu),
                   "bias and GELU in one kernel", batch=100_000, images=100_000, where="device")


def torch_rungs() -> None:
    """PyTorch, as its users write the network: eager, then compiled."""
    import torch

    for way, number in product(("PyTorch", "torch.compile"), ("float32", "float16", "tf32")):
        torch.backends.cuda.matmul.allow_tf32 = number == "tf32"
        torch.backends.cudnn.allow_tf32 = number == "tf32"
        dtype = torch.float16 if number == "float16" else torch.float32
        w = {name: torch.as_tensor(array, dtype=dtype, device="cuda")
             for name, array in load_network().items()}
        read = partial(torch_forward, w=w)
        if way == "torch.compile":
            torch._dynamo.reset()
            read = torch.compile(read, mode="max-autotune-no-cudagraphs")
        ladder.measure(_with_tensors(read, dtype, BATCH), f"{way}, {number}", batch=BATCH,
                       images=BATCH, where="device", number=number)


def _with_tensors(read: Callable, dtype: Any, batch: int) -> Callable[[Array], Array]:
    """The reader for CuPy arrays, whose memory is the tensors'.

    Fewer digits are filled up to a batch: for another shape, `torch.compile` would make a general
    kernel, which is slower for all shapes.
    """
    import cupy as cp
    import torch

    def read_arrays(x: Array) -> Array:
        n = len(x)
        if n < batch:
            x = cp.concatenate([x, cp.zeros((batch - n, *x.shape[1:]), x.dtype)])
        with torch.no_grad():
            return cp.from_dlpack(read(torch.from_dlpack(x).to(dtype)).float())[:n]

    return read_arrays


def torch_forward(x: Array, w: dict[str, Array]) -> Array:
    """The network of `helpers.network.forward` with PyTorch's functions."""
    import torch.nn.functional as F

    def linear(x: Array, name: str) -> Array:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    def normed(x: Array, name: str) -> Array:
        return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])

    def heads(x: Array) -> Array:
        return x.reshape(*x.shape[:2], network.HEADS, -1).transpose(1, 2)

    x = x[:, None]
    for name in ("conv1", "conv2"):
        x = F.conv2d(x, w[f"{name}.weight"], w[f"{name}.bias"], padding=1)
        x = F.gelu(x, approximate="tanh")
    x = F.max_pool2d(x, 2).flatten(2).transpose(1, 2) + w["position"]
    y = normed(x, "norm1")
    q, k, v = (heads(linear(y, name)) for name in ("query", "key", "value"))
    y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    x = x + linear(y, "out")
    x = x + linear(F.gelu(linear(normed(x, "norm2"), "mlp1"), approximate="tanh"), "mlp2")
    return linear(normed(x.mean(dim=1), "norm3"), "head")


# ---- the reader in one kernel, and its peers -----------------------------------------------------


def rates() -> dict[str, dict]:
    """Rungs of the ladder by name: images on the device, and `measure` checks the answers."""
    found = {}

    def keep(_: str, run: Any, __: str) -> None:
        if isinstance(run, ladder.Rung):
            found[run.name] = {"rate": run.rate, "low": run.images / run.high,
                               "high": run.images / run.low, "batch": run.batch,
                               "number": run.number}
            print(run, flush=True)

    recordings.listeners.append(keep)
    for number, make in READERS.items():
        ladder.measure(make(load_network()), f"one kernel, {number}", batch=BATCH, images=BATCH,
                       where="device", number=number)
    full = {name: np.where(w, w, np.float32(1e-30)) for name, w in load_network().items()}
    ladder.measure(one_kernel.float32(full), "one kernel with the zeros, float32", batch=BATCH,
                   images=BATCH, where="device")
    numpy_rungs()
    cupy_rungs()
    names: dict[str, Any] = {"backend": helpers.start(needs="pycuda")}
    (path,) = (ROOT / "solutions").glob("[0-9]*_pycuda_dynamic_compilation.ipynb")
    for cell in read(path).cells:  # lesson 12's rung
        if cell.id in ("imports", "convolution", "conv2", "rung"):
            exec(cell.source, names)
    names.clear()  # PyCUDA may not unload modules later, while a graph is captured
    torch_rungs()
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
        for streams in (1, 2, 3):
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
    ink = np.rint(255 * test).astype(np.uint8)
    found = {f"one kernel, {name}": _one(lesson.in_one_graph(reader), ink)
             for name, reader in readers.items()}
    by_numpy = _one(lambda x: int(network.forward(x[None], lesson.weights).argmax()), test)
    return found | {"NumPy": by_numpy}


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
        return torch_forward(x.to(dtype), w).argmax(dim=1)

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
    for part in (rates, from_host, one_digit, one_digit_by_torch):
        content[part.__name__] = part()
        profiling.write_profile(profiling.heading() | content, "reader", sys.argv[1:])
    return content


def add_ladder() -> None:
    """Measure the ladder's rungs, and add them to this machine's file."""
    runs.keep_runs(machine_file())
    for rungs in numpy_rungs, cupy_rungs, torch_rungs:
        rungs()


def run() -> None:
    """Launch the kernels that `count` counts."""
    import cupy as cp

    images = cp.asarray(np.resize(load_split()[2], (COUNTED, 8, 8)).astype(np.float32))
    for name, make in READERS.items():
        profiling.launch_in_range(name, make(load_network()), images)


def count() -> None:
    """Let Nsight Compute count what both kernels do."""
    rows = profiling.launches_in_ranges("authoring.profiles.reader", list(READERS), *MORE.values())
    found = {"digits": COUNTED, "kernels": {
        name: profiling.counts(row) | profiling.counts(row, MORE)
        for name, row in zip(("float32", "tensor cores"), rows)}}
    profiling.write_profile(profiling.heading() | found, "one_kernel", [])


if __name__ == "__main__":
    profiling.run_program("reader", measured, sys.argv[1:], ladder=add_ladder, counts=count,
                          run=run)
