"""Measure the ladder's rungs on this machine, PyTorch's beside them where it is installed.

    python -m authoring.profiles.ladder [FILE]

Without FILE the rungs are added to this machine's file in `helpers/data/recorded`, as `make bench`
writes it. Rungs that a lesson alone has are measured by the lesson.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from helpers import kernels, ladder, network
from helpers.data import load_network

from .. import runs
from ..record import machine_file

Array = Any  # numpy.ndarray, cupy.ndarray or torch.Tensor
BATCH = 100_000  # digits of a call of PyTorch's
KINDS = tuple((way, number) for way in ("PyTorch", "torch.compile")
              for number in ("float32", "float16", "tf32"))


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


def torch_rungs(kinds: Iterable[tuple[str, str]] = KINDS) -> None:
    """PyTorch, as its users write the network: eager, then compiled."""
    import torch

    for way, number in kinds:
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


def main(arguments: list[str]) -> None:
    """Measure all rungs that this machine can measure."""
    runs.keep_runs(arguments[0] if arguments else machine_file())
    numpy_rungs()
    if find_spec("cupy"):
        cupy_rungs()
    if find_spec("torch"):
        torch_rungs()


if __name__ == "__main__":
    main(sys.argv[1:])
