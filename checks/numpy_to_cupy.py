"""The tasks from NumPy to CuPy: benchmarks, copies, launches, waits."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import numpy as np

from .machinery.task import (
    Case,
    Mistake,
    Refusal,
    Rule,
    Task,
    Trial,
    describe_value,
    hint_at_return,
    is_on_device,
    no_python_loop,
    require_tuple,
)


def _cupy():
    import cupy  # here, so that this module can be imported before helpers.start()

    return cupy


def _from_device(value: object, what: str = "the result") -> np.ndarray:
    """A result on the host; a Refusal where it was not on the device."""
    if not is_on_device(value):
        raise Refusal(f"{what} must stay on the device, as a CuPy array; it is"
                      f" {describe_value(value)}.{hint_at_return(value)}")
    return value.get()


def traffic_at_most(case: Callable[[], Case], up: int = 0, down: int = 0,
                    waits: int | None = 0) -> Rule:
    """In `case` at most `up` copies to the device, `down` to the host, and `waits` waits."""

    def rule(answer: Callable, trials: Sequence[Trial]) -> str | None:
        from helpers.transfers import traffic

        seen = traffic(answer, *case())
        for copies, limit, where in ((seen.to_device, up, "to the device"),
                                     (seen.to_host, down, "to the host")):
            if len(copies) > limit:
                return (f"the number of its copies {where} is {len(copies)}, where {limit} suffice."
                        + _hint_at_line(seen))
        if waits is not None and seen.waits > waits:
            return f"it waits for the device; number of waits: {seen.waits}.{_hint_at_line(seen)}"
        return None

    return rule


def _no_loop(*makers: Callable[[], Case]) -> Rule:
    """`no_python_loop` with cases that are on the device, made when they are needed."""
    return lambda answer, trials: no_python_loop(*(make() for make in makers))(answer, trials)


def _hint_at_line(seen) -> str:
    """A sentence with the first line that copies to the host or waits, else that copies."""
    for line in sorted(seen.lines, key=lambda line: not (line.waits or line.to_host)):
        if line.waits or line.to_host or line.to_device:
            return f" Look at the line `{line.text.strip()}`."
    return ""


# largest_error, a warm-up of the lesson: arrays of both libraries compared on the host


def _make_largest_error(take=np.max, size=np.abs, number=float):
    def largest_error(x, reference):
        x = x.get() if is_on_device(x) else x
        return number(take(size(x - reference)))

    return largest_error


def _error_case(*shape: int, seed: int, dtype=np.float32, on_device: bool = True) -> Case:
    random = np.random.default_rng(seed)
    reference = random.normal(0, 50, shape)
    x = (reference + random.normal(0, 1, shape)).astype(dtype)
    x.ravel()[0] -= 7  # the largest difference is negative
    x, reference = (np.asarray(array, dtype, order="CF"[seed % 2]) for array in (x, reference))
    return _cupy().asarray(x) if on_device else x, reference


def _read_number(value: object, case: Case) -> object:
    if not isinstance(value, float):  # NumPy's float64 is one, too
        raise Refusal(f"it must return a Python float; it returned {describe_value(value)}.")
    return value


largest_error = Task(
    name="largest_error",
    spec=_make_largest_error(),
    cases=lambda: [_error_case(9, seed=1), _error_case(4, 5, seed=2, dtype=np.float64),
                   _error_case(3, 1, 7, seed=3, on_device=False), _error_case(1, 1, seed=4),
                   _error_case(6, seed=5, dtype=np.float64, on_device=False)],
    read=_read_number,
    mistakes=[
        Mistake("the largest difference with its sign; take the absolute value",
                _make_largest_error(size=np.positive)),
        Mistake("a mean of the differences", _make_largest_error(take=np.mean)),
        Mistake("a NumPy number instead of a Python float", _make_largest_error(number=np.asarray)),
    ],
)


# reading_speed, a warm-up of the lesson: launches and work at the same time
reading_speed = Task(
    name="reading_speed",
    spec=lambda n, launch, digit: n / max(launch, n * digit),
    cases=lambda: [(100, 3e-3, 1e-6), (8000, 2e-3, 5e-7), (100_000, 3e-3, 1e-6), (1, 0.5, 0.125),
                   (7, 1e-5, 2e-4)],
    mistakes=[
        Mistake("launches and work one after the other; the device computes meanwhile",
                lambda n, launch, digit: n / (launch + n * digit)),
        Mistake("the launches alone; with many digits the work takes longer",
                lambda n, launch, digit: n / launch),
        Mistake("the work alone; with few digits the launches take longer",
                lambda n, launch, digit: 1 / digit),
        Mistake("the shorter of the two times; the call ends when both are done",
                lambda n, launch, digit: n / min(launch, n * digit)),
        Mistake("the seconds of a call", lambda n, launch, digit: max(launch, n * digit)),
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


def _make_seconds(warm=True, before=True, early=False, together=False, summary=statistics.median):
    """`seconds` on a device not yet used; the keywords change one thing each."""

    def seconds(work, clock, synchronize):
        device = work.device.fresh()
        if warm:
            device.work()
        if together:
            if before:
                device.synchronize()
            begin = device.clock()
            for _ in range(5):
                device.work()
            end = device.clock()
            device.synchronize()
            return ((end if early else device.clock()) - begin) / 5
        taken = []
        for _ in range(5):
            if before:
                device.synchronize()
            begin = device.clock()
            device.work()
            end = device.clock()
            device.synchronize()
            taken.append((end if early else device.clock()) - begin)
        return summary(taken)

    return seconds


seconds = Task(
    name="seconds",
    spec=lambda work, clock, synchronize: _make_seconds()(work, clock, synchronize),
    cases=lambda: [
        _benchmark_case(0.0625, 2.0, 0.0),
        _benchmark_case(0.5, 0.125, 64.0),
        _benchmark_case(0.03125, 5.0, 7.0),
    ],
    mistakes=[
        Mistake("the time of a launch: the end is read before the device is done",
                _make_seconds(early=True)),
        Mistake("a sample that begins while the device still works on the call before",
                _make_seconds(before=False)),
        Mistake("samples without a warm-up", _make_seconds(warm=False)),
        Mistake("five calls in one sample: one slow call spoils it, and the launches overlap with"
                " the device's work", _make_seconds(together=True)),
        Mistake("a mean: one slow call spoils it. Take the median",
                _make_seconds(summary=statistics.fmean)),
        Mistake("the function as it was given, with all four faults",
                _make_seconds(warm=False, before=False, together=True, early=True)),
        Mistake("five calls in one sample, the first of them without a warm-up",
                _make_seconds(warm=False, before=False, together=True)),
        Mistake("a mean, and no warm-up: one slow call spoils it. Take the median",
                _make_seconds(warm=False, summary=statistics.fmean)),
        Mistake("the fastest call", _make_seconds(summary=min)),
        Mistake("the third sample, not the median", _make_seconds(summary=lambda taken: taken[2])),
        Mistake("the sum of the samples", _make_seconds(summary=sum)),
    ],
)


# contrast: the same function for both libraries, without traffic


def _make_contrast(spread="image", mean="image", guard=True, ddof=0, axis=1, weights="rows",
                   bend=True, double=False, host=False):
    """`contrast` for both libraries; the keywords change one thing each."""

    def contrast(images):
        xp = _cupy() if is_on_device(images) else np
        centred = images - images.mean(axis=(1, 2) if mean == "image" else None, keepdims=True)
        over = {"image": (1, 2), "batch": None, "rows": 2}[spread]
        deviation = centred.std(axis=over, keepdims=True, ddof=ddof)
        with np.errstate(divide="ignore", invalid="ignore"):
            if guard:
                deviation = xp.where(deviation > 0, deviation, 1)
            scaled = centred / deviation
        scaled = xp.tanh(scaled) if bend else scaled
        factors = np.array([1, 2, 3, 4, 4, 3, 2, 1]) / 20
        factors = xp.asarray(factors if double else factors.astype(images.dtype))
        factors = factors[:, None] if weights == "rows" else factors
        result = (scaled * factors).sum(axis=axis)
        return result.get() if host and is_on_device(result) else result

    return contrast


def _images(n: int, seed: int, dtype=np.float32, blank: int | None = None) -> np.ndarray:
    images = np.random.default_rng(seed).uniform(3, 4, (n, 8, 8)).astype(dtype)
    if blank is not None:
        images[blank] = 0.5
    return images


def _contrast_cases() -> list[Case]:
    cp = _cupy()
    strip = np.ascontiguousarray(_images(6, 4).swapaxes(0, 1)).reshape(8, 48)
    return [
        (_images(5, 1),),
        (_images(3, 2, blank=1),),
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
    name="contrast",
    spec=lambda images: _make_contrast()(images.get() if is_on_device(images) else images),
    cases=_contrast_cases,
    read=_read_contrast,
    rtol=1e-5,
    mistakes=[
        Mistake("a blank image divided by its spread of zero", _make_contrast(guard=False)),
        Mistake("one spread for the whole batch; each image has its own",
                _make_contrast(spread="batch")),
        Mistake("one mean for the whole batch; each image has its own",
                _make_contrast(mean="batch")),
        Mistake("one mean and one spread for the whole batch; each image has its own",
                _make_contrast(mean="batch", spread="batch")),
        Mistake("a spread for each row; each image has one", _make_contrast(spread="rows")),
        Mistake("a sum over the columns; the rows are summed", _make_contrast(axis=2)),
        Mistake("weights along the columns; they belong to the rows",
                _make_contrast(weights="columns")),
        Mistake("a spread with n - 1 below; take the plain standard deviation",
                _make_contrast(ddof=1)),
        Mistake("a result without the tanh", _make_contrast(bend=False)),
        Mistake("weights in float64, which widen the whole result", _make_contrast(double=True)),
        Mistake("a result that was copied to the host", _make_contrast(host=True)),
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


def _make_predict(read=lambda arrays, result: sum(x.nbytes for x in arrays),
           write=lambda result: result.nbytes, fused=False, views=0, double=True,
           slices="views"):
    """`predict`; the keywords count one thing otherwise each."""

    def predict(expression, rows, columns):
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

    return predict


def _written_out(arrays: list[CountingArray], result: CountingArray) -> int:
    return sum(int(np.prod(result.shape)) * x.itemsize for x in arrays)


predict = Task(
    name="predict",
    spec=lambda expression, rows, columns: _make_predict()(expression, rows, columns),
    cases=lambda: [(expression, rows, columns) for expression in EXPRESSIONS
                   for rows, columns in ((300, 71), (7, 1024))],
    part=lambda case: case[0],
    mistakes=[
        Mistake("one fused kernel: CuPy launches one for each operator, and writes what is between",
                _make_predict(fused=True)),
        Mistake("a row that is broadcast counted as if it were written out",
                _make_predict(read=_written_out)),
        Mistake("bytes that are written only; reading counts too",
                _make_predict(read=lambda arrays, result: 0)),
        Mistake("bytes that are read only; writing counts too",
                _make_predict(write=lambda result: 0)),
        Mistake("numbers instead of bytes",
                _make_predict(
                    read=lambda arrays, result: sum(x.nbytes // x.itemsize for x in arrays),
                    write=lambda result: result.nbytes // result.itemsize)),
        Mistake("a slice counted as a launch; it is a view", _make_predict(views=1)),
        Mistake("a slice that is copied; it is a view, and costs nothing",
                _make_predict(slices="copied")),
        Mistake("all columns counted after the slice, which keeps every other one",
                _make_predict(slices="ignored")),
        Mistake("float64 counted with four bytes", _make_predict(double=False)),
    ],
)


# assign: code that mixed arrays of both libraries


def _assign(images, centres, names):
    images = images.get() if is_on_device(images) else images
    distances = ((images[:, None] - centres) ** 2).sum(axis=2)
    answers = names[distances.argmin(axis=1)]
    return answers, np.bincount(answers, minlength=10)


def _make_assign(pick="argmin", named=True, length=10, dtype=None, power=2, once=False,
                 host=False):
    def assign(images, centres, names):
        cp = _cupy()
        images = images.get()
        distances = (np.abs(images[:, None] - centres) ** power).sum(axis=2)
        best = getattr(distances, pick)(axis=1)
        answers = names[best] if named else best
        counts = np.bincount(answers, minlength=length)
        counts = np.minimum(counts, 1) if once else counts
        counts = counts if dtype is None else counts.astype(dtype)
        return (answers, counts) if host else (cp.asarray(answers), cp.asarray(counts))

    return assign


def _assign_case(n: int, k: int, features: int, digits: Sequence[int], seed: int) -> Case:
    random = np.random.default_rng(seed)
    centres = random.normal(2, 3, (k, features)).astype(np.float32, order="FC"[n % 2])
    names = random.choice(digits, k)
    picks = random.integers(k, size=n)
    images = centres[picks] + random.normal(0, 0.6, (n, features)).astype(np.float32)
    return _cupy().asarray(images.astype(np.float32, order="CF"[n % 2])), centres, names[::-1]


def _read_assigned(value: object, case: Case) -> tuple:
    names = "answers", "counts"
    return tuple(map(_from_device, require_tuple(value, *names), names))


assign = Task(
    name="assign",
    spec=_assign,
    cases=lambda: [
        _assign_case(40, 12, 7, range(10), 1),
        _assign_case(25, 7, 3, (1, 4, 8), 2),
        _assign_case(9, 15, 64, range(3), 3),
    ],
    read=_read_assigned,
    mistakes=[
        Mistake("the number of the centre; look up its name", _make_assign(named=False)),
        Mistake("the centre farthest away", _make_assign(pick="argmax")),
        Mistake("counts up to the largest answer only; there are always ten",
                _make_assign(length=0)),
        Mistake("counts[answers] += 1, in which an index that comes twice counts once",
                _make_assign(once=True)),
        Mistake("counts that are floating-point numbers", _make_assign(dtype=np.float64)),
        Mistake("distances without the square", _make_assign(power=1)),
        Mistake("results that were copied to the host", _make_assign(host=True)),
    ],
    rules=[
        traffic_at_most(lambda: _assign_case(8, 5, 4, range(10), 4), up=2, waits=None),
        _no_loop(lambda: _assign_case(5, 4, 3, range(10), 5),
                 lambda: _assign_case(90, 4, 3, range(10), 5),
                 lambda: _assign_case(5, 90, 3, range(10), 5),
                 lambda: _assign_case(5, 4, 90, range(10), 5)),
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


def _make_row_means(clip=True, drop=False, by="kept", guard=True, keep=np.greater, double=False,
                multiply=False, host=False):
    def row_means(x, low, high):
        x = x.get()
        kept = keep(x, low) & (x <= high) if drop else keep(x, low)
        with np.errstate(divide="ignore", invalid="ignore"):
            clipped = np.minimum(x, x.dtype.type(high)) if clip else x
            total = (clipped * kept if multiply else np.where(kept, clipped, 0)).sum(axis=1)
            count = {"kept": kept, "row": kept | True, "nonzero": kept & (x != 0)}[by].sum(axis=1)
            if guard:
                count = np.maximum(count, 1)
            means = total / count
        means = means if double else means.astype(x.dtype)
        return means if host else _cupy().asarray(means)

    return row_means


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
    name="row_means",
    spec=_row_means,
    cases=lambda: [_means_case(6, 9, 1), _means_case(5, 300, 2), _means_case(4, 33, 3, low=-1.0),
                   _means_case(5, 20, 6, np.float64, low=-3.0, high=-0.25)],
    read=lambda value, case: _from_device(value),
    rtol=1e-5,
    mistakes=[
        Mistake("a sum divided by the length of the row; divide by the number kept",
                _make_row_means(by="row")),
        Mistake("a kept zero left out of the count", _make_row_means(by="nonzero")),
        Mistake("values above `high` as they were; they count as `high`",
                _make_row_means(clip=False)),
        Mistake("zero divided by zero in a row that keeps nothing", _make_row_means(guard=False)),
        Mistake("a result in float64: dividing by an integer array widens float32",
                _make_row_means(double=True)),
        Mistake("values multiplied by the mask: 0 * nan is nan. `where` chooses",
                _make_row_means(multiply=True)),
        Mistake("values at `low` kept as well; only those above it count",
                _make_row_means(keep=np.greater_equal)),
        Mistake("values above `high` left out; they count as `high`", _make_row_means(drop=True)),
        Mistake("the values below `low`", _make_row_means(keep=np.less)),
        Mistake("a result that was copied to the host", _make_row_means(host=True)),
    ],
    rules=[
        traffic_at_most(lambda: _means_case(4, 12, 4)),
        _no_loop(lambda: _means_case(3, 5, 5),
                 lambda: _means_case(90, 5, 5),
                 lambda: _means_case(3, 90, 5)),
    ],
)
