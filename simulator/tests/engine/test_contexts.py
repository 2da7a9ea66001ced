"""Checks and counters belong to a thread or a context: nobody else sees them switched."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading

import numpy as np
import pytest
from engine_support import array, pack, read

from nogpu import engine

SOURCE = r"""
__global__ void race(int* x) { *x = threadIdx.x; }
__global__ void add(int* x) { atomicAdd(x, 1); }
"""
EVERYTHING = 9


@pytest.fixture(scope="module")
def module() -> engine.Module:
    return engine.compile(SOURCE)


@pytest.fixture
def x():
    allocation = array(np.zeros(1, np.int32), "x")
    yield allocation
    engine.streams.synchronize()
    allocation.free()


def in_thread(function):
    """What ``function`` returns, or raises, in a new thread."""
    outcome = []

    def work() -> None:
        try:
            outcome.append((function(), None))
        except BaseException as error:  # noqa: BLE001 -- raised again below
            outcome.append((None, error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


# ---- checks --------------------------------------------------------------------------------


def test_another_thread_keeps_its_checks(module, x) -> None:
    with engine.checks(False):
        assert engine.active_checks() == []
        assert len(in_thread(engine.active_checks)) == EVERYTHING
        with pytest.raises(engine.Race):
            in_thread(lambda: module.kernel("race").launch((1,), (64,), pack(x)))
        module.kernel("race").launch((1,), (64,), pack(x))


def test_a_switch_for_good_in_another_thread_is_not_seen_here() -> None:
    in_thread(lambda: engine.checks(False))
    assert len(engine.active_checks()) == EVERYTHING


def test_threads_switch_at_the_same_time_each_for_itself() -> None:
    gate, seen = threading.Barrier(8), []

    def work(race: bool) -> None:
        for _ in range(50):
            gate.wait()
            with engine.checks(race=race):
                gate.wait()
                seen.append(("race" in engine.active_checks()) == race)

    threads = [threading.Thread(target=work, args=(bool(k % 2),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 400 and all(seen)


def test_a_copied_context_carries_the_checks() -> None:
    with engine.checks(False, race=True):
        context = contextvars.copy_context()
    assert in_thread(lambda: context.run(engine.active_checks)) == ["race"]


def test_tasks_inherit_and_do_not_disturb_each_other() -> None:
    async def one(name: str, started: asyncio.Event, other: asyncio.Event) -> list[str]:
        with engine.checks(False, **{name: True}):
            started.set()
            await other.wait()
            return engine.active_checks()

    async def inherited() -> list[str]:
        return engine.active_checks()

    async def main() -> None:
        first, second = asyncio.Event(), asyncio.Event()
        with engine.checks(barrier=False):
            outcomes = await asyncio.gather(
                one("race", first, second), one("division", second, first), inherited()
            )
        assert outcomes[:2] == [["race"], ["division"]]
        assert len(outcomes[2]) == EVERYTHING - 1 and "barrier" not in outcomes[2]

    asyncio.run(main())


def test_switches_nest_and_can_be_entered_again() -> None:
    off = engine.checks(race=False)
    with off:
        assert "race" not in engine.active_checks()
        with engine.checks(True):
            with off:
                assert "race" not in engine.active_checks()
            assert "race" in engine.active_checks()
        assert "race" not in engine.active_checks()
    assert len(engine.active_checks()) == EVERYTHING
    with off:
        assert "race" not in engine.active_checks()
    assert len(engine.active_checks()) == EVERYTHING


def blocked_stream(open_gate: threading.Event) -> engine.streams.Stream:
    """A stream that runs nothing until the gate is open."""
    stream = engine.streams.Stream(non_blocking=True)
    stream.call(open_gate.wait)
    return stream


def test_the_checks_at_the_launch_count_not_those_when_it_runs(module, x) -> None:
    gate = threading.Event()
    stream = blocked_stream(gate)
    with engine.checks(False):
        stream.launch(module.kernel("race"), (1,), (64,), pack(x))
    gate.set()
    stream.synchronize()  # all checks are on again, and the kernel ran without
    gate.clear()
    stream.call(gate.wait)
    stream.launch(module.kernel("race"), (1,), (64,), pack(x))
    with engine.checks(False):
        gate.set()
        with pytest.raises(engine.Race):
            stream.synchronize()
    stream.destroy()


def test_a_graph_runs_with_the_checks_of_its_recording(module, x) -> None:
    stream = engine.streams.Stream(non_blocking=True)
    graphs = []
    for everything in (False, True):
        with engine.checks(everything):
            stream.begin_capture()
            stream.launch(module.kernel("race"), (1,), (64,), pack(x))
            graphs.append(stream.end_capture())
    graphs[0].launch(stream)
    stream.synchronize()
    with engine.checks(False), pytest.raises(engine.Race):
        graphs[1].launch(stream)
        stream.synchronize()
    stream.destroy()


def test_queued_python_sees_the_context_that_queued_it() -> None:
    variable = contextvars.ContextVar("variable", default="nothing")
    gate, seen = threading.Event(), []
    stream = blocked_stream(gate)
    variable.set("mine")
    with engine.checks(False):
        stream.call(lambda: seen.append((variable.get(), engine.active_checks())))
        stream.run(lambda: seen.append((variable.get(), engine.active_checks())))
    variable.set("changed")
    gate.set()
    stream.synchronize()
    stream.destroy()
    assert seen == [("mine", [])] * 2


# ---- counters ------------------------------------------------------------------------------


def add(module: engine.Module, x: engine.Allocation) -> None:
    engine.streams.null.launch(module.kernel("add"), (1,), (32,), pack(x))


def test_counting_nests(module, x) -> None:
    with engine.counting() as outer, engine.counting() as inner:
        add(module, x)
    assert outer.launches == inner.launches == 1
    with engine.counting() as outer:
        add(module, x)
        with engine.counting() as inner:
            add(module, x)
        add(module, x)
    assert (outer.launches, inner.launches) == (3, 1)


def test_equal_empty_counts_are_kept_apart(module, x) -> None:
    """The outer block goes on after an inner one whose counts equal its own."""
    with engine.counting() as outer:
        with engine.counting() as inner:
            assert inner == outer
        add(module, x)
    assert (outer.launches, inner.launches) == (1, 0)


def test_counting_ends_in_any_order(module, x) -> None:
    first, second = engine.counting(), engine.counting()
    counts, others = first.__enter__(), second.__enter__()
    add(module, x)
    first.__exit__(None, None, None)
    add(module, x)
    second.__exit__(None, None, None)
    add(module, x)
    assert (counts.launches, others.launches) == (1, 2)


def test_counting_can_be_entered_again(module, x) -> None:
    block, found = engine.counting(), []
    for _ in range(2):
        with block as outer, block as inner:
            add(module, x)
        found += [outer, inner]
    assert [counts.launches for counts in found] == [1, 1, 1, 1]
    assert len({id(counts) for counts in found}) == 4


def test_counting_ends_with_an_exception(module, x) -> None:
    with contextlib.suppress(ZeroDivisionError), engine.counting() as counts:
        raise ZeroDivisionError
    add(module, x)
    assert counts.launches == 0


def test_another_thread_is_not_counted(module, x) -> None:
    with engine.counting() as counts:
        in_thread(lambda: module.kernel("add").launch((1,), (32,), pack(x)))
        assert counts.launches == 0
        context = contextvars.copy_context()
        in_thread(lambda: context.run(module.kernel("add").launch, (1,), (32,), pack(x)))
        assert counts.launches == 1


def test_threads_add_to_the_same_counts(module, x) -> None:
    with engine.counting() as counts:
        contexts = [contextvars.copy_context() for _ in range(4)]

        def work(context: contextvars.Context) -> None:
            for _ in range(20):
                context.run(module.kernel("add").launch, (1,), (32,), pack(x))

        threads = [threading.Thread(target=work, args=(context,)) for context in contexts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts.launches == 80 and counts.global_atomic_requests == 80


def test_a_graph_is_counted_each_time_that_it_is_launched(module, x) -> None:
    stream = engine.streams.Stream(non_blocking=True)
    seen = []
    stream.begin_capture()
    stream.launch(module.kernel("add"), (1,), (32,), pack(x))
    stream.call(lambda: seen.append(read(x, np.int32)[0]))
    stream.launch(module.kernel("add"), (1,), (32,), pack(x))
    graph = stream.end_capture()
    graph.launch(stream)
    with engine.counting() as counts:
        graph.launch(stream)
        graph.launch(stream)
    stream.destroy()
    assert counts.launches == 4 and counts.global_atomic_requests == 4
    assert read(x, np.int32)[0] == 192 and seen == [32, 96, 160]
