"""Functions in CUDA C++ that a transform calls for each element that it loads or stores."""

import contextlib
import contextvars
import re

import cupy
import numpy as np

_current = contextvars.ContextVar("cupy.fft callbacks", default=None)
_TYPES = {"F": ("cufftComplex", "float2", "C"), "D": ("cufftDoubleComplex", "double2", "Z"),
          "f": ("cufftReal", "float", "R"), "d": ("cufftDoubleReal", "double", "D")}  # fmt: skip
_HEAD = "".join(
    f"typedef {vector} {name};\n"
    f"typedef {name} (*cufftCallbackLoad{letter})(void*, size_t, void*, void*);\n"
    f"typedef void (*cufftCallbackStore{letter})(void*, size_t, {name}, void*, void*);\n"
    for name, vector, letter in _TYPES.values())
_KERNEL = """
extern "C" __global__ void apply({t}* to, {t}* of, void* info, long long n) {{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {call};
}}
"""
_CALLS = {"load": "to[i] = {f}(of, i, info, 0)", "store": "{f}(to, i, of[i], info, 0)"}


@contextlib.contextmanager
def set_cufft_callbacks(
        cb_load="", cb_store="", cb_load_name="", cb_store_name="", cb_load_data=None,
        cb_store_data=None, cb_load_aux_arr=None, cb_store_aux_arr=None, *, cb_ver="legacy"):
    """Let the transforms of a `with` block call functions; their code is CUDA C++."""
    if cb_ver not in ("legacy", "jit"):
        raise ValueError(f"unrecognized callback version: {cb_ver}")
    load, store = (data if data is not None else array and array.data for data, array in (
        (cb_load_data, cb_load_aux_arr), (cb_store_data, cb_store_aux_arr)))
    token = _current.set({"load": (cb_load, cb_load_name, load),
                          "store": (cb_store, cb_store_name, store)})  # fmt: skip
    try:
        yield
    finally:
        _current.reset(token)


def _applied(which, x):
    code, name, data = _current.get()[which]
    if not code:
        return x
    call = _CALLS[which].format(f=name or f"d_{which}CallbackPtr")
    body = re.sub(r"#\s*include\s*<cufft(Xt)?\.h>", "", code)
    source = _HEAD + body + _KERNEL.format(t=_TYPES[x.dtype.char][0], call=call)
    of, to = cupy.ascontiguousarray(x), cupy.empty(x.shape, x.dtype)
    kernel = cupy.RawKernel(source, "apply")
    kernel((-(-x.size // 128),), (128,), (to, of, data.ptr if data else np.intp(0), x.size))
    return to


def around(transform, makes):
    """A transform between the two calls, where a `with` block asks for them."""

    def call(a, *how):
        if _current.get() is None:
            return transform(a, *how)
        if makes == "complex" and a.dtype.kind != "c":
            a = a.astype(np.complex64 if a.dtype.char in "ef" else complex)
        return _applied("store", transform(_applied("load", a), *how))

    return call
