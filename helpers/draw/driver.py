"""The CUDA driver's picture of a program: context, module, function, memory."""

from __future__ import annotations

import re

import numpy as np
from matplotlib.axes import Axes

from .gpu import _canvas
from .style import FAINT, INK, SHADES, box, show, style

KERNEL = re.compile(r"__global__\s+void\s+(\w+)")
VARIABLE = re.compile(r"__(?:constant|device)__\s+[\w ]+?\s+\**(\w+)\s*(\[[^\]]*\])?\s*[;={]")
MOST = 3  # functions, variables and arrays that find room


def driver(source: str, **arrays: np.ndarray) -> None:
    """Draw what becomes of CUDA source and of arrays on the device, and print the same facts.

    Parameters
    ----------
    source : str
        CUDA C++ with kernels, perhaps with `__constant__` variables.
    arrays
        NumPy arrays that kernels will work on, by name.

    Raises
    ------
    ValueError
        For source without a kernel, and for more than three kernels, variables or arrays.
    """
    functions = KERNEL.findall(source)
    variables = [name + size for name, size in VARIABLE.findall(source)]
    if not functions:
        raise ValueError("draw.driver(): there is no `__global__ void` in the source.")
    for what, names in (("kernels", functions), ("variables", variables), ("arrays", [*arrays])):
        if len(names) > MOST:
            raise ValueError(f"draw.driver() has room for {MOST} {what}, not {len(names)}:"
                             f" {', '.join(names)}.")
    lines = len(source.strip("\n").split("\n"))
    inside = [(name, SHADES[0]) for name in functions] + [(name, SHADES[1]) for name in variables]
    with style():
        axes = _canvas(7.6, 2.9, 20, 7.7)
        axes.text(0, 0.45, "host: the Python process", fontsize=9, va="center")
        box(axes, 0, 0.9, 4.2, 1.3, f"source: {lines} lines\nof text", SHADES[4])
        _arrow(axes, (2.1, 2.2), (2.1, 3.2))
        axes.text(2.3, 2.7, "nvcc", fontsize=9, va="center", style="italic")
        box(axes, 0, 3.2, 4.2, 1.3, "machine code\n(kept on disk)", SHADES[4])
        _arrow(axes, (4.2, 3.85), (8.3, 2.6))
        axes.text(5.3, 2.7, "load", fontsize=9, style="italic")
        box(axes, 7.3, 0.1, 12.6, 7.4)
        axes.text(7.6, 0.55, "context: the process's place on the device", fontsize=9, va="center")
        box(axes, 8.3, 1, 11, 2.6, edgecolor=FAINT)
        axes.text(8.6, 1.45, "module", fontsize=9, va="center")
        width = min(3.3, 10.4 / len(inside) - 0.2)
        for k, (name, shade) in enumerate(inside):
            kind = "function" if k < len(functions) else "variable"
            box(axes, 8.6 + k * (width + 0.2), 1.9, width, 1.4, f"{kind}\n{name}", shade)
        box(axes, 8.3, 4.1, 11, 3, edgecolor=FAINT)
        axes.text(8.6, 4.55, "memory", fontsize=9, va="center")
        width = min(4.2, 10.4 / max(1, len(arrays)) - 0.2)
        for k, x in enumerate(arrays.values()):
            box(axes, 8.6 + k * (width + 0.2), 5, width, 1.7, f"{x.nbytes:,} bytes\nat an address",
                SHADES[2])
        if arrays:
            box(axes, 0, 5.2, 4.2, 1.3, f"array{'s' * (len(arrays) > 1)} {', '.join(arrays)}",
                SHADES[2])
            _arrow(axes, (4.2, 5.85), (8.6, 5.85), "<|-|>")
            axes.text(5.1, 5.55, "copy", fontsize=9, style="italic")
        show("The driver's view of a program", "\n".join([
            f"source, {lines} lines -> nvcc -> machine code -> module with function"
            f" {', '.join(functions)}" + f" and variable {', '.join(variables)}" * bool(variables),
            *(f"array {name} -> copy -> memory, {x.nbytes:,} bytes at an address"
              for name, x in arrays.items()),
            "module and memory belong to a context"]))


def _arrow(axes: Axes, start: tuple, end: tuple, kind: str = "-|>") -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": kind, "color": INK, "linewidth": 0.9})
