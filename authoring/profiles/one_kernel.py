"""Count what the readers in one kernel do, for the lesson "One kernel for the whole reader".

    python -m authoring.profiles.one_kernel [FILE]

needs CuPy and Nsight Compute (`ncu` on the PATH). Without FILE it writes
`helpers/data/recorded/profiles/one_kernel.json`, which the lesson shows.
"""

from __future__ import annotations

import sys

import numpy as np

from helpers import one_kernel
from helpers.data import load_network, load_split

from . import profiling

READERS = {"float32": one_kernel.float32, "tensor cores": one_kernel.tensor_cores}
DIGITS = 200_000
MORE = {"wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
        "tensor_percent": "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
        "issue_percent": "sm__issue_active.avg.pct_of_peak_sustained_elapsed"}


def run() -> None:
    """Launch the kernels that `measured` counts."""
    import cupy as cp

    images = cp.asarray(np.resize(load_split()[2], (DIGITS, 8, 8)).astype(np.float32))
    for name, reader in READERS.items():
        profiling.launch_in_range(name, reader(load_network()), images)


def measured() -> dict:
    """What the lesson shows."""
    rows = profiling.launches_in_ranges("authoring.profiles.one_kernel", list(READERS),
                                        *MORE.values())
    return {"digits": DIGITS, "kernels": {
        name: profiling.counts(row) | {key: profiling.number(row[metric])
                                       for key, metric in MORE.items()}
        for name, row in zip(READERS, rows)}}


if __name__ == "__main__":
    profiling.run_program("one_kernel", measured, sys.argv[1:], run=run)
