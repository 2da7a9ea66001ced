"""Launch every case once through CuPy, in order: what `record.py` runs under Nsight Compute."""

from __future__ import annotations

import sys
from pathlib import Path

import cupy as cp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from cases import cases  # noqa: E402

modules = {}
for case in cases():
    module = modules.setdefault(case.source, cp.RawModule(code=case.source))
    kernel = module.get_function(case.kernel)
    arguments = [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in case.arguments]
    for argument in arguments:
        if isinstance(argument, cp.ndarray):
            assert argument.data.ptr % 512 == 0  # sectors are counted from the array's start
    cp.cuda.Device().synchronize()
    kernel(case.grid, case.block, arguments)
    cp.cuda.Device().synchronize()
print(len(cases()), "launches")
