"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402


def hand_over_by_an_event(first, second, x, y, streams):
    with x.device, streams[0]:
        first()
        written = streams[0].record()
    with y.device, streams[1]:
        streams[1].wait_event(written)
        y[...] = x
        second()
        return streams[1].record()


def hand_over_of(recorded="after", waits="before", stream=1, device=True, python=False,
                 pushed=False, early=False):
    """The event is recorded before or after `first`; the wait is before or after the copy."""
    def hand_over(first, second, x, y, streams):
        with cp.cuda.Device(0), streams[0]:
            written = streams[0].record() if recorded == "before" else None
            first()
            if pushed:
                y[...] = x
            written = streams[0].record() if recorded == "after" else written
            if python:
                streams[0].synchronize()
        with cp.cuda.Device(1 if device else 0), streams[1]:
            if waits == "before":
                streams[stream].wait_event(written)
            if not pushed:
                y[...] = x
            if waits == "after":
                streams[1].wait_event(written)
            second()
            return written if early else streams[1].record()

    return hand_over


def hand_over_without_copy(first, second, x, y, streams):
    with cp.cuda.Device(0), streams[0]:
        first()
        written = streams[0].record()
    with cp.cuda.Device(1), streams[1]:
        streams[1].wait_event(written)
        second()
        return streams[1].record()


def hand_over_recorded_there(first, second, x, y, streams):
    with cp.cuda.Device(0), streams[0]:
        first()
    with cp.cuda.Device(1), streams[1]:
        streams[1].wait_event(streams[0].record())
        y[...] = x
        second()
        return streams[1].record()


def speedup_step_by_step(launch, work, count):
    """When each device is done, if Python launches one after the other."""
    def until(devices):
        return max(k * launch + max(launch, work / devices) for k in range(devices))

    return until(1) / until(count)


def speedup_by_cases(launch, work, count):
    one = work if work > launch else launch
    if work / count < launch:
        return one / (count * launch)
    return one / ((count - 1) * launch + work / count)


def read_all_by_events(images, devices, streams, read):
    """Copies in first, then all readers; one stream of the caller's waits for all."""
    parts, jobs = np.array_split(images, len(devices)), []
    for device, stream, part in zip(devices, streams, parts):
        with cp.cuda.Device(device), stream:
            jobs.append(cp.asarray(part))
    for k, x in enumerate(jobs):
        with cp.cuda.Device(devices[k]), streams[k]:
            jobs[k] = read[k](x).argmax(axis=1) if len(x) else np.empty(0, np.int64)
    for stream in streams:
        stream.synchronize()
    return np.concatenate([job if isinstance(job, np.ndarray) else job.get() for job in jobs])


def read_all_of(waits=False, ordered=True, device=True, stream=True, there=True, turned=False,
                empty=False, rest=True, joined=True, cut=np.array_split):
    def read_all(images, devices, streams, read):
        queued, parts = [], cut(images, len(devices))
        if not rest:
            parts = [part[:len(parts[-1])] for part in parts]
        for k, part in enumerate(parts):
            if not len(part) and not empty:
                continue
            with cp.cuda.Device(devices[k if there else 0]):
                x = cp.asarray(part)
            with (cp.cuda.Device(devices[k if device else 0]),
                  streams[k if device else 0] if stream else cp.cuda.Stream.null):
                cp.cuda.Device().synchronize() if not stream else None
                answer = read[k](cp.asarray(part) if there else x).argmax(axis=1)
                queued.append((k, answer.get() if waits else answer))
        digits = []
        for k, answer in reversed(queued) if turned else queued:
            with cp.cuda.Device(devices[k]), streams[k] if ordered else cp.cuda.Stream.null:
                digits.append(answer if waits else answer.get())
        return np.concatenate([np.empty(0, np.int64)] * joined + digits)

    return read_all


def read_all_on_the_first(images, devices, streams, read):
    with cp.cuda.Device(devices[0]), streams[0]:
        return read[0](cp.asarray(images)).argmax(axis=1).get()


def relay_of(written="after", copied="after", waits=True, late=False, python=False, early=False):
    """The two events of each batch: of `first` and of the copy."""
    def relay(first, second, x, y, streams, count):
        read = None
        for _ in range(count):
            with cp.cuda.Device(0), streams[0]:
                if read is not None and waits and not late:
                    streams[0].wait_event(read)
                ready = streams[0].record() if written == "before" else None
                first()
                if read is not None and late:
                    streams[0].wait_event(read)
                ready = streams[0].record() if written == "after" else ready
                if python:
                    streams[0].synchronize()
            with cp.cuda.Device(1), streams[1]:
                if ready is not None:
                    streams[1].wait_event(ready)
                read = streams[1].record() if copied == "before" else None
                y[...] = x
                read = streams[1].record() if copied == "after" else read
                second()
                read = streams[1].record() if copied == "last" else read
        with cp.cuda.Device(1):
            return read if early and read else streams[1].record()

    return relay


def relay_with_two_events(first, second, x, y, streams, count):
    """The same two events again and again. To wait for one that was never recorded does nothing."""
    with cp.cuda.Device(0):
        written = cp.cuda.Event(disable_timing=True)
    with cp.cuda.Device(1):
        copied = cp.cuda.Event(disable_timing=True)
    for _ in range(count):
        with cp.cuda.Device(0), streams[0]:
            streams[0].wait_event(copied)
            first()
            written.record(streams[0])
        with cp.cuda.Device(1), streams[1]:
            streams[1].wait_event(written)
            y[...] = x
            copied.record(streams[1])
            second()
    with cp.cuda.Device(1):
        return streams[1].record()


def relay_pushed(first, second, x, y, streams, count):
    """Device 0 makes the copy, after `second` has read the batch before."""
    read = None
    for _ in range(count):
        with cp.cuda.Device(0), streams[0]:
            first()
            if read is not None:
                streams[0].wait_event(read)
            y[...] = x
            copied = streams[0].record()
        with cp.cuda.Device(1), streams[1]:
            streams[1].wait_event(copied)
            second()
            read = streams[1].record()
    with cp.cuda.Device(1):
        return streams[1].record()


def relay_in_two_loops(first, second, x, y, streams, count):
    for _ in range(count):
        with cp.cuda.Device(0), streams[0]:
            first()
            written = streams[0].record()
    for _ in range(count):
        with cp.cuda.Device(1), streams[1]:
            streams[1].wait_event(written)
            y[...] = x
            second()
    with cp.cuda.Device(1):
        return streams[1].record()


def relay_on_the_first(first, second, x, y, streams, count):
    with cp.cuda.Device(0), streams[0]:
        for _ in range(count):
            first()
            y[...] = x
            second()
        return streams[0].record()
    with cp.cuda.Device(1):
        return streams[1].record()


def ring_by_holding(count):
    """What arrived last is sent on, step for step."""
    piece, steps = list(range(count)), []
    for step in range(2 * (count - 1)):
        steps.append([(k, piece[k], step + 1 < count) for k in range(count)])
        piece = piece[-1:] + piece[:-1]
    return steps


def ring_of(steps=lambda count: 2 * count - 2, adds=lambda step, count: step < count - 1,
            piece=lambda k, step, count: (k - step) % count, senders=lambda count: range(count)):
    return lambda count: [[(k, piece(k, step, count), adds(step, count)) for k in senders(count)]
                          for step in range(steps(count))]


def ring_from_the_last_piece(count):
    """Another first piece, and the senders in another order."""
    return [[(k, (k + 1 - step) % count, step < count - 1) for k in reversed(range(count))]
            for step in range(2 * count - 2)]


def like_by_delayed(images, read):
    """Each block as an object of its own; the client goes through their results."""
    import dask

    def of_block(block):
        logits = read(block)
        return logits.max(axis=0), logits.argmax(axis=0)

    found = dask.compute(*[dask.delayed(of_block)(one) for one in images.to_delayed().ravel()])
    begin, best, places = 0, np.full(10, -np.inf), np.zeros(10, np.int64)
    for (largest, place), length in zip(found, images.chunks[0]):
        better = largest > best
        best[better], places[better] = largest[better], begin + place[better]
        begin += length
    return places


def like_by_dask(images, read):
    """Dask's own `argmax` of the logits, which stay in their blocks."""
    logits = images.map_blocks(read, drop_axis=2, chunks=(images.chunks[0], (10,)), dtype="f4")
    return logits.argmax(axis=0).compute()


def like_of(offsets=lambda sizes: np.cumsum((0, *sizes)),
            choose=np.argmax, compute=lambda array: array):
    def most_like(images, read):
        def of_block(block):
            logits = read(block)
            return np.concatenate([logits.max(axis=0), logits.argmax(axis=0)])

        images = compute(images)
        found = images.map_blocks(of_block, drop_axis=(1, 2), dtype=float,
                                  chunks=((20,) * images.numblocks[0],))
        largest, place = found.compute().reshape(-1, 2, 10).swapaxes(0, 1)
        block = choose(largest, axis=0)
        begins = offsets(images.chunks[0])
        return begins[block] + place[block, np.arange(10)].astype(int)

    return most_like


def like_here(images, read):
    return read(images.compute()).argmax(axis=0)


def like_by_logits(images, read):
    logits = images.map_blocks(read, drop_axis=2, chunks=(images.chunks[0], (10,)), dtype="f4")
    return logits.compute().argmax(axis=0)


def like_without_logits(images, read):
    """The places of each block, without the logits that choose between blocks."""
    places = images.map_blocks(lambda block: read(block).argmax(axis=0), drop_axis=(1, 2),
                               dtype=int, chunks=((10,) * images.numblocks[0],))
    return places.compute().reshape(-1, 10).max(axis=0)


RIGHT = {
    "hand_over": [hand_over_by_an_event, hand_over_of(pushed=True)],
    "speedup": [speedup_step_by_step, speedup_by_cases],
    "read_all": [read_all_by_events, read_all_of()],
    "relay": [relay_with_two_events, relay_pushed],
    "ring": [ring_by_holding, ring_from_the_last_piece],
    "most_like": [like_by_delayed, like_by_dask],
}
WRONG = {
    "hand_over": [
        (hand_over_of(waits=None), "first() has not run"),
        (hand_over_of(recorded="before"), "first() has not run"),
        (hand_over_of(waits="after"), "values are wrong"),
        (hand_over_of(pushed=True, waits=None), "first() has not run"),
        (hand_over_of(stream=0), "first() has not run"),
        (hand_over_of(early=True), "second() has not run"),
        (hand_over_of(device=False), "does not match"),
        (hand_over_of(python=True), "Python waits"),
        (hand_over_without_copy, "values are wrong"),
        (hand_over_recorded_there, "invalid resource handle"),
    ],
    "speedup": [
        (lambda launch, work, count: max(launch, work) / max(launch, work / count), "expected"),
        (lambda launch, work, count: max(launch, work) / (count * launch + work / count),
         "expected"),
        (lambda launch, work, count: work / ((count - 1) * launch + work / count), "expected"),
        (lambda launch, work, count: max(launch, work) / ((count - 1) * launch + work / count),
         "expected"),
        (lambda launch, work, count: max(launch, work) / max(count * launch, work / count),
         "expected"),
        (lambda launch, work, count: float(count), "expected"),
        (lambda launch, work, count: ((count - 1) * launch + max(launch, work / count))
         / max(launch, work), "expected"),
    ],
    "relay": [
        (relay_of(waits=False), "values are wrong"),
        (relay_of(written=None), "for held="),
        (relay_of(written="before"), "values are wrong"),
        (relay_of(early=True), "second() has not run"),
        (relay_of(copied="before"), "values are wrong"),
        (relay_of(late=True), "values are wrong"),
        (relay_of(copied="last"), "the next first() does not run"),
        (relay_of(python=True), "Python waits"),
        (relay_in_two_loops, "values are wrong"),
        (relay_on_the_first, "must be current"),
    ],
    "read_all": [
        (read_all_of(waits=True), "Python waits when only 1"),
        (read_all_of(ordered=False), "values are wrong"),
        (read_all_of(device=False), "must be current"),
        (read_all_of(stream=False), "must be current"),
        (read_all_of(there=False), "takes an array"),
        (read_all_of(turned=True), "values are wrong"),
        (read_all_of(empty=True), "n > 0"),
        (read_all_of(rest=False), "the devices read"),
        (read_all_of(joined=False), "at least one array"),
        (read_all_on_the_first, "the devices read"),
    ],
    "ring": [
        (ring_of(steps=lambda count: count - 1), "a list of 6 steps"),
        (ring_of(steps=lambda count: 2 * count), "a list of 6 steps"),
        (ring_of(senders=lambda count: range(count - 1)), "each device must send"),
        (ring_of(piece=lambda k, step, count: (k + step) % count), "values are wrong"),
        (ring_of(adds=lambda step, count: True), "values are wrong"),
        (ring_of(piece=lambda k, step, count: k), "values are wrong"),
        (ring_of(piece=lambda k, step, count: step % count), "values are wrong"),
        (ring_of(adds=lambda step, count: step < count), "values are wrong"),
        (ring_of(adds=lambda step, count: False), "values are wrong"),
        (lambda count: iter([]), "it must return a list"),
    ],
    "most_like": [
        (like_here, "not each block once"),
        (like_by_logits, "bytes came to the client"),
        (like_without_logits, "values are wrong"),
        (like_of(offsets=lambda sizes: np.zeros(len(sizes), int)), "values are wrong"),
        (like_of(offsets=lambda sizes: np.arange(len(sizes)) * sizes[0]), "values are wrong"),
        (like_of(offsets=np.cumsum), "values are wrong"),
        (like_of(choose=np.argmin), "values are wrong"),
        (like_of(compute=lambda images: images.rechunk((len(images), 8, 8))),
         "not each block once"),
        (like_of(compute=lambda images: images.blocks[:1]), "not each block once"),
    ],
}


def some_times(rng):
    return float(rng.uniform(0.1, 9)), float(rng.uniform(0.1, 300)), int(rng.integers(1, 20))


def some_relay(rng):
    return None, int(rng.integers(0, 9))


def some_batch(rng):
    n, count = int(rng.integers(0, 30)), int(rng.integers(1, 4))
    return n, count, None


def some_blocks(rng):
    return (tuple(rng.integers(1, 12, rng.integers(1, 5)).tolist()),)


INPUTS = {"hand_over": lambda rng: (None,), "speedup": some_times, "read_all": some_batch,
          "relay": some_relay, "ring": lambda rng: (int(rng.integers(1, 30)),),
          "most_like": some_blocks}
