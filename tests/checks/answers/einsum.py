"""Right answers besides the solution, and wrong ones that are no known mistake."""

import functools
import itertools

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

LETTERS = {
    "column_sums": "...j->j".replace("...", "k"),
    "traces": "zaa->z",
    "row_dots": "nm,nm->n",
    "outer": "a,b",
    "gram": "ij,kj",
    "scaled": "abcd,b->abcd",
    "pooled": "bs,bsd->bd",
    "quadratic": "bi,ij,bj->b",
    "heads": "btm,hmd->bhtd",
    "mixed": "bhts,bshe->bthe",
}


def letters_missing_one(name):
    return {key: value for key, value in LETTERS.items() if key != "outer"}[name]


def einsum_aligned(subscripts, *operands):
    """Diagonals, then axes moved into one order and multiplied by broadcasting."""
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    found = "".join(terms)
    if not arrow:
        output = "".join(c for c in sorted(set(found)) if found.count(c) == 1)
    order = output + "".join(c for c in dict.fromkeys(found) if c not in output)
    sizes, product = {}, None
    for term, x in zip(terms, operands, strict=True):
        for letter, size in zip(term, x.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"{letter} is {sizes[letter]} and {size}")
        while len(set(term)) < len(term):
            letter = next(c for c in term if term.count(c) > 1)
            first, second = (k for k, c in itertools.islice(
                ((k, c) for k, c in enumerate(term) if c == letter), 2))
            x = np.diagonal(x, axis1=first, axis2=second)
            term = "".join(c for k, c in enumerate(term) if k not in (first, second)) + letter
        present = [c for c in order if c in term]
        x = x.transpose([term.index(c) for c in present])
        x = x.reshape([sizes[c] if c in term else 1 for c in order])
        product = x if product is None else product * x
    return product.sum(axis=tuple(range(len(output), len(order))), dtype=product.dtype)


def einsum_looping(subscripts, *operands):
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    found = "".join(terms)
    if not arrow:
        output = "".join(c for c in sorted(set(found)) if found.count(c) == 1)
    sizes = {}
    for term, x in zip(terms, operands, strict=True):
        for letter, size in zip(term, x.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"{letter} is {sizes[letter]} and {size}")
    result = np.zeros([sizes[c] for c in output], np.result_type(*operands))
    for index in np.ndindex(*sizes.values()):
        at = dict(zip(sizes, index))
        product = 1
        for term, x in zip(terms, operands):
            product = product * x[tuple(at[c] for c in term)]
        result[tuple(at[c] for c in output)] += product
    return result


def einsum_itself(subscripts, *operands):
    einsum_aligned(subscripts, *operands)  # raises where it must
    return np.einsum(subscripts, *operands)


def matmul_by_sets(subscripts, x, y, multiply=np.matmul):
    """Each array is turned by np.moveaxis, and its groups of axes are merged by -1."""
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    both = sorted(set(first) & set(second))
    groups = [c for c in both if c in output], [c for c in both if c not in output]
    alone = [c for c in first if c not in both], [c for c in second if c not in both]
    x, y = (np.moveaxis(a, [term.index(c) for c in (*groups[0], *own, *groups[1])], range(a.ndim))
            for a, term, own in ((x, first, alone[0]), (y, second, alone[1])))
    count = len(groups[0])
    inner = int(np.prod(x.shape[count + len(alone[0]):]))
    product = multiply(x.reshape(*x.shape[:count], -1, inner),
                       y.reshape(*y.shape[:count], -1, inner).swapaxes(-1, -2))
    letters = [*groups[0], *alone[0], *alone[1]]
    product = product.reshape(x.shape[:count + len(alone[0])]
                              + y.shape[count:count + len(alone[1])])
    return product.transpose([letters.index(c) for c in output])


def matmul_of_columns(subscripts, x, y):
    """The batch as rows of all products, the summed letters as one matrix for each."""
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    batch = "".join(c for c in output if c in first and c in second)
    left, right = ("".join(c for c in output if c in term and c not in batch)
                   for term in (first, second))
    inner = "".join(c for c in second if c not in output)
    sizes = {**dict(zip(first, x.shape)), **dict(zip(second, y.shape))}
    shape = [[sizes[c] for c in group] for group in (batch, left, inner, right)]
    many, rows, middle, columns = (int(np.prod(group)) for group in shape)
    x = np.transpose(x, list(map(first.index, batch + left + inner))).reshape(many, rows, middle)
    y = np.transpose(y, list(map(second.index, batch + inner + right)))
    product = np.matmul(x, y.reshape(many, middle, columns)).reshape(shape[0] + shape[1] + shape[3])
    return np.transpose(product, list(map((batch + left + right).index, output)))


def matmul_in_a_loop(subscripts, x, y):
    """Right, but it has a product for each index of the first letter of the batch."""
    first, second = subscripts.split("->")[0].split(",")
    output = subscripts.split("->")[1]
    both = [c for c in output if c in first and c in second]
    if not both:
        return matmul_by_sets(subscripts, x, y)
    at, rest = both[0], subscripts.replace(both[0], "")
    parts = zip(np.moveaxis(x, first.index(at), 0), np.moveaxis(y, second.index(at), 0))
    stack = np.stack([matmul_in_a_loop(rest, one, two) for one, two in parts])
    return np.moveaxis(stack, 0, output.index(at))


def matmul_in_a_short_loop(subscripts, x, y):
    """Right, but it has a product for each matrix of the batch, with little work for Python."""
    return matmul_by_sets(subscripts, x, y, lambda one, two: np.stack(
        [a @ b for a, b in zip(one, two)] if one.ndim == 3 else one @ two))


def matmul_by_broadcasting(subscripts, x, y):
    return matmul_by_sets(subscripts, x, y, lambda one, two: (
        one[..., None] * two[..., None, :, :]).sum(axis=-2, dtype=one.dtype))


def matmul_where_it_sums(subscripts, x, y):
    """Right, but where nothing is summed it multiplies by broadcasting, without `@`."""
    inputs, output = subscripts.split("->")
    summed = set(inputs) - set(output) - {","}
    return (matmul_by_sets if summed else matmul_by_broadcasting)(subscripts, x, y)


def matmul_for_show(subscripts, x, y):
    """Throws the product of `@` away: broadcasting makes the result."""
    matmul_by_sets(subscripts, x, y)
    return matmul_by_broadcasting(subscripts, x, y)


def matmul_reshaped_only(subscripts, x, y):
    """The second array gets its new shape by reshape where its axes should be turned."""
    first, second = subscripts.split("->")[0].split(",")
    order = sorted(second, key=lambda c: c not in first)
    sizes = dict(zip(second, y.shape))
    return matmul_by_sets(subscripts.replace(f",{second}", f",{''.join(order)}"), x,
                          y.reshape([sizes[c] for c in order]))


def matmul_of_everything(subscripts, x, y):
    """All batches with each other, of which the diagonals are taken."""
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    inner = [c for c in first if c in second and c not in output]
    letters = [c for c in first if c not in inner] + [c for c in second if c not in inner]
    axes = [first.index(c) for c in inner], [second.index(c) for c in inner]
    product = np.tensordot(x, y, axes)
    for c in sorted({c for c in letters if letters.count(c) > 1}):
        one = letters.index(c)
        two = letters.index(c, one + 1)
        product = np.diagonal(product, axis1=one, axis2=two)
        letters = [k for n, k in enumerate(letters) if n not in (one, two)] + [c]
    return product.transpose([letters.index(c) for c in output])


def matmul_turned_back_wrongly(subscripts, x, y):
    """The inverse of the last transpose, which is right wherever two axes are exchanged."""
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    order = sorted(output, key=lambda c: (c not in first or c not in second, c not in first))
    product = matmul_by_sets(f"{inputs}->{''.join(order)}", x, y)
    return product.transpose([output.index(c) for c in order])


def matmul_of_rows_and_columns(subscripts, x, y):
    """Each result is a row times a column: kept letters are batch axes, stretched if missing."""
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    sizes = {**dict(zip(first, x.shape)), **dict(zip(second, y.shape))}
    inner = [c for c in first if c not in output]

    def bring(a, term):
        a = a.transpose([term.index(c) for c in (*output, *inner) if c in term])
        return a.reshape([sizes[c] if c in term else 1 for c in output]
                         + [int(np.prod([sizes[c] for c in inner]))])

    return (bring(x, first)[..., None, :] @ bring(y, second)[..., None])[..., 0, 0]


def matmul_of_rows(subscripts, x, y):
    """The own letters of the left array are batch axes: each product has a single row."""
    return matmul_by_sets(subscripts, x, y, lambda one, two: (
        one[..., None, :] @ two[..., None, :, :])[..., 0, :])


def matmul_of_one_batch(subscripts, x, y):
    """All batch letters are one axis, and all matrices have one, also without batch letters."""
    def joined(one, two):
        product = np.matmul(one.reshape(-1, *one.shape[-2:]), two.reshape(-1, *two.shape[-2:]))
        return product.reshape(*one.shape[:-1], two.shape[-1])

    return matmul_by_sets(subscripts, x, y, joined)


def matmul_by_hand(subscripts, x, y, *, own_orders=False, empty_axes=True):
    """Right with its defaults. `own_orders`: each array joins its summed letters as they stand."""
    inputs, output = subscripts.split("->")
    first, second = inputs.split(",")
    sizes = {**dict(zip(first, x.shape)), **dict(zip(second, y.shape))}
    batch = [c for c in first if c in second and c in output]
    inner = [c for c in first if c in second and c not in output]
    left, right = [c for c in first if c not in second], [c for c in second if c not in first]

    def joined(a, term, *groups):
        a = a.transpose([term.index(c) for group in (batch, *groups) for c in group])
        return a.reshape([sizes[c] for c in batch] + [
            int(np.prod([sizes[c] for c in group])) for group in groups if group or empty_axes])

    x = joined(x, first, left, inner)
    y = joined(y, second, [c for c in second if c in inner] if own_orders else inner, right)
    order = batch + left + right
    product = (x @ y).reshape([sizes[c] for c in order])
    return product.transpose([order.index(c) for c in output])


def convolution_by_offsets(x, filters):
    rows, columns = (n - m + 1 for n, m in zip(x.shape[2:], filters.shape[2:]))
    total = 0
    for i, j in np.ndindex(filters.shape[2:]):
        part = x[:, :, i:i + rows, j:j + columns]
        total = total + np.tensordot(part, filters[:, :, i, j], axes=(1, 1))
    return total.transpose(0, 3, 1, 2)


def convolution_by_product(x, filters):
    windows = sliding_window_view(x, filters.shape[2:], axis=(2, 3)).transpose(0, 2, 3, 1, 4, 5)
    rows = windows.reshape(*windows.shape[:3], -1)
    return (rows @ filters.reshape(len(filters), -1).T).transpose(0, 3, 1, 2)


def convolution_looping(x, filters):
    height, width = filters.shape[2:]
    return np.stack([np.stack([
        np.einsum("ncij,ocij->no", x[:, :, r:r + height, s:s + width], filters)
        for s in range(x.shape[3] - width + 1)], axis=-1)
        for r in range(x.shape[2] - height + 1)], axis=-2)


def einsum_stretching_later_ones(subscripts, *operands):
    """Lets a size of 1 pass that comes after another size, and a term of too many letters."""
    sizes = {}
    for term, x in zip(subscripts.partition("->")[0].split(","), operands):
        if len(term) < x.ndim:
            raise ValueError(term)
        for letter, size in zip(term, x.shape):
            if sizes.setdefault(letter, size) != size and size != 1:
                raise ValueError(letter)
    shaped = [np.broadcast_to(x, [sizes[c] for c in term[:x.ndim]]) for term, x in zip(
        subscripts.partition("->")[0].split(","), operands)]
    return einsum_aligned(subscripts, *shaped)


def forgetting_a_size_of_0(subscripts, *operands):
    """Takes a size of 0 for one that is not known yet."""
    sizes = {}
    for term, x in zip(subscripts.partition("->")[0].split(","), operands):
        if len(term) != x.ndim or any(
                sizes.get(c) and sizes[c] != n for c, n in zip(term, x.shape)):
            raise ValueError(term)
        sizes.update(zip(term, x.shape))
    if 0 in [n for x in operands for n in x.shape]:
        return np.zeros([sizes[c] for c in subscripts.split("->")[1]])
    return RIGHT["my_einsum"][0](subscripts, *operands)  # no name here looks like np.einsum


def taking_one_diagonal(subscripts, *operands):
    """Takes one diagonal of an array, which is too few for a letter that stands three times."""
    if any(term.count(c) > 2 for term in subscripts.partition("->")[0].split(",") for c in term):
        raise ValueError("axes don't match array")
    return einsum_aligned(subscripts, *operands)


def einsum_of_the_core(subscripts, *operands):
    from numpy._core.multiarray import c_einsum

    terms = subscripts.partition("->")[0].split(",")
    sizes = {}
    for term, operand in zip(terms, operands):
        for letter, size in zip(term, operand.shape):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(letter)
    return c_einsum(subscripts, *operands)


def grey_and_colours(name):
    return {"grey": "yxc,c->yx", "colour_sums": "yxc->c"}[name]


def right_letters(name):
    return {"weighted": "tyx,t->yx", "masked": "tyx,yx->t", "turned": "nj,ij->ni",
            "products": "nij,njk->nik"}[name]


def repaired_but(part, written):
    return lambda name: written if name == part else right_letters(name)


def letters_by_hand(x, y):
    return (x.transpose(1, 0, 2) @ y.transpose(1, 2, 0)).transpose(2, 0, 1)


def einsum_from_outer_products(subscripts, *operands):
    """All operands as one outer product, whose diagonals are taken and summed."""
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    found = "".join(terms)
    if not arrow:
        output = "".join(c for c in sorted(found) if found.count(c) == 1)
    sizes, product = {}, np.ones((), np.result_type(*operands))
    for term, x in zip(terms, operands):
        if len(term) != x.ndim or any(sizes.setdefault(c, n) != n for c, n in zip(term, x.shape)):
            raise ValueError(term)
        product = np.multiply.outer(product, x)
    letters = list(found)
    for c in dict.fromkeys(found):
        while letters.count(c) > 1:
            first = letters.index(c)
            second = letters.index(c, first + 1)
            product = np.diagonal(product, axis1=first, axis2=second)
            letters = [one for k, one in enumerate(letters) if k not in (first, second)] + [c]
    for c in [c for c in letters if c not in output]:
        product = product.sum(axis=letters.index(c), dtype=product.dtype)
        letters.remove(c)
    return product.transpose([letters.index(c) for c in output])


def einsum_of_strides(subscripts, *operands):
    """A view of each operand with one axis for each letter: a repeated letter adds its strides."""
    inputs, arrow, output = subscripts.partition("->")
    terms, sizes, product = inputs.split(","), {}, 1
    found = "".join(terms)
    if not arrow:
        output = "".join(c for c in sorted(found) if found.count(c) == 1)
    for term, x in zip(terms, operands):
        if len(term) != x.ndim or any(sizes.setdefault(c, n) != n for c, n in zip(term, x.shape)):
            raise ValueError(term)
    order = output + "".join(c for c in sizes if c not in output)
    for term, x in zip(terms, operands):
        strides = [sum(step for c, step in zip(term, x.strides) if c == k) for k in order]
        product = product * as_strided(x, [sizes[c] for c in order], strides)
    return product.sum(axis=tuple(range(len(output), len(order))), dtype=operands[0].dtype)


RIGHT = {
    "first_letters": [
        grey_and_colours,
        lambda name: {"grey": "...a,a", "colour_sums": "ijk->k"}[name],
    ],
    "repaired": [
        right_letters,
        lambda name: {"weighted": "a...,a", "masked": "tij,ij", "turned": "ac,bc",
                      "products": "...ab,...bc->...ac"}[name],
    ],
    "by_matmul": [
        letters_by_hand,
        lambda x, y: (y.swapaxes(0, 1) @ x.transpose(1, 2, 0)).swapaxes(0, 1),
    ],
    "letters": [lambda name: LETTERS[name]],
    "letters_to_matmul": [matmul_by_sets, matmul_of_columns, matmul_of_one_batch],
    "my_einsum": [einsum_aligned, einsum_from_outer_products, einsum_of_strides],
    "convolution": [convolution_by_offsets, convolution_by_product],
    "low_rank_scores": [
        lambda x, u, v, y: (x @ u) @ (y @ v).T,
        lambda x, u, v, y: np.einsum("td,dr,er,ke->tk", x, u, v, y, optimize="optimal"),
        lambda x, u, v, y: x.dot(u).dot(y.dot(v).T),
        lambda x, u, v, y: np.inner(np.tensordot(x, u, 1), np.dot(y, v)),
        lambda x, u, v, y: np.linalg.multi_dot([x, u, v.T, y.T]),
        lambda x, u, v, y: ((x @ u)[:, None] * (y @ v)).sum(axis=-1, dtype=x.dtype),
    ],
    "fixed": [
        lambda q, k, v: np.einsum("bthd,bshd,bshe->bthe", q, k, v),
        lambda q, k, v: np.einsum("bthd,bhde->bthe", q, np.einsum("bshd,bshe->bhde", k, v)),
        lambda q, k, v: (q.swapaxes(1, 2) @ k.transpose(0, 2, 3, 1) @ v.swapaxes(1, 2)).swapaxes(
            1, 2),
    ],
}

WRONG = {
    "first_letters": [
        (lambda name: {"grey": "yxc,c->yx"}[name], "for name='colour_sums': it raised KeyError"),
        (lambda name: "yxc,c->yx", "2 operands, but 1 was given"),
        (lambda name: {"grey": "yxc,c->c", "colour_sums": "yxc->c"}[name], "expected shape"),
        (lambda name: {"grey": "yyc,c->yy", "colour_sums": "yxc->c"}[name], "letter y"),
    ],
    "repaired": [
        (lambda name: {"weighted": "tyx,s->yx", "masked": "tyx,xy->t", "turned": "nj,ij->ni",
                       "products": "nij,nik->njk"}[name], "no frame gets its own weight"),
        (repaired_but("masked", "tyx,xy->t"), "letter x is"),
        (repaired_but("turned", "nj,ji->ni"), "letter j is"),
        (repaired_but("products", "nij,nik->njk"), "letter i is"),
        (repaired_but("products", "nij,njk->nki"), "expected shape"),
        (repaired_but("weighted", "tyx,t->xy"), "expected shape"),
        (repaired_but("weighted", "tyx,y->yx"), "letter y is"),
        (lambda name: {"weighted": "tyx,t->yx"}[name], "it raised KeyError"),
        (lambda name: name == "turned", "expected letters as a string"),
    ],
    "by_matmul": [
        (lambda x, y: np.einsum("tbd,kbd->kbt", x, y), "let one `@` do all."),
        (lambda x, y: (y[:, :, None] * x.swapaxes(0, 1)).sum(axis=-1), "let one `@` do all."),
        (lambda x, y: np.stack([y[:, b] @ x[:, b].T for b in range(x.shape[1])], axis=1),
         "`@` does [80, 80, 80] operations"),
        (lambda x, y: x.transpose(1, 0, 2) @ y.transpose(1, 2, 0), "order b, t, k"),
        (lambda x, y: (x.transpose(1, 0, 2) @ y.transpose(1, 2, 0)).transpose(1, 2, 0),
         "expected shape"),
        (lambda x, y: (x.transpose(1, 0, 2) @ y.transpose(1, 2, 0)).reshape(
            len(y), -1, len(x)),
         "values are wrong"),
        (lambda x, y: x.transpose(1, 0, 2) @ y.transpose(2, 0, 1), "it raised ValueError"),
    ],
    "letters": [
        (lambda name: None, "Is a `return` missing?"),
        (lambda name: 3, 'expected letters as a string, such as "ij", got an int'),
        (lambda name: "ij->jz", "letter z stands right of the arrow"),
        (lambda name: "ijk->k", "which is 2 axes"),
        (letters_missing_one, "for name='outer': it raised KeyError"),
    ],
    "letters_to_matmul": [
        (lambda subscripts, x, y: np.einsum(subscripts, x, y), "it calls np.einsum"),
        (matmul_by_broadcasting, "let one `@` do all."),
        (matmul_of_everything, "let one `@` do all."),
        (matmul_for_show, "other functions do"),
        (matmul_of_rows_and_columns, "an own letter belongs to the rows or columns"),
        (matmul_of_rows, "an own letter belongs to the rows or columns"),
        (functools.partial(matmul_by_hand, own_orders=True), "expected"),
        (functools.partial(matmul_by_hand, empty_axes=False),
         "it raised ValueError"),
        (lambda subscripts, x, y: matmul_by_sets(subscripts, x, y).astype(np.float64),
         "expected dtype"),
        (matmul_where_it_sums, 'for "ij,kl->ljki" `@` does [] operations'),
        (matmul_in_a_loop, "it loops in Python"),
        (matmul_in_a_short_loop, "`@` does [120, 120] operations, where the letters need 240"),
        (lambda subscripts, x, y: x @ y, "it raised ValueError"),
        (matmul_reshaped_only, "expected"),
        (matmul_turned_back_wrongly, "expected"),
        (lambda subscripts, x, y: matmul_by_sets(subscripts, x, y).tolist(), "got a list"),
    ],
    "my_einsum": [
        (einsum_looping, "it loops in Python"),
        (einsum_stretching_later_ones, "it should raise ValueError (letter j is 5 and 1)"),
        (forgetting_a_size_of_0, "it should raise ValueError (letter j is 0 in operand 0"),
        (taking_one_diagonal, "it raised ValueError: axes don't match array"),
        (einsum_itself, "it calls np.einsum"),
        (einsum_of_the_core, "it calls np.einsum"),
        (lambda subscripts, *operands: einsum_aligned(subscripts, *operands).tolist(),
         "expected a float64 array of shape (3, 5), got a list"),
        (lambda subscripts, a, b: a @ b, "my_einsum(subscripts, *operands)"),
        (lambda subscripts, *operands: operands[0], "expected shape (3, 5), got (3, 4)"),
    ],
    "convolution": [
        (convolution_looping, "it loops in Python"),
        (lambda x, filters: convolution_by_product(x, filters).astype(np.float64),
         "expected dtype float32, got float64"),
        (lambda x, filters: None, "Is a `return` missing?"),
    ],
    "low_rank_scores": [
        (lambda x, u, v, y: ((x @ u) @ v.T) @ y.T, "suffice"),
        (lambda x, u, v, y: x @ (u @ v.T) @ y.T, "suffice"),
        (lambda x, u, v, y: np.einsum("td,dr,er,ke->tk", x, u, v, y), "suffice"),
        (lambda x, u, v, y: (np.asarray(x).view(np.ndarray) @ np.asarray(u))
         @ (np.asarray(y) @ np.asarray(v)).T, "could be counted"),
        (lambda x, u, v, y: np.einsum(x, [0, 1], u, [1, 2], v, [3, 2], y, [4, 3], [0, 4]),
         "the letters as a string"),
        (lambda x, u, v, y: ((x @ u)[:, None] * (y @ v)).sum(axis=-1), "expected dtype int32"),
    ],
    "fixed": [
        (lambda q, k, v: _fixed_in_place(q, k, v), "changed its argument in place"),
        (lambda q, k, v: np.einsum("bthd,bshd->bhts", q, k), "expected shape"),
        (lambda q, k, v: np.einsum("bhts,bthe->bthe", np.einsum("bthd,bshd->bhts", q, k), v),
         "values are wrong"),
        (lambda q, k, v: np.einsum("bhst,bshe->bthe", np.einsum("bthd,bshd->bhts", q, k), v),
         "values are wrong"),
        (lambda q, k, v: q @ k.swapaxes(2, 3) @ v, "values are wrong"),  # pairs heads, not places
        (lambda q, k, v: (np.einsum("bthd,bshd->btsh", q, k)[..., None] * v[:, None]).sum(axis=2),
         "expected dtype int32"),
        (lambda q, k: q, "it must take 3 arguments"),
    ],
}


def _fixed_in_place(q, k, v):
    q *= 1.5
    return np.einsum("bthd,bshd,bshe->bthe", q, k, v)
