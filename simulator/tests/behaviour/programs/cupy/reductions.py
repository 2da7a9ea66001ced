"""Sums, extremes, means and scans."""

import cupy as cp
import numpy as np


def sum_is_zero_d():
    """x.sum() is a 0-d device array, no number."""
    s = cp.arange(4).sum()
    print(type(s).__name__, s.shape, s.dtype, s)


def sum_dtypes():
    """Small integers are summed in int64, unsigned in uint64, floats in their own type."""
    print([cp.ones(2, t).sum().dtype.name for t in ("i1", "i4", "u1", "?", "f2", "f4", "c8")])


def axes_and_keepdims():
    """axis may be a tuple or negative; keepdims keeps length one."""
    x = cp.arange(24).reshape(2, 3, 4)
    print(x.sum(axis=(0, 2)), x.sum(axis=-1).shape, x.sum(axis=1, keepdims=True).shape)
    print(x.sum(axis=()).shape)


def axis_out_of_range():
    """A wrong axis is an AxisError."""
    cp.zeros((2, 3)).sum(axis=2)


def axis_twice():
    """The same axis twice is a ValueError."""
    cp.zeros((2, 3)).sum(axis=(0, 0))


def axis_must_be_an_integer():
    """A float axis is a TypeError."""
    cp.zeros((2, 3)).sum(axis=0.5)


def sum_into_out():
    """out= of a sum must be a device array of the result's shape."""
    out = cp.empty(3)
    print(cp.zeros((2, 3)).sum(axis=0, out=out) is out, out)


def sum_into_a_wrong_out():
    """out= of another shape is a ValueError."""
    cp.zeros((2, 3)).sum(axis=0, out=cp.empty(2))


def sum_with_dtype():
    """dtype= chooses the accumulator."""
    print(cp.ones(3, "f4").sum(dtype="f8").dtype, cp.arange(3).sum(dtype="f4"))


def sum_of_nothing():
    """Empty sums are 0, products 1."""
    x = cp.zeros((0,))
    print(x.sum(), x.prod(), x.any(), x.all(), cp.zeros((0, 2)).sum(axis=0))


def max_of_nothing():
    """An empty maximum is a ValueError."""
    cp.zeros((0,)).max()


def argmax_of_nothing():
    """An empty argmax is a ValueError."""
    cp.zeros((0,)).argmax()


def mean_of_nothing():
    """An empty mean is nan, with or without a warning as recorded."""
    print(cp.zeros((0,)).mean())


def max_min_and_their_places():
    """argmax gives the first place, as an int64 0-d array."""
    x = cp.array([3, 1, 3])
    print(x.max(), x.argmax(), x.argmin().dtype, x.argmax().shape, cp.ptp(x))


def nan_in_max():
    """max and argmax find a nan; nanmax ignores it."""
    x = cp.array([1.0, np.nan, 2.0])
    print(x.max(), x.min(), x.argmax(), cp.nanmax(x), cp.nanargmax(x))


def nan_reductions():
    """nansum, nanmean, nanvar, nanmedian and nanprod."""
    x = cp.array([1.0, np.nan, 3.0])
    print(cp.nansum(x), cp.nanmean(x), cp.nanvar(x), cp.nanmedian(x), cp.nanprod(x))


def nanmax_of_only_nan():
    """nanmax of nothing but nan gives nan; whether it warns is recorded."""
    print(cp.nanmax(cp.array([np.nan, np.nan])))


def mean_of_integers():
    """mean of integers is float64; of float16 it stays float16."""
    print(cp.arange(4).mean(), cp.arange(4).mean().dtype, cp.ones(2, "f2").mean().dtype)


def var_and_std():
    """ddof is subtracted from the count."""
    x = cp.arange(4.0)
    print(x.var(), x.var(ddof=1).round(6), x.std().round(6), x.std(ddof=4))


def float32_sum_of_many():
    """A float32 sum of a million 0.1 is exact to 1e-6 relative: summed as a tree."""
    x = cp.full(1_000_000, 0.1, dtype=cp.float32)
    print(abs(float(x.sum()) / 100_000 - 1) < 1e-6, x.sum().dtype)


def float16_sum_of_many():
    """A float16 sum of 4096 ones; in float16 alone a running sum would stop at 2048."""
    print(cp.ones(4096, dtype=cp.float16).sum())


def float16_sum_overflows():
    """A float16 sum that exceeds 65504 is inf; the mean of the same is what is recorded."""
    x = cp.full(4096, 100, dtype=cp.float16)
    print(x.sum(), x.mean())


def scans():
    """cumsum and cumprod along an axis or over all."""
    x = cp.arange(1, 7).reshape(2, 3)
    print(cp.cumsum(x), cp.cumsum(x, axis=1).tolist(), cp.cumprod(x, axis=0).tolist())


def cumsum_dtypes():
    """cumsum of int32 is int64, of float32 float32."""
    print(cp.cumsum(cp.ones(2, "i4")).dtype, cp.cumsum(cp.ones(2, "f4")).dtype)


def maximum_accumulate():
    """maximum.accumulate works or is refused with a NotImplementedError, as recorded."""
    print(cp.maximum.accumulate(cp.array([1, 3, 2])))


def diff_and_gradient():
    """diff, gradient, trapezoid and ediff1d."""
    x = cp.array([1.0, 4.0, 9.0])
    print(cp.diff(x), cp.gradient(x), cp.ediff1d(x), cp.trapezoid(x))


def count_and_all_along_axis():
    """count_nonzero, any and all with an axis."""
    x = cp.array([[0, 1], [2, 3]])
    print(cp.count_nonzero(x), cp.count_nonzero(x, axis=0), x.all(axis=1), x.any(axis=0))


def average_with_weights():
    """average weighs."""
    print(cp.average(cp.array([1.0, 3.0]), weights=cp.array([3.0, 1.0])))


def average_with_zero_weights():
    """Weights that sum to zero are a ZeroDivisionError."""
    cp.average(cp.array([1.0, 3.0]), weights=cp.array([1.0, -1.0]))


def median_and_percentile():
    """median, percentile and quantile interpolate."""
    x = cp.array([4.0, 1.0, 3.0, 2.0])
    print(cp.median(x), cp.percentile(x, 25), cp.quantile(x, cp.array([0.0, 1.0])))


def histogram():
    """histogram gives counts and edges on the device."""
    counts, edges = cp.histogram(cp.array([0.0, 0.5, 1.0, 1.0]), bins=2)
    print(counts, edges, counts.dtype)


def reduction_of_a_view():
    """Transposed and strided views reduce as their elements stand."""
    x = cp.arange(6).reshape(2, 3)
    print(x.T.sum(axis=0), x[:, ::-1].argmax(axis=1), x[:, ::2].sum())


def reductions_take_where_or_not():
    """sum has no where= argument: TypeError."""
    cp.arange(3).sum(where=cp.array([True, False, True]))


def sum_takes_no_initial():
    """sum has no initial= argument: TypeError."""
    cp.sum(cp.arange(3), initial=10)


def logsumexp_of_minus_infinity():
    """A row of -inf gives -inf from cupyx.scipy.special.logsumexp."""
    from cupyx.scipy.special import logsumexp

    print(logsumexp(cp.array([[-np.inf, -np.inf], [0.0, 0.0]]), axis=1).round(6))


def norm_and_trace():
    """linalg.norm and trace are 0-d."""
    x = cp.array([[3.0, 0.0], [0.0, 4.0]])
    print(cp.linalg.norm(x), cp.trace(x), cp.linalg.norm(x, axis=1), cp.linalg.norm(x, 1))


def cov_and_corrcoef():
    """cov and corrcoef follow NumPy."""
    x = cp.array([[1.0, 2.0, 3.0], [1.0, 2.0, 4.0]])
    print(cp.cov(x).round(6).tolist())
