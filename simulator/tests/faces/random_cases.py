"""Random calls that NumPy and CuPy both know, for a comparison of one with the other.

A case is a line of Python over ``xp`` and the arrays ``a``, ``b`` and ``c``. `outcome` evaluates it
with either library and says what came out, in words that can be compared and kept as JSON. The
module needs neither nogpu nor pytest: it runs beside the real CuPy, too.
"""

from __future__ import annotations

import functools
import random
import re
import warnings

import numpy as np

DTYPES = "?bBhHilqBHILefdFD"
UNARY = """
    absolute negative positive sign sqrt square cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan
    arcsin arccos arctan sinh cosh tanh arcsinh arctanh floor ceil trunc rint isnan isinf isfinite
    signbit logical_not invert reciprocal conjugate real imag angle deg2rad rad2deg fabs spacing
    nan_to_num iscomplex isreal isneginf isposinf fix sinc i0 modf frexp bitwise_count
""".split()
BINARY = """
    add subtract multiply true_divide floor_divide remainder fmod power float_power divmod maximum
    minimum fmax fmin less less_equal greater greater_equal equal not_equal logical_and logical_or
    logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift arctan2 hypot copysign
    logaddexp gcd lcm heaviside ldexp nextafter
""".split()
OPERATORS = "+ - * / // % ** < <= > >= == != & | ^ << >>".split()
SCALARS = """
    True False 0 1 -1 2 3 7 127 128 255 256 -129 65536 2**31 2**40 -2**31 2**63 2**64 -2**63-1 0.5
    -1.5 1e10 1e40 float('nan') float('inf') 1j (2-1j) None np.float32(2) np.int8(-3) np.uint8(200)
    np.int64(5) np.float16(0.1) np.bool_(True) np.uint64(7) np.complex64(1j)
""".split()
REDUCTIONS = """
    sum prod mean std var min max argmin argmax any all nansum nanprod nanmin nanmax nanargmin
    nanargmax nanmean nanvar median nanmedian ptp count_nonzero cumsum cumprod nancumsum average
    sort argsort flip diff fliplr flipud
""".split()
SHAPES = [(), (0,), (1,), (5,), (7,), (2, 3), (3, 1), (1, 3), (2, 0), (2, 3, 2), (4, 4)]
INDICES = """
    0 -1 1: ::2 ::-1 None ... ...,0 0,... :,None [0,-1] [] a>1 ~(a>1) (0,) () [True,False] 1,1
    :,::-1 [[0,1],[1,0]] xp.array([0,-1]) xp.array([],dtype=int) True False xp.array(1) np.int64(0)
    5:1:-2 xp.zeros(a.shape,dtype=bool) None,0 [0],[0] [0],... slice(None,None,2) -7: :100 0:0
""".split()
WHOLE = [  # {a}, {b}: arrays of any shape; {n}: one of a few numbers; {t}: a dtype
    "xp.clip(a, {n}, {m})", "xp.clip(a, None, {n})", "a.clip({n})", "xp.round(a, {i})",
    "a.round({i})", "a.astype({t})", "a.astype({t}).astype({u})", "xp.where(a, a, {n})",
    "xp.where(a > 1, a, b)", "xp.isclose(a, b)", "xp.allclose(a, b)", "xp.array_equal(a, b)",
    "xp.concatenate([a, b])", "xp.concatenate([a, b], axis=None)", "xp.stack([a, a], axis={i})",
    "xp.vstack([a, b])", "xp.hstack([a, b])", "xp.dstack([a, b])", "xp.column_stack([a, b])",
    "xp.concatenate([a, b], dtype={t}, casting='unsafe')", "xp.append(a, b)", "xp.tile(a, {i})",
    "xp.repeat(a, 2)", "xp.repeat(a, 2, axis=0)", "xp.roll(a, {i})", "xp.rot90(a)",
    "xp.dot(a, b)", "xp.matmul(a, b)", "a @ b", "xp.outer(a, b)", "xp.inner(a, b)", "xp.vdot(a, b)",
    "xp.kron(a, b)", "xp.tensordot(a, b, axes=0)", "xp.trace(a)", "xp.tril(a)", "xp.triu(a, 1)",
    "xp.diag(a)", "xp.diagonal(a)", "xp.einsum('ij,kj->ik', a, a)", "xp.einsum('ii', a)",
    "xp.unique(a)", "xp.unique(a, return_counts=True)", "xp.unique(a, return_inverse=True)",
    "xp.searchsorted(xp.sort(a.ravel()), b)", "xp.digitize(a, xp.array([0.0, 1.5, 3.0]))",
    "xp.digitize(a, xp.array([0, 1, xp.nan]))", "xp.bincount(a)", "xp.histogram(a, bins=4)",
    "xp.nonzero(a)", "xp.argwhere(a)", "xp.flatnonzero(a)", "xp.count_nonzero(a)",
    "xp.take(a, xp.array([0]))", "xp.take(a, xp.array([0]), axis=0)", "xp.compress([True], a)",
    "xp.extract(a > 0, a)", "xp.choose(xp.array([0, 1]), [a, b])", "xp.partition(a, 0)[..., :1]",
    "xp.percentile(a, {n})", "xp.quantile(a, 0.3)", "xp.percentile(a, 40, axis=-1)",
    "xp.average(a, weights=a)", "xp.cov(a)", "xp.corrcoef(a)", "xp.interp(a, xp.arange(3.0), b)",
    "xp.gradient(a)", "xp.diff(a, n=2)", "xp.ediff1d(a)", "xp.trapezoid(a)", "xp.cross(a, b)",
    "xp.pad(a, 1)", "xp.pad(a, 1, mode='edge')", "xp.pad(a, 1, constant_values={n})",
    "xp.full_like(a, {n})", "xp.full((2,), {n}, dtype={t})", "xp.array({n}, dtype={t})",
    "xp.arange({n})", "xp.linspace(0, {n}, 5, dtype={t})", "xp.zeros_like(a)",
    "xp.ones_like(a, {t})",
    "xp.array(a, dtype={t}, order={o})", "a.copy(order={o})", "a.ravel(order={o})",
    "a.flatten(order={o})", "a.reshape(-1, order={oo})", "a.T", "xp.moveaxis(a, 0, -1)",
    "xp.swapaxes(a, 0, -1)", "xp.squeeze(a)", "xp.expand_dims(a, {i})", "xp.atleast_2d(a)",
    "xp.broadcast_to(a, (2, *a.shape))", "a.view({t})", "xp.ascontiguousarray(a)",
    "xp.asfortranarray(a)", "xp.result_type(a, {n})", "xp.can_cast(a.dtype, {t})",
    "xp.isin(a, b)", "xp.setdiff1d(a, b)", "xp.union1d(a, b)",
    "xp.intersect1d(a, b)", "xp.packbits(a)", "xp.unpackbits(a)", "xp.tri(3, k={i}, dtype={t})",
    "xp.eye(3, k={i}, dtype={t})", "xp.logspace(0, 2, 4, dtype={t})", "xp.maximum(a, {n})",
    "xp.nan_to_num(a, nan={n})", "xp.lexsort(xp.stack([a, a]))", "xp.array_split(a, 2)",
    "xp.split(a, [1])", "xp.delete(a, 0)", "xp.ptp(a)", "xp.fmin(a, {n})", "float(a)", "int(a)",
    "bool(a)", "complex(a)", "len(a)", "a.tolist()", "a.item()", "xp.sum(a, dtype={t})",
    "xp.mean(a, dtype={t})", "xp.cumsum(a, dtype={t})", "xp.prod(a, axis=0, keepdims=True)",
    "xp.linalg.norm(a)", "xp.linalg.det(a)", "xp.linalg.norm(a, 1)", "xp.polyval(a, b)",
    "xp.convolve(a, b)", "xp.correlate(a, b)", "xp.fft.fft(a)", "xp.fft.rfft(a)",
    "xp.fft.fftshift(a)",
    "xp.vander(a)", "xp.may_share_memory(a, a)", "xp.broadcast_arrays(a, b)", "xp.meshgrid(a, b)",
    "xp.indices((2, 2), dtype={t})", "xp.apply_along_axis(xp.sum, 0, a)", "xp.select([a > 1], [a])",
    "xp.putmask(a, a > 1, b)", "xp.place(a, a > 1, b)", "xp.copyto(a, b, casting='unsafe')",
    "xp.copyto(a, {n})", "xp.fill_diagonal(a, {n})", "xp.put(a, [0], {n})", "a.fill({n})",
    "xp.add.reduce(a)", "xp.add(a, b, out=c)", "xp.multiply(a, {n}, out=c)",
    "xp.sqrt(a, dtype={t})",
    "xp.add(a, b, dtype={t})", "xp.add(a, {n}, casting='no')", "xp.add.outer(a, b)",
]  # fmt: skip
CHANGES = ["a += b", "a -= {n}", "a *= {n}", "a /= {n}", "a //= {n}", "a %= {n}", "a **= 2",
           "a &= b", "a <<= 1", "a[...] = {n}", "a[{x}] = {n}", "a[{x}] = b",
           "a[:] = b"]  # fmt: skip
NUMBERS = "0 1 2 -1 0.5 300 -2.5 2**40 True 1j 70000 xp.float32(1.5) 3".split()


@functools.lru_cache(maxsize=1)
def case(number: int) -> tuple[str, list[tuple]]:
    """A case by its number: the line, and how each of its arrays is made."""
    pick = random.Random(f"case {number}")
    one = pick.choice
    arrays = [(one(DTYPES), one(SHAPES), one("CCCFS"), pick.random()) for _ in range(3)]
    arrays[2] = (arrays[2][0], arrays[0][1], "C", arrays[2][3])
    if pick.random() < 0.5:  # shapes that go together
        arrays[1] = (arrays[1][0], arrays[0][1], *arrays[1][2:])
    words = {
        "n": one(NUMBERS), "m": one(NUMBERS), "i": one(["0", "1", "-1", "2"]),
        "t": repr(one(DTYPES)), "u": repr(one(DTYPES)), "o": repr(one("CFAK")),
        "oo": repr(one("CFA")), "x": one(INDICES),
    }  # fmt: skip
    family = pick.random()
    if family < 0.15:
        line = f"xp.{one(UNARY)}(a)"
    elif family < 0.28:
        line = f"xp.{one(BINARY)}(a, b)"
    elif family < 0.43:
        scalar = one(SCALARS)
        line = f"a {one(OPERATORS)} {scalar}"
        if pick.random() < 0.3:
            line = f"{scalar} {one(OPERATORS)} a"
    elif family < 0.57:
        axis = one(["", "", "axis=0", "axis=-1", "axis=1", "axis=(0, 1)", "axis=None", "axis=()"])
        line = f"xp.{one(REDUCTIONS)}({', '.join(filter(None, ['a', axis]))})"
    elif family < 0.66:
        line = f"a[{one(INDICES)}]"
    elif family < 0.72:
        line = one(CHANGES).format(**words)
    else:
        line = one(WHOLE).format(**words)
    return line, arrays


@functools.lru_cache(maxsize=3)  # NumPy and CuPy get the same ones, each a copy
def _host_array(dtype: str, shape: tuple, layout: str, seed: float) -> np.ndarray:
    """An array of numbers that show differences: small ones, limits, nan and inf."""
    values = np.random.default_rng(int(seed * 2**32))
    dtype = np.dtype(dtype)
    whole = (*shape[:-1], 2 * shape[-1]) if layout == "S" and shape else shape
    if dtype.kind == "b":
        made = values.integers(0, 2, whole).astype(bool)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        made = values.integers(max(-4, info.min), 9, whole).astype(dtype)
        limits = values.random(whole)
        made = np.where(limits < 0.04, info.max, np.where(limits > 0.96, info.min, made))
    else:
        made = np.round(values.normal(1, 2, whole), 2)
        if dtype.kind == "c":
            made = made + 1j * np.round(values.normal(0, 2, whole), 2)
        if seed < 0.3:
            chosen = values.random(whole)
            made = np.where(chosen < 0.1, np.nan, np.where(chosen > 0.9, np.inf, made))
    made = np.asarray(made).astype(dtype)
    if layout == "S" and shape:
        made = made[..., ::2]
    return np.asarray(made, order="F") if layout == "F" else made


def _on(xp: object, host: np.ndarray, layout: str, shape: tuple) -> object:
    if layout == "S" and shape:
        whole = xp.asarray(np.repeat(host, 2, axis=-1))
        return whole[..., ::2]
    return xp.array(host, order="F" if layout == "F" else "C")


def _words(item: object) -> object:
    """What came out, as lists, numbers and strings."""
    if hasattr(item, "__cuda_array_interface__"):
        flags, item = item.flags, item.get()
        if item.ndim > 1 and not flags.c_contiguous:
            item = np.asfortranarray(item) if flags.f_contiguous else np.repeat(
                item, 2, axis=-1)[..., ::2]  # fmt: skip
    if isinstance(item, (tuple, list)):
        return [type(item).__name__ if isinstance(item, list) else "tuple", *map(_words, item)]
    if isinstance(item, (np.ndarray, np.generic)):
        order = ""
        if item.ndim > 1 and item.size > 1:
            order = "C" if item.flags.c_contiguous else "F" if item.flags.f_contiguous else "-"
        values = [str(value) for value in np.ravel(item)[:40].tolist()]
        return [item.dtype.str + order, list(item.shape), values]
    return [type(item).__name__, str(item)]


def outcome(xp: object, number: int) -> tuple[object, list]:
    """Evaluate a case with NumPy or CuPy: what `_words` says of it, and the arrays of numbers."""
    line, specs = case(number)
    names, words = {"xp": xp, "np": np}, re.findall(r"\w+", line)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, spec in zip("abc", specs):
            if name not in words:
                continue
            names[name] = _on(xp, _host_array(*spec), spec[2], spec[1])
        try:
            change = any(f" {sign}= " in f" {line} " for sign in
                         "+ - * / // % ** & <<".split()) or "] = " in line  # fmt: skip
            if change or ".copyto(" in line or ".put" in line or ".fill" in line \
                    or ".place" in line:  # fmt: skip
                exec(line, names)
                result = names["a"]
            else:
                result = eval(line, names)
            found = _words(result)
        except Exception as error:  # whatever it is, it is what is compared
            kind = next(one for one in type(error).__mro__ if one.__module__ == "builtins")
            return ["raises", kind.__name__], [str(error)]
    return found, []


def agree(one: object, other: object) -> bool:
    """Whether two outcomes say the same: kinds, dtypes, shapes, and numbers up to rounding."""
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return False
        if len(one) == 3 and isinstance(one[2], list) and isinstance(one[1], list) \
                and isinstance(one[0], str) and one[0][:1] in "<|":  # fmt: skip
            return one[:2] == other[:2] and _close(one[0], one[2], other[2])
        return all(map(agree, one, other))
    return one == other


def _close(dtype: str, one: list[str], other: list[str]) -> bool:
    kind = np.dtype(dtype.rstrip('CF-'))
    if kind.kind not in "fc":
        return one == other
    part = {2: 2e-3, 4: 2e-5, 8: 1e-10}[kind.itemsize // (2 if kind.kind == "c" else 1)]
    x, y = (np.array([complex(v) for v in values]) for values in (one, other))
    with np.errstate(all="ignore"):
        for p, q in ((x.real, y.real), (x.imag, y.imag)):
            size = np.maximum(np.abs(x), np.abs(y))
            near = np.abs(p - q) <= part * size + part / 10
            same = (p == q) | (np.isnan(p) & np.isnan(q)) | near
            if not same.all():
                return False
    return True
