"""Variants on a GPU: each launch is checked, and timed by the GPU's own clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import backend
from ..errors import message
from .variant import Case, Failure, Tuned

SAMPLES = 7  # of each variant, right after its check
FINAL_ROUNDS = 21  # then of the fastest, one after another in turns
WARM_UP = 2


class Gpu:
    """The GPU, with the cases' arrays in its memory.

    Before every launch the arrays are restored, and before a timed one the caches are filled with
    other data.
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cupy = cupy = backend.find_cupy()
        self._cases = cases
        self._given = [[cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in case.args]
                       for case in cases]
        self._work = [[cupy.empty_like(a) if isinstance(a, cupy.ndarray) else a for a in args]
                      for args in self._given]
        cache = cupy.cuda.Device().attributes.get("L2CacheSize") or 2**22
        self._other = cupy.zeros(max(4 * cache, 2**22) // 4, cupy.float32)
        self._sum = cupy.zeros((), cupy.float32)
        self._events = cupy.cuda.Event(), cupy.cuda.Event()

    def _restore(self, case: int, only: int | None = None) -> list:
        """The arguments of a case, its arrays (or only one of them) as they were given."""
        given, work = self._given[case], self._work[case]
        for number in range(len(given)) if only is None else (only,):
            if isinstance(work[number], self._cupy.ndarray):
                self._cupy.copyto(work[number], given[number])
        return work

    def check(self, tuned: Tuned) -> None:
        """Launch it once on each case and compare; a Failure where something is wrong with it."""
        for k, case in enumerate(self._cases):
            args = self._restore(k)
            try:
                tuned(*args)
            except Exception as error:
                raise Failure("launch", message(error).split("\n")[0]) from error
            case.check(args[case.out])

    def sample(self, tuned: Tuned) -> float:
        """Seconds of one launch on the inputs as given, with other data in the caches."""
        cupy, (before, behind) = self._cupy, self._events
        args = self._restore(-1, self._cases[-1].out)
        # Also keeps the device busy while the host prepares the launch: no gap is measured.
        cupy.sum(self._other, out=self._sum)
        before.record()
        tuned(*args)
        behind.record()
        behind.synchronize()
        return cupy.cuda.get_elapsed_time(before, behind) / 1e3

    def samples(self, tuned: Tuned) -> list[float]:
        """Several samples after a warm-up."""
        return [self.sample(tuned) for _ in range(WARM_UP + SAMPLES)][WARM_UP:]

    def finals(self, finalists: Sequence[Tuned]) -> list[list]:
        """Samples of each, taken in turns so that what changes meanwhile changes all."""
        taken: list[list[float]] = [[] for _ in finalists]
        for round_ in range(FINAL_ROUNDS):
            for k in range(len(finalists)):
                which = (k + round_) % len(finalists)  # no one is always behind the same other
                taken[which].append(self.sample(finalists[which]))
        return taken
