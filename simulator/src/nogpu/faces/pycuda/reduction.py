"""Reductions: one value of all elements, in two steps of blocks of 512 threads."""

from __future__ import annotations

import numpy as np

from .tools import (
    VectorArg,
    context_dependent_memoize,
    dtype_to_ctype,
    generated_module,
    parse_arguments,
    passed_to_kernel,
)  # fmt: skip

# The real one lets the last warp run without __syncwarp, which is a race since Volta: not this one.
_SOURCE = """
#define BLOCK_SIZE {block_size}
#define READ_AND_MAP(i) ({map_expr})
#define REDUCE(a, b) ({reduce_expr})
{preamble}
typedef {out_type} out_type;

__global__ void {name}(out_type *out, {arguments}, unsigned int seq_count, unsigned int n)
{{
    __shared__ out_type sdata[BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned long i = (unsigned long) blockIdx.x * BLOCK_SIZE * seq_count + tid;
    out_type acc = {neutral};
    for (unsigned int s = 0; s < seq_count && i < n; ++s, i += BLOCK_SIZE)
        acc = REDUCE(acc, READ_AND_MAP(i));
    sdata[tid] = acc;
    for (unsigned int half = BLOCK_SIZE / 2; half >= 32; half /= 2) {{
        __syncthreads();
        if (tid < half) sdata[tid] = REDUCE(sdata[tid], sdata[tid + half]);
    }}
    if (tid < 32)
        for (unsigned int half = 16; half > 0; half /= 2) {{
            __syncwarp();
            if (tid < half) sdata[tid] = REDUCE(sdata[tid], sdata[tid + half]);
        }}
    if (tid == 0) out[blockIdx.x] = sdata[0];
}}
"""
_MOST_BLOCKS, _FEW = 1024, 4


def get_reduction_module(
    out_type, block_size, neutral, reduce_expr, map_expr, arguments, name="reduce_kernel",
    keep=False, options=None, preamble="",
):  # fmt: skip
    """The module of one step."""
    source = _SOURCE.format(
        block_size=block_size, map_expr=map_expr, reduce_expr=reduce_expr, preamble=preamble,
        out_type=out_type, name=name, neutral=neutral, arguments=arguments)
    return generated_module(source, options, keep)


def get_reduction_kernel_and_types(
    stage, out_type, block_size, neutral, reduce_expr, map_expr=None, arguments=None,
    name="reduce_kernel", keep=False, options=None, preamble="",
):  # fmt: skip
    """One step's prepared function, and its arguments."""
    if stage == 2 or map_expr is None:
        map_expr = "in[i]"
    if stage == 2:
        arguments = f"const {out_type} *in"
    if isinstance(arguments, list):
        arguments = ", ".join(argument.declarator() for argument in arguments)
    module = get_reduction_module(
        out_type, block_size, neutral, reduce_expr, map_expr, arguments, name, keep, options,
        preamble)
    parsed = parse_arguments(arguments)
    function = module.get_function(name)
    function.prepare("P" + "".join(one.struct_char for one in parsed) + "II")
    return function, parsed


class ReductionKernel:
    """A kernel that reduces ``map_expr`` of every index ``i`` by ``reduce_expr`` of a and b."""

    def __init__(
        self, dtype_out, neutral, reduce_expr, map_expr=None, arguments=None,
        name="reduce_kernel", keep=False, options=None, preamble="",
    ):  # fmt: skip
        self.dtype_out = np.dtype(dtype_out)
        self.block_size = 512
        common = (dtype_to_ctype(dtype_out), self.block_size, neutral, reduce_expr)
        self._first, self._arguments = get_reduction_kernel_and_types(
            1, *common, map_expr, arguments, f"{name}_stage1", keep, options, preamble)
        assert [one for one in self._arguments if isinstance(one, VectorArg)], (
            "ReductionKernel can only be used with functions that have at least one "
            "vector argument")
        self._second, self._second_arguments = get_reduction_kernel_and_types(
            2, *common, name=f"{name}_stage2", keep=keep, options=options, preamble=preamble)

    def __call__(self, *args: object, **kwargs: object) -> object:
        from .gpuarray import GPUArray

        stream, out = kwargs.get("stream"), kwargs.get("out")
        function, arguments = self._first, self._arguments
        while True:
            vectors, values = passed_to_kernel("ReductionKernel", args, arguments)
            size = vectors[0].size
            allocator = kwargs.get("allocator") or vectors[0].allocator
            blocks = min(-(-size // (_FEW * self.block_size)), _MOST_BLOCKS)
            each = max(-(-size // (_MOST_BLOCKS * self.block_size)), _FEW)
            if blocks <= 1 and out is not None:
                result = out
            else:
                shape = () if blocks <= 1 else (blocks,)
                result = GPUArray(shape, self.dtype_out, allocator)
            function.prepared_async_call(
                (blocks, 1), (self.block_size, 1, 1), stream, result.gpudata, *values, each, size)
            if blocks <= 1:
                return result
            function, arguments, args = self._second, self._second_arguments, [result]


@context_dependent_memoize
def get_sum_kernel(dtype_out, dtype_in):
    """The sum."""
    dtype_out = dtype_in if dtype_out is None else dtype_out
    return ReductionKernel(
        dtype_out, "0", "a+b", arguments=f"const {dtype_to_ctype(dtype_in)} *in")


@context_dependent_memoize
def get_dot_kernel(dtype_out, dtype_a=None, dtype_b=None):
    """The sum of products."""
    dtype_a = dtype_a or dtype_out
    dtype_b = dtype_b or dtype_a
    return ReductionKernel(
        dtype_out or dtype_a, "0", "a+b", "a[i]*b[i]",
        f"const {dtype_to_ctype(dtype_a)} *a, const {dtype_to_ctype(dtype_b)} *b")
