"""pycuda.compiler.SourceModule: sources, options, functions, variables, errors."""

import numpy as np
import pycuda.autoprimaryctx
import pycuda.driver as drv
from pycuda.compiler import SourceModule

CODE = r"""
__device__ float values[3];
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
__global__ void fill(int* x, int n) { int i = threadIdx.x; if (i < n) x[i] = N; }
"""


class Attempt:
    """Prints what an action gives, or the exception that it raises."""

    def __init__(self, action):
        try:
            print(action())
        except Exception as error:
            print(f"{type(error).__module__}.{type(error).__name__}: {error}")


def get_function():
    """A kernel needs no extern "C": SourceModule wraps the source in one."""
    f = SourceModule(CODE, options=["-DN=3"]).get_function("twice")
    x = np.arange(3, dtype=np.float32)
    print(type(f).__name__, type(f).__module__, f(drv.InOut(x), block=(3, 1, 1)), x)


def get_function_of_an_unknown_name():
    """An unknown kernel is a LogicError at once."""
    SourceModule(CODE, options=["-DN=3"]).get_function("no_such_kernel")


def get_global_of_an_unknown_name():
    """An unknown variable is a LogicError."""
    SourceModule(CODE, options=["-DN=3"]).get_global("no_such_variable")


def get_global():
    """get_global is a tuple of address and size."""
    found = SourceModule(CODE, options=["-DN=3"]).get_global("values")
    print(type(found).__name__, type(found[0]).__name__, found[1])


def get_texref():
    """Texture references are gone since CUDA 12: get_texref is there, or not, as recorded."""
    module = SourceModule(CODE, options=["-DN=3"])
    print(hasattr(module, "get_texref"), hasattr(module, "get_surfref"), hasattr(module, "module"))


def a_template_is_refused():
    """A template cannot be inside extern "C": CompileError."""
    SourceModule("template <typename T> __global__ void k(T* x) { x[0] = 1; }")


def no_extern_c():
    """With no_extern_c names are mangled: LogicError for the plain one."""
    module = SourceModule("__global__ void k(int* x) { x[0] = 1; }", no_extern_c=True)
    print(type(module.get_function("_Z1kPi")).__name__)
    module.get_function("k")


def no_extern_c_with_own_extern_c():
    """With no_extern_c templates work, and an own extern "C" names the kernel."""
    code = r"""
    template <typename T> __device__ T triple(T x) { return 3 * x; }
    extern "C" __global__ void k(int* x) { x[0] = triple(x[0]); }"""
    x = np.array([5], dtype=np.int32)
    SourceModule(code, no_extern_c=True).get_function("k")(drv.InOut(x), block=(1, 1, 1))
    print(x)


def template_kernel_by_its_mangled_name():
    """An instance that the source asks for is found by its mangled name."""
    code = r"""
    template <typename T> __global__ void set(T* x) { x[0] = (T)7; }
    template __global__ void set<int>(int*);"""
    x = np.zeros(1, dtype=np.int32)
    module = SourceModule(code, no_extern_c=True)
    module.get_function("_Z3setIiEvPT_")(drv.InOut(x), block=(1, 1, 1))
    print(x)


def extern_c_twice():
    """An own extern "C" inside SourceModule's is fine."""
    module = SourceModule('extern "C" { __global__ void k() {} }')
    print(type(module.get_function("k")).__name__)


def options():
    """Options are a list; a macro arrives."""
    x = np.zeros(4, dtype=np.int32)
    f = SourceModule(CODE, options=["-DN=8", "-O2", "--use_fast_math"]).get_function("fill")
    f(drv.InOut(x), np.int32(3), block=(4, 1, 1))
    print(x)


def options_in_a_tuple():
    """Options in a tuple are an AttributeError."""
    SourceModule(CODE, options=("-DN=3",))
    print("done")


def options_as_text():
    """Options as one text are an AttributeError."""
    SourceModule(CODE, options="-DN=3")


def a_bad_option():
    """An option that nvcc does not know is a CompileError."""
    try:
        SourceModule(CODE, options=["--no-such-option"])
    except drv.CompileError as error:
        print(type(error).__name__, type(error.stderr).__name__, len(str(error.stderr)) > 0)


def include_dirs():
    """include_dirs is a list of folders."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "seven.cuh").write_text("#define SEVEN 7\n")
        code = '#include "seven.cuh"\n__global__ void k(int* x) { x[0] = SEVEN; }'
        x = np.zeros(1, dtype=np.int32)
        k = SourceModule(code, include_dirs=[folder]).get_function("k")
        k(drv.InOut(x), block=(1, 1, 1))
    print(x)


def missing_header():
    """A header that is missing is a CompileError, from nvcc's preprocessing."""
    try:
        SourceModule('#include "no_such_header.cuh"\n__global__ void k() {}')
    except drv.CompileError as error:
        print(type(error).__name__, error.msg, type(error.command_line).__name__)


def standard_headers():
    """nvcc knows the C and C++ library: stdio, cmath, INFINITY, uint32_t."""
    code = r"""
    #include <stdio.h>
    #include <stdint.h>
    #include <cmath>
    extern "C" __global__ void k(float* x) { uint32_t n = 3; x[0] = n; x[1] = INFINITY; }"""
    x = np.zeros(2, dtype=np.float32)
    k = SourceModule(code, no_extern_c=True).get_function("k")
    k(drv.InOut(x), block=(1, 1, 1))
    print(x)


def standard_headers_inside_extern_c():
    """A header with templates inside SourceModule's extern "C" is no problem."""
    try:
        SourceModule("#include <cmath>\n__global__ void k(float* x) { x[0] = 1; }")
        print("done")
    except drv.CompileError as error:
        print(type(error).__name__)


def without_any_header():
    """nvcc's own header is always there: INFINITY, M_PI and printf without an include."""
    code = "__global__ void k(double* x) { x[0] = INFINITY; x[1] = M_PI; }"
    x = np.zeros(2)
    SourceModule(code).get_function("k")(drv.InOut(x), block=(1, 1, 1))
    print(x)


def compile_error():
    """A mistake is a CompileError at once, with msg, command_line, stdout and stderr."""
    try:
        SourceModule("__global__ void k() { oops }")
    except drv.CompileError as error:
        print(type(error).__module__, type(error).__name__, error.msg)
        print(error.command_line[0], "--cubin" in error.command_line, error.command_line[-1])
        print(repr(error.stdout), "oops" in error.stderr, type(error.stderr).__name__)
        lines = str(error).splitlines()
        print(lines[0], lines[1][:15], lines[2], lines[-1], error.args == ())


def compile_error_names_the_line():
    """Lines are counted with the extern "C" line that SourceModule adds."""
    try:
        SourceModule("\n\n__global__ void k() { oops }")
    except drv.CompileError as error:
        print([part for part in error.stderr.split() if part.startswith("kernel.cu")][:1])


def uncaught_compile_error():
    """The exception as it is shown: CompileError."""
    SourceModule("__global__ void k() { oops }")


def too_much_shared_memory():
    """More than 48 KB of static shared memory is a CompileError."""
    body = "__shared__ int s[20000]; s[x[0]] = 1; x[0] = s[x[1]];"
    SourceModule("__global__ void k(int* x) { " + body + " }")


def empty_source():
    """An empty source compiles; it has no kernel: LogicError."""
    module = SourceModule("")
    print(type(module).__name__)
    module.get_function("k")


def source_that_is_no_text():
    """A source that is no text is taken for its text, None: CompileError."""
    try:
        SourceModule(None)
    except Exception as error:
        print(type(error).__name__)


def unknown_keyword():
    """An unknown keyword is a TypeError."""
    SourceModule(CODE, opts=[])


def missing_nvcc():
    """An nvcc that is not there is an error of pytools: ExecError, or as recorded."""
    try:
        SourceModule("__global__ void a_new_kernel() {}", nvcc="/no/such/nvcc")
    except Exception as error:
        print(type(error).__module__, type(error).__name__, isinstance(error, drv.Error))


def arch():
    """arch names an architecture; one that is unknown is a CompileError."""
    SourceModule("__global__ void k() {}", arch="sm_1")


def dynamic_parallelism_module():
    """DynamicSourceModule and other names of the compiler module are there."""
    import pycuda.compiler

    print([hasattr(pycuda.compiler, n) for n in (
        "compile", "compile_plain", "preprocess_source", "get_nvcc_version", "DEFAULT_NVCC_FLAGS",
        "DynamicModule", "DynamicSourceModule", "CudaModule", "_find_nvidia_libcudart")])
    print(pycuda.compiler.DEFAULT_NVCC_FLAGS)


def compile_gives_a_cubin():
    """compiler.compile gives bytes that module_from_buffer loads."""
    from pycuda.compiler import compile

    cubin = compile("__global__ void k(int* x) { x[0] = 4; }")
    x = np.zeros(1, dtype=np.int32)
    drv.module_from_buffer(cubin).get_function("k")(drv.InOut(x), block=(1, 1, 1))
    print(type(cubin).__name__, x)


def module_from_nonsense():
    """module_from_buffer of something else is a LogicError."""
    drv.module_from_buffer(b"this is no cubin")


def module_from_a_missing_file():
    """module_from_file of a missing file is a LogicError or RuntimeError."""
    drv.module_from_file("/no/such/kernel.cubin")


def module_from_a_file():
    """module_from_file loads a cubin; its kernels are found by name."""
    import tempfile
    from pathlib import Path

    from pycuda.compiler import compile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "k.cubin").write_bytes(compile("__global__ void k() {}"))
        module = drv.module_from_file(str(Path(folder, "k.cubin")))
    print(type(module).__name__, type(module.get_function("k")).__name__)


def function_attributes():
    """A function knows its registers, its shared and local memory, its largest block."""
    code = r"""__global__ void k(float* x) {
        __shared__ float s[64];
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        x[threadIdx.x] = s[63 - threadIdx.x];
    }"""
    f = SourceModule(code).get_function("k")
    print(f.shared_size_bytes, f.local_size_bytes, f.num_regs > 0, f.max_threads_per_block)
    print(f.get_attribute(drv.function_attribute.SHARED_SIZE_BYTES), f.const_size_bytes)


def function_attribute_that_is_missing():
    """An unknown attribute of a function is an AttributeError."""
    SourceModule("__global__ void k() {}").get_function("k").flux_capacity


def launch_bounds():
    """__launch_bounds__ limits the block: a larger one is a LaunchError or LogicError."""
    f = SourceModule("__global__ void __launch_bounds__(64) k() {}").get_function("k")
    print(f.max_threads_per_block)
    f(block=(128, 1, 1))


def cache_config():
    """set_cache_config and set_shared_config exist on functions."""
    f = SourceModule("__global__ void k() {}").get_function("k")
    print(f.set_cache_config(drv.func_cache.PREFER_SHARED))


def the_same_source_twice():
    """Two SourceModules of one source are two modules."""
    a, b = (SourceModule("__global__ void k() {}") for _ in range(2))
    print(a is b, a.get_function("k") == b.get_function("k"))


def keep_alive():
    """A function keeps its module alive."""
    f = SourceModule("__global__ void k(int* x) { x[0] = 3; }").get_function("k")
    x = np.zeros(1, dtype=np.int32)
    f(drv.InOut(x), block=(1, 1, 1))
    print(x)
