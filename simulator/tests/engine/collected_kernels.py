"""Kernels as people write them: with one mistake each, and correct ones of unusual kinds.

All get ``x``: 1024 floats 0, 1, ...; ``y``: 1024 floats that nobody has written; ``c``: 64 ints,
all 0; ``n`` = 1000; they run in 4 blocks of 256 threads unless it is said. ``i`` is the global
index, ``t`` the thread's, ``b`` the block's. The mistake is in the line with ``/*!*/``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Collected:
    """A kernel's body, what it wants, and the fault that it has."""

    name: str
    body: str
    fault: str = ""
    outside: str = ""
    grid: tuple[int, ...] = (4,)
    block: tuple[int, ...] = (256,)
    shared: int = 0
    arguments: str = "x y c n"
    """``x y c n``; ``0`` a null pointer, ``host`` and ``freed`` other pointers, ``x+4`` "
    "bytes on."""
    seconds: float = 30


def faulty(fault: str, name: str, body: str, **rest: object) -> Collected:
    """A kernel with a mistake."""
    return Collected(name, body, fault, **rest)


OUTSIDE, IN_SHARED, LOCAL = "GlobalOutOfBounds", "SharedOutOfBounds", "LocalOutOfBounds"
UNSET, BARRIER, ZERO = "UninitialisedRead", "BarrierFault", "IntegerDivisionByZero"

FAULTY = [
    # ---- outside an array
    faulty(OUTSIDE, "no_guard", "y[i + 1] = x[i]; /*!*/"),
    faulty(OUTSIDE, "off_by_one", "if (i <= 1024 - 1) y[i] = x[i + (i == 1023)]; /*!*/"),
    faulty(OUTSIDE, "left_neighbour", "y[i] = x[i - 1]; /*!*/"),
    faulty(OUTSIDE, "transposed_index", "int r = i / 128, k = i % 128;\n"
           "y[k * 128 + r] = x[i]; /*!*/"),
    faulty(OUTSIDE, "vector_past_end", "float4 v = ((float4*)x)[i]; /*!*/\ny[i] = v.x;"),
    faulty(OUTSIDE, "grid_stride_start",
           "for (int k = i; k < 2 * n; k += gridDim.x * blockDim.x)\ny[k] = 1; /*!*/"),
    faulty(OUTSIDE, "wrong_element_type", "if (i < n) ((double*)y)[i] = x[i]; /*!*/"),
    faulty(OUTSIDE, "index_from_data", "c[(int)x[i]] = 1; /*!*/"),
    faulty(OUTSIDE, "device_variable", "if (i == 0) { float* p = table; p[n] = 1; /*!*/\n}",
           outside="__device__ float table[8];"),
    faulty(OUTSIDE, "constant_table", "y[i] = weights[i % 10]; /*!*/",
           outside="__constant__ float weights[9] = {1, 2, 3};"),
    faulty("NotDeviceMemory", "index_overflow", "long long far = (long long)(i + 1) << 50;\n"
           "if (i == 5) y[far] = 1; /*!*/"),
    faulty(IN_SHARED, "tile_too_small", "__shared__ float s[128];\ns[t] = x[i]; /*!*/\n"
           "__syncthreads();\ny[i] = s[t & 127];"),
    faulty(IN_SHARED, "tile_row", "__shared__ float s[16][16];\n"
           "s[t / 16][t % 16 + 1] = x[i]; /*!*/\n"
           "__syncthreads();\ny[i] = s[0][1];"),
    faulty(IN_SHARED, "dynamic_too_small", "extern __shared__ float d[];\nd[t] = x[i]; /*!*/\n"
           "__syncthreads();\ny[i] = d[t];", shared=512),
    faulty(IN_SHARED, "halo", "__shared__ float s[256];\ns[t] = x[i];\n__syncthreads();\n"
           "y[i] = s[t + 1]; /*!*/"),
    faulty(LOCAL, "local_array", "float v[4];\nfor (int k = 0; k <= n / 250; k++)\n"
           "v[k] = x[k]; /*!*/\n"
           "y[i] = v[i & 3];"),
    faulty(LOCAL, "local_table", "int v[2][3] = {};\nv[1][n / 300] = 1; /*!*/\n"
           "c[0] = v[0][i % 3];"),
    faulty("NullPointer", "null", "if (i < n) y[i] = 1; /*!*/", arguments="x 0 c n"),
    faulty("NullPointer", "pointer_never_set", "if (i == 0) *where = 1; /*!*/",
           outside="__device__ float* where;"),
    faulty("NotDeviceMemory", "host_array", "if (i < n) y[i] = x[i]; /*!*/",
           arguments="host y c n"),
    faulty("UseAfterFree", "freed", "if (i < n) y[i] = x[i]; /*!*/", arguments="freed y c n"),
    # ---- alignment
    faulty("MisalignedAccess", "odd_pair", "float2 v = ((float2*)(x + 1))[i % 8]; /*!*/\n"
           "y[i] = v.x + v.y;"),
    faulty("MisalignedAccess", "shifted_vector", "float4 v = ((float4*)x)[i % 8]; /*!*/\n"
           "y[i] = v.x;",
           arguments="x+4 y c n"),
    faulty("MisalignedAccess", "double_in_ints", "if (i == 0) *(double*)(c + 1) = 1; /*!*/"),
    # ---- what nobody has written
    faulty(UNSET, "result_read", "if (i < n) y[i] += x[i]; /*!*/"),
    faulty(UNSET, "shared_never_set", "__shared__ float s[256];\nif (t) s[t] = x[i];\n"
           "__syncthreads();\ny[i] = s[255 - t]; /*!*/"),
    faulty(UNSET, "half_a_tile", "__shared__ float s[512];\ns[t] = x[i];\n__syncthreads();\n"
           "y[i] = s[2 * t]; /*!*/"),
    faulty(UNSET, "histogram_not_cleared", "__shared__ int h[16];\n"
           "atomicAdd(&h[i & 15], 1); /*!*/\n__syncthreads();\nif (t < 16) c[t] = h[t];"),
    faulty(UNSET, "sum_without_start", "float sum;\nfor (int k = 0; k < 8; k++)\n"
           "sum += x[k]; /*!*/\n"
           "y[i] = sum;"),
    faulty(UNSET, "counter_without_start", "int count;\nfor (int k = 0; k < n; k++)\n"
           "if (x[k] > 3) count++; /*!*/\nif (i == 0) c[0] = count;"),
    faulty(UNSET, "sums_without_start", "float sums[4];\nfor (int k = 0; k < 8; k++)\n"
           "sums[k & 3] += x[k]; /*!*/\ny[i] = sums[i & 3];"),
    faulty(UNSET, "member_not_set", "float2 p;\np.x = x[i];\ny[i] = p.x + p.y; /*!*/"),
    # ---- races
    faulty("Race", "reduction", "__shared__ float s[256];\ns[t] = x[i];\n__syncthreads();\n"
           "for (int h = 128; h > 0; h /= 2)\nif (t < h) s[t] += s[t + h]; /*!*/\n"
           "if (t == 0) y[b] = s[0];"),
    faulty("Race", "tile_not_ready", "__shared__ float s[256];\ns[t] = x[i]; /*!*/\n"
           "y[i] = s[255 - t]; /*!*/"),
    faulty("Race", "tile_overwritten", "__shared__ float s[256];\nfloat sum = 0;\n"
           "for (int k = 0; k < 4; k++) {\ns[t] = x[k * 256 + t]; /*!*/\n__syncthreads();\n"
           "sum += s[255 - t]; /*!*/\n}\ny[i] = sum;"),
    faulty("Race", "counter", "c[0]++; /*!*/"),
    faulty("Race", "histogram", "c[(int)x[i] % 8] += 1; /*!*/"),
    faulty("Race", "one_result", "y[0] = x[i]; /*!*/"),
    faulty("Race", "stencil_in_place", "if (i > 0 && i < n) x[i] = x[i - 1] + x[i]; /*!*/"),
    faulty("Race", "scan", "__shared__ float s[256];\ns[t] = x[i];\n__syncthreads();\n"
           "for (int d = 1; d < 256; d *= 2)\nif (t >= d) s[t] += s[t - d]; /*!*/\ny[i] = s[t];"),
    faulty("Race", "last_warp", "__shared__ volatile float s[64];\nif (t < 64) s[t] = x[i];\n"
           "__syncthreads();\nif (t < 32) {\ns[t] += s[t + 32]; /*!*/\n"
           "s[t] += s[t + 16]; /*!*/\n}\n"
           "if (t == 0) y[b] = s[0];"),
    faulty("Race", "transpose_in_place", "int r = i / 32, k = i % 32;\n"
           "float v = x[k * 32 + r]; /*!*/\n"
           "x[i] = v; /*!*/"),
    faulty("Race", "atomic_and_plain", "if (i % 2) atomicAdd(c, 1); /*!*/\nelse c[0] += 1; /*!*/"),
    faulty("Race", "another_block_s_result", "if (t == 0) y[b] = x[i]; /*!*/\n"
           "if (b == 3 && t == 1) x[0] = y[0] + y[1] + y[2]; /*!*/", grid=(64,),
           arguments="x x c n"),
    # ---- barriers and warps
    faulty(BARRIER, "half_a_warp", "if (t < 16)\n__syncthreads(); /*!*/\nelse\n"
           "__syncthreads(); /*!*/"),
    faulty(BARRIER, "two_on_a_line", "if (t % 2) __syncthreads(); else __syncthreads(); /*!*/"),
    faulty(BARRIER, "shuffle_from_absent_lane", "float v = x[i];\nif (t % 32 < 8)\n"
           "v = __shfl_sync(0xff, v, 20); /*!*/\ny[i] = v;"),
    faulty(BARRIER, "not_in_its_mask", "float v = x[i];\nif (t % 32 < 8)\n"
           "v = __shfl_sync(0x0f, v, 0); /*!*/\ny[i] = v;"),
    faulty(BARRIER, "lanes_left", "if (t % 32 > 20) return;\n"
           "float v = __shfl_down_sync(0xffffffff, x[i], 16); /*!*/\ny[i] = v;"),
    # ---- the rest
    faulty(ZERO, "division", "c[t & 63] = n / (t - 7); /*!*/", grid=(1,), block=(64,)),
    faulty(ZERO, "remainder", "int m = n - 1000;\nif (i == 9) c[0] = i % m; /*!*/"),
    faulty(ZERO, "long_division", "unsigned long long m = n - 1000;\n"
           "if (i == 9) c[0] = 5ull / m; /*!*/"),
    faulty("StackOverflow", "recursion", "if (i == 0) c[0] = endless(n);",
           outside="__device__ __noinline__ int endless(int k) { volatile int v[64]; v[k "
                   "& 63] = k;\n"
                   "return k == -1 ? 0 : endless(k + 1) + v[k & 63]; /*!*/\n}"),
    faulty("AssertionFault", "assertion", "assert(i < 900); /*!*/"),
    faulty("KernelSignal", "trap", "if (i == 3) __trap(); /*!*/"),
    faulty("KernelTimeout", "endless_loop", "volatile int go = 1;\nwhile (go) { }", seconds=0.3),
    faulty("KernelTimeout", "lock_before_barrier", "while (atomicCAS(c, 0, 1) != 0) { }\n"
           "__syncthreads();\nif (t == 0) atomicExch(c, 0);", grid=(1,), block=(64,), seconds=0.3),
]  # fmt: skip


def unusual(name: str, body: str, **rest: object) -> Collected:
    """A correct kernel."""
    return Collected(name, body, **rest)


UNUSUAL = [
    unusual("found_flag", "if (x[i] > 10) c[0] = 1;"),
    unusual("flag_in_shared", "__shared__ int any;\nif (t == 0) any = 0;\n__syncthreads();\n"
            "if (x[i] > 10) any = 1;\n__syncthreads();\nif (t == 0) c[b] = any;"),
    unusual("cas_loop", "int old = c[0], seen;\ndo {\nseen = old;\n"
            "old = atomicCAS(c, seen, max(seen, i));\n} while (old != seen);"),
    unusual("early_return", "if (i >= n) return;\n__shared__ float s[256];\ns[t] = x[i];\n"
            "__syncthreads();\ny[i] = s[t];"),
    # A mask may name lanes that have left: "all non-exited threads named in mask" have to come.
    unusual("lanes_left_and_none_read", "if (t % 32 > 20) return;\n"
            "unsigned all = __ballot_sync(0xffffffff, 1);\nif (t == 0) c[b] = all;"),
    unusual("syncwarp_of_those_who_stay", "if (t % 32 < 16)\n__syncwarp();"),
    unusual("barriers_by_warps", "__shared__ float s[256];\ns[t] = x[i];\nif (t < 128) {\n"
            "__syncthreads();\n} else {\n__syncthreads();\n}\ny[i] = s[255 - t];"),
    unusual("last_block", "__shared__ int last;\nif (t == 0) {\ny[b] = x[i];\n__threadfence();\n"
            "last = atomicAdd(c, 1) == gridDim.x - 1;\n}\n__syncthreads();\n"
            "if (last && t == 0) {\n__threadfence();\nfloat sum = 0;\n"
            "for (int k = 0; k < gridDim.x; k++) sum += ((volatile float*)y)[k];\nx[0] = sum;\n}",
            arguments="x z c n"),
    unusual("shuffle_tree", "float v = x[i];\nfor (int d = 16; d; d /= 2)\n"
            "v += __shfl_down_sync(0xffffffff, v, d);\nif (t % 32 == 0) y[i / 32] = v;"),
    unusual("part_of_a_warp", "unsigned mask = __ballot_sync(0xffffffff, t % 32 < 20);\n"
            "if (t % 32 < 20) {\nint v = __shfl_sync(mask, t, 3);\n"
            "if (t % 32 == 0) c[t / 32] = v;\n}",
            grid=(1,)),
    unusual("compaction", "unsigned in = __ballot_sync(0xffffffff, i % 3 == 0);\n"
            "int at = 0, lane = t % 32;\nif (lane == 0) at = atomicAdd(c, __popc(in));\n"
            "at = __shfl_sync(0xffffffff, at, 0);\n"
            "if (i % 3 == 0) y[at + __popc(in & ((1u << lane) - 1))] = x[i];"),
    unusual("equal_lanes", "unsigned same = __match_any_sync(0xffffffff, i % 4);\n"
            "if ((t & 31) == __ffs(same) - 1) atomicAdd(c + i % 4, __popc(same));"),
    unusual("warp_sums", "__shared__ float s[256];\ns[t] = x[i];\n__syncwarp();\n"
            "for (int d = 16; d; d /= 2) {\nfloat v = t % 32 < d ? s[t + d] : 0;\n__syncwarp();\n"
            "s[t] += v;\n__syncwarp();\n}\nif (t % 32 == 0) y[i / 32] = s[t];"),
    unusual("double_buffer", "__shared__ float s[2][256];\nfloat sum = 0;\ns[0][t] = x[t];\n"
            "for (int k = 0; k < 4; k++) {\n__syncthreads();\n"
            "if (k < 3) s[(k + 1) & 1][t] = x[(k + 1) * 256 + t];\nsum += s[k & 1][255 - t];\n}\n"
            "y[i] = sum;"),
    unusual("scan_of_two", "__shared__ float s[256];\ns[t] = x[i];\n__syncthreads();\n"
            "for (int d = 1; d < 256; d *= 2) {\nfloat v = t >= d ? s[t - d] : 0;\n"
            "__syncthreads();\n"
            "s[t] += v;\n__syncthreads();\n}\ny[i] = s[t];"),
    unusual("odd_even_sort", "__shared__ float s[256];\ns[t] = x[255 - t];\n__syncthreads();\n"
            "for (int k = 0; k < 8; k++) {\nif (t % 2 == k % 2 && t < 255 && s[t] > s[t + 1]) {\n"
            "float v = s[t];\ns[t] = s[t + 1];\ns[t + 1] = v;\n}\n__syncthreads();\n}\n"
            "y[i] = s[t];"),
    unusual("padded_tile", "__shared__ float s[16][17];\ns[t / 16][t % 16] = x[i];\n"
            "__syncthreads();\n"
            "y[i] = s[t % 16][t / 16];"),
    unusual("shared_of_two_types", "extern __shared__ char raw[];\nfloat* s = (float*)raw;\n"
            "int* k = (int*)(s + 256);\ns[t] = x[i];\nk[t] = 255 - t;\n__syncthreads();\n"
            "y[i] = s[k[255 - t]];", shared=2048),
    unusual("bytes_of_a_word", "((char*)y)[i] = (char)i;"),
    unusual("shorts_of_a_word", "__shared__ short s[256];\ns[t] = (short)t;\n__syncthreads();\n"
            "c[t & 63] = s[t & 63];"),
    unusual("vectors_of_a_union", "union V { float4 v; float f[4]; };\nV u;\n"
            "u.v = ((float4*)x)[i % 256];\n"
            "y[i] = u.f[0] + u.f[3];"),
    unusual("structure", "Body p = {make_float4(x[i], 0, 0, 1), 3, {1, 2}};\nBody q = p;\n"
            "y[i] = weigh(q);",
            outside="struct Body { float4 at; char kind; double m[2]; };\n"
                    "__device__ float weigh(Body body) { return body.at.x + (float)body.m[1]; }"),
    unusual("bounded_recursion", "if (i < 20) c[i] = fib(i % 10);",
            outside="__device__ int fib(int k) { return k < 2 ? k : fib(k - 1) + fib(k - 2); }"),
    unusual("function_pointer", "float (*f)(float) = i % 2 ? twice : half_of;\ny[i] = f(x[i]);",
            outside="__device__ float twice(float v) { return 2 * v; }\n"
                    "__device__ float half_of(float v) { return v / 2; }"),
    unusual("lambda", "auto f = [&](int k) { return x[k] + n; };\ny[i] = f(i);"),
    unusual("one_past_the_end", "const float* end = x + 1024;\nfloat sum = 0;\n"
            "for (const float* p = x; p != end; p++) sum += *p;\nif (i == 0) y[0] = sum;"),
    unusual("backwards", "for (int k = 3; k >= 0; k--) if (i == 0) y[k] = x[k];"),
    unusual("first_or_larger", "float best;\nfor (int k = 0; k < 10; k++)\n"
            "if (k == 0 || x[k] > best) best = x[k];\ny[i] = best;"),
    unusual("guarded_local", "float v;\nif (i < n) v = x[i];\n__syncthreads();\n"
            "if (i < n) y[i] = v;"),
    unusual("unsigned_wraps", "unsigned h = 2166136261u;\nfor (int k = 0; k < 9; k++)\n"
            "h = (h ^ k) * 16777619u;\nc[i & 63] = 7 + 0 * (int)h;"),
    unusual("grid_stride", "for (int k = i; k < n; k += gridDim.x * blockDim.x) y[k] = x[k];",
            grid=(1,), block=(96,)),
    unusual("in_place", "if (i < n) x[i] = x[i] * 2;"),
    unusual("counted_barrier", "int many = __syncthreads_count(x[i] > 5);\n"
            "int all = __syncthreads_and(many >= 0);\nif (t == 0) c[b] = many + all;"),
    unusual("three_axes",
            "int at = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
            "y[b * 256 + at] = x[b * 256 + at];", block=(8, 8, 4)),
    unusual("lock_of_a_block", "if (t == 0) {\nwhile (atomicCAS(c, 0, 1) != 0) { }\n"
            "__threadfence();\n"
            "((volatile int*)c)[1] += 1;\n__threadfence();\natomicExch(c, 0);\n}"),
    unusual("jump", "int k = 0;\nagain:\nif (k < 3) {\nk++;\ngoto again;\n}\nswitch (k) {\n"
            "case 3: k++;\n"
            "default: y[i] = k;\n}"),
    unusual("shared_in_a_function", "y[i] = mirrored(x[i], t);",
            outside="__device__ float mirrored(float v, int t) {\n__shared__ float s[256];\n"
                    "s[t] = v;\n"
                    "__syncthreads();\nreturn s[255 - t];\n}"),
    unusual("launch_bounds", "if (i < n) y[i] = rsqrtf(x[i] + 1);"),
    unusual("float_atomics", "__shared__ float sum;\nif (t == 0) sum = 0;\n__syncthreads();\n"
            "atomicAdd(&sum, x[i]);\n__syncthreads();\nif (t == 0) y[b] = sum;"),
    unusual("copied_local", "float v[4];\nmemcpy(v, x + 4 * (i % 256), sizeof v);\nv[i & 3] += 1;\n"
            "y[i] = v[0] + v[3];"),
]  # fmt: skip
