"""Arrays in device memory: no broadcasting, basic slices only, C's arithmetic.

Operations of this module work with NumPy on the device's memory, in the order of a stream.
"""

from __future__ import annotations

import builtins
import copyreg
import math
import numbers
import operator
import struct
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from nogpu import engine
from nogpu.faces import missing as _missing
from nogpu.faces import table

from . import _contexts, _streams
from . import driver as drv
from .tools import dtype_to_ctype, get_or_register_dtype

_NOT_CONTIGUOUS = "only contiguous arrays may be used as arguments to this operation"


class vec:
    """CUDA's vector types as dtypes, and functions that make one."""


def _vector_types() -> None:
    for base, kind, most in (
        ("char", np.int8, 4), ("uchar", np.uint8, 4), ("short", np.int16, 4),
        ("ushort", np.uint16, 4), ("int", np.int32, 4), ("uint", np.uint32, 4),
        ("long", np.int64, 4), ("ulong", np.uint64, 4), ("longlong", np.int64, 2),
        ("ulonglong", np.uint64, 2), ("float", np.float32, 4), ("double", np.float64, 2),
    ):  # fmt: skip
        for count in range(1, most + 1):
            dtype = np.dtype([(field, kind) for field in "xyzw"[:count]])
            get_or_register_dtype(f"{base}{count}", dtype)
            setattr(vec, f"{base}{count}", dtype)
            setattr(vec, f"make_{base}{count}", staticmethod(_maker(dtype)))


def _maker(dtype: np.dtype) -> Callable:
    return lambda *values: np.array(tuple(values), dtype=dtype)


_vector_types()


def splay(n: int, dev: object = None) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """A grid and a block for ``n`` elements."""
    threads = 32 if n < 32 * 1024 else 128
    blocks = builtins.min(1024, builtins.max(1, -(-n // threads)))
    return (blocks, 1), (threads, 1, 1)


class ArrayFlags:
    """How an array lies in memory."""

    def __init__(self, array: GPUArray) -> None:
        def packed(axes: Sequence[int]) -> bool:
            step = array.itemsize
            for axis in axes:
                if array.shape[axis] != 1 and array.strides[axis] != step:
                    return False
                step *= array.shape[axis]
            return True

        axes = range(array.ndim)
        self.c_contiguous, self.f_contiguous = packed(axes[::-1]), packed(axes)
        self.forc = self.c_contiguous or self.f_contiguous


def _strides(shape: Sequence[int], itemsize: int, order: str) -> tuple[int, ...]:
    steps, step = [], itemsize
    for size in shape if order == "F" else reversed(shape):
        steps.append(step)
        step *= size
    return tuple(steps if order == "F" else reversed(steps))


def _common(one: GPUArray, other: object) -> np.dtype:
    """The type of a result: NumPy's, a Python number taking the array's where it can."""
    if isinstance(other, GPUArray):
        return np.result_type(one.dtype, other.dtype)
    return np.result_type(one.dtype, other)


def _number(dtype: np.dtype, value: object) -> np.generic:
    """A number as a launch would pack it: struct.error where it does not fit the type."""
    dtype_to_ctype(dtype)
    drv._pack(drv.letter_of(dtype), [value])
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)[()]


def _need(*arrays: GPUArray) -> None:
    """Refuse arrays with gaps; struct.error for one without memory, as a launch would."""
    for array in arrays:
        if not array.flags.forc:
            raise RuntimeError(_NOT_CONTIGUOUS)
        dtype_to_ctype(array.dtype)
    for array in arrays:
        if not hasattr(type(array.gpudata), "__index__"):
            raise struct.error("required argument is not an integer")


def _flat(array: GPUArray) -> np.ndarray:
    """The elements as they lie in memory."""
    return engine.view(array.ptr, array.nbytes, array.dtype)


def _fit(array: GPUArray, size: int) -> np.ndarray:
    """The elements of an operand, one if it has no axes."""
    return _flat(array) if array.shape != () or size == 1 else _flat(array)[0]


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return values.astype(dtype, copy=False)


def _run(
    out: GPUArray, work: Callable[[], object], stream: object, *inputs: object,
    kernel: object = None,
) -> GPUArray:  # fmt: skip
    """Queue ``out = work()`` on a stream; both ends live until then.

    ``kernel`` says which of PyCUDA's kernels it stands for, where ``work`` does not.
    """
    types = [one.dtype for one in inputs if isinstance(one, GPUArray)]
    _contexts.check_kernel((kernel or work.__code__, out.dtype, *types))
    target = _flat(out)

    def step(keep: tuple = (out, *inputs)) -> None:
        target[...] = np.asarray(work()).astype(target.dtype, copy=False)

    _streams.queue_of(stream).run(step, out.nbytes, "GPUArray")
    return out


class GPUArray:
    """An array in device memory."""

    __array_priority__ = 100

    def __init__(
        self, shape, dtype, allocator=drv.mem_alloc, base=None, gpudata=None, strides=None,
        order="C",
    ):  # fmt: skip
        dtype = np.dtype(dtype)
        if isinstance(shape, np.ndarray) and shape.ndim == 0:
            shape = shape.item()
        if isinstance(shape, (str, bytes)) or not hasattr(shape, "__iter__"):
            assert isinstance(shape, numbers.Integral)
            shape = (shape,)
        shape = tuple(int(size) for size in shape)
        if strides is None:
            if order not in ("C", "F"):
                raise ValueError(f"invalid order: {order}")
            strides = _strides(shape, dtype.itemsize, order)
        self.shape, self.dtype = shape, dtype
        self.strides = tuple(int(step) for step in strides)
        self.mem_size = self.size = math.prod(shape)
        self.itemsize = dtype.itemsize
        self.nbytes = self.itemsize * self.size
        self.allocator, self.base = allocator, base
        if gpudata is None:
            self.gpudata = allocator(self.nbytes) if self.size else None
            assert base is None
        else:
            self.gpudata = gpudata
        self._grid, self._block = splay(self.mem_size)

    @property
    def __cuda_array_interface__(self) -> dict:
        return {
            "shape": self.shape,
            "strides": self.strides,
            "data": (0 if self.gpudata is None else int(self.gpudata), False),
            "typestr": self.dtype.str,
            "stream": None,
            "version": 3,
        }

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def flags(self) -> ArrayFlags:
        """How it lies in memory."""
        return ArrayFlags(self)

    @property
    def ptr(self) -> int:
        """The address of its first element."""
        return int(self.gpudata)

    # copies

    def set(self, ary, async_=False, stream=None):
        """Copy a NumPy array of the same shape and type into it."""
        if ary.size != self.size:
            raise ValueError("ary and self must be the same size")
        if ary.shape != self.shape:
            warnings.warn("Setting array from one with different shape.", stacklevel=2)
            ary = ary.reshape(self.shape)
        if ary.dtype != self.dtype:
            raise ValueError("ary and self must have the same dtype")
        if self.size:
            _copy_between(self, ary, async_, stream)

    def set_async(self, ary, stream=None):
        """Queue `set`."""
        return self.set(ary, async_=True, stream=stream)

    def get(self, ary=None, pagelocked=False, async_=False, stream=None):
        """A NumPy array with its elements: ``ary``, or a new one."""
        if ary is None:
            make = drv.pagelocked_empty if pagelocked else np.empty
            ary = make(self.shape, self.dtype)
            ary = np.lib.stride_tricks.as_strided(ary, strides=_packed_strides(self))
        else:
            if self.size != ary.size:
                raise ValueError("self and ary must be the same size")
            if self.shape != ary.shape:
                warnings.warn(
                    "get() between arrays of different shape is deprecated and will be removed "
                    "in PyCUDA 2017.x", DeprecationWarning, stacklevel=2)
                ary = ary.reshape(self.shape)
            if self.dtype != ary.dtype:
                raise TypeError("self and ary must have the same dtype")
        if self.size:
            _copy_between(ary, self, async_, stream)
        return ary

    def get_async(self, stream=None, ary=None):
        """Queue `get`."""
        return self.get(ary=ary, async_=True, stream=stream)

    def copy(self, stream=None):
        """A new array with the same elements."""
        new = GPUArray(self.shape, self.dtype, self.allocator, strides=self.strides)
        _copy_between(new, self, stream is not None, stream)
        return new

    def __str__(self):
        return str(self.get())

    def __repr__(self):
        return repr(self.get())

    def __hash__(self):
        raise TypeError("GPUArrays are not hashable.")

    def __bool__(self):
        if self.size == 1:
            return bool(self.get())
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. "
            "Use a.any() or a.all()")

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    # arithmetic

    def _new_like_me(self, dtype=None, order="C"):
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        strides = self.strides if dtype == self.dtype else None
        return GPUArray(self.shape, dtype, self.allocator, strides=strides, order=order)

    def _result_with(self, other: GPUArray, dtype: np.dtype | None = None) -> GPUArray:
        dtype = _common(self, other) if dtype is None else dtype
        if self.shape == other.shape or other.shape == ():
            return self._new_like_me(dtype)
        if self.shape == ():
            return other._new_like_me(dtype)
        raise NotImplementedError(
            f"Broadcasting binary operator with shapes: {self.shape}, {other.shape}.")

    def _axpbyz(self, selffac, other, otherfac, out, stream=None):
        """``out = selffac * self + otherfac * other``, in the result's type."""
        _need(self, other)
        assert out.shape in (self.shape, other.shape)
        kind = out.dtype
        a, b = _number(kind, selffac), _number(kind, otherfac)
        x, y = _fit(self, out.size), _fit(other, out.size)
        return _run(
            out, lambda: a * _cast(x, kind) + b * _cast(y, kind), stream, self, other)

    def _axpbz(self, selffac, number, out, stream=None):
        """``out = selffac * self + number``, in the result's type."""
        kind = out.dtype
        a, b = _number(kind, selffac), _number(kind, number)
        return self._map(lambda x: a * _cast(x, kind) + b, out, stream)

    def _map(self, function, out, stream=None, kernel=None):
        """``out = function(self)`` of the elements as they lie in memory."""
        _need(self)
        x = _flat(self)
        return _run(out, lambda: function(x), stream, self, kernel=kernel or function.__code__)

    def _with(self, other, out, function, stream=None):
        """``out = function(self, other)`` of two arrays."""
        _need(self, other)
        assert out.shape in (self.shape, other.shape)
        x, y = _fit(self, out.size), _fit(other, out.size)
        return _run(out, lambda: function(x, y), stream, self, other, kernel=function)

    def mul_add(self, selffac, other, otherfac, add_timer=None, stream=None, out=None):
        """``selffac * self + otherfac * other``."""
        out = self._new_like_me(_common(self, other)) if out is None else out
        return self._axpbyz(selffac, other, otherfac, out, stream)

    def __rsub__(self, other):
        return self._axpbz(-1, other, self._new_like_me(_common(self, other)))

    def __pos__(self):
        return self

    def __neg__(self):
        return self._axpbz(-1, 0, self._new_like_me())

    def __rmul__(self, other):
        return self._axpbz(other, 0, self._new_like_me(_common(self, other)))

    def __rtruediv__(self, other):
        out = self._new_like_me(_common(self, other))
        number = _number(out.dtype, other)
        return self._map(lambda x: _divide(number, _cast(x, out.dtype)), out)

    __rdiv__ = __rtruediv__

    def _power(self, other, out):
        _need(self, *([other] if isinstance(other, GPUArray) else []))
        assert not isinstance(other, GPUArray) or other.shape == self.shape
        x = _flat(self)
        y = _flat(other) if isinstance(other, GPUArray) else _number(_common(self, other), other)
        return _run(out, lambda: _raise_to(x, y), None, self, other)

    def __pow__(self, other):
        return self._power(other, self._new_like_me(_common(self, other)))

    def __ipow__(self, other):
        return self._power(other, self)

    def __rpow__(self, other):
        out = self._new_like_me(_common(self, other))
        number = _number(out.dtype, other)
        return self._map(lambda x: _raise_to(number, x), out)

    def __abs__(self):
        real = np.dtype(f"f{self.itemsize // 2}") if self.dtype.kind == "c" else self.dtype
        return self._map(lambda x: np.abs(x), self._new_like_me(real))

    def fill(self, value, stream=None):
        """Set all elements; the array is returned."""
        _need(self)
        number = _number(self.dtype, value)
        return _run(self, lambda: number, stream)

    def reverse(self, stream=None):
        """The elements in reversed order."""
        return self._map(lambda x: x[::-1], self._new_like_me(), stream)

    def astype(self, dtype, stream=None):
        """The elements in another type, converted as C does."""
        if not self.flags.forc:
            raise RuntimeError(_NOT_CONTIGUOUS)
        if dtype == self.dtype:
            return self.copy(stream)
        out = self._new_like_me(dtype)
        _need(self, out)
        return self._map(lambda x: x, out, stream)

    # views

    def _view(self, shape, strides, offset=0, dtype=None):
        return GPUArray(
            shape, self.dtype if dtype is None else dtype, self.allocator, base=self,
            gpudata=int(self.gpudata) + offset, strides=strides)

    def reshape(self, *shape, order="C"):
        """The same memory in another shape."""
        if not self.flags.forc:
            raise RuntimeError(_NOT_CONTIGUOUS)
        if isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        same = self.flags.c_contiguous if order == "C" else self.flags.f_contiguous
        if shape == self.shape and same:
            return self
        if -1 in shape:
            if shape.count(-1) > 1:
                raise ValueError("can only specify one unknown dimension")
            rest = -math.prod(shape)
            shape = tuple(self.size // rest if size == -1 else size for size in shape)
        if math.prod(shape) != self.size:
            raise ValueError("total size of new array must be unchanged")
        return self._view(shape, _strides(shape, self.itemsize, order))

    def ravel(self):
        """The same memory with one axis."""
        return self.reshape(self.size)

    def view(self, dtype=None):
        """The same bytes as another type."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        axis = builtins.min(range(self.ndim), key=lambda one: abs(self.strides[one]))
        nbytes = self.shape[axis] * self.itemsize
        if nbytes % dtype.itemsize:
            raise ValueError("new type not compatible with array")
        shape, strides = list(self.shape), list(self.strides)
        shape[axis] = nbytes // dtype.itemsize
        strides[axis] = strides[axis] * dtype.itemsize // self.itemsize
        return self._view(shape, strides, dtype=dtype)

    def squeeze(self):
        """Without axes of length 1."""
        kept = [axis for axis, size in enumerate(self.shape) if size > 1]
        return self._view([self.shape[i] for i in kept], [self.strides[i] for i in kept])

    def transpose(self, axes=None):
        """With the axes in another order, reversed unless given."""
        axes = range(self.ndim)[::-1] if axes is None else axes
        if len(axes) != self.ndim:
            raise ValueError("axes don't match array")
        return GPUArray(
            [self.shape[i] for i in axes], self.dtype, self.allocator,
            base=self if self.base is None else self.base, gpudata=self.gpudata,
            strides=[self.strides[i] for i in axes])

    @property
    def T(self):
        """The transposed view."""
        return self.transpose()

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        shape, strides, offset, axis = [], [], 0, 0
        seen = False
        for position, entry in enumerate(index):
            if axis > self.ndim:
                raise IndexError("too many axes in index")
            if isinstance(entry, slice):
                start, stop, step = entry.indices(self.shape[axis])
                shape.append((abs(stop - start) - 1) // abs(step) + 1)
                strides.append(step * self.strides[axis])
                offset += start * self.strides[axis]
                axis += 1
            elif isinstance(entry, (int, np.integer)):
                size = self.shape[axis]
                entry = int(entry) + size if entry < 0 else int(entry)
                if not 0 <= entry < size:
                    raise IndexError(f"subindex in axis {position} out of range")
                offset += entry * self.strides[axis]
                axis += 1
            elif entry is Ellipsis:
                until = self.ndim - (len(index) - position - 1)
                if until < axis:
                    raise IndexError("invalid use of ellipsis in index")
                if seen:
                    raise IndexError("more than one ellipsis not allowed in index")
                shape += self.shape[axis:until]
                strides += self.strides[axis:until]
                axis, seen = until, True
            elif entry is np.newaxis:
                shape.append(1)
                strides.append(0)
            else:
                raise IndexError(f"invalid subindex in axis {position}")
        shape += self.shape[axis:]
        strides += self.strides[axis:]
        return self._view(shape, strides, offset)

    def __setitem__(self, index, value):
        if np.isscalar(value):
            self[index].fill(value)
        else:
            _copy_between(self[index], value)

    # complex numbers

    def _part(self, function, dtype):
        out = self._new_like_me(dtype, "F" if self.flags.f_contiguous else "C")
        return self._map(function, out, kernel=function)

    @property
    def real(self):
        """The real parts."""
        if self.dtype.kind != "c":
            return self
        return self._part(np.real, np.dtype(f"f{self.itemsize // 2}"))

    @property
    def imag(self):
        """The imaginary parts."""
        if self.dtype.kind != "c":
            return zeros_like(self)
        return self._part(np.imag, np.dtype(f"f{self.itemsize // 2}"))

    def conj(self, out=None):
        """The conjugate numbers."""
        if self.dtype.kind != "c":
            return self
        if out is None:
            return self._part(np.conj, self.dtype)
        return self._map(lambda x: np.conj(x), out)

    conjugate = conj

    def __getattr__(self, name):
        raise _missing.error("pycuda.gpuarray.GPUArray", name, "'GPUArray' object")


def _divide(x: object, y: object) -> np.ndarray:
    """C's division: integers towards zero, and nothing of consequence for a divisor 0."""
    kind = np.result_type(x, y)
    if kind.kind in "iub":
        y = np.where(np.asarray(y) == 0, 1, y)
        return np.trunc(np.true_divide(x, y)) if kind.itemsize < 8 else _exact_divide(x, y)
    return np.divide(x, y)


def _exact_divide(x: object, y: object) -> np.ndarray:
    quotient = np.floor_divide(np.abs(x), np.abs(y))
    return quotient * np.sign(x) * np.sign(y)


def _raise_to(x: object, y: object) -> np.ndarray:
    kind = np.result_type(x, y)
    if kind.kind in "iub":  # CUDA's pow works in double
        return np.power(np.asarray(x, np.float64), np.asarray(y, np.float64))
    return np.power(x, y)


def _comparison(function: Callable) -> Callable:
    def compare(self: GPUArray, other: object) -> GPUArray:
        if not self.flags.forc:
            raise RuntimeError(_NOT_CONTIGUOUS)
        if isinstance(other, GPUArray):
            return self._with(other, self._result_with(other), function)
        assert np.isscalar(other)
        number = _number(np.dtype(type(other)), other)
        return self._map(lambda x: function(x, number), self._new_like_me(), kernel=function)

    return compare


def _sum(sign: int) -> tuple[Callable, Callable]:
    """``self + other`` or ``self - other``, as a new array and in place."""

    def add(self: GPUArray, other: object) -> GPUArray:
        if isinstance(other, GPUArray):
            return self._axpbyz(1, other, sign, self._result_with(other))
        if not np.isscalar(other):
            return NotImplemented
        if other == 0:
            return self.copy()
        number = other if sign > 0 else -other
        return self._axpbz(1, number, self._new_like_me(_common(self, other)))

    def add_in_place(self: GPUArray, other: object) -> GPUArray:
        if isinstance(other, GPUArray):
            return self._axpbyz(1, other, sign, self)
        return self._axpbz(1, other if sign > 0 else -other, self)

    return add, add_in_place


def _product(function: Callable, divides: bool) -> tuple[Callable, Callable]:
    """``self * other`` or ``self / other``, as a new array and in place."""

    def multiply(self: GPUArray, other: object) -> GPUArray:
        if isinstance(other, GPUArray):
            return self._with(other, self._result_with(other), function)
        if not np.isscalar(other):
            return NotImplemented
        if divides and other == 1:
            return self.copy()
        factor = 1 / other if divides else other
        return self._axpbz(factor, 0, self._new_like_me(_common(self, other)))

    def multiply_in_place(self: GPUArray, other: object) -> GPUArray:
        if isinstance(other, GPUArray):
            return self._with(other, self, function)
        if divides and other == 1:
            return self
        return self._axpbz(1 / other if divides else other, 0, self)

    return multiply, multiply_in_place


GPUArray.__add__, GPUArray.__iadd__ = _sum(1)
GPUArray.__radd__ = GPUArray.__add__
GPUArray.__sub__, GPUArray.__isub__ = _sum(-1)
GPUArray.__mul__, GPUArray.__imul__ = _product(np.multiply, divides=False)
GPUArray.__truediv__, GPUArray.__itruediv__ = _product(_divide, divides=True)
GPUArray.__div__, GPUArray.__idiv__ = GPUArray.__truediv__, GPUArray.__itruediv__
for _name in ("eq", "ne", "le", "ge", "lt", "gt"):
    setattr(GPUArray, f"__{_name}__", _comparison(getattr(operator, _name)))
copyreg.pickle(GPUArray, lambda array: (to_gpu, (array.get(),)))


# copies


def _packed_strides(array: object) -> list[int]:
    """Strides of the same order without gaps."""
    strides, step = [0] * len(array.shape), array.dtype.itemsize
    for _, size, axis in sorted(zip(array.strides, array.shape, range(len(array.shape)))):
        strides[axis] = step
        step *= size
    return strides


def _extent(array: GPUArray) -> np.ndarray:
    """A NumPy view of an array that has gaps, or another order."""
    reach = [(size - 1) * step for size, step in zip(array.shape, array.strides)]
    first = builtins.sum(one for one in reach if one < 0)
    last = builtins.sum(one for one in reach if one > 0)
    raw = engine.view(array.ptr + first, last - first + array.itemsize)
    return np.ndarray(array.shape, array.dtype, raw, -first, array.strides)


def _check_order(dst: object, src: object) -> None:
    """Refuse what a copy of rows cannot do: another order of axes, or too many gaps."""
    axes = sorted((i for i, n in enumerate(src.shape) if n > 1), key=lambda i: src.strides[i])
    groups, before = 0, None
    for axis in axes:
        if before is not None:
            if dst.strides[axis] < dst.strides[before]:
                raise ValueError("src and dst must have same order")
            size = src.shape[before]
            if (src.strides[before] * size == src.strides[axis]
                    and dst.strides[before] * size == dst.strides[axis]):  # fmt: skip
                before = axis
                continue
        elif src.strides[axis] != src.dtype.itemsize or dst.strides[axis] != src.dtype.itemsize:
            groups += 1
        groups += 1
        before = axis
    if groups > 3:
        raise ValueError(f"more than 2 discontiguous axes not supported {tuple(sorted(axes))}")


def _copy_between(dst: object, src: object, async_: bool = False, stream: object = None) -> None:
    for name, array in (("src", src), ("dst", dst)):
        if not isinstance(array, (GPUArray, np.ndarray)):
            raise TypeError(f"{name} must be GPUArray or ndarray")
    if src.shape != dst.shape:
        raise ValueError("src and dst must be same shape")
    if src.dtype != dst.dtype:
        raise TypeError("src and dst must have same dtype")
    packed = src.flags.forc and dst.flags.forc
    if packed or _compact(src) and _compact(dst) and src.strides == dst.strides:
        _copy_flat(dst, src, async_, stream)
        return
    _check_order(dst, src)
    _copy_strided(dst, src, async_, stream)


def _compact(array: object) -> bool:
    return list(array.strides) == _packed_strides(array)


def _bytes_of(array: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(array, (array.size,), (array.itemsize,))


def _copy_flat(dst: object, src: object, async_: bool, stream: object) -> None:
    """Bytes as they lie in memory."""
    on_device = [isinstance(array, GPUArray) for array in (dst, src)]
    ends = [array.gpudata if device else _bytes_of(array)
            for array, device in zip((dst, src), on_device)]  # fmt: skip
    name = "memcpy_{1}to{0}".format(*("hd"[device] for device in on_device))
    size = [src.nbytes] if builtins.all(on_device) else []
    if size != [0]:
        copy = getattr(drv, name + "_async" * async_)
        copy(*ends, *size, *[stream] * async_)


def _copy_strided(dst: object, src: object, async_: bool, stream: object) -> None:
    source = _extent(src) if isinstance(src, GPUArray) else src
    target = _extent(dst) if isinstance(dst, GPUArray) else dst
    if isinstance(src, np.ndarray):
        source = src.copy()  # what is read later may have changed

    def work(keep: tuple = (dst, src)) -> None:
        target[...] = source

    queue = _streams.queue_of(stream)
    queue.run(work, src.nbytes, "GPUArray copy")
    if not async_ or isinstance(dst, np.ndarray):
        queue.synchronize()


# making arrays


def _copy_of(ary: np.ndarray, allocator: Callable, *stream: object) -> GPUArray:
    result = GPUArray(ary.shape, ary.dtype, allocator, strides=_packed_strides(ary))
    result.set(ary, bool(stream), *stream)
    return result


def _full(name: str) -> Callable:
    return lambda shape, dtype, allocator, order: _filled(
        GPUArray(shape, dtype, allocator, order=order), int(name == "ones"))


empty = GPUArray
to_gpu, _ = table.functions(globals(), lambda name: _copy_of, """
to_gpu(ary, allocator=drv.mem_alloc): A copy of a NumPy array.
to_gpu_async(ary, allocator=drv.mem_alloc, stream=None): A copy of a NumPy array, queued.
""")
zeros, ones = table.functions(globals(), _full, """
zeros(shape, dtype=np.float64, allocator=drv.mem_alloc, order="C"): An array of 0.
ones(shape, dtype=np.float64, allocator=drv.mem_alloc, order="C"): An array of 1.
""")


def _filled(array: GPUArray, value: int) -> GPUArray:
    if not array.size:
        return array
    _need(array)
    number = np.full((), value, array.dtype)
    return _run(array, lambda: number, None)


def _like(other: GPUArray, dtype: object, order: str) -> GPUArray:
    strides = None
    if order == "A":
        order = "F" if other.flags.f_contiguous and not other.flags.c_contiguous else "C"
    elif order == "K":
        if other.flags.c_contiguous or other.ndim <= 1:
            order = "C"
        elif other.flags.f_contiguous:
            order = "F"
        else:
            width = np.dtype(dtype or other.dtype).itemsize
            strides = [abs(step) * width // other.itemsize for step in other.strides]
    elif order not in ("C", "F"):
        raise ValueError(f"Unsupported order: {order!r}")
    dtype = other.dtype if dtype is None else dtype
    return GPUArray(other.shape, dtype, other.allocator, strides=strides,
                    order="C" if order == "K" else order)  # fmt: skip


_LIKE = {"empty_like": lambda array: array, "zeros_like": lambda array: _filled(array, 0),
         "ones_like": lambda array: _filled(array, 1)}  # fmt: skip
empty_like, zeros_like, _ = table.functions(
    globals(), lambda name: lambda *like: _LIKE[name](_like(*like)), """
empty_like(other_ary, dtype=None, order="K"): An array of the same shape, not filled.
zeros_like(other_ary, dtype=None, order="K"): An array of the same shape, of 0.
ones_like(other_ary, dtype=None, order="K"): An array of the same shape, of 1.
""")


def arange(*args, **kwargs):
    """``start``, ``start + step``, ... below ``stop``; give a ``dtype``."""
    if args and isinstance(args[-1], np.dtype):
        args, kwargs = args[:-1], {**kwargs, "dtype": args[-1]}
    if not args:
        raise ValueError("stop argument required")
    if len(args) > 3:
        raise ValueError("too many arguments")
    given = dict(zip(("stop",) if len(args) == 1 else ("start", "stop", "step"), args))
    for name, value in kwargs.items():
        if name not in ("start", "stop", "step", "dtype"):
            raise ValueError(f"unexpected keyword argument '{name}'")
        if name in given:
            raise ValueError(f"may not specify '{name}' by position and keyword")
        given[name] = value
    start, step, stop = given.get("start", 0), given.get("step", 1), given["stop"]
    dtype = given.get("dtype")
    guessed = dtype is None
    dtype = np.array([start, stop, step]).dtype if guessed else np.dtype(dtype)
    if guessed and dtype != np.float32:
        warnings.warn(
            "behavior change: arange guessed dtype other than float32. "
            "suggest specifying explicit dtype.", stacklevel=2)
    start, step, stop = (dtype.type(value) for value in (start, step, stop))
    result = GPUArray((math.ceil((stop - start) / step),), dtype)
    if result.size:
        count = result.size
        _run(result, lambda: start + np.arange(count).astype(dtype) * step, None)
    return result


# functions of arrays


def _method(name: str) -> Callable:
    return lambda a, *how, **options: getattr(a, name)(*how, **options)


def _no_textures(name: str) -> Callable:
    def refuse(*arguments: object, **keywords: object) -> None:
        raise drv.CompileError(
            f"pycuda.gpuarray.{name} does not compile", [], "",
            "It includes pycuda-helpers.hpp, which needs texture references: CUDA has none since "
            "12.\n")

    return refuse


table.functions(globals(), _no_textures, """
take(a, indices, out=None, stream=None):
    Elements by index: in PyCUDA by textures, which went with CUDA 12.
multi_take(arrays, indices, out=None, stream=None):
    Elements of several arrays by index: see `take`.
multi_take_put(arrays, dest_indices, src_indices, *args, **kwargs):
    From indices to indices: see `take`.
""")


def multi_put(arrays, dest_indices, dest_shape=None, out=None, stream=None):
    """Write arrays' elements to places of new arrays."""
    if not arrays:
        return []
    if out is None:
        out = [GPUArray(dest_shape, one.dtype, one.allocator) for one in arrays]
    at = _flat(dest_indices)
    for source, target in zip(arrays, out):
        _need(source, target)
        partly, x = _flat(target), _flat(source)

        def work(partly=partly, x=x, keep=(source, target, dest_indices)):
            partly[at] = x

        _streams.queue_of(stream).run(work, source.nbytes, "multi_put")
    return out


def concatenate(arrays, axis=0, allocator=None):
    """Arrays one after another."""
    shape = list(arrays[0].shape)
    for number, one in enumerate(arrays[1:], 1):
        if one.ndim != len(shape):
            raise ValueError(
                f"{number}'th array has different number of axes "
                f"(should have {len(shape)}, has {one.ndim})")
        if _differ(one.shape, arrays[0].shape, axis):
            raise ValueError(f"{number}'th array has residual not matching other arrays")
        shape[axis] += one.shape[axis]
    dtype = np.result_type(*(one.dtype for one in arrays))
    result = GPUArray(tuple(shape), dtype, allocator or arrays[0].allocator)
    begin = 0
    for one in arrays:
        place = [slice(None)] * len(shape)
        place[axis] = slice(begin, begin + one.shape[axis])
        result[tuple(place)] = one
        begin += one.shape[axis]
    return result


def _differ(one: tuple, other: tuple, axis: int) -> bool:
    """Whether two shapes differ beside one axis."""
    return one[:axis] + one[axis + 1 :] != other[:axis] + other[axis + 1 :]


def stack(arrays, axis=0, allocator=None):
    """Arrays along a new axis."""
    if not arrays:
        raise ValueError("need at least one array to stack")
    shape = arrays[0].shape
    axis = len(shape) if axis == -1 else axis
    if builtins.any(one.shape != shape for one in arrays):
        raise ValueError("arrays must have the same shape")
    if not 0 <= axis <= len(shape):
        raise ValueError("invalid axis")
    result = GPUArray(
        (*shape[:axis], len(arrays), *shape[axis:]),
        np.result_type(*(one.dtype for one in arrays)), allocator or arrays[0].allocator,
        order="C" if axis == 0 else "F")
    for number, one in enumerate(arrays):
        result[(*(slice(None),) * axis, number)] = one
    return result


table.functions(globals(), _method, """
transpose(a, axes=None): With the axes in another order.
reshape(a, *shape, **kwargs): The same memory in another shape.
""")


def _choose(test: Callable, criterion, then_, else_, out, stream):
    out = empty_like(then_) if out is None else out
    _need(criterion, then_, else_)
    c, x, y = _flat(criterion), _flat(then_), _flat(else_)
    return _run(out, lambda: np.where(test(c), x, y), stream, criterion, then_, else_)


def if_positive(criterion, then_, else_, out=None, stream=None):
    """Elements of one array where a third is positive, of the other elsewhere."""
    if not criterion.shape == then_.shape == else_.shape:
        raise ValueError("shapes do not match")
    if then_.dtype != else_.dtype:
        raise ValueError("dtypes do not match")
    return _choose(lambda c: c > 0, criterion, then_, else_, out, stream)


def where(criterion, then_, else_, out=None, stream=None):
    """Elements of one array where a third is not 0, of the other elsewhere."""
    if criterion.shape != then_.shape != else_.shape:
        raise NotImplementedError("shape broadcast not implemented")
    if then_.dtype != else_.dtype:
        raise NotImplementedError("dtype broadcast not implemented")
    return _choose(lambda c: c != 0, criterion, then_, else_, out, stream)


def _pairwise(function: Callable) -> Callable:
    def apply(a, b, out=None, stream=None):
        array, other = (a, b) if isinstance(a, GPUArray) else (b, a)
        out = empty_like(array) if out is None else out
        _need(array)
        x = _flat(array)
        if isinstance(other, GPUArray):
            _need(other)
            y = _flat(other)
        else:
            y = _number(array.dtype, other)
        return _run(out, lambda: function(x, y), stream, array, other, kernel=function)

    return apply


minimum, maximum = _pairwise(np.fmin), _pairwise(np.fmax)


def _logical(function: Callable) -> Callable:
    def apply(x1, x2, out=None, allocator=None):
        arrays = [one for one in (x1, x2) if isinstance(one, GPUArray)]
        if not arrays:
            raise ValueError("at least one argument must be a GPUArray")
        if len(arrays) == 2 and x1.shape != x2.shape:
            raise NotImplementedError("Broadcasting not supported")
        _need(*arrays)
        if out is None:
            out = GPUArray(arrays[0].shape, np.bool_, allocator or arrays[0].allocator)
        x, y = (_flat(one) if isinstance(one, GPUArray) else one for one in (x1, x2))
        return _run(out, lambda: function(x, y), None, *arrays, kernel=function)

    return apply


logical_and, logical_or = _logical(np.logical_and), _logical(np.logical_or)


def logical_not(x, out=None, allocator=None):
    """Whether elements are 0."""
    out = GPUArray(x.shape, np.bool_, allocator or x.allocator) if out is None else out
    return x._map(lambda values: np.logical_not(values), out)


# reductions


def _reduce(
    function: Callable, dtype, stream, allocator, *arrays: GPUArray, kernel: str
) -> GPUArray:
    """An array without axes, computed by NumPy. (`pycuda.reduction` has the kernels.)"""
    for one in arrays:
        if not one.flags.forc:
            raise RuntimeError("ReductionKernel cannot deal with non-contiguous arrays")
    _need(*arrays)
    out = GPUArray((), dtype, allocator or arrays[-1].allocator)
    values = [_flat(one) for one in arrays]
    return _run(out, lambda: function(*values), stream, *arrays, kernel=kernel)


# What each makes of a type and of values.
_REDUCTIONS = {
    "sum": lambda kind, x: np.sum(x, dtype=kind),
    "dot": lambda kind, x, y: np.sum(np.multiply(x, y, dtype=kind), dtype=kind),
    "any": lambda kind, x: np.any(x),
    "all": lambda kind, x: np.all(x),
    "max": lambda kind, x: np.fmax.reduce(x),
    "min": lambda kind, x: np.fmin.reduce(x),
}


def _reduction(name: str) -> Callable:
    plain = name.removeprefix("subset_")
    compute, subset = _REDUCTIONS[plain], plain != name
    count = (2 if plain == "dot" else 1) + subset

    def reduce(*given: object) -> GPUArray:
        arrays, options = given[:count], given[count:]
        dtype = options[0] if plain in ("sum", "dot") else None
        kind = np.dtype(dtype or np.result_type(*(one.dtype for one in arrays[subset:])))
        if plain in ("any", "all"):
            kind = np.dtype(bool)
        stream, allocator = (options[-1], None) if plain in ("max", "min") else options[-2:]

        def work(*values: np.ndarray) -> object:
            if subset:
                at, *values = values
                values = [one[at] for one in values]
            return compute(kind, *values)

        return _reduce(work, kind, stream, allocator, *arrays, kernel=name)

    return reduce


table.functions(globals(), _reduction, """
sum(a, dtype=None, stream=None, allocator=None):
    The sum, in the array's type unless ``dtype`` says otherwise.
any(a, stream=None, allocator=None): Whether any element is not 0.
all(a, stream=None, allocator=None): Whether all elements are not 0.
dot(a, b, dtype=None, stream=None, allocator=None): The sum of products.
max(a, stream=None): The greatest element.
min(a, stream=None): The least element.
subset_sum(subset, a, dtype=None, stream=None, allocator=None):
    The sum of the elements with these indices.
subset_dot(subset, a, b, dtype=None, stream=None, allocator=None):
    The sum of products of the elements with these indices.
subset_max(subset, a, stream=None): The greatest of the elements with these indices.
subset_min(subset, a, stream=None): The least of the elements with these indices.
""")
table.methods(GPUArray, globals().get, """
any(self, stream=None, allocator=None): Whether any element is true, as an array.
all(self, stream=None, allocator=None): Whether all elements are true, as an array.
""")
