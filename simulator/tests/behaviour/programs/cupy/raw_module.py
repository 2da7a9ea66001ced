"""cupy.RawModule and the compiler behind it."""

import cupy as cp
import numpy as np

CODE = r"""
__constant__ float weights[4];
__device__ int counter = 5;

template <typename T> __device__ T twice(T x) { return x + x; }

template <typename T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; }

extern "C" __global__ void weigh(float* x) { x[threadIdx.x] *= weights[threadIdx.x]; }
extern "C" __global__ void count(int* out) { out[0] = twice(atomicAdd(&counter, 1)); }
"""


def get_function():
    """get_function gives a RawKernel."""
    kernel = cp.RawModule(code=CODE).get_function("count")
    out = cp.zeros(1, dtype=cp.int32)
    kernel((1,), (1,), (out,))
    print(type(kernel).__name__, kernel.name, out)


def get_function_of_an_unknown_name():
    """An unknown kernel is a CUDADriverError, at get_function or at the launch."""
    kernel = cp.RawModule(code=CODE).get_function("no_such_kernel")
    print("made")
    kernel((1,), (1,), ())


def templates():
    """name_expressions instantiate templates; the expression is the name."""
    module = cp.RawModule(code=CODE, name_expressions=["scale<float, 3>", "scale<int, -2>"])
    x, y = cp.ones(2, dtype=cp.float32), cp.arange(2, dtype=cp.int32)
    module.get_function("scale<float, 3>")((1,), (2,), (x,))
    module.get_function("scale<int, -2>")((1,), (2,), (y,))
    print(x, y)


def template_that_was_not_named():
    """An instance that name_expressions lacks is a CUDADriverError or a ValueError."""
    module = cp.RawModule(code=CODE, name_expressions=["scale<float, 3>"])
    module.get_function("scale<double, 3>")((1,), (1,), (cp.ones(1),))


def template_that_cannot_be_instantiated():
    """A name expression that does not compile is a CompileException."""
    cp.RawModule(code=CODE, name_expressions=["scale<no_such_type, 3>"]).compile()


def name_expression_by_another_spelling():
    """The name must be spelled as in name_expressions; blanks count: CUDADriverError."""
    module = cp.RawModule(code=CODE, name_expressions=["scale<float, 3>"])
    module.get_function("scale<float,3>")((1,), (1,), (cp.ones(1, dtype=cp.float32),))


def get_global():
    """get_global gives a pointer to constant or device memory."""
    module = cp.RawModule(code=CODE)
    pointer = module.get_global("weights")
    weights = cp.ndarray((4,), dtype=cp.float32, memptr=pointer)
    weights[:] = cp.array([1, 2, 3, 4], dtype=cp.float32)
    x = cp.ones(4, dtype=cp.float32)
    module.get_function("weigh")((1,), (4,), (x,))
    print(type(pointer).__name__, pointer.mem.size, x)


def get_global_by_copy():
    """A NumPy array can be copied to constant memory by copy_from."""
    module = cp.RawModule(code=CODE)
    host = np.array([2, 4, 6, 8], dtype=np.float32)
    module.get_global("weights").copy_from(host.ctypes.data, host.nbytes)
    x = cp.ones(4, dtype=cp.float32)
    module.get_function("weigh")((1,), (4,), (x,))
    print(x)


def device_variables_keep_their_value():
    """A __device__ variable lives as long as the module."""
    module = cp.RawModule(code=CODE + "// of its own")
    out = cp.zeros(1, dtype=cp.int32)
    for _ in range(3):
        module.get_function("count")((1,), (1,), (out,))
        print(out[0])
    print(cp.ndarray((), cp.int32, memptr=module.get_global("counter")))


def get_global_of_an_unknown_name():
    """An unknown variable is a CUDADriverError."""
    cp.RawModule(code=CODE).get_global("no_such_variable")


def constant_memory_size():
    """const_size_bytes of a kernel includes the module's constants, or not, as recorded."""
    print(cp.RawModule(code=CODE).get_function("weigh").const_size_bytes)


def neither_code_nor_path():
    """Without code and path: TypeError."""
    cp.RawModule()


def code_by_position():
    """code is keyword only: TypeError."""
    cp.RawModule(CODE)


def code_and_path():
    """Both code and path: TypeError."""
    cp.RawModule(code=CODE, path="kernels.cubin")


def path_that_is_missing():
    """A missing file is an error at the first use: CUDADriverError."""
    cp.RawModule(path="/no/such/kernels.cubin").get_function("k")


def name_expressions_need_code():
    """name_expressions with a path is a ValueError."""
    cp.RawModule(path="kernels.cubin", name_expressions=["k"])


def options_in_a_list():
    """options must be a tuple: TypeError."""
    cp.RawModule(code=CODE, options=["-O3"])


def unknown_backend():
    """A backend other than nvrtc and nvcc is a ValueError."""
    cp.RawModule(code=CODE, backend="clang").compile()


def compile_is_lazy():
    """A module with a mistake can be made; it fails when it is used: CompileException."""
    module = cp.RawModule(code="__global__ void k() { oops }")
    print("made")
    module.get_function("k")


def two_kernels_share_a_module():
    """Kernels of one module see the same constants."""
    code = r"""
    __constant__ int value;
    extern "C" __global__ void a(int* out) { out[0] = value; }
    extern "C" __global__ void b(int* out) { out[1] = value + 1; }"""
    module, out = cp.RawModule(code=code), cp.zeros(2, dtype=cp.int32)
    cp.ndarray((), cp.int32, memptr=module.get_global("value"))[...] = 6
    module.get_function("a")((1,), (1,), (out,))
    module.get_function("b")((1,), (1,), (out,))
    print(out)


def compile_using_nvrtc():
    """compile_using_nvrtc gives an image and a mapping of names."""
    image, names = cp.cuda.compiler.compile_using_nvrtc(CODE, name_expressions=("scale<int, 2>",))
    print(type(image).__name__, len(image) > 100, type(names).__name__)


def compile_using_nvrtc_with_a_mistake():
    """It raises a CompileException, too."""
    cp.cuda.compiler.compile_using_nvrtc("__global__ void k() { oops }")


def module_of_an_image():
    """cupy.cuda.Module loads an image from memory and finds kernels by name."""
    image, _ = cp.cuda.compiler.compile_using_nvrtc(CODE)
    module = cp.cuda.Module()
    module.load(image)
    out = cp.zeros(1, dtype=cp.int32)
    module.get_function("count")((1,), (1,), (out,))
    print(out)
