"""Right answers besides the solution, and wrong ones that are no known mistake."""

from itertools import permutations

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from helpers.draw.layout import owner_of


def recipe_by_numpy(kind, rows, columns, itemsize):
    """From the view that NumPy makes of an array of bytes."""
    if kind not in ("transpose", "reverse", "toeplitz", "circulant"):
        raise ValueError(kind)
    if kind == "circulant" and rows != columns:
        raise ValueError("not square")
    buffer = np.zeros(2 * rows * columns + rows + columns, np.dtype(f"V{itemsize}"))
    if kind in ("transpose", "reverse"):
        table = buffer[:rows * columns].reshape(rows, columns)
        view = table.T if kind == "transpose" else table[::-1, ::-1]
    else:
        begin = columns - 1 if kind == "toeplitz" else rows
        view = as_strided(buffer[begin:], (rows, columns), (itemsize, -itemsize))
    offset = view.__array_interface__["data"][0] - buffer.__array_interface__["data"][0]
    return np.int64(offset), view.shape, view.strides


def safe_by_trying_corners(x, shape, strides):
    """From the addresses of all corners."""
    view = as_strided(x, shape, strides, writeable=False)
    start, stop = byte_bounds(owner_of(x))
    if view.size:
        corners = np.array(np.meshgrid(*[[0, n - 1] for n in shape], indexing="ij"))
        steps = np.array(strides, dtype=np.int64).reshape(-1, *[1] * len(shape))
        places = (corners * steps).sum(axis=0) + x.__array_interface__["data"][0]
        if places.min() < start or places.max() + x.itemsize > stop:
            raise ValueError("outside")
    return view


def safe_from_the_last_corner(x, shape, strides):
    """Wrong where strides of both signs reach farther in another corner."""
    start, stop = byte_bounds(owner_of(x))
    first = x.__array_interface__["data"][0]
    last = first + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if 0 not in shape and (min(first, last) < start or max(first, last) + x.itemsize > stop):
        raise ValueError("outside")
    return as_strided(x, shape, strides, writeable=False)


def safe_along_arrays_only(x, shape, strides):
    """Stops at the object that `as_strided` puts between a view and its array."""
    owner = x
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    first = x.__array_interface__["data"][0]
    start, stop = byte_bounds(owner)
    reach = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + x.itemsize
    if 0 not in shape and (first + low < start or first + high > stop):
        raise ValueError("outside")
    return as_strided(x, shape, strides, writeable=False)


def antidiagonals_by_skewed_target(x):
    """Write through a skewed view of the result."""
    rows, columns = x.shape
    result = np.zeros((rows, rows + columns - 1), x.dtype)
    down, right = result.strides
    as_strided(result, x.shape, (down + right, right))[...] = x
    return result


def antidiagonals_by_scatter(x):
    """Right, but its tables of indices are larger than the data."""
    rows, columns = x.shape
    result = np.zeros((rows, rows + columns - 1), x.dtype)
    i, j = np.indices(x.shape)
    result[i, i + j] = x
    return result


def antidiagonals_by_loop(x):
    return np.stack([np.pad(row, (i, len(x) - 1 - i)) for i, row in enumerate(x)])


def antidiagonals_padded_in_its_order(x):
    """Wrong for a transposed matrix: `np.pad` keeps Fortran order."""
    rows, columns = x.shape
    padded = np.pad(x, ((0, 0), (0, rows)))
    size = padded.itemsize
    return as_strided(padded, (rows, rows + columns - 1), ((rows + columns - 1) * size, size))


def antidiagonals_in_unset_memory(x):
    """Wrong: what lies beside the data is whatever the memory held before."""
    rows, columns = x.shape
    padded = np.empty((rows, rows + columns), x.dtype)
    padded[:, :columns] = x
    return padded.reshape(-1)[:-rows].reshape(rows, -1)


def antidiagonals_by_outer(x):
    """Right, without a loop, and with a table of every pair of columns in memory."""
    rows, columns = x.shape
    k = np.arange(rows + columns - 1)
    j = k - np.arange(rows)[:, None]
    hit = (j[:, :, None] == np.arange(columns))
    return (hit * x[:, None, :]).sum(axis=2, dtype=x.dtype)


def tiles_by_strides(x, height, width):
    rows, columns = x.shape
    if rows % height or columns % width:
        raise ValueError("no whole number of tiles")
    down, right = x.strides
    return as_strided(x, (rows // height, columns // width, height, width),
                      (down * height, right * width, down, right))


def tiles_of_windows(x, height, width):
    """Every tile is a window; the sizes are compared first."""
    if x.shape[0] % height or x.shape[1] % width:
        raise ValueError("no whole number of tiles")
    return sliding_window_view(x, (height, width))[::height, ::width]


def tiles_of_enough_elements(x, height, width):
    """Wrong where -1 finds a number of tile rows although no tile fits."""
    return x.reshape(-1, height, x.shape[1] // width, width).swapaxes(1, 2)


def tiles_copied(x, height, width):
    return tiles_by_strides(x, height, width).copy()


def tiles_in_place(x, height, width):
    view = tiles_by_strides(x, height, width)
    view += 1
    return view


def windowed_by_strides(a, b, width, hop=1):
    product = a @ b
    down, right = product.strides
    count = (b.shape[1] - width) // hop + 1 if hop > 0 else 0
    if count < 1 or width < 1:
        raise ValueError("no window")
    return as_strided(product, (count, len(a), width), (hop * right, down, right), writeable=False)


def windowed_by_einsum(a, b, width, hop=1):
    if hop < 1 or width < 1:
        raise ValueError("no window")
    product = np.einsum("ik,kj->ij", a, b)
    return sliding_window_view(product, (len(a), width))[0, ::hop]


def windowed_products(a, b, width, hop=1):
    """Right, with every shared column multiplied again and again."""
    if hop < 1 or width < 1:
        raise ValueError("no window")
    return a @ sliding_window_view(b, width, axis=1)[:, ::hop].swapaxes(0, 1)


def windowed_copied(a, b, width, hop=1):
    return windowed_by_einsum(a, b, width, hop).copy()


def windowed_in_a_loop(a, b, width, hop=1):
    """Column by column, then a view of the result."""
    product = np.empty((len(a), b.shape[1]), a.dtype)
    for j in range(b.shape[1]):
        product[:, j] = a @ b[:, j]
    return windowed_by_einsum(np.eye(len(a), dtype=a.dtype), product, width, hop)


def recover_by_sorting(values, buffer):
    """Find positions by binary search, strides as differences of whole axes."""
    order = np.argsort(buffer)
    places = order[np.minimum(np.searchsorted(buffer, values, sorter=order), len(buffer) - 1)]
    if not np.array_equal(buffer[places], values):
        raise ValueError("a value that is not in the buffer")
    strides = []
    for axis in range(values.ndim):
        steps = np.unique(np.diff(places, axis=axis))
        if len(steps) > 1:
            raise ValueError("uneven steps")
        strides.append(int(steps[0]) * buffer.itemsize if len(steps) else 0)
    return int(places.flat[0]) * buffer.itemsize, tuple(strides)


def recover_proved_along_the_edges(values, buffer):
    """Wrong inside: compares the first line along each axis, as if the rest had to follow."""
    place = {value: k for k, value in enumerate(buffer.tolist())}
    if not np.isin(values, buffer).all():
        raise ValueError("a value that is not in the buffer")
    strides = []
    for axis in range(values.ndim):
        edge = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)[:, 0]
        steps = np.diff([place[value] for value in edge.tolist()])
        if len(set(steps.tolist())) > 1:
            raise ValueError("uneven steps")
        strides.append(int(steps[0]) * buffer.itemsize if len(steps) else 0)
    return place[values.flat[0].item()] * buffer.itemsize, tuple(strides)


def recover_proved_at_the_end(values, buffer):
    """Compares only the last element with the buffer."""
    place = {value: k for k, value in enumerate(buffer.tolist())}
    if not np.isin(values, buffer).all():
        raise ValueError("a value that is not in the buffer")
    first, strides = place[values.flat[0].item()], []
    for axis, length in enumerate(values.shape):
        strides.append(place[values.take(min(1, length - 1), axis).flat[0].item()] - first)
    last = first + sum((n - 1) * stride for n, stride in zip(values.shape, strides))
    if last != place[values.flat[-1].item()]:
        raise ValueError("no view")
    return first * buffer.itemsize, tuple(stride * buffer.itemsize for stride in strides)


def backwards_by_hand(rows, columns, itemsize):
    """From the rules: a slice moves the offset, a reversal starts at the far end."""
    row = columns * itemsize
    return row + (columns - 1) * itemsize, (rows - 1, columns), (row, -itemsize)


def backwards_by_numpy(rows, columns, itemsize):
    view = np.zeros(rows * columns, f"S{itemsize}").reshape(rows, columns)[1:, ::-1]
    last = byte_bounds(view)[0] + (view.shape[1] - 1) * itemsize
    return last - byte_bounds(view.base)[0], view.shape, view.strides


def flattens_by_rule(shape, strides):
    return strides[0] == shape[1] * strides[1]


def flattens_by_numpy(shape, strides):
    """From `reshape` itself, on a buffer that is large enough for both directions."""
    x = as_strided(np.zeros(2000, np.int8)[1000:], shape, strides, writeable=False)
    return np.shares_memory(x, x.reshape(-1))


def flattens_by_steps(shape, strides):
    """Wrong: the next row begins after the last element of a row, not after its second."""
    places = [i * strides[0] + j * strides[1] for i in range(2) for j in range(2)]
    return len(set(np.diff(places))) == 1


def runs_by_sorting(shape, strides):
    order = sorted(range(len(shape)), key=lambda axis: abs(strides[axis]), reverse=True)
    count = 1
    for axis in order[:-1]:
        count *= shape[axis]
    return count, shape[order[-1]]


def runs_by_numpy(shape, strides):
    inner = np.flatnonzero(np.abs(strides) == np.abs(strides).min())[-1]
    return np.prod(np.delete(shape, inner), dtype=int), shape[inner]


def runs_of_the_longest(shape, strides):
    """Wrong: NumPy chooses by strides, not by lengths."""
    return int(np.prod(shape)) // max(shape), max(shape)


def long_runs_by_sorting(shape, strides):
    """A new order, by strides and then by lengths, only where it gains."""
    old = tuple(range(len(shape)))
    new = tuple(sorted(old, key=lambda axis: (-abs(strides[axis]), shape[axis])))
    return new if shape[new[-1]] > runs_by_sorting(shape, strides)[1] else old


def long_runs_by_trying(shape, strides):
    return max(permutations(range(len(shape))), key=lambda axes: runs_by_sorting(
        [shape[k] for k in axes], [strides[k] for k in axes])[1])


def long_runs_with_signs(shape, strides):
    """Wrong: takes a negative stride for the smallest."""
    return long_runs_by_sorting(shape, [stride - min(strides) + 1 for stride in strides])


RIGHT = {
    "flattens": [flattens_by_rule, flattens_by_numpy],
    "runs": [runs_by_sorting, runs_by_numpy],
    "long_runs": [long_runs_by_sorting, long_runs_by_trying],
    "backwards": [backwards_by_hand, backwards_by_numpy],
    "recipe": [recipe_by_numpy],
    "safe_as_strided": [safe_by_trying_corners],
    "antidiagonals": [antidiagonals_by_skewed_target],
    "tiles": [tiles_by_strides, tiles_of_windows],
    "windowed": [windowed_by_strides, windowed_by_einsum],
    "recover": [recover_by_sorting],
}

WRONG = {
    "flattens": [
        (flattens_by_steps, "shape=(3, 4)"),
        (lambda shape, strides: strides[0] % strides[1] == 0, "shape=(3, 2)"),
        (lambda shape, strides: strides[0] // strides[1] == shape[1], "strides=(36, 8)"),
    ],
    "runs": [
        (runs_of_the_longest, "value 0 of the tuple"),
        (lambda shape, strides: runs_by_sorting(shape, strides)[::-1], "value 0 of the tuple"),
    ],
    "long_runs": [
        (lambda shape, strides: (2, 3, 0, 1)[:len(shape)], "expected each axis from 0 to 2 once"),
        (lambda shape, strides: tuple(range(len(shape))), "expected 'runs of 504 numbers'"),
        (lambda shape, strides: long_runs_by_sorting(shape, strides)[::-1], "got 'runs of"),
        (long_runs_with_signs, "for shape=(5, 2, 6)"),
        (lambda shape, strides: len(shape) - 1, "expected a tuple of axes, got"),
    ],
    "backwards": [
        (lambda rows, columns, itemsize: (rows - 1, columns, columns * itemsize, -itemsize),
         "expected a tuple of 3 values, got a tuple of 4 values"),
        (lambda rows, columns, itemsize: ((2 * columns - 1) * itemsize, (rows - 1, columns),
                                          (-itemsize, columns * itemsize)), "value 2 of the tuple"),
        (lambda rows, columns, itemsize: ((rows * columns - 1) * itemsize, (rows - 1, columns),
                                          (columns * itemsize, -itemsize)),
         "value 0 of the tuple"),
    ],
    "recipe": [
        (lambda kind, rows, columns, itemsize: (0, (rows, columns), (10**6, itemsize)),
         "but the buffer's bytes are 0 to"),
        (lambda kind, rows, columns, itemsize: recipe_by_numpy(
            kind, max(rows, columns) if kind == "circulant" else rows, columns, itemsize),
         "it should raise ValueError"),
        (lambda kind, rows, columns, itemsize: [0, (rows, columns)],
         "expected the tuple (offset, shape, strides), got a list"),
        (lambda kind, rows, columns, itemsize: (0.0, (rows, columns), (8, 8)),
         "a whole number of bytes"),
        (lambda kind, rows, columns, itemsize: (0, (rows, columns), (8,)), "differ in length"),
        (lambda kind, rows, columns, itemsize: (0, (rows, -columns), (8, 8)), "negative entry"),
    ],
    "safe_as_strided": [
        (lambda x, shape, strides: safe_by_trying_corners(x, shape, strides).copy(), "is a copy"),
        (lambda x, shape, strides: None, "Is a `return` missing?"),
        (safe_from_the_last_corner, "should raise ValueError"),
        (safe_along_arrays_only, "it raised ValueError: outside"),
        (lambda x, shape, strides: as_strided(x, shape, strides), "got 'shape (9, 4), strides"),
        (lambda x, shape, strides: 1 / 0, "it raised ZeroDivisionError"),
    ],
    "antidiagonals": [
        (antidiagonals_by_loop, "it loops in Python"),
        (antidiagonals_by_scatter, "of new memory at once"),
        (antidiagonals_by_outer, "of new memory at once"),
        (antidiagonals_in_unset_memory, "values are wrong"),
        (antidiagonals_padded_in_its_order, "with strides (4, 28): 54 of 77 values are wrong"),
        (lambda x: antidiagonals_by_skewed_target(x).astype(np.float64), "expected dtype int64"),
    ],
    "tiles": [
        (tiles_of_enough_elements, "float32 (3, 4), height=2, width=3: it should raise ValueError"),
        (tiles_copied, "the result is a copy"),
        (tiles_in_place, "changed its argument in place"),
        (lambda x, height, width: tiles_by_strides(x, height, width).tolist(), "got a list"),
    ],
    "windowed": [
        (windowed_products, "of new memory at once"),
        (windowed_copied, "of new memory at once"),
        (windowed_in_a_loop, "it loops in Python"),
        (lambda a, b, width, hop=1: windowed_by_strides(a, b, width, hop).astype(np.float64),
         "expected dtype float32"),
    ],
    "recover": [
        (lambda values, buffer: 0, "expected the tuple (offset, strides)"),
        (recover_proved_at_the_end, "it should raise ValueError"),
        (recover_proved_along_the_edges, "it should raise ValueError"),
    ],
}


# One random input of a task: what mutants and solutions are compared on, thousands of times.


def random_recipe(rng):
    rows, columns = (int(n) for n in rng.integers(1, 7, 2))
    kind = str(rng.choice(["transpose", "reverse", "toeplitz", "circulant", "hankel"]))
    if kind == "circulant" and rng.random() < 0.8:
        columns = rows
    return kind, rows, columns, int(rng.choice([2, 4, 8]))


def random_view(rng, dimensions):
    """A view of an array: cropped, stepped over, turned round, transposed, repeated."""
    dtype = rng.choice([np.int16, np.int32, np.int64, np.float32, np.float64])
    view = rng.permutation(2 ** 12)[:int(np.prod(sizes := rng.integers(1, 9, dimensions)))]
    view = view.astype(dtype).reshape(sizes)
    for axis in range(dimensions):
        step = int(rng.choice([-3, -2, -1, 1, 1, 2]))
        part = [slice(None)] * dimensions
        part[axis] = slice(None, None, step)
        view = view[tuple(part)]
        part[axis] = slice(int(rng.integers(0, view.shape[axis])), None)
        view = view[tuple(part)]
    return view.transpose(rng.permutation(dimensions)) if rng.random() < 0.5 else view


def random_strided(rng):
    x = random_view(rng, int(rng.integers(1, 4)))
    axes = int(rng.integers(0, 4))
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.2 else 1, 5, axes))
    if rng.random() < 0.1:  # a shape and strides that do not match
        axes += 1
    strides = tuple(int(n) for n in rng.integers(-5, 6, axes) * x.itemsize
                    + (rng.random() < 0.2) * rng.integers(-3, 4, axes))
    if rng.random() < 0.2:  # a view of a view that `as_strided` made
        x = as_strided(x, x.shape, x.strides)
    return x, shape, strides


def random_tiles(rng):
    x, height, width = random_view(rng, 2), int(rng.integers(1, 5)), int(rng.integers(1, 5))
    if rng.random() < 0.7:
        x = np.tile(x, (height, width))
    return x, height, width


def random_windowed(rng):
    m, k, n = (int(size) for size in rng.integers(1, 9, 3))
    dtype = rng.choice([np.float32, np.float64, np.int64])
    a, b = (rng.integers(-9, 10, shape).astype(dtype) for shape in ((m, k), (k, n)))
    return a, b, int(rng.integers(-1, n + 2)), int(rng.integers(-1, 5))


def random_recover(rng):
    buffer = rng.permutation(200)[:int(rng.integers(12, 60))].astype(
        rng.choice([np.int32, np.int64, np.float32, np.float64]))
    if buffer.itemsize == 8 and rng.random() < 0.5:
        buffer += 2 ** 40  # each value close to the others
    axes = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(1, 5, axes))
    strides = rng.integers(-4, 5, axes)
    places = sum(i * s for i, s in zip(np.indices(shape), strides)) + np.zeros(shape, int)
    room = len(buffer) - 1 - int(places.max() - places.min())
    places += int(rng.integers(0, max(room, 0) + 1)) - places.min()  # without room it goes round
    values = buffer[places % len(buffer)].copy()
    if rng.random() < 0.3:
        values.flat[int(rng.integers(values.size))] = rng.choice([buffer[0], buffer[-1], 1000])
    return values, buffer


INPUTS = {
    "backwards": lambda rng: (*map(int, rng.integers(2, 60, 2)), int(rng.choice([1, 2, 4, 8]))),
    "flattens": lambda rng: (tuple(map(int, rng.integers(2, 7, 2))),
                             tuple(map(int, rng.integers(1, 7, 2) * rng.choice([-4, 4], 2)))),
    "runs": lambda rng: (tuple(map(int, rng.integers(2, 7, 4))),
                         tuple(map(int, rng.integers(1, 4, 4) * rng.choice([-8, 8], 4)))),
    "long_runs": lambda rng: (tuple(map(int, rng.integers(2, 7, 4))),
                              tuple(map(int, rng.integers(1, 4, 4) * rng.choice([-8, 8], 4)))),
    "recipe": random_recipe,
    "safe_as_strided": random_strided,
    "antidiagonals": lambda rng: (random_view(rng, 2),),
    "tiles": random_tiles,
    "windowed": random_windowed,
    "recover": random_recover,
}
