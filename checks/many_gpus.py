"""The tasks about many GPUs. Where one GPU plays all devices, no wrong device is noticed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

import nogpu
from helpers.backend import is_simulated

from .machinery.stream_task import SHORT_WAIT, Hold, becomes_true, experiment, watch_for_waits
from .machinery.task import ExperimentTask, Refusal, Task, is_on_device, require_type
from .streams import StreamTask

speedup = Task(
    "speedup", lambda launch, work, count: max(launch, work) / (
        (count - 1) * launch + max(launch, work / count)),
    lambda: [(3.0, 90.0, 2), (4.0, 6.0, 2), (0.5, 64.0, 8), (3.0, 90.0, 1), (3, 1, 30)])


@functools.cache
def _streams() -> tuple[list[int], list[Any]]:
    import cupy as cp  # here, so that this module can be imported before helpers.start()

    devices, streams = [k % cp.cuda.runtime.getDeviceCount() for k in range(3)], []
    for device in devices:
        with cp.cuda.Device(device):
            streams.append(cp.cuda.Stream(non_blocking=True))
            Hold(streams[-1]).release()  # what is compiled and loaded now delays no experiment
    return devices, streams


def _run_relay(answer: Callable, held: tuple[int, int] | None, count: int) -> np.ndarray:
    """`held`: whose stream is held back, `first`'s (0) or `second`'s (1), and at which call."""
    import cupy as cp
    (devices, streams), calls, holds = _streams(), [0, 0], []
    with cp.cuda.Device(devices[0]), streams[0]:
        x = cp.zeros(500 if held else 1 << (22 if is_simulated(cp) else 26), np.float32)
    with cp.cuda.Device(devices[1]), streams[1]:
        y, got = cp.zeros(x.shape, np.float32), cp.zeros(count + 1)

    def work(which: int) -> None:
        if (cp.cuda.Device().id, cp.cuda.get_current_stream()) != (devices[which], streams[which]):
            raise Refusal(f"device {devices[which]} and streams[{which}] must be current.")
        if held == (which, calls[which]):
            holds.append(Hold(streams[which]))
        calls[which] += 1
        cp.copyto(got[min(calls[1], count)], y[-1]) if which else x.fill(calls[0])

    # Nothing held: long copies; and the simulator finds a missing event whatever the times were.
    with experiment(holds), nogpu.checks(order=not held):
        with watch_for_waits(holds):
            event = require_type(
                answer(*(functools.partial(work, k) for k in range(2)), x, y, streams[:2], count),
                cp.cuda.Event, "it must return an event (cupy.cuda.Event); it returned")
        if any(hold.python_waited for hold in holds):
            raise Refusal("Python waits in it. Let the streams wait for events.")
        ahead = min(count, held[1] + 2 * held[0]) if held else 0
        if held and not becomes_true(lambda: x.get(stream=streams[2])[0] >= ahead):
            raise Refusal("the next first() does not run, although x was copied before.")
        becomes_true(lambda: not held or streams[1 - held[0]].done, SHORT_WAIT)
        if held and event.done:
            raise Refusal(f"the event is done, but {('first', 'second')[held[0]]}() has not run.")
        for hold in holds:
            hold.release()
        try:
            return got.get(stream=streams[1])[1:]
        except nogpu.StreamRace as race:
            raise Refusal(f"values are wrong at other times: {race}") from race


hand_over = StreamTask(
    "hand_over", lambda held: np.ones(1), lambda: [((0, 0),), ((1, 0),), (None,)],
    run=lambda answer, held: _run_relay(lambda *given: answer(*given[:-1]), held, 1),
    signature=lambda first, second, x, y, streams: None)
relay = StreamTask(
    "relay", lambda held, count: np.arange(1.0, count + 1),
    lambda: [((1, 1), 4), ((0, 2), 4), ((1, 1), 2), ((0, 1), 2), (None, 1), (None, 0), (None, 3)],
    run=_run_relay, signature=lambda first, second, x, y, streams, count: None)


def _images(n: int) -> np.ndarray:
    return np.random.default_rng(n).uniform(0, 1, (n, 8, 8)).astype(np.float32)


def _logits(images: Any) -> Any:
    return images.reshape(len(images), 64)[:, 7:17] * 2


def _run_read_all(answer: Callable, n: int, count: int, held: int | None) -> np.ndarray:
    import cupy as cp

    devices, streams = (of_all[:count] for of_all in _streams())
    wanted = [len(part) for part in np.array_split(np.arange(n), count)]
    calls, holds, passed = [0] * count, [], []

    def read(k: int, x: Any) -> Any:
        if (cp.cuda.Device().id, cp.cuda.get_current_stream()) != (devices[k], streams[k]):
            raise Refusal(f"device {devices[k]} and its stream must be current for read[{k}].")
        if not is_on_device(x) or x.device.id != devices[k] or x.ndim != 3 or not len(x):
            raise Refusal(f"read[{k}] takes an array (n, 8, 8) of device {devices[k]}, n > 0.")
        if any(event.done for event in passed):  # however the wait for the held stream ended
            raise Refusal(f"Python waits when only {sum(map(bool, calls))} of the devices have got"
                          " work.")
        if k == held:
            holds.append(Hold(streams[k]))
            passed.append(streams[k].record())
        calls[k] += len(x)
        return _logits(x)

    # The simulator's pool waits before it gives memory out again.
    pool = cp.cuda.using_allocator(None) if is_simulated(cp) else nullcontext()
    with experiment(holds), pool, watch_for_waits(holds):
        digits = answer(_images(n), devices, streams,
                        [functools.partial(read, k) for k in range(count)])
    if calls != wanted and isinstance(digits, np.ndarray):
        raise Refusal(f"the devices read {calls} images, and not {wanted}.")
    return digits


read_all = StreamTask(  # with a hold, all parts take blocks of one size of the host's pinned pool
    "read_all", lambda n, count, held: _logits(_images(n)).argmax(axis=1),
    lambda: [(13, 2, 0), (16, 3, 1), (2, 3, None), (0, 2, None), (5, 1, None), (17, 3, None)],
    run=_run_read_all, signature=lambda images, devices, streams, read: None)


def _read_ring(steps: object, case: tuple) -> np.ndarray:
    """How often each device's numbers are in each piece of each device at the end."""
    (count,) = case
    have = np.zeros((count, count, count), int)  # device, piece, whose numbers
    have[np.arange(count), :, np.arange(count)] = 1
    if len(require_type(steps, list, "it must return a list; it returned")) != 2 * count - 2:
        raise Refusal(f"expected a list of {2 * count - 2} steps, got {len(steps)} steps.")
    for number, step in enumerate(steps):
        before = have.copy()
        if sorted(sender for sender, _, _ in step) != list(range(count)):
            raise Refusal(f"in step {number}, each device must send one piece.")
        for sender, piece, add in step:
            to = (sender + 1) % count
            have[to, piece] = before[sender, piece] + add * before[to, piece]
    return have


ring = Task(
    "ring", lambda count: np.ones((count,) * 3, int), read=_read_ring, right=lambda count: [
        [(k, (k - step) % count, step < count - 1) for k in range(count)]
        for step in range(2 * count - 2)], cases=lambda: [(4,), (2,), (3,), (1,), (7,)])


def _run_most_like(answer: Callable, blocks: tuple[int, ...]) -> np.ndarray:
    import dask.array

    seen, came = [], []

    def read(block: Any) -> np.ndarray:
        seen.extend([len(block)] * bool(len(block)))  # Dask also asks with an empty block
        return _logits(block)

    def get(graph: Any, keys: Any, **options: Any) -> Any:
        values = dask.get(graph, keys, **options)
        came.extend(np.asarray(value).nbytes for value in dask.core.flatten(values))
        return values

    with dask.config.set(scheduler=get):
        found = answer(dask.array.from_array(_images(sum(blocks)), chunks=(blocks, 8, 8)), read)
    if sorted(seen) != sorted(blocks) and isinstance(found, np.ndarray):
        raise Refusal(f"read got arrays of {seen} images, and not each block once.")
    if sum(came) > 160 * len(blocks):
        raise Refusal(f"{sum(came):,} bytes came to the client, not 20 numbers of each block.")
    return found


most_like = ExperimentTask(
    "most_like", lambda blocks: _logits(_images(sum(blocks))).argmax(axis=0),
    lambda: [((40, 40, 40),), ((50, 30, 7),), ((3,),), ((1, 2, 1, 4),)],
    run=_run_most_like, signature=lambda images, read: None)
