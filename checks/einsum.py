"""The tasks about einsum: letters, what they sum, and the order of the products."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from helpers.draw.contraction import Contraction

from .machinery.task import (
    Case,
    Refusal,
    Task,
    Trial,
    names_in,
    no_python_loop,
    require_type,
    rule,
)


def _random(shape: tuple, dtype: type = np.float64, seed: int = 1) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape) * 3 + 8
    return values.astype(dtype)


# What an answer does with its arrays


class RecordingArray(np.ndarray):
    """An array that records each operation done with it, and so do the results.

    `recorded_operations` makes one. Its `log` is a list of (name of the function, operations,
    pairs of matrices multiplied). A product counts a multiplication and an addition for
    each row, column and inner index.
    """

    def __array_finalize__(self, parent: object) -> None:
        self.log = getattr(parent, "log", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object,
                        out: tuple = (), **kwargs: object) -> object:
        if out:
            kwargs["out"] = tuple(map(_as_plain, out))
        result = getattr(ufunc, method)(*map(_as_plain, inputs), **kwargs)
        if ufunc.signature is not None:  # matmul or the like: the last axis is the inner one
            work = 2 * np.size(result) * np.shape(inputs[0])[-1]
            pairs = math.prod(np.broadcast_shapes(*(np.shape(x)[:-2] for x in inputs)))
        else:
            work, pairs = max(map(np.size, (*inputs, result))), 0
        self.log.append((ufunc.__name__, work, pairs))
        return _as_recording(result, self.log)

    def dot(self, other: object) -> object:
        """The method, counted as the function is."""
        return np.dot(self, other)

    def __array_function__(self, function: Callable, types: object, args: tuple,
                           kwargs: dict) -> object:
        if function is np.einsum:
            work = _einsum_operations(*map(_as_plain, args), optimize=kwargs.get("optimize", False))
        elif function in (np.dot, np.inner, np.vdot, np.tensordot):
            work = None
        else:
            return super().__array_function__(function, types, args, kwargs)
        result = function(*map(_as_plain, args), **{k: _as_plain(v) for k, v in kwargs.items()})
        if work is None:  # sizes of both operands and of the result: each extent twice
            sizes = np.size(args[0]), np.size(args[1]), np.size(result)
            work = 2 * math.isqrt(math.prod(sizes))
        self.log.append((function.__name__, work, 1))
        return _as_recording(result, self.log)


def _as_plain(x: object) -> object:
    return x.view(np.ndarray) if isinstance(x, RecordingArray) else x


def _as_recording(x: object, log: list) -> object:
    if not isinstance(x, np.ndarray):
        return x
    counted = x.view(RecordingArray)
    counted.log = log
    return counted


def _einsum_operations(subscripts: object, *operands: object, optimize: object) -> int:
    """Operations of one call of np.einsum, in the order of products that it chooses."""
    if not isinstance(subscripts, str):
        raise Refusal("its operations could not be counted: give np.einsum the letters as a"
                      " string.")
    whole = Contraction.read(subscripts, *operands)
    if len(operands) < 3 or not optimize:
        return whole.operations
    terms, total = list(whole.terms), 0
    for step in np.einsum_path(subscripts, *operands, optimize=optimize)[0][1:]:
        joined = [terms.pop(k) for k in sorted(step, reverse=True)]
        letters = set().union(*joined)
        kept = letters & set(whole.output).union(*terms)
        combinations = math.prod(whole.sizes[c] for c in letters)
        total += combinations * (len(joined) - 1 + (letters != kept))
        terms.append(tuple(kept))
    return total


def recorded_operations(answer: Callable, case: Case) -> list[tuple[str, int, int]]:
    """What `answer(*case)` does with the arrays of `case`, as (name, operations, pairs)."""
    log: list[tuple[str, int, int]] = []
    answer(*(_as_recording(x.copy(), log) if isinstance(x, np.ndarray) else x for x in case))
    return log


@rule
def fewest_operations(answer: Callable, trials: Sequence[Trial], *cases: Case,
                      subscripts: str) -> str | None:
    """In each of `cases`, no more operations than the cheapest order of pairs needs."""
    for case in cases:
        needed = Contraction.read(subscripts, *case).in_pairs()[0]
        done = sum(count for _, count, _ in recorded_operations(answer, case))
        shapes = ", ".join(str(x.shape) for x in case)
        if done < needed:
            return (f"for shapes {shapes} only {done:,} of its operations could be counted: compute"
                    " with the arrays that it gets, by np.einsum or @.")
        if done > 1.05 * needed:
            return (f"for shapes {shapes} it does {done:,} operations, where {needed:,} suffice."
                    " Which two arrays give something small, contracted first?")
    return None


@rule
def _calls_no_einsum(answer: Callable, trials: Sequence[Trial], case: Case) -> str | None:
    if (any("einsum" in name for name in names_in(answer))
            or any(name == "einsum" for name, *_ in recorded_operations(answer, case))):
        return "it calls np.einsum, which this task does not allow."
    return None


# letters, and two warm-ups of the lesson


def _require_text(value: object, case: Case) -> str:
    return require_type(value, str, 'expected letters as a string, such as "ij", got')


def _task_of_letters(name: str, table: dict[str, tuple]) -> Task:
    """A task whose answer gives the letters for each name of `table`.

    `table` has for each name: right letters, the result without einsum, the operands' shapes, and
    wrong letters with the sentence that says what is wrong.
    """

    def operands_of(part: str) -> list[np.ndarray]:
        generator = np.random.default_rng(len(part))
        return [generator.integers(1, 10, shape) for shape in table[part][2]]

    def spec(name: str) -> np.ndarray:
        return table[name][1](*operands_of(name))

    def read(value: object, case: Case) -> np.ndarray:
        operands = operands_of(*case)
        try:
            Contraction.read(_require_text(value, case), *operands)
        except ValueError as error:
            raise Refusal(f'"{value}": {error}') from None
        return np.asarray(np.einsum(value, *operands))

    def answer_with(part: str, wrong: str) -> Callable:
        return lambda name: wrong if name == part else table[name][0]

    return Task(
        name=name, spec=spec, cases=lambda: [(part,) for part in table], read=read,
        part=lambda case: case[0],
        mistakes=[(looks_like, answer_with(part, wrong))
                  for part, (*_, known) in table.items() for wrong, looks_like in known.items()])


letters = _task_of_letters("letters", {
    "column_sums": ("ij->j", lambda x: x.sum(axis=0), ((4, 3),), {
        "ij->i": "sums of the rows: the letter right of the arrow is the axis that *stays*",
        "ij->": "the sum of everything: no letter was kept"}),
    "traces": ("bii->b", lambda x: np.trace(x, axis1=1, axis2=2), ((5, 3, 3),), {
        "bii->": "all traces added up: keep b",
        "bii->bi": "the diagonals, not yet summed"}),
    "row_dots": ("ij,ij->i", lambda x, y: (x * y).sum(axis=1), ((4, 3), (4, 3)), {
        "ij,ij->": "the sum over all rows: keep i",
        "ij,ij->ij": "the products, not yet summed",
        "ij,kj->ik": "each row of x with each row of y: the rows need the same letter"}),
    "outer": ("i,j->ij", lambda x, y: x[:, None] * y, ((3,), (4,)), {
        "i,j->ji": "the transposed outer product"}),
    "gram": ("ij,kj->ik", lambda x, y: x @ y.T, ((4, 3), (5, 3)), {
        "ij,kj->ki": "the transposed result: rows of x come first",
        "ij,kl->ik": "two letters, j and l, for the axis that x and y share: each is then summed"
                     " alone"}),
    "scaled": ("nchw,c->nchw", lambda x, s: x * s[:, None, None], ((2, 3, 4, 5), (3,)), {
        "nchw,c->nhw": "a sum over the channels: c must stay",
        "nchw,c": "the form without an arrow: it sums c, which appears twice, and puts the rest"
                  " into alphabetical order"}),
    "pooled": ("bt,btd->bd", lambda w, x: (w[:, :, None] * x).sum(axis=1), ((2, 5), (2, 5, 4)), {
        "bt,btd->btd": "weighted, not yet summed over t",
        "bt,bsd->bd": "two letters, t and s, for one axis: each is summed alone, so no weight is"
                      " multiplied by its own row"}),
    "quadratic": ("bi,ij,bj->b", lambda x, m, y: ((x @ m) * y).sum(axis=1),
                  ((4, 3), (3, 5), (4, 5)), {
        "bi,ij,cj->bc": "each x with each y: x and y need the same first letter",
        "bi,ij,bj->": "the sum over the batch: keep b"}),
    "heads": ("btm,hmd->bhtd", lambda x, w: x[:, None] @ w, ((2, 5, 6), (3, 6, 4)), {
        "btm,hmd->bthd": "axes in the order b, t, h, d: the result wants the heads before t",
        "btm,hnd->bhtd": "two letters, m and n, for one axis: each is summed alone"}),
    "mixed": ("bhtk,bkhd->bthd", lambda p, v: (p @ v.swapaxes(1, 2)).swapaxes(1, 2),
              ((2, 3, 4, 5), (2, 5, 3, 6)), {
        "bhtk,bkhd->bhtd": "axes in the order b, h, t, d: the result wants t before the heads",
        "bhtk,bkhd": "the form without an arrow: every letter that appears twice is summed, b and"
                     " h too"}),
})
first_letters = _task_of_letters("first_letters", {
    "grey": ("yxc,c->yx", lambda x, s: x @ s, ((4, 5, 3), (3,)), {
        "yxc,k->yx": "two letters for the colours: each is then summed alone",
        "yxc,c->yxc": "the products, not yet summed: c must not stand right of the arrow",
        "yxc,c->xy": "the transposed picture: rows come first"}),
    "colour_sums": ("yxc->c", lambda x: x.sum(axis=(0, 1)), ((4, 5, 3),), {
        "yxc->yx": "a sum over the colours: the letters right of the arrow are those that *stay*",
        "yxc->": "the sum of everything: keep the letter of the colours"}),
})
repaired = _task_of_letters("repaired", {
    "weighted": ("tyx,t->yx", lambda x, w: np.tensordot(w, x, 1), ((5, 3, 4), (5,)), {
        "tyx,s->yx": "the line as it was: t and s are two loops, so no frame gets its own weight",
        "tyx,t->tyx": "the weighted frames, not yet added: t must not stand right of the arrow"}),
    "masked": ("tyx,yx->t", lambda x, m: (x * m).sum(axis=(1, 2)), ((5, 3, 4), (3, 4)), {
        "tyx,yx->tyx": "the masked frames, not yet added",
        "tyx,yx->": "the sum over all frames: keep t"}),
    "turned": ("nj,ij->ni", lambda x, m: x @ m.T, ((5, 3), (2, 3)), {
        "nj,ij->in": "the transposed result: points come first"}),
    "products": ("nij,njk->nik", lambda x, y: x @ y, ((5, 3, 4), (5, 4, 2)), {
        "nij,mjk->nik": "each matrix with the sum of all others: n must stand in both arrays",
        "nij,njk->ik": "the sum of all products: keep n"}),
})

# letters_to_matmul, and by_matmul, a warm-up of the lesson: one product of matrices


def _number_as_array(value: object, case: Case) -> object:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return np.asarray(value) if number else value


@rule
def _all_by_matmul(answer: Callable, trials: Sequence[Trial], *cases: Case,
                   letters: str | None = None) -> str | None:
    """In each of `cases`, products of matrices do all work, one for each index of the batch."""
    for case in cases:
        log, case = recorded_operations(answer, case), (letters, *case) if letters else case
        found = Contraction.read(*case)
        needed = 2 * found.combinations
        batch = math.prod(found.sizes[c] for c in set.intersection(*map(set, found.terms))
                          if c in found.output)
        products = [count for name, count, _ in log
                    if name in ("matmul", "dot", "inner", "vdot", "tensordot")]
        others = sum(count for _, count, _ in log) - sum(products)
        if products != [needed] or others:
            return (f'for "{case[0]}" `@` does {products} operations, where the letters need'
                    f" {needed:,}, and other functions do {others:,}: let one `@` do all.")
        if (pairs := max(pairs for _, _, pairs in log)) != batch:
            return (f'for "{case[0]}" `@` multiplies {pairs} pairs of matrices, where {batch} would'
                    " do: an own letter belongs to the rows or columns, not to the batch.")
    return None


def _in_order_of_groups(subscripts, x, y):
    arrays, output = subscripts.split("->")
    first, second = arrays.split(",")
    order = sorted(output, key=lambda c: (c not in first or c not in second, c not in first))
    return np.asarray(np.einsum(f"{arrays}->{''.join(order)}", x, y))


by_matmul = Task(
    "by_matmul", lambda x, y: np.einsum("tbd,kbd->kbt", x, y),
    cases=lambda: [
        (_random((2, 3, 4)), _random((5, 3, 4), seed=2)),
        (-_random((5, 2, 3), np.int64).T, -_random((5, 2, 4), np.int64, 2).T)],
    mistakes=[
        ("the product's order b, t, k", lambda x, y: np.einsum("tbd,kbd->btk", x, y))],
    rules=[_all_by_matmul((_random((2, 3, 4)), _random((5, 3, 4))), letters="tbd,kbd->kbt")])
letters_to_matmul = Task(
    "letters_to_matmul", lambda subscripts, x, y: np.asarray(np.einsum(subscripts, x, y)),
    cases=lambda: [(letters, np.array(_random(one, dtype), order="FC"[len(one) // 4]),
                    np.array(-_random(two, dtype, 2), order="CF"[len(two) % 2])[::-1])
                   for letters, one, two, dtype in (
        ("ij,jk->ik", (3, 4), (4, 5), np.float64),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5), np.float64),
        ("nchw,ochw->on", (4, 2, 3, 5), (6, 2, 3, 5), np.float32),
        ("tbcd,kbdc->btk", (6, 2, 3, 4), (7, 2, 4, 3), np.float64),
        ("bhtk,hbkd->dbth", (3, 3, 4, 5), (3, 3, 5, 6), np.float32),  # no swap of two axes
        ("xcy,zyx->cz", (3, 4, 2), (5, 2, 3), np.int64),
        ("ij,kl->ljki", (3, 4), (2, 5), np.float64),  # nothing summed
        ("i,ji->j", (3,), (4, 3), np.float64),
        ("ij,ji->", (3, 4), (4, 3), np.float64),  # nothing kept
        ("abc,cab->b", (2, 3, 4), (4, 2, 3), np.float64),
        ("ab,ab->ba", (3, 4), (3, 4), np.float64))],
    read=_number_as_array,
    mistakes=[
        ("a result whose axes stand in the order batch, left, right; the letters right of the arrow"
         " give the order", _in_order_of_groups)],
    rules=[
        _calls_no_einsum(("ij,jk->ik", _random((3, 4)), _random((4, 5)))),
        no_python_loop(*(("bij,bjk->bik", _random((2 * n, 3 * n, 4 * n)),
                          _random((2 * n, 4 * n, 5 * n))) for n in (1, 4))),
        _all_by_matmul(("bij,bjk->bik", _random((2, 3, 4)), _random((2, 4, 5))),
                       ("nchw,ochw->on", _random((4, 2, 3, 5)), _random((6, 2, 3, 5))),
                       ("ij,kl->ljki", _random((3, 4)), _random((2, 5)))),
    ],
    rtol=1e-5,
)

# my_einsum: einsum from broadcasting


def _my_einsum(subscripts, *operands):
    found = Contraction.read(subscripts, *operands)
    for term, shape in zip(found.terms, found.shapes):
        for letter, size in zip(term, shape):
            if size != found.sizes[letter]:
                raise ValueError(f"letter {letter} is {found.sizes[letter]} and {size}")
    return np.asarray(np.einsum(subscripts, *operands))


def _einsum_cases() -> list[Case]:
    table = _random((6, 8))
    return [
        ("ij,jk->ik", _random((3, 4)), _random((4, 5))),
        ("ij,jk->ki", _random((4, 3), np.float32).T, _random((8, 5), np.float32)[::2]),
        ("ij,jk", _random((3, 4)), _random((4, 5))),
        ("ba", _random((3, 4))),
        ("ij,jh", _random((3, 4)), _random((4, 5))),
        ("ii", _random((4, 4))),
        ("iii->i", _random((4, 4, 4), np.int64)),
        ("bii->b", _random((5, 9, 3))[:, ::3]),
        ("iij,jkk->ki", _random((3, 3, 4)), _random((4, 2, 2))),
        ("ij->", _random((3, 5), np.int32)),
        ("ij,jk->ki", _random((3, 0)), _random((0, 5))),
        ("ij,k->ik", _random((3, 4)), _random((5,))),
        ("nchw,oihw->no", _random((2, 3, 4, 5)), _random((3, 2, 4, 5))),
        ("i,j,k->kji", _random((2,)), _random((3,)), _random((4,))),
        ("i,i,i->i", _random((4,)), table[0, ::2], _random((4,))),
        ("bhtd,bhkd->bhtk", _random((2, 3, 4, 5), np.float32),
         _random((2, 3, 6, 5), np.float32)),
        ("ij,jk,kl->il", _random((3, 4)), _random((4, 2)), _random((5, 2))),  # k is 2 and 5
        ("ij,jk->ik", _random((3, 1)), _random((5, 2))),  # 1 is not stretched
        ("ij,jk->ik", _random((3, 5)), _random((1, 2))),
        ("ij,jk->ik", _random((3, 0)), _random((5, 2))),  # nor is 0
        ("ii->i", _random((3, 4))),
        ("ij->i", _random((3, 4, 2))),  # more axes than letters
        ("ijk->i", _random((3, 4))),
    ]


def _einsum_by_letters(subscripts, *operands, implicit: Callable | None = None,
                       output: Callable = lambda letters, order: letters,
                       summed: Callable = lambda letters, counts: letters, widen: bool = False,
                       stretch: bool = False, diagonal: bool = True) -> np.ndarray:
    """The right answer; each of the keywords changes one thing."""
    inputs, arrow, kept = subscripts.partition("->")
    found = "".join(inputs.split(","))
    if not arrow:
        once = (c for c in sorted(set(found)) if found.count(c) == 1)
        kept = implicit(found) if implicit else "".join(once)
    if not stretch:
        _my_einsum(f"{inputs}->{kept}", *operands)
    order = "".join(Contraction.read(f"{inputs}->{kept}", *operands).sizes)
    kept = output(kept, order)
    if not diagonal:  # repeated letters: sum over all rows and columns
        for k, term in enumerate(inputs.split(",")):
            for c in set(term):
                if term.count(c) > 1 and c not in kept:
                    operands = [*operands]
                    axis = term.rindex(c)
                    operands[k] = operands[k].sum(axis=axis, dtype=operands[k].dtype)
                    term = term[:axis] + term[axis + 1:]
            inputs = ",".join([*inputs.split(",")[:k], term, *inputs.split(",")[k + 1:]])
    counts = {c: sum(c in term for term in inputs.split(",")) for c in order}
    lost = [c for c in order if c not in kept]
    keep = [c for c in lost if c not in summed(lost, counts)]
    product = np.asarray(np.einsum(f"{inputs}->{kept}{''.join(keep)}", *operands))
    return product.astype(np.int64) if widen and product.dtype == np.int32 else product


my_einsum = Task(
    "my_einsum", _my_einsum, _einsum_cases, right=_einsum_by_letters,
    read=_number_as_array,
    mistakes=[
        ("an implicit output in the order of first appearance; it is alphabetical",
         {"implicit": lambda found: "".join(
             c for c in dict.fromkeys(found) if found.count(c) == 1)}),
        ("an implicit output that keeps every letter; those that appear twice are summed",
         {"implicit": lambda found: "".join(sorted(set(found)))}),
        ("a result whose axes stand in the order of first appearance; the letters right of the"
         " arrow give the order",
         {"output": lambda kept, order: "".join(c for c in order if c in kept)}),
        ("only the letters that appear in two operands were summed; those that stand in one alone"
         " and not right of the arrow are summed as well",
         {"summed": lambda lost, count: [c for c in lost if count[c] > 1]}),
        ("a repeated letter taken for two: it selects the diagonal, where both indices are equal",
         {"diagonal": False}),
        ("a size of 1 that was stretched by broadcasting: here a letter has one size, and anything"
         " else is a ValueError", {"stretch": True}),
        ("a sum that widened int32 to int64: tell `sum` the dtype of the product", {"widen": True}),
    ],
    rules=[
        _calls_no_einsum(("ij,jk->ik", _random((3, 4)), _random((4, 5)))),
        no_python_loop(("ij,jk->ik", _random((2, 3)), _random((3, 4))),
                       ("ij,jk->ik", _random((20, 30)), _random((30, 40)))),
    ],
    rtol=1e-5,
)


# convolution: windows plus einsum


def _convolution(x, filters):
    height, width = filters.shape[2:]
    rows, columns = x.shape[2] - height + 1, x.shape[3] - width + 1
    result = np.zeros((x.shape[0], filters.shape[0], rows, columns), x.dtype)
    for n, o, r, s in np.ndindex(result.shape):
        patch = x[n, :, r:r + height, s:s + width]  # all channels
        result[n, o, r, s] = (patch * filters[o]).sum()
    return result


def _convolution_of_windows(x, filters, *, letters="nchwij,ocij->nohw", flip=False):
    """The right answer, or another with other letters or with the filters flipped."""
    if x.shape[1] != filters.shape[1]:
        raise ValueError
    windows = sliding_window_view(x, filters.shape[2:], axis=(2, 3))
    return np.einsum(letters, windows, filters[:, :, ::-1, ::-1] if flip else filters)


def _convolution_cases() -> list[Case]:
    return [
        (_random((2, 3, 6, 7)), _random((4, 3, 3, 2), seed=2)),
        (_random((3, 2, 5, 8), np.float32), _random((5, 2, 1, 3), np.float32, seed=3)),
        (_random((1, 4, 9, 6), np.float32)[..., ::-1],
         _random((2, 4, 5, 4), np.float32, seed=4)),
        (_random((2, 1, 4, 5), np.int32), _random((3, 1, 4, 5), np.int32, seed=5)),
        (_random((4, 2, 8, 6)).swapaxes(0, 1), -_random((3, 4, 2, 2), seed=6).swapaxes(2, 3)),
    ]


convolution = Task(
    "convolution", _convolution, _convolution_cases, right=_convolution_of_windows,
    mistakes=[
        ("two letters for the channels: image and filter share the channels, so they need one"
         " letter", {"letters": "nchwij,oqij->nohw"}),
        ("flipped filters; here filter element [0, 0] is multiplied by the window's element [0, 0]",
         {"flip": True}),
        ("axes in the order n, rows, columns, filters", {"letters": "nchwij,ocij->nhwo"}),
        ("channels that were kept apart: c must be summed", {"letters": "nchwij,ocij->nochw"}),
        ("only the window at the upper left: the window's place and the place in the window need"
         " letters of their own",
         lambda x, f: np.einsum("ncij,ocij->no", x[:, :, :f.shape[2], :f.shape[3]], f)),
        ("a sum that widened int32 to int64: give `sum` a `dtype`",
         lambda x, f: (sliding_window_view(x, f.shape[2:], axis=(2, 3))[:, None]
                       * f[:, :, None, None]).sum(axis=(2, 5, 6))),
    ],
    rules=[no_python_loop((_random((1, 2, 5, 6)), _random((3, 2, 3, 3))),
                          (_random((2, 2, 30, 40)), _random((3, 2, 3, 3))))],
)


# low_rank_scores: contraction order by hand


def _rank_case(t: int, k: int, d: int, e: int, r: int, dtype: type = np.float64) -> Case:
    shapes = ((t, d), (d, r), (e, r), (k, e))
    return tuple(_random(shape, dtype, seed) for seed, shape in enumerate(shapes))


low_rank_scores = Task(
    "low_rank_scores", lambda x, u, v, y: x @ (u @ v.T) @ y.T,
    right=lambda x, u, v, y, letters: np.einsum(letters, x, u, v, y),
    cases=lambda: [
        _rank_case(7, 9, 6, 5, 2),
        _rank_case(5, 4, 8, 9, 3, np.float32),
        tuple(np.asfortranarray(-x) for x in _rank_case(6, 8, 7, 9, 2, np.int32)),
    ],
    mistakes=[
        ("the transposed scores: rows of x come first", {"letters": "td,dr,er,ke->kt"}),
        ("two letters for the rank: the columns of u and of v share one letter",
         {"letters": "td,dr,es,ke->tk"}),
        ("two letters for the features of y and of v: they share one letter",
         {"letters": "td,dr,er,kf->tk"}),
    ],
    rules=[fewest_operations(_rank_case(60, 80, 32, 24, 3), _rank_case(90, 50, 40, 64, 4),
                             subscripts="td,dr,er,ke->tk")],
)


# fixed: a wrong einsum repaired


def _attention(q, k, v):
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    return (q @ k.swapaxes(2, 3) @ v).swapaxes(1, 2)


def _by_letters(q, k, v, *, first="bthd,bshd->bhts", second="bhts,bshe->bthe"):
    return np.einsum(second, np.einsum(first, q, k), v)


def _attention_case(b: int, t: int, s: int, h: int, d: int, e: int,
                    dtype: type = np.float64) -> Case:
    shapes = ((b, t, h, d), (b, s, h, d), (b, s, h, e))
    return tuple(_random(shape, dtype, seed) for seed, shape in enumerate(shapes))


fixed = Task(
    "fixed", _attention, right=_by_letters,
    cases=lambda: [
        _attention_case(2, 4, 4, 3, 5, 5),  # sizes with which the broken function runs
        _attention_case(2, 4, 6, 3, 5, 7),
        _attention_case(3, 5, 2, 4, 6, 3, np.float32),
        tuple((-x)[:, ::-1, ::2] for x in _attention_case(2, 3, 5, 4, 2, 6, np.int32)),
    ],
    mistakes=[
        ("the function as it was: neither line is repaired",
         {"first": "bthd,bshe->bhts", "second": "bhtt,bthe->bthe"}),
        ("the first line as it was: d and e are two letters for one axis, and each is summed alone",
         {"first": "bthd,bshe->bhts"}),
        ("the second line as it was: tt selects the diagonal of the scores, so each query gets"
         " only the key at its own place", {"second": "bhtt,bthe->bthe"}),
        ("axes in the order b, h, t, e: the result wants t before the heads",
         {"second": "bhts,bshe->bhte"}),
        ("heads that were mixed: q and k need the same letter for them",
         {"first": "bthd,bsgd->bhts"}),
    ],
)
