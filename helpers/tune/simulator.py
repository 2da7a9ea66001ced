"""Variants on the simulator: every check is on, and a launch's counters are what ranks them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np

from ..inspection import inspect
from .variant import Case, Failure, Generated, compiler_error, on_all_cores

TIME_LIMIT = 10.0  # seconds that a launch may take


def run(generated: Generated, cases: Sequence[Case]) -> dict[str, int]:
    """Launch a variant on each case; return what the last launch asked of memory ({} of none).

    Raises
    ------
    Failure
        For a fault, a launch that a device would refuse, a wrong result.
    """
    from nogpu import engine

    # What `inspect` needs to know of a kernel.
    kernel = SimpleNamespace(code=_source(generated), name=generated.name, backend="nvcc",
                             options=tuple(generated.options))
    counts = {}
    for case in cases:
        try:
            grid, block = generated.launch_shape(case.args)
        except Exception as error:
            raise Failure("launch", str(error)) from error
        try:
            report = inspect(kernel, grid, block, case.args, time_limit=TIME_LIMIT)
        except engine.InvalidLaunch as error:
            raise Failure("launch", str(error)) from error
        except engine.CompileError as error:  # another compiler may have accepted it
            raise Failure("compile", compiler_error(error, generated)) from error
        if isinstance(report.fault, engine.KernelTimeout):
            raise Failure("endless", f"stopped after {TIME_LIMIT:g} s")
        if report.fault is not None:
            raise Failure("fault", f"line {report.fault.line}: {report.fault_sentence()}")
        arrays = [k for k, arg in enumerate(case.args) if isinstance(arg, np.ndarray)]
        case.check(dict(zip(arrays, report.arrays.values()))[case.out])
        counts = report.counts.as_dict()
    return counts


def compile_ahead(variants: Sequence[Generated]) -> None:
    """Let the host's compiler work on all cores; the engine finds what it makes in its cache."""
    from nogpu import engine

    def compile_one(generated: Generated) -> None:
        module = engine.compile(_source(generated), generated.options, dialect="nvcc")
        module.build(True, counted=True)

    on_all_cores(compile_one, variants)


def _source(generated: Generated) -> str:
    """The variant's text in extern "C", as PyCUDA puts it there, with its lines as they are."""
    return f'extern "C" {{ {generated.source}\n}}\n'
