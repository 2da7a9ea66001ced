"""The tasks about strided views: how to make them, and which memory they reach."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from helpers.draw.layout import address, owner_of

from .machinery.task import (
    Case,
    Refusal,
    Task,
    Trial,
    describe_value,
    no_python_loop,
    peak_memory,
    require_tuple,
    require_type,
)

# backwards, a warm-up of the lesson: offset, shape and strides of x[1:, ::-1]


def _backwards(rows: int, columns: int, itemsize: int) -> tuple:
    x = np.empty((rows, columns), f"V{itemsize}")
    view = x[1:, ::-1]
    return address(view) - address(x), view.shape, view.strides


backwards = Task(
    "backwards", _backwards,
    cases=lambda: [(3, 4, 8), (5, 7, 4), (2, 9, 2), (6, 1, 8), (17, 33, 1)],
    mistakes=[
        ("a count of elements; strides and offset count bytes",
         lambda m, n, size: (2 * n - 1, (m - 1, n), (n, -1))),
        ("an offset where the second row begins; a reversed axis starts at its last element",
         lambda m, n, size: (n * size, (m - 1, n), (n * size, -size))),
        ("the offset behind the second row; its last element begins `itemsize` bytes before",
         lambda m, n, size: (2 * n * size, (m - 1, n), (n * size, -size))),
        ("x[:, ::-1], with the first row still in it",
         lambda m, n, size: ((n - 1) * size, (m, n), (n * size, -size))),
        ("x[1:], whose columns are not reversed",
         lambda m, n, size: (n * size, (m - 1, n), (n * size, size))),
    ],
)

# flattens, a warm-up of the lesson: whether a matrix becomes one row without a copy

flattens = Task(
    "flattens", lambda shape, strides: strides[0] == shape[1] * strides[1],
    cases=lambda: [((3, 4), (32, 8)), ((4, 3), (8, 32)), ((3, 2), (32, 8)), ((3, 2), (32, 16)),
                   ((3, 4), (-32, -8)), ((3, 4), (-32, 8)), ((5, 7), (7, 1)), ((2, 5), (8, 4)),
                   ((3, 3), (12, -4)), ((3, 4), (36, 8))],
    mistakes=[
        ("the number of rows; a row is as long as there are columns",
         lambda shape, strides: strides[0] == shape[0] * strides[1]),
        ("a test for C order of items of 8 bytes; a constant step is enough",
         lambda shape, strides: strides == (8 * shape[1], 8)),
        ("a test of sizes; both steps must also have the same direction",
         lambda shape, strides: abs(strides[0]) == shape[1] * abs(strides[1])),
    ],
)

# runs, a warm-up of the lesson: how many runs NumPy makes of a view, and of how many numbers


def _runs(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    inner = min(range(len(shape)), key=lambda axis: (abs(strides[axis]), -axis))
    return int(np.prod(shape)) // shape[inner], shape[inner]


runs = Task(
    "runs", _runs,
    cases=lambda: [((4, 3), (8, 32)), ((1192, 1528, 9, 9), (12288, 8, 12288, 8)),
                   ((9, 9, 1192, 1528), (12288, 8, 12288, 8)), ((5, 7), (-4, 64)),
                   ((6,), (24,)), ((2, 5, 3), (40, -1, 10)), ((5, 2, 6), (-8, 8, 16))],
    mistakes=[
        ("runs along the last axis; they go along the axis with the smallest stride",
         lambda shape, strides: (int(np.prod(shape[:-1])), shape[-1])),
        ("the first of equal strides; the last one is inside",
         lambda shape, strides: _runs(shape[::-1], strides[::-1])),
        ("a negative stride taken for a small one; its sign does not count",
         lambda shape, strides: _runs(shape, [s - min(strides) for s in strides])),
    ],
)

# long_runs: an order of the axes, compared by the runs that it leads to


def _run_length(order: object, case: Case) -> str:
    shape, strides = case
    require_type(order, tuple, "expected a tuple of axes, got")
    if sorted(order) != list(range(len(shape))):
        raise Refusal(f"expected each axis from 0 to {len(shape) - 1} once, got {order}.")
    length = _runs([shape[k] for k in order], [strides[k] for k in order])[1]
    if length == _runs(shape, strides)[1] and order != tuple(range(len(shape))):
        return f"runs of {length} numbers as before, from the new order {order}"
    return f"runs of {length} numbers"


long_runs = Task(
    "long_runs", lambda shape, strides: "runs of {} numbers".format(max(
        n for n, stride in zip(shape, strides) if abs(stride) == min(map(abs, strides)))),
    cases=lambda: [((592, 504, 9, 9), (4096, 8, 4096, 8)), ((9, 5, 7), (8, 8, 8)), ((6,), (24,)),
                   ((5, 2, 6), (-8, 8, 16)), ((3, 4), (-16, 8)), ((4, 3), (8, 32)),
                   ((3, 5, 8, 2), (12, 4, -4, 4)), ((7, 2, 6), (-3, 40, 3)), ((4, 5), (-8, 8))],
    read=_run_length,
    mistakes=[
        ("a new order also where the old one has the longest runs",
         lambda shape, strides: tuple(np.argsort(shape, kind="stable"))),
        ("an order by strides alone; among equal strides, the longest axis has to be last",
         lambda shape, strides: tuple(np.argsort([-abs(s) for s in strides], kind="stable"))),
        ("the longest axis at the end, which helps only if it has the smallest stride",
         lambda shape, strides: tuple(np.argsort(np.equal(shape, max(shape)), kind="stable"))),
    ],
)

# recipe: offset, shape and strides of a view on a 1-D buffer


def _recipe_buffer(case: Case) -> np.ndarray:
    kind, rows, columns, itemsize = case
    dtype = {2: np.int16, 4: np.int32, 8: np.int64}[itemsize]
    if kind == "toeplitz":
        return np.arange(rows + columns - 1, dtype=dtype) + 10
    if kind == "circulant":
        return np.tile(np.arange(rows, dtype=dtype) + 10, 2)
    return np.arange(rows * columns, dtype=dtype) + 10


def _recipe(kind: str, rows: int, columns: int, itemsize: int) -> np.ndarray:
    buffer = _recipe_buffer((kind, rows, columns, itemsize))
    if kind == "transpose":
        return buffer.reshape(rows, columns).T.copy()
    if kind == "reverse":
        return buffer.reshape(rows, columns)[::-1, ::-1].copy()
    if kind not in ("toeplitz", "circulant") or kind == "circulant" and rows != columns:
        raise ValueError(f"no recipe for kind {kind!r} of {rows} x {columns}")
    i, j = np.indices((rows, columns))
    return buffer[i - j + (columns - 1 if kind == "toeplitz" else rows)]


def rebuild(recipe: object, buffer: np.ndarray) -> np.ndarray:
    """The array that a recipe (offset, shape, strides) describes on a 1-D `buffer`, checked.

    Parameters
    ----------
    recipe : tuple
        Offset in bytes, shape in elements, strides in bytes.
    buffer : numpy.ndarray
        One-dimensional and contiguous.

    Raises
    ------
    Refusal
        When the recipe is not of that form, or reaches outside the buffer.
    """
    offset, shape, strides = require_tuple(recipe, "offset", "shape", "strides")
    if not isinstance(offset, (int, np.integer)):
        raise Refusal(f"the offset must be a whole number of bytes, got {describe_value(offset)}.")
    for what, numbers in (("shape", shape), ("strides", strides)):
        if not isinstance(numbers, tuple) or not all(
                isinstance(n, (int, np.integer)) for n in numbers):
            raise Refusal(f"the {what} must be a tuple of whole numbers, got {numbers!r}.")
    if len(shape) != len(strides):
        raise Refusal(f"shape {shape} and strides {strides} differ in length.")
    if any(n < 0 for n in shape):
        raise Refusal(f"shape {shape} has a negative entry.")
    first = offset + sum(min(0, (n - 1) * s) for n, s in zip(shape, strides))
    last = offset + sum(max(0, (n - 1) * s) for n, s in zip(shape, strides)) + buffer.itemsize
    if 0 not in shape and (first < 0 or last > buffer.nbytes):
        raise Refusal(f"recipe {recipe} reads bytes {first} to {last - 1}, but the buffer's bytes"
                      f" are 0 to {buffer.nbytes - 1}.")
    return np.ndarray(shape, buffer.dtype, buffer=buffer, offset=offset, strides=strides)


RECIPES = {
    "transpose": lambda m, n, s: (0, (n, m), (s, n * s)),
    "reverse": lambda m, n, s: ((m * n - 1) * s, (m, n), (-n * s, -s)),
    "toeplitz": lambda m, n, s: ((n - 1) * s, (m, n), (s, -s)),
    "circulant": lambda m, n, s: (m * s, (m, n), (s, -s)),
}


def _recipe_of(kind, rows, columns, itemsize, *, in_elements=False, **changed):
    """The right answer, but for the kinds in `changed`."""
    if kind not in RECIPES or kind == "circulant" and rows != columns:
        raise ValueError
    return (RECIPES | changed)[kind](rows, columns, 1 if in_elements else itemsize)


recipe = Task(
    "recipe", _recipe, right=_recipe_of,
    cases=lambda: [
        (kind, rows, columns, itemsize)
        for kind in ("transpose", "reverse", "toeplitz", "circulant")
        for rows, columns, itemsize in ((3, 5, 8), (4, 2, 2), (1, 3, 4))
    ] + [("circulant", 4, 4, 8), ("circulant", 5, 5, 2), ("hankel", 4, 4, 8)],
    read=lambda value, case: rebuild(value, _recipe_buffer(case)),
    mistakes=[
        ("strides counted in elements; they are in bytes", {"in_elements": True}),
        ("a transpose whose shape was swapped but not its strides",
         {"transpose": lambda m, n, s: (0, (n, m), (n * s, s))}),
        ("a transpose that steps over rows of the transposed array; the buffer's rows are"
         " `columns` long", {"transpose": lambda m, n, s: (0, (n, m), (s, m * s))}),
        ("a reverse that turns only one axis round",
         {"reverse": lambda m, n, s: ((m - 1) * n * s, (m, n), (-n * s, s))}),
        ("a reverse that begins at the end and steps forward: its strides must be negative",
         {"reverse": lambda m, n, s: ((m * n - 1) * s, (m, n), (n * s, s))}),
        ("a reverse that begins behind the last element, at rows * columns",
         {"reverse": lambda m, n, s: (m * n * s, (m, n), (-n * s, -s))}),
        ("a reverse of the transpose: its rows are `columns` long",
         {"reverse": lambda m, n, s: ((m * n - 1) * s, (m, n), (-s, -m * s))}),
        ("a Toeplitz matrix that begins at d[0], from where a negative stride leaves the buffer",
         {"toeplitz": lambda m, n, s: (0, (m, n), (s, -s))}),
        ("a Toeplitz matrix with d[i - j] where d[j - i] belongs, or the other way round",
         {"toeplitz": lambda m, n, s: ((m - 1) * s, (m, n), (-s, s))}),
        ("a Hankel matrix: constant along anti-diagonals, since both strides are positive",
         {"toeplitz": lambda m, n, s: (0, (m, n), (s, s))}),
        ("a circulant matrix whose first *row* is c; the first column must be c",
         {"circulant": lambda m, n, s: (m * s, (m, n), (-s, s))}),
    ],
)


# safe_as_strided: the view, or an error where it would reach outside the owner's memory


def _safe_as_strided(x, shape, strides):
    low, high = _reached_bytes(x, shape, strides)
    view = as_strided(x, shape, strides, writeable=False)  # raises for impossible shapes
    start, stop = byte_bounds(owner_of(x))
    if 0 not in shape and (low < start or high > stop):
        raise ValueError(f"bytes {low - start} to {high - start - 1} are outside the"
                         f" {stop - start} bytes of the owner")
    return _describe_view(view, x)


def _reached_bytes(x: np.ndarray, shape: tuple, strides: tuple) -> tuple[int, int]:
    steps = [(n - 1) * s for n, s in zip(shape, strides)]
    low = address(x) + sum(step for step in steps if step < 0)
    return low, address(x) + sum(step for step in steps if step > 0) + x.itemsize


def _describe_view(value: object, x: np.ndarray) -> str:
    """A view's metadata. No element is read, because a wrong view may point anywhere."""
    require_type(value, np.ndarray, "expected a view (a NumPy array), got")
    start, stop = byte_bounds(owner_of(x))
    if value.size and not start <= address(value) < stop:
        raise Refusal("the result is a copy; it must be a view of x.")
    return (f"shape {value.shape}, strides {value.strides}, {value.dtype}, beginning"
            f" {address(value) - address(x) if value.size else 0} bytes after x, "
            f"{'writeable' if value.flags.writeable else 'read-only'}")


def _strided_cases() -> list[Case]:
    x = np.arange(12, dtype=np.float32)
    table = np.arange(24, dtype=np.int64).reshape(4, 6)
    middle = table[1:3, 2:4]  # its owner reaches before and after it
    back, small = x[::-1], np.arange(8, dtype=np.uint8)
    # `as_strided` puts an object of its own between a view and its array; here twice.
    strided = as_strided(as_strided(x[2:], (6,), (4,))[1:], (2, 2), (8, 4))
    return [
        (x, (9, 4), (4, 4)), (x, (10, 4), (4, 4)),  # windows that just fit, and one too many
        (x, (12,), (4,)), (x, (13,), (4,)), (x, (12,), (5,)), (x, (12,), (-4,)),  # both ends
        (back, (12,), (-4,)),  # x itself has negative strides: this goes forward again
        (back, (12,), (4,)), (back, (3, 4), (-16, -4)), (middle, (2, 2), (48, 8)),
        (middle, (2, 4), (48, 8)), (middle, (4, 2), (48, 8)),  # leaves x, leaves the owner
        (middle, (2,), (-64,)), (middle, (2,), (-72,)),  # the owner's first element, one too far
        (x[5:5], (0, 3), (4, 400)), (x, (3, 0), (4000, 4)),  # no element, no byte
        (x, (1000, 2), (0, 4)),  # a stride of zero repeats and reaches no farther
        (x, (), ()), (x[11:], (2,), (4,)),
        # Before the front by both axes together, by neither alone.
        (x[5:], (2, 2), (-12, -12)), (x[5:], (2, 2), (-8, -12)),
        (x, (3, 4), (16,)), (x, (3,), (16, 4)),  # lengths differ
        # The first and the last element are inside, a corner is before x or behind it.
        (x[5:], (3, 3), (-12, 8)), (x[5:], (3, 3), (-8, 16)),
        (x[5:], (3, 3), (8, -12)), (x[5:], (3, 3), (-8, 8)),
        (table, (2,), (184,)), (table, (2,), (188,)),  # the last 8 bytes just fit, or do not
        (small, (2,), (-1,)), (small[7:], (2,), (1,)),  # one byte before the front, or behind
        (strided, (9,), (4,)),  # x has 9 elements from here
        (strided, (10,), (4,)), (strided, (4,), (-4,)), (strided, (5,), (-4,)),
    ]


def _checked_view(x, shape, strides, *, low=True, high=True, itemsize=True, empty=True, own=False,
                  writeable=False, signed=True, total=sum):
    """The right answer; each of the keywords changes one thing."""
    steps = [(n - 1) * (s if signed else abs(s)) for n, s in zip(shape, strides)]
    begin = address(x) + total([step for step in steps if step < 0])
    end = address(x) + total([step for step in steps if step > 0]) + x.itemsize * itemsize
    start, stop = byte_bounds(x if own else owner_of(x))
    reaches = (low and begin < start) or (high and end > stop)
    if reaches and not (empty and 0 in shape):
        raise ValueError
    return as_strided(x, shape, strides, writeable=writeable)


safe_as_strided = Task(
    "safe_as_strided", _safe_as_strided, _strided_cases, right=_checked_view,
    read=lambda value, case: _describe_view(value, case[0]),
    mistakes=[
        ("a check of the far end only: negative strides reach before the front", {"low": False}),
        ("a check of the front only", {"high": False}),
        ("the largest distance of one axis where the distances of all axes add up",
         {"total": lambda steps: max(steps, key=abs, default=0)}),
        ("bounds of x itself; a view may use all the memory of the array that owns it",
         {"own": True}),
        ("an end at the first byte of the last element: its other bytes count too",
         {"itemsize": False}),
        ("a shape with a zero treated like any other: a view without elements touches no byte",
         {"empty": False}),
        ("negative strides taken for positive ones", {"signed": False}),
        ("a writeable view; overlapping windows must not be written to", {"writeable": True}),
        ("as_strided without any check",
         lambda x, shape, strides: as_strided(x, shape, strides, writeable=False)),
    ],
)


# antidiagonals: the skewed view


def _antidiagonals(x):
    rows, columns = x.shape
    result = np.zeros((rows, rows + columns - 1), x.dtype)
    for i in range(rows):
        result[i, i:i + columns] = x[i]
    return result


def _random(shape: tuple, dtype=np.float32) -> np.ndarray:
    return (np.random.default_rng(1).standard_normal(shape) * 10 + 50).astype(dtype)


antidiagonals = Task(
    "antidiagonals", _antidiagonals,
    cases=lambda: [
        (_random((3, 5), np.int64),), (_random((5, 3)),),
        (_random((8, 8)),),  # the padded copy has the size of freed float64: np.empty is not 0
        (_random((1, 6)),), (_random((6, 1)),), (_random((5, 7)).T,),
        (_random((6, 8), np.float64)[::2, 1::3],),
    ],
    mistakes=[
        ("diagonals i - j: row i must move i places to the right, not to the left",
         lambda x: _antidiagonals(x[::-1])[::-1]),
        ("padding with `columns` zeros instead of `rows` of them",
         lambda x: np.pad(x, ((0, 0), (0, x.shape[1]))).ravel()[:-len(x)].reshape(len(x), -1)),
        ("rows that were padded but not moved: cut the last `rows` elements of the flat array, so"
         " that the new rows are one shorter than the padded ones",
         lambda x: np.pad(x, ((0, 0), (0, x.shape[0] - 1)))),
        ("new rows as long as the padded ones plus one: row i moved to the left",
         lambda x: np.stack([np.roll(np.pad(row, (0, x.shape[0] - 1)), -i)
                             for i, row in enumerate(x)])),
    ],
    rules=[
        no_python_loop((_random((4, 6)),), (_random((400, 6)),)),
        peak_memory((_random((120, 200)),), 2.2 * 120 * 320 * 4,
                    "one zero-padded copy is enough, the skew itself is a view."),
    ],
)


# tiles: a 4-D view


def _is_view(answer: Callable, trials: Sequence[Trial]) -> str | None:
    for case, _, got in trials:
        if got.error is None and got.value.size and not np.may_share_memory(got.value, case[0]):
            return "the result is a copy; it must be a view of the input."
    return None


def _tiles(x, height, width):
    rows, columns = x.shape
    if rows % height or columns % width:
        raise ValueError(f"({rows}, {columns}) is no multiple of ({height}, {width})")
    result = np.empty((rows // height, columns // width, height, width), x.dtype)
    for i, j in np.ndindex(result.shape[:2]):
        result[i, j] = x[i * height:(i + 1) * height, j * width:(j + 1) * width]
    return result


def _block_view(x, height, width):
    rows, columns = x.shape
    return x.reshape(rows // height, height, columns // width, width).swapaxes(1, 2)


tiles = Task(
    "tiles", _tiles,
    cases=lambda: [
        (_random((6, 8)), 2, 4), (_random((9, 8)), 3, 2), (_random((6, 6), np.int64), 2, 3),
        (_random((8, 12)).T, 4, 2), (_random((12, 12))[::2, ::-3], 3, 2),
        (_random((4, 5)), 4, 5), (_random((4, 6)), 1, 1), (_random((7, 8)), 2, 4),
        (_random((6, 9)), 2, 4), (_random((3, 4)), 2, 3),  # neither fits, but two tiles' elements
    ],
    mistakes=[
        ("one reshape straight to four axes: it takes the elements in reading order, not by tiles",
         lambda x, h, w: x.reshape(x.shape[0] // h, x.shape[1] // w, h, w)),
        ("the right reshape with its axes still in the order (tile row, row, tile column, column)",
         lambda x, h, w: x.reshape(x.shape[0] // h, h, x.shape[1] // w, w)),
        ("height and width swapped", lambda x, height, width: _block_view(x, width, height)),
        ("tiles in the order of columns first",
         lambda x, height, width: _block_view(x, height, width).swapaxes(0, 1)),
        ("sliding windows; tiles do not overlap",
         lambda x, height, width: sliding_window_view(x, (height, width))),
        ("tiles that silently drop a remainder; raise ValueError",
         lambda x, height, width: sliding_window_view(x, (height, width))[::height, ::width]),
    ],
    rules=[_is_view],
)


# windowed: a product with every window of columns, computed once


def _windowed(a, b, width, hop=1):
    if not 1 <= width <= b.shape[1] or hop < 1:
        raise ValueError(f"no windows of {width} columns, every {hop}, in {b.shape[1]} columns")
    return np.stack([a @ b[:, i:i + width] for i in range(0, b.shape[1] - width + 1, hop)])


def _windows_of_product(a, b, width, hop=1, *, windows=lambda view, width, hop: view[:, ::hop],
                        guard=True, axes=lambda view: view.swapaxes(0, 1)):
    """The right answer; each of the keywords changes one thing."""
    if guard and (not 1 <= width <= b.shape[1] or hop < 1):
        raise ValueError
    return axes(windows(sliding_window_view(a @ b, width, axis=1), width, hop))


windowed = Task(
    "windowed", _windowed, right=_windows_of_product,
    cases=lambda: [
        (_random((3, 4)), _random((4, 9)), 3),
        (_random((2, 5), np.float64), _random((5, 12), np.float64), 4, 3),
        (_random((6, 3), np.int64), _random((3, 11), np.int64), 2, 4),
        (_random((4, 3)).T, _random((10, 4)).T, 5, 2),
        (_random((4, 5)), _random((5, 7)), 7), (_random((1, 4)), _random((4, 8)), 1, 9),
        (_random((3, 4)), _random((4, 6)), 7), (_random((3, 4)), _random((4, 6)), 0),
        (_random((3, 4)), _random((4, 6)), 2, 0), (_random((3, 4)), _random((4, 6)), 2, -1),
    ],
    mistakes=[
        ("axes in the order (row, window, column); the windows come first",
         {"axes": lambda view: view}),
        ("every window; with a hop, only each `hop`-th is wanted",
         {"windows": lambda view, width, hop: view}),
        ("a hop inside the window; it belongs between windows",
         {"windows": lambda view, width, hop: view[:, :, ::hop]}),
        ("the last window left out: (columns - width) // hop + 1 windows fit",
         {"windows": lambda view, width, hop: view[:, :-1:hop]}),
        ("a negative hop taken for an order from the end; raise ValueError", {"guard": False}),
    ],
    rules=[
        no_python_loop((_random((4, 6)), _random((6, 20)), 3),
                       (_random((4, 6)), _random((6, 900)), 3)),
        peak_memory((_random((20, 30)), _random((30, 2000)), 50), 2.2 * 20 * 2000 * 4,
                    "multiply once, and take the windows of the product."),
    ],
)


# recover: offset and strides from values alone


def _recover(values, buffer):
    offset, strides = _recovered(values, buffer)
    return rebuild((offset, values.shape, strides), buffer).copy()


def _recover_cases() -> list[Case]:
    shuffled = np.random.default_rng(2).permutation(120).astype(np.int32)
    wide = np.random.default_rng(3).permutation(40) + 2.0**40  # each close to the others
    block = shuffled.reshape(4, 5, 6)
    fancy = wide.reshape(5, 8).copy()
    fancy[2, 3] = wide[0]
    return [
        (block.copy(), shuffled), (block[1:, ::2, 3].copy(), shuffled),
        (block[::-1, :, ::-2].T.copy(), shuffled),
        (sliding_window_view(wide, 7).copy(), wide),
        (np.broadcast_to(wide[3:8], (4, 5)).copy(), wide),
        (as_strided(wide[20:], (3, 4), (-16, 24)).copy(), wide),
        (wide[5].reshape(1, 1), wide),
        (fancy, wide),  # one element out of place
        (shuffled[[3, 5, 9, 10]], shuffled),  # picked by a list
        (wide[[1, 0, -1]], wide),  # equal steps only with positions counted from the end
        (np.array([[1.5, 2.5], [3.5, 4.5]]), wide),  # values that the buffer does not have
        (np.array([1.5, wide[1], wide[2]]), wide),  # only the first is not there
        (np.array([wide[0], 1.5, wide[2]]), wide), (np.array([[1.5]]), wide),
        (block[:2, 1:3, ::5].copy(), shuffled),  # axes of two
        (shuffled[[-2, -1, 0]], shuffled),  # equal steps that lead behind the buffer
        (shuffled[[-2, -1, -1]], shuffled), (shuffled[[1, 0, 0]], shuffled),  # cut off at an end
    ]


def _recovered(values, buffer, *, offset=lambda k, size: k * size,
               stride=lambda step, size: step * size, prove=True, inside=True, absent=True):
    """The right answer; each of the keywords changes one thing."""
    position = {value: k for k, value in enumerate(buffer.tolist())}
    if absent and not np.isin(values, buffer).all():
        raise ValueError("a value that is not in the buffer")
    origin = (0,) * values.ndim
    first = position[values[origin].item()]
    steps = []
    for axis, n in enumerate(values.shape):
        index = list(origin)
        index[axis] = min(1, n - 1)
        steps.append(position[values[tuple(index)].item()] - first)
    if prove:
        places = first + sum(i * s for i, s in zip(np.indices(values.shape), steps))
        if inside and (places.min() < 0 or places.max() >= buffer.size):
            raise ValueError("no view: a position is outside the buffer")
        if not np.array_equal(buffer[places], values):
            raise ValueError("no offset and strides give these values")
    size = buffer.itemsize
    return offset(first, size), tuple(stride(step, size) for step in steps)


def _read_recovered(value: object, case: Case) -> np.ndarray:
    values, buffer = case
    offset, strides = require_tuple(value, "offset", "strides")
    return rebuild((offset, values.shape, strides), buffer)


recover = Task(
    "recover", _recover, _recover_cases, right=_recovered,
    read=_read_recovered,
    mistakes=[
        ("offset and strides counted in elements; they are in bytes",
         {"offset": lambda k, size: k, "stride": lambda step, size: step}),
        ("an offset in elements beside strides in bytes", {"offset": lambda k, size: k}),
        ("strides that are never negative: keep the sign",
         {"stride": lambda step, size: abs(step) * size}),
        ("an answer without its proof: rebuild the view, compare, and raise ValueError when it"
         " differs", {"prove": False}),
        ("a proof that lets negative positions count from the end of the buffer",
         {"inside": False}),
        ("a value that is not in the buffer taken for a KeyError; raise ValueError",
         {"absent": False}),
        ("the strides of the copy that was handed in, not of the view that made it",
         lambda values, buffer: (buffer.tolist().index(values.ravel()[0].item())
                                 * buffer.itemsize, values.strides)),
    ],
)
