"""Which libraries speed up routines and reductions: settings that are kept, and change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from nogpu.faces import table

ACCELERATOR_CUB, ACCELERATOR_CUTENSOR, ACCELERATOR_CUTENSORNET = 1, 2, 3
_NAMES = {"cub": 1, "cutensor": 2, "cutensornet": 3}
_chosen = {"routine": [ACCELERATOR_CUB], "reduction": [ACCELERATOR_CUB]}


def _numbers(accelerators: Iterable[str | int]) -> list[int]:
    found = []
    for accelerator in accelerators:
        number = _NAMES.get(accelerator, accelerator)
        if number not in _NAMES.values():
            raise ValueError(f"Unknown accelerator: {accelerator}")
        found.append(number)
    return found


def _setting(name: str) -> Callable:
    verb, what, _ = name.split("_")

    def get() -> list[int]:
        return list(_chosen[what])

    def choose(accelerators: Iterable[str | int]) -> None:
        _chosen[what] = _numbers(accelerators)

    return get if verb == "get" else choose


table.functions(globals(), _setting, """
set_routine_accelerators(accelerators: Iterable[str | int]) -> None:
    Choose the libraries behind routines.
get_routine_accelerators() -> list[int]: The libraries behind routines, by number.
set_reduction_accelerators(accelerators: Iterable[str | int]) -> None:
    Choose the libraries behind reductions.
get_reduction_accelerators() -> list[int]: The libraries behind reductions, by number.
""")
