"""Times of variants of lesson 08's register tile, as multiples of cuBLAS's: a trial, not a test."""

import cupy as cp
import numpy as np

from helpers import bench, kernels

SIDE = 4096
rng = cp.random.default_rng(8)
a, b = (rng.standard_normal((SIDE, SIDE), dtype=cp.float32) for _ in range(2))
c = cp.empty_like(a)
library = bench(lambda: cp.matmul(a, b, out=c), device="gpu").median
right = a @ b
for source, name, tile, threads, options in (
    ("matmul_strip", "strip", 64, 512, ()),
    ("matmul_register", "product", 128, 256, ()),
    ("matmul_register", "product", 128, 256, ("-DPLAIN",)),
    ("matmul_register", "product", 128, 256, ("-DDEPTH_16",)),
):
    kernel = cp.RawKernel(kernels.source(source), name, options=options)
    c.fill(cp.nan)
    args = (a, b, c, *(np.int32(SIDE),) * 3)
    grid = (SIDE // tile, SIDE // tile)
    time = bench(lambda: kernel(grid, (threads,), args), device="gpu").median
    good = bool(cp.allclose(c, right, rtol=0, atol=1e-2))
    print(f"{source:16} {options!s:14} {time / library:.2f} {kernel.num_regs} registers {good}")
