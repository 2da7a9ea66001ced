"""The collected kernels: each mistake is found in its line, and no correct kernel is accused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from collected_kernels import FAULTY, UNUSUAL, Collected
from engine_support import array, pack

from nogpu import engine

EVERY = [*FAULTY, *UNUSUAL]


def text_of(item: Collected) -> str:
    """A kernel as source; what stands outside gets the kernel's name into its names."""
    return (
        f"namespace in_{item.name} {{\n{item.outside}\n"
        f"__global__ void {item.name}(float* x, float* y, int* c, int n) {{\n"
        "int t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t; (void)i;\n"
        f"{item.body}\n}}\n}}\n"
    )


SOURCE = "#include <cassert>\n" + "".join(map(text_of, EVERY))
LINES = SOURCE.split("\n")


@pytest.fixture(scope="module")
def module() -> engine.Module:
    return engine.compile(SOURCE, dialect="nvcc")


def run(module: engine.Module, item: Collected) -> None:
    x, c = array(np.arange(1024, dtype=np.float32), "x"), array(np.zeros(64, np.int32), "c")
    y, z = engine.allocate(4096, "y", itemsize=4), array(np.zeros(1024, np.float32), "z")
    freed, host = engine.allocate(4096, "freed", itemsize=4), np.ones(1024, np.float32)
    freed.free()
    known = {"x": x, "y": y, "z": z, "c": c, "n": np.int32(1000), "0": np.uint64(0),
             "x+4": np.uint64(x.address + 4), "host": np.uint64(host.ctypes.data),
             "freed": freed}  # fmt: skip
    arguments = pack(*[known[word] for word in item.arguments.split()])
    try:
        module.kernel(f"in_{item.name}::{item.name}").launch(
            item.grid, item.block, arguments, item.shared, time_limit=item.seconds
        )
    finally:
        for allocation in (x, c, y, z):
            allocation.free()


def test_there_are_enough() -> None:
    assert len(FAULTY) >= 55 and len(UNUSUAL) >= 34
    assert len({item.name for item in EVERY}) == len(EVERY)


@pytest.mark.parametrize("item", FAULTY, ids=[item.name for item in FAULTY])
def test_a_mistake_is_found(module: engine.Module, item: Collected) -> None:
    with pytest.raises(engine.KernelFault) as caught:
        run(module, item)
    assert type(caught.value).__name__ == item.fault, str(caught.value)
    if "/*!*/" in item.body + item.outside:
        waits = re.search(r" in line (\d+)", str(caught.value))  # for a thread that has left
        line = caught.value.line or int(waits.group(1))
        assert "/*!*/" in LINES[line - 1], str(caught.value)
    else:
        assert item.fault == "KernelTimeout"


@pytest.mark.parametrize("item", UNUSUAL, ids=[item.name for item in UNUSUAL])
def test_a_correct_kernel_is_not_accused(module: engine.Module, item: Collected) -> None:
    run(module, item)
