import json, os, sys, itertools
import numpy as np
import helpers
helpers.start()
import cupy as cp
here = os.path.dirname(os.path.abspath(__file__))
SIM = "--small" in sys.argv
def read(name): return open(os.path.join(here, name)).read()
def timed(f, n=7):
    f(); f(); cp.cuda.get_current_stream().synchronize()
    if SIM: return 1.0
    best = []
    for _ in range(n):
        a, b = cp.cuda.Event(), cp.cuda.Event()
        a.record(); f(); b.record(); b.synchronize()
        best.append(cp.cuda.get_elapsed_time(a, b))
    return sorted(best)[len(best)//2]
N = 256 if SIM else 4096
rng = cp.random.default_rng(1)
A = rng.standard_normal((N, N), dtype=cp.float32); B = rng.standard_normal((N, N), dtype=cp.float32)
C = cp.empty((N, N), cp.float32)
ref = A @ B
out = {}
base = timed(lambda: cp.matmul(A, B, out=C)) if not SIM else 1
print("cublas", base, "ms", 2*N**3/base/1e9, "TF")
n = np.int32(N)
def go(label, source, name, grid, block, opts=()):
    k = cp.RawKernel(read(source), name, options=tuple(opts))
    C.fill(cp.nan)
    try:
        t = timed(lambda: k(grid, block, (A, B, C, n, n, n)))
    except Exception as e:
        print(label, "FAILED", str(e)[:300]); return
    ok = bool(cp.allclose(C, ref, rtol=0, atol=1e-3*np.sqrt(N)))
    print(f"{label:60s} {t:8.3f} ms  {t/base:5.2f}x cublas  ok={ok} regs={k.num_regs} local={k.local_size_bytes}", flush=True)
    out[label] = t / base
c = lambda a, b: -(-a//b)
for b in ((32, 8), (16, 16), (32, 32)):
    go(f"naive {b}", "plain.cu", "naive", (c(N, b[0]), c(N, b[1])), b)
for T in (16, 32):
    go(f"tiled {T}", "plain.cu", "tiled", (c(N, T), c(N, T)), (T, T), (f"-DTILE={T}",))
for BM, BN, BK, RY in ((64, 64, 8, 8), (64, 64, 16, 8), (64, 64, 32, 8), (32, 64, 16, 4), (64, 128, 16, 8), (64, 32, 32, 8), (64, 128, 8, 8), (32, 128, 16, 8), (128, 64, 8, 8)):
    th = BM // RY * BN
    if th > 1024: continue
    go(f"strip {BM}x{BN}x{BK} {RY} rows", "strip.cu", "strip", (c(N, BN), c(N, BM)), (th,), (f"-DBM={BM}", f"-DBN={BN}", f"-DBK={BK}", f"-DRY={RY}"))
for WMm, WNn, TM, TN, LR, BK, BUF, MB in ((4,2,8,8,4,8,1,1),(4,2,8,8,4,8,2,1),(4,2,8,8,4,8,2,2),(4,2,8,8,4,16,1,2),(4,2,8,8,4,16,2,1),(4,2,8,8,4,16,2,2),(4,2,8,8,2,8,2,2),(2,4,8,8,4,8,2,2),(2,4,8,8,8,8,2,2),
        (4,2,8,16,4,8,2,1),(4,2,8,16,4,16,2,1),(2,4,16,8,4,8,2,1),(2,4,16,8,4,16,2,1),(2,2,8,8,4,8,2,2),(2,2,8,8,4,16,2,4),(2,2,8,16,4,8,2,2),(2,2,16,8,4,16,2,2),(2,1,8,16,4,16,2,2)):
    o = [f"-DWARPS_M={WMm}", f"-DWARPS_N={WNn}", f"-DTM={TM}", f"-DTN={TN}", f"-DLR={LR}", f"-DBK={BK}", f"-DBUFFERS={BUF}", f"-DMINBLOCKS={MB}"]
    BM, BN = WMm*LR*TM, WNn*(32//LR)*TN
    th = 32*WMm*WNn
    if BM*BK//4 % th or BN*BK//4 % th: print("skip", o); continue
    go(f"gemm {BM}x{BN}x{BK} {TM}x{TN} warps {WMm}x{WNn} LR{LR} buf{BUF} min{MB}", "gemm.cu", "gemm", (N//BN, N//BM), (th,), o)
# softmax
R, K = (64, 4096) if SIM else (8192, 4096)
X = rng.standard_normal((R, K), dtype=cp.float32); Y = cp.empty_like(X)
def expr(x):
    p = cp.exp(x - x.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)
want = expr(X)
tc = timed(lambda: cp.copyto(Y, X), 21); te = timed(lambda: expr(X), 21)
print(f"copy {tc:.4f} ms  {2*X.nbytes/tc/1e6:.0f} GB/s; expression {te:.4f} ms = {te/tc:.2f} copies")
def sm(label, name, grid, block, args, opts=()):
    k = cp.RawKernel(read("softmax.cu"), name, options=tuple(opts) + (() if any("EXP" in o for o in opts) else ("-DEXP=expf",)))
    Y.fill(cp.nan)
    try: t = timed(lambda: k(grid, block, args), 21)
    except Exception as e: print(label, "FAILED", str(e)[:300]); return
    ok = bool(cp.allclose(Y, want, rtol=1e-4, atol=1e-8))
    print(f"{label:40s} {t:.4f} ms  {tc/t:.2f} of the copy  {te/t:.2f}x the expression ok={ok} regs={k.num_regs}", flush=True)
for b in (128, 256, 512, 1024):
    sm(f"softmax3 block {b}", "softmax3", (R,), (b,), (X, Y, np.int32(K)))
for b in (64, 128, 256): sm(f"softmaxw block {b}", "softmaxw", (R*32//b,), (b,), (X, Y, np.int32(R), np.int32(K)))
for b, i in ((128, 8), (256, 4), (512, 2), (1024, 1)):
    for e in ("expf", "__expf"):
        sm(f"softmax4 block {b} {e}", "softmax4", (R,), (b,), (X, Y, np.int32(K)), (f"-DTHREADS={b}", f"-DITEMS={i}", f"-DEXP={e}"))
# shapes: 16-bit, tf32, int8 speeds of libraries
def lib(label, f, ops=2*N**3):
    try: t = timed(f); print(f"{label:40s} {t:.3f} ms  {ops/t/1e9:.0f} Tera/s", flush=True)
    except Exception as e: print(label, "FAILED", str(e)[:200])
H, G = A.astype(cp.float16), B.astype(cp.float16); HC = cp.empty((N, N), cp.float16)
lib("float16 matmul", lambda: cp.matmul(H, G, out=HC))
D, E = A.astype(cp.float64), B.astype(cp.float64)
lib("float64 matmul", lambda: cp.matmul(D, E))
I8 = (A * 20).astype(cp.int8); J8 = (B * 20).astype(cp.int8)
lib("int8 matmul (cupy)", lambda: cp.matmul(I8, J8))
if not SIM:
    from cupy.cuda import cublas as cb, device
    try:
        from cupy_backends.cuda.libs import cublas
        print([x for x in dir(cublas) if "TF32" in x or "gemmEx" in x or "setMathMode" in x or "COMPUTE" in x or "BF16" in x])
        h = device.get_cublas_handle()
        import numpy as _np
        one, zero = _np.ones(1, _np.float32), _np.zeros(1, _np.float32)
        from cupy.cuda import runtime
        R32F, R16F, R16BF, R8I, R32I = 0, 2, 14, 3, 10
        def gx(label, x, y, z, tx, tz, comp, al=one, be=zero):
            def f():
                cublas.gemmEx(h, 0, 0, N, N, N, al.ctypes.data, y.data.ptr, tx, N, x.data.ptr, tx, N, be.ctypes.data, z.data.ptr, tz, N, comp, -1)
            lib(label, f)
        gx("gemmEx f32", A, B, C, R32F, R32F, 68)
        gx("gemmEx tf32", A, B, C, R32F, R32F, 77)
        print("tf32 relative error", float(abs(C - ref).max() / abs(ref).max()))
        gx("gemmEx f16 -> f32", H, G, C, R16F, R32F, 68)
        print("f16 relative error", float(abs(C - ref).max() / abs(ref).max()))
        bits = lambda x: ((x.view(cp.uint32) + 0x8000) >> 16).astype(cp.uint16)
        gx("gemmEx bf16 -> f32", bits(A), bits(B), C, R16BF, R32F, 68)
        print("bf16 relative error", float(abs(C - ref).max() / abs(ref).max()))
        i1, i0 = _np.ones(1, _np.int32), _np.zeros(1, _np.int32)
        CI = cp.empty((N, N), cp.int32)
        gx("gemmEx int8 -> int32", I8, J8, CI, R8I, R32I, 72, i1, i0)
    except Exception as e:
        import traceback; traceback.print_exc()
