"""The simulator's CuPy computes what NumPy computes, in the types that CuPy gives."""

import io
import math

import numpy as np
import pytest
from machine import use_libraries

from nogpu import finder

use_libraries()
cp = pytest.importorskip("cupy")
if not finder.is_simulated(cp):
    pytest.skip("a GPU answers: CuPy is the real one", allow_module_level=True)

FLOATS = ("float32", "float64")
TYPES = ("int32", "float16", "float32", "float64", "complex64")


def values(shape, dtype="float64", seed=0):
    numbers = np.random.default_rng([seed, *shape]).normal(size=shape) * 5
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * np.random.default_rng([seed, 1, *shape]).normal(size=shape)
    return np.asarray(numbers).astype(dtype)


def both(shape, dtype="float64", seed=0):
    host = values(shape, dtype, seed)
    return host, cp.asarray(host)


def tolerance(dtype):
    return {"e": 4e-2, "f": 2e-4, "F": 2e-4}.get(np.dtype(dtype).char, 1e-9)


def same(result, expected, dtype=None):
    """Compare values, shape and type of a device array, or of several, with NumPy's."""
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected):
            same(one, other)
        return
    expected = np.asarray(expected)
    assert isinstance(result, cp.ndarray)
    assert result.dtype == (expected.dtype if dtype is None else dtype)
    assert result.shape == expected.shape
    limit = tolerance(result.dtype)
    np.testing.assert_allclose(result.get(), expected, rtol=limit, atol=limit)


# products and contractions


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shapes", [
    ((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 1, 3, 4), (5, 4, 2)),
    ((4,), (3, 4, 2)), ((3, 3, 4), (4,)), ((3, 0), (0, 2)),
])
def test_matmul(shapes, dtype):
    (a, x), (b, y) = (both(shape, dtype, i) for i, shape in enumerate(shapes))
    wide = np.float32 if dtype == "float16" else dtype
    expected = np.matmul(a.astype(wide), b.astype(wide)).astype(dtype)
    same(x @ y, expected)
    same(cp.matmul(x, y), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                                   "uint64"])
@pytest.mark.parametrize("shapes", [((5, 70), (70, 3)), ((70,), (70,)), ((2, 4, 40), (40,))])
def test_matmul_of_large_integers_wraps(shapes, dtype):
    rng, limits = np.random.default_rng(0), np.iinfo(dtype)
    a, b = (rng.integers(limits.min, limits.max, shape, dtype, endpoint=True) for shape in shapes)
    assert ((cp.asarray(a) @ cp.asarray(b)).get() == np.matmul(a, b)).all()
    assert (cp.full(70, limits.min, dtype) @ cp.full(70, limits.max, dtype)).get() == (
        np.full(70, limits.min, dtype) @ np.full(70, limits.max, dtype))


def test_matmul_of_views_that_overlap_and_reverse():
    a, x = both((6, 8))
    same(x[::-1, ::2] @ x[:4, ::-1].T[::2], a[::-1, ::2] @ a[:4, ::-1].T[::2])
    strides = (x.strides[1], *x.strides)
    windows = cp.lib.stride_tricks.as_strided(x, (4, 3, 4), strides)
    host = np.lib.stride_tricks.as_strided(a, (4, 3, 4), strides)
    same(windows @ x[:4, :3], host @ a[:4, :3])


def test_products():
    (a, x), (b, y) = both((2, 3, 4)), both((4, 3, 2), seed=1)
    same(cp.tensordot(x, y, ([1, 2], [1, 0])), np.tensordot(a, b, ([1, 2], [1, 0])))
    same(cp.dot(x, y[:, :, 0]), np.dot(a, b[:, :, 0]))
    same(cp.inner(x, x[0]), np.inner(a, a[0]))
    same(cp.outer(x, y[0]), np.outer(a, b[0]))
    same(cp.kron(x[0], y[0]), np.kron(a[0], b[0]))
    same(cp.vdot(x, x + 1), np.vdot(a, a + 1))
    same(cp.cross(x[:, :, 0], x[:, :, 1]), np.cross(a[:, :, 0], a[:, :, 1]))
    same(cp.trace(x, 1, 1, 2), np.trace(a, 1, 1, 2))


EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("ij,ij->", (3, 4), (3, 4)), ("i,j->ji", (3,), (4,)), ("ii->", (3, 3)), ("ij->", (3, 4)),
    ("ijk->ki", (2, 3, 4)), ("iij->j", (3, 3, 2)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 2)), ("ij,kj,j->ik", (2, 3), (4, 3), (3,)),
    ("i...->...", (3, 2, 2)), ("ij,j->ij", (3, 4), (4,)), ("ij,ij->ij", (3, 1), (1, 4)),
    ("a,b,c->cab", (2,), (3,), (4,)), ("ii,i->i", (3, 3), (3,)), ("ba,cb", (2, 3), (4, 2)),
    ("...,...->...", (2, 3), (3,)), ("i,i->", (0,), (0,)), ("ij,k->k", (2, 3), (4,)),
]


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum(case, optimize):
    text, *shapes = case
    pairs = [both(shape, seed=i) for i, shape in enumerate(shapes)]
    expected = np.einsum(text, *(a for a, _ in pairs))
    same(cp.einsum(text, *(x for _, x in pairs), optimize=optimize), expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_einsum_keeps_types(dtype):
    (a, x), (b, y) = both((2, 3), dtype), both((3, 2), dtype, 1)
    wide = np.float32 if dtype == "float16" else dtype
    same(cp.einsum("ij,jk->ki", x, y), (a.astype(wide) @ b.astype(wide)).T.astype(dtype))


def test_einsum_of_one_operand_is_a_view():
    x = cp.zeros((3, 3))
    cp.einsum("ii->i", x)[...] = 2
    same(x, 2 * np.eye(3))
    assert cp.einsum("ij->ji", x).data.ptr == x.data.ptr


@pytest.mark.parametrize("text", [
    "i j,ij", "ij,->.", "..i.->i", "ij..->ij", "ij>i", "ij,jk->ik->i", "ij", "i->i", "ij,ij,ij->"])
def test_einsum_refuses(text):
    with pytest.raises(ValueError):
        cp.einsum(text, cp.ones((2, 2, 2)), cp.ones((2, 2)))


# linear algebra


@pytest.mark.parametrize("dtype", [*FLOATS, "complex128"])
def test_factors_give_the_matrix_back(dtype):
    a, x = both((2, 4, 3), dtype)
    q, r = cp.linalg.qr(x)
    u, s, vt = cp.linalg.svd(x, full_matrices=False)
    same(q @ r, a)
    same((u * s[:, None, :]) @ vt, a)
    hermitian = x.transpose(0, 2, 1).conj() @ x
    w, v = cp.linalg.eigh(hermitian)
    low = cp.linalg.cholesky(hermitian)
    host = a.transpose(0, 2, 1).conj() @ a
    np.testing.assert_allclose(
        (v * w[:, None, :] @ v.transpose(0, 2, 1).conj()).get(), host, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(
        (low @ low.transpose(0, 2, 1).conj()).get(), host, rtol=1e-3, atol=1e-2)
    assert w.dtype == np.empty(0, dtype).real.dtype


@pytest.mark.parametrize("shapes", [
    ((3, 3), (3,)), ((3, 3), (3, 2)), ((4, 3, 3), (4, 3, 2)), ((2, 1, 3, 3), (5, 3, 1))])
def test_solve(shapes):
    (a, x), (b, y) = both(shapes[0]), both(shapes[1], seed=1)
    same(cp.linalg.solve(x, y), np.linalg.solve(a, b))


def test_solve_of_some_singular_matrices_spares_the_others():
    a = np.stack([np.eye(2), np.zeros((2, 2)), 2 * np.eye(2)])
    x = cp.linalg.inv(cp.asarray(a)).get()
    np.testing.assert_array_equal(x[2], np.eye(2) / 2)
    assert not np.isfinite(x[1]).any()


def test_determinants_and_norms():
    a, x = both((2, 3, 3))
    same(cp.linalg.det(x), np.linalg.det(a))
    same(cp.linalg.slogdet(x), list(np.linalg.slogdet(a)))
    same(cp.linalg.pinv(x), np.linalg.pinv(a))
    same(cp.linalg.matrix_power(x, -2), np.linalg.matrix_power(a, -2))
    for order in (None, "fro", "nuc", 1, -1, 2, np.inf):
        same(cp.linalg.norm(x, order, axis=(1, 2)), np.linalg.norm(a, order, axis=(1, 2)))
    same(cp.linalg.norm(x, axis=0, keepdims=True), np.linalg.norm(a, axis=0, keepdims=True))
    same(cp.linalg.matrix_rank(x), np.linalg.matrix_rank(a))
    assert cp.linalg.norm(cp.arange(3)).dtype == np.float64


# sorting and searching


@pytest.mark.parametrize("dtype", ["bool", "uint8", *TYPES])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_sort(axis, dtype):
    a, x = both((4, 5), dtype)
    same(cp.sort(x, axis=axis), np.sort(a, axis=axis))
    same(cp.argsort(x, axis=axis), np.argsort(a, axis=axis, kind="stable"))
    same(cp.lexsort(x), np.lexsort(a))


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_places(axis):
    a, x = both((4, 5), "int32")
    same(cp.argmax(x, axis=axis), np.argmax(a, axis=axis))
    same(cp.argmin(x, axis=axis, keepdims=True), np.argmin(a, axis=axis, keepdims=True))
    same(cp.count_nonzero(x, axis=axis), np.count_nonzero(a, axis=axis), np.int64)
    holes = np.where(a % 3 == 0, np.nan, a)
    same(cp.nanargmax(cp.asarray(holes), axis=axis), np.nanargmax(holes, axis=axis))
    same(cp.nonzero(x > 0), np.nonzero(a > 0))
    same(cp.flatnonzero(x > 0), np.flatnonzero(a > 0))
    same(cp.argwhere(x > 0), np.argwhere(a > 0))


def test_empty_arrays_without_the_pool():
    with cp.cuda.using_allocator(None):  # where an array of no bytes has no address
        assert cp.nonzero(cp.zeros(3))[0].shape == (0,)
        assert cp.zeros((0, 3)).sum() == 0


def test_where_and_searchsorted():
    a, x = both((3, 4), "float32")
    same(cp.where(x > 0, x, 0.0), np.where(a > 0, a, 0.0).astype("float32"))
    same(cp.where(x > 0, x, cp.arange(4)), np.where(a > 0, a, np.arange(4)))
    ordered = np.sort(a.ravel())
    for side in ("left", "right"):
        same(cp.searchsorted(cp.asarray(ordered), x, side), np.searchsorted(ordered, a, side))
        same(cp.digitize(x, cp.asarray(ordered), side == "left"),
             np.digitize(a, ordered, side == "left"))
        same(cp.digitize(x, cp.asarray(ordered[::-1].copy()), side == "left"),
             np.digitize(a, ordered[::-1], side == "left"))


def test_sets():
    (a, x), (b, y) = both((3, 4), "int8"), both((9,), "int8", 1)
    for name in ("intersect1d", "setdiff1d", "setxor1d", "union1d", "isin"):
        same(getattr(cp, name)(x, y), getattr(np, name)(a, b))
    same(cp.unique(x, True, True, True), np.unique(a, True, True, True))
    same(cp.unique_counts(x), list(np.unique_counts(a)))
    same(cp.delete(x, [0, 2], 1), np.delete(a, [0, 2], 1))
    same(cp.append(x, y), np.append(a, b))
    same(cp.trim_zeros(cp.array([0, 1, 0, 2, 0])), np.array([1, 0, 2]))


# statistics

REDUCTIONS = ("mean", "var", "std", "median", "amax", "amin", "ptp", "nanmean", "nanvar", "nanstd",
              "nanmedian", "nanmax", "nanmin")


@pytest.mark.parametrize("dtype", ["int32", "float16", *FLOATS])
@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, axis, dtype):
    a, x = both((3, 4, 5), dtype)
    wide = a.astype(np.float32) if dtype == "float16" else a
    keepdims = axis == -1
    expected = getattr(np, name)(wide, axis=axis, keepdims=keepdims)
    kind = expected.dtype if dtype != "float16" else np.float16
    same(getattr(cp, name)(x, axis=axis, keepdims=keepdims), expected, kind)


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd", "nanmedian", "nanmax", "nanmin"])
def test_reductions_leave_nan_out(name):
    a = np.where(values((6, 5)) > 6, np.nan, values((6, 5)))
    assert np.isnan(a).any()
    same(getattr(cp, name)(cp.asarray(a), axis=0), getattr(np, name)(a, axis=0))


def test_nan_of_median():
    a = np.array([[1.0, np.nan, 3.0], [1.0, 2.0, np.inf]])
    same(cp.median(cp.asarray(a), axis=1), np.array([np.nan, 2.0]))
    same(cp.nanmedian(cp.array([[np.nan, np.nan]]), axis=1), np.array([np.nan]))


def test_quantiles():
    a, x = both((5, 7))
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        same(cp.percentile(x, [0, 30, 100], 1, method=method),
             np.percentile(a, [0, 30, 100], 1, method=method))
    same(cp.quantile(x, cp.array([0.1, 0.5])), np.quantile(a, [0.1, 0.5]))
    same(cp.percentile(x.astype("float32"), 40), np.percentile(a.astype("float32"), 40))
    with pytest.raises(ValueError):
        cp.quantile(x, 2)


def test_average_and_covariance():
    (a, x), (b, y) = both((3, 4)), both((3, 4), seed=1)
    same(cp.average(x, 1, cp.arange(1, 5)), np.average(a, 1, np.arange(1, 5)))
    same(cp.average(x, 0, y, returned=True), np.average(a, 0, b, returned=True))
    same(cp.cov(x, y), np.cov(a, b))
    same(cp.corrcoef(x), np.corrcoef(a))
    for mode in ("full", "same", "valid"):
        same(cp.correlate(x[0], y[1, :3], mode), np.correlate(a[0], b[1, :3], mode))
        same(cp.convolve(x[0], y[1, :3], mode), np.convolve(a[0], b[1, :3], mode))


def test_histograms():
    a, x = both((50,))
    same(cp.histogram(x, 7), np.histogram(a, 7))
    same(cp.histogram(x, cp.array([-9.0, 0.0, 9.0])), np.histogram(a, [-9.0, 0.0, 9.0]))
    same(cp.histogram(x, 4, (-1, 1), weights=x, density=True),
         np.histogram(a, 4, (-1, 1), weights=a, density=True))
    i = np.abs(a).astype(int)
    same(cp.bincount(cp.asarray(i), minlength=30), np.bincount(i, minlength=30))
    same(cp.bincount(cp.asarray(i), x), np.bincount(i, a))
    counts, edges = cp.histogramdd((x, x**2), (3, 4))
    same([counts, *edges], [*np.histogramdd(np.stack([a, a**2], 1), (3, 4))[:1],
                            *np.histogramdd(np.stack([a, a**2], 1), (3, 4))[1]])


# transforms, random numbers, and the rest


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 9])
def test_fft(name, norm, n):
    for dtype in ("float32", "float64") if name in ("rfft", "ihfft") else TYPES:
        a, x = both((3, 6), dtype)
        for axis in (0, -1):
            expected = getattr(np.fft, name)(a.astype(np.complex128 if a.dtype.kind == "c"
                                                      else np.float64), n, axis, norm)
            result = getattr(cp.fft, name)(x, n, axis, norm)
            single = np.dtype(dtype).char in "efF"
            assert (result.dtype.char in "fF") == single
            np.testing.assert_allclose(result.get(), expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "fftn", "ifftn", "rfft2", "rfftn", "irfftn"])
def test_fft_of_several_axes(name):
    a, x = both((3, 4, 6))
    same(getattr(cp.fft, name)(x), getattr(np.fft, name)(a))
    same(getattr(cp.fft, name)(x, (4, 4), (0, 2)), getattr(np.fft, name)(a, (4, 4), (0, 2)))
    same(cp.fft.fftshift(x, 1), np.fft.fftshift(a, 1))


def test_random_numbers_repeat_by_seed_and_differ_by_call():
    for make in (cp.random.RandomState, cp.random.default_rng):
        one, two = make(3), make(3)
        first, second = (getattr(rng, "random", getattr(rng, "random_sample", None))
                         for rng in (one, two))
        a, b, c = first(100).get(), first(100).get(), second(100).get()
        assert (a == c).all() and (a != b).all()
    cp.random.seed(5)
    a = cp.random.normal(size=9).get()
    cp.random.seed(5)
    assert (cp.random.normal(size=9).get() == a).all()


@pytest.mark.parametrize("name", sorted(
    set(dir(cp.random.RandomState)) & set(cp.random._draw.DISTRIBUTIONS)))
def test_distributions(name):
    parameters, kind = cp.random._draw.DISTRIBUTIONS[name]
    given = [0.4 if p in ("p", "left") else 3 if p in ("n", "zipf") else 2 + i
             for i, p in enumerate(parameters.split(", ") if parameters else [])]
    x = getattr(cp.random, name)(*given, size=(3, 4))
    assert x.shape == (3, 4) and x.dtype == kind
    assert np.isfinite(x.get()).all()
    assert getattr(cp.random, name)(*given).shape == ()


def test_distributions_take_arrays():
    x = cp.random.normal(cp.array([0.0, 1000.0]), 1.0)
    assert x.shape == (2,) and float(x[1]) > 900
    assert cp.random.default_rng(0).uniform(cp.zeros((2, 1)), cp.ones(3)).shape == (2, 3)


def test_pad():
    a, x = both((3, 4))
    for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "maximum", "linear_ramp"):
        same(cp.pad(x, ((1, 2), (0, 3)), mode), np.pad(a, ((1, 2), (0, 3)), mode))
    with pytest.raises(ValueError):
        cp.pad(x, 1, "constant", end_values=1)


def test_sliding_windows():
    a, x = both((5, 6))
    window = np.lib.stride_tricks.sliding_window_view
    same(cp.lib.stride_tricks.sliding_window_view(x, (2, 3)), window(a, (2, 3)))
    same(cp.lib.stride_tricks.sliding_window_view(x, 4, axis=1), window(a, 4, axis=1))


def test_functions_along_axes():
    a, x = both((2, 3, 4))
    same(cp.apply_along_axis(cp.cumsum, 1, x), np.apply_along_axis(np.cumsum, 1, a))
    same(cp.apply_along_axis(cp.sum, 0, x), np.apply_along_axis(np.sum, 0, a))


def test_polynomials():
    a, x = both((5,))
    same(cp.polyval(x, cp.asarray(a[:3])), np.polyval(a, a[:3]))
    same(cp.polyfit(cp.arange(5.0), x, 2), np.polyfit(np.arange(5.0), a, 2))
    same(cp.polymul(x, x), np.polymul(a, a))
    same(cp.poly1d(x)(x), np.poly1d(a)(a))
    same(cp.roots(cp.array([1.0, -3.0, 2.0])), np.roots([1.0, -3.0, 2.0]))


def test_files():
    a, x = both((2, 3))
    file = io.BytesIO()
    cp.savez(file, x, named=x * 2)
    file.seek(0)
    with cp.load(file) as loaded:
        same(loaded["arr_0"], a)
        same(loaded["named"], a * 2)
    text = io.StringIO()
    cp.savetxt(text, x)
    text.seek(0)
    same(cp.loadtxt(text), a)


def test_shared_memory():
    x = cp.arange(10)
    assert cp.may_share_memory(x[::2], x[1::2]) and not cp.shares_memory(x[::2], x[1::2])
    assert cp.byte_bounds(x[::-2]) == (x.data.ptr + 8, x.data.ptr + 80)


def test_assertions():
    cp.testing.assert_allclose(cp.ones(2), np.ones(2) + 1e-9)
    with pytest.raises(AssertionError):
        cp.testing.assert_array_equal(cp.ones(2), cp.zeros(2))
    assert cp.testing.shaped_arange((2, 3), cp, np.int32).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_dlpack_lets_go():
    from cupy._core import _capsules as dlpack

    for _ in range(5):
        cp.arange(3).toDlpack()
    assert len(dlpack._exported) <= 1
    x = cp.arange(6).reshape(2, 3).T
    y = cp.from_dlpack(x)
    y[0, 1] = 9
    assert x[0, 1] == 9 and y.strides == x.strides
    kept = len(dlpack._exported)
    del y
    assert len(dlpack._exported) == kept - 1


@pytest.mark.parametrize("call", [
    lambda a: cp.where(a > 0, a, a), lambda a: cp.median(a), lambda a: cp.unique(a, axis=0),
    lambda a: cp.fft.fft(a), lambda a: cp.linalg.inv(a), lambda a: cp.bincount(a),
    lambda a: cp.matmul(a, a), lambda a: cp.isin(a, a), lambda a: cp.cumsum(a),
])
def test_numpy_arrays_are_refused(call):
    with pytest.raises((TypeError, np.linalg.LinAlgError)):
        call(np.ones((2, 2)))


# cupyx.scipy


def test_error_functions():
    from cupyx.scipy import special

    a = np.concatenate([np.linspace(-7, 27, 3001), [0.46875, -0.46875, 4, 0, np.inf, -np.inf]])
    x = cp.asarray(a)
    for name in ("erf", "erfc"):
        expected = np.array([getattr(math, name)(one) for one in a])
        np.testing.assert_allclose(getattr(special, name)(x).get(), expected, rtol=2e-14)
    assert bool(cp.isnan(special.erf(cp.array([np.nan])))[0])
    normal = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in a])
    np.testing.assert_allclose(special.ndtr(x).get(), normal, rtol=1e-12)
    assert [special.erf(cp.ones(1, t)).dtype.char for t in "efdil"] == list("ffddd")


def test_logistic_and_gamma_functions():
    from cupyx.scipy import special

    a, x = both((50,))
    same(special.expit(x), 1 / (1 + np.exp(-a)))
    same(special.log_expit(x), -np.log1p(np.exp(-a)))
    same(special.logit(special.expit(x)), a)
    assert special.expit(cp.array([-1000.0, 1000.0])).tolist() == [0.0, 1.0]
    same(special.gammaln(cp.array([0.5, 3.0, 0.0])),
         np.array([math.lgamma(0.5), math.lgamma(3.0), np.inf]))
    same(special.xlogy(cp.zeros(2), cp.zeros(2)), np.zeros(2))


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_softmax(axis):
    from cupyx.scipy import special

    a, x = both((3, 4))
    total = np.exp(a).sum(axis=axis, keepdims=True)
    same(special.softmax(x + 1000, axis), np.exp(a) / total)
    same(special.log_softmax(x, axis), a - np.log(total))
    same(special.logsumexp(x, axis, keepdims=True), np.log(total))
    assert special.logsumexp(x.astype("f4"), axis).dtype == np.float32


def _correlation(a, w, mode, flip):
    """The definition, with the window's middle on each element."""
    w = w[::-1, ::-1] if flip else w
    before = [(n - 1) // 2 if flip else n // 2 for n in w.shape]
    widths = [(b, n - 1 - b) for b, n in zip(before, w.shape)]
    padded = np.pad(a, widths, {"reflect": "symmetric", "nearest": "edge"}.get(mode, mode))
    result = np.zeros_like(a)
    for i, j in np.ndindex(*w.shape):
        result += w[i, j] * padded[i:i + a.shape[0], j:j + a.shape[1]]
    return result


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "wrap"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (1, 5)])
def test_filters(shape, mode):
    from cupyx.scipy import ndimage

    (a, x), (w, y) = both((6, 7)), both(shape, seed=1)
    same(ndimage.correlate(x, y, mode=mode), _correlation(a, w, mode, False))
    same(ndimage.convolve(x, y, mode=mode), _correlation(a, w, mode, True))
    same(ndimage.gaussian_filter(cp.ones((5, 5)), 1.0), np.ones((5, 5)))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_signals(mode):
    from cupyx.scipy import signal

    (a, x), (b, y) = both((20,)), both((5,), seed=1)
    for method in ("direct", "fft", "auto"):
        same(signal.convolve(x, y, mode, method), np.convolve(a, b, mode))
    same(signal.fftconvolve(x, y, mode), np.convolve(a, b, mode))
    same(signal.correlate(x, y, mode), np.correlate(a, b, mode))
    integers = signal.convolve(cp.arange(4), cp.array([1, 2]), mode)
    same(integers, np.convolve(np.arange(4), [1, 2], mode))


def test_the_chirp_z_transform_is_a_polynomial_at_points_of_a_spiral():
    from cupyx.scipy import signal

    a, x = both((3, 11))
    same(signal.czt(x), np.fft.fft(a))
    for axis, m, w, start in ((1, 7, None, 1.1), (0, 20, 0.985 + 0.17j, 1)):
        points = signal.czt_points(m, w, start).get()
        assert len(points) == m and points[0] == start
        steps = np.exp(-2j * np.pi / m) if w is None else w
        np.testing.assert_allclose(points[1:] * steps, points[:-1])
        powers = points[:, None] ** -np.arange(a.shape[axis])
        same(signal.czt(x, m, w, start, axis=axis), np.apply_along_axis(powers.__matmul__, axis, a))
    with pytest.raises(ValueError, match="Invalid number of CZT"):
        signal.czt(x, 0)


def test_the_method_of_a_convolution_can_be_asked_for():
    from cupyx.scipy import signal

    assert signal.choose_conv_method(cp.ones(1000), cp.ones(500)) == "fft"
    assert signal.choose_conv_method(cp.arange(1000), cp.arange(500)) == "direct"
    with pytest.raises(NotImplementedError, match="1d"):
        signal.choose_conv_method(cp.ones((2, 2)), cp.ones(2))


def test_sparse_matrices():
    from cupyx.scipy import get_array_module, sparse

    a = np.where(values((4, 5)) > 1, values((4, 5)), 0)
    x = cp.asarray(a)
    for make in (sparse.csr_matrix, sparse.coo_matrix):
        m = make(x)
        same(m.toarray(), a)
        assert m.nnz == np.count_nonzero(a)
        same(m @ cp.arange(5.0), a @ np.arange(5.0))
        same(m @ x.T, a @ a.T)
        same((m @ m.T).toarray(), a @ a.T)
        same((m * 2).T.toarray(), 2 * a.T)
        assert get_array_module(m).__name__ == "cupyx.scipy"
    row, column = cp.array([0, 0, 2]), cp.array([1, 1, 0])
    m = sparse.coo_matrix((cp.ones(3), (row, column)), shape=(3, 2)).tocsr()
    assert m.indptr.tolist() == [0, 1, 1, 2] and m.data.tolist() == [2.0, 1.0]
    with pytest.raises(ValueError):
        m @ cp.ones(3)


def test_what_is_missing_says_so():
    import cupyx.scipy

    exists = "exists in CuPy, but nogpu lacks it: it needs a machine with a GPU"
    for call, text in (
        (lambda: cp.DataSource, f"cupy.DataSource {exists}"),
        (lambda: cp.linalg.slogdett, "module 'cupy.linalg' has no attribute 'slogdett'"),
        (lambda: cp.arange(3).__no__, "'ndarray' object has no attribute '__no__'"),
        (lambda: cupyx.scipy.optimize, "module 'cupyx.scipy' has no attribute 'optimize'"),
        (lambda: cupyx.scipy.stats, f"cupyx.scipy.stats {exists}"),
        (lambda: cupyx.scipy.special.gammainc, f"cupyx.scipy.special.gammainc {exists}"),
        (lambda: cp.cuda.runtime.malloc3DArray, f"cupy_backends.cuda.api.runtime.malloc3DArray "
                                                f"{exists}"),
        (lambda: cupyx.scipy.sparse.eye(2).todok, "nogpu lacks cupyx.scipy.sparse"),
    ):
        with pytest.raises(AttributeError) as caught:
            call()
        assert str(caught.value).startswith(text)


def test_every_recorded_name_is_there_or_says_that_it_lacks():
    import importlib

    from nogpu.faces import missing

    for owner, names in missing.recorded_names().items():
        if owner == "pycuda":
            continue  # the listed names are submodules, which are there once they are imported
        try:
            place = importlib.import_module(owner)
        except ImportError:
            module, _, kind = owner.rpartition(".")
            try:
                place = getattr(importlib.import_module(module), kind)
            except (ImportError, AttributeError):
                continue  # the module or class itself is not there
        if isinstance(place, type):
            continue  # its instances say so
        for name in names:
            try:
                getattr(place, name)
            except AttributeError as error:
                assert str(error) == missing.explain(f"{owner}.{name}")


def test_what_is_joined_is_cast_by_the_rule_that_is_given():
    x = cp.array([1.5, 300.0])
    for join in (cp.concatenate, cp.stack, cp.hstack, cp.vstack):
        with pytest.raises(TypeError, match="according to the rule 'same_kind'"):
            join([x, x], dtype=np.int8)
        assert join([x, x], dtype=np.int32, casting="unsafe").dtype == np.int32
        with pytest.warns(np.exceptions.ComplexWarning):
            join([x.astype(np.complex64)] * 2, dtype=np.int32, casting="unsafe")
        with pytest.raises(TypeError, match="according to the rule 'safe'"):
            join([x, x], dtype=np.float32, casting="safe")
    with pytest.raises(TypeError, match="according to the rule 'same_kind'"):
        cp.concatenate([x, x], out=cp.zeros(4, np.int64))
    with pytest.raises(TypeError, match="only takes `out` or `dtype`"):
        cp.concatenate([x, x], out=cp.zeros(4), dtype=np.float64)
    with pytest.raises(ValueError, match="wrong dimensionality"):
        cp.concatenate([x, x], out=cp.zeros((2, 2)))


def test_reduceat_fills_what_is_given_for_its_result():
    x, at = np.arange(6.0), [0, 2, 4]
    out = cp.zeros(3)
    assert cp.add.reduceat(cp.asarray(x), cp.array(at), out=out) is out
    assert np.array_equal(out.get(), np.add.reduceat(x, at))
    with pytest.raises(TypeError, match="Cannot cast output operand"):
        cp.add.reduceat(cp.asarray(x), cp.array(at), out=cp.zeros(3, np.int32))
    with pytest.raises(ValueError, match="Out shape is mismatched"):
        cp.add.reduceat(cp.asarray(x), cp.array(at), out=cp.zeros(2))


def test_infinities_are_written_to_what_is_given():
    x = cp.array([-np.inf, 0.0, np.inf])
    for function, places in ((cp.isneginf, [1, 0, 0]), (cp.isposinf, [0, 0, 1])):
        out = cp.zeros(3, np.int32)
        assert function(x, out=out) is out and out.tolist() == places
    with pytest.raises(TypeError, match="would be ambiguous"):
        cp.isneginf(x.astype(complex))


X = np.array([[1.25, 2.5, -3.0], [0.5, 7.75, 2.0]])
WITH_OUT = {  # a call with out=, and what out may not be
    "around": (lambda xp, x, out: xp.around(x, 1, out=out), (2, 3), np.int32),
    "outer": (lambda xp, x, out: xp.outer(x[0], x[1], out=out), (3, 3), np.int32),
    "matmul": (lambda xp, x, out: xp.matmul(x, x.T, out=out), (2, 2), np.int32),
    "nanstd": (lambda xp, x, out: xp.nanstd(x, axis=0, out=out), (3,), np.int32),
    "compress": (lambda xp, x, out: xp.compress(xp.asarray([True, False]), x, axis=0, out=out),
                 (1, 3), np.float32),
    "choose": (lambda xp, x, out: xp.choose(xp.asarray([0, 1, 0]), list(x), out=out),
               (3,), np.float32),
    "concatenate": (lambda xp, x, out: xp.concatenate([x, x], out=out), (4, 3), np.int32),
    "stack": (lambda xp, x, out: xp.stack([x, x], out=out), (2, 2, 3), np.int32),
    "take": (lambda xp, x, out: xp.take(x, xp.asarray([1, 0]), axis=1, out=out), (2, 2),
             np.float32),
    "add": (lambda xp, x, out: xp.add(x, x, out=out), (2, 3), np.int32),
    "add.reduceat": (lambda xp, x, out: xp.add.reduceat(x, xp.asarray([0, 1]), out=out), (2, 3),
                     np.int32),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_is_filled_and_checked(name):
    call, shape, refused = WITH_OUT[name]
    theirs, ours = np.zeros(shape), cp.zeros(shape)
    call(np, X, theirs)
    assert call(cp, cp.asarray(X), ours) is ours
    assert np.allclose(ours.get(), theirs)
    with pytest.raises(TypeError):
        call(cp, cp.asarray(X), cp.zeros(shape, refused))
    with pytest.raises(ValueError):
        call(cp, cp.asarray(X), cp.zeros((5, 5)))


def test_choose_looks_at_the_indices_unless_it_may_wrap_or_clip():
    at, choices = cp.array([0, 2, -1]), cp.array([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        cp.choose(at, choices)
    for mode in ("wrap", "clip"):
        expected = np.choose(at.get(), choices.get(), mode=mode)
        assert np.array_equal(cp.choose(at, choices, mode=mode).get(), expected)
    with pytest.raises(ValueError, match="clipmode not understood"):
        cp.choose(at, choices, mode="other")


def test_a_ufunc_writes_only_where_its_mask_is_true():
    x, mask = np.arange(6.0).reshape(2, 3), np.array([[True, False, True], [False, True, False]])
    out, expected = cp.full((2, 3), -1.0), np.full((2, 3), -1.0)
    cp.add(cp.asarray(x), 10, out, _where=cp.asarray(mask))
    np.add(x, 10, out=expected, where=mask)
    assert np.array_equal(out.get(), expected)
    out = cp.full((2, 3), 7)
    cp.power(cp.arange(6).reshape(2, 3), 2, out, _where=cp.array([True, False, False]))
    assert out.tolist() == [[0, 7, 7], [9, 7, 7]]
    with pytest.raises(TypeError):
        cp.add(cp.asarray(x), 1, _where=mask)


def test_waiting_can_be_forbidden():
    import cupyx

    x = cp.arange(3)
    with cupyx.allow_synchronize(False):
        for wait in (x.get, x.tolist, cp.cuda.Device().synchronize):
            with pytest.raises(cupyx.DeviceSynchronized):
                wait()
        y = x + 1  # does not wait
        with cupyx.allow_synchronize(True):
            assert y.tolist() == [1, 2, 3]
    assert x.tolist() == [0, 1, 2]


def test_true_is_no_place_of_flat():
    a = cp.arange(6)
    for index in (True, None, [0], (0,)):
        with pytest.raises(IndexError):
            a.flat[index]
        with pytest.raises(IndexError):
            a.flat[index] = 1


def test_types_that_are_none_are_refused():
    with pytest.raises(ValueError, match="nothing"):
        cp.require(cp.zeros(3), "nothing")
    assert cp.require(cp.zeros(3), "f").dtype == np.float32
    with pytest.raises(AttributeError):
        cp.select([[True, False]], [cp.arange(2)])
    with pytest.raises(ValueError, match="boolean"):
        cp.select([cp.arange(2)], [cp.arange(2)])


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_powers_lie_in_memory_as_numpys(shape):
    a, x = both(shape)
    expected = np.polynomial.polynomial.polyvander(a, 3)
    found = cp.polynomial.polynomial.polyvander(x, 3)
    same(found, expected)
    assert found.strides == expected.strides


def test_a_field_of_structures_is_set():
    a, x = (xp.array([(1, 2), (3, 4)], dtype="i,i") for xp in (np, cp))
    for array in (a, x):
        array["f0"] = -1
        array["f1"] = array["f0"] * 7
    assert x.get().tolist() == a.tolist()


@pytest.mark.parametrize("axes", [[0, 0, ()], [(-1,), (0, 1), (0, 1)], [(0, 1), (0,), (0, 1)]])
def test_axes_of_a_product_are_two_for_each_matrix(axes):
    with pytest.raises(np.exceptions.AxisError):
        cp.matmul(cp.ones((2, 2)), cp.ones((2, 2)), axes=axes)


def test_a_subclass_takes_arguments_of_its_own():
    class Named(cp.ndarray):
        def __new__(cls, *args, name=None, **how):
            self = super().__new__(cls, *args, **how)
            self.name = name
            return self

    found = Named((2, 3), "f", name="it")
    assert type(found) is Named and found.name == "it" and found.shape == (2, 3)


def test_a_version_that_cannot_be_asked_for_is_an_error_in_the_report(monkeypatch):
    import cupyx

    def fail():
        raise cp.cuda.runtime.CUDARuntimeError(35)

    for name in ("driverGetVersion", "runtimeGetVersion"):
        with monkeypatch.context() as patch:
            patch.setattr(cp.cuda.runtime, name, fail)
            assert "CUDARuntimeError" in str(cupyx.get_runtime_info())
    assert "Error" not in str(cupyx.get_runtime_info())
