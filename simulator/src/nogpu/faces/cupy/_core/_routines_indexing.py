"""Indexing: basic indices make views; index arrays gather, and wrap around."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from cupy._core import core
from cupy._core.core import _SCALARS, ndarray
from cupy._creation.from_data import asarray
from cupy._math.ufuncs import UFUNCS
from numpy.lib.array_utils import normalize_axis_index

from nogpu.engine import indices as _indices

_BASIC = (slice, type(None), type(Ellipsis))


def getitem(array: ndarray, index: object) -> ndarray:
    """``array[index]``."""
    view = array._view
    kind = type(index)
    if kind is int:
        if view.ndim == 0:
            raise IndexError(
                "too many indices for array: array is 0-dimensional, but 1 were indexed")
        size = view.shape[0]
        if not -size <= index < size:
            raise IndexError(f"Index {index} is out of bounds for axis 0 with size {size}")
        return core._wrap(view[index, ...], array)
    if kind is str or kind is slice and index.step != 0 and view.ndim:
        return core._wrap(view[index], array)
    if isinstance(index, ndarray) and index.dtype.kind in "iu" and view.ndim:
        return _rows(array, index)
    parts, advanced = _parse(array.shape, index)
    if not advanced:
        return core._wrap(view[(*parts, ...) if Ellipsis not in parts else tuple(parts)], array)
    if len(parts) == 1 and parts[0].dtype.kind == "b" and parts[0].ndim:
        return core.compute_now(lambda values, mask: values[mask], [array, parts[0]])
    given, parts = parts, [_settle(part) for part in parts]  # the first owns the indices' memory
    shape = _indices.result_shape(array.shape, parts)
    if 0 not in shape:
        _indices.check_gather(array.shape, parts)
    target = core._new(shape, array.dtype)
    to, partly, sizes = target._view, view, array.shape
    if target.size:

        def work() -> None:
            to[...] = partly[_indices.wrapped(parts, sizes)]

        core._enqueue(work, target.nbytes)
    del given
    return target


def _rows(array: ndarray, index: ndarray) -> ndarray:
    """``array[index]`` for the commonest case: one array of integers for the first axis."""
    size, rest = array.shape[0], array.shape[1:]
    target = core._new(index.shape + rest, array.dtype)
    if target.size:
        to, partly, places = target._view, array._view, index._view

        def work() -> None:
            to[...] = partly[_indices.within(places, size)]

        core._enqueue(work, target.nbytes)
    elif size == 0 and index.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    return target


def setitem(array: ndarray, index: object, value: object) -> None:
    """``array[index] = value``."""
    partly = array._view
    if isinstance(index, str):  # a field of structures
        array[index][...] = value
        return
    parts, advanced = _parse(array.shape, index)
    if not advanced:
        part = core._wrap(partly[(*parts, ...) if Ellipsis not in parts else tuple(parts)], array)
        _assign(part, value)
        return
    value = value if isinstance(value, ndarray) else asarray(value, dtype=array.dtype)
    masks = [part for part in parts if isinstance(part, ndarray) and part.dtype.kind == "b"]
    source, dtype = value._view, array.dtype
    if len(parts) == 1 and masks and not value.ndim and masks[0].shape == array.shape:
        core._wait()  # as the real library does
        mask = masks[0]._view
        core._enqueue(
            lambda: np.copyto(partly, core.convert(source, dtype), where=mask, casting="unsafe"),
            array.nbytes)
        return
    parts = [_settle(part) for part in parts]
    shape = _indices.result_shape(array.shape, parts)
    try:
        fits = np.broadcast_shapes(value.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits and _squeezed(value.shape) != shape:
        raise ValueError(
            f"operands could not be broadcast together with shape {value.shape} and "
            f"requested shape {shape}")
    if 0 in shape:
        return
    _indices.check_gather(array.shape, parts)
    sizes = array.shape

    def scatter_work() -> None:
        partly[_indices.wrapped(parts, sizes)] = core.convert(source, dtype)

    core._enqueue(scatter_work, max(source.nbytes, 8 * int(np.prod(shape))))


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    first = next((i for i, size in enumerate(shape) if size != 1), len(shape))
    return shape[first:]


def _assign(part: ndarray, value: object) -> None:
    if not isinstance(value, ndarray):
        if isinstance(value, (np.ndarray, *_SCALARS)) or not core._exports(value):
            part.fill(value)
            return
        value = core.from_interface(value)
    source = value._view
    extra = max(source.ndim - part.ndim, 0)
    pairs = zip(reversed(source.shape), reversed(part.shape))
    if any(size != 1 for size in source.shape[:extra]) or any(
            size not in (1, wanted) for size, wanted in pairs):
        raise ValueError(
            f"operands could not be broadcast together with shapes {value.shape} {part.shape}")
    source = source.reshape(source.shape[extra:])
    if part.size:
        core._fill_from(part, core._wrap(source, value))


def _parse(shape: tuple[int, ...], index: object) -> tuple[list, bool]:
    """The index as a list of None, Ellipsis, slices, checked integers and device arrays."""
    given = list(index) if isinstance(index, tuple) else [index]
    parts, advanced, used, ellipses = [], False, 0, 0
    for item in given:
        if isinstance(item, (list, tuple, np.ndarray)) or (
            not isinstance(item, (ndarray, *_SCALARS, *_BASIC)) and core._exports(item)
        ):
            item = _index_array(item)
        if item is None:
            pass
        elif item is Ellipsis:
            ellipses += 1
            if ellipses > 1:
                raise IndexError("an index can only have a single ellipsis ('...')")
        elif isinstance(item, slice):
            if item.step is not None and item.step == 0:
                raise ValueError("Slice step must be nonzero.")
            used += 1
        elif isinstance(item, (bool, np.bool_)):
            item, advanced = _bool_index(item), True
        elif isinstance(item, ndarray):
            if item.dtype.kind == "b":
                used += item.ndim
            elif item.dtype.kind in "iu":
                used += 1
            else:
                raise IndexError(
                    "arrays used as indices must be of integer or boolean type. (actual: "
                    f"{item.dtype.type})")
            advanced = True
        elif hasattr(item, "__index__") or hasattr(item, "__int__"):
            item = int(item)
            used += 1
        else:
            raise IndexError(f"Invalid index: {item!r}")
        parts.append(item)
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {used} were "
            "indexed")
    if not ellipses:
        ellipsis_at = len(parts)
    else:
        ellipsis_at = next(i for i, part in enumerate(parts) if part is Ellipsis)
    axis = 0
    for i, part in enumerate(parts):
        if i == ellipsis_at:
            axis += len(shape) - used
        elif part is None or (isinstance(part, ndarray) and part.dtype.kind == "b"
                              and part.ndim == 0):  # fmt: skip
            continue
        elif isinstance(part, int):
            size = shape[axis]
            if not -size <= part < size:
                raise IndexError(
                    f"Index {part} is out of bounds for axis {axis} with size {size}")
            axis += 1
        elif isinstance(part, ndarray) and part.dtype.kind == "b":
            for k, size in enumerate(part.shape):
                if size and size != shape[axis + k]:  # as NumPy, which takes empty masks
                    raise IndexError(
                        "boolean index did not match indexed array along dimension "
                        f"{axis + k}; dimension is {shape[axis + k]} but corresponding boolean "
                        f"dimension is {size}")
            axis += part.ndim
        else:
            axis += 1
    return parts, advanced


def _bool_index(item: bool) -> ndarray:
    result = core._new((), np.dtype(bool))
    result._view[...] = item
    return result


def _index_array(item: object) -> ndarray:
    if not isinstance(item, (list, tuple, np.ndarray)):
        return core.from_interface(item)
    if not isinstance(item, np.ndarray):
        if any(isinstance(one, ndarray) for one in item):
            return asarray(item)
        item = np.asarray(item)
        item = item if item.size else item.astype(np.int32)  # empty indices, and no empty mask
    if item.dtype.kind not in "iub":
        raise IndexError(
            f"arrays used as indices must be of integer or boolean type. (actual: "
            f"{item.dtype.type})")
    return core.from_host(item)


def _settle(part: object) -> object:
    """Masks become index arrays, for which the host has to look at them; others stay."""
    if not isinstance(part, ndarray):
        return part
    if part.dtype.kind != "b":
        return part._view
    if part.ndim == 0:
        return _indices.Axis(bool(part))
    core._wait()
    return _indices.Mask(np.nonzero(part._view))


def take(array: ndarray, indices: object, axis: int | None = None, out: ndarray | None = None):
    """``numpy.take`` whose indices wrap around."""
    array = core._checked(array, "a")
    source = array if axis is not None and array.ndim else array.ravel()
    axis = 0 if axis is None else axis
    axis = normalize_axis_index(axis, source.ndim)
    if isinstance(indices, (int, np.integer)):
        index: object = core.from_host(np.array(int(indices)))
    elif isinstance(indices, ndarray):
        index = indices
    else:
        index = _index_array(indices if isinstance(indices, (list, np.ndarray)) else [*indices])
    result = getitem(source, (slice(None),) * axis + (index,))
    return into(out, result)


def into(out: ndarray | None, result: ndarray) -> ndarray:
    """The result, or ``out`` filled with it, which needs its dtype and its shape."""
    if out is None:
        return result
    if core._argument(out).dtype != result.dtype:
        raise TypeError("Output dtype mismatch")
    if out.shape != result.shape:
        raise ValueError("Output shape mismatch")
    core._fill_from(out, result)
    return out


def compute_at(array: ndarray, index: object, value: object, loop: np.ufunc) -> None:
    """``loop.at(array, index, value)`` with indices that wrap around."""
    given, _ = _parse(array.shape, index)  # it owns the memory of indices that were lists
    parts = [_settle(part) for part in given]
    shape = _indices.result_shape(array.shape, parts)
    source = (value if isinstance(value, ndarray) else asarray(value, dtype=array.dtype))._view
    if 0 in shape:
        return
    _indices.check_gather(array.shape, parts)
    partly, sizes, dtype = array._view, array.shape, array.dtype
    core._enqueue(
        lambda: loop.at(partly, _indices.wrapped(parts, sizes), core.convert(source, dtype)),
        max(partly.nbytes, source.nbytes))


def _at(name: str, types: str) -> Callable:
    """The ``at`` of a ufunc for the dtypes that the device has atomics for."""

    def method(array: ndarray, indices: object, value: object) -> None:
        array = core._argument(array)
        if array.dtype.char not in types:
            names = ", ".join(dict.fromkeys(
                np.dtype(char).name for char in "ilefdILFD" if char in types
            ))  # fmt: skip
            raise TypeError(f"cupy.{name}.at only supports {names} as data type")
        compute_at(array, indices, value, getattr(np, name))

    return method


for _name, _types in {
    "add": "iIqQlLefdFD", "subtract": "iIqQlL", "maximum": "iIqQlLfd", "minimum": "iIqQlLfd",
    "bitwise_and": "iIqQlL", "bitwise_or": "iIqQlL", "bitwise_xor": "iIqQlL",
}.items():  # fmt: skip
    UFUNCS[_name]._at = _at(_name, _types)


_SCATTER = {"add": np.add, "max": np.maximum, "min": np.minimum}
_TEXTS = {
    "add": "`ndarray.scatter_add` is deprecated. Please use `cupy.add.at` instead.",
    "max": "`ndarray.scatter_max` is deprecated Please use `cupy.maximum.at` instead.",
    "min": "`ndarray.scatter_min` is deprecated Please use `cupy.minimum.at` instead.",
}


def scatter(array: ndarray, index: object, value: object, kind: str) -> None:
    """The deprecated methods."""
    warnings.warn(_TEXTS[kind], DeprecationWarning, stacklevel=3)
    compute_at(array, index, value, _SCATTER[kind])
