"""The tasks about streams on a real GPU."""

import pytest

from checks import streams


def test_on_a_gpu_the_experiment_without_a_hold_comes_first_and_is_not_judged(monkeypatch):
    monkeypatch.setattr(streams, "_cupy", lambda: None)
    monkeypatch.setattr(streams, "is_simulated", lambda xp: False)
    holds = []

    def run(answer, held):
        holds.append(held)
        if len(holds) == 1:
            raise RuntimeError("slow")
        return answer()

    task = streams.StreamTask("slow", lambda held: 3, lambda: [("left",), (None,)],
                              run=run, signature=lambda: None)
    verdict = task.judge(lambda: 3)
    assert (verdict.state, holds) == ("ok", [None, "left", None])


@pytest.mark.parametrize("task", [task for task in vars(streams).values()
                                  if isinstance(task, streams.StreamTask)],
                         ids=lambda task: task.name)
def test_the_last_experiment_holds_nothing(task):
    assert list(task.cases())[-1][-1] is None
