"""Random calls beside NumPy: where nogpu and NumPy differ, CuPy on a GPU differs, too."""

import json
from pathlib import Path

import numpy as np
import pytest
import random_cases
from machine import use_libraries

from nogpu import finder

use_libraries()
cp = pytest.importorskip("cupy")
if not finder.is_simulated(cp):
    pytest.skip("a GPU answers: CuPy is the real one", allow_module_level=True)

RECORDED = json.loads(Path(__file__).with_name("random_recorded.json").read_text("utf-8"))


@pytest.mark.parametrize("start", list(range(0, RECORDED["cases"], 50)))
def test_a_gpu_gives_the_same(start):
    for number in range(start, min(start + 50, RECORDED["cases"])):
        expected = RECORDED["differ"].get(str(number)) or random_cases.outcome(np, number)[0]
        found, message = random_cases.outcome(cp, number)
        same = random_cases.agree(expected, found)
        assert same != (str(number) in RECORDED["known"]), (
            random_cases.case(number), expected, found, message)


def _without_order(outcome):
    """Without the letter for how elements lie in memory: CuPy's results are in C order."""
    if isinstance(outcome, list) and outcome and isinstance(outcome[0], str):
        return [outcome[0].rstrip("CF-"), *map(_without_order, outcome[1:])]
    return list(map(_without_order, outcome)) if isinstance(outcome, list) else outcome


@pytest.mark.parametrize("start", list(range(1000, 4000, 500)))
def test_what_differs_from_numpy_is_known(start):
    """Calls that both compute give the same, but for the kinds that are listed."""
    unknown = []
    for number in range(start, start + 500):
        line = random_cases.case(number)[0]
        expected, found = (random_cases.outcome(xp, number)[0] for xp in (np, cp))
        if "raises" in (expected[0], found[0]) or line.startswith(KNOWN):
            continue
        if not random_cases.agree(_without_order(expected), _without_order(found)):
            unknown.append((number, line, expected, found))
    assert not unknown


# What CuPy does otherwise than NumPy, and nogpu as CuPy.
KNOWN = (
    "xp.allclose(", "xp.array_equal(", "bool(a)",  # arrays of one element in place of bool
    "xp.i0(", "xp.sinc(",  # the smallest float type for integers
    "a.astype(", "xp.concatenate([a, b], dtype",  # numbers out of range are brought to a limit
    "a[", "xp.percentile(", "xp.quantile(",  # indices wrap around; nan is the largest number
)  # fmt: skip
