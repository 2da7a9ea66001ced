"""What the device and the compiler are like."""

from __future__ import annotations

import struct

import numpy as np


def platform_bits() -> int:
    """Bits of a pointer."""
    return struct.calcsize("P") * 8


def has_stack() -> bool:
    """Whether functions can call themselves."""
    return True


def has_double_support() -> bool:
    """Whether there are numbers of 64 bits."""
    return True


def sizeof(type_name: str, preamble: str = "") -> int:
    """Bytes of a type, which the compiler is asked."""
    from pycuda import driver
    from pycuda.compiler import SourceModule

    module = SourceModule(
        f"{preamble}\nextern \"C\" __global__ void write_size(size_t* output)"
        f"\n{{ *output = sizeof({type_name}); }}\n", no_extern_c=True)
    output = np.zeros(1, np.uintp)
    module.get_function("write_size")(driver.Out(output), block=(1, 1, 1), grid=(1, 1))
    return int(output[0])
