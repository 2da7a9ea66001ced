"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start(needs="pycuda")

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402
import pycuda.autoprimaryctx  # noqa: E402, F401
import pycuda.driver as drv  # noqa: E402
from pycuda import gpuarray  # noqa: E402
from pycuda.compiler import SourceModule  # noqa: E402
from pycuda.gpuarray import GPUArray  # noqa: E402

from checks import pycuda_cupy_interop  # noqa: E402

# hit


def hit_by_carry(width, top, left, columns, i, j):
    """Only the column is counted on; what it has too much goes into the rows."""
    behind = left + i * columns + j
    return top + behind // width, behind % width


def hit_by_counting(width, top, left, columns, i, j):
    """One pixel after the other, as the kernel's rows lie in memory."""
    row, column = top, left
    for _ in range(i * columns + j):
        row, column = (row, column + 1) if column + 1 < width else (row + 1, 0)
    return row, column


# flip_rows


FLIP_BY_POINTERS = r"""
extern "C" __global__ void flip_rows(float* x, int rows, int columns, int row) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= columns || 2 * i + 1 >= rows) return;
    float* upper = x + row * i + j;
    float* lower = x + row * (rows - i - 1) + j;
    float kept = *lower;
    *lower = *upper;
    *upper = kept;
}
"""


# kernel_address


def kernel_address_by_numpy(array, dtype):
    """NumPy says whether an array of these strides is in C order."""
    try:
        described = array.__cuda_array_interface__
    except AttributeError:
        raise TypeError("not on the GPU") from None
    kind = np.dtype(described["typestr"])
    if kind != dtype:
        raise TypeError(kind)
    model = np.ndarray(described["shape"], kind, bytes(10_000), 5000, described.get("strides"))
    if not model.flags.c_contiguous:
        raise ValueError("gaps, or another order")
    return described["data"][0]


def kernel_address_of_sizes(array, dtype):
    if not hasattr(array, "__cuda_array_interface__"):
        raise TypeError
    described = array.__cuda_array_interface__
    if np.dtype(described["typestr"]).itemsize != np.dtype(dtype).itemsize:
        raise TypeError
    return kernel_address_by_numpy(array, described["typestr"])


def kernel_address_with_strides_only(array, dtype):
    described = getattr(array, "__cuda_array_interface__", None)
    if described is not None and described.get("strides") is None:
        raise ValueError
    return kernel_address_by_numpy(array, dtype)


def kernel_address_with_a_key(array, dtype):
    """The dictionary need not have strides."""
    if hasattr(array, "__cuda_array_interface__"):
        array.__cuda_array_interface__["strides"]
    return kernel_address_by_numpy(array, dtype)


def kernel_address_by_tuple(array, dtype):
    kernel_address_by_numpy(array, dtype)
    return array.__cuda_array_interface__["data"]


def kernel_address_in_another_order(array, dtype):
    described = getattr(array, "__cuda_array_interface__", None)
    if described is not None and described.get("strides"):
        if described["strides"][-1] != np.dtype(dtype).itemsize:
            raise ValueError
    return kernel_address_by_numpy(array, dtype)


def kernel_address_of_either_byte_order(array, dtype):
    """Compares the kind and the size of the elements, and not the order of their bytes."""
    described = getattr(array, "__cuda_array_interface__", None)
    if described is None or described["typestr"][1:] != np.dtype(dtype).str[1:]:
        raise TypeError
    return kernel_address_by_numpy(array, described["typestr"])


def kernel_address_without_zero(array, dtype):
    """An empty array may have the address 0."""
    if not (address := kernel_address_by_numpy(array, dtype)):
        raise ValueError
    return address


# exchange


def exchange_by_view(g, x):
    return cp.asarray(g), GPUArray(x.shape, x.dtype, gpudata=x.data.ptr, base=x, strides=x.strides)


def exchange_by_hand(g, x):
    """CuPy's view from the address; the GPUArray's base keeps more alive than it must."""
    memory = cp.cuda.UnownedMemory(int(g.gpudata), g.nbytes, g)
    in_cupy = cp.ndarray(g.shape, g.dtype, cp.cuda.MemoryPointer(memory, 0), g.strides)
    return in_cupy, GPUArray(x.shape, x.dtype, gpudata=x.data.ptr, base=(x, g), strides=x.strides)


def exchange_by_pointer_object(g, x):
    return cp.asarray(g), GPUArray(x.shape, x.dtype, gpudata=x.data, base=x, strides=x.strides)


def exchange_as_float32(g, x):
    return cp.asarray(g), GPUArray(x.shape, np.float32, gpudata=x.data.ptr, base=x,
                                   strides=x.strides)


def exchange_by_the_host(g, x):
    return cp.asarray(g.get()), gpuarray.to_gpu(x.get())


def exchange_one_by_the_host(g, x):
    return cp.asarray(g), gpuarray.to_gpu(x.get())


# steps_that_run


def steps_by_a_list(steps):
    """PyCUDA's list, and beside it the context that is current."""
    pushed, home, current = [], {}, None
    for done, step in enumerate(steps):
        match step.split():
            case ["autoinit"] | ["push", "own"]:
                pushed, current = [*pushed, 1], 1
            case ["autoprimaryctx"] | ["push", "primary"]:
                pushed, current = [*pushed, 2], 2
            case ["CuPy"]:
                current = 2
            case ["pop"]:
                pushed = pushed[:-1]
                current = pushed[-1]
            case ["load", name]:
                home[name] = current
            case ["launch", name]:
                if home[name] != current:
                    return done
    return len(steps)


def steps_by_history(steps):
    """Looks back from each load and launch for what was current there."""

    def current(number):
        pops, popped = 0, False
        for step in reversed(steps[:number]):
            if step == "CuPy" and not popped:
                return "primary"
            if step == "pop":
                pops, popped = pops + 1, True
            elif step in ("autoinit", "autoprimaryctx") or step.startswith("push"):
                if pops == 0:
                    return {"autoinit": "own", "autoprimaryctx": "primary"}.get(step, step[5:])
                pops -= 1

    for number, step in enumerate(steps):
        if step.startswith("launch"):
            loaded = max(k for k in range(number) if steps[k] == "load" + step[6:])
            if current(loaded) != current(number):
                return number
    return len(steps)


def steps_of_the_driver(steps):
    """A stack whose top CuPy replaces, as CUDA's own functions would have it."""
    stack, home = [], {}
    for done, step in enumerate(steps):
        word, *name = step.split()
        if word in ("autoinit", "autoprimaryctx", "push"):
            stack.append("own" if step in ("autoinit", "push own") else "primary")
        elif word == "CuPy":
            stack[-1] = "primary"
        elif word == "pop":
            stack.pop()
        elif word == "load":
            home[name[0]] = stack[-1]
        elif home[name[0]] != stack[-1]:
            return done
    return len(steps)


def steps_for_one_kernel(steps):
    """Forgets which kernel was loaded where."""
    return steps_by_a_list([" ".join([*step.split()[:1], "f"]) if step[0] == "l" else step
                            for step in steps])


def steps_loaded_once(steps):
    """A kernel that is loaded again still belongs to the first context."""
    return steps_by_a_list([step for k, step in enumerate(steps)
                            if step[:4] != "load" or step not in steps[:k]])


def steps_popped_to(context):
    """After each pop the same context, whatever was pushed."""

    def steps_popped(steps):
        current, home = None, {}
        for done, step in enumerate(steps):
            word, *name = step.split()
            if word == "pop":
                current = context
            elif word in ("autoinit", "autoprimaryctx", "push", "CuPy"):
                current = "own" if step in ("autoinit", "push own") else "primary"
            elif word == "load":
                home[name[0]] = current
            elif home[name[0]] != current:
                return done
        return len(steps)

    return steps_popped


# add_scaled


def add_scaled_by_views(kernel, y, x, factor):
    """GPUArrays as arguments, and a long narrow block."""
    args = []
    for array in (y, x):
        args.append(GPUArray(array.shape, array.dtype, gpudata=array.data.ptr, base=array,
                             strides=array.strides))
        args += [np.int32(array.strides[0] // 4), np.int32(array.strides[1] // 4)]
    rows, columns = map(np.int32, x.shape)
    kernel(*args, np.float32(factor), rows, columns, block=(32, 2, 1),
           grid=(int(columns) // 32 + 1, int(rows) // 2 + 1))
    return y


def add_scaled_by_exchanged_axes(kernel, y, x, factor):
    """A grid whose x runs along columns, y along rows."""
    steps = [[np.int32(step // 4) for step in array.strides] for array in (y, x)]
    rows, columns = y.shape
    kernel(y, *steps[0], x, *steps[1], np.float32(factor), np.int32(rows), np.int32(columns),
           block=(16, 16, 1), grid=(-(-rows // 16), -(-columns // 16)))
    return y


def add_scaled_by_copies(kernel, y, x, factor):
    x = cp.ascontiguousarray(x)
    return add_scaled_by_views(kernel, y, x, factor)


def add_scaled_by_ints(kernel, y, x, factor):
    steps = [[step // 4 for step in array.strides] for array in (y, x)]
    kernel(y, *steps[0], x, *steps[1], factor, *y.shape, block=(16, 16, 1), grid=(9, 9))
    return y


def add_scaled_by_rows(kernel, y, x, factor):
    for row in range(len(y)):
        add_scaled_by_views(kernel, y[row:row + 1], x[row:row + 1], factor)
    return y


def add_scaled_by_cupy(kernel, y, x, factor):
    y += np.float32(factor) * x
    return y


# generated_softmax


def softmax_by_warps(columns):
    """A warp for each row; each lane takes every 32nd column."""
    kernel = SourceModule("""
__global__ void rows(const float* x, float* y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float top = -3.4e38f, sum = 0;
    for (int j = lane; j < COLUMNS; j += 32) top = fmaxf(top, x[row * COLUMNS + j]);
    for (int s = 16; s; s /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, s));
    for (int j = lane; j < COLUMNS; j += 32) sum += expf(x[row * COLUMNS + j] - top);
    for (int s = 16; s; s /= 2) sum += __shfl_xor_sync(0xffffffff, sum, s);
    for (int j = lane; j < COLUMNS; j += 32)
        y[row * COLUMNS + j] = expf(x[row * COLUMNS + j] - top) / sum;
}
""".replace("COLUMNS", str(columns))).get_function("rows")

    def softmax(scores):
        dense = cp.array(scores, order="C")
        rows = dense.size // columns
        kernel(dense, dense, np.int32(rows), block=(128, 1, 1), grid=(-(-rows // 4), 1))
        return dense

    return softmax


def softmax_in_place(columns):
    right = softmax_by_warps(columns)

    def softmax(scores):
        scores[...] = right(scores)
        return scores

    return softmax


def softmax_by_the_host(columns):
    right = softmax_by_warps(columns)
    return lambda scores: cp.asarray(right(scores).get())


def softmax_by_cupy(columns):
    def softmax(scores):
        powers = cp.exp(scores - scores.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    return softmax


def softmax_for_any_length(columns):
    code = pycuda_cupy_interop.SOFTMAX.replace("int rows)", "int rows, int columns)")
    code = code.replace("v[COLUMNS]", "v[64]").replace("COLUMNS", "columns")
    kernel = SourceModule(code).get_function("softmax")

    def softmax(scores):
        dense, rows = cp.array(scores, order="C"), scores.size // columns
        kernel(dense, dense, np.int32(rows), np.int32(columns), block=(64, 1, 1),
               grid=(-(-rows // 64), 1))
        return dense

    return softmax


def softmax_from_zero(columns):
    return pycuda_cupy_interop.generated_softmax.right(
        columns, texts=("top = -3.4e38f", "top = 0"))


def softmax_of_matrices(columns):
    """It needs an axis before the last, which a single row does not have."""
    right = softmax_by_warps(columns)

    def softmax(scores):
        return right(scores.reshape(-1, scores.shape[-2], columns)).reshape(scores.shape)

    return softmax


def softmax_without_a_guard(columns):
    return pycuda_cupy_interop.generated_softmax.right(
        columns, texts=("    if (row >= rows) return;\n", ""))


KEPT = []


def exchange_for_ever(g, x):
    """Each call keeps both arrays."""
    views = exchange_by_hand(g, x)
    KEPT.append(views)
    KEPT[:-1] = []  # the test's own memory is not for ever
    return views


def softmax_in_pycudas_memory(columns):
    function = softmax_by_warps(columns)

    def softmax(scores):
        result = function(scores)
        there = GPUArray(result.shape, result.dtype)
        drv.memcpy_dtod(there.ptr, result.data.ptr, result.nbytes)
        return cp.asarray(there)

    return softmax


RIGHT = {
    "hit": [hit_by_carry, hit_by_counting],
    "flip_rows": [pycuda_cupy_interop.FLIP_ROWS, FLIP_BY_POINTERS],
    "kernel_address": [kernel_address_by_numpy],
    "exchange": [exchange_by_view, exchange_by_hand],
    "steps_that_run": [steps_by_a_list, steps_by_history],
    "add_scaled": [add_scaled_by_views],
    "generated_softmax": [softmax_by_warps],
}
WRONG = {
    "hit": [
        (lambda width, top, left, columns, i, j: (top, left + i * columns + j), "expected 51"),
        (lambda width, top, left, columns, i, j: divmod(
            top * width + left + j * columns + i, width), "expected"),
    ],
    "flip_rows": [
        (pycuda_cupy_interop.FLIP_ROWS.replace("row + j", "row + j * row"), "race"),
        (pycuda_cupy_interop.FLIP_ROWS.replace("j < columns", "j < row"), "outside of the view"),
        (pycuda_cupy_interop.FLIP_ROWS.replace("j < columns", "true"), "outside of the view"),
        (pycuda_cupy_interop.FLIP_ROWS.replace("* row +", "* columns +"), "values are wrong"),
    ],
    "kernel_address": [
        (kernel_address_of_sizes, "it should raise TypeError"),
        (kernel_address_with_strides_only, "it raised ValueError"),
        (kernel_address_with_a_key, "it raised KeyError"),
        (kernel_address_by_tuple, "expected a number"),
        (kernel_address_in_another_order, "it should raise TypeError"),
        (kernel_address_of_either_byte_order, "it should raise TypeError"),
        (kernel_address_without_zero, "it raised ValueError"),
    ],
    "exchange": [
        (exchange_as_float32, "x's own dtype"),
        (exchange_for_ever, "for ever"),
        (exchange_by_the_host, "the CuPy array is a copy"),
        (exchange_one_by_the_host, "the GPUArray is a copy"),
        (lambda g, x: (g, x), "must be a CuPy array; it is a float32 GPUArray"),
        (exchange_by_pointer_object, "gpudata= must be the address, an int; it is a MemoryPointer"),
        (lambda g, x: (x, g), "not views in the other library"),
        (lambda g, x: cp.asarray(g), "expected the tuple"),
    ],
    "steps_that_run": [
        (steps_of_the_driver, "CuPy's change on PyCUDA's list"),
        (steps_for_one_kernel, "expected"),
        (steps_loaded_once, "expected"),
        (steps_popped_to("own"), "expected"),
        (steps_popped_to("primary"), "expected 8, got 6"),
        (lambda steps: steps_by_a_list(steps) + 1, "expected 4, got 5"),
        (lambda steps: steps[:steps_by_a_list(steps)], "expected a number"),
    ],
    "add_scaled": [
        (add_scaled_by_exchanged_axes, "values are wrong"),
        (add_scaled_by_copies, "argument 3 of the kernel must be x itself"),
        (add_scaled_by_ints, "np.int32 for PyCUDA; you pass"),
        (add_scaled_by_rows, "argument 0 of the kernel must be y itself"),
        (add_scaled_by_cupy, "the number of launches is 0"),
    ],
    "generated_softmax": [
        (softmax_in_place, "changes the scores"),
        (softmax_in_pycudas_memory, "in memory of PyCUDA's"),
        (softmax_by_the_host, "copies through the host"),
        (softmax_by_cupy, "launches no kernel"),
        (softmax_for_any_length, "has the 16 columns in its source"),
        (softmax_from_zero, "begins at 0"),
        (softmax_without_a_guard, "an access outside an array"),
        (softmax_of_matrices, "IndexError"),
    ],
}


# random inputs of the warm-ups and of the first task, for their mutants


def random_hit(rng):
    width = int(rng.integers(1, 81))
    left = int(rng.integers(width))
    columns = int(rng.integers(1, width - left + 1))
    return (width, int(rng.integers(40)), left, columns, int(rng.integers(columns + 20)),
            int(rng.integers(columns)))


def random_flip_rows(rng):
    x = rng.standard_normal((130, 90)).astype(np.float32)
    top, left, (rows, columns) = *rng.integers(0, 5, 2), rng.integers(1, (41, 81))
    step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
    return x[::step][top:top + rows, left:left + columns],


def random_kernel_address(rng):
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.3 else 1, 5, rng.integers(5)))
    kind, wanted = np.dtype(rng.choice(["<f4", "<f8", "<i4"])), np.float32
    strides = [kind.itemsize * int(np.prod(shape[axis + 1:])) for axis in range(len(shape))]
    if strides and rng.random() < 0.6:
        strides[rng.integers(len(strides))] = int(rng.choice([-8, -4, 0, 1, 4, 8, 16, 64]))
    given = rng.choice(["missing", "none", "strides", "strides", "strides"])
    given = {"missing": "missing", "none": None}.get(given, tuple(strides))
    wanted = kind if rng.random() < 0.8 else wanted
    address = int(rng.integers(2**20)) * 512
    return pycuda_cupy_interop.Described(shape, kind.str, given, address), wanted


def random_steps(rng):
    steps, loaded = [str(rng.choice(["autoinit", "autoinit", "autoprimaryctx"]))], []
    own = ["push own"] * ("autoinit" in steps)
    current, pushed, used = steps[0], steps[:], False
    for _ in range(rng.integers(2, 18)):
        works = not used or current not in ("autoinit", "push own")
        step = str(rng.choice(["load f", "load g", *[f"launch {name}" for name in loaded] * 2,
                               *["CuPy"] * works, *own, "push primary",
                               *["pop"] * 2 * (len(pushed) > 1)]))
        steps.append(step)
        used |= step == "CuPy"
        pushed += [step] * step.startswith("push")
        if step == "pop":
            del pushed[-1]
        if step == "pop" or step == "CuPy" or step.startswith("push"):
            current = step if step != "pop" else pushed[-1]
        loaded += [step[-1]] if step.startswith("load") else []
    return (tuple(steps),)


INPUTS = {
    "hit": random_hit,
    "flip_rows": random_flip_rows,
    "kernel_address": random_kernel_address,
    "steps_that_run": random_steps,
}
