"""Kernels from an expression for one element."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from nogpu.faces import table

from . import driver as drv
from .tools import (
    DtypedArgument,
    ScalarArg,  # noqa: F401
    VectorArg,
    context_dependent_memoize,
    dtype_to_ctype,
    generated_module,
    parse_arguments,
    passed_to_kernel,
)

_LOOP = "for (i = cta_start + tid; i < n; i += total_threads)\n    {{ {operation}; }}"
_RANGE = (
    "if (step < 0) for (i = start + (cta_start + tid) * step; i > stop; i += total_threads * step)"
    "\n    {{ {operation}; }}\n    else "
    "for (i = start + (cta_start + tid) * step; i < stop; i += total_threads * step)"
    "\n    {{ {operation}; }}"
)


def _source(
    arguments: Sequence[DtypedArgument], operation: str, name: str, preamble: str, loop_prep: str,
    after_loop: str, ranged: bool,
) -> str:  # fmt: skip
    declared = ", ".join(argument.declarator() for argument in arguments)
    extra, index, loop = ", unsigned long n", "unsigned long i", _LOOP
    if ranged:
        extra, index, loop = ", long start, long stop, long step", "long i", _RANGE
    signed = "long" if ranged else "unsigned"
    return (
        f"{preamble}\n__global__ void {name}({declared}{extra})\n{{\n"
        f"    {signed} tid = threadIdx.x;\n    {signed} total_threads = gridDim.x * blockDim.x;\n"
        f"    {signed} cta_start = blockDim.x * blockIdx.x;\n    {index};\n"
        f"    {loop_prep};\n    {loop.format(operation=operation)}\n    {after_loop};\n}}\n"
    )


def _module(arguments, operation, name, keep, options, preamble, loop_prep, after_loop, ranged):
    source = _source(arguments, operation, name, preamble, loop_prep, after_loop, ranged)
    return generated_module(source, options, keep)


get_elwise_module, get_elwise_range_module = table.functions(
    globals(), lambda name: functools.partial(_module, ranged="range" in name), """
get_elwise_module(arguments, operation, name="kernel", keep=False, options=None, preamble="",
        loop_prep="", after_loop=""): The module behind an `ElementwiseKernel`.
get_elwise_range_module(arguments, operation, name="kernel", keep=False, options=None, preamble="",
        loop_prep="", after_loop=""): The same over a range of indices.
""")


def get_elwise_kernel_and_types(
    arguments, operation, name="kernel", keep=False, options=None, use_range=False, **kwargs
):
    """The prepared function and its arguments."""
    parsed = parse_arguments(arguments)
    make = get_elwise_range_module if use_range else get_elwise_module
    function = make(parsed, operation, name, keep, options, **kwargs).get_function(name)
    letters = "".join(argument.struct_char for argument in parsed)
    function.prepare(letters + ("lll" if use_range else "L"))
    return function, parsed


def get_elwise_kernel(arguments, operation, name="kernel", keep=False, options=None, **kwargs):
    """The prepared function."""
    return get_elwise_kernel_and_types(arguments, operation, name, keep, options, **kwargs)[0]


class ElementwiseKernel:
    """A kernel that does ``operation`` for every index ``i`` below ``n``.

    Nobody compares the declarations with the arrays.
    """

    def __init__(self, arguments, operation, name="kernel", keep=False, options=None, **kwargs):
        self.gen_kwargs = {
            **kwargs, "arguments": arguments, "operation": operation, "name": name, "keep": keep,
            "options": options,
        }  # fmt: skip
        self._made: dict = {}

    def generate_stride_kernel_and_types(self, use_range: bool) -> tuple:
        """The prepared function and its arguments, for the current context."""
        key = drv.Context.get_current(), use_range
        if key not in self._made:
            made = get_elwise_kernel_and_types(use_range=use_range, **self.gen_kwargs)
            assert [one for one in made[1] if isinstance(one, VectorArg)], (
                "ElementwiseKernel can only be used with functions that have at least one "
                "vector argument")
            self._made[key] = made
        return self._made[key]

    def __call__(self, *args: object, **kwargs: object) -> None:
        from .gpuarray import splay

        chosen, part = kwargs.pop("range", None), kwargs.pop("slice", None)
        stream = kwargs.pop("stream", None)
        if kwargs:
            raise TypeError(f"invalid keyword arguments specified: {', '.join(kwargs)}")
        ranged = chosen is not None or part is not None
        function, arguments = self.generate_stride_kernel_and_types(ranged)
        vectors, values = passed_to_kernel("elementwise kernel", args, arguments)
        values += args[len(arguments):]
        size = vectors[0].size
        if part is not None:
            if chosen is not None:
                raise TypeError("may not specify both range and slice keyword arguments")
            chosen = slice(*part.indices(size))
        if chosen is not None:
            values += [chosen.start, chosen.stop, chosen.step]
            grid, block = splay(abs(chosen.stop - chosen.start) // chosen.step)
        else:
            values.append(size)
            grid, block = splay(size)
        function.prepared_async_call(grid, block, stream, *values)


@context_dependent_memoize
def get_axpbyz_kernel(dtype_x, dtype_y, dtype_z, x_is_scalar=False, y_is_scalar=False):
    """``z = a * x + b * y``."""
    x, y, z = (dtype_to_ctype(one) for one in (dtype_x, dtype_y, dtype_z))
    at_x, at_y = "0" if x_is_scalar else "i", "0" if y_is_scalar else "i"
    return get_elwise_kernel(
        f"{z} a, {x} *x, {z} b, {y} *y, {z} *z",
        f"z[i] = a * ({z}) x[{at_x}] + b * ({z}) y[{at_y}]", "axpbyz")


@context_dependent_memoize
def get_axpbz_kernel(dtype_x, dtype_z):
    """``z = a * x + b``."""
    x, z = dtype_to_ctype(dtype_x), dtype_to_ctype(dtype_z)
    return get_elwise_kernel(f"{z} a, {x} *x, {z} b, {z} *z", f"z[i] = a * ({z}) x[i] + b", "axpb")


@context_dependent_memoize
def get_linear_combination_kernel(summand_descriptors, dtype_z):
    """``z = a0 * x0 + a1 * x1 + ...``; of each summand: is the factor on the device, types."""
    z = dtype_to_ctype(dtype_z)
    declared, terms = [], []
    for number, (on_device, scalar, vector) in enumerate(summand_descriptors):
        star = "*" if on_device else ""
        declared += [f"{dtype_to_ctype(scalar)} {star}a{number}",
                     f"{dtype_to_ctype(vector)} *x{number}"]  # fmt: skip
        terms.append(f"{star}a{number} * x{number}[i]")
    return get_elwise_kernel(
        ", ".join([*declared, f"{z} *z"]), f"z[i] = {' + '.join(terms)}", "linear_combination"
    ), ()
