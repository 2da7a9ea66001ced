"""Right answers besides the solution, and wrong ones that are no known mistake."""

import time

import helpers

helpers.start()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402

KEPT = []


def idle_by_rates(copy_in, kernel, copy_out):
    """The share of the copies, and the sum by the longest."""
    stages = np.array([copy_in, kernel, copy_out])
    return (copy_in + copy_out) / stages.sum(), 1 / (stages / stages.sum()).max()


def idle_as_a_list(copy_in, kernel, copy_out):
    total = copy_in + kernel + copy_out
    return [(total - kernel) / total, total / sorted([copy_in, kernel, copy_out])[-1]]


def can_happen_by_places(order):
    place = {letter: k for k, letter in enumerate(order)}
    return place["A"] < place["B"] and place["c"] < place["d"] and place["A"] < place["d"]


def can_happen_by_list(order):
    """All interleavings of two queues but the one that the event forbids."""
    return order in ("ABcd", "AcBd", "AcdB", "cABd", "cAdB")


def units_with_events_in_turn(source, target, work, up, compute, down, pairs):
    """One event for each use of each pair, recorded again and again."""
    copied, computed, back = ([cp.cuda.Event() for _ in pairs] for _ in range(3))
    for k, chunk in enumerate(source):
        turn = k % len(pairs)
        x, y = pairs[turn]
        up.wait_event(computed[turn])
        with up:
            x.set(chunk)
        copied[turn].record(up)
        with compute:
            compute.wait_event(copied[turn])
            compute.wait_event(back[turn])
            work(x, y)
            computed[turn].record()
        with down:
            down.wait_event(computed[turn])
            y.get(out=target[k], blocking=False)
            back[turn].record()
    done = cp.cuda.Event(disable_timing=True)
    done.record(down)
    return done


def units_of(read=True, freed=True, arrived=True, computed=True, back="down", into="up",
             out="down", tied=False, strict=False, before=False, sync=False,
             blocking=False, pair=0, on="compute", last=0):
    def by_units(source, target, work, up, compute, down, pairs):
        named = {"up": up, "compute": compute, "down": down}
        done, returned = [], []
        for k in range(len(source) - last):
            x, y = pairs[(k + pair) % len(pairs)]
            if k >= len(pairs):
                if read:
                    up.wait_event(done[k - len(pairs)])
                if strict:
                    up.wait_event(returned[k - len(pairs)])
                if freed:
                    compute.wait_event(returned[k - len(pairs)])
            early = up.record()
            x.set(source[k], stream=named[into])
            if before:
                compute.wait_event(early)
            elif arrived:
                compute.wait_event(up.record())
            with named[on]:
                work(x, y)
            done.append(compute.record())
            if computed:
                down.wait_event(done[k])
            y.get(stream=named[out], out=target[k], blocking=blocking)
            returned.append(down.record())
            if tied:
                up.wait_event(returned[k])
        if sync:
            down.synchronize()
        return named[back].record()

    return by_units


def fork_join_with_names(first, left, right, last, main, side):
    """Events by hand, the right branch queued before the left one."""
    ready, back = cp.cuda.Event(), cp.cuda.Event()
    main.use()
    try:
        first()
        ready.record(main)
        side.wait_event(ready)
        side.use()
        right()
        back.record(side)
        main.use()
        left()
        main.wait_event(back)
        last()
        done = cp.cuda.Event()
        done.record(main)
    finally:
        cp.cuda.Stream.null.use()
    return done


def fork_join_of(fork=True, join=True, sync=False, row=False, done="main"):
    def fork_join(first, left, right, last, main, side):
        with main:
            first()
        if fork:
            side.wait_event(main.record())
        if sync:
            main.synchronize()
        with main:
            left()
        if row:
            side.wait_event(main.record())
        with side:
            right()
        if join:
            main.wait_event(side.record())
        early = main.record()
        with main:
            last()
        return early if done == "early" else main.record()

    return fork_join


def fork_join_on_main(first, left, right, last, main, side):
    with main:
        first()
        left()
        right()
        last()
    return main.record()


def fork_join_forgets(first, left, right, last, main, side):
    with main:
        first()
        left()
        last()
    return main.record()


def makespan_by_columns(seconds, streams):
    """The same recurrence, with a name for each unit."""
    inward = middle = outward = 0.0
    finished = []
    for k, (up, work, down) in enumerate(np.asarray(seconds, dtype=float)):
        ready = finished[k - streams] if k >= streams else 0.0
        inward = max(inward, ready) + up
        middle = max(middle, inward) + work
        outward = max(outward, middle) + down
        finished.append(outward)
    return outward


def makespan_in_whole_seconds(seconds, streams):
    return round(makespan_by_columns(seconds, streams))


def upload_by_turns(fill, buffers, arrays, stream):
    """One event for each buffer; an event that was never recorded counts as done."""
    copied = [cp.cuda.Event() for _ in buffers]
    for k, array in enumerate(arrays):
        turn = k % len(buffers)
        copied[turn].synchronize()
        fill(buffers[turn], k)
        with stream:
            array.set(buffers[turn])
            copied[turn].record()
    return stream.record()


def upload_from_pageable(fill, buffers, arrays, stream):
    """The copy that is queued reads ordinary memory."""
    kept = []

    def fill_and_copy(buffer, k):
        fill(buffer, k)
        kept.append(buffer.copy())

    copied = []
    for k, array in enumerate(arrays):
        if k >= len(buffers):
            copied[k - len(buffers)].synchronize()
        fill_and_copy(buffers[k % len(buffers)], k)
        array.set(kept[-1], stream=stream)
        copied.append(stream.record())
    return stream.record()


def upload_that_polls(fill, buffers, arrays, stream):
    """Waits for the right copies, in a loop."""
    copied = [None] * len(buffers)
    for k, array in enumerate(arrays):
        turn = k % len(buffers)
        while copied[turn] is not None and not copied[turn].done:
            pass
        fill(buffers[turn], k)
        array.set(buffers[turn], stream=stream)
        copied[turn] = stream.record()
    return stream.record()


def upload_that_polls_and_sleeps(fill, buffers, arrays, stream):
    """Waits for the right copies, in a loop that sleeps."""
    copied = [cp.cuda.Event() for _ in buffers]

    def wait(event):
        while not event.done:
            time.sleep(1e-4)

    for k, array in enumerate(arrays):
        turn = k % len(buffers)
        wait(copied[turn])
        fill(buffers[turn], k)
        array.set(buffers[turn], stream=stream)
        copied[turn].record(stream)
    return copied[(len(arrays) - 1) % len(buffers)]


def upload_that_polls_the_stream(fill, buffers, arrays, stream):
    """Waits in a loop for all that is queued."""
    for k, array in enumerate(arrays):
        while k >= len(buffers) and not stream.done:
            pass
        fill(buffers[k % len(buffers)], k)
        array.set(buffers[k % len(buffers)], stream=stream)
    return stream.record()


def upload_that_ends(wait):
    """Waits for the right copies, and at its end for the last ones too."""

    def upload(fill, buffers, arrays, stream):
        done = upload_by_turns(fill, buffers, arrays, stream)
        wait(stream)
        return done

    return upload


def poll(stream):
    while not stream.done:
        pass


def upload_of(wait="no", first=False):
    def upload(fill, buffers, arrays, stream):
        for k, array in enumerate(arrays):
            if wait == "stream" and k >= len(buffers):
                stream.synchronize()
            if wait == "always":
                stream.synchronize()
            buffer = buffers[0 if first else k % len(buffers)]
            fill(buffer, k)
            array.set(buffer, stream=stream)
        return stream.record()

    return upload


def upload_marked_early(fill, buffers, arrays, stream):
    """Waits for events that are recorded before the copies."""
    marks = {}
    for k, array in enumerate(arrays):
        if k >= len(buffers):
            marks[k - len(buffers)].synchronize()
        fill(buffers[k % len(buffers)], k)
        marks[k] = stream.record()
        array.set(buffers[k % len(buffers)], stream=stream)
    return stream.record()


def upload_without_event(fill, buffers, arrays, stream):
    upload_by_turns(fill, buffers, arrays, stream)
    return cp.cuda.Event()


def upload_beside_the_stream(fill, buffers, arrays, stream):
    """Waits for the right copies, but copies on the default stream."""
    copied = [cp.cuda.Event() for _ in buffers]
    for k, array in enumerate(arrays):
        turn = k % len(buffers)
        copied[turn].synchronize()
        fill(buffers[turn], k)
        array.set(buffers[turn])
        copied[turn].record(stream)
    return stream.record()


def upload_from_copies(fill, buffers, arrays, stream):
    for k, array in enumerate(arrays):
        own = np.empty_like(buffers[0])
        fill(own, k)
        array.set(own, stream=stream)
    return stream.record()


def lend_by_hand(make, read, owner, reader):
    made, done = cp.cuda.Event(), cp.cuda.Event()
    with owner:
        x = make()
        made.record()
    with reader:
        reader.wait_event(made)
        read(x)
        done.record()
    owner.wait_event(done)
    del x
    return done


def lend_of(ready=True, back=True, sync=False, keep=False, copy=False, done="read"):
    def lend(make, read, owner, reader):
        with owner:
            x = make()
        if ready:
            reader.wait_event(owner.record())
        early = reader.record()
        with reader:
            read(x.copy() if copy else x)
        if sync:
            reader.synchronize()
        if back:
            owner.wait_event(reader.record())
        if keep:
            KEPT.append(x)
        return reader.record() if done == "read" else early

    return lend


def lend_on_one_stream(make, read, owner, reader):
    with owner:
        read(make())
    return owner.record()


RIGHT = {
    "idle": [idle_by_rates, idle_as_a_list],
    "can_happen": [can_happen_by_places, can_happen_by_list],
    "by_units": [units_with_events_in_turn],
    "fork_join": [fork_join_with_names],
    "makespan": [makespan_by_columns],
    "upload": [upload_by_turns, upload_that_polls, upload_that_polls_and_sleeps],
    "lend": [lend_by_hand],
}
WRONG = {
    "idle": [
        (lambda copy_in, kernel, copy_out: kernel / (copy_in + kernel + copy_out), ""),
        (lambda copy_in, kernel, copy_out: (0.5, 2.0), "expected"),
    ],
    "can_happen": [
        (lambda order: order.index("A") < order.index("d"), "expected False, got True"),
        (lambda order: order == "AcBd", "expected True, got False"),
    ],
    "by_units": [
        (units_of(read=False), "x is filled again before the kernel"),
        (units_of(freed=False), ""),  # by chance, values are wrong before `down` is held
        (units_of(arrived=False), ""),
        (units_of(before=True), ""),
        (units_of(computed=False), ""),
        (units_of(back="compute"), "done before all chunks are back"),
        (units_of(into="compute"), "copies in of the next chunks do not end"),
        (units_of(out="compute"), "a copy out does not go through `down`"),
        (units_of(tied=True), "copies in of the next chunks do not end"),
        (units_of(strict=True), "copies in of the next chunks do not end"),
        (units_of(sync=True), "Python waits in it"),
        (units_of(blocking=True), "Python waits in it"),
        (units_of(pair=1), "must use the pair"),
        (units_of(on="up"), "another stream than `compute`"),
        (units_of(last=1), "it called work 5 times for 6 chunks"),
    ],
    "fork_join": [
        (fork_join_of(fork=False), "right runs while first has not run yet"),
        (fork_join_of(join=False), "last runs while right has not run yet"),
        (fork_join_of(sync=True), "Python waits"),
        (fork_join_of(row=True), "right waits for left"),
        (fork_join_of(done="early"), "done before `last` has run"),
        (fork_join_on_main, "right belongs on side"),
        (fork_join_forgets, "it called first, left, last"),
    ],
    "makespan": [
        (makespan_in_whole_seconds, "expected"),
    ],
    "upload": [
        (upload_from_pageable, "but a copy of it on the host"),
        (upload_of(), "filled again for chunk 2 before it was copied"),
        (upload_of(wait="stream"), "wait for that copy only"),
        (upload_of(wait="always"), "although the buffer's last copy is done"),
        (upload_of(first=True), "must get buffers[k % len(buffers)] itself"),
        (upload_that_polls_the_stream, "wait for that copy only"),
        (upload_that_ends(lambda stream: stream.synchronize()), "Python waits at its end"),
        (upload_that_ends(poll), "Python waits at its end"),
        (upload_marked_early, ""),
        (upload_without_event, "done before the last copy"),
        (upload_beside_the_stream, "does not go through `stream`"),
        (upload_from_copies, "must get buffers[k % len(buffers)] itself"),
    ],
    "lend": [
        (lend_of(ready=False), "read runs before make"),
        (lend_of(back=False), "given to the next array"),
        (lend_of(sync=True), "Python waits in it"),
        (lend_of(keep=True, back=False), "still alive"),
        (lend_of(copy=True), "a copy"),
        (lend_of(done="early"), "done before the array was read"),
        (lend_on_one_stream, "`reader` as the current stream"),
    ],
}
