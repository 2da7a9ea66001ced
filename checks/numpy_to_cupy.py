"""The tasks from NumPy to CuPy: benchmarks, copies, launches, waits."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import numpy as np

from .machinery.task import (
    Case,
    Refusal,
    Task,
    Trial,
    describe_returned,
    is_on_device,
    no_python_loop,
    require_type,
    rule,
)


def _cupy():
    import cupy  # here, so that this module can be imported before helpers.start()

    return cupy


def _from_device(value: object, what: str = "the result") -> np.ndarray:
    """A result on the host; a Refusal where it was not on the device."""
    if not is_on_device(value):
        raise Refusal(f"{what} must stay on the device, as a CuPy array; it is"
                      f" {describe_returned(value)}")
    return value.get()


@rule
def traffic_at_most(answer: Callable, trials: Sequence[Trial], case: Callable[[], Case],
                    up: int = 0, down: int = 0, waits: int = 0, least: int = 0) -> str | None:
    """At most `up` copies to the device, of `least` bytes, `down` to the host, `waits` waits."""
    from helpers.transfers import traffic

    seen = traffic(answer, *case())
    for copies, limit, where in ((seen.to_device, up, "to the device"),
                                 (seen.to_host, down, "to the host")):
        if len(copies) > limit:
            return (f"the number of its copies {where} is {len(copies)}, where {limit} suffice."
                    + _hint_at_line(seen))
    if sum(seen.to_device) < least:
        return "it computes on the host: not all of the images reach the device."
    if seen.waits > waits:
        return f"it waits for the device; number of waits: {seen.waits}.{_hint_at_line(seen)}"
    return None


@rule
def _no_loop(answer: Callable, trials: Sequence[Trial], *makers: Callable[[], Case]) -> str | None:
    """`no_python_loop` with cases that are on the device, made when they are needed."""
    return no_python_loop(*(make() for make in makers))(answer, trials)


def _hint_at_line(seen) -> str:
    """A sentence with the first line that copies to the host or waits, else that copies."""
    for line in sorted(seen.lines, key=lambda line: not (line.waits or line.to_host)):
        if line.waits or line.to_host or line.to_device:
            return f" Look at the line `{line.text.strip()}`."
    return ""


# largest_error, a warm-up of the lesson: arrays of both libraries compared on the host


def _largest_error(x, reference, *, take=np.max, size=np.abs, number=float):
    x = x.get() if is_on_device(x) else x
    return number(take(size(x - reference)))


def _error_case(*shape: int, seed: int, dtype=np.float32, on_device: bool = True) -> Case:
    random = np.random.default_rng(seed)
    reference = random.normal(0, 50, shape)
    x = (reference + random.normal(0, 1, shape)).astype(dtype)
    x.ravel()[0] -= 7  # the largest difference is negative
    x, reference = (np.asarray(array, dtype, order="CF"[seed % 2]) for array in (x, reference))
    return _cupy().asarray(x) if on_device else x, reference


def _read_number(value: object, case: Case) -> object:
    # NumPy's float64 is one, too.
    return require_type(value, float, "it must return a Python float; it returned")


largest_error = Task(
    "largest_error", _largest_error, right=_largest_error,
    cases=lambda: [_error_case(9, seed=1), _error_case(4, 5, seed=2, dtype=np.float64),
                   _error_case(3, 1, 7, seed=3, on_device=False), _error_case(1, 1, seed=4),
                   _error_case(6, seed=5, dtype=np.float64, on_device=False)],
    read=_read_number,
    mistakes=[
        ("the largest difference with its sign; take the absolute value", {"size": np.positive}),
        ("a mean of the differences", {"take": np.mean}),
        ("a NumPy number instead of a Python float", {"number": np.asarray}),
    ],
)


# reading_speed, a warm-up of the lesson: launches and work at the same time


def _speed(n, launch, digit, *, time=max):
    return n / time((launch, n * digit))


reading_speed = Task(
    "reading_speed", _speed, right=_speed,
    cases=lambda: [(100, 3e-3, 1e-6), (8000, 2e-3, 5e-7), (100_000, 3e-3, 1e-6), (1, 0.5, 0.125),
                   (7, 1e-5, 2e-4)],
    mistakes=[
        ("launches and work one after the other; the device computes meanwhile", {"time": sum}),
        ("the launches alone; with many digits the work takes longer",
         {"time": lambda times: times[0]}),
        ("the work alone; with few digits the launches take longer",
         {"time": lambda times: times[1]}),
        ("the shorter of the two times; the call ends when both are done", {"time": min}),
        ("the seconds of a call", lambda n, launch, digit: max(launch, n * digit)),
    ],
)


# seconds: a benchmark, on a pretended device whose times are known beforehand


class PretendDevice:
    """A host and a device with a queue, in pretended seconds.

    A call takes `launch` of the host's time, and `run` or a little more of the device's. The first
    call takes a second more of the host's time, and every fifth call runs ten times as long.
    """

    def __init__(self, launch: float, run: float, before: float) -> None:
        self.launch, self.run, self.before = launch, run, before
        self.now, self.done, self.calls = 0.0, before, 0

    def fresh(self) -> PretendDevice:
        """The same device before its first call."""
        return PretendDevice(self.launch, self.run, self.before)

    def work(self) -> None:
        self.calls += 1
        self.now += self.launch + (self.calls == 1)
        eighths = (2, 0, 1, 4, 72)[self.calls % 5]
        self.done = max(self.done, self.now) + self.run * (1 + eighths / 8)

    def synchronize(self) -> None:
        self.now = max(self.now, self.done)

    def clock(self) -> float:
        return self.now


class _NamedMethod:
    """A method of a pretended device that a verdict shows by its name."""

    def __init__(self, device: PretendDevice, name: str) -> None:
        self.device, self.name = device, name

    def __call__(self) -> object:
        return getattr(self.device, self.name)()

    def __repr__(self) -> str:
        if self.name == "work":
            return f"<{self.device.launch:g} s to launch, {self.device.run:g} s or more to run>"
        return f"<its {self.name}>"


def _benchmark_case(launch: float, run: float, before: float) -> Case:
    device = PretendDevice(launch, run, before)
    return tuple(_NamedMethod(device, name) for name in ("work", "clock", "synchronize"))


def _seconds(work, clock, synchronize, *, warm=True, before=True, early=False, together=False,
             summary=statistics.median):
    """The median of five samples of a call, on a device not yet used.

    Each of the keywords changes one thing; `together` makes one sample of the five calls.
    """
    device, taken = work.device.fresh(), []
    calls = 5 if together else 1
    if warm:
        device.work()
    for _ in range(5 // calls):
        if before:
            device.synchronize()
        begin = device.clock()
        for _ in range(calls):
            device.work()
        end = device.clock()
        device.synchronize()
        taken.append(((end if early else device.clock()) - begin) / calls)
    return summary(taken)


seconds = Task(
    "seconds", _seconds, right=_seconds,
    cases=lambda: [
        _benchmark_case(0.0625, 2.0, 0.0),
        _benchmark_case(0.5, 0.125, 64.0),
        _benchmark_case(0.03125, 5.0, 7.0),
    ],
    mistakes=[
        ("the time of a launch: the end is read before the device is done", {"early": True}),
        ("a sample that begins while the device still works on the call before", {"before": False}),
        ("samples without a warm-up", {"warm": False}),
        ("five calls in one sample: one slow call spoils it, and the launches overlap with the"
         " device's work", {"together": True}),
        ("a mean: one slow call spoils it. Take the median", {"summary": statistics.fmean}),
        ("the function as it was given, with all four faults",
         {"warm": False, "before": False, "together": True, "early": True}),
        ("five calls in one sample, the first of them without a warm-up",
         {"warm": False, "before": False, "together": True}),
        ("a mean, and no warm-up: one slow call spoils it. Take the median",
         {"warm": False, "summary": statistics.fmean}),
        ("the fastest call", {"summary": min}),
        ("the third sample, not the median", {"summary": lambda taken: taken[2]}),
        ("the sum of the samples", {"summary": sum}),
    ],
)


# contrast: the same function for both libraries, without traffic


def _contrast(images, *, spread="image", mean="image", guard=True, least=1e-6, ddof=0, axis=1,
              weights="rows", bend=True, double=False, host=False):
    """The right answer for both libraries; each of the keywords changes one thing."""
    xp = _cupy() if is_on_device(images) else np
    centred = images - images.mean(axis=(1, 2) if mean == "image" else None, keepdims=True)
    over = {"image": (1, 2), "batch": None, "rows": 2}[spread]
    deviation = centred.std(axis=over, keepdims=True, ddof=ddof)
    with np.errstate(divide="ignore", invalid="ignore"):
        if guard:
            deviation = xp.where(deviation > least, deviation, 1)
        scaled = centred / deviation
    scaled = xp.tanh(scaled) if bend else scaled
    factors = np.array([1, 2, 3, 4, 4, 3, 2, 1]) / 20
    factors = xp.asarray(factors if double else factors.astype(images.dtype))
    factors = factors[:, None] if weights == "rows" else factors
    result = (scaled * factors).sum(axis=axis)
    return result.get() if host and is_on_device(result) else result


def _images(n: int, seed: int, dtype=np.float32, blank=None, value=0.5) -> np.ndarray:
    images = np.random.default_rng(seed).uniform(3, 4, (n, 8, 8)).astype(dtype)
    if blank is not None:
        images[blank] = value
    return images


def _contrast_cases() -> list[Case]:
    cp = _cupy()
    strip = np.ascontiguousarray(_images(6, 4).swapaxes(0, 1)).reshape(8, 48)
    return [
        (_images(5, 1),),
        (_images(3, 2, blank=1),),
        (_images(3, 9, blank=0, value=np.linspace(0.1, 0.1 + 5e-7, 8, dtype=np.float32)),),
        (cp.asarray(_images(5, 1)),),
        (cp.asarray(_images(4, 3, np.float64, blank=2)),),
        (cp.asarray(strip).reshape(8, 6, 8).swapaxes(0, 1),),
        (-_images(7, 5, np.float64),),
    ]


def _read_contrast(value: object, case: Case) -> np.ndarray:
    if is_on_device(case[0]):
        return _from_device(value)
    if is_on_device(value):
        raise Refusal("for a NumPy array it must return a NumPy array; it returned a CuPy array.")
    return value


contrast = Task(
    "contrast", lambda images: _contrast(images.get() if is_on_device(images) else images),
    _contrast_cases, right=_contrast,
    read=_read_contrast,
    rtol=1e-5,
    mistakes=[
        ("a blank image divided by its spread of zero", {"guard": False}),
        ("a spread of rounding errors that divides a blank image", {"least": 0}),
        ("one spread for the whole batch; each image has its own", {"spread": "batch"}),
        ("one mean for the whole batch; each image has its own", {"mean": "batch"}),
        ("one mean and one spread for the whole batch; each image has its own",
         {"mean": "batch", "spread": "batch"}),
        ("a spread for each row; each image has one", {"spread": "rows"}),
        ("a sum over the columns; the rows are summed", {"axis": 2}),
        ("weights along the columns; they belong to the rows", {"weights": "columns"}),
        ("a spread with n - 1 below; take the plain standard deviation", {"ddof": 1}),
        ("a result without the tanh", {"bend": False}),
        ("weights in float64, which widen the whole result", {"double": True}),
        ("a result that was copied to the host", {"host": True}),
    ],
    rules=[
        no_python_loop((_images(3, 6),), (_images(60, 6),)),
        traffic_at_most(lambda: (_cupy().asarray(_images(5, 7)),)),
    ],
)


# predict: launches and bytes of an expression


class CountingArray:
    """An array without values: each operation counts as a launch that reads arrays and writes one.

    `slices` says what a slice is: "views", "copied", or "ignored" for the whole array.
    """

    slices = "views"

    def __init__(self, shape: tuple[int, ...], itemsize: int = 4, log: list | None = None) -> None:
        self.shape, self.itemsize, self.log = shape, itemsize, log

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.itemsize

    def _launch(self, *others: object, itemsize: int | None = None, into=None) -> CountingArray:
        arrays = [self, *(x for x in others if isinstance(x, CountingArray))]
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
        result = into or type(self)(shape, itemsize or max(x.itemsize for x in arrays), self.log)
        self.log.append((arrays, result))
        return result

    def __add__(self, other: object) -> CountingArray:
        return self._launch(other)

    __radd__ = __sub__ = __mul__ = __rmul__ = __pow__ = __add__

    def __iadd__(self, other: object) -> CountingArray:
        return self._launch(other, into=self)

    def exp(self) -> CountingArray:
        return self._launch()

    def double(self) -> CountingArray:
        return self._launch(itemsize=8)

    def every_other_column(self) -> CountingArray:
        if self.slices == "ignored":
            return self
        if self.slices == "copied":
            return self._half()._launch()
        return self._half()

    def _half(self) -> CountingArray:
        return CountingArray((self.shape[0], (self.shape[1] + 1) // 2), self.itemsize, self.log)


def _in_place(x, y, v):
    x += v
    return x


EXPRESSIONS = {
    "3 * x + y": lambda x, y, v: 3 * x + y,
    "(x - v) ** 2": lambda x, y, v: (x - v) ** 2,
    "x += v": _in_place,
    "cp.exp(x)[:, ::2] * 0.5": lambda x, y, v: x.exp().every_other_column() * 0.5,
    "cp.exp(x[:, ::2]) * 0.5": lambda x, y, v: x.every_other_column().exp() * 0.5,
    "x.astype(cp.float64) + y": lambda x, y, v: x.double() + y,
    "x[:, ::2]": lambda x, y, v: x.every_other_column(),
}


def _predict(expression, rows, columns, *, fused=False, views=0, double=True, slices="views",
             read=lambda arrays, result: sum(x.nbytes for x in arrays),
             write=lambda result: result.nbytes):
    """Launches and bytes of an expression; each of the keywords counts one thing otherwise."""
    log = []
    kind = type("Sliced", (CountingArray,), {"slices": slices})
    x, y = (kind((rows, columns), log=log) for _ in range(2))
    result = EXPRESSIONS[expression](x, y, CountingArray((columns,), log=log))
    launches = len(log) + views * expression.count("::")
    if not double:
        for arrays, made in log:
            for array in (*arrays, made):
                array.itemsize = 4
    if fused and log:
        made = {id(made) for _, made in log if made is not x}
        inputs = {id(array): array for arrays, _ in log for array in arrays}
        used = sum(array.nbytes for key, array in inputs.items() if key not in made)
        return 1, used + result.nbytes
    return launches, sum(read(arrays, made) + write(made) for arrays, made in log)


def _written_out(arrays: list[CountingArray], result: CountingArray) -> int:
    return sum(int(np.prod(result.shape)) * x.itemsize for x in arrays)


predict = Task(
    "predict", _predict, right=_predict,
    cases=lambda: [(expression, rows, columns) for expression in EXPRESSIONS
                   for rows, columns in ((300, 71), (7, 1024))],
    part=lambda case: case[0],
    mistakes=[
        ("one fused kernel: CuPy launches one for each operator, and writes what is between",
         {"fused": True}),
        ("a row that is broadcast counted as if it were written out", {"read": _written_out}),
        ("bytes that are written only; reading counts too", {"read": lambda arrays, result: 0}),
        ("bytes that are read only; writing counts too", {"write": lambda result: 0}),
        ("numbers instead of bytes",
         {"read": lambda arrays, result: sum(x.nbytes // x.itemsize for x in arrays),
          "write": lambda result: result.nbytes // result.itemsize}),
        ("a slice counted as a launch; it is a view", {"views": 1}),
        ("a slice that is copied; it is a view, and costs nothing", {"slices": "copied"}),
        ("all columns counted after the slice, which keeps every other one", {"slices": "ignored"}),
        ("float64 counted with four bytes", {"double": False}),
    ],
)


# moved: a program that goes to the device in steps, until each array crosses once


def _moved(batches, examples, names, *, pick="argmin", named=True, power=2, batch=slice(None),
           once=False, there=False):
    """The right counts, computed on the host; each of the keywords changes one thing."""
    counts = np.zeros(10, dtype=np.int64)
    for images in batches[batch]:
        distances = (np.abs(images[:, None] - examples) ** power).sum(axis=2)
        best = getattr(distances, pick)(axis=1)
        found = np.bincount(names[best] if named else best % 10, minlength=10)
        counts += np.minimum(found, 1) if once else found
    return _cupy().asarray(counts) if there else counts


def _moved_case(sizes: Sequence[int], k: int, features: int, digits: Sequence[int],
                seed: int) -> Case:
    random = np.random.default_rng(seed)
    examples = random.normal(2, 3, (k, features)).astype(np.float32, order="FC"[k % 2])
    names = random.choice(digits, k)
    batches = [np.asarray(examples[random.integers(k, size=n)] + random.normal(0, 2, (n, features)),
                          np.float32, order="CF"[n % 2]) for n in sizes]
    return batches, examples, names[::-1]


def _read_counts(value: object, case: Case) -> object:
    if is_on_device(value):
        raise Refusal("it must return a NumPy array; it returned a CuPy array.")
    return value


moved = Task(
    "moved", _moved, right=_moved,
    cases=lambda: [
        _moved_case((40, 25), 12, 7, range(10), 1),
        _moved_case((9, 30, 1, 12), 7, 3, (1, 4, 8), 2),
        _moved_case((64,), 15, 64, range(3), 3),
    ],
    read=_read_counts,
    mistakes=[
        ("the number of the example; look up its name", {"named": False}),
        ("the example farthest away", {"pick": "argmax"}),
        ("the counts of the last batch only", {"batch": slice(-1, None)}),
        ("counts[answers] += 1, in which an index that comes twice counts once", {"once": True}),
        ("distances without the square", {"power": 1}),
        ("counts that stay on the device", {"there": True}),
    ],
    rules=[
        traffic_at_most(lambda: _moved_case((8, 5, 3), 5, 4, range(10), 4), up=5, down=1, waits=1,
                        least=16 * 4 * 4),
    ],
)


# row_means: a mask replaced by where


def _row_means(x, low, high):
    x = x.get() if is_on_device(x) else x
    means = np.zeros(len(x), x.dtype)
    for i, row in enumerate(x):
        kept = np.minimum(row, row.dtype.type(high))[row > low]
        if len(kept):
            means[i] = kept.mean(dtype=np.float64)
    return means


def _clipped_means(x, low, high, *, clip=True, drop=False, by="kept", guard=True, keep=np.greater,
                   double=False, multiply=False, host=False):
    """The right answer; each of the keywords changes one thing."""
    x = x.get()
    kept = keep(x, low) & (x <= high) if drop else keep(x, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        clipped = np.minimum(x, x.dtype.type(high)) if clip else x
        total = (clipped * kept if multiply else np.where(kept, clipped, 0)).sum(axis=1)
        count = {"kept": kept, "row": kept | True, "nonzero": kept & (x != 0)}[by].sum(axis=1)
        means = total / (np.maximum(count, 1) if guard else count)
    means = means if double else means.astype(x.dtype)
    return means if host else _cupy().asarray(means)


def _means_case(rows: int, columns: int, seed: int, dtype=np.float32, low: float = 0.5,
                high: float = 4.0) -> Case:
    random = np.random.default_rng(seed)
    x = random.normal(2, 3, (rows, columns)).astype(dtype)
    x[1, seed % 2:] = -7  # nothing to keep, or a single number
    x[-1, ::3] = np.nan  # not greater than anything
    x[0, :2] = 0, 40  # a zero that counts where `low` is less
    x[2, :2] = low  # not above it
    return _cupy().asarray(x if seed % 3 else np.asfortranarray(x)), low, high


row_means = Task(
    "row_means", _row_means, right=_clipped_means,
    cases=lambda: [_means_case(6, 9, 1), _means_case(5, 300, 2), _means_case(4, 33, 3, low=-1.0),
                   _means_case(5, 20, 6, np.float64, low=-3.0, high=-0.25)],
    read=lambda value, case: _from_device(value),
    rtol=1e-5,
    mistakes=[
        ("a sum divided by the length of the row; divide by the number kept", {"by": "row"}),
        ("a kept zero left out of the count", {"by": "nonzero"}),
        ("values above `high` as they were; they count as `high`", {"clip": False}),
        ("zero divided by zero in a row that keeps nothing", {"guard": False}),
        ("a result in float64: dividing by an integer array widens float32", {"double": True}),
        ("values multiplied by the mask: 0 * nan is nan. `where` chooses", {"multiply": True}),
        ("values at `low` kept as well; only those above it count", {"keep": np.greater_equal}),
        ("values above `high` left out; they count as `high`", {"drop": True}),
        ("the values below `low`", {"keep": np.less}),
        ("a result that was copied to the host", {"host": True}),
    ],
    rules=[
        traffic_at_most(lambda: _means_case(4, 12, 4)),
        _no_loop(lambda: _means_case(3, 5, 5),
                 lambda: _means_case(90, 5, 5),
                 lambda: _means_case(3, 90, 5)),
    ],
)
