"""Lesson 17's reader in one kernel: all sizes of a batch, and what happens if an index is wrong."""

import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import helpers

helpers.start()

import cupy as cp  # noqa: E402

from helpers import kernels, network, one_kernel  # noqa: E402
from helpers.data import load_digits, load_network  # noqa: E402

NVCC = shutil.which("nvcc")
MAKE = {"float32": one_kernel.float32, "tensor_cores": one_kernel.tensor_cores}
TOLERANCE = {"float32": 1e-5, "tensor_cores": 0.03}  # of logits up to 3.6


@cache
def case():
    """Other weights, no two alike and few in conv2, so that the source is short; images, logits."""
    rng = np.random.default_rng(17)
    w = {name: value + rng.normal(0, 0.1, value.shape).astype(np.float32)
         for name, value in load_network().items()}
    w["conv2.weight"] = 8 * w["conv2.weight"] * (rng.random((32, 32, 3, 3)) < 0.03)
    images = rng.random((33, 8, 8), dtype=np.float32)
    return w, images, network.forward(images, w)


@pytest.fixture(scope="module", params=MAKE)
def reader(request):
    return request.param, MAKE[request.param](case()[0])


@pytest.mark.parametrize("n", [1, 15, 16, 17, 33])
def test_reads_every_size(reader, n):
    name, read = reader
    _, images, logits = case()
    got = read(cp.asarray(images[:n])).get()
    assert got.shape == (n, 10) and abs(got - logits[:n]).max() < TOLERANCE[name]


@pytest.mark.parametrize("name", MAKE)
def test_reads_bytes_and_answers_with_digits(name):
    """The digits are those of the largest logits, for 17 images: a whole block and a ragged one."""
    w, ink = case()[0], 15 * load_digits()[0][-17:]
    x = ink.astype(np.float32) / 255
    w = {**w, "head.bias": w["head.bias"] - network.forward(x, w).mean(axis=0)}  # else all are 9
    logits = network.forward(x, w)
    got = MAKE[name](w, in_bytes=True)(cp.asarray(ink)).get()
    assert got.dtype == np.uint8 and got.shape == (17,)
    lead = logits.max(axis=1) - logits[np.arange(17), got]
    assert lead.max() < 2 * TOLERANCE[name] and len(set(got)) > 3


@pytest.mark.parametrize("name, right, wrong, error", [
    ("tensor_cores", "conv1[y % RING][x]", "conv1[y % RING][x ^ 1]", None),
    pytest.param("tensor_cores", "min(2 * warp + 2, digits)", "2 * warp + 2", "logits",
                 marks=pytest.mark.slow),
    pytest.param("float32", "inside && digit < digits ?", "inside ?", "images",
                 marks=pytest.mark.slow),
])
def test_a_wrong_index_is_found(monkeypatch, name, right, wrong, error):
    """By the logits, or by the simulator, which names the array that an access is outside of."""
    for kind in ("source", "template"):
        text = getattr(kernels, kind)
        monkeypatch.setattr(kernels, kind, lambda file, text=text: text(file).replace(right, wrong))
    w, images, logits = case()
    try:
        got = MAKE[name](w)(cp.asarray(images[:17])).get()
    except Exception as fault:
        assert error and error in str(fault)
    else:
        assert error is None and abs(got - logits[:17]).max() > 5 * TOLERANCE[name]


@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
@pytest.mark.parametrize("arch", [75, 90])
@pytest.mark.parametrize("name", MAKE)
def test_nvcc_accepts(tmp_path, name, arch):
    """For the oldest and the recorded GPU, without a register spilled."""
    source = (one_kernel.float32_source(load_network()) if name == "float32"
              else kernels.source("reader_tensor_cores"))
    done = subprocess.run([NVCC, f"-arch=sm_{arch}", "-DFAST", "-Xptxas", "-v", "--cubin", "-x",
                           "cu", "-", "-o", tmp_path / "kernel.cubin"], input=source.encode(),
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert re.search(r" 0 bytes spill stores, 0 bytes spill loads", done.stderr.decode())
