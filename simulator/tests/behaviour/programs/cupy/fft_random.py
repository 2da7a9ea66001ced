"""cupy.fft and cupy.random: shapes, types and what repeats; never the numbers themselves."""

import cupy as cp
import numpy as np


def fft_of_an_impulse():
    """An impulse has a flat spectrum."""
    x = cp.zeros(4)
    x[0] = 1
    print(cp.fft.fft(x), cp.fft.fft(x).dtype)


def fft_keeps_single_precision():
    """float32 gives complex64, as in NumPy 2; integers give complex128."""
    print(cp.fft.fft(cp.ones(4, "f4")).dtype, cp.fft.fft(cp.ones(4, "i4")).dtype)
    print(cp.fft.rfft(cp.ones(4, "f4")).dtype, cp.fft.irfft(cp.ones(3, "c8")).dtype)


def rfft_and_back():
    """rfft has n // 2 + 1 values; irfft gives the signal back."""
    x = cp.arange(6.0)
    y = cp.fft.rfft(x)
    print(y.shape, cp.allclose(cp.fft.irfft(y), x), cp.allclose(cp.fft.ifft(cp.fft.fft(x)), x))


def fft_length_and_norm():
    """n pads or cuts; norm="ortho" scales."""
    x = cp.ones(4)
    print(cp.fft.fft(x, n=8).shape, cp.fft.fft(x, n=2), cp.fft.fft(x, norm="ortho")[0])


def fft_of_two_dimensions():
    """fft2, fftn with axes, and shifts."""
    x = cp.ones((2, 4))
    print(cp.fft.fft2(x)[0, 0], cp.fft.fftn(x, axes=(1,)).shape, cp.fft.fftshift(cp.arange(4)))


def fftfreq():
    """fftfreq and rfftfreq are on the device."""
    print(cp.fft.fftfreq(4, 0.5), type(cp.fft.rfftfreq(4)).__module__)


def fft_of_length_zero():
    """A length of zero is a ValueError."""
    cp.fft.fft(cp.ones(4), n=0)


def fft_with_an_unknown_norm():
    """An unknown norm is a ValueError."""
    cp.fft.fft(cp.ones(4), norm="other")


def fft_of_numpy():
    """fft of a NumPy array is refused or converted, as recorded (TypeError)."""
    print(type(cp.fft.fft(np.ones(4))).__module__)


def convolve_and_correlate():
    """convolve and correlate exist, with NumPy's modes."""
    x, k = cp.arange(4.0), cp.ones(2)
    print(cp.convolve(x, k), cp.convolve(x, k, mode="valid"), cp.correlate(x, k))


def seed_repeats():
    """The same seed gives the same numbers, by both interfaces."""
    cp.random.seed(3)
    a = cp.random.rand(4)
    cp.random.seed(3)
    print(bool((a == cp.random.rand(4)).all()))
    r, s = cp.random.default_rng(5), cp.random.default_rng(5)
    print(bool((r.random(4) == s.random(4)).all()))


def types_of_random_numbers():
    """rand and standard_normal have dtype=; both default to float64."""
    print(cp.random.rand(2).dtype, cp.random.rand(2, dtype="f4").dtype)
    print(cp.random.standard_normal(2, dtype=cp.float32).dtype, cp.random.randn(2).dtype)
    print(cp.random.default_rng(1).random(2, dtype=cp.float32).dtype)


def ranges_of_random_numbers():
    """random is in [0, 1), randint in [low, high)."""
    x = cp.random.random(10_000)
    print(bool((x >= 0).all() and (x < 1).all()))
    i = cp.random.randint(2, 5, size=10_000)
    print(i.min(), i.max(), i.dtype)


def generator_integers():
    """Generator.integers with endpoint, and its dtype."""
    i = cp.random.default_rng(0).integers(0, 3, size=10_000, endpoint=True)
    print(i.min(), i.max(), i.dtype)


def randint_with_an_empty_range():
    """An empty range is a ValueError."""
    cp.random.randint(5, 5, size=2)


def random_scalar_is_zero_d():
    """Without a size the result is a 0-d device array, or a number, as recorded."""
    print(type(cp.random.rand()).__name__, type(cp.random.random()).__name__)
    print(type(cp.random.default_rng(0).random()).__name__, type(cp.random.randint(3)).__name__)


def default_bit_generator():
    """default_rng uses XORWOW."""
    rng = cp.random.default_rng(0)
    print(type(rng).__name__, type(rng.bit_generator).__name__)


def random_state_is_its_own():
    """RandomState objects are independent and repeat by seed."""
    a, b = cp.random.RandomState(1), cp.random.RandomState(1)
    print(bool((a.normal(size=3) == b.normal(size=3)).all()))


def permutation_and_shuffle():
    """permutation holds every number once; shuffle works in place."""
    x = cp.arange(10)
    cp.random.shuffle(x)
    print(cp.sort(cp.random.permutation(10)), cp.sort(x))


def choice():
    """choice without replacement takes each at most once."""
    print(cp.unique(cp.random.choice(10, 10, replace=False)).size, cp.random.choice(3, 2).shape)


def choice_of_too_many():
    """choice of more than there are, without replacement, is a ValueError."""
    cp.random.choice(3, 4, replace=False)


def generator_lacks_methods():
    """Generator has fewer methods than NumPy's: shuffle is an AttributeError."""
    print([hasattr(cp.random.Generator, n) for n in ("normal", "standard_normal", "uniform")])
    cp.random.default_rng(0).shuffle(cp.arange(3))


def seed_of_a_string():
    """A seed that is no number is refused: TypeError or ValueError, as recorded."""
    cp.random.seed("abc")


def moments():
    """Mean and deviation of a million normal numbers are near 0 and 1."""
    x = cp.random.default_rng(0).standard_normal(1_000_000)
    print(bool(abs(x.mean()) < 0.01), bool(abs(x.std() - 1) < 0.01))
