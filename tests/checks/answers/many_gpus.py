"""Right answers besides the solution, and wrong ones that are no known mistake."""

import helpers

helpers.start()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402


def shares_by_divmod(n, count):
    size, longer = divmod(n, count)
    ends = np.cumsum([0] + [size + (k < longer) for k in range(count)]).tolist()
    return list(zip(ends, ends[1:]))


def shares_by_ends(n, count):
    """Where part k ends: after k whole parts, and one more for each longer one."""
    ends = [k * (n // count) + min(k, n % count) for k in range(count + 1)]
    return [[ends[k], ends[k + 1]] for k in range(count)]


def shares_rounded_up(n, count):
    size = -(-n // count)
    return [(min(n, k * size), min(n, (k + 1) * size)) for k in range(count)]


def bytes_by_steps(count, n):
    return (2 * count - 2) * n // count


def bytes_of_two_arrays(count, n):
    """Two arrays, without the pieces that need not be sent."""
    return 2 * (n - n // count)


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


def count_by_two_maps(images, read):
    digits = images.map_blocks(lambda block: read(block).argmax(axis=1), drop_axis=(1, 2),
                               dtype=np.int64)
    counts = digits.map_blocks(lambda block: np.bincount(block, minlength=10), dtype=np.int64,
                               chunks=((10,) * digits.numblocks[0],))
    return np.asarray(counts).reshape(-1, 10).sum(axis=0)


def count_by_delayed(images, read):
    """Each block as an object of its own, added up by Dask."""
    import dask

    parts = [dask.delayed(lambda block: np.bincount(read(block).argmax(axis=1), minlength=10))(one)
             for one in images.to_delayed().ravel()]
    return dask.delayed(sum)(parts).compute()


def count_here(images, read):
    return np.bincount(read(images.compute()).argmax(axis=1), minlength=10)


def count_logits(images, read):
    logits = images.map_blocks(read, drop_axis=2, chunks=(images.chunks[0], (10,)), dtype="f4")
    return np.bincount(logits.compute().argmax(axis=1), minlength=10)


def count_together(images, read):
    return count_by_two_maps(images.rechunk((len(images), 8, 8)), read)


def count_first(images, read):
    return count_by_two_maps(images.blocks[:1], read)


def count_without_minlength(images, read):
    counts = images.map_blocks(lambda block: np.bincount(read(block).argmax(axis=1)),
                               drop_axis=(1, 2), dtype=np.int64)
    return counts.compute()


RIGHT = {
    "shares": [shares_by_divmod, shares_by_ends],
    "ring_bytes": [bytes_by_steps, bytes_of_two_arrays],
    "read_all": [read_all_by_events, read_all_of()],
    "ring": [ring_by_holding, ring_from_the_last_piece],
    "count_digits": [count_by_two_maps, count_by_delayed],
}
WRONG = {
    "shares": [
        (shares_rounded_up, "of the tuple"),
        (lambda n, count: [(0, n)] * count, "of the tuple"),
    ],
    "ring_bytes": [(lambda count, n: 2 * count * n // count, "expected 1200"),
                   (lambda count, n: 2 * (count - 1), "expected 1200")],
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
        (ring_of(piece=lambda k, step, count: k), "values are wrong"),
        (ring_of(piece=lambda k, step, count: step % count), "values are wrong"),
        (ring_of(adds=lambda step, count: step < count), "values are wrong"),
        (ring_of(adds=lambda step, count: False), "values are wrong"),
        (lambda count: iter([]), "a list of 6 steps"),
    ],
    "count_digits": [
        (count_here, "not each block once"),
        (count_logits, "bytes came to the client"),
        (count_together, "not each block once"),
        (count_first, "not each block once"),
        (count_without_minlength, "expected shape (10,)"),
    ],
}


def some_shares(rng):
    return int(rng.integers(0, 200)), int(rng.integers(1, 20))


def some_ring(rng):
    count = int(rng.integers(1, 20))
    return count, count * int(rng.integers(1, 500))


def some_batch(rng):
    n, count = int(rng.integers(0, 30)), int(rng.integers(1, 4))
    return n, count, None


def some_blocks(rng):
    return (tuple(rng.integers(1, 12, rng.integers(1, 5)).tolist()),)


INPUTS = {"shares": some_shares, "ring_bytes": some_ring, "read_all": some_batch,
          "ring": lambda rng: (int(rng.integers(1, 30)),), "count_digits": some_blocks}
