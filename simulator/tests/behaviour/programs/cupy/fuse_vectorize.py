"""cupy.fuse, cupy.vectorize and cupyx.jit: kernels written in Python."""

import cupy as cp
import numpy as np


def fuse():
    """A fused function gives what its expression gives."""
    @cp.fuse()
    def f(x, y):
        return (x - y) * (x - y)

    print(f(cp.arange(3.0), cp.ones(3)), f(cp.arange(3.0), 1))


def fuse_without_parentheses():
    """@cp.fuse without parentheses works, too."""
    @cp.fuse
    def f(x):
        return cp.sqrt(x) + 1

    print(f(cp.array([4.0, 9.0])), type(f).__name__)


def fuse_with_a_kernel_name():
    """kernel_name names the kernel."""
    @cp.fuse(kernel_name="mine")
    def f(x):
        return x * 2 + 1

    print(f(cp.arange(3)))


def fuse_with_a_reduction():
    """One reduction may stand in it."""
    @cp.fuse()
    def f(x, y):
        return cp.sum(x * y)

    print(f(cp.arange(3.0), cp.arange(3.0)))


def fuse_of_a_lambda():
    """A lambda's name is no identifier: for a reduction it is a CompileException."""
    f = cp.fuse(lambda x: cp.sum(x * x))
    print(f(cp.arange(3.0)))


def fuse_on_numpy():
    """Called with NumPy arrays only, the Python function itself runs."""
    @cp.fuse()
    def f(x):
        return x * 2 + 1

    print(type(f(np.arange(3))).__module__, f(3))


def fuse_with_both():
    """NumPy and device arrays together are an AssertionError or a TypeError."""
    @cp.fuse()
    def f(x, y):
        return x + y

    f(cp.arange(3), np.arange(3))


def fuse_with_where():
    """cp.where does it."""
    @cp.fuse()
    def f(x):
        return cp.where(x > 1, x, -x)

    print(f(cp.arange(4)))


def fuse_with_matmul():
    """@ cannot be fused: TypeError."""
    @cp.fuse()
    def f(x, y):
        return x @ y

    f(cp.eye(2), cp.eye(2))


def fuse_with_reshape():
    """reshape cannot be fused: AttributeError."""
    @cp.fuse()
    def f(x):
        return x.reshape(-1)

    f(cp.eye(2))


def fuse_with_a_list():
    """A list is a TypeError."""
    @cp.fuse()
    def f(x, y):
        return x + y

    f(cp.arange(3), [1, 2, 3])


def fuse_with_a_keyword():
    """Keyword arguments are a TypeError."""
    @cp.fuse()
    def f(x, y):
        return x + y

    f(cp.arange(3), y=cp.arange(3))


def fuse_with_an_elementwise_kernel():
    """An ElementwiseKernel inside is a TypeError."""
    kernel = cp.ElementwiseKernel("T x", "T z", "z = x + 1", "inside")

    @cp.fuse()
    def f(x):
        return kernel(x) * 2

    f(cp.arange(3))


def fuse_in_place():
    """In-place operations change the argument."""
    @cp.fuse()
    def f(x, y):
        x += y

    x = cp.zeros(3)
    print(f(x, cp.arange(3.0)), x)


def fuse_dtypes():
    """Types follow the array rules: a Python float does not widen float32."""
    @cp.fuse()
    def f(x):
        return x * 0.5 + 1

    print(f(cp.ones(2, "f4")).dtype, f(cp.ones(2, "i4")).dtype)


def fuse_of_two_results():
    """A tuple of results."""
    @cp.fuse()
    def f(x):
        return x + 1, x * 2

    print(f(cp.arange(3)))


def vectorize():
    """vectorize compiles the Python function, if included."""
    @cp.vectorize
    def f(x, y):
        if x > y:
            return x - y
        return x + y

    print(f(cp.array([1, 5]), cp.array([3, 3])), f(cp.arange(4.0), 1.5))


def vectorize_with_a_loop():
    """A for over range and local variables compile."""
    @cp.vectorize
    def power(x, n):
        result = x * 0 + 1
        for _ in range(n):
            result *= x
        return result

    print(power(cp.array([2, 3]), cp.array([3, 2])))


def vectorize_with_otypes():
    """otypes is a NotImplementedError at the call."""
    cp.vectorize(lambda x: x + 1, otypes=[cp.float32])(cp.arange(3))


def vectorize_with_signature():
    """signature is a NotImplementedError."""
    cp.vectorize(lambda x: x + 1, signature="()->()")


def vectorize_with_excluded():
    """excluded is a NotImplementedError."""
    cp.vectorize(lambda x: x + 1, excluded=[0])


def vectorize_with_a_string():
    """What cannot be compiled is an exception that names it (TypeError, NameError)."""
    @cp.vectorize
    def f(x):
        return str(x)

    f(cp.arange(3))


def jit_rawkernel():
    """cupyx.jit.rawkernel compiles a Python function as a raw kernel."""
    from cupyx import jit

    @jit.rawkernel()
    def copy(x, y, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        if i < n:
            y[i] = x[i]

    x, y = cp.arange(5), cp.zeros(5, dtype=cp.int64)
    copy((1,), (32,), (x, y, np.int32(5)))
    print(y)


def apply_along_axis():
    """apply_along_axis and piecewise exist."""
    print(cp.apply_along_axis(cp.sum, 1, cp.arange(6).reshape(2, 3)))
    x = cp.arange(-1.0, 2.0)
    print(cp.piecewise(x, [x < 0, x >= 0], [-1.0, 1.0]))
