"""Universal functions: NumPy's loops on the device's memory, with CuPy's rules around them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cupy._core import _fusion_thread_local, core
from cupy._core.core import _SCALARS, ndarray

from nogpu.faces import missing as _missing

_WEAK = (bool, int, float, complex)
_ABSENT = object()
_COMPARISONS = {f"cupy_{name}" for name in ("less", "less_equal", "greater", "greater_equal",
                                            "equal", "not_equal")}  # fmt: skip
_fusing = _fusion_thread_local.thread_local


class ufunc:  # noqa: N801 -- the library's name
    """An element-wise function that broadcasts and promotes; ``types`` are its loops: "dd->d"."""

    def __init__(
        self, name: str, loop: np.ufunc, types: list[str] | None = None, doc: str = "",
        refuse: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name, self._loop, self.__doc__ = name, loop, doc
        self.nin, self.nout, self.nargs = loop.nin, loop.nout, loop.nin + loop.nout
        self.types = types if types is not None else [t for t in loop.types if _on_device(t)]
        self.__name__ = name
        self._given = types is not None
        self._refuse = refuse or {}
        # Where CuPy has a kernel for them, the modules of routines set these.
        self._at = self._reduction = self._accumulate = self._reduceat = None
        self._compares = name in _COMPARISONS
        self._integers: Callable | None = None  # instead of the loop, for signed integers
        self._cache: dict[tuple, tuple[np.dtype, ...]] = {}

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"

    def __getattr__(self, name: str) -> object:
        raise _missing.error("cupy.ufunc", name, "'ufunc' object")

    def _resolve(self, inputs: list, dtype: np.dtype | None) -> tuple[np.dtype, ...]:
        """Dtypes of the loop: inputs, then outputs."""
        key = (tuple([x.dtype if isinstance(x, (ndarray, np.generic)) else type(x)
                      for x in inputs]), dtype)  # fmt: skip
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._find_loop(key[0], dtype)
        return found

    def _find_loop(self, kinds: tuple, dtype: np.dtype | None) -> tuple[np.dtype, ...]:
        asked = [
            kind if isinstance(kind, np.dtype) else (np.dtype(bool) if kind is bool else kind)
            for kind in kinds
        ]
        first = getattr(asked[0], "kind", None)
        if dtype is None and first in self._refuse and all(
                getattr(kind, "kind", None) == first for kind in asked):
            raise TypeError(self._refuse[first])
        signature = None
        if dtype is not None:
            signature = (None,) * self.nin + (dtype,) * self.nout
        try:
            if signature is None:
                found = self._loop.resolve_dtypes((*asked, *(None,) * self.nout))
            else:
                found = self._loop.resolve_dtypes(
                    (*asked, *(None,) * self.nout), signature=signature, casting="unsafe")
        except (TypeError, ValueError):
            found = None
        types = "".join(d.char for d in found[: self.nin]) + "->" if found else ""
        types += "".join(d.char for d in found[self.nin :]) if found else ""
        if found is None or (self._given and types not in self.types):
            found = self._search(asked, dtype)
        if found is None:
            shown = tuple(
                k if isinstance(k, np.dtype) else np.dtype({int: "l", float: "d", complex: "D"}[k])
                for k in asked)
            text = "(" + ", ".join(repr(k) for k in shown) + ("," if len(shown) == 1 else "") + ")"
            raise TypeError(f"Wrong type ({text}) of arguments for {self.name}")
        if any(d.char in "gGOMm" for d in found):
            raise TypeError(f"Wrong type of arguments for {self.name}")
        return tuple(found)

    def _search(self, asked: list, dtype: np.dtype | None) -> tuple[np.dtype, ...] | None:
        """The first of the given loops that takes the arguments safely."""
        strong = [k for k in asked if isinstance(k, np.dtype)]
        common = np.result_type(*strong) if strong else None
        weak = {int: 0, float: 0.0, complex: 0j}
        kinds = []
        for kind in asked:
            if isinstance(kind, np.dtype):
                kinds.append(kind)
            elif common is None:
                kinds.append(np.dtype({int: "l", float: "d", complex: "D"}[kind]))
            else:
                kinds.append(np.result_type(common, weak[kind]))
        for text in self.types:
            ins, outs = text.split("->")
            if dtype is not None and np.dtype(outs[0]) != dtype:
                continue
            if dtype is not None or all(
                np.can_cast(kind, np.dtype(char)) for kind, char in zip(kinds, ins)
            ):
                return tuple(np.dtype(char) for char in ins + outs)
        return None

    def __call__(self, *args: object, **kwargs: object) -> object:
        if _fusing.fusing:
            return _fusion_thread_local.call(self, *args, **kwargs)
        out = kwargs.pop("out", None)
        dtype = kwargs.pop("dtype", None)
        casting = kwargs.pop("casting", "same_kind")
        where = kwargs.pop("_where", None)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        nin = self.nin
        if not nin <= len(args) <= self.nargs:
            some = f"either {nin} or {self.nargs} (with outputs)"
            raise TypeError(
                f"Wrong number of arguments for '{self.name}'. It must be {some}, "
                f"but given {len(args)}.")
        outs = args[nin:]
        if out is not None:
            if outs:
                raise ValueError(
                    "Cannot specify 'out' as both a positional and keyword argument")
            outs = out if isinstance(out, tuple) else (out,)
            if len(outs) != self.nout:
                raise ValueError("The number of outputs does not match")
        inputs = []
        for item in args[:nin]:
            kind = type(item)
            if kind is ndarray or kind in _WEAK or isinstance(item, (ndarray, *_SCALARS)):
                inputs.append(item)
            else:
                inputs.append(core._argument(item))
        if self._compares:
            inputs = _typed_integers(inputs)
        for item in outs:
            if item is not None and not isinstance(item, ndarray):
                raise TypeError(f"Unsupported type {type(item)}")
        dtypes = self._resolve(inputs, None if dtype is None else np.dtype(dtype))
        if where is not None and not isinstance(where, (bool, np.bool_)):
            where = core._argument(where)
        return self._run(inputs, outs, dtypes, casting, where)

    def _run(
        self, inputs: list, outs: tuple, dtypes: tuple, casting: str, where: object = None
    ) -> object:
        views, shape, nbytes = [], None, 0
        scalars = True
        for item, dtype in zip(inputs, dtypes):
            if isinstance(item, ndarray):
                view = item._view
                scalars = False
                nbytes = max(nbytes, view.nbytes)
                if shape is None:
                    shape = view.shape
                elif view.shape != shape:
                    shape = _ABSENT
                if view.dtype != dtype and view.dtype.kind in "fc" and dtype.kind in "iu":
                    view = _Converted(view, dtype)
            else:
                view = _scalar(item, dtype)
            views.append(view)
        if scalars:
            shape = ()
        given = [o for o in outs if o is not None]
        mask = True if where is None else where
        if isinstance(where, ndarray):
            given, shape, mask = [*given, where], _ABSENT, where._view
        if shape is _ABSENT:
            shape = core.broadcast_shape([*inputs, *given])
        results = []
        for index, dtype in enumerate(dtypes[self.nin :]):
            out = outs[index] if index < len(outs) else None
            if out is None:
                results.append(core._new(shape, dtype))
                continue
            if out.shape != shape:
                shape = core.broadcast_shape([*inputs, *given])
                if out.shape != shape:
                    raise ValueError("Out shape is mismatched")
            core.check_cast(dtype, out.dtype, casting, "output operand")
            results.append(out)
        targets = tuple([r._view for r in results])
        if not results[0].size:
            return results[0] if len(results) == 1 else tuple(results)
        loop = self._loop
        types = tuple(dtypes)
        replaced = self._integers if types[0].kind == "i" else None

        def work() -> None:
            operands = [v.now() if type(v) is _Converted else v for v in views]
            if replaced is not None:
                np.copyto(targets[0], replaced(*operands), "unsafe", np.asarray(mask, bool))
            elif where is None:
                loop(*operands, out=targets, casting="unsafe", signature=types)
            else:
                loop(*operands, out=targets, casting="unsafe", signature=types,
                     where=np.asarray(mask, bool))  # fmt: skip

        core._enqueue(work, max(nbytes, targets[0].nbytes), (self.name, targets[0].dtype))
        return results[0] if len(results) == 1 else tuple(results)

    # methods that few of them have

    def _not_supported(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"`{self.name}.{method}` is not supported yet")

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False):
        """Reduce along an axis, where CuPy has a kernel for it."""
        if self._reduction is None:
            raise self._not_supported("reduce")
        return self._reduction(array, axis, dtype, out, keepdims)

    def accumulate(self, array, axis=0, dtype=None, out=None):
        """Running totals, where CuPy has a kernel for it."""
        if self._accumulate is None:
            raise self._not_supported("accumulate")
        return self._accumulate(array, axis, dtype, out)

    def reduceat(self, array, indices, axis=0, dtype=None, out=None):
        """Reduce pieces of an axis; only of ``add``."""
        if self.name != "cupy_add":
            raise self._not_supported("reduceat")
        array = core._argument(array)
        host = indices.get() if isinstance(indices, ndarray) else np.asarray(indices)
        result = core.compute_now(lambda a: np.add.reduceat(a, host, axis, dtype), [array])
        if out is None:
            return result
        if core._argument(out).shape != result.shape:
            raise ValueError("Out shape is mismatched")
        core.check_cast(result.dtype, out.dtype, "same_kind", "output operand")
        core._fill_from(out, result)
        return out

    def outer(self, A, B, **kwargs):
        """The function of all pairs."""
        A, B = (x if isinstance(x, ndarray) else _as_array(x) for x in (A, B))
        left = A.reshape(*A.shape, *(1,) * B.ndim) if B.ndim else A
        return self(left, B, **kwargs)

    def at(self, a, indices, b=None):
        """Unbuffered operation in place, where the GPU has an atomic one."""
        if self._at is None:
            raise self._not_supported("at")
        self._at(a, indices, b)


ufunc.__module__ = "cupy._core._kernel"


class _Converted:
    """An input that is converted, by the GPU's rules, when its turn comes."""

    __slots__ = ("dtype", "view")

    def __init__(self, view: np.ndarray, dtype: np.dtype) -> None:
        self.view, self.dtype = view, dtype

    def now(self) -> np.ndarray:
        return core.convert(self.view, self.dtype)


def _on_device(types: str) -> bool:
    return not set(types) & set("gGOMmSUV")


def _typed_integers(inputs: list) -> list:
    """The operands of a comparison; an integer beside integers is one of 64 bits, so it may lie
    outside their range."""
    one, other = inputs
    for python, typed in ((one, other), (other, one)):
        if type(python) is int and getattr(getattr(typed, "dtype", None), "kind", "") in "iub":
            if not -(2**63) <= python < 2**64:  # beyond every integer: as far as a float's range
                return [float(x) if x is python else x for x in inputs]
            kind = np.uint64 if python >= 2**63 else np.int64
            return [kind(x) if x is python else x for x in inputs]
    return inputs


def _as_array(item: object) -> ndarray:
    return core.from_host(np.asarray(item)) if isinstance(item, _SCALARS) else core._argument(item)


def _scalar(item: object, dtype: np.dtype) -> np.generic:
    """A scalar as the loop takes it; OverflowError for an integer that does not fit."""
    if type(item) is int and dtype.kind in "iu":
        return dtype.type(item)
    return np.asarray(item).astype(dtype)[()]


def operator(function: ufunc, numpy_function: np.ufunc, name: str, swapped: bool = False):
    """A binary method of ndarray: CuPy's function, or NumPy's verdict on what it cannot take."""

    unequal = {"__eq__": False, "__ne__": True}.get(name)

    def method(self: ndarray, other: object) -> object:
        kind = type(other)
        if function._compares:
            if isinstance(other, np.ndarray) and other.ndim == 0:
                other = other.item()
                kind = type(other)
            elif unequal is not None and (other is None or kind.__eq__ is object.__eq__
                                          and (not unequal or kind.__ne__ is object.__ne__)):
                result = core._new(self.shape, np.dtype(bool))
                result.fill(unequal)
                return result
        if kind in _WEAK or isinstance(other, (ndarray, np.ndarray, np.generic)):
            return function(other, self) if swapped else function(self, other)
        if core._exports(other) or _prefers_itself(other):
            if _prefers_itself(other):
                return NotImplemented
            return function(other, self) if swapped else function(self, other)
        return numpy_function(other, self) if swapped else numpy_function(self, other)

    method.__name__ = name
    method.__qualname__ = f"ndarray.{name}"
    return method


def _prefers_itself(other: object) -> bool:
    if getattr(other, "__array_ufunc__", _ABSENT) is None:
        return True
    return not core._exports(other) and getattr(other, "__array_priority__", -1) > 100
