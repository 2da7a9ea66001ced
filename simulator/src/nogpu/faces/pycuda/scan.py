"""Running sums and the like, in place."""

from __future__ import annotations

import numpy as np

from .tools import dtype_to_ctype

_SOURCE = """
{preamble}
#define SCAN_EXPR(a, b) ({scan_expr})
typedef {kind} scan_type;

// One thread after another does its part: the order of the results is what counts here.
__global__ void {name}(const scan_type *input, scan_type *output, unsigned long n)
{{
    {before}
    for (unsigned long i = 0; i < n; ++i) {{ {step} }}
}}
"""


class _ScanKernel:
    """A kernel that combines each element with those before it."""

    def __init__(
        self, dtype, scan_expr, neutral=None, name_prefix="scan", options=None, preamble="",
        devices=None,
    ):  # fmt: skip
        from .compiler import SourceModule

        self.dtype = np.dtype(dtype)
        kind, name = dtype_to_ctype(dtype), f"{name_prefix}_kernel"
        source = _SOURCE.format(
            preamble=preamble, scan_expr=scan_expr, kind=kind, name=name,
            before=self._before(neutral), step=self._step)
        self._function = SourceModule(source, options=options).get_function(name).prepare("PPL")

    def _before(self, neutral: object) -> str:
        return "scan_type sum;"

    def __call__(self, input_ary, output_ary=None, allocator=None, queue=None, stream=None):
        if isinstance(output_ary, str) and output_ary == "new":
            output_ary = input_ary._new_like_me()
        output_ary = input_ary if output_ary is None else output_ary
        if input_ary.shape != output_ary.shape:
            raise ValueError("input and output must have the same shape")
        if not input_ary.flags.forc:
            raise RuntimeError("ScanKernel cannot deal with non-contiguous arrays")
        self._function.prepared_async_call(
            (1, 1), (1, 1, 1), stream, input_ary.gpudata, output_ary.gpudata, input_ary.size)
        return output_ary


class InclusiveScanKernel(_ScanKernel):
    """Each result includes its own element."""

    _step = "sum = i ? SCAN_EXPR(sum, input[i]) : input[i]; output[i] = sum;"


class ExclusiveScanKernel(_ScanKernel):
    """Each result is that of the elements before; the first is ``neutral``."""

    _step = "scan_type own = input[i]; output[i] = sum; sum = SCAN_EXPR(sum, own);"

    def _before(self, neutral: object) -> str:
        return f"scan_type sum = {neutral};"
