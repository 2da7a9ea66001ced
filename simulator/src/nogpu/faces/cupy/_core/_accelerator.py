"""Which libraries speed up routines and reductions: settings that are kept, and change nothing."""

from __future__ import annotations

from collections.abc import Iterable

ACCELERATOR_CUB, ACCELERATOR_CUTENSOR, ACCELERATOR_CUTENSORNET = 1, 2, 3
_NAMES = {"cub": 1, "cutensor": 2, "cutensornet": 3}
_routine, _reduction = [ACCELERATOR_CUB], [ACCELERATOR_CUB]


def _numbers(accelerators: Iterable[str | int]) -> list[int]:
    found = []
    for accelerator in accelerators:
        number = _NAMES.get(accelerator, accelerator)
        if number not in _NAMES.values():
            raise ValueError(f"Unknown accelerator: {accelerator}")
        found.append(number)
    return found


def set_routine_accelerators(accelerators: Iterable[str | int]) -> None:
    """Choose the libraries behind routines."""
    _routine[:] = _numbers(accelerators)


def get_routine_accelerators() -> list[int]:
    """The libraries behind routines, by number."""
    return list(_routine)


def set_reduction_accelerators(accelerators: Iterable[str | int]) -> None:
    """Choose the libraries behind reductions."""
    _reduction[:] = _numbers(accelerators)


def get_reduction_accelerators() -> list[int]:
    """The libraries behind reductions, by number."""
    return list(_reduction)
