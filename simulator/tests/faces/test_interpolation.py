"""Images moved, turned and resized: SciPy's values, recorded (1.17.1) and, where it is, its own."""

import numpy as np
import pytest
from machine import use_libraries

use_libraries()
cp = pytest.importorskip("cupy")

from cupyx.scipy import ndimage  # noqa: E402

IMAGE = (np.arange(132.0) * 7 % 23).reshape(12, 11)
SMALL = np.arange(20.0).reshape(4, 5) ** 2 % 23
PLACES = np.array([[0.5, 2.25, -1.5, 3.7, 13.2], [1.0, 3.5, 2.0, -0.6, 4.5]])
BY_MODE = {  # of order 3, with the value 2 beyond the edges
    "constant": [11.391931, 20.341766, 2.0, 2.0, 2.0],
    "nearest": [12.633467, 20.299787, 14.347488, 3.158011, 2.375535],
    "mirror": [11.391931, 20.341766, 14.409785, 11.985181, 9.097305],
    "reflect": [12.966136, 20.288513, 20.187372, 1.480995, 9.521112],
    "grid-mirror": [12.966136, 20.288513, 20.187372, 1.480995, 9.521112],
    "wrap": [11.391931, 20.341766, 8.834962, 4.897162, 10.592368],
    "grid-wrap": [13.473077, 20.349567, 4.312019, 4.103962, 19.897813],
    "grid-constant": [13.135872, 20.35676, 1.141717, 1.623707, 1.989173],
}
BY_ORDER = [  # beyond the edges "mirror"
    [15.0, 21.0, 7.0, 16.0, 15.0],
    [11.0, 16.625, 14.5, 10.8, 9.9],
    [11.454773, 19.814828, 14.423966, 12.656566, 9.694142],
    [11.391931, 20.341766, 14.409785, 11.985181, 9.097305],
    [11.270787, 20.991659, 14.464787, 12.007957, 8.976868],
    [11.165177, 21.267912, 14.566821, 11.88021, 8.94785],
]


def same(found, expected, tolerance=2e-6):
    np.testing.assert_allclose(found.get(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("mode", BY_MODE)
def test_beyond_the_edges(mode):
    found = ndimage.map_coordinates(cp.asarray(IMAGE), cp.asarray(PLACES), mode=mode, cval=2.0)
    same(found, BY_MODE[mode])


@pytest.mark.parametrize("order", range(6))
def test_orders(order):
    image, places = cp.asarray(IMAGE), cp.asarray(PLACES)
    same(ndimage.map_coordinates(image, places, order=order, mode="mirror"), BY_ORDER[order])
    out = cp.zeros(5, np.int32)
    assert ndimage.map_coordinates(image, places, out, order, "mirror") is out
    assert (out.get() == np.rint(BY_ORDER[order])).all()


def test_a_move_is_a_line_of_places():
    small = cp.asarray(SMALL)
    same(ndimage.shift(small[:2], (0.5, -1.25), order=2, mode="nearest"), [
        [0.706233, 5.018137, 10.162238, 17.055534, 16.220919],
        [6.537058, 5.036427, 14.619381, 13.872284, 14.021913]])
    matrix = cp.array([[0.5, 0.25], [0, 1]])
    same(ndimage.affine_transform(small, matrix, (0.5, 0), order=1, mode="wrap"), [
        [1, 10, 3, 15.5, 12], [2, 11.25, 4.5, 10.5, 12], [5, 7.75, 6, 6.5, 14],
        [8, 5.25, 9.5, 3.5, 16]])
    whole = cp.array([[1, 0, 0.5], [0, 1, -0.5]])
    same(ndimage.affine_transform(small, whole, output_shape=(3, 3)),
         ndimage.shift(small, (-0.5, 0.5))[:3, :3].get())
    same(ndimage.affine_transform(small, cp.array([1.0, 2.0]), output_shape=(4, 2)),
         SMALL[:, [0, 2]])


def test_zoom_and_rotate():
    small = cp.asarray(SMALL)
    same(ndimage.zoom(small, (1.5, 0.6), order=1), [
        [0, 4, 16], [1.2, 3.4, 13.6], [3.2, 3.6, 12], [6.8, 5.4, 12], [12, 8.8, 13.6],
        [18, 13, 16]])
    same(ndimage.zoom(small[:2, :3], 2, order=1, grid_mode=True, mode="grid-constant"), [
        [0, 0.1875, 0.5625, 1.3125, 2.4375, 2.25], [0.375, 1.375, 3.125, 3.9375, 3.8125, 2.8125],
        [1.125, 3.625, 7.875, 8.3125, 4.9375, 2.4375],
        [1.125, 3.5625, 7.6875, 7.875, 4.125, 1.6875]])
    same(ndimage.rotate(small, 90), np.rot90(SMALL), 1e-12)
    numbers = cp.arange(6).reshape(2, 3)
    turned = ndimage.rotate(numbers, 45, order=1)
    assert turned.dtype == numbers.dtype
    same(turned, [[0, 0, 0, 0], [0, 0, 3, 0], [0, 2, 0, 0], [0, 0, 0, 0]])
    assert ndimage.rotate(numbers, 45, reshape=False).shape == (2, 3)


def test_negative_values_of_unsigned_images_are_zero():
    """As a GPU converts them; the spline runs below 0 beside a step."""
    step = cp.array([0, 0, 0, 200, 200, 200], np.uint8)
    exact = ndimage.zoom(step.astype(float), 2).get()
    assert (exact < -1).any()
    same(ndimage.zoom(step, 2), np.rint(np.maximum(exact, 0)))


def test_spline_filters():
    small = cp.asarray(SMALL)
    same(ndimage.spline_filter(small), [
        [8.233333, -19.266667, 14.833333, -10.866667, 33.433333],
        [-17.32381, 40.247619, -17.666667, 44.019048, -6.009524],
        [7.490476, 1.419048, 4.833333, 3.647619, 14.17619],
        [43.933333, -15.066667, 34.333333, -17.466667, 36.733333]])
    same(ndimage.spline_filter1d(small, 5, 0, mode="grid-wrap"), [
        [-23, -15.8125, -6.625, 4.5625, 17.75], [14.5, 32, 8.375, 29.875, 10.25],
        [-8, -6.4375, -2.875, 2.6875, 10.25], [44.5, 13.25, 27.125, -0.125, 17.75]])
    places = cp.asarray(PLACES[:, :2])
    filtered = ndimage.spline_filter(small)
    same(ndimage.map_coordinates(filtered, places, prefilter=False, mode="mirror"),
         ndimage.map_coordinates(small, places, mode="mirror").get())


def test_what_is_refused():
    small = cp.asarray(SMALL)
    with pytest.raises(ValueError, match="boundary mode"):
        ndimage.shift(small, 1, mode="elsewhere")
    with pytest.raises(ValueError, match="order"):
        ndimage.zoom(small, 2, order=6)
    with pytest.raises(NotImplementedError):
        ndimage.shift(small.astype(int), 1, cval=np.nan)
    with pytest.raises(TypeError):
        ndimage.rotate(SMALL, 20)


@pytest.mark.parametrize("mode", BY_MODE)
@pytest.mark.parametrize("order", range(6))
def test_as_scipy(order, mode):
    of_scipy = pytest.importorskip("scipy.ndimage")
    random = np.random.default_rng([order, len(mode)])
    image = random.random((17, 16, 13)[: 2 + (order == 1)]) * 100
    matrix = np.eye(image.ndim) + random.normal(0, 0.3, (image.ndim,) * 2)
    how = {"order": order, "mode": mode, "cval": 3.5}
    for name, *given in (
        ("affine_transform", matrix, 0.5), ("shift", random.normal(0, 3, image.ndim)),
        ("zoom", 1.7), ("rotate", 33.0),
        ("map_coordinates", random.random((image.ndim, 7)) * 18 - 2),
    ):  # fmt: skip
        expected = getattr(of_scipy, name)(image, *given, **how)
        on_device = [cp.asarray(x) if isinstance(x, np.ndarray) else x for x in given]
        same(getattr(ndimage, name)(cp.asarray(image), *on_device, **how), expected)
