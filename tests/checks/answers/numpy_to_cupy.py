"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402


def error_on_the_host(x, reference):
    return float(abs(cp.asnumpy(x) - reference).max())


def error_by_a_loop(x, reference):
    """Python's own numbers, one by one."""
    pairs = zip(cp.asnumpy(x).ravel().tolist(), reference.ravel().tolist())
    return max(abs(one - other) for one, other in pairs)


def error_on_the_device(x, reference):
    return abs(x - cp.asarray(reference)).max()


def speed_by_limits(n, launch, digit):
    return min(n / launch, 1 / digit)


def seconds_by_hand(work, clock, synchronize):
    """Waits behind each call, the warm-up included, and sorts."""
    work()
    synchronize()
    marks = []
    for _ in range(5):
        marks.append(-clock())
        work()
        synchronize()
        marks[-1] += clock()
    return sorted(marks)[2]


def seconds_of_one(work, clock, synchronize):
    work()
    synchronize()
    begin = clock()
    work()
    synchronize()
    return clock() - begin


def contrast_by_rows(images):
    """Weights as Python numbers, and a sum written out."""
    xp = cp.get_array_module(images)
    centred = images - images.mean(axis=(1, 2))[:, None, None]
    spread = xp.sqrt((centred * centred).mean(axis=(1, 2)))[:, None, None]
    bent = xp.tanh(xp.where(spread > 1e-6, centred / xp.maximum(spread, 1e-30), 0))
    factors = (0.05, 0.1, 0.15, 0.2, 0.2, 0.15, 0.1, 0.05)
    return sum(factor * bent[:, row] for row, factor in enumerate(factors))


def contrast_by_einsum(images):
    xp = cp.get_array_module(images)
    centred = images - images.mean(axis=(1, 2), keepdims=True)
    spread = centred.std(axis=(1, 2), keepdims=True)
    weights = (4.5 - abs(xp.arange(8, dtype=images.dtype) - 3.5)) / 20
    return xp.einsum("r,nrc->nc", weights, xp.tanh(centred / xp.where(spread < 1e-6, 1, spread)))


def contrast_with_an_epsilon(images, by_mask=False):
    """Nearly right: a little added to each spread; or a mask that waits."""
    xp = cp.get_array_module(images)
    centred = images - images.mean(axis=(1, 2), keepdims=True)
    spread = centred.std(axis=(1, 2), keepdims=True)
    if by_mask:
        spread[spread < 1e-6] = 1
    else:
        spread += 1e-3
    weights = xp.minimum(xp.arange(1, 9), xp.arange(8, 0, -1))[:, None] / 20
    return (xp.tanh(centred / spread) * weights).sum(axis=1).astype(images.dtype)


def contrast_that_uploads(images):
    xp = cp.get_array_module(images)
    weights = xp.asarray(np.array([1, 2, 3, 4, 4, 3, 2, 1]) / 20).astype(images.dtype)
    centred = images - images.mean(axis=(1, 2), keepdims=True)
    spread = images.std(axis=(1, 2), keepdims=True)
    bent = xp.tanh(centred / xp.where(spread > 1e-6, spread, 1))
    return (bent * weights[:, None]).sum(axis=1)


def contrast_by_images(images):
    xp = cp.get_array_module(images)
    return xp.concatenate([contrast_by_rows(images[k:k + 1]) for k in range(len(images))])


def contrast_that_reads_back(images):
    if float(abs(images).sum()) < 0:
        return None
    return contrast_by_rows(images)


def contrast_on_the_device_only(images):
    return contrast_by_rows(cp.asarray(images))


def predict_in_formulas(expression, rows, columns):
    n, half = 4 * rows * columns, 4 * rows * ((columns + 1) // 2)
    return {
        "3 * x + y": (2, 5 * n),
        "(x - v) ** 2": (2, 4 * n + 4 * columns),
        "x += v": (1, 2 * n + 4 * columns),
        "cp.exp(x)[:, ::2] * 0.5": (2, 2 * n + 2 * half),
        "cp.exp(x[:, ::2]) * 0.5": (2, 4 * half),
        "x.astype(cp.float64) + y": (2, 8 * n),
        "x[:, ::2]": (0, 0),
    }[expression]


def predict_one_wrong(expression, rows, columns):
    launches, nbytes = predict_in_formulas(expression, rows, columns)
    return (launches + 1, nbytes) if expression == "x += v" else (launches, nbytes)


def moved_by_products(batches, examples, names):
    """All batches in one copy, squares written out, and the names looked up at the end."""
    x, there = cp.asarray(np.concatenate(batches)), cp.asarray(examples)
    nearest = ((there * there).sum(axis=1) - 2 * x @ there.T).argmin(axis=1)
    found = (nearest[:, None] == cp.arange(len(names))).sum(axis=0)
    return np.bincount(names, weights=found.get(), minlength=10).astype(np.int64)


def moved_by_adding_at(batches, examples, names):
    """Counts that are added up in place, on the device."""
    examples, names, counts = cp.asarray(examples), cp.asarray(names), cp.zeros(10, cp.int64)
    for images in batches:
        distances = ((cp.asarray(images)[:, None] - examples) ** 2).sum(axis=2)
        cp.add.at(counts, names[distances.argmin(axis=1)], 1)
    return cp.asnumpy(counts)


def moved_with_one_bincount(batches, examples, names):
    """bincount and get wait in one line, behind all batches."""
    examples, names = cp.asarray(examples), cp.asarray(names)
    nearest = [((cp.asarray(x)[:, None] - examples) ** 2).sum(axis=2).argmin(axis=1)
               for x in batches]
    return cp.bincount(names[cp.concatenate(nearest)], minlength=10).get()


def moved_on_the_host(batches, examples, names):
    """NumPy's answer, with a detour over the device."""
    nearest = [((x[:, None] - examples) ** 2).sum(axis=2).argmin(axis=1) for x in batches]
    counts = np.bincount(names[np.concatenate(nearest)], minlength=10)
    return cp.asarray(counts).get()


def moved_first(batches, examples, names, once=False):
    """The program as it was given; or with examples and names that go to the device once."""
    counts = np.zeros(10, dtype=np.int64)
    kept = (cp.asarray(examples), cp.asarray(names)) if once else None
    for images in batches:
        there, digits = kept or (cp.asarray(examples), cp.asarray(names))
        distances = ((cp.asarray(images)[:, None] - there) ** 2).sum(axis=2)
        counts += cp.bincount(digits[distances.argmin(axis=1)], minlength=10).get()
    return counts


def moved_with_bincount(batches, examples, names):
    """One copy back, but a wait in each turn."""
    examples, names, counts = cp.asarray(examples), cp.asarray(names), cp.zeros(10, cp.int64)
    for images in batches:
        distances = ((cp.asarray(images)[:, None] - examples) ** 2).sum(axis=2)
        counts += cp.bincount(names[distances.argmin(axis=1)], minlength=10)
    return counts.get()


def moved_by_adding_one(batches, examples, names):
    examples, names, counts = cp.asarray(examples), cp.asarray(names), cp.zeros(10, cp.int64)
    for images in batches:
        distances = ((cp.asarray(images)[:, None] - examples) ** 2).sum(axis=2)
        counts[names[distances.argmin(axis=1)]] += 1
    return counts.get()


def contrast_of_rounding_errors(images):
    """A spread that is taken of the pixels: for a blank image it is a rounding error, not 0."""
    xp = cp.get_array_module(images)
    centred = images - images.mean(axis=(1, 2), keepdims=True)
    spread = images.std(axis=(1, 2), keepdims=True)
    bent = xp.tanh(centred / xp.where(spread > 0, spread, 1))
    rising = xp.arange(1, 9, dtype=images.dtype)
    return (bent * (xp.minimum(rising, 9 - rising) / 20)[:, None]).sum(axis=1)


def means_by_nan(x, low, high):
    """nan where nothing is kept, and nanmean's two sums by hand."""
    kept = (x > low).astype(x.dtype)
    clipped = cp.where(kept > 0, cp.where(x > high, high, x), 0)
    return clipped.sum(axis=1) / cp.maximum(kept.sum(axis=1), 1)


def means_by_mask(x, low, high):
    x = x.copy()
    x[x > high] = high
    kept = x > low
    x[~kept] = 0
    return x.sum(axis=1) / cp.maximum(kept.sum(axis=1), 1).astype(x.dtype)


def means_in_place(x, low, high):
    x[...] = cp.minimum(x, high)
    return means_by_nan(x, low, high)



def means_by_nansum(x, low, high):
    kept = cp.where(x > low, cp.clip(x, None, high), cp.nan)
    count = (kept == kept).sum(axis=1, dtype=x.dtype)
    return cp.nansum(kept, axis=1) / (count + (count == 0))



def means_by_columns(x, low, high):
    total, count = cp.zeros(len(x), x.dtype), cp.zeros(len(x), x.dtype)
    for column in x.T:
        total += cp.where(column > low, cp.minimum(column, high), 0)
        count += column > low
    return total / cp.maximum(count, 1)


def means_by_loop(x, low, high):
    return cp.concatenate([means_by_nan(x[k:k + 1], low, high) for k in range(len(x))])


def seconds_as_given(work, clock, synchronize):
    begin = clock()
    for _ in range(5):
        work()
    return (clock() - begin) / 5


def contrast_of_the_batch(images):
    xp = cp.get_array_module(images)
    centred = (images - images.mean()) / images.std()
    factors = xp.minimum(xp.arange(1, 9), xp.arange(8, 0, -1))[:, None] / 20
    return (xp.tanh(centred) * factors).sum(axis=1).astype(images.dtype)


def predict_with_half_the_columns(expression, rows, columns):
    """Right for an even number of columns only."""
    return predict_in_formulas(expression, rows, columns // 2 * 2 if "::" in expression
                               else columns)


def predict_with_a_copied_slice(expression, rows, columns):
    if expression == "x[:, ::2]":
        return 1, 8 * rows * ((columns + 1) // 2)
    return predict_in_formulas(expression, rows, columns)


def predict_without_the_slice(expression, rows, columns):
    if expression == "cp.exp(x)[:, ::2] * 0.5":
        return 2, 16 * rows * columns
    return predict_in_formulas(expression, rows, columns)



def means_from_low_on(x, low, high):
    return means_by_nan(x, np.nextafter(x.dtype.type(low), x.dtype.type(-9)), high)


def means_below_high(x, low, high):
    return means_by_nan(cp.where(x <= high, x, cp.nan), low, high)


RIGHT = {
    "largest_error": [error_on_the_host, error_by_a_loop],
    "reading_speed": [speed_by_limits, lambda n, launch, digit: n / max(n * digit, launch)],
    "seconds": [seconds_by_hand],
    "contrast": [contrast_by_rows, contrast_by_einsum],
    "predict": [predict_in_formulas],
    "moved": [moved_by_products, moved_by_adding_at, moved_with_one_bincount],
    "row_means": [means_by_nan, means_by_nansum],
}
WRONG = {
    "largest_error": [
        (error_on_the_device, "Python float"),
        (lambda x, reference: float(np.abs(x - reference).max()), "Unsupported type"),
        (lambda x, reference: np.abs(cp.asnumpy(x) - reference).max(), "Python float"),
        (lambda x, reference: float(abs(cp.asnumpy(x).max() - reference.max())), "expected"),
        (lambda x, reference: float(abs((cp.asnumpy(x) - reference).max())), "expected"),
    ],
    "reading_speed": [
        (lambda n, launch, digit: n / (launch + digit), "expected"),
        (lambda n, launch, digit: max(n / launch, 1 / digit), "the shorter of the two times"),
        (lambda n, launch, digit: n / max(launch, digit), "expected"),
        (lambda n, launch, digit: n // max(launch, n * digit), "expected"),
    ],
    "seconds": [
        (seconds_of_one, "expected"),
        (lambda work, clock, synchronize: work(), "None"),
        (seconds_as_given, "with all four faults"),
    ],
    "contrast": [
        (contrast_that_uploads, "copies to the device is 1, where 0 suffice"),
        (contrast_by_images, "loops in Python"),
        (contrast_with_an_epsilon, "expected"),
        (lambda images: contrast_with_an_epsilon(images, by_mask=True), "number of waits: 1"),
        (contrast_that_reads_back, "copies to the host is 1"),
        (contrast_of_the_batch, "one mean and one spread for the whole batch"),
        (contrast_on_the_device_only, "must return a NumPy array"),
        (contrast_of_rounding_errors, "expected -2"),
    ],
    "predict": [
        (predict_one_wrong, "6 of 7 are right"),
        (predict_with_half_the_columns, "5 of 7 are right"),
        (predict_with_a_copied_slice, "a slice that is copied"),
        (predict_without_the_slice, "all columns counted after the slice"),
    ],
    "moved": [
        (moved_on_the_host, "computes on the host"),
        (moved_first, "copies to the device is 9, where 5 suffice"),
        (lambda *case: moved_first(*case, once=True), "copies to the host is 3, where 1 suffice"),
        (moved_with_bincount, "number of waits: 4"),
        (moved_by_adding_one, "comes twice counts once"),
        (lambda batches, examples, names: batches[0] - cp.asarray(examples), "Unsupported type"),
    ],
    "row_means": [
        (means_by_mask, "waits for the device; number of waits: 2"),
        (means_from_low_on, "values at `low` kept as well"),
        (means_below_high, "left out; they count as `high`"),
        (means_in_place, "changed its argument in place"),
        (means_by_loop, "loops in Python"),
        (means_by_columns, "loops in Python"),
    ],
}
