"""An ElementwiseKernel as plain CUDA source that the simulator can run and count.

CuPy wraps the operation in a loop over the elements and in classes for arrays. Here the loop is the
same, 128 threads a block as CuPy launches it, and the arrays are pointers.
"""

from __future__ import annotations

import textwrap

import numpy as np

from .arguments import _host_array
from .sources import Source

_C_NAMES = {
    "?": "bool", "b": "signed char", "B": "unsigned char", "h": "short", "H": "unsigned short",
    "i": "int", "I": "unsigned int", "l": "long long", "L": "unsigned long long",
    "q": "long long", "Q": "unsigned long long", "f": "float", "d": "double",
}  # fmt: skip
_RAW = """template <class T> struct RawArray {
    T* values;
    long long length;
    __device__ long long size() const { return length; }
    template <class I> __device__ T& operator[](I i) const { return values[i]; }
};
"""
BLOCK = 128


def as_launch(kernel: object, args: object) -> tuple | None:
    """Source, grid, block and arguments of an ElementwiseKernel's call; None for other kernels."""
    if not all(hasattr(kernel, name) for name in ("operation", "in_params", "out_params")):
        return None
    inputs, outputs = list(kernel.in_params), list(kernel.out_params)
    values = list(args)
    if len(values) not in (len(inputs), len(inputs) + len(outputs)):
        raise TypeError(
            f"{kernel.name} takes {len(inputs)} inputs and {len(outputs)} outputs; {len(values)} "
            "arguments were given"
        )
    hosts = [found[0] if (found := _host_array(value)) else value for value in values]
    types: dict[str, np.dtype] = {}
    pairs = list(zip([*inputs, *outputs], hosts))
    for parameter, value in sorted(pairs, key=lambda pair: not isinstance(pair[1], np.ndarray)):
        if parameter.dtype is None:  # an array's type counts more than a number's
            types.setdefault(parameter.ctype, np.asarray(value).dtype)

    def dtype_of(parameter: object) -> np.dtype:
        return np.dtype(parameter.dtype if parameter.dtype is not None else types[parameter.ctype])

    whole = [
        value.shape for parameter, value in pairs
        if isinstance(value, np.ndarray) and not parameter.raw
    ]  # fmt: skip
    if not whole:
        raise TypeError(f"{kernel.name}: inspect needs an array that is not raw, for the size")
    shape = np.broadcast_shapes(*whole)
    parameters, names, launch, unwritten = [], [], [], []
    for k, parameter in enumerate([*inputs, *outputs]):
        dtype, name = dtype_of(parameter), parameter.name
        kind = _C_NAMES[dtype.char]
        const = "const " if k < len(inputs) else ""
        value = hosts[k] if k < len(hosts) else None
        if value is None:
            value = np.zeros(shape, dtype)
            unwritten.append(name)
        if not isinstance(value, np.ndarray):
            parameters.append(f"{const}{kind} {name}")
            launch.append(dtype.type(value))
        elif parameter.raw:
            parameters += [f"{const}{kind}* _raw_{name}", f"long long _size_{name}"]
            names.append(f"const RawArray<{const}{kind}> {name} = {{_raw_{name}, _size_{name}}};")
            launch += [np.ascontiguousarray(value, dtype), np.int64(value.size)]
        else:
            parameters.append(f"{const}{kind}* _raw_{name}")
            names.append(f"{const}{kind}& {name} = _raw_{name}[i];")
            launch.append(np.ascontiguousarray(np.broadcast_to(value, shape), dtype))
    count = int(np.prod(shape))
    typedefs = "".join(f"typedef {_C_NAMES[of.char]} {name};\n" for name, of in types.items())
    body = textwrap.indent("\n".join(names) + f"\n{kernel.operation.strip()}\n;", " " * 8)
    code = (
        f"{_RAW if any(p.raw for p in [*inputs, *outputs]) else ''}{typedefs}"
        f"{getattr(kernel, 'preamble', '') or ''}\n"
        f'extern "C" __global__ void {kernel.name}({", ".join(parameters)}, long long _n) {{\n'
        "    long long start = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    for (long long i = start; i < _n; i += (long long)gridDim.x * blockDim.x) {\n"
        f"{body}\n    }}\n}}\n"
    )
    blocks = max(1, -(-count // BLOCK))
    return Source(code, kernel.name), (blocks,), (BLOCK,), [*launch, np.int64(count)], unwritten
