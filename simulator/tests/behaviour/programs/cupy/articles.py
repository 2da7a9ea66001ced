"""Programs after two articles on CuPy that are often followed: CuPy used and misused."""

import cupy as cp
import numpy as np

MATMUL = r"""
extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
"""
PIECES = r"""
extern "C" __global__ void pieces(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[i] * (x[i] < 0 ? 0.5f : x[i] < 1 ? 2.0f : 0.1f);
}
"""
ARGUMENTS = "float32 x, float32 slope"
LEAKY = cp.ElementwiseKernel(ARGUMENTS, "float32 y", "y = x > 0 ? x : slope * x", "leaky")


def to_the_host_and_back():
    """asnumpy and asarray move an array between the two memories."""
    x = cp.asarray(np.array([1, 2, 3]))
    print(type(x), type(cp.asnumpy(x)), cp.asnumpy(x))


def the_tour_of_functions():
    """Sums, slices, products, inverses, transforms and random numbers."""
    x, a = cp.array([1, 2, 3]), cp.array([[1, 2], [3, 4]])
    print(x + cp.array([4, 5, 6]), x[:2], cp.dot(a, a + 4).tolist())
    print(cp.linalg.inv(a).round(6).tolist(), cp.fft.fft(x).round(6), cp.random.rand(3, 3).shape)


def an_elementwise_kernel_of_two_arrays():
    """A condition in an ElementwiseKernel, against NumPy's where."""
    operation = "if (x - 2 > y) { z = x * y; } else { z = x + y; }"
    kernel = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", operation, "choose")
    x, y = (cp.random.rand(2, 1000) * 8).astype(cp.float32)
    wanted = np.where(x.get() - 2 > y.get(), x.get() * y.get(), x.get() + y.get())
    print(np.allclose(kernel(x, y).get(), wanted), kernel(x, y).dtype)


def a_naive_matrix_product():
    """One thread an element: right for float32 arrays, in a grid with a block too many."""
    n = 70
    a, b = cp.random.rand(2, n, n).astype(cp.float32)
    c = cp.zeros_like(a)
    cp.RawKernel(MATMUL, "product")((n // 32 + 1, n // 32 + 1), (32, 32), (a, b, c, n))
    print(np.allclose(c.get(), a.get() @ b.get(), rtol=1e-4))


def the_same_product_of_float64_arrays():
    """float64 arrays behind float*: no error, and a wrong result."""
    n = 70
    a, b = cp.random.rand(2, n, n)
    c = cp.zeros_like(a)
    cp.RawKernel(MATMUL, "product")((n // 32 + 1, n // 32 + 1), (32, 32), (a, b, c, n))
    print(a.dtype, np.allclose(c.get(), a.get() @ b.get(), rtol=1e-4))


def leaky_relu():
    """An ElementwiseKernel takes a Python number and broadcasts."""
    x = cp.linspace(-5, 5, 1000, dtype=cp.float32)
    wanted = np.where(x.get() > 0, x.get(), np.float32(0.1) * x.get())
    print(np.allclose(LEAKY(x, 0.1).get(), wanted), LEAKY(x[:4, None], x[:3]).shape)


def leaky_relu_of_float64():
    """It does not promote, as a ufunc would: a float64 array is a TypeError."""
    LEAKY(cp.linspace(-5, 5, 10), 0.1)


def leaky_relu_is_no_ufunc():
    """It has no reduce: AttributeError."""
    print(isinstance(LEAKY, cp.ufunc))
    LEAKY.reduce(cp.ones(3, dtype=cp.float32))


def a_piecewise_raw_kernel():
    """A RawModule's kernel with a Python int for int n: right."""
    kernel = cp.RawModule(code=PIECES).get_function("pieces")
    x = cp.linspace(-2, 3, 10_000, dtype=cp.float32)
    y = cp.empty_like(x)
    kernel(((x.size + 255) // 256,), (256,), (x, y, x.size))
    h = x.get()
    wanted = np.where(h < 0, h * 0.5, np.where(h < 1, h * 2, h * 0.1))
    print(np.allclose(y.get(), wanted))


def a_raw_kernel_ignores_the_view():
    """A transposed array goes in as if it were not transposed: no error, wrong places."""
    kernel = cp.RawModule(code=PIECES).get_function("pieces")
    x = cp.arange(-3, 3, dtype=cp.float32).reshape(2, 3)
    y = cp.zeros((3, 2), dtype=cp.float32)
    kernel((1,), (32,), (x.T, y, 6))
    print(y.tolist(), (x.T * 0.5).tolist()[0])


def broadcasting():
    """A row and a matrix, a vector and the last axis of a tensor."""
    matrix, vector = cp.ones((512, 128), dtype=cp.float32), cp.linspace(1, 2, 128, dtype=cp.float32)
    tensor = cp.ones((32, 64, 128), dtype=cp.float32)
    print((matrix + vector).shape, (matrix + vector).dtype, (tensor * vector).shape)
    print(np.allclose((tensor * vector).get(), np.broadcast_to(vector.get(), (32, 64, 128))))


def indexing():
    """Pairs of indices, a mask, a block, centred columns, negatives set to zero."""
    data = cp.arange(1024 * 1024).reshape(1024, 1024)
    rows, columns = cp.array([10, 200, 400]), cp.array([5, 100, 800])
    x = cp.asarray(np.random.default_rng(1).normal(size=(200, 90)).astype(np.float32))
    print(data[rows, columns], data[100:200, 50:90].shape, (x > 0.5).sum() == x[x > 0.5].size)
    print(np.allclose((x - x.mean(axis=0)).mean(axis=0).get(), 0, atol=1e-6))
    x[x < 0] = 0
    print(x.min())


def an_index_too_far():
    """NumPy raises for an index array that leaves the axis; here it wraps around."""
    print(cp.array([10, 20, 30])[[1, 3]])
