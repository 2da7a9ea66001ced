"""Compilation: errors with the learner's lines, strictness, options, names, limits, the cache."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from engine_support import KNOWN, array, launch, pack, read

from nogpu import engine
from nogpu.engine import compiler as compiling
from nogpu.engine import options, source, symbols

ZERO = "__global__ void zero(int* x) { x[threadIdx.x] = 0; }"


def error_of(text: str, **more: object) -> str:
    with pytest.raises(engine.CompileError) as caught:
        engine.compile(text, **more)
    return str(caught.value)


@pytest.mark.parametrize("name", KNOWN)
def test_a_compiler_that_is_here_is_found(name: str) -> None:
    command, here = KNOWN[name]
    if not here:
        pytest.skip(f"{name} is not installed: nothing is tested with it")
    assert compiling.probe(command).is_zig == (name == "zig")


def test_errors_carry_the_learners_lines(compiler: str) -> None:
    text = "\n\n__global__ void f(float* x) {\n    x[0] = missing;\n}\n"
    message = error_of(text, name="mine.cu")
    assert "mine.cu:4:" in message and "missing" in message
    assert "nogpu" not in message and os.sep + "native" not in message


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("nvcuda::wmma::fragment<int> f;", "nvcuda"),
        ("x[0] = __viaddmax_s32(1, 2, 3);", "__viaddmax_s32"),
        ("x[0] = tex1Dfetch<int>(0, 0);", "tex1Dfetch"),
    ],
)
def test_what_the_simulator_lacks_is_named(compiler: str, body: str, name: str) -> None:
    message = error_of("__global__ void f(int* x) { " + body + " }")
    assert name in message and "nogpu lacks it" in message


@pytest.mark.parametrize("header", ["cuda_fp8.h", "thrust/sort.h", "cuda/atomic"])
def test_headers_that_the_simulator_lacks(header: str) -> None:
    text = f"#include <{header}>\n{ZERO}"
    assert f"{header}: nogpu lacks this header" in error_of(text)
    # nvcc has them for the host's code: there only what a kernel takes from one is missed.
    assert engine.compile(text, dialect="nvcc").kernel_names == ["zero"]
    used = f"#include <{header}>\n__global__ void f(__nv_fp8_e4m3* x) {{ x[0] = 1.0f; }}"
    assert f"{header}: nogpu lacks this header" in error_of(used, dialect="nvcc")


def test_members_that_nogpu_lacks_of_a_library_that_it_has(compiler: str) -> None:
    text = "namespace cub {}\n__global__ void f() { cub::BlockRadixSort<float, 128> s; }"
    assert "cub::BlockRadixSort: nogpu lacks it" in error_of(text)


def test_host_functions_may_use_the_runtime(compiler: str) -> None:
    text = """
    #include <new>
    struct Managed {
        void* operator new(size_t n) { void* p; cudaMallocManaged(&p, n); return p; }
        void operator delete(void* p) { cudaDeviceSynchronize(); cudaFree(p); }
    };
    struct Item : Managed { int value; };
    __global__ void f(Item* item) { item->value = 1; }"""
    assert engine.compile(text, dialect="nvcc").kernel_names == ["f"]
    with pytest.raises(engine.CompileError, match="cudaFree: .* nogpu lacks"):
        engine.compile("__global__ void f(int* x) { cudaFree(x); }", dialect="nvcc")


@pytest.mark.parametrize("name", ["__shfl_down", "__ballot"])
def test_what_cuda_has_removed_has_a_successor(name: str) -> None:
    message = error_of(f"__global__ void f(int* x) {{ x[0] = {name}(x[1], 1); }}")
    assert f"have {name}_sync in its place" in message


@pytest.mark.parametrize("declaration, refused", [
    ("__shared__ int n = 0;", True),
    ("__shared__ float a[2] = {1, 2};", True),
    ("__shared__ int n{0};", True),
    ("__shared__ Pair<N == 3, int> p;", False),
    ("__shared__ struct { int a = 3; } s;", False),
    ("__shared__ int tile[N == 3 ? 4 : 5]; int n = 0;", False),
    ("__shared__ union { int a; float b; } u;", False),
])  # fmt: skip
def test_shared_variables_have_no_initializer(declaration: str, refused: bool) -> None:
    text = (
        "template <bool B, class T> struct Pair { T a, b; };\ntemplate <int N> __global__ void f() "
        f"{{\n    {declaration}\n}}"
    )
    if refused:
        message = error_of(text, names=["f<3>"])
        assert ":3:" in message and "initializer not allowed for __shared__ variable" in message
    else:
        assert engine.compile(text, names=["f<3>"]).kernel("f<3>")


def test_a_vector_is_no_number(compiler: str) -> None:
    error_of("__global__ void f(float4* x) { float4 v = 1.0f; x[0] = v; }")
    engine.compile(
        "__global__ void f(float4* x, int2* y) { float4 v = {1.0f}; x[0] = v; x[1] = {1, 2, 3, 4};"
        " y[0] = int2{1, 2}; y[1] = make_int2(3, 4); }"
    )


def test_inline_ptx(compiler: str) -> None:
    text = '__global__ void f(int* x) { asm volatile("vote.sync.any.b32 %0, 1;" : "=r"(x[0])); }'
    assert "PTX" in error_of(text)


@pytest.mark.parametrize(
    "body",
    [
        'asm("add.f32 %0, %1, %2;" : "=f"(y[0]) : "f"(y[1]), "f"(y[2]));',
        'asm volatile("{ .reg .u32 r; mov.u32 r, %0; }" : : "r"(1));',
    ],
)
def test_inline_ptx_with_operands_that_the_processor_lacks(body: str) -> None:
    message = error_of("__global__ void f(float* y) { " + body + " }")
    assert "Inline PTX (asm): nogpu lacks it" in message


@pytest.mark.parametrize(
    "body",
    [
        "x[0] = INFINITY;",
        "x[0] = M_PI;",
        "uint32_t u = 1; x[0] = u;",
        "x[0] = std::max(1, 2);",
        "int n = x[0]; int v[n]; v[0] = 1; x[0] = v[0];",
        "x[0] = ({ 1; });",
        "throw 1;",
    ],
)
def test_nvrtc_is_strict(compiler: str, body: str) -> None:
    error_of("__global__ void f(int* x) { " + body + " }")


def test_nvrtc_has_no_c_headers(compiler: str) -> None:
    error_of("#include <stdio.h>\n" + ZERO)
    error_of("#include <cmath>\n" + ZERO)


def test_nvcc_is_laxer(compiler: str) -> None:
    body = "uint32_t u = 1; x[0] = u + (M_PI > 3) + (INFINITY > 1);"
    engine.compile("__global__ void f(int* x) { " + body + " }", dialect="nvcc")
    engine.compile(
        "#include <cmath>\n#include <stdio.h>\n#include <stdint.h>\n"
        "__global__ void f(float* x) { x[0] = std::sqrt(x[0]) + sin(1.0f) + max(1, 2) + "
        'fmaxf(1, x[0]) + abs(-1.5f) + __expf(1); printf("%f", x[0]); }',
        dialect="nvcc",
    )


def test_declared_but_not_defined() -> None:
    message = error_of("__device__ int g(int);\n__global__ void f(int* x) { x[0] = g(1); }")
    assert "g" in message and "not defined" in message


def test_options_define_and_include(tmp_path: Path, checked: bool) -> None:
    (tmp_path / "mine.cuh").write_text(
        "#pragma once\n__device__ int offset() { return 100; }\n"
        "#define KERNEL(name) __global__ void name(int* x) { x[0] = N + offset(); }\n"
    )
    text = '#include "mine.cuh"\nKERNEL(made_by_macro)\n'
    x = array(np.zeros(1, np.int32), "x")
    for number, given in [(4, ["-DN=4"]), (5, ["-D", "N=5"]), (6, ["--define-macro=N=6"])]:
        module = engine.compile(text, [*given, "-I", str(tmp_path), "--use_fast_math"])
        launch(module.kernel("made_by_macro"), (1,), (1,), x)
        assert read(x, np.int32)[0] == 100 + number
    # An included file that changed is compiled again.
    changed = (tmp_path / "mine.cuh").read_text().replace("100", "200")
    (tmp_path / "mine.cuh").write_text(changed)
    module = engine.compile(text, ["-DN=4", f"-I{tmp_path}"])
    launch(module.kernel("made_by_macro"), (1,), (1,), x)
    assert read(x, np.int32)[0] == 204


@pytest.mark.parametrize("dialect", ["nvrtc", "nvcc"])
@pytest.mark.parametrize("mark", ["cuda_runtime.h", "crt/mma.h"])
def test_a_toolkits_headers_come_after_the_engines(
    compiler: str, tmp_path: Path, mark: str, dialect: str
) -> None:
    for name in (mark, "mma.h", "cuda_fp16.h"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#error the toolkit's own header")
    (tmp_path / "mine.cuh").write_text("#define VALUE 7")
    text = (
        "#include <mma.h>\n#include <cuda_fp16.h>\n#include <mine.cuh>\n"
        "__global__ void f(int* x) { *x = VALUE; }"
    )
    x = array(np.zeros(1, np.int32), "x")
    module = engine.compile(text, [f"-I{tmp_path}"], dialect=dialect)
    launch(module.kernel("f"), (1,), (1,), x)
    assert read(x, np.int32)[0] == 7


@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20"])
def test_standards(compiler: str, standard: str, checked: bool) -> None:
    module = engine.compile(ZERO, [f"-std={standard}"])
    launch(module.kernel("zero"), (1,), (4,), array(np.ones(4, np.int32), "x"))
    if standard < "c++17":
        error_of("__global__ void f() { if constexpr (true) {} ; int [a, b] = 1; }",
                 options_given=["--std", standard])  # fmt: skip


@pytest.mark.parametrize("given", [["-frobnicate"], ["-std=c++98"], ["-D"], ["--gpu=x"]])
def test_unknown_options(given: list[str]) -> None:
    with pytest.raises(engine.OptionError):
        engine.compile(ZERO, given)


def test_ignored_options() -> None:
    given = ["-arch=sm_75", "--gpu-architecture", "compute_90", "-lineinfo", "-O3", "-w",
             "--maxrregcount=32", "-Xptxas", "-v"]  # fmt: skip
    assert options.parse(given) == options.Options()


def test_names() -> None:
    module = engine.compile(
        "template <class T> __global__ void t(T* x) { *x = 1; }\n" + ZERO, (), ["t<float>"]
    )
    assert module.kernel_names == ["zero", "t<float>"]
    with pytest.raises(engine.KernelNotFound, match=r"no kernel 'nil'.*zero, t<float>.*: t$"):
        module.kernel("nil")
    with pytest.raises(engine.KernelNotFound, match="no variable"):
        module.variable("zero")


def test_scan_of_source() -> None:
    found = source.scan(
        """
        // __global__ void comment();
        const char* s = "__global__ void string()";
        extern "C" { __global__ void __launch_bounds__(64 * 2, 4) a(int* x) { if (1) { } } }
        namespace n { namespace m { __global__ static void b(); } }
        template <typename T> __global__ void c(T x) {}
        static __device__ int v; struct S { static __device__ int f() { return 1; } };
        __global__ void d() { extern __shared__ __align__(16) float s[]; }
        #define MAKE(x) __global__ void x() {}
        """
    )
    assert [(k.name, k.is_template, k.launch_bounds) for k in found.kernels] == [
        ("a", False, "64 * 2"),
        ("n::m::b", False, ""),
        ("c", True, ""),
        ("d", False, ""),
    ]
    assert found.dynamic_shared == ["s"]
    assert len(found.static_at_namespace) == 1
    assert found.needs_preprocessor


CALLED = "float twice(float x) { return 2 * x; }"
KERNEL = 'extern "C" __global__ void k(float* x) { x[0] = twice(x[1]); }'


@pytest.mark.parametrize(
    ("before", "kernel", "refused"),
    [
        (CALLED, KERNEL, '__global__ function("k")'),
        ("static inline __host__ " + CALLED, KERNEL, '__global__ function("k")'),
        (CALLED, "__device__ float k(float x) { return twice(x); }", '__device__ function("k")'),
        ("__device__ " + CALLED, KERNEL, ""),
        ("__device__ float twice(float);\n" + CALLED, KERNEL, ""),
        ("#define HD __host__ __device__\nHD " + CALLED, KERNEL, ""),
        (f"#ifdef N\n#define twice(x) x\n#else\n{CALLED}\n#endif", KERNEL, ""),
        ("template <class T> T twice(T x) { return 2 * x; }", KERNEL, ""),
        (CALLED, KERNEL.replace("twice(", "s.twice("), ""),
        (CALLED, KERNEL.replace("twice(", "n::twice("), ""),
        (CALLED, "__host__ __device__ float k(float x) { return twice(x); }", ""),
        (CALLED, "template <class T> __device__ T k(T x) { return twice(x); }", ""),
        (CALLED, "float k(float x) { return twice(x); }", ""),
    ],
)
def test_calls_of_host_functions_are_found(before: str, kernel: str, refused: str) -> None:
    found = [what for _, what in source.scan(f"{before}\n{kernel}").host_calls]
    wanted = f'calling a __host__ function("twice") from a {refused} is not allowed'
    assert found == ([wanted] if refused else [])


def test_nvcc_refuses_a_kernel_that_calls_a_host_function() -> None:
    message = error_of(f"{CALLED}\n{KERNEL}", dialect="nvcc")
    assert message.startswith("kernel.cu:2:") and 'a __host__ function("twice")' in message


def test_nvrtc_compiles_host_functions_for_the_device_and_large_numbers(compiler: str) -> None:
    """CuPy gives NVRTC an option for the first; the second is a warning of CUDA's compilers."""
    kernel = KERNEL.replace(");", ") + (float)(18446744073709551615 / 9223372036854775808);", 1)
    x = array(np.array([0, 3], np.float32), "x")
    launch(engine.compile(f"{CALLED}\n{kernel}").kernel("k"), 1, 1, x)
    assert read(x, np.float32)[0] == 7


@pytest.mark.parametrize(
    ("mangled", "plain"),
    [
        ("tile", "tile"),
        ("_ZZ4tileILi16EEvPfE4rows", "rows"),
        ("_ZZ1kPfE4tile", "tile"),
        ("_ZZ1kPfE1s_0", "s"),
        ("_ZN2ns5valueE", "value"),
        ("_ZL5table", "table"),
    ],
)
def test_plain_names(mangled: str, plain: str) -> None:
    assert symbols.plain_name(mangled) == plain


# ---- limits of a launch --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grid", "block", "shared"),
    [
        ((0,), (1,), 0),
        ((1,), (1025,), 0),
        ((1,), (32, 33), 0),
        ((1,), (1, 1, 65), 0),
        ((1, 65536), (1,), 0),
        ((2**31,), (1,), 0),
        ((1,), (-1,), 0),
        ((1, 1, 1, 1), (1,), 0),
        ((1,), (1,), 49153),
        ((1,), (1,), -1),
    ],
)
def test_launches_that_a_device_refuses(grid: tuple, block: tuple, shared: int) -> None:
    x = array(np.ones(4, np.int32), "x")
    with pytest.raises(engine.InvalidLaunch):
        engine.compile(ZERO).kernel("zero").launch(grid, block, pack(x), shared)


def test_launch_bounds() -> None:
    text = "__global__ void __launch_bounds__(64) f() {}"
    kernel = engine.compile(text).kernel("f")
    kernel.launch((1,), (64,))
    with pytest.raises(engine.InvalidLaunch, match="launch_bounds"):
        kernel.launch((1,), (65,))


def test_shared_memory_limits(checked: bool) -> None:
    error = error_of("__global__ void f() { __shared__ volatile char s[49153]; s[0] = 1; }")
    assert "too much shared data (0xc001 bytes, 0xc000 max)" in error
    text = (
        "__global__ void f(int* x, int n) { __shared__ int a[1024]; extern __shared__ int b[]; "
        "for (int i = 0; i < 1024; i++) a[i] = i; for (int i = 0; i < n; i++) b[i] = i; "
        "*x = a[1023] + b[n - 1]; }"
    )
    kernel = engine.compile(text).kernel("f")
    x = array(np.zeros(1, np.int32), "x")
    assert kernel.static_shared == 4096 and kernel.max_dynamic_shared == 49152 - 4096
    most = engine.limits.SHARED_PER_BLOCK_OPTIN - 4096
    with pytest.raises(engine.InvalidLaunch, match="may have 45,056"):
        kernel.launch((1,), (1,), pack(x, np.int32(1)), 45_057)
    kernel.max_dynamic_shared = most
    kernel.launch((1,), (1,), pack(x, np.int32(most // 4)), most)
    assert read(x, np.int32)[0] == 1023 + most // 4 - 1
    if checked:
        with pytest.raises(engine.SharedOutOfBounds):
            kernel.launch((1,), (1,), pack(x, np.int32(most // 4)), most - 4)
    with pytest.raises(engine.InvalidLaunch, match="0 to 228352"):
        kernel.max_dynamic_shared = most + 1


def test_arguments_are_raw_bytes_by_position() -> None:
    text = (
        "__global__ void f(char a, double b, float c, double* out) "
        "{ out[0] = a; out[1] = b; out[2] = c; }"
    )
    kernel = engine.compile(text).kernel("f")
    out = array(np.zeros(3), "out")
    assert kernel.parameter_sizes == (1, 8, 4, 8)
    assert kernel.parameter_offsets == (0, 8, 16, 24)
    kernel.launch((1,), (1,), pack(np.int8(3), np.float64(2.5), np.float32(1.5), out))
    assert read(out, np.float64).tolist() == [3, 2.5, 1.5]
    packed = np.zeros(32, np.uint8)
    packed[0] = 7
    packed[8:16] = np.frombuffer(np.float64(-1).tobytes(), np.uint8)
    packed[16:20] = np.frombuffer(np.float32(9).tobytes(), np.uint8)
    packed[24:] = np.frombuffer(np.uint64(out.address).tobytes(), np.uint8)
    kernel.launch((1,), (1,), packed.tobytes())
    assert read(out, np.float64).tolist() == [7, -1, 9]
    # A double where a float is expected: its first four bytes, as on a GPU.
    kernel.launch((1,), (1,), pack(np.int8(3), np.float64(2.5), np.float64(1.5), out))
    assert read(out, np.float64)[2] == 0.0
    with pytest.raises(engine.InvalidLaunch, match="takes 4 arguments, and 3 were passed"):
        kernel.launch((1,), (1,), pack(np.int8(3), np.float64(2.5), np.float32(1.5)))


def test_checks_by_name() -> None:
    assert len(engine.active_checks()) == 9
    with engine.checks(race=False, barrier=False):
        assert "race" not in engine.active_checks() and len(engine.active_checks()) == 7
        with engine.checks(False, race=True):
            assert engine.active_checks() == ["race"]
        text = "__global__ void f(int* x) { *x += 1; if (threadIdx.x) __syncthreads(); }"
        x = array(np.zeros(1, np.int32), "x")
        engine.compile(text).kernel("f").launch((2,), (8,), pack(x))
    assert len(engine.active_checks()) == 9
    with pytest.raises(ValueError, match="no check is called 'speed'"):
        engine.checks(speed=True)


@pytest.mark.parametrize("name", ["global_bounds", "uninitialised", "misaligned", "division"])
def test_a_check_that_is_off_reports_nothing(name: str) -> None:
    bodies = {
        "global_bounds": "b[0] = a[1010];",  # behind a, before the next block of 512 bytes
        "uninitialised": "b[0] = a[1];",
        "misaligned": "b[0] = *(float*)((char*)b + 2);",
        "division": "b[1] = b[0];",
    }
    a, b = engine.allocate(4000, "a"), array(np.zeros(2, np.float32), "b")
    module = engine.compile("__global__ void f(float* a, float* b) { " + bodies[name] + " }")
    with engine.checks(**{name: False}):
        module.kernel("f").launch((1,), (1,), pack(a, b))
    if name != "division":
        with pytest.raises(engine.KernelFault):
            module.kernel("f").launch((1,), (1,), pack(a, b))


def test_a_kernel_behind_a_macro_of_several_lines(compiler: str) -> None:
    text = "#define C(x) do { \\\n x; \\\n} while (0)\n__global__ void f(int* x) { C(*x = 1); }"
    assert engine.compile(text).kernel_names == ["f"]


def test_alignas_stands_behind_shared_too(compiler: str) -> None:
    text = (
        "__global__ void f(long* x) { __shared__ char c; __shared__ alignas(64) float a[4]; "
        "__shared__ alignas(alignof(float4)) float b[4]; c = 1; a[0] = 1; b[0] = 2; "
        "x[0] = (long)a % 64; x[1] = (long)b % 16; x[2] = c + (int)a[0] + (int)b[0]; }"
    )
    out = array(np.full(3, -1), "out")
    engine.compile(text).kernel("f").launch((1,), (1,), pack(out))
    assert read(out, np.int64).tolist() == [0, 0, 4]
    out.free()


def test_placement_new(compiler: str) -> None:
    text = (
        "struct Pair { int a, b; __device__ Pair(int x) : a(x), b(x + 1) {} };\n"
        "__global__ void f(int* x) { __shared__ alignas(8) unsigned char room[sizeof(Pair)]; "
        "Pair* p = new (room) Pair(5); x[0] = p->a + p->b; }"
    )
    out = array(np.zeros(1, np.int32), "out")
    engine.compile(text).kernel("f").launch((1,), (1,), pack(out))
    assert read(out, np.int32)[0] == 11
    out.free()
