"""Several devices: how many there are, and a process of two (`two_devices.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nogpu.engine import devices

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    "given, visible, expected",
    [
        (None, None, [0]), ("3", None, [0, 1, 2]), ("3", "2,0", [2, 0]), ("2", "1", [1]),
        ("2", "1,5,0", [1]), ("2", "0,0", [0]), ("2", "", [0, 1]), ("2", "-1", [0, 1]),
        (None, "1", [0]), ("2", "GPU-8932f937", [0, 1]),
    ],
)  # fmt: skip
def test_which_devices_a_process_sees(given, visible, expected) -> None:
    names = {"NOGPU_DEVICES": given, "CUDA_VISIBLE_DEVICES": visible}
    environment = {name: value for name, value in names.items() if value is not None}
    assert devices.visible_devices(environment) == expected


@pytest.mark.parametrize("given", ["0", "33", "two", "-1", ""])
def test_a_number_of_devices_that_cannot_be(given) -> None:
    with pytest.raises(ValueError, match="NOGPU_DEVICES is .*: a number from 1 to 32"):
        devices.visible_devices({"NOGPU_DEVICES": given})


def test_two_devices() -> None:
    environment = {**os.environ, "NOGPU_DEVICES": "2", "PYTEST_ADDOPTS": ""}
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    done = subprocess.run(
        [sys.executable, "-m", "nogpu", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p",
         "no:xdist", str(HERE / "two_devices.py")],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_dasks_arrays_of_cupys_blocks(cp) -> None:
    da = pytest.importorskip("dask.array")
    x = cp.arange(24.0).reshape(4, 6)
    d = da.from_array(x, chunks=(2, 3), asarray=False)
    assert isinstance(d._meta, cp.ndarray)
    on_host = d.map_blocks(cp.asnumpy, meta=np.empty((0, 0)))
    back = on_host.map_blocks(cp.asarray, meta=d._meta)
    for made, expected in ((d, x), (back, x), (d @ d.T, x @ x.T), (d.sum(axis=0), x.sum(axis=0))):
        result = made.compute(scheduler="single-threaded")
        assert isinstance(result, cp.ndarray) and cp.array_equal(result, expected)
    assert isinstance(on_host.compute(scheduler="single-threaded"), np.ndarray)


@pytest.mark.parametrize("order", ["C", "F"])
def test_dasks_processes_send_arrays_by_the_host(cp, order) -> None:
    protocol = pytest.importorskip("distributed.protocol")
    x = cp.asarray(np.arange(12, dtype=np.float32).reshape(3, 4), order=order)
    for sent in (x, x[::2, 1:]):
        header, frames = protocol.serialize(sent, serializers=["dask"])
        assert header["serializer"] == "dask"
        back = protocol.deserialize(header, frames)
        assert isinstance(back, cp.ndarray) and back.strides[0] > 0
        assert back.dtype == sent.dtype and cp.array_equal(back, sent)
