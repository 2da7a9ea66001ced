"""The picture of an einsum: its facts, its costs, and what it says of letters that cannot work."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from checks.einsum import recorded_operations
from helpers import draw
from helpers.draw.contraction import Contraction


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    yield
    plt.close("all")


def arrays(*shapes):
    rng = np.random.default_rng(0)
    return [rng.random(shape) for shape in shapes]


WORKING = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("ij,jh", (3, 4), (4, 5)),
    ("ba", (3, 4)),
    ("bii->b", (5, 3, 3)),
    ("ii", (3, 3)),
    ("i,j,k->kji", (2,), (3,), (4,)),
    ("i j , j k -> i k", (3, 4), (4, 5)),
    ("nchw,oihw->no", (2, 3, 4, 5), (6, 7, 4, 5)),
    ("...ij,...jk", (2, 3, 4), (5, 1, 4, 6)),
    ("...ij->...", (2, 3, 4)),
    ("i...->...i", (2, 3, 4)),
    ("...,i->i...", (), (3,)),
    ("ij,jk->ik", (3, 1), (5, 2)),
    ("ij->ji", (0, 4)),
    (",->", (), ()),
]


@pytest.mark.parametrize("subscripts, shapes", [(s, shapes) for s, *shapes in WORKING],
                         ids=[s for s, *_ in WORKING])
def test_reads_what_numpy_reads(subscripts, shapes, capsys):
    found = Contraction.read(subscripts, *shapes)
    assert found.shape == np.einsum(subscripts, *arrays(*shapes)).shape
    draw.einsum(subscripts, *shapes)
    printed = capsys.readouterr().out
    draw.einsum(subscripts, *arrays(*shapes))
    assert capsys.readouterr().out == printed


FAILING = [
    (("ij,jk->ik", (3, 4), (5, 2)), "letter j is 4 in operand 0, axis 1 of shape (3, 4), and 5 in"
                                    " operand 1, axis 0 of shape (5, 2)"),
    (("i,i,i->i", (1,), (4,), (3,)), "letter i is 4 in operand 1"),
    (("ii->i", (3, 4)), "axis 0 has 3 elements and axis 1 has 4"),
    (("ii->i", (1, 4)), "axis 0 has 1 elements and axis 1 has 4"),
    (("ij->iz", (3, 4)), "letter z stands right of the arrow, but in no operand"),
    (("ij->ii", (3, 4)), "letter i stands 2 times right of the arrow"),
    (("ijk->i", (3, 4)), 'shape (3, 4), which is 2 axes, but "ijk" names 3'),
    (("i->i", (3, 4)), 'shape (3, 4), which is 2 axes, but "i" names 1'),
    (("ij->i", (3,)), 'shape (3,), which is 1 axis, but "ij" names 2'),
    (("ij,jk", (3, 4)), '"ij,jk" has letters for 2 operands, but 1 was given'),
    (("ij", (3, 4), (4, 5)), '"ij" has letters for 1 operand, but 2 were given'),
    (("i1->i", (3, 4)), "the character '1'"),
    (("é->é", (3,)), "the character 'é'"),
    (("a->b->c", (3,)), "more than one arrow"),
    (("..i", (3,)), "not part of an ellipsis"),
    (("...i...->i", (3, 4)), "twice"),
    (("...ij->ij", (2, 3, 4)), "missing right of the arrow"),
]


@pytest.mark.parametrize("arguments, words", FAILING,
                         ids=[arguments[0] for arguments, _ in FAILING])
def test_letters_that_cannot_work_get_a_sentence(arguments, words):
    subscripts, *shapes = arguments
    with pytest.raises(ValueError) as raised:
        draw.einsum(subscripts, *shapes)
    assert words in str(raised.value)
    with pytest.raises(ValueError):  # NumPy refuses them too
        np.einsum(subscripts, *arrays(*shapes))


@pytest.mark.parametrize("arguments, words", [
    ((3, (3,)), "must be a string"),
    (("i", 3.0), "operand 0 must be an array, or a shape"),
    (("i", [3]), "not list"),
    (("i", (3.5,)), "the tuple (3.5,)"),
    (("i", (-3,)), "the tuple (-3,)"),
])
def test_other_objects_get_a_sentence(arguments, words):
    with pytest.raises(TypeError) as raised:
        draw.einsum(*arguments)
    assert words in str(raised.value)


def test_names_stand_in_the_message():
    with pytest.raises(ValueError, match=r"64 in operand 0 \(q\).* 32 in operand 1 \(k\)"):
        draw.einsum("td,kd->tk", (10, 64), (12, 32), names=("q", "k"))


def test_too_large_to_draw():
    with pytest.raises(ValueError, match="at most 6 operands and 12 letters"):
        draw.einsum("abcdefghijklm", (1,) * 13)


def test_text_says_who_meets_whom(capsys):
    draw.einsum("bhtd,bhkd->bhtk", np.ones((2, 3, 5, 7), np.float32),
                np.ones((2, 3, 6, 7), np.float32), names=("q", "k"))
    text = capsys.readouterr().out
    assert "result[b,h,t,k] = sum over d of q[b,h,t,d] * k[b,h,k,d]" in text
    rows = {line[0]: line for line in text.splitlines() if line[1:3] == "  "}
    assert [rows[c].split("axis")[-1][2:].strip() for c in "bhtkd"] == [
        "paired, kept", "paired, kept", "kept", "kept", "paired, summed"]
    assert "operations   2,520 = 2 x (2 x 3 x 5 x 6 x 7)" in text
    assert "q 840, k 1,008, result 720" in text and "intermediate none" in text


def test_text_names_what_is_unusual(capsys):
    draw.einsum("nc,oi->no", (2, 3), (4, 5))
    assert capsys.readouterr().out.count("summed alone") == 2
    draw.einsum("ij,jk->ik", (3, 1), (5, 2))
    assert "1 in A, stretched" in capsys.readouterr().out
    draw.einsum("bii->b", (5, 3, 3))
    text = capsys.readouterr().out
    assert "axes 1, 2" in text and "summed, diagonal of A" in text and "alone" not in text
    draw.einsum("ij->ji", (3, 4))
    assert "the result is a view" in capsys.readouterr().out


def test_cheapest_order_of_pairs(capsys):
    shapes = (10, 1000), (1000, 10), (10, 1000)
    operations, elements, steps = Contraction.read("ij,jk,kl->il", *shapes).in_pairs()
    assert (operations, elements, steps) == (400_000, 100, ["ij,jk->ik", "ik,kl->il"])
    draw.einsum("ij,jk,kl->il", *shapes)
    text = capsys.readouterr().out
    assert "300,000,000" in text and "400,000: ij,jk->ik, then ik,kl->il" in text
    assert "800 bytes at most" in text


@pytest.mark.parametrize("seed", range(6))
def test_pairs_give_the_result_with_fewer_operations(seed):
    rng = np.random.default_rng(seed)
    size = dict(zip("abcdef", rng.integers(2, 7, 6)))
    terms = ["".join(rng.permutation(list("abcdef"))[:3]) for _ in range(4)]
    letters = ",".join(terms) + "->" + "".join(sorted(set("".join(terms)))[:2])
    operands = arrays(*(tuple(size[c] for c in term) for term in terms))
    found = Contraction.read(letters, *operands)
    operations, _, steps = found.in_pairs()
    assert operations <= found.operations
    stack = list(zip(terms, operands))

    def take(term):
        return stack.pop([name for name, _ in stack].index(term))[1]

    for step in steps:
        pair, made = step.split("->")
        one, two = pair.split(",")
        stack.append((made, np.einsum(step, take(one), take(two))))
    ((_, result),) = stack
    assert np.allclose(result, np.einsum(letters, *operands))


def test_figure_sizes_are_whole_tenths_of_an_inch():
    for subscripts, *shapes in WORKING:
        draw.einsum(subscripts, *shapes)
        for length in plt.gcf().get_size_inches():
            assert round(length, 1) == pytest.approx(length)


@pytest.mark.parametrize("function, operations", [
    (lambda a, b: a @ b, 2 * 3 * 4 * 5),
    (lambda a, b: np.matmul(a, b), 2 * 3 * 4 * 5),
    (lambda a, b: np.dot(a, b), 2 * 3 * 4 * 5),
    (lambda a, b: np.inner(a, b.T), 2 * 3 * 4 * 5),
    (lambda a, b: np.tensordot(a, b, 1), 2 * 3 * 4 * 5),
    (lambda a, b: np.einsum("ij,jk->ik", a, b), 2 * 3 * 4 * 5),
    (lambda a, b: np.einsum("ij,jk->ik", a, b, optimize=True), 2 * 3 * 4 * 5),
    (lambda a, b: (a[:, :, None] * b).sum(axis=1), 2 * 3 * 4 * 5),
    (lambda a, b: a + 1, 3 * 4),
    (lambda a, b: np.einsum("ij,jk,kl->il", a, b, b.T), 3 * 3 * 4 * 5 * 4),
    (lambda a, b: np.einsum("ij,jk,kl->il", a, b, b.T,
                            optimize=["einsum_path", (0, 1), (0, 1)]), 2 * 2 * 3 * 4 * 5),
    (lambda a, b: a.T.reshape(2, 6), 0),
])
def test_counting_array_counts(function, operations):
    case = arrays((3, 4), (4, 5))
    assert sum(count for _, count, _ in recorded_operations(function, case)) == operations
