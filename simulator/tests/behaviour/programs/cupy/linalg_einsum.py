"""Products, contractions and solvers."""

import cupy as cp
import numpy as np


def matmul_shapes():
    """@ multiplies matrices, vectors and batches, broadcasting the batches."""
    a, b, v = cp.ones((2, 3)), cp.ones((3, 4)), cp.ones(3)
    print((a @ b).shape, (a @ v).shape, (v @ b).shape, v @ v, (v @ v).shape)
    print((cp.ones((5, 1, 2, 3)) @ cp.ones((4, 3, 2))).shape)


def matmul_wrong_shapes():
    """Sizes that do not fit are a ValueError."""
    cp.ones((2, 3)) @ cp.ones((2, 3))


def matmul_of_scalars():
    """@ with a number is refused: a ValueError or a TypeError, as recorded."""
    cp.ones((2, 2)) @ 2


def matmul_of_zero_d():
    """@ with a 0-d array is a ValueError."""
    cp.ones((2, 2)) @ cp.array(2.0)


def matmul_dtypes():
    """Products keep or promote types; integers and booleans have their own kernel."""
    one = {name: cp.ones((2, 2), name) for name in ("f2", "f4", "f8", "i4", "?", "c8")}
    print([(one[k] @ one[k]).dtype.name for k in one], (one["f4"] @ one["f8"]).dtype)
    print((one["i4"] @ one["f4"]).dtype, (one["?"] @ one["?"])[0, 0])


def matmul_of_views():
    """Transposed operands give the same product."""
    a = cp.arange(6.0).reshape(2, 3)
    print((a @ a.T).tolist(), (a.T @ a)[0].tolist(), (a[:, ::2] @ a[:, ::2].T).tolist())


def matmul_into_out():
    """out= receives the product."""
    out = cp.empty((2, 2))
    print(cp.matmul(cp.eye(2), cp.ones((2, 2)), out=out) is out, out.tolist())


def matmul_into_wrong_out():
    """out= of another shape is a ValueError."""
    cp.matmul(cp.eye(2), cp.ones((2, 2)), out=cp.empty((3, 2)))


def matmul_of_nothing():
    """An inner size of zero gives zeros."""
    print((cp.ones((2, 0)) @ cp.ones((0, 3))).tolist())


def matmul_of_windows_copies():
    """@ on overlapping windows first makes them contiguous: the pool shows both arrays."""
    pool = cp.cuda.MemoryPool()
    b = cp.ones((64, 1024), dtype=cp.float32)
    windows = cp.lib.stride_tricks.as_strided(b, (961, 64, 64), (4, 4096, 4))
    a = cp.ones((1, 64, 64), dtype=cp.float32) @ windows[:2]
    with cp.cuda.using_allocator(pool.malloc):
        c = cp.ones((961, 64, 64), dtype=cp.float32)
        before = pool.total_bytes()
        product = c @ windows
    print(product.nbytes, pool.total_bytes() - before >= 2 * product.nbytes, product[0, 0, 0])


def dot_wrong_shapes():
    """dot of unequal lengths is a ValueError."""
    cp.dot(cp.ones(2), cp.ones(3))


def inner_outer_tensordot_kron():
    """inner, outer, tensordot, vdot, kron and cross."""
    a, b = cp.arange(2.0), cp.arange(2.0) + 1
    print(cp.inner(a, b), cp.outer(a, b).tolist(), cp.tensordot(a, b, 1), cp.kron(a, b))
    print(cp.vdot(a, b), cp.cross(cp.array([1, 0, 0]), cp.array([0, 1, 0])))


def einsum_of_common_forms():
    """Trace, transpose, diagonal, sum, product, batch and outer."""
    x = cp.arange(4.0).reshape(2, 2)
    print(cp.einsum("ii", x), cp.einsum("ij->ji", x).tolist(), cp.einsum("ii->i", x))
    print(cp.einsum("ij->i", x), cp.einsum("ij,jk", x, x).tolist())
    print(cp.einsum("i,j->ij", x[0], x[1]).tolist())
    print(cp.einsum("...ij,...jk", cp.ones((3, 2, 2)), x).shape)


def einsum_diagonal_is_a_view():
    """einsum of one operand without a sum may be a view of it."""
    x = cp.zeros((2, 2))
    cp.einsum("ii->i", x)[:] = 1
    cp.einsum("ij->ji", x)[0, 1] = 5
    print(x.tolist())


def einsum_of_three():
    """Several operands are contracted pair by pair."""
    a = cp.arange(4.0).reshape(2, 2)
    print(cp.einsum("ij,jk,kl->il", a, a, a).tolist())
    print(cp.einsum("ij,jk,kl->il", a, a, a, optimize=True).tolist())


def einsum_sublists():
    """Operands with index lists in place of letters."""
    a = cp.arange(4.0).reshape(2, 2)
    print(cp.einsum(a, [0, 1], a, [1, 2], [0, 2]).tolist())


def einsum_wrong_letters():
    """An output letter that no operand has is a ValueError."""
    cp.einsum("ij->ik", cp.ones((2, 2)))


def einsum_wrong_sizes():
    """One letter with two sizes is a ValueError."""
    cp.einsum("ij,jk->ik", cp.ones((2, 3)), cp.ones((2, 3)))


def einsum_wrong_number_of_operands():
    """Fewer operands than subscripts are a ValueError."""
    cp.einsum("ij,jk->ik", cp.ones((2, 2)))


def einsum_wrong_dimension():
    """Subscripts that do not match an operand's dimensions are a ValueError."""
    cp.einsum("ijk->i", cp.ones((2, 2)))


def einsum_repeated_output():
    """A letter twice in the output is a ValueError."""
    cp.einsum("ij->ii", cp.ones((2, 2)))


def einsum_bad_character():
    """A character that is no letter is a ValueError."""
    cp.einsum("i+j", cp.ones((2, 2)))


def einsum_dtype():
    """einsum promotes its operands; dtype= sets the result."""
    print(cp.einsum("i,i->i", cp.ones(2, "f4"), cp.ones(2, "f8")).dtype)
    x = cp.ones(2, "f4")
    print(cp.einsum("i->", x, dtype="f8").dtype, cp.einsum("i->", x).dtype)


def einsum_of_small_integers():
    """A sum of int32 by einsum: its type is recorded."""
    x = cp.ones(2, "i4")
    print(cp.einsum("i->", x).dtype, cp.einsum("i,i", x, x).dtype)


def solve():
    """solve of a matrix and vector or matrix right sides."""
    a = cp.array([[2.0, 1.0], [1.0, 3.0]])
    print(cp.linalg.solve(a, cp.array([3.0, 5.0])).round(10))
    print(cp.linalg.solve(a, cp.eye(2)).round(10).tolist())


def solve_of_a_singular_matrix():
    """A singular matrix raises nothing by default: the result is not finite."""
    x = cp.linalg.solve(cp.zeros((2, 2)), cp.ones(2))
    print(bool(cp.isfinite(x).all()))


def solve_of_a_singular_matrix_checked():
    """With cupyx.errstate(linalg="raise") a singular matrix is a LinAlgError."""
    import cupyx

    with cupyx.errstate(linalg="raise"):
        cp.linalg.solve(cp.zeros((2, 2)), cp.ones(2))


def solve_of_a_rectangle():
    """A matrix that is not square is a LinAlgError."""
    cp.linalg.solve(cp.ones((2, 3)), cp.ones(2))


def solve_of_half_precision():
    """float16 is refused by linalg: TypeError."""
    cp.linalg.solve(cp.eye(2, dtype="f2"), cp.ones(2, "f2"))


def inverse_and_determinant():
    """inv, det, slogdet and matrix_power."""
    a = cp.array([[2.0, 0.0], [0.0, 4.0]])
    print(cp.linalg.inv(a).tolist(), cp.linalg.det(a), cp.linalg.matrix_power(a, 3).tolist())
    print(cp.linalg.slogdet(a)[0], cp.linalg.slogdet(a)[1].round(6))


def cholesky():
    """cholesky gives the lower factor."""
    print(cp.linalg.cholesky(cp.array([[4.0, 2.0], [2.0, 5.0]])).tolist())


def cholesky_of_an_indefinite_matrix():
    """An indefinite matrix: nan or an exception, as recorded."""
    x = cp.linalg.cholesky(cp.array([[1.0, 2.0], [2.0, 1.0]]))
    print(bool(cp.isfinite(x).all()))


def qr_and_svd():
    """Q R and U S V give the matrix back; singular values sort downwards."""
    a = cp.array([[3.0, 0.0], [4.0, 5.0]])
    q, r = cp.linalg.qr(a)
    u, s, vt = cp.linalg.svd(a)
    print(cp.allclose(q @ r, a), cp.allclose(u * s @ vt, a), s.round(6), s.dtype)


def svd_shapes():
    """full_matrices decides U's and V's shapes; compute_uv=False gives the values alone."""
    a = cp.ones((3, 2))
    print([m.shape for m in cp.linalg.svd(a)], cp.linalg.svd(a, compute_uv=False).shape)
    print([m.shape for m in cp.linalg.svd(a, full_matrices=False)])


def eigenvalues_of_symmetric():
    """eigh and eigvalsh sort upwards."""
    a = cp.array([[2.0, 1.0], [1.0, 2.0]])
    w, v = cp.linalg.eigh(a)
    print(w.round(6), cp.allclose(a @ v, v * w), cp.linalg.eigvalsh(a).round(6))


def least_squares_and_pinv():
    """lstsq and pinv."""
    a = cp.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    x, residual, rank, s = cp.linalg.lstsq(a, cp.array([1.0, 3.0, 5.0]), rcond=None)
    print(x.round(6), rank, s.shape, cp.linalg.pinv(a).shape)


def matrix_rank_and_cond():
    """matrix_rank and cond."""
    print(cp.linalg.matrix_rank(cp.ones((2, 2))), cp.linalg.cond(cp.eye(2)).round(6))


def linalg_missing():
    """multi_dot and svdvals do not exist: AttributeError."""
    print(hasattr(cp.linalg, "multi_dot"), hasattr(cp.linalg, "solve"))
    cp.linalg.svdvals(cp.eye(2))


def norm_orders():
    """Vector norms of several orders."""
    v = cp.array([3.0, -4.0])
    print([float(cp.linalg.norm(v, order)) for order in (None, 1, 2, np.inf, 0)])
