"""Where the stacks of a block's threads lie."""

from __future__ import annotations

import os

import numpy as np
from engine_support import array, launch, read

from nogpu import engine


def test_stacks_are_spread_over_the_processor_s_table_of_pages():
    """A distance of a power of two would give all of them a few places of 128, and many misses."""
    made = engine.compile("""extern "C" __global__ void place(unsigned long long* out) {
        volatile int mine = threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = (unsigned long long)&mine + 0 * mine;
    }""")
    out = array(np.zeros(256, np.uint64), "out")
    launch(made.kernel("place"), 1, 256, out)
    pages = read(out, np.uint64) // os.sysconf("SC_PAGESIZE")
    assert len(set(pages.tolist())) == 256
    assert len(set((pages % 128).tolist())) > 100
