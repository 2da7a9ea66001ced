"""Reductions: a map, a binary operation, and a map of the result, in C++."""

from __future__ import annotations

import math

import numpy as np
from cupy._core import _kernel, core
from cupy.cuda import function

from nogpu import engine

_ndarray = core.ndarray
_MANY = 64  # results from which on each of them is one thread's work
_SHORT = 4096  # elements that one thread may add up


def _chunks(length: int, results: int) -> int:
    """Into how many parts each result's elements are cut: each part is one thread's work."""
    if results >= _MANY or length <= _SHORT:
        return 1
    return max(1, math.isqrt(length))


class ReductionKernel(_kernel._Codes):
    """A reduction of one's own over any axes."""

    def __init__(
        self, in_params: str, out_params: str, map_expr: str, reduce_expr: str, post_map_expr: str,
        identity: object, name: str = "reduce_kernel", reduce_type: str | None = None,
        reduce_dims: bool = True, preamble: str = "", options: tuple = (),
    ) -> None:  # fmt: skip
        self._declare(in_params, out_params, name, "_in_ind", "_out_ind")
        self.map_expr, self.reduce_expr, self.post_map_expr = map_expr, reduce_expr, post_map_expr
        self.identity = "" if identity is None else str(identity)
        self.preamble = preamble
        self.reduce_type = self.out_params[0].ctype if reduce_type is None else reduce_type
        self.reduce_dims, self.options = reduce_dims, tuple(options)
        self._memo: dict[tuple, tuple[engine.Kernel, engine.Kernel, int]] = {}

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Reduce: inputs, then the output where it is given."""
        out, axis = kwargs.pop("out", None), kwargs.pop("axis", None)
        keepdims, stream = kwargs.pop("keepdims", False), kwargs.pop("stream", None)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(f"Wrong number of arguments for {self.name}")
        items = [_kernel._preprocess(a) for a in args]
        inputs, outs = items[: self.nin], items[self.nin :]
        if out is not None:
            if outs:
                raise ValueError("cannot specify 'out' as both a positional and keyword argument")
            outs = [core._argument(out)]
        looped = [a for a, p in zip(inputs, self.in_params) if _takes_part(a, p)]
        if not looped:
            raise ValueError("Loop size is undecided.")
        shape = looped[0].shape
        if any(a.shape != shape for a in looped):
            shape = core.broadcast_shape(looped)
        given = (
            tuple([a.dtype.type if isinstance(a, _ndarray) else None for a in inputs]),
            tuple([a.dtype.type for a in outs]),
        )
        types = self._types.get(given)
        if types is None:
            types = _kernel._decide_types(self.in_params, self.out_params, *given)
            self._types[given] = types
        out_types = types[1]
        reduced, kept = _split_axes(axis, len(shape))
        out_shape = tuple(
            size if i in kept else 1 for i, size in enumerate(shape) if keepdims or i in kept)
        if self.identity == "" and 0 in shape:
            raise ValueError(
                f"zero-size array to reduction operation {self.name} which has no identity")
        for out in outs:
            if out.shape != out_shape:
                raise ValueError("Out shape is mismatched")
        outs = outs or [_ndarray(out_shape, dtype) for dtype in out_types]
        result = outs[0] if self.nout == 1 else tuple(outs)
        if math.prod(out_shape) == 0:
            return result
        order = (*reduced, *kept)
        if order != tuple(range(len(shape))):
            if any(p.raw for p in self.in_params):
                raise NotImplementedError("Illegal conditions")
            inputs = [
                _turned(a, shape, order) if _takes_part(a, p) else a
                for a, p in zip(inputs, self.in_params)
            ]
        turned = tuple(shape[i] for i in order)
        length = math.prod(shape[i] for i in reduced)
        self._launch(inputs, outs, types, turned,
                     tuple(shape[i] for i in kept), length, stream)  # fmt: skip
        return result

    def _launch(
        self, inputs: list, outs: list, types: tuple, shape: tuple, kept: tuple, length: int,
        stream: object,
    ) -> None:  # fmt: skip
        in_types, out_types, letters = types
        in_kinds, packed_in, in_shape = _kernel._layout(
            inputs, self.in_params, in_types, shape, self.reduce_dims)
        flat_outs = [core._wrap(out._view.reshape(kept), out) if out.shape != kept else out
                     for out in outs]  # fmt: skip
        out_kinds, packed_out, out_shape = _kernel._layout(
            flat_outs, self.out_params, out_types, kept, self.reduce_dims)
        key = (in_types, out_types, in_kinds, out_kinds, len(in_shape), len(out_shape))
        compiled = self._memo.get(key)
        if compiled is None:
            compiled = self._memo[key] = self._compile(key, letters)
        whole, parts, itemsize = compiled
        results = math.prod(kept)
        chunks = _chunks(length, results)
        indexers = [_kernel._indexer(in_shape), _kernel._indexer(out_shape)]
        keep = [*inputs, *outs]
        core.reach(*keep)
        if chunks == 1:
            arguments = [*packed_in, *packed_out, *indexers, function._integer(length)]
            grid, block = function._linear(results, 128 if results >= _MANY else 1)
            function._launch(whole, grid, block, arguments, 0, stream, keep)
            return
        scratch = _ndarray((chunks * results, itemsize), np.uint8)
        function._name_memory(scratch.data, f"parts of {self.name}")
        step = -(-length // chunks)
        chunks = -(-length // step)
        pointer = function._pack_address(scratch.data.ptr)
        numbers = [pointer, function._integer(length), function._integer(step)]
        keep.append(scratch)
        function._launch(parts, (chunks * results, 1, 1), (1, 1, 1),
                         [*packed_in, *indexers, *numbers], 0, stream, keep)  # fmt: skip
        finish = whole.module.kernel(f"{self.name}__join")
        grid, block = function._linear(results, 1)
        function._launch(finish, grid, block,
                         [*packed_in, *packed_out, *indexers, pointer, function._integer(chunks)],
                         0, stream, keep)  # fmt: skip

    def _compile(self, key: tuple, letters: dict) -> tuple[engine.Kernel, engine.Kernel, int]:
        in_types, out_types = key[:2]
        source = self._source(key, letters)
        whole = _kernel._build(source, self.name, self.options)
        self._cached_codes.setdefault(in_types + out_types, source)
        size = whole.module.kernel(f"{self.name}__size").parameter_sizes[0]
        return whole, whole.module.kernel(f"{self.name}__parts"), size

    def _source(self, key: tuple, letters: dict) -> str:
        in_types, out_types, in_kinds, out_kinds, in_ndim, out_ndim = key
        inputs = list(zip(self.in_params, in_kinds, in_types))
        outs = list(zip(self.out_params, out_kinds, out_types))
        in_flat = str(_kernel._is_flat(in_kinds, self.in_params)).lower()
        out_flat = str(_kernel._is_flat(out_kinds, self.out_params)).lower()
        head = _kernel._typedefs(letters)
        in_list = ", ".join(_kernel._declare(*row) for row in inputs)
        out_list = ", ".join(_kernel._declare(*row) for row in outs)
        indexers = f"CIndexer<{in_ndim}, {in_flat}> _in_ind, CIndexer<{out_ndim}, {out_flat}> "
        indexers += "_out_ind"
        in_elements = "".join(_kernel._element(*row, "_in_ind", "_j") for row in inputs)
        out_elements = "".join(_kernel._element(*row, "_out_ind", "_i") for row in outs)
        includes = _kernel._headers(
            head, in_list, out_list, self.preamble, self.map_expr, self.reduce_expr,
            self.post_map_expr, self.identity, self.reduce_type)
        ours = _kernel._OURS
        start = f"bool _empty = true;\n_type_reduce _s = _type_reduce({self.identity});\n"
        if self.identity:
            start = (
                'bool _empty = false;\n#line 1 "identity"\n'
                f"_type_reduce _s = _type_reduce({self.identity});\n{ours}"
            )
        # _b is what comes next; it is joined to what there is, _s.
        join = (
            "if (_empty) { _s = _b; _empty = false; } else {\n"
            'const _type_reduce a = _s, b = _b;\n#line 1 "reduce_expr"\n'
            f"_s = static_cast<_type_reduce>({self.reduce_expr});\n{ours}}}\n"
        )
        step = (
            f"const ptrdiff_t _j = _J * _out_ind.size() + _i;\n_in_ind.set(_j);\n{in_elements}"
            '#line 1 "map_expr"\n'
            f"const _type_reduce _b = static_cast<_type_reduce>({self.map_expr});\n{ours}{join}"
        )
        store = (
            f"_out_ind.set(_i);\n{out_elements}{{ const _type_reduce a = _s;\n"
            f'#line 1 "post_map_expr"\n({self.post_map_expr});\n{ours}}}\n'
        )
        name, both = self.name, f"{in_list}, {out_list}, {indexers}"
        return _kernel._numbered(
            f'{includes}{head}#line 1 "preamble"\n{self.preamble}\n{ours}'
            f"typedef {self.reduce_type} _type_reduce;\n"
            f'extern "C" __global__ void {name}__size(_type_reduce) {{}}\n'
            # One thread for each result.
            f'extern "C" __global__ void {name}({both}, ptrdiff_t _length) {{\n'
            f"CUPY_FOR(_i, _out_ind.size()) {{\n{start}"
            f"for (ptrdiff_t _J = 0; _J < _length; _J++) {{\n{step}}}\n{store}}}\n}}\n"
            # One thread for each part of a result's elements, and one that joins the parts.
            f'extern "C" __global__ void {name}__parts({in_list}, {indexers}, '
            "_type_reduce* _parts, ptrdiff_t _length, ptrdiff_t _step) {\n"
            "const ptrdiff_t _part = blockIdx.x / _out_ind.size();\n"
            f"const ptrdiff_t _i = blockIdx.x - _part * _out_ind.size();\n{start}"
            "const ptrdiff_t _end = (_part + 1) * _step < _length ? (_part + 1) * _step : _length;"
            f"\nfor (ptrdiff_t _J = _part * _step; _J < _end; _J++) {{\n{step}}}\n"
            "_parts[blockIdx.x] = _s;\n}\n"
            f'extern "C" __global__ void {name}__join({both}, const _type_reduce* _parts, '
            f"ptrdiff_t _count) {{\nCUPY_FOR(_i, _out_ind.size()) {{\n"
            "bool _empty = true;\n_type_reduce _s = _parts[_i];\n"
            f"for (ptrdiff_t _J = 0; _J < _count; _J++) {{\n"
            f"const _type_reduce _b = _parts[_J * _out_ind.size() + _i];\n{join}}}\n{store}}}\n}}\n"
        )


def _takes_part(item: object, p: _kernel.ParameterInfo) -> bool:
    return isinstance(item, _ndarray) and not p.raw


def _split_axes(axis: object, ndim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes that go, and those that stay."""
    if axis is None:
        return tuple(range(ndim)), ()
    reduced = tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, ndim)))
    return reduced, tuple(i for i in range(ndim) if i not in reduced)


def _turned(array: object, shape: tuple, order: tuple) -> object:
    """The array broadcast to ``shape``, with its axes in another order."""
    view = np.broadcast_to(array._view, shape).transpose(order)
    return core._wrap(view, array)
