"""Element-wise kernels: one C++ expression, applied to all elements of its arguments."""

from __future__ import annotations

import math
import struct
import threading
import warnings
from functools import lru_cache

import numpy as np
from cupy._core import core
from cupy._core._scalar import get_typename
from cupy._core._ufunc import ufunc  # noqa: F401 -- CuPy has it here
from cupy.cuda import compiler, function

from nogpu import engine
from nogpu.faces import missing as _missing

_ndarray = core.ndarray
_SCALARS = (int, float, complex, bool, np.generic)
_pack_address = struct.Struct("<Q").pack
_kernels: dict[tuple, engine.Kernel] = {}
_lock = engine.forking.held("kernels of a library", threading.RLock())


class ParameterInfo:
    """One parameter of a kernel, read from its declaration."""

    def __init__(self, param: str, is_const: bool) -> None:
        self.dtype = self.ctype = None
        self.raw, self.is_const = False, is_const
        words = param.split()
        if len(words) < 2:
            raise Exception(f"Syntax error: {param}")
        kind, self.name = words[-2:]
        if kind == "CIndexer":
            pass
        elif len(kind) == 1:
            self.ctype = kind
        else:
            self.dtype = np.dtype(kind)
            self.ctype = get_typename(self.dtype)
        for word in words[:-2]:
            if word == "raw":
                self.raw = True
            elif word == "_non_const":
                self.is_const = False
            else:
                raise Exception(f'Unknown keyword "{word}"')

    def __repr__(self) -> str:
        rows = ("name", "dtype", "ctype", "raw", "is_const")
        return f"<ParameterInfo({' '.join(f'{row}={getattr(self, row)!r}' for row in rows)})>"


def _get_param_info(text: str, is_const: bool) -> tuple[ParameterInfo, ...]:
    if not text:
        return ()
    return tuple(ParameterInfo(part, is_const) for part in text.strip().split(","))


def _decide_types(
    in_params: tuple, out_params: tuple, in_dtypes: tuple, out_dtypes: tuple
) -> tuple[tuple, tuple, dict]:
    """Dtypes of all parameters, and what each letter stands for; outputs decide first."""
    letters: dict[str, object] = {}
    for params, dtypes in ((out_params if out_dtypes else (), out_dtypes), (in_params, in_dtypes)):
        for p, found in zip(params, dtypes):
            if found is None:
                continue
            if p.dtype is not None:
                if np.dtype(found) != p.dtype:
                    raise TypeError(f"Type is mismatched. {p.name} {found} {p.dtype}")
            elif p.ctype in letters:
                if np.dtype(letters[p.ctype]) != np.dtype(found):
                    raise TypeError(
                        f"Type is mismatched. {p.name} {found} {letters[p.ctype]} {p.ctype}")
            else:
                letters[p.ctype] = found
    decided = [
        tuple(np.dtype(letters[p.ctype]) if p.dtype is None else p.dtype for p in params)
        for params in (in_params, out_params)
    ]
    return *decided, {letter: np.dtype(letters[letter]) for letter in sorted(letters)}


def _preprocess(item: object) -> object:
    """An array or a number; TypeError for anything else."""
    if isinstance(item, (_ndarray, *_SCALARS)):
        return item
    return core._argument(item)


def _scalar_bytes(value: object, dtype: np.dtype) -> bytes:
    """A number in a parameter's type; OverflowError for an integer that does not fit."""
    if type(value) is int and dtype.kind in "iu":
        return dtype.type(value).tobytes()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(value).astype(dtype).tobytes()


def _strides_in(view: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A view's strides once it is broadcast to ``shape``."""
    if view.shape == shape:
        return view.strides
    missing = len(shape) - view.ndim
    own = [0 if size == 1 else step for size, step in zip(view.shape, view.strides)]
    return (*(0,) * missing, *own)


_packed_strides = lru_cache(maxsize=64)(core.contiguous_strides)


def _is_packed(shape: tuple, strides: tuple, itemsize: int) -> bool:
    """Whether element i in C order lies at i."""
    if len(shape) == 1:
        return shape[0] == 1 or strides[0] == itemsize
    return strides == _packed_strides(shape, itemsize)


def _layout(
    items: list, params: tuple, dtypes: tuple, shape: tuple, joined: bool
) -> tuple[tuple, list[bytes], tuple]:
    """How each argument is declared, its bytes, and the shape of the loop.

    A declaration is ``"scalar"``, ``"flat"`` (a pointer), or ``(ndim, contiguous)`` of a CArray.
    """
    looped = [
        item._view for item, p in zip(items, params) if not p.raw and isinstance(item, _ndarray)
    ]
    loop_shape = shape
    if all(view.shape == shape and view.flags.c_contiguous for view in looped):
        strides: list = [None] * len(looped)
        if joined or len(shape) == 0:
            loop_shape = (math.prod(shape),)
    else:
        strides = [_strides_in(view, shape) for view in looped]
        if joined or len(shape) == 0:
            loop_shape, strides = core.join_axes(shape, strides)
            if not loop_shape:
                loop_shape, strides = (1,), [(0,)] * len(strides)
    remaining = iter(strides)
    kinds: list = []
    packed: list[bytes] = []
    for item, p, dtype in zip(items, params, dtypes):
        if not isinstance(item, _ndarray):
            kinds.append("scalar")
            packed.append(_scalar_bytes(item, dtype))
            continue
        function._name_memory(item.data, p.name)
        if p.raw:
            kinds.append((item.ndim, item._view.flags.c_contiguous))
            packed.append(item.cstruct)
            continue
        steps = next(remaining)
        if steps is None or _is_packed(loop_shape, steps, dtype.itemsize):
            kinds.append("flat")
            packed.append(_pack_address(item.data.ptr))
        else:
            ndim = len(loop_shape)
            kinds.append((ndim, False))
            packed.append(
                struct.pack(
                    f"<Q{1 + 2 * ndim}q", item.data.ptr, math.prod(loop_shape), *loop_shape, *steps)
            )
    return tuple(kinds), packed, loop_shape


def _indexer(shape: tuple[int, ...]) -> bytes:
    ndim = len(shape)
    return struct.pack(f"<{2 + 2 * ndim}q", math.prod(shape), *shape, *(0,) * (ndim + 1))


def _is_flat(kinds: tuple, params: tuple) -> bool:
    return all(p.raw or kind in ("flat", "scalar") for kind, p in zip(kinds, params))


def _headers(*texts: str) -> str:
    """The headers that the texts need: leaving one out saves the compiler's time."""
    names = ["carray.cuh"]
    names += [f"{name}.cuh" for name in ("complex", "float16") if any(name in t for t in texts)]
    return "".join(f"#include <cupy/{name}>\n" for name in names)


def _declare(p: ParameterInfo, kind: object, dtype: np.dtype) -> str:
    """A parameter in the kernel's list."""
    ctype, const = get_typename(dtype), "const " if p.is_const else ""
    if kind == "scalar":
        return f"{const}{ctype} {p.name}"
    if kind == "flat":
        return f"{const}{ctype}* const _raw_{p.name}"
    ndim, contiguous = kind
    name = p.name if p.raw else f"_raw_{p.name}"
    return f"const CArray<{const}{ctype}, {ndim}, {str(contiguous).lower()}> {name}"


def _element(p: ParameterInfo, kind: object, dtype: np.dtype, index: str, number: str) -> str:
    """The line that gives a parameter's element its name, empty where there is none."""
    if p.raw or kind == "scalar":
        return ""
    const = "const " if p.is_const else ""
    at = number if kind == "flat" else f"{index}.get()"
    return f"{const}{get_typename(dtype)}& {p.name} = _raw_{p.name}[{at}];\n"


def _typedefs(letters: dict[str, np.dtype]) -> str:
    return "".join(f"typedef {get_typename(of)} {letter};\n" for letter, of in letters.items())


def _build(source: str, name: str, options: tuple) -> engine.Kernel:
    """A compiled kernel; the same source is compiled once in a process."""
    key = (source, name, options)
    with _lock:
        kernel = _kernels.get(key)
        if kernel is None:
            module = compiler._compile(source, options, name=f"{name}.cu")
            kernel = _kernels[key] = module.kernel(name)
        return kernel


_OURS = '#line 0 "generated"\n'  # before lines that are not the learner's


def _numbered(source: str) -> str:
    """The source with its own line numbers where the lines are generated."""
    lines = source.split("\n")
    for number, line in enumerate(lines, 1):
        if line == _OURS[:-1]:
            lines[number - 1] = f'#line {number + 1} "generated"'
    return "\n".join(lines)


class _Codes:
    """What kernels with generated code have in common."""

    def _declare(self, in_params: str, out_params: str, name: str, *indexers: str) -> None:
        """Read the parameters' declarations; ValueError for a name that no kernel can have."""
        if not compiler.is_valid_kernel_name(name):
            raise ValueError(f'Invalid kernel name: "{name}"')
        self.in_params = _get_param_info(in_params, True)
        self.out_params = _get_param_info(out_params, False)
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        self._own_params = self.in_params + self.out_params
        added = [ParameterInfo(f"CIndexer {indexer}", False) for indexer in indexers]
        self.params = (*self._own_params, *added)
        self.name = self.__name__ = name
        self._cached_codes: dict[tuple, str] = {}
        self._types: dict[tuple, tuple] = {}

    @property
    def cached_codes(self) -> dict[tuple, str]:
        """The generated code by the arrays' types."""
        if not self._cached_codes:
            warnings.warn(
                "No codes are cached because compilation is deferred until the first function "
                "call.",
                stacklevel=2,
            )
        return dict(self._cached_codes)

    @property
    def cached_code(self) -> str:
        """The generated code of the first call."""
        if len(self._cached_codes) > 1:
            warnings.warn(
                "The input types of the kernel could not be inferred. Please use `.cached_codes` "
                "instead.",
                stacklevel=2,
            )
        return next(iter(self._cached_codes.values()))

    def __getattr__(self, name: str) -> object:
        owner = type(self)
        raise _missing.error(
            f"cupy.{owner.__name__}", name, f"'{owner.__module__}.{owner.__name__}' object")


class ElementwiseKernel(_Codes):
    """A kernel of one's own that works element by element, with broadcasting."""

    def __init__(
        self, in_params: str, out_params: str, operation: str, name: str = "kernel",
        reduce_dims: bool = True, preamble: str = "", no_return: bool = False,
        return_tuple: bool = False, **kwargs: object,
    ) -> None:  # fmt: skip
        self._declare(in_params, out_params, name, "_ind")
        self.operation, self.preamble, self.kwargs = operation, preamble, kwargs
        self.reduce_dims, self.no_return, self.return_tuple = reduce_dims, no_return, return_tuple
        if any(p.name == "i" for p in self.params):
            raise ValueError("Can not use 'i' as a parameter name")
        self._memo: dict[tuple, engine.Kernel] = {}

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Apply it: inputs, then outputs where they are given."""
        size, stream, block_size = -1, None, 128
        if kwargs:
            size = kwargs.pop("size", -1)
            stream = kwargs.pop("stream", None)
            block_size = kwargs.pop("block_size", 128)
            if kwargs:
                raise TypeError(f"Wrong arguments {kwargs}")
            if block_size <= 0:
                raise ValueError("block_size must be greater than zero")
        nin, given = self.nin, len(args)
        if given != nin and given != self.nargs:
            raise TypeError(
                f"Wrong number of arguments for {self.name!r}. It must be either {nin} or "
                f"{self.nargs} (with outputs), but given {given}.")
        items = [a if type(a) is _ndarray else _preprocess(a) for a in args]
        shape = self._shape(items, size)
        dtypes = tuple([a.dtype if isinstance(a, _ndarray) else None for a in items])
        found = self._types.get(dtypes)
        if found is None:
            found = self._types[dtypes] = _decide_types(
                self.in_params, self.out_params, dtypes[:nin], dtypes[nin:])
        in_types, out_types, letters = found
        outs = self._outputs(items[nin:], out_types, shape, size != -1)
        if self.no_return:
            result = None
        elif self.nout == 1 and not self.return_tuple:
            result = outs[0]
        else:
            result = tuple(outs)
        total = math.prod(shape)
        if total == 0:
            return result
        items[nin:] = outs
        types = in_types + out_types
        kinds, packed, loop_shape = _layout(items, self._own_params, types, shape, self.reduce_dims)
        key = (types, kinds, len(loop_shape))
        kernel = self._memo.get(key)
        if kernel is None:
            kernel = self._compile(key, letters)
        packed.append(_indexer(loop_shape))
        if core._contexts.several:
            core.reach(*items)
        grid, block = function._linear(total, block_size)
        function._launch(kernel, grid, block, packed, 0, stream, items)
        return result

    def _shape(self, items: list, size: int) -> tuple[int, ...]:
        looped = [
            a for a, p in zip(items, self._own_params) if not p.raw and isinstance(a, _ndarray)
        ]
        if size != -1:
            if looped:
                raise ValueError(
                    "Specified 'size' can be used only if all of the ndarray are 'raw'.")
            return (int(size),)
        if not looped:
            raise ValueError("Loop size is undecided.")
        shape = looped[0]._view.shape
        if all(a._view.shape == shape for a in looped):
            return shape
        return core.broadcast_shape(looped)

    def _outputs(self, outs: list, types: tuple, shape: tuple, sized: bool) -> list:
        if not outs:
            if not sized and any(p.raw for p in self.out_params):
                raise ValueError("Output array size is Undecided")
            return [_ndarray(shape, dtype) for dtype in types]
        for p, out in zip(self.out_params, outs):
            if not isinstance(out, _ndarray):
                raise TypeError("Output arguments type must be cupy.ndarray")
            if not p.raw and out._view.shape != shape:
                raise ValueError("Out shape is mismatched")
        return outs

    def _compile(self, key: tuple, letters: dict) -> engine.Kernel:
        types, kinds, ndim = key
        options = tuple(self.kwargs.get("options", ()))
        unknown = self.kwargs.keys() - {"options", "loop_prep", "after_loop"}
        if unknown:
            raise TypeError(
                f"_get_elementwise_kernel() got an unexpected keyword argument '{min(unknown)}'")
        source = self._source(types, kinds, ndim, letters)
        kernel = _build(source, self.name, options)
        arrays = tuple(t for t, kind in zip(types, kinds) if kind != "scalar")
        self._cached_codes.setdefault(arrays, source)
        self._memo[key] = kernel
        return kernel

    def _source(self, types: tuple, kinds: tuple, ndim: int, letters: dict) -> str:
        params = self._own_params
        prep, after = self.kwargs.get("loop_prep", ""), self.kwargs.get("after_loop", "")
        flat = str(_is_flat(kinds, params)).lower()
        declared = [_declare(*row) for row in zip(params, kinds, types)]
        declared.append(f"CIndexer<{ndim}, {flat}> _ind")
        elements = "".join(_element(*row, "_ind", "i") for row in zip(params, kinds, types))
        head = _typedefs(letters)
        list_of_params = ", ".join(declared)
        includes = _headers(head, list_of_params, self.preamble, self.operation, prep, after)
        return _numbered(
            f'{includes}{head}#line 1 "preamble"\n{self.preamble}\n{_OURS}'
            f'extern "C" __global__ void {self.name}({list_of_params}) {{\n'
            f'#line 1 "loop_prep"\n{prep};\n{_OURS}'
            f"CUPY_FOR(i, _ind.size()) {{\n_ind.set(i);\n{elements}"
            f'#line 1 "operation"\n{self.operation};\n{_OURS}}}\n'
            f'#line 1 "after_loop"\n{after};\n{_OURS}}}\n'
        )
