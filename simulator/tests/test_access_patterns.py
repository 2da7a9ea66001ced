"""`nogpu.inspect`: which lane touches which address, as data and as text."""

import types

import numpy as np
import pytest

from nogpu.inspect import Report, inspect

TRANSPOSE = """extern "C" __global__ void spread(const float* x, float* y) {
    __shared__ float tile[32][32];
    for (int i = 0; i < 32; i++) tile[threadIdx.x][i] = x[32 * i + threadIdx.x];
    __syncthreads();
    y[8 * threadIdx.x] = tile[0][threadIdx.x];
}"""


@pytest.fixture(scope="module")
def report():
    kernel = types.SimpleNamespace(code=TRANSPOSE, name="spread", options=())
    return inspect(kernel, 1, 32, [np.ones(1024, np.float32), np.zeros(256, np.float32)])


def test_sectors_of_a_warp(report):
    pattern = report.access_pattern(array="x", time=3)
    assert (pattern.line, pattern.space, pattern.access, pattern.size) == (3, "global", "load", 4)
    (warp,) = pattern.warps
    assert warp.lanes == tuple(range(32)) and warp.offsets == tuple(range(384, 512, 4))
    assert list(warp.sectors) == [384, 416, 448, 480] and not warp.banks
    assert warp.sectors[416] == {cell: [8 + cell] for cell in range(8)}
    assert str(pattern) == """\
Line 3 loads from x, 4 bytes a lane:
  warp 0 of block (0, 0, 0): 32 lanes, 4 sectors of 32 bytes for 128 bytes;
    lane 0 at byte 384, each next lane 4 bytes on, its neighbour."""


def test_banks_of_a_warp(report):
    pattern = report.access_pattern(line=3, array="tile")
    (warp,) = pattern.warps
    assert not warp.sectors and [len(bank) for bank in warp.banks] == [32] + 31 * [0]
    assert warp.banks[0][32] == [1]
    assert "32 lanes, 1 bank, up to 32 words in one bank" in str(pattern)
    across = report.access_pattern(line=5, array="tile").warps[0]
    assert across.summary().endswith("32 banks, one word a bank")


def test_the_most_wasteful_access_is_the_default(report):
    assert report.access_pattern().array == "tile"
    with pytest.raises(ValueError, match=r"there are line 3 \(tile\), line 3 \(x\), line 5"):
        report.access_pattern(line=4)


def test_nothing_was_counted():
    kernel = types.SimpleNamespace(
        code='extern "C" __global__ void idle() {}', name="idle", options=()
    )
    with pytest.raises(ValueError, match="idle: no access to memory was counted"):
        inspect(kernel, 1, 1).access_pattern()


def test_another_library_can_add_to_the_report():
    class Longer(Report):
        def twice(self):
            return 2 * str(self)

    kernel = types.SimpleNamespace(
        code='extern "C" __global__ void idle() {}', name="idle", options=()
    )
    assert inspect(kernel, 1, 1, report_type=Longer).twice().count("No fault found") == 2
