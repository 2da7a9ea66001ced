"""The array on the simulated device, and how host code reaches its bytes."""

from __future__ import annotations

import math
import struct
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from operator import index
from types import GenericAlias

import numpy as np
from cupy._util import PerformanceWarning
from cupy.cuda import _synchronize
from cupy.cuda import memory as _memory
from cupy.cuda import stream as _stream
from cupy_backends.cuda.api import _contexts, _errors, runtime

from nogpu import engine
from nogpu.engine.layout import Shape, contiguous_strides, convert, join_axes, strides_like
from nogpu.faces import missing as _missing
from nogpu.faces import table

_IMPLICIT = (
    "Implicit conversion to a NumPy array is not allowed. "
    "Please use `.get()` to construct a NumPy array explicitly."
)
_KINDS = frozenset("?bBhHiIlLqQefdFD")
_OURS = (engine.streams.order._ROOT, "<table")  # what files of nogpu's own begin with
_SCALARS = (int, float, complex, bool, np.generic)


def check_dtype(dtype: np.typing.DTypeLike) -> np.dtype:
    """The NumPy dtype, in the machine's byte order; ValueError for what no GPU has."""
    dtype = np.dtype(float if dtype is None else dtype)
    if dtype.char not in _KINDS:
        if dtype.names is not None or dtype.char == "V":
            return dtype
        name = dtype.str[0].replace("=", "") + dtype.str[1:] if dtype.kind in "SU" else dtype.name
        raise ValueError(f"Unsupported dtype {name}")
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def check_shape(shape: int | Iterable[int]) -> Shape:
    """A tuple of Python integers."""
    if isinstance(shape, (list, tuple)):
        result = tuple([index(size) for size in shape])
    elif isinstance(shape, ndarray):
        raise TypeError("'ndarray' object cannot be interpreted as an integer")
    elif shape is None:
        raise TypeError("Use () not None as shape arguments")
    elif isinstance(shape, np.ndarray):
        result = tuple(int(size) for size in np.atleast_1d(shape))
    else:
        try:
            result = (shape.__index__(),)
        except AttributeError:
            raise TypeError(
                f"'{type(shape).__name__}' object cannot be interpreted as an integer") from None
    for size in result:
        if size < 0:
            raise ValueError("Negative dimensions are not allowed")
    return result


def check_order(order: str | None, allowed: str = "CFAK") -> str:
    """An order by its first letter, small or not: K for None, C for no letter; or ValueError."""
    letter = "K" if order is None else order[:1].upper() or "C"
    if letter not in "CFAK":
        raise ValueError("order not understood")
    if letter not in allowed:
        raise ValueError(f"order '{letter}' is not permitted")
    return letter


class Flags:
    """Contiguity of an array, and whether it owns its memory."""

    def __init__(self, c: bool, f: bool, own: bool) -> None:
        vars(self).update(c_contiguous=c, f_contiguous=f, owndata=own)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of 'Flags' objects is not writable")

    @property
    def forc(self) -> bool:
        """Contiguous in either order."""
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        """Contiguous in Fortran's order and not in C's."""
        return self.f_contiguous and not self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        try:
            return {
                "C_CONTIGUOUS": self.c_contiguous,
                "F_CONTIGUOUS": self.f_contiguous,
                "OWNDATA": self.owndata,
            }[name]
        except KeyError:
            raise KeyError(f"{name} is not defined for cupy.ndarray.flags") from None

    def __repr__(self) -> str:
        rows = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA")
        return "\n".join(f"  {row} : {self[row]}" for row in rows)


def _look(address: int, shape: Shape, dtype: np.dtype, strides: Shape | None) -> np.ndarray:
    """A NumPy array over device memory. Nothing is checked, as on the real device."""
    if not address and 0 in shape:  # NumPy before 2.4 refuses an interface without an address
        return np.empty(shape, dtype)
    interface = {"version": 3, "data": (address, False), "shape": shape, "typestr": dtype.str}
    if strides is not None:
        interface["strides"] = strides
    if dtype.names is not None:
        interface["descr"] = dtype.descr
    return np.asarray(_Interface(interface))


class _Interface:
    __slots__ = ("__array_interface__",)

    def __init__(self, interface: dict) -> None:
        self.__array_interface__ = interface


class ndarray:  # noqa: N801 -- the library's name
    """An array on the device."""

    __slots__ = ("__weakref__", "_base", "_view", "data")
    __array_priority__ = 100
    __hash__ = None
    __class_getitem__ = classmethod(GenericAlias)

    def __new__(cls, *args: object, _obj: object = None, _no_init: bool = False, **kwargs: object):
        """A new array; a subclass's own ``__new__`` passes on what is the array's."""
        self = object.__new__(cls)
        if not _no_init:
            self._init(*args, **kwargs)
        return self

    def __init__(self, *args: object, **kwargs: object) -> None:
        """``__new__`` has done it all."""

    def _init(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        shape, dtype = check_shape(shape), check_dtype(dtype)
        order = check_order(order or "C")
        if order not in "CF":
            raise ValueError("order must be 'C' or 'F'")
        itemsize = dtype.itemsize
        if strides is None:
            strides = contiguous_strides(shape, itemsize, order)
        else:
            strides = tuple(int(step) for step in strides)
            if len(strides) != len(shape):
                raise ValueError("len(shape) != len(strides)")
            reach = [(size - 1) * step for size, step in zip(shape, strides)] if math.prod(shape) \
                else []  # fmt: skip
            size = math.prod(shape) * itemsize
            if memptr is None and any(one < 0 for one in reach):
                raise ValueError("ndarray() with strides currently does not allow negative strides")
            if memptr is None and sum(reach) + itemsize > max(size, itemsize):
                raise ValueError("ndarray() with strides must stay withing a contiguous size of "
                                 f"{size} but got {sum(reach) + itemsize}.")  # fmt: skip
        if memptr is None:
            memptr = _memory._allocate(math.prod(shape) * itemsize, True, itemsize)
        self.data, self._base = memptr, None
        self._view = _look(memptr.ptr, shape, dtype, strides)

    _init.__qualname__ = "_init"

    def __getattr__(self, name: str) -> object:
        raise _missing.error("cupy.ndarray", name, "'ndarray' object")

    # what an array is

    @property
    def shape(self) -> Shape:
        """Sizes of the axes."""
        return self._view.shape

    @shape.setter
    def shape(self, shape: int | Sequence[int]) -> None:
        view = self._view.view()
        shape = (shape,) if np.isscalar(shape) else tuple(shape)
        reshaped = _reshape_view(view, shape)
        if reshaped is None:
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy "
                "with the desired shape.")
        self._view = reshaped

    @property
    def flags(self) -> Flags:
        """Contiguity and ownership."""
        flags = self._view.flags
        return Flags(flags.c_contiguous, flags.f_contiguous, self._base is None)

    @property
    def T(self) -> ndarray:  # noqa: N802 -- the library's name
        """All axes reversed: a view."""
        return _wrap(self._view.T, self)

    @property
    def mT(self) -> ndarray:  # noqa: N802 -- the library's name
        """The last two axes exchanged: a view."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return _wrap(self._view.swapaxes(-1, -2), self)

    @property
    def real(self) -> ndarray:
        """The real part: a view; a real array itself."""
        return _wrap(self._view.real, self) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: object) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        """The imaginary part: a view; zeros for a real array."""
        if self.dtype.kind == "c":
            return _wrap(self._view.imag, self)
        result = _new(self.shape, self.dtype)
        result.fill(0)
        return result

    @imag.setter
    def imag(self, value: object) -> None:
        if self.dtype.kind != "c":
            raise TypeError("cupy.ndarray does not have imaginary part to set")
        self.imag[...] = value

    @property
    def cstruct(self) -> bytes:
        """The array as a kernel's `CArray` parameter: address, size, shape and strides."""
        view, ndim = self._view, self._view.ndim
        if ndim == 0:
            return struct.pack("<Qqqq", self.data.ptr, 1, 1, 0)
        return struct.pack(
            f"<Q{1 + 2 * ndim}q", self.data.ptr, view.size, *view.shape, *view.strides)

    @property
    def __cuda_array_interface__(self) -> dict:
        stream = _stream.get_current_stream().ptr
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "stream": stream if stream > 2 else 1 if stream == 0 else stream,
            "version": 3,
            "strides": None if self._view.flags.c_contiguous else self.strides,
            "data": (self.data.ptr if self.size else 0, False),
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """CUDA (2), or what host and device share (13), and the number of the device."""
        return 13 if _memory._is_managed(self.data) else 2, self.device.id

    # to the host and back

    def get(self, stream=None, order="C", out=None, blocking=True) -> np.ndarray:
        """Copy to the host."""
        stream = _stream.get_current_stream() if stream is None else stream
        if self.data.device_id != _contexts.state.device:
            with self.data.device:
                return self.get(stream, order, out, blocking)
        _contexts.set_device()
        _forbid_transfer(stream, "D2H")
        if out is not None:
            if not isinstance(out, np.ndarray):
                raise TypeError("Only numpy.ndarray can be obtained fromcupy.ndarray")
            if self.dtype != out.dtype:
                raise TypeError(f"{out.dtype} array cannot be obtained from {self.dtype} array")
            if self.shape != out.shape:
                raise ValueError(
                    f"Shape mismatch. Expected shape: {self.shape}, actual shape: {out.shape}")
            if not (out.flags.c_contiguous or out.flags.f_contiguous):
                raise RuntimeError(
                    "`out` cannot be specified when copying to non-contiguous ndarray")
        source, flags = self, self._view.flags
        if out is None:
            order = order.upper()
            if order not in ("C", "F", "A") and self.size:
                raise ValueError(f"unsupported order: {order}")
            fortran = self.size and (order == "F" or order == "A" and flags.fnc)
            out = np.empty(self.shape, self.dtype, order="F" if fortran else "C")
        same = (flags.c_contiguous and out.flags.c_contiguous) or (
            flags.f_contiguous and out.flags.f_contiguous)
        if not same:
            with stream:
                source = _copy(self, "C" if out.flags.c_contiguous else "F")
        _synchronize._declare_synchronize()
        if self.size:
            _transfer(stream, out.ctypes.data, source.data.ptr, "DtoH", out, source)
        if blocking:
            stream.synchronize()
        return out

    def set(self, arr: np.ndarray, stream=None) -> None:
        """Copy a host array of the same shape and dtype into this one."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if self.dtype != arr.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if self.shape != arr.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        flags = self._view.flags
        if flags.c_contiguous:
            arr = np.ascontiguousarray(arr)
        elif flags.f_contiguous:
            arr = np.asfortranarray(arr)
        else:
            raise RuntimeError("Cannot set to non-contiguous array")
        stream = _stream.get_current_stream() if stream is None else stream
        _forbid_transfer(stream, "H2D")
        with self.data.device:
            _send(self, arr, stream)

    def item(self) -> object:
        """The only element, as a Python number."""
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.get().item()

    def __array__(self, dtype: object = None) -> np.ndarray:
        raise TypeError(_IMPLICIT)

    def __buffer__(self, flags: int) -> memoryview:
        raise TypeError(_NO_BUFFER)

    def __bool__(self) -> bool:
        if self.size == 0:
            warnings.warn(
                "The truth value of an empty array is ambiguous. Returning False, but in future "
                "this will result in an error. Use `array.size > 0` to check that an array is not "
                "empty.", DeprecationWarning, stacklevel=2)
            return False
        if self.size > 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()")
        return bool(self.get().reshape(())[()])

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: object) -> bool:
        return bool((self == value).any())

    def __bytes__(self) -> bytes:
        return bytes(self.get())

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: dict) -> ndarray:
        with self.data.device:
            return self.copy()

    # copies and views

    def copy(self, order: str = "C") -> ndarray:
        """A copy on the current device, in C order unless said."""
        if self.data.device_id == _contexts.state.device or not self.size:
            return _copy(self, order)
        with self.data.device:
            packed = self.astype(self.dtype, order, copy=False)
        if not (packed._view.flags.c_contiguous or packed._view.flags.f_contiguous):
            raise NotImplementedError("CuPy cannot copy non-contiguous array between devices.")
        result = _new(self.shape, self.dtype, packed.strides)
        result.data.copy_from_device_async(packed.data, packed.nbytes)
        return result

    def astype(
        self, dtype: object, order: str = "K", casting=None, subok=None, copy: bool = True
    ) -> ndarray:
        """A copy with another dtype, converted as a GPU converts."""
        if subok is not None:
            raise TypeError("subok is not supported yet")
        dtype = check_dtype(dtype)
        if casting is not None:
            check_cast(self.dtype, dtype, casting)
        flags, order = self._view.flags, check_order(order)
        kept = {"K": True, "A": flags.c_contiguous or flags.f_contiguous,
                "C": flags.c_contiguous, "F": flags.f_contiguous}  # fmt: skip
        if not copy and dtype == self.dtype and kept[order]:
            return self
        warn_of_loss(self.dtype, dtype)
        return _copy(self, order, dtype)

    def view(self, dtype: object = None, type: object = None) -> ndarray:
        """The same bytes, as another dtype if given."""
        if dtype is None:
            return _wrap(self._view.view(), self)
        return _wrap(self._view.view(check_dtype(dtype)), self)

    def reshape(self, *shape: object, order: str = "C", copy: bool | None = None) -> ndarray:
        """Another shape: a view where the strides allow it and no copy is asked for."""
        if isinstance(copy, str):
            raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None "
                             "instead.")  # fmt: skip
        if len(shape) == 1:
            shape = shape[0]
        shape = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
        return _reshape(self, shape, check_order(order, "CFA"), copy)

    def ravel(self, order: str = "C") -> ndarray:
        """One axis: a view where possible."""
        source, order = _in_memory_order(self, order)
        result = _reshape(source, (self.size,), order)
        return result if result._view.flags.c_contiguous else _copy(result)

    def flatten(self, order: str = "C") -> ndarray:
        """One axis: always a copy."""
        result = self.ravel(order)
        return result.copy() if np.may_share_memory(result._view, self._view) else result

    def squeeze(self, axis: object = None) -> ndarray:
        """Without axes of length one: a view."""
        return _wrap(self._view.squeeze(axis), self)

    def swapaxes(self, axis1: int, axis2: int) -> ndarray:
        """Two axes exchanged: a view."""
        return _wrap(self._view.swapaxes(axis1, axis2), self)

    def transpose(self, *axes: object) -> ndarray:
        """Axes in another order: a view."""
        return _wrap(self._view.transpose(*axes), self)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
        """The diagonal: a view that can be written to."""
        view = self._view.diagonal(offset, axis1, axis2)
        view.flags.writeable = True
        return _wrap(view, self)

    def reduced_view(self, dtype: object = None) -> ndarray:
        """A view with as few axes as the strides allow."""
        shape, (strides,) = join_axes(self.shape, [self.strides])
        view = np.lib.stride_tricks.as_strided(self._view, shape, strides)
        return _wrap(view, self)

    def fill(self, value: object) -> None:
        """Set every element."""
        if isinstance(value, ndarray):
            if value.ndim:
                raise ValueError("non-scalar cupy.ndarray cannot be used for fill")
            source = value._view
        else:  # an OverflowError where a Python integer does not fit
            with np.errstate(all="ignore"):
                source = np.asarray(value, dtype=self.dtype)
            if source.ndim:
                raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        target, dtype = self._view, self.dtype
        _enqueue(lambda: target.fill(convert(source, dtype)[()]), self.nbytes)

    def byteswap(self, inplace: bool = False) -> ndarray:
        """The bytes of each element reversed."""
        result = self if inplace else self.copy()
        target = result._view
        _enqueue(lambda: target.byteswap(inplace=True), self.nbytes)
        return result


def _of_host(name: str) -> Callable:
    return lambda self, *arguments: getattr(self.get(), name)(*arguments)


def _as_number(kind: type) -> Callable:
    def convert(self: ndarray) -> object:
        if self.ndim:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return kind(self.get()[()].item())

    return convert


table.methods(ndarray, _of_host, """
__repr__(self) -> str: What NumPy shows of the values.
__str__(self) -> str: What NumPy prints of the values.
__format__(self, specification: str) -> str: What NumPy prints of a number.
tolist(self) -> object: Nested lists of Python numbers.
tobytes(self, order: str = "C") -> bytes: The elements' bytes.
tofile(self, fid: object, sep: str = "", format: str = "%s") -> None: Write the elements to a file.
dump(self, file: object) -> None: Pickle to a file.
dumps(self) -> bytes: Pickle to bytes.
""")
table.properties(ndarray, """
base = _base: The array that owns the memory; None for an array that owns its own.
device = data.device: The device that holds the memory.
strides = _view.strides: Bytes from one element to the next along each axis.
dtype = _view.dtype: The type of the elements, a NumPy dtype.
size = _view.size: Number of elements.
ndim = _view.ndim: Number of axes.
itemsize = _view.itemsize: Bytes of an element.
nbytes = _view.nbytes: Bytes of all elements.
""")
for _kind in (int, float, complex):
    setattr(ndarray, f"__{_kind.__name__}__", _as_number(_kind))
_NO_BUFFER = (
    "Accessing a CuPy ndarry on CPU is not allowed except when using system memory (on HMM or ATS "
    "enabled systems, need to set CUPY_ENABLE_UMP=1) or managed memory"
)
ndarray.__module__ = "cupy"
_ndarray_base = ndarray


def _exports(item: object) -> bool:
    return hasattr(type(item), "__cuda_array_interface__") or hasattr(
        item, "__cuda_array_interface__")


def _forbid_transfer(stream: object, direction: str) -> None:
    """RuntimeError while the stream is capturing, since a graph cannot hold host arrays."""
    if stream._engine.capturing:
        raise RuntimeError(
            f"the current stream is capturing, so {direction} transfers are disallowed")


def reach(*items: object, asks: bool = True) -> None:
    """Let the current device use the arrays of others, with the library's warning.

    What CUDA's own libraries do asks for nothing (``asks=False``): there a kernel would fail.
    """
    here = _contexts.state.device
    for item in items if _contexts.several else ():
        view = item._view if isinstance(item, ndarray) else item
        found = engine.lookup(_address(view)) if isinstance(view, np.ndarray) else None
        if found is None or found.device == here:
            continue
        if asks:
            engine.devices.peers.add((here, found.device))
            frame, level = sys._getframe(), 1
            while frame.f_back and frame.f_code.co_filename.startswith(_OURS):
                frame, level = frame.f_back, level + 1
            warnings.warn(
                f"The device where the array resides ({found.device}) is different from the "
                f"current device ({here}). Peer access has been activated automatically.",
                PerformanceWarning, stacklevel=level)
        elif (here, found.device) not in engine.devices.peers:
            raise engine.NotDeviceMemory(
                f"an operation on device {here} reads {engine.memory._describe(found)}, which is "
                f"on device {found.device}: without peer access it is out of reach")


# memory for results


def _new(
    shape: Shape, dtype: np.dtype, layout: str | Shape = "C", unwritten: bool = False
) -> ndarray:
    """An array that the caller writes whole at once, or memory that counts as never written.

    The layout is an order, C or F, or strides.
    """
    result = object.__new__(ndarray)
    itemsize = dtype.itemsize
    data = _memory._allocate(math.prod(shape) * itemsize, unwritten, itemsize)
    result.data, result._base = data, None
    strides = None if layout == "C" else layout
    if layout == "F":
        strides = contiguous_strides(shape, itemsize, "F")
    result._view = _look(data.ptr, shape, dtype, strides)
    return result


def _wrap(view: np.ndarray, owner: ndarray) -> ndarray:
    """An array for a NumPy view of (a part of) the owner's memory."""
    result = object.__new__(ndarray)
    offset = _address(view) - owner.data.ptr if view.size else 0
    result.data = owner.data + offset if offset else owner.data
    result._base = owner if owner._base is None else owner._base
    result._view = view
    return result


def _address(view: np.ndarray) -> int:
    return view.__array_interface__["data"][0]


def _enqueue(
    work: Callable[[], None], nbytes: int = 0, kernel: object = None, name: str = "work",
    asks: bool = True,
) -> None:  # fmt: skip
    """Run host code on the current stream: at once where it is small and the stream idle.

    A timeline shows it by the name, or by that of ``kernel``, a (name, dtype). For ``asks`` see
    `reach`.
    """
    queue = _stream._local.engine
    _contexts.launch(kernel, queue)
    if _contexts.several:
        reach(*[array for array, _ in engine.streams.order._arrays(work)], asks=asks)
    try:
        queue.run(work, nbytes, kernel[0].removeprefix("cupy_") if kernel else name)
    except engine.StreamError as error:
        raise _errors.launch_error(error) from None


def _wait() -> None:
    """Wait for the current stream, because the host must look at values."""
    stream = _stream.get_current_stream()
    _forbid_transfer(stream, "D2H")
    stream.synchronize()


def broadcast_shape(items: Iterable[object]) -> Shape:
    """The common shape of arrays; what is no array has the shape ()."""
    shapes = [item.shape if isinstance(item, ndarray) else () for item in items]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            "operands could not be broadcast together with shapes "
            + " ".join(str(shape) for shape in shapes)) from None


def _views(inputs: Iterable[object]) -> list[object]:
    return [item._view if isinstance(item, ndarray) else item for item in inputs]


def compute(
    function: Callable[..., object], inputs: Sequence[object], shape: Iterable[int],
    dtype: np.typing.DTypeLike, out: ndarray | None = None, order: str = "C", asks: bool = True,
) -> ndarray:  # fmt: skip
    """Queue a NumPy function of arrays' views; shape and dtype of its result are known.

    Parameters
    ----------
    function : function
        Its name is what a timeline shows.
    inputs : sequence of ndarray or scalars
    shape, dtype
        Of the result.
    out : ndarray, optional
        Filled and returned in place of a new array, cast without a check.
    order : {"C", "F"}
    asks : bool
        See `reach`.

    Raises
    ------
    TypeError, ValueError
        For an ``out`` that is no array, or has another shape.
    """
    shape = tuple(shape)
    if out is None:
        out = _new(shape, np.dtype(dtype), order)
    elif _checked(out, "out").shape != shape:
        raise ValueError("Out shape is mismatched")
    target, views = out._view, _views(inputs)

    def work() -> None:
        target[...] = function(*views)

    nbytes = max([out.nbytes, *[v.nbytes for v in views if isinstance(v, np.ndarray)]])
    name = getattr(function, "__name__", "work").replace("<lambda>", "work")
    _enqueue(work, nbytes, name=name, asks=asks)
    return out


def compute_now(function: Callable[..., object], inputs: Iterable[object] = ()) -> object:
    """Wait, compute with NumPy, and move the result or results to the device."""
    inputs = tuple(inputs)
    reach(*inputs)
    _wait()
    with np.errstate(all="ignore"):
        result = function(*_views(inputs))
    return _to_device(result)


def _to_device(result: object) -> object:
    if isinstance(result, tuple):
        moved = [_to_device(item) for item in result]
        return type(result)(*moved) if hasattr(result, "_fields") else tuple(moved)
    if isinstance(result, list):
        return [_to_device(item) for item in result]
    host = np.asarray(result)
    order = "F" if host.flags.f_contiguous and not host.flags.c_contiguous else "C"
    moved = _new(host.shape, check_dtype(host.dtype), order)
    moved._view[...] = host
    return moved


def _argument(item: object) -> ndarray:
    """An array argument: one on the device, or something that exports device memory."""
    if isinstance(item, ndarray):
        return item
    if not isinstance(item, (np.ndarray, *_SCALARS)) and _exports(item):
        return from_interface(item)
    if hasattr(item, "__cupy_get_ndarray__"):
        return item.__cupy_get_ndarray__()
    raise TypeError(f"Unsupported type {type(item)}")


def _checked(item: object, name: str) -> ndarray:
    """An array argument of a function that takes nothing else by that name."""
    if isinstance(item, ndarray):
        return item
    kind = type(item)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    raise TypeError(
        f"Argument '{name}' has incorrect type (expected cupy._core.core._ndarray_base, got "
        f"{module}{kind.__qualname__})")


# conversion, copies, transfers


def check_cast(of: np.dtype, to: np.dtype, casting: str, what: str = "array data") -> None:
    """Refuse a conversion that a rule of NumPy's does not allow: TypeError."""
    if not np.can_cast(of, to, casting):
        raise TypeError(f"Cannot cast {what} from {of!r} to {to!r} according to the rule "
                        f"'{casting}'")  # fmt: skip


def warn_of_loss(of: np.dtype, to: np.dtype) -> None:
    """Warn of a conversion that leaves the imaginary part away."""
    if of.kind == "c" and to.kind not in "cb":
        warnings.warn("Casting complex values to real discards the imaginary part",
                      np.exceptions.ComplexWarning, stacklevel=3)  # fmt: skip


def _copy(source: ndarray, order: str = "C", dtype: np.dtype | None = None) -> ndarray:
    dtype, order = source.dtype if dtype is None else dtype, check_order(order)
    strides = strides_like(source._view, source.shape, dtype.itemsize, order)
    result = _new(source.shape, dtype, strides)
    _fill_from(result, source)
    return result


def _fill_from(target: ndarray, source: ndarray) -> None:
    """Queue target[...] = source, with conversion; shapes broadcast already."""
    to, of, dtype = target._view, source._view, target.dtype
    if target.data.device_id != source.data.device_id and (
        of.dtype == dtype and of.shape == to.shape
        and of.flags.c_contiguous and to.flags.c_contiguous
    ):  # fmt: skip
        target.data.copy_from_device_async(source.data, of.nbytes)
        return

    if of.dtype == dtype or of.dtype.kind not in "fc" or dtype.kind not in "iu":

        def work() -> None:
            np.copyto(to, of if of.dtype.kind != "c" or dtype.kind in "cb" else of.real,
                      casting="unsafe")  # fmt: skip

    else:

        def work() -> None:
            to[...] = convert(of, dtype)

    _enqueue(work, max(to.nbytes, of.nbytes))


def _reshape_view(view: np.ndarray, shape: tuple, order: str = "C") -> np.ndarray | None:
    """The view in another shape, or None where only a copy has it; ValueError as the library."""
    unknown = [i for i, size in enumerate(shape) if size == -1]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    known = math.prod(int(size) for size in shape if size != -1)
    if unknown:
        if known == 0 or view.size % known:
            raise ValueError(f"cannot reshape array of size {view.size} into shape {shape}")
    elif known != view.size:
        raise ValueError(f"cannot reshape array of size {view.size} into shape {shape}")
    shape = tuple(view.size // known if size == -1 else size.__index__() for size in shape)
    try:
        return view.reshape(shape, order=order, copy=False)
    except ValueError:
        return None


def _in_memory_order(source: ndarray, order: str) -> tuple[ndarray, str]:
    """For the order K a view whose axes lie in memory as in C's order, and C; else both."""
    order = check_order(order)
    if order != "K":
        return source, order
    strides, inner = [abs(step) for step in source.strides], []
    for axis in reversed(range(source.ndim)):  # an axis without a stride stays where it is
        place = len(inner)
        for i in reversed(range(len(inner))):
            if strides[inner[i]] and strides[axis]:
                if strides[inner[i]] <= strides[axis]:
                    break
                place = i
        inner.insert(place, axis)
    return source.transpose(inner[::-1]), "C"


def _reshape(source: ndarray, shape: tuple, order: str, copy: bool | None = None) -> ndarray:
    if order == "A":
        order = "F" if source._view.flags.fnc else "C"
    view = _reshape_view(source._view, shape, order)
    if view is not None:
        result = _wrap(view, source)
        return _copy(result, order) if copy else result
    if copy is not None and not copy:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    packed = _copy(source, order)
    packed._view = _reshape_view(packed._view, shape, order)
    return packed


def _send(target: ndarray, source: np.ndarray, stream) -> None:
    """Queue the copy of a packed host array into packed device memory."""
    if target.size:
        _transfer(stream, target.data.ptr, source.ctypes.data, "HtoD", source)


@runtime._translated
def _transfer(stream, to: int, of: int, kind: str, host: np.ndarray, *keep: ndarray) -> None:
    """Queue the copy of packed bytes between a host array and the device."""
    stream._engine.copy(to, of, host.nbytes, kind, keep=(host, *keep),
                        pinned=runtime._is_pinned(host.ctypes.data))  # fmt: skip


def from_host(host: np.ndarray, order: str = "K", blocking: bool = False) -> ndarray:
    """A device copy of a NumPy array."""
    dtype = check_dtype(host.dtype)
    if host.dtype != dtype:
        host = host.astype(dtype)
    order = check_order(order)
    if order in "KA":
        order = "F" if host.flags.fnc else "C"
    host = np.asarray(host, order=order)
    result = _new(host.shape, dtype, order)
    stream = _stream.get_current_stream()
    _forbid_transfer(stream, "H2D")
    _send(result, host, stream)
    if blocking:
        stream.synchronize()
    return result


def from_interface(item: object) -> ndarray:
    """A view of memory that another library exports by ``__cuda_array_interface__``."""
    interface = item.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise ValueError("CuPy currently does not support masked arrays.")
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    if dtype.char == "V" and len(interface.get("descr", ())) > 1:
        dtype = np.dtype(interface["descr"])
    if not dtype.isnative:
        raise ValueError("CuPy does not support arrays of the other byte order.")
    address = interface["data"][0]
    strides = interface.get("strides")
    if strides is None:
        strides = contiguous_strides(shape, dtype.itemsize)
    nbytes = 0
    if math.prod(shape):
        nbytes = dtype.itemsize + sum(
            (size - 1) * max(step, 0) for size, step in zip(shape, strides))
    stream = interface.get("stream")
    if stream is not None and interface.get("version", 0) >= 3:
        if stream == 0:
            raise ValueError("CUDA stream 0 is disallowed by the protocol")
        _stream._local.engine.follow(runtime._stream(stream))
    memory = _memory.UnownedMemory(address, nbytes, item)
    result = object.__new__(ndarray)
    result.data, result._base = _memory.MemoryPointer(memory, 0), None
    result._view = _look(address, shape, dtype, tuple(strides))
    return result
