"""Inline PTX: what is translated gives what the same C++ gives, what is not is refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from engine_support import array, launch, read

from nogpu import engine
from nogpu.engine import ptx

N = 64
# An asm statement about x, y (int), u, v (unsigned), f, g (float), w (unsigned long long), and what
# the result must be, as C++.
INTEGERS = {
    'asm("mov.s32 %0, 7;" : "=r"(r));': "7",
    'asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));': "x + y",
    'asm("add.s32 %0, %0, 1;" : "+r"(x)); r = x;': "x + 1",
    'asm("sub.u32 %0, %1, -5;" : "=r"(r) : "r"(u));': "u + 5",
    'asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(3));': "x * y + 3",
    'asm("mul.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(u), "r"(v));': "__umulhi(u, v)",
    'asm("shr.s32 %0, %1, 3;" : "=r"(r) : "r"(-x));': "-x >> 3",
    'asm("shr.u32 %0, %1, 3;" : "=r"(r) : "r"(-x));': "(unsigned)-x >> 3",
    'asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(33));': "0",
    'asm("xor.b32 %0, %1, %2;\\n" : "=r"(r) : "r"(x), "r"(y));': "x ^ y",
    'asm("not.b32 %0, %1;" : "=r"(r) : "r"(x));': "~x",
    'asm("popc.b32 %0, %1;" : "=r"(r) : "r"(u));': "__popc(u)",
    'asm("clz.b32 %0, %1;" : "=r"(r) : "r"(u));': "__clz(u)",
    'asm("brev.b32 %0, %1;" : "=r"(r) : "r"(u));': "__brev(u)",
    'asm("min.s32 %0, %1, %2;" : "=r"(r) : "r"(-x), "r"(y));': "min(-x, y)",
    'asm("{ .reg .pred p;\\n setp.lt.s32 p, %1, %2;\\n selp.s32 %0, 1, 2, p; }" : "=r"(r) '
    ': "r"(x), "r"(y));': "x < y ? 1 : 2",
    'r = -1; asm("{ .reg .pred q; setp.ge.u32 q, %1, 9; @q mov.u32 %0, %1; @!q add.u32 %0, %1, 100;'
    '}" : "+r"(r) : "r"(u));': "u >= 9 ? u : u + 100",
    'asm("mov.u32 %0, %%laneid;" : "=r"(r));': "threadIdx.x % 32",
    'asm("mov.u32 %0, %tid.x;" : "=r"(r));': "threadIdx.x",
    'asm("mov.u32 %0, %%lanemask_lt;" : "=r"(r));': "(1u << threadIdx.x % 32) - 1",
    'asm("mov.b32 %0, %1;" : "=r"(r) : "f"(f));': "__float_as_int(f)",
    'asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(f));': "(int)f",
    'asm("cvt.rni.s32.f32 %0, %1;" : "=r"(r) : "f"(f));': "__float2int_rn(f)",
    'int lo; asm volatile("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(r) : "l"(w)); r += lo;':
        "(int)w + (int)(w >> 32)",
    'asm volatile("ld.global.cg.s32 %0, [%1 + 4];" : "=r"(r) : "l"(in));': "in[1]",
    'asm volatile("st.global.s32 [%0], %1;" :: "l"(out + 8), "r"(x) : "memory"); r = out[8];': "x",
    'asm volatile("bar.sync 0;"); asm volatile("membar.gl;"); r = 1;': "1",
}  # fmt: skip
FLOATS = {
    'asm("add.f32 %0, %1, %2 ;" : "=f"(s) : "f"(f), "f"(g));': "f + g",
    'asm("mul.rn.f32 %0, %1, 0f40000000;" : "=f"(s) : "f"(f));': "f * 2",
    'asm("fma.rn.f32 %0, %1, %2, %1;" : "=f"(s) : "f"(f), "f"(g));': "fmaf(f, g, f)",
    'asm("max.f32 %0, %1, %2;" : "=f"(s) : "f"(f), "f"(g));': "fmaxf(f, g)",
    'asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(s) : "f"(f));': "sqrtf(f)",
    'asm("cvt.rn.f32.s32 %0, %1;" : "=f"(s) : "r"(x));': "(float)x",
    'double d; asm("{ .reg .f64 t; cvt.f64.f32 t, %1; add.f64 %0, t, 0d3FF0000000000000; }" '
    ': "=d"(d) : "f"(f)); s = d;': "f + 1",
    'double d; asm("mov.b64 %0, {%1, %2};" : "=d"(d) : "r"(0), "r"(0x40080000)); s = d;': "3",
}  # fmt: skip


def kernel(statement: str, expected: str, kind: str, name: str) -> str:
    """A kernel that writes what the statement gives, and what it should."""
    result = {"int": "r", "float": "s"}[kind]
    return f"""__global__ void {name}(int* in, {kind}* found, {kind}* wanted) {{
        int x = in[threadIdx.x] + 3, y = 40 - x;
        unsigned u = x * 0x01234567u, v = u ^ 0x55555555u;
        float f = x * 1.625f, g = 20.0f - x;
        unsigned long long w = (unsigned long long)u << 32 | v;
        int* out = in + 64 + (threadIdx.x & 0);
        (void)y, (void)v, (void)g, (void)w, (void)out;
        wanted[threadIdx.x] = ({kind})({expected});
        {kind} {result} = 0;
        {{ {statement} }}
        found[threadIdx.x] = {result};
    }}
    """


@pytest.mark.parametrize("kind, table", [("int", INTEGERS), ("float", FLOATS)])
def test_what_is_translated_gives_what_cpp_gives(kind, table):
    names = [f"k{i}" for i in range(len(table))]
    source = "".join(kernel(*row, kind, name) for row, name in zip(table.items(), names))
    module = engine.compile(source, dialect="nvcc")
    dtype = {"int": np.int32, "float": np.float32}[kind]
    for row, name in zip(table, names):
        threads = 1 if "st.global" in row else N
        given = array(np.arange(2 * N, dtype=np.int32), "in")
        found, wanted = (array(np.zeros(N, dtype), what) for what in ("found", "wanted"))
        launch(module.kernel(name), 1, threads, given, found, wanted)
        assert read(found, dtype).tolist() == read(wanted, dtype).tolist(), row


def test_lines_stay_and_faults_name_them():
    source = """__global__ void k(int* x) {
        asm volatile("ld.global.s32 %0, [%1];"
                     : "=r"(x[0])
                     : "l"(x));
        x[9] = 1;
    }"""
    memory = array(np.zeros(4, np.int32), "x")
    with pytest.raises(engine.GlobalOutOfBounds, match=r"kernel.cu:5.*x\[9\]"):
        launch(engine.compile(source, dialect="nvcc").kernel("k"), 1, 1, memory)


def test_a_statement_in_a_macro_of_several_lines():
    source = """#define ADD(r, a, b) \\
        asm("add.s32 %0, %1, %2;" \\
            : "=r"(r) \\
            : "r"(a), "r"(b)); \\
        r += 1
    __global__ void k(int* x) { ADD(x[0], x[1], x[2]); }"""
    memory = array(np.array([0, 5, 7], np.int32), "x")
    launch(engine.compile(source, dialect="nvcc").kernel("k"), 1, 1, memory)
    assert read(memory, np.int32)[0] == 13


def test_what_is_not_translated_is_refused_by_its_instructions():
    source = """__global__ void k(float* x) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(1), "l"(x));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%0};" : "+f"(x[0]));
    }"""
    with pytest.raises(engine.CompileError, match="nogpu lacks cp.async.ca.*, mma.sync"):
        engine.compile(source)
    unused = source.replace("__global__", "inline __device__") + "__global__ void f(int* x) {}"
    engine.compile(unused)


@pytest.mark.parametrize(
    "text",
    [
        'asm("add.cc.u32 %0, %0, 1;" : "+r"(x));',
        'asm volatile("bar.sync 1, 64;");',
        'asm("mov.u32 %0, %%envreg0;" : "=r"(x));',
        'asm("add.u32 %0, %1, 1;" : "=r"(x));',
        'asm("add.u32 %0, t, 1;" : "=r"(x));',
        'asm("mov.u32 %[a], 1;" : [a] "=r"(x));',
        'asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "l"(p));',
    ],
)
def test_nothing_is_translated_by_half(text):
    assert ptx.translate(text)[0] == text and len(ptx.translate(text)[1]) == 1
