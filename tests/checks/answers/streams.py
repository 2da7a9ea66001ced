"""Right answers besides the solution, and wrong ones that are no known mistake."""

import time

import helpers

helpers.start()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402

KEPT = []


def pipeline_by_arguments(source, target, work, streams, pairs):
    """Arguments instead of `with`, events by hand."""
    for k, chunk in enumerate(source):
        turn = k % len(streams)
        x, y = pairs[turn]
        x.set(chunk, stream=streams[turn])
        with streams[turn]:
            work(x, y)
        y.get(out=target[k], stream=streams[turn], blocking=False)
    done = cp.cuda.Event(disable_timing=True)
    for stream in streams:
        event = cp.cuda.Event()
        event.record(stream)
        streams[-1].wait_event(event)
    done.record(streams[-1])
    return done


def pipeline_stream_by_stream(source, target, work, streams, pairs):
    """All chunks of the first stream, then all of the second one, and so on."""
    for turn, (stream, (x, y)) in enumerate(zip(streams, pairs)):
        with stream:
            for k in range(turn, len(source), len(streams)):
                x.set(source[k])
                work(x, y)
                y.get(out=target[k], blocking=False)
    for stream in streams[1:]:
        streams[0].wait_event(stream.record())
    return streams[0].record()


def pipeline_stage_by_stage(source, target, work, streams, pairs):
    """All copies in first, each into an array of its own; the last chunk first."""
    chunks = [(k, streams[k % len(streams)], cp.empty_like(pairs[0][0]), cp.empty_like(pairs[0][0]))
              for k in reversed(range(len(source)))]
    cp.cuda.Device().synchronize()  # the arrays are of the default stream
    for k, stream, x, _ in chunks:
        x.set(source[k], stream=stream)
    for _, stream, x, y in chunks:
        with stream:
            work(x, y)
    for k, stream, _, y in chunks:
        y.get(out=target[k], stream=stream, blocking=False)
    for stream in streams[1:]:
        streams[0].wait_event(stream.record())
    return streams[0].record()


def pipeline_of(wait=False, event="all", one=False, default=False, blocking=False, own=False,
                shifted=0):
    """A right pipeline, with arrays of its own or with one thing changed."""

    def pipeline(source, target, work, streams, pairs):
        used = streams[:1] if one else streams
        for k in range(len(source)):
            stream = used[k % len(used)]
            x, y = pairs[(k + shifted) % len(used)]
            with cp.cuda.Stream.null if default else stream:
                if own:
                    x, y = cp.empty_like(x), cp.empty_like(y)
                x.set(source[k])
                work(x, y)
                y.get(out=target[k], blocking=blocking)
            if wait:
                stream.synchronize()
        if event == "last":
            return stream.record()
        if event == "current":
            return cp.cuda.get_current_stream().record()
        for stream in streams[1:]:
            streams[0].wait_event(stream.record())
        return streams[0].record()

    return pipeline


def pipeline_that_waits(source, target, work, streams, pairs):
    done = pipeline_by_arguments(source, target, work, streams, pairs)
    done.synchronize()
    return done


def pipeline_in_a_loop_that_waits(source, target, work, streams, pairs):
    """Waits at its end, in a loop."""
    done = pipeline_by_arguments(source, target, work, streams, pairs)
    while not done.done:
        pass
    return done


def pipeline_stream_after_stream(source, target, work, streams, pairs):
    """Stream by stream; each stream begins when the one before has ended."""
    for turn, (stream, (x, y)) in enumerate(zip(streams, pairs)):
        with stream:
            for k in range(turn, len(source), len(streams)):
                x.set(source[k])
                work(x, y)
                y.get(out=target[k], blocking=False)
        streams[(turn + 1) % len(streams)].wait_event(stream.record())
    return streams[0].record()


def pipeline_with_a_copy_outside(source, target, work, streams, pairs):
    for k in range(len(source)):
        x, y = pairs[k % len(streams)]
        x.set(source[k])
        cp.cuda.Stream.null.synchronize()
        with streams[k % len(streams)]:
            work(x, y)
            y.get(out=target[k], blocking=False)
    for stream in streams[1:]:
        streams[0].wait_event(stream.record())
    return streams[0].record()


def pipeline_in_a_row(source, target, work, streams, pairs):
    """Each chunk waits for the one before, by events: nothing overlaps."""
    event = cp.cuda.Event()
    for k in range(len(source)):
        stream, (x, y) = streams[k % len(streams)], pairs[k % len(streams)]
        stream.wait_event(event)
        with stream:
            x.set(source[k])
            work(x, y)
            y.get(out=target[k], blocking=False)
        event = stream.record()
    return event


def pipeline_two_chunks(source, target, work, streams, pairs):
    return pipeline_of()(source[:2], target[:2], work, streams, pairs)


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


def branches_with_events(left, right, main, side):
    fork, join = cp.cuda.Event(), cp.cuda.Event()
    main.begin_capture()
    fork.record(main)
    side.wait_event(fork)
    with side:
        right()
        join.record()
    with main:
        left()
        main.wait_event(join)
    return main.end_capture()


def branches_in_a_row(left, right, main, side):
    with main:
        main.begin_capture()
        left()
        right()
        return main.end_capture()


def branches_not_joined(left, right, main, side):
    main.begin_capture()
    side.wait_event(main.record())
    with main:
        left()
    with side:
        right()
    return main.end_capture()


def branches_in_two_graphs(left, right, main, side):
    with main:
        main.begin_capture()
        left()
    with side:
        side.begin_capture()
        right()
        side.end_capture()
    return main.end_capture()


def branches_not_forked(left, right, main, side):
    main.begin_capture()
    with main:
        left()
    with side:
        right()
    main.wait_event(side.record())
    return main.end_capture()


def branches_launched(left, right, main, side):
    graph = branches_with_events(left, right, main, side)
    graph.launch(main)
    return graph


def branches_on_default(left, right, main, side):
    cp.cuda.Stream.null.begin_capture()
    left()
    right()
    return cp.cuda.Stream.null.end_capture()


def branches_left_only(left, right, main, side):
    main.begin_capture()
    with main:
        left()
    return main.end_capture()


RIGHT = {
    "pipeline": [
        pipeline_by_arguments,
        pipeline_stream_by_stream,
    ],
    "fork_join": [fork_join_with_names],
    "makespan": [makespan_by_columns],
    "upload": [upload_by_turns, upload_that_polls, upload_that_polls_and_sleeps],
    "lend": [lend_by_hand],
    "branches": [branches_with_events],
}
WRONG = {
    "pipeline": [
        (pipeline_of(own=True), "other arrays than the pairs"),
        (pipeline_stage_by_stage, "other arrays than the pairs"),
        (pipeline_of(wait=True), "and only then queues the next one"),
        (pipeline_of(blocking=True), "and only then queues the next one"),
        (pipeline_that_waits, "Python waits at its end"),
        (pipeline_in_a_loop_that_waits, "Python waits at its end"),
        (pipeline_of(one=True), "all chunks are on one stream"),
        (pipeline_of(default=True), "the default stream"),
        (pipeline_of(event="last"), "done while a chunk is still being computed"),
        (pipeline_of(event="current"), "done while a chunk is still being computed"),
        (pipeline_in_a_row, "other streams do not end"),
        (pipeline_stream_after_stream, "other streams do not end"),
        (pipeline_of(shifted=1), "the pair of arrays of another stream"),
        (pipeline_with_a_copy_outside, "is the result of chunk"),
        (pipeline_two_chunks, "called work 2 times for 6 chunks"),
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
        (upload_of(first=True), "filled again"),
        (upload_that_polls_the_stream, "wait for that copy only"),
        (upload_that_ends(lambda stream: stream.synchronize()), "Python waits at its end"),
        (upload_that_ends(poll), "Python waits at its end"),
        (upload_without_event, "done before the last copy"),
        (upload_beside_the_stream, "does not go through `stream`"),
        (upload_from_copies, "one of the buffers itself"),
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
    "branches": [
        (branches_in_a_row, "one row, not two"),
        (branches_not_joined, "unjoined"),
        (branches_in_two_graphs, "right is not part of the graph"),
        (branches_not_forked, "does not capture"),
        (branches_launched, "has run already"),
        (branches_on_default, "cannot capture on the default"),
        (branches_left_only, "it called left"),
    ],
}
