"""Timing a function on the host and on the device."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from cupy import cuda


class _PerfCaseResult:
    """The times of a function's calls."""

    def __init__(self, name: str, ts: np.ndarray, devices: tuple[int, ...]) -> None:
        self.name, self._ts, self._devices = name, ts, devices

    @property
    def cpu_times(self) -> np.ndarray:
        return self._ts[0]

    @property
    def gpu_times(self) -> np.ndarray:
        return self._ts[1:]

    @staticmethod
    def _to_str_per_item(device_name: str, t: np.ndarray) -> str:
        micro = t * 1e6
        text = f"    {device_name}: {micro.mean():9.03f} us"
        if t.size > 1:
            text += f"   +/- {micro.std():6.03f} "
            text += f"(min: {micro.min():9.03f} / max: {micro.max():9.03f}) us"
        return text

    def to_str(self, show_gpu: bool = False) -> str:
        """One line: the name, then the host's and the devices' times."""
        parts = [self._to_str_per_item("CPU", self.cpu_times)]
        if show_gpu:
            parts += [
                self._to_str_per_item(f"GPU-{device}", times)
                for device, times in zip(self._devices, self.gpu_times)
            ]
        return f"{self.name:<20s}:{' '.join(parts)}"

    def __str__(self) -> str:
        return self.to_str(show_gpu=True)


def benchmark(
    func: Callable, args: tuple = (), kwargs: dict | None = None, n_repeat: int = 10000, *,
    name: str | None = None, n_warmup: int = 10, max_duration: float = math.inf,
    devices: tuple[int, ...] | None = None,
) -> _PerfCaseResult:  # fmt: skip
    """Time ``func(*args, **kwargs)`` on the host and on the device.

    On the simulator "GPU" is the time in which its threads had done the work.
    """
    kwargs = {} if kwargs is None else kwargs
    if name is None:
        name = func.__name__
    if devices is None:
        devices = (cuda.get_device_id(),)
    for wrong, message in (
        (not callable(func), "`func` should be a callable object."),
        (not isinstance(args, tuple), "`args` should be of tuple type."),
        (not isinstance(kwargs, dict), "`kwargs` should be of dict type."),
        (not isinstance(n_repeat, int), "`n_repeat` should be an integer."),
        (not isinstance(name, str), "`name` should be a string."),
        (not isinstance(n_warmup, int), "`n_warmup` should be an integer."),
        (not np.isreal(max_duration), "`max_duration` should be given in seconds"),
        (not isinstance(devices, tuple), "`devices` should be of tuple type"),
    ):
        if wrong:
            raise ValueError(message)
    return _repeat(func, args, kwargs, n_repeat, name, n_warmup, max_duration, devices)


def _repeat(func, args, kwargs, n_repeat, name, n_warmup, max_duration, devices):
    pairs = []
    for device in devices:
        with cuda.Device(device):
            pairs.append((cuda.Event(), cuda.Event()))

    def record(which: int) -> None:
        for device, pair in zip(devices, pairs):
            with cuda.Device(device):
                pair[which].record()

    for _ in range(n_warmup):
        func(*args, **kwargs)
    record(0)
    for first, _ in pairs:
        first.synchronize()
    cpu_times, gpu_times, spent = [], [[] for _ in pairs], 0.0
    for _ in range(n_repeat):
        record(0)
        begin = time.perf_counter()
        func(*args, **kwargs)
        cpu_times.append(time.perf_counter() - begin)
        record(1)
        for (first, last), times in zip(pairs, gpu_times):
            last.synchronize()
            times.append(cuda.get_elapsed_time(first, last) * 1e-3)
        spent += time.perf_counter() - begin
        if spent > max_duration:
            break
    return _PerfCaseResult(name, np.asarray([cpu_times, *gpu_times], np.float64), devices)
