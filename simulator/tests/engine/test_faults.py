"""Planted faults: each is caught, with its thread and index, and its repaired twin is clean."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field

import numpy as np
import pytest
from engine_support import array, pack, read

from nogpu import engine


@dataclass
class Planted:
    """A kernel whose source has one hole, filled once wrongly and once rightly.

    Every kernel gets ``a``: 1000 floats 0, 1, ...; ``b``: 1024 floats never written; ``counts``:
    64 ints, all 0; ``n`` = 1000. ``i`` is the global index.
    """

    name: str
    fault: type
    body: str
    bad: str
    good: str
    array: str | None = None
    index: int | None = None
    thread: tuple | None = (0, 0, 0)
    block: tuple | None = (0, 0, 0)
    grid: tuple = (4,)
    threads: tuple = (256,)
    shared: int = 0
    outside: str = ""
    """Declarations before the kernel."""
    says: str = ""
    arguments: dict = field(default_factory=dict)
    """For the bad launch: another argument in place of an array."""

    def source(self, prefix: str, filling: str) -> str:
        name = f"{prefix}_{self.name}"
        body, outside = (
            text.replace("@", filling).replace("$", f"{name}_v")
            for text in (self.body, self.outside)
        )
        return (
            f"{outside}\n__global__ void {name}(float* a, float* b, int* counts, int n) {{\n"
            f"    int i = blockIdx.x * blockDim.x + threadIdx.x; (void)i;\n    {body}\n}}\n"
        )


P = Planted
GLOBAL, SHARED, LOCAL = (
    engine.GlobalOutOfBounds,
    engine.SharedOutOfBounds,
    engine.LocalOutOfBounds,
)
# arm64 divides the smallest integer by -1 without a trap.
OVERFLOWS = [
    P("divide_overflow", engine.IntegerDivisionOverflow, "if (i == 3) counts[0] = "
      "(int)((unsigned)(n - 999) << 31) / (n - @);", "1001", "999", thread=(3, 0, 0),
      says="divides the smallest integer of a type by -1, and the quotient overflows"),
    P("modulo_overflow_long", engine.IntegerDivisionOverflow, "volatile long long by = n - @; "
      "if (i == 3) counts[0] = (int)((long long)((unsigned long long)(n - 999) << 63) % by);",
      "1001", "999", thread=(3, 0, 0), says="by -1"),
] if platform.machine() == "x86_64" else []
TABLE = [
    # ---- global memory out of bounds
    P("read_past_end", GLOBAL, "if (i < @) b[i] = a[i];", "n + 5", "n",
      "a", 1000, (232, 0, 0), (3, 0, 0)),
    P("write_past_end", GLOBAL, "if (i @ n) a[i] = 1;", "<=", "<",
      "a", 1000, (232, 0, 0), (3, 0, 0)),
    P("read_before_start", GLOBAL, "if (i < n) b[i] = a[@];", "i - 1", "i ? i - 1 : 0", "a", -1),
    P("wrong_stride", GLOBAL, "if (i < n) b[i] = a[i * @];", "n", "1", "a", 1000, (1, 0, 0)),
    P("wrong_type", GLOBAL, "if (i < @) b[i] = (float)((double*)a)[i];", "n", "n / 2",
      "a", 500, (244, 0, 0), (1, 0, 0)),
    P("vector_past_end", GLOBAL, "if (i < @) { float4 v = ((float4*)a)[i]; b[i] = v.x + v.w; }",
      "n / 4 + 1", "n / 4", "a", 250, (250, 0, 0)),
    P("row_too_long", GLOBAL, "a[threadIdx.y * @ + threadIdx.x] = 1;", "65", "32", "a", 1000,
      (25, 15, 0), grid=(1,), threads=(32, 16)),
    P("atomic_past_end", GLOBAL, "atomicAdd(&counts[i % @], 1);", "65", "64", "counts", 64,
      (64, 0, 0)),
    P("variable_by_index", GLOBAL, "if (threadIdx.x < @ && !blockIdx.x) $[threadIdx.x] = 1;",
      "17", "16", "$", 16, (16, 0, 0), outside="__device__ float $[16];"),
    P("memcpy_past_end", GLOBAL, "if (i == 0) memcpy(counts, a, @);", "65 * 4", "64 * 4",
      "counts", None),
    P("loop_that_is_a_memset", GLOBAL, "if (i == 0) for (int j = 0; j < @; j++) counts[j] = 0;",
      "65", "64", "counts", None),
    # ---- shared memory out of bounds
    P("tile_end", SHARED, "__shared__ float tile[256]; tile[threadIdx.x @] = a[0];", "+ 1", "",
      "tile", 256, (255, 0, 0)),
    P("tile_row", SHARED, "__shared__ float tile[16][16]; "
      "tile[threadIdx.y][threadIdx.x @] = a[0];", "+ 1", "", "tile", 16, (15, 0, 0),
      threads=(16, 16)),
    P("tile_column", SHARED, "__shared__ float tile[8][32]; "
      "if (threadIdx.y < @) tile[threadIdx.y][threadIdx.x] = a[0];", "9", "8",
      "tile", 8, (0, 8, 0), threads=(32, 9)),
    P("tile_by_pointer", SHARED, "__shared__ float tile[256]; float* p = tile + @; "
      "p[threadIdx.x] = a[0]; __syncthreads(); b[i] = tile[threadIdx.x & 15];", "8", "0",
      "tile", 256, (248, 0, 0)),
    P("dynamic_end", SHARED, "extern __shared__ float dynamic[]; "
      "dynamic[threadIdx.x @] = a[0];", "+ 1", "", "dynamic", 256, (255, 0, 0), shared=1024),
    P("dynamic_none", SHARED, "extern __shared__ float dynamic[]; "
      "if (@) dynamic[threadIdx.x] = a[0];", "n", "!n", "dynamic", 0),
    P("bins", SHARED, "__shared__ int bins[16]; if (threadIdx.x < 16) bins[threadIdx.x] = 0; "
      "__syncthreads(); atomicAdd(&bins[threadIdx.x % @], 1);", "18", "16", "bins", 16,
      (16, 0, 0)),
    # ---- an array of the thread's own
    P("local_array", LOCAL, "float mine[4]; for (int j = 0; j @ 4; j++) mine[j] = a[j]; "
      "if (i < n) b[i] = mine[i & 3];", "<=", "<", "mine", 4),
    # ---- pointers that point nowhere
    P("null", engine.NullPointer, "if (i < n) b[i] = a[i];", "", "", arguments={"a": 0}),
    P("null_and_offset", engine.NullPointer, "if (i < 900) a[i + 5] = 1;", "", "",
      arguments={"a": 0}),
    P("freed", engine.UseAfterFree, "if (i < n) b[i] = a[i];", "", "", "gone", 0,
      arguments={"a": "freed"}),
    P("freed_write", engine.UseAfterFree, "if (i == 0) a[7] = 1;", "", "", "gone", 7,
      arguments={"a": "freed"}),
    P("freed_atomic", engine.UseAfterFree, "if (i == 5) atomicAdd(a + 9, 1.0f);", "", "", "gone",
      9, (5, 0, 0), arguments={"a": "freed"}),
    P("host_pointer", engine.NotDeviceMemory, "if (i < n) b[i] = a[i];", "", "",
      arguments={"a": "host"}, says="host pointer"),
    # ---- misaligned
    P("half_word", engine.MisalignedAccess, "if (i < 900) b[i] = *(float*)((char*)a + @ + 4 * i);",
      "2", "4", "a"),
    P("vector4", engine.MisalignedAccess, "float4 v = ((float4*)(a + @))[0]; b[i] = v.y;",
      "1", "4", "a"),
    P("vector4_store", engine.MisalignedAccess,
      "if (i == 0) ((float4*)(a + @))[0] = make_float4(1, 2, 3, 4);", "2", "4", "a"),
    P("vector2", engine.MisalignedAccess, "float2 v = *(float2*)(a + @); b[i] = v.y;",
      "3", "2", "a"),
    P("double", engine.MisalignedAccess, "if (i == 0) *(double*)(b + @) = 1.5;", "1", "2", "b"),
    P("atomic_misaligned", engine.MisalignedAccess,
      "atomicAdd((int*)((char*)counts + @), 1);", "2", "4", "counts"),
    P("shared_misaligned", engine.MisalignedAccess, "__shared__ float tile[64]; "
      "if (threadIdx.x == 0) *(float2*)(tile + @) = make_float2(1, 2); "
      "__syncthreads(); if (threadIdx.x == 4) b[i] = tile[4];", "3", "4", "tile"),
    # ---- never written
    P("global_unwritten", engine.UninitialisedRead, "if (i < n) @ a[i] = b[i];", "", "b[i] = 1,",
      "b", 0),
    P("accumulate", engine.UninitialisedRead, "if (i < n) b[i] @ a[i];", "+=", "=", "b", 0),
    P("atomic_unwritten", engine.UninitialisedRead, "@ atomicAdd(&b[i], 1.0f);", "", "b[i] = 0;",
      "b", 0),
    P("vector_unwritten", engine.UninitialisedRead, "@ if (i == 3) { float4 v = ((float4*)b)[3]; "
      "a[0] = v.z; }", "", "if (i == 3) for (int j = 12; j < 16; j++) b[j] = 1;", "b", 3,
      (3, 0, 0)),
    P("shared_unwritten", engine.UninitialisedRead, "__shared__ float tile[256]; "
      "if (threadIdx.x @) tile[threadIdx.x] = a[0]; __syncthreads(); b[i] = tile[threadIdx.x];",
      "> 2", ">= 0", "tile", None, None),
    P("shared_of_last_block", engine.UninitialisedRead, "__shared__ float tile[32]; "
      "if (blockIdx.x == 0 || @) tile[threadIdx.x] = a[0]; __syncthreads(); "
      "b[i] = tile[threadIdx.x];", "n < 0", "n > 0", "tile", None, None, (1, 0, 0),
      threads=(32,)),
    # The compiler knows that these hold 0: their reads must not be removed.
    P("shared_never_written", engine.UninitialisedRead, "__shared__ float tile[256]; @ "
      "b[i] = tile[threadIdx.x];", "", "tile[threadIdx.x] = i;", "tile", 0),
    P("shared_number_never_written", engine.UninitialisedRead, "__shared__ int limit; @ "
      "__syncthreads(); if (threadIdx.x < limit) b[i] = 1;", "",
      "if (threadIdx.x == 0) limit = 3;", "limit", 0, None),
    P("shared_rows_never_written", engine.UninitialisedRead, "__shared__ double rows[8][32]; @ "
      "__syncthreads(); double sum = 0; for (int j = 0; j < 8; j++) "
      "sum += rows[j][threadIdx.x % 32]; b[i] = sum;", "",
      "rows[threadIdx.x / 32][threadIdx.x % 32] = 1;", "rows", None, None),
    P("shared_vectors_never_written", engine.UninitialisedRead, "__shared__ float4 tile[256]; @ "
      "b[i] = tile[threadIdx.x].y;", "", "tile[threadIdx.x] = make_float4(1, 2, 3, 4);", "tile"),
    P("shared_pairs_never_written", engine.UninitialisedRead, "struct Pair { int a, b; }; "
      "__shared__ Pair pairs[256]; @ b[i] = pairs[threadIdx.x].b;", "",
      "pairs[threadIdx.x] = {1, 2};", "pairs", None),
    P("dynamic_unwritten", engine.UninitialisedRead, "extern __shared__ float dynamic[]; "
      "if (threadIdx.x < @) dynamic[threadIdx.x] = a[0]; __syncthreads(); "
      "b[i] = threadIdx.x == 253 ? dynamic[threadIdx.x] : 0;", "250", "256", "dynamic", 253,
      (253, 0, 0), shared=1024),
    P("byte_unwritten", engine.UninitialisedRead, "unsigned char* bytes = (unsigned char*)b; "
      "if (i == 0) { for (int j = 0; j < @; j++) bytes[j] = 1; counts[0] = bytes[3]; }",
      "3", "4", "b", 3),
    # ---- races within a block
    P("no_barrier", engine.Race, "__shared__ float tile[256]; tile[threadIdx.x] = a[0]; @ "
      "b[i] = tile[threadIdx.x ? threadIdx.x - 1 : 0];", "", "__syncthreads();",
      "tile", 0, (1, 0, 0)),
    P("no_barrier_reader_first", engine.Race, "__shared__ float tile[256]; "
      "tile[threadIdx.x] = a[0]; @ b[i] = tile[255 - threadIdx.x];", "", "__syncthreads();",
      "tile", 128, (128, 0, 0)),
    P("same_word", engine.Race, "__shared__ float tile[256]; tile[threadIdx.x @] = threadIdx.x; "
      "__syncthreads(); if (threadIdx.x == 0) b[i] = tile[0];", "* 0", "",
      "tile", 0, (1, 0, 0)),
    P("reduction", engine.Race, "__shared__ float sum[256]; sum[threadIdx.x] = 1; "
      "__syncthreads(); for (int s = 128; s; s /= 2) { "
      "if (threadIdx.x < s) sum[threadIdx.x] += sum[threadIdx.x + s]; @ }",
      "", "__syncthreads();", "sum", None, None),
    P("next_round", engine.Race, "__shared__ float tile[256]; float sum = 0; "
      "for (int j = 0; j < 3; j++) { tile[threadIdx.x] = a[j]; __syncthreads(); "
      "sum += tile[(threadIdx.x + 1) % 256]; @ } b[i] = sum;", "", "__syncthreads();",
      "tile", None, None),
    P("counter_reset", engine.Race, "__shared__ int count; if (threadIdx.x == 0) count = 0; @ "
      "atomicAdd(&count, 1);", "", "__syncthreads();", "count", 0, (1, 0, 0)),
    P("shared_histogram", engine.Race, "__shared__ int bins[8]; if (threadIdx.x < 8) "
      "bins[threadIdx.x] = 0; __syncthreads(); @;", "bins[threadIdx.x % 8]++",
      "atomicAdd(&bins[threadIdx.x % 8], 1)", "bins", None, None),
    P("read_of_atomic", engine.Race, "__shared__ int count; if (threadIdx.x == 0) count = 0; "
      "__syncthreads(); atomicAdd(&count, 1); @ b[i] = count;", "", "__syncthreads();",
      "count", 0, None),
    P("shift_in_place", engine.Race, "float next = blockIdx.x == 0 && threadIdx.x < 255 "
      "? a[i + 1] : 0; @ if (blockIdx.x == 0) a[i] = next;", "", "__syncthreads();",
      "a", 1, (1, 0, 0)),
    P("no_syncwarp", engine.Race, "__shared__ volatile float v[64]; int t = threadIdx.x; "
      "v[t] = t; v[t + 32] = 0; @ "
      "for (int s = 16; s; s /= 2) { float x = v[t + s]; @ v[t] += x; @ }", "",
      "__syncwarp();", "v", None, None, threads=(32,)),
    P("bytes", engine.Race, "__shared__ unsigned char c[256]; c[threadIdx.x @] = threadIdx.x; "
      "__syncthreads(); if (threadIdx.x == 0) b[i] = c[0];", "/ 2", "",
      "c", 0, (1, 0, 0)),
    # ---- races between blocks
    P("blocks_count", engine.Race, "if (threadIdx.x == 0) @;", "counts[0] += 1",
      "atomicAdd(&counts[0], 1)", "counts", 0, (0, 0, 0), None),
    P("blocks_mixed", engine.Race, "if (threadIdx.x == 0) { atomicAdd(&counts[0], 1); @ }",
      "b[blockIdx.x] = counts[0];", "b[blockIdx.x] = atomicAdd(&counts[0], 0);", "counts", 0,
      (0, 0, 0), None),
    P("blocks_store", engine.Race, "@;", "counts[threadIdx.x] = blockIdx.x",
      "atomicExch(&counts[threadIdx.x], blockIdx.x)", "counts", None, None, None, threads=(64,)),
    P("blocks_neighbour", engine.Race, "if (i < n) a[i] = @;", "a[(i + 1) % n]", "a[i] + 1",
      "a", None, None, None, threads=(1,), grid=(1000,)),
    P("blocks_variable", engine.Race, "if (threadIdx.x == 0) @;", "$++", "atomicAdd(&$, 1)", "$",
      0, (0, 0, 0), None, outside="__device__ int $;"),
    P("last_block", engine.Race, "__shared__ bool last; if (threadIdx.x == 0) { "
      "b[blockIdx.x] = 1; @ last = atomicAdd(&counts[0], 1) == gridDim.x - 1; } "
      "__syncthreads(); if (last && threadIdx.x == 0) { float s = 0; "
      "for (int j = 0; j < gridDim.x; j++) s += b[j]; a[0] = s; }", "", "__threadfence();",
      "b", None, (0, 0, 0), None, threads=(32,)),
    # ---- barriers
    P("two_barriers", engine.BarrierFault, "if (threadIdx.x < @) {\n __syncthreads();\n } "
      "else {\n __syncthreads();\n }", "130", "128", thread=(130, 0, 0), says="another one"),
    P("two_on_a_line", engine.BarrierFault, "if (threadIdx.x % 64 < @) __syncthreads(); "
      "else __syncthreads();", "16", "32", thread=(16, 0, 0), says="another one"),
    P("barrier_in_branch", engine.BarrierFault, "if (threadIdx.x % @ == 0) __syncthreads(); "
      "__syncthreads();", "2", "1", thread=(1, 0, 0)),
    P("loop_count", engine.BarrierFault, "for (int j = 0; j < @; j++) __syncthreads(); "
      "__syncthreads();", "threadIdx.x % 3", "3", thread=(1, 0, 0)),
    P("absent_source", engine.BarrierFault, "if (threadIdx.x < 20) "
      "b[i] = __shfl_down_sync(0xfffff, 1.0f, @);", "16", "1, 4", thread=(4, 0, 0),
      says="takes no part"),
    P("lane_left", engine.BarrierFault, "if (threadIdx.x == @) return; "
      "b[i] = __shfl_down_sync(0xffffffffu, 1.0f, 1);", "5", "500", thread=(4, 0, 0),
      says="takes no part"),
    P("not_in_mask", engine.BarrierFault, "if (threadIdx.x < 32) "
      "counts[threadIdx.x] = __ballot_sync(@, 1);", "0xffff", "0xffffffffu",
      thread=(16, 0, 0), grid=(1,)),
    P("warp_against_block", engine.BarrierFault, "if (threadIdx.x < @) __syncwarp(); "
      "else __syncthreads();", "16", "32", thread=(0, 0, 0), threads=(32,)),
    # ---- the rest
    P("recursion", engine.StackOverflow, "counts[0] = $_f(n);", "+ 1", "- 1", grid=(1,),
      threads=(1,), outside="__device__ __noinline__ int $_f(int d) "
      "{ volatile int here = d; return d < 1 ? 0 : here * $_f(here @) % 7 + here; }"),
    P("big_array", engine.StackOverflow, "volatile char big[@]; "
      "for (int j = 0; j < n; j++) big[j * 4] = 1; if (i == 0) counts[0] = big[8];", "1000000",
      "10000"),
    P("divide", engine.IntegerDivisionByZero, "if (i < n) b[i] = n / (i - @);", "100", "1000",
      thread=(100, 0, 0)),
    P("modulo", engine.IntegerDivisionByZero, "if (i < n) b[i] = n % (unsigned)(i + @);", "0",
      "1"),
    P("divide_long", engine.IntegerDivisionByZero, "if (i < n) b[i] = 1000ll / (i - @);", "300",
      "1000", thread=(44, 0, 0), block=(1, 0, 0)),
    *OVERFLOWS,
    P("assertion", engine.AssertionFault, "assert(i < @);", "500", "5000",
      thread=(244, 0, 0), block=(1, 0, 0), says="i < 500"),
    P("trap", engine.KernelSignal, "if (i == @) __trap();", "3", "-1", thread=(3, 0, 0)),
]
BY_NAME = {row.name: row for row in TABLE}


def all_kernels() -> str:
    """All kernels of the table, bad and good, in one source."""
    return "".join(
        row.source(prefix, filling)
        for row in TABLE
        for prefix, filling in (("bad", row.bad), ("good", row.good))
    )


@pytest.fixture(scope="module")
def module(compiler: str) -> engine.Module:
    return engine.compile(all_kernels(), name="planted.cu")


def run(module: engine.Module, row: Planted, prefix: str) -> None:
    allocations = [
        array(np.arange(1000, dtype=np.float32), "a"),
        engine.allocate(4096, "b", itemsize=4),
        array(np.zeros(64, np.int32), "counts"),
    ]
    arguments = [*pack(*allocations), np.int32(1000).tobytes()]
    host = np.ones(1000, np.float32)
    replaced = row.arguments.get("a") if prefix == "bad" else None
    if replaced == "freed":
        gone = array(host, "gone")
        gone.free()
        arguments[0] = pack(gone)[0]
    elif replaced == "host":
        arguments[0] = np.uint64(host.ctypes.data).tobytes()
    elif replaced is not None:
        arguments[0] = np.uint64(replaced).tobytes()
    try:
        kernel = module.kernel(f"{prefix}_{row.name}")
        kernel.launch(row.grid, row.threads, arguments, row.shared, time_limit=30)
    finally:
        for allocation in allocations:
            allocation.free()


@pytest.mark.parametrize("name", list(BY_NAME))
def test_planted_fault(module: engine.Module, name: str) -> None:
    row = BY_NAME[name]
    with pytest.raises(row.fault) as caught:
        run(module, row, "bad")
    fault = caught.value
    assert type(fault) is row.fault, str(fault)
    assert fault.kernel == f"bad_{name}"
    if row.array is not None:
        assert fault.array == row.array.replace("$", f"bad_{name}_v"), str(fault)
    if row.index is not None:
        assert fault.index == row.index, str(fault)
    if row.thread is not None:
        assert fault.thread == row.thread, str(fault)
    if row.block is not None:
        assert fault.block == row.block, str(fault)
    assert row.says in str(fault)
    if fault.line is not None:
        assert fault.file == "planted.cu"
        first = 1 + module.source[: module.source.index(f"bad_{name}(")].count("\n")
        assert 0 <= fault.line - first <= 7 or row.fault is engine.StackOverflow, str(fault)
    else:
        assert row.fault is engine.BarrierFault, str(fault)


@pytest.mark.parametrize("name", list(BY_NAME))
def test_repaired_twin_is_clean(module: engine.Module, name: str) -> None:
    run(module, BY_NAME[name], "good")


@dataclass
class Correct:
    """A correct kernel that looks like a faulty one; it gets what the planted ones get."""

    body: str
    outside: str = ""
    threads: int = 256
    grid: int = 4


CORRECT = {
    "a flag that many threads set": Correct("if (a[i % n] > 10) counts[0] = 1;"),
    "one number in shared memory, stored by all": Correct(
        "__shared__ int all; all = n; __syncthreads(); if (i < n) b[i] = all;"),
    "a store of what is there": Correct(
        "counts[1] = 5; if (i < n) b[i] = 1; counts[1] = 5;"),
    "bytes that many threads set": Correct("((char*)counts)[i % 7] = 3;"),
    "a value that many threads store in a structure": Correct(
        "((Pair*)counts)[i % 2] = Pair{1, 2};", "struct Pair { int first, second; };"),
    "the loop around atomicCAS": Correct(
        "unsigned long long* p = (unsigned long long*)counts; unsigned long long old = *p, assumed;"
        " do { assumed = old; old = atomicCAS(p, assumed, (unsigned long long)"
        "__double_as_longlong(1.0 + __longlong_as_double((long long)assumed))); } "
        "while (assumed != old);", grid=40),
    "the loop around atomicCAS in shared memory": Correct(
        "__shared__ unsigned int sum; if (threadIdx.x == 0) sum = 0; __syncthreads(); "
        "unsigned int old = sum, assumed; do { assumed = old; "
        "old = atomicCAS(&sum, assumed, assumed + 1); } while (assumed != old); "
        "__syncthreads(); if (threadIdx.x == 0) counts[blockIdx.x] = sum;"),
    "a read that decides on an atomic operation": Correct(
        "int v = -1 - i % 7; if (counts[3] > v) atomicMin(&counts[3], v);", grid=40),
    "an object with a virtual function in shared memory": Correct(
        "__shared__ __align__(8) char place[sizeof(Two)]; __shared__ One* one; "
        "if (threadIdx.x == 0) one = new (place) Two(i); __syncthreads(); "
        "if (i < n) b[i] = one->get();",
        "struct One { virtual int get() = 0; }; "
        "struct Two : One { int v; Two(int x) : v(x) {} virtual int get() { return v; } };"),
    "threads that leave before a barrier": Correct(
        "__shared__ int tile[256]; if (threadIdx.x >= 250) return; tile[threadIdx.x] = i; "
        "__syncthreads(); b[i % 1000] = tile[0] * 0;"),
    "two barriers, each reached by whole warps": Correct(
        "__shared__ int tile[256]; tile[threadIdx.x] = i; if (threadIdx.x / 32 % 2) {\n"
        "__syncthreads();\n} else {\n__syncthreads();\n} "
        "if (i < n) b[i] = tile[255 - threadIdx.x];"),
    "a barrier in a loop whose threads leave one by one": Correct(
        "for (int j = 0; j < threadIdx.x % 3; j++) __syncthreads();"),
    "a union of a vector and an array": Correct(
        "Both one; one.v = ((float4*)a)[i % 250]; Both other = one; b[i] = other.f[3];",
        "union Both { float4 v; float f[4]; };"),
    "a union that is assigned": Correct(
        "Both one, other; one.v = ((float4*)a)[i % 250]; other = one; b[i] = other.f[3];",
        "union Both { float4 v; float f[4]; };"),
    "a shared union, filled by a function": Correct(
        "__shared__ union { float4 v[256]; float f[1024]; } tile; tile.v[threadIdx.x] = "
        "of(a, i % 250); __syncthreads(); b[i] = tile.f[1023 - 4 * threadIdx.x];",
        "__device__ __noinline__ float4 of(float* a, int i) { return ((float4*)a)[i]; }"),
    "a shuffle within a part of the warp": Correct(
        "if (threadIdx.x % 32 < 16) b[i] = __shfl_xor_sync(0xffff, 1.0f, 8);"),
}


@pytest.mark.parametrize("name", CORRECT)
def test_correct_kernels_have_no_fault(compiler: str, name: str) -> None:
    kernel = CORRECT[name]
    module = engine.compile(
        f"{kernel.outside}\n__global__ void f(float* a, float* b, int* counts, int n) {{\n"
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x; (void)i;\n    {kernel.body}\n}}\n"
    )
    given = [
        array(np.arange(1000, dtype=np.float32), "a"),
        engine.allocate(4096, "b", itemsize=4),
        array(np.zeros(64, np.int32), "counts"),
    ]
    arguments = [*pack(*given), np.int32(1000).tobytes()]
    try:
        for _ in range(3):
            module.kernel("f").launch(
                (kernel.grid,), (kernel.threads,), arguments, time_limit=30)
    finally:
        for allocation in given:
            allocation.free()


def test_another_workers_atomic_operation_explains_a_read() -> None:
    module = engine.compile(
        "__global__ void f(int* counts) { int v = -1 - (blockIdx.x * blockDim.x + threadIdx.x) % 7;"
        " if (counts[3] > v) atomicMin(&counts[3], v); }")
    for _ in range(15):  # which worker comes first is chance
        counts = array(np.zeros(64, np.int32), "counts")
        try:
            for _ in range(3):
                module.kernel("f").launch((40,), (256,), pack(counts), time_limit=30)
        finally:
            counts.free()


@pytest.mark.parametrize("flag", ["atomicAdd(&state[p], 0)", "((volatile int*)state)[p]"])
def test_what_a_block_publishes_twice_is_no_race_for_who_looks_back(flag: str) -> None:
    """Each block waits for its predecessors: also where these publish while it asks."""
    module = engine.compile(
        "__global__ void f(int* sums, int* ends, int* state) {\n"
        "    if (threadIdx.x) return;\n"
        "    int t = atomicAdd(&state[200], 1), before = 0;\n"
        "    for (int k = 0; k < t * 7 % 90; k++) sums[t]++;\n"
        "    __threadfence();\n"
        "    atomicExch(&state[t], 1);\n"
        "    for (int p = t - 1; p >= 0;) {\n"
        f"        int s = {flag};\n"
        "        if (s == 0) continue;\n"
        "        __threadfence();\n"
        "        if (s == 2) { before += ends[p]; break; }\n"
        "        before += sums[p--];\n"
        "    }\n"
        "    for (int k = 0; k < t * 5 % 70; k++) ends[t] += before;\n"
        "    __threadfence();\n"
        "    atomicExch(&state[t], 2);\n"
        "}")
    for _ in range(100):  # who publishes when is chance
        arrays = [array(np.zeros(201, np.int32), name) for name in ("sums", "ends", "state")]
        try:
            module.kernel("f").launch((200,), (64,), pack(*arrays), time_limit=30)
        finally:
            for one in arrays:
                one.free()


def test_the_last_warp_of_a_sum_without_syncwarp_is_a_race(compiler: str) -> None:
    module = engine.compile(
        "__device__ void last_warp(volatile float* v, int t) {\n"
        "    v[t] += v[t + 32]; v[t] += v[t + 16]; v[t] += v[t + 8];\n}\n"
        "__global__ void f(float* x, float* sum) {\n    __shared__ float v[64];\n"
        "    int t = threadIdx.x; v[t] = x[t]; __syncthreads();\n"
        "    if (t < 32) last_warp(v, t);\n    if (t == 0) *sum = v[0];\n}\n"
    )
    x, out = array(np.arange(64, dtype=np.float32), "x"), array(np.zeros(1, np.float32), "sum")
    with pytest.raises(engine.Race):
        module.kernel("f").launch((1,), (64,), pack(x, out))
    x.free()
    out.free()


def test_a_structure_of_a_vector_and_numbers_is_passed_by_value(compiler: str) -> None:
    module = engine.compile(
        "struct Mixed { int4 a; char b; double c[2]; short1 d; };\n"
        "__global__ void f(Mixed m, double* sum) { *sum = m.a.w + m.b + m.c[1] + m.d.x; }"
    )
    mixed = np.zeros((), np.dtype({
        "names": ["a", "b", "c", "d"], "itemsize": 48, "offsets": [0, 16, 24, 40],
        "formats": [(np.int32, 4), np.int8, (np.float64, 2), np.int16]}))  # fmt: skip
    mixed["a"], mixed["b"], mixed["c"], mixed["d"] = (1, 2, 3, 4), 7, (0.5, 2.5), 9
    out = array(np.zeros(1), "out")
    module.kernel("f").launch((1,), (1,), [mixed.tobytes(), *pack(out)])
    assert read(out, np.float64)[0] == 22.5
    out.free()


def test_device_variable_overrun_through_a_pointer(compiler: str) -> None:
    module = engine.compile(
        "__device__ float table[16];\n"
        "__global__ void f(int n) { float* p = table; if (threadIdx.x < n) p[threadIdx.x] = 1; }"
    )
    module.kernel("f").launch((1,), (32,), [np.int32(16).tobytes()])
    with pytest.raises(engine.GlobalOutOfBounds) as caught:
        module.kernel("f").launch((1,), (32,), [np.int32(17).tobytes()])
    assert (caught.value.array, caught.value.index) == ("table", 16)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="arm64 divides without a trap")
@pytest.mark.parametrize("type", ["int", "long long"])
def test_without_checks_a_division_that_may_have_overflowed_says_so(
        compiler: str, type: str) -> None:
    module = engine.compile(f"""
    __global__ void divide({type}* x, {type} number, {type} by) {{ *x = number / by; }}""")
    kind = np.int32 if type == "int" else np.int64
    x = array(np.zeros(1, kind), "x")
    smallest = np.iinfo(kind).min
    for number, by, overflows in ((smallest, -1, True), (smallest, 0, True), (7, 0, False)):
        with engine.checks(False), pytest.raises(engine.IntegerDivisionByZero) as caught:
            module.kernel("divide").launch(
                (1,), (1,), pack(x, kind(number), kind(by)), time_limit=30)
        assert ("or by -1, which overflows" in str(caught.value)) == overflows
