"""Sparse matrices and arrays, held to dense ones."""

import itertools

import numpy as np
import pytest
from machine import use_libraries

from nogpu import finder

use_libraries()
cp = pytest.importorskip("cupy")
if not finder.is_simulated(cp):
    pytest.skip("a GPU answers: CuPy is the real one", allow_module_level=True)

import cupyx  # noqa: E402
from cupyx.scipy import sparse  # noqa: E402

DENSE = np.array([[1.0, 0, 2], [0, 0, 3], [4, 5, 0], [0, 0, 0]])
FORMS = [f"{form}_{kind}" for form, kind in itertools.product(
    ("csr", "csc", "coo"), ("matrix", "array"))]  # fmt: skip


@pytest.fixture(params=FORMS)
def a(request):
    return getattr(sparse, request.param)(cp.array(DENSE))


@pytest.mark.parametrize("call", [
    lambda x: x.T, lambda x: -x, lambda x: x * 3, lambda x: 2 * x, lambda x: x / 2,
    lambda x: x + x, lambda x: x - 2 * x, abs, lambda x: x.conj(), lambda x: x.real,
    lambda x: x.reshape(2, 6), lambda x: x[1:3], lambda x: x[:, ::2], lambda x: x > 1,
    lambda x: x != 3, lambda x: x @ x.T, lambda x: x.astype(np.float32),
])  # fmt: skip
def test_sparse_results_are_the_dense_ones(a, call):
    found = call(a)
    assert sparse.issparse(found) and found.dtype == call(DENSE).dtype
    assert (found.toarray().get() == call(DENSE)).all()


@pytest.mark.parametrize("call", [
    lambda x, v: x @ v[:3], lambda x, v: x @ v[:3, None], lambda x, v: v @ x,
    lambda x, v: x.sum(), lambda x, v: x.mean(), lambda x, v: x.diagonal(1),
    lambda x, v: x.max(), lambda x, v: x.argmax(), lambda x, v: x[2, 1],
    lambda x, v: x[[0, 2], [2, 0]],
    lambda x, v: x.trace(),
])  # fmt: skip
def test_dense_results_are_the_dense_ones(a, call):
    v = np.arange(4.0)
    assert np.allclose(call(a, cp.array(v)).get(), call(DENSE, v))


def test_matrices_multiply_and_arrays_work_element_by_element():
    m, x = sparse.csr_matrix(cp.array(DENSE)), sparse.csr_array(cp.array(DENSE))
    assert (m * m.T).toarray().tolist() == (DENSE @ DENSE.T).tolist()
    assert (x * x).toarray().tolist() == (DENSE * DENSE).tolist()
    assert m.sum(axis=0).shape == (1, 3) and x.sum(axis=0).shape == (3,)
    assert sparse.isspmatrix(m) and not sparse.isspmatrix(x) and sparse.issparse(x)


def test_powers_of_a_matrix():
    m = sparse.csr_matrix(cp.array(DENSE[:3, :3]))
    for n in range(4):
        assert (m**n).toarray().tolist() == np.linalg.matrix_power(DENSE[:3, :3], n).tolist()
    for wrong in (-1, 2.5):
        with pytest.raises(ValueError, match="exponent"):
            m**wrong
    with pytest.raises(TypeError, match="square"):
        sparse.csr_matrix(cp.array(DENSE)) ** 2


def test_a_huge_matrix_of_few_values_stays_sparse(a):
    """As dense arrays these would take terabytes."""
    side, columns = 2**31 + 9, a.format == "csc"
    turn = slice(None, None, -1 if columns else 1)
    places = (cp.array([0, 1, 1]), cp.array([3, 5, side - 1]))[turn]
    m = sparse.coo_array((cp.array([2.0, -3.0, 0.0]), places), shape=(2, side)[turn])
    m = type(a)(m)
    assert (m != 0).nnz == 2 and (m > 1).nnz == 1 and (m < cp.array(-1)).nnz == 1
    assert m.count_nonzero() == 2 and m.count_nonzero(axis=1 - columns).tolist() == [1, 1]
    factors = cp.array([[10.0], [100.0]])
    product = m.multiply(factors.T if columns else factors)
    assert product.data.tolist() == [20.0, -300.0, 0.0] and product.shape == m.shape


def test_order_of_stored_entries():
    for form in ("csr", "csc"):
        m = getattr(sparse, f"{form}_matrix")(
            (cp.array([1.0, 2, 3]), cp.array([2, 0, 0], "i"), cp.array([0, 2, 3, 3], "i")),
            shape=(3, 3))
        assert not m.has_sorted_indices and not m.has_canonical_format
        m.sort_indices()
        assert m.has_sorted_indices and m.has_canonical_format
    twice = sparse.csr_matrix(
        (cp.array([1.0, 2]), cp.array([1, 1], "i"), cp.array([0, 2], "i")), shape=(1, 3))
    assert twice.has_sorted_indices and not twice.has_canonical_format


def test_forms_turn_into_each_other_and_keep_the_values(a):
    for form in ("csr", "csc", "coo"):
        assert getattr(a, f"to{form}")().format == form
        assert (a.asformat(form).toarray().get() == DENSE).all()
    assert a.T.format == {"csr": "csc", "csc": "csr"}.get(a.format, "coo")


def test_places_can_be_set(a):
    a[1, 1] = 7
    a.setdiag(cp.array([9.0, 8.0]))
    expected = DENSE.copy()
    expected[0, 0], expected[1, 1] = 9, 8
    assert (a.toarray().get() == expected).all() and a.nnz == 6


def test_compressed_columns_from_their_arrays():
    data, indices = cp.array([0.0, 1, 3, 2]), cp.array([0, 0, 2, 1], "i")
    m = sparse.csc_matrix((data, indices, cp.array([0, 1, 2, 3, 4], "i")), shape=(3, 4))
    assert m.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 2], [0, 0, 3, 0]] and m.nnz == 4
    with pytest.raises(ValueError, match="should start with 0"):
        sparse.csc_matrix((data, indices, cp.array([1, 1, 2, 3, 4], "i")), shape=(3, 4))


def test_columns_are_sorted_by_cusparse():
    starts = cp.array([0, 2, 3], "i")
    m = sparse.csc_matrix((cp.array([1.0, 2, 3]), cp.array([1, 0, 1], "i"), starts), shape=(2, 2))
    assert cupyx.cusparse.cscsort(m) is None
    assert m.indices.tolist() == [0, 1, 1] and m.data.tolist() == [2, 1, 3]
    with pytest.raises(AttributeError, match="nogpu lacks cupyx.cusparse.spmv"):
        cupyx.cusparse.spmv(m, m)


def test_duplicates_are_summed():
    m = sparse.coo_matrix((cp.array([1.0, 2, 3]), (cp.array([0, 0, 1]), cp.array([1, 1, 0]))))
    assert m.toarray().tolist() == [[0, 3], [3, 0]] and m.tocsr().nnz == 2


def test_put_together():
    m = sparse.csr_matrix(cp.array(DENSE))
    assert (sparse.hstack([m, m]).toarray().get() == np.hstack([DENSE, DENSE])).all()
    assert (sparse.vstack([m, m]).toarray().get() == np.vstack([DENSE, DENSE])).all()
    assert (sparse.kron(m, sparse.eye(2)).toarray().get() == np.kron(DENSE, np.eye(2))).all()
    made = sparse.diags([1.0, 2.0], [0, 1], shape=(3, 3)).toarray().tolist()
    assert made == [[1, 2, 0], [0, 1, 2], [0, 0, 1]]
    assert sparse.random(5, 6, 0.5).nnz == 15


def test_what_sparse_matrices_lack_says_so():
    with pytest.raises(AttributeError, match="nogpu lacks cupyx.scipy.sparse.csr_matrix.todok"):
        sparse.eye(2).todok()
