import statistics, sys
import helpers
helpers.start()
import cupy as cp, numpy as np
from helpers import kernels
from helpers.timing import _is_simulator
SIM = _is_simulator(cp)
SM = cp.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"]
def timed(name, f, nbytes, repeat=15):
    if SIM:
        f(); print(name, "ran"); return
    a, b = cp.cuda.Event(), cp.cuda.Event()
    for _ in range(3): f()
    times = []
    for _ in range(repeat):
        a.record(); f(); b.record(); b.synchronize()
        times.append(cp.cuda.get_elapsed_time(a, b))
    t = statistics.median(times)
    print(f"{name:60} {t:9.4f} ms {nbytes/t/1e6:8.0f} GB/s best {nbytes/min(times)/1e6:8.0f}", flush=True)
def K(name, entry, *defs):
    return cp.RawKernel(kernels.source(name), entry, options=tuple("-D" + d for d in defs))

N = 2**16 if SIM else 2**28
x = cp.random.default_rng(1).standard_normal(N, dtype=cp.float32)
y = cp.empty_like(x)
timed("copyto", lambda: cp.copyto(y, x), 8 * N)
truth = float(x.astype(cp.float64).sum())
timed("cp.sum", lambda: x.sum(), 4 * N)
n4 = np.uint32(N // 4)
for loads in (1, 2, 4, 8, 16):
    k = K("sum", "sum", f"LOADS={loads}")
    for block in (128, 256, 512, 1024):
        for label, grid in [("one pass", -(-N // 4 // loads // block)), ("SMx1", SM * max(1, 1024 // block)), ("SMx2", SM * 2048 // block), ("SMx4", 2 * SM * 2048 // block), ("SMx16", 8 * SM * 2048 // block)]:
            if SIM and not (block == 256 and label == "one pass"): continue
            grid -= -grid % 4 and 0
            grid = -(-grid // 4) * 4
            part, out = cp.empty(grid, dtype=cp.float32), cp.empty(4, dtype=cp.float32)
            def f():
                k((grid,), (block,), (x, part, n4))
                k((1,), (1024 if grid > 4096 else 256,), (part, out, np.uint32(grid // 4)))
            timed(f"sum LOADS={loads} block {block} grid {label} {grid}", f, 4 * N)
            f(); assert abs(float(out[0]) - truth) < 1e-5 * N**0.5 * 10 + 1, (float(out[0]), truth)
del y

for side in ((96, 64),) if SIM else ((8192, 8192), (16384, 16384), (16384, 8192), (10240, 8192)):
    r, c = side
    if SIM: r, c = 128, 64
    a = cp.arange(r * c, dtype=cp.float32).reshape(r, c); b = cp.empty((c, r), dtype=cp.float32)
    nb = 2 * a.nbytes
    o = cp.empty_like(a)
    timed(f"{side} copyto", lambda: cp.copyto(o, a), nb)
    del o
    timed(f"{side} cp.ascontiguousarray(a.T)", lambda: cp.copyto(b, a.T), nb)
    for rows in (4, 8, 16, 32):
        k = K("transpose", "transpose", f"ROWS={rows}")
        f = lambda: k((-(-c // 32), -(-r // 32)), (32, rows), (a, b, np.int32(r), np.int32(c)))
        b[...] = 0
        timed(f"{side} transpose ROWS={rows}", f, nb)
        assert (b == a.T).all()
    for pad in (1, 2, 4):
        k = K("transpose4", "transpose", f"PAD={pad}")
        f = lambda: k((c // 64, r // 64), (16, 16), (a, b, np.int32(r), np.int32(c)))
        b[...] = 0
        timed(f"{side} transpose4 PAD={pad}", f, nb)
        assert (b == a.T).all()
    del a, b
del x

rng = cp.random.default_rng(2)
data = {"uniform": rng.integers(0, 256, N).astype(cp.int32),
        "normal": cp.clip(128 + 12 * rng.standard_normal(N, dtype=cp.float32), 0, 255).astype(cp.int32),
        "90% one value": cp.where(rng.random(N, dtype=cp.float32) < 0.9, 7, rng.integers(0, 256, N)).astype(cp.int32),
        "one value": cp.full(N, 7, dtype=cp.int32)}
naive = cp.RawKernel("""extern "C" __global__ void histogram(const int* x, int* counts, unsigned n) {
 unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) atomicAdd(&counts[x[i]], 1); }""", "histogram")
for name, v in data.items():
    counts = cp.zeros(256, dtype=cp.int32); want = cp.bincount(v, minlength=256)
    timed(f"{name}: global atomics", lambda: naive((N // 256,), (256,), (v, counts, np.uint32(N))), 4 * N, 5)
    timed(f"{name}: cp.bincount", lambda: cp.bincount(v, minlength=256), 4 * N, 5)
    jobs = [("histogram", f"COPIES={c}", l) for c in (1, 2, 4, 8, 16, 32) for l in (1, 2, 4, 8)]
    jobs += [("histogram_warps", f"W={w}", l) for w in (1, 2, 4, 8, 16, 32) for l in (2, 4)]
    for source, define, loads in jobs:
        k = K(source, "histogram", define, f"LOADS={loads}")
        for block in (256, 512, 1024):
            for per in (1, 2, 4, 8):
                if block * per > 2048 * 2: continue
                if SIM and (block, per) != (256, 2): continue
                f = lambda: k((SM * per,), (block,), (v, counts, n4))
                counts[:] = 0; f(); assert (counts == want).all(), (source, define)
                if not SIM:
                    a, e = cp.cuda.Event(), cp.cuda.Event()
                    t = []
                    for _ in range(3): a.record(); f(); e.record(); e.synchronize(); t.append(cp.cuda.get_elapsed_time(a, e))
                    print(f"H {name:14} {source} {define} LOADS={loads} block {block} x{per}: {4*N/min(t)/1e6:7.0f} GB/s", flush=True)
