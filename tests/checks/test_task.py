"""The machinery of the checks itself: counted interpreter work, answers in parts, descriptions."""

import gc
import warnings
from contextlib import suppress

import numpy as np
import pytest

from checks.machinery.task import (
    Mistake,
    Refusal,
    Task,
    describe_case,
    instructions,
    replaced,
    with_time_limit,
)


def test_interpreter_work_is_the_same_in_the_first_run():
    namespace = {}
    exec("def fresh(n):\n    return sum(k for k in range(n))", namespace)
    few, again, many = (instructions(namespace["fresh"], (n,)) for n in (10, 10, 1000))
    assert few == again > 10
    assert many > 20 * few


def test_no_garbage_is_collected_while_interpreter_work_is_counted():
    seen = []
    instructions(lambda: seen.append(gc.isenabled()), ())
    assert seen == [False, False] and gc.isenabled()


def spec(name):
    return {"one": 1, "two": 2}[name]


def test_mistake_is_recognised_in_its_part_whatever_the_others():
    task = Task("parts", spec, lambda: [("one",), ("two",)], part=lambda case: case[0],
                mistakes=[Mistake("a sign turned round", lambda name: -spec(name))])
    verdict = task.judge(lambda name: {"one": 1, "two": -2}[name])
    assert verdict.state == "no"
    assert "name='two'" in verdict.text and "a sign turned round" in verdict.text
    assert verdict.text.endswith("1 of 2 are right.")


def test_only_the_first_case_makes_an_answer_not_attempted():
    def half(name):
        if name == "two":
            raise NotImplementedError()
        return 1

    def none(name):
        raise NotImplementedError()

    task = Task("parts", spec, lambda: [("one",), ("two",)])
    assert task.judge(none).state == "todo"
    assert task.judge(half).state == "no"
    assert "name='two': it raised NotImplementedError" in task.judge(half).text


def test_a_mistakes_outcomes_are_remembered_where_cases_repeat():
    class Patient(Task):
        repeatable = True

    asked = []

    def wrong(name):
        asked.append(name)
        return -spec(name)

    mistake = Mistake("a sign turned round", wrong)
    for kind, times in ((Task, 4), (Patient, 2)):
        asked.clear()
        task = kind("parts", spec, lambda: [("one",), ("two",)], mistakes=[mistake])
        texts = [task.judge(lambda name: -spec(name)).text for _ in range(2)]
        assert texts[0] == texts[1] and mistake.looks_like in texts[0]
        assert len(asked) == times


def test_arguments_of_any_number_are_described():
    def total(letters, *operands):
        return 0

    case = ("i,j", np.zeros(3), np.zeros(4, np.float32))
    assert describe_case(case, total) == ("letters='i,j', operands[0]: float64 (3,),"
                                     " operands[1]: float32 (4,)")
    verdict = Task("total", total, lambda: [case]).judge(
        lambda letters, one, two: 0)
    assert "total(letters, *operands)" in verdict.text


def test_an_error_with_a_rules_own_arguments_is_a_sentence():
    def double(x):
        return 2 * x

    def only_small(x):
        if x > 100:
            raise ValueError("too large")
        return 2 * x

    task = Task("double", double, lambda: [(1,), (2,)],
                rules=[lambda answer, trials: str(answer(1000))])
    verdict = task.judge(only_small)
    assert verdict.state == "no"
    assert "with other arguments it raised ValueError: too large" in verdict.text


def test_an_endless_answer_gets_a_verdict():
    def endless(n):
        while n > 1:
            n += 1

    def endless_with_large_numbers(n):
        while n > 100:
            n += 1
        return 2 * n

    def twice(n):
        return n * 2

    task = Task("double", lambda n: 2 * n, lambda: [(2,), (3,)], time_limit=0.1)
    assert "has not ended after 0.1 seconds" in task.judge(endless).text
    task = Task("double", lambda n: 2 * n, lambda: [(2,), (3,)], time_limit=0.1,
                rules=[lambda answer, trials: answer(1000) and None])
    verdict = task.judge(endless_with_large_numbers)
    assert verdict.text.startswith("the values are right, but it has not ended"), verdict.text
    assert task.judge(twice).state == "ok"


def test_a_mistake_is_named_by_what_went_wrong_not_by_the_errors_type():
    def first_three(x):
        return x[:3]

    def beyond(x):
        return np.array([x[k] for k in (7, 8, 9)])

    def along_two_axes(x):
        return x[:, 0]

    def beyond_elsewhere(x):
        return np.array([x[k + 7] for k in range(3)])

    task = Task("first_three", first_three, lambda: [(np.arange(5),)],
                mistakes=[Mistake("an index beyond the end", beyond)])
    assert task.judge(along_two_axes).text.startswith("for x: int64 (5,): it raised IndexError")
    assert "This looks like" not in task.judge(along_two_axes).text
    assert "an index beyond the end" in task.judge(beyond_elsewhere).text


def test_the_message_of_an_expected_error_is_free():
    def root(x):
        if x < 0:
            raise ValueError("negative")
        return x**0.5

    def square(x):
        if x < 0:
            raise ValueError("x must not be negative")
        return x**2

    def doubled(x):
        if x < 0:
            raise ValueError
        return x * x

    task = Task("root", root, lambda: [(9.0,), (-1.0,)], mistakes=[Mistake("a square", doubled)])
    assert "a square" in task.judge(square).text


def test_a_mistake_replaces_texts_in_the_right_source():
    def task(*texts, times=1):
        return Task("f", lambda: 0, lambda: [()], right="i < n; j < n;",
                    mistakes=[Mistake.replacing("one too many", *texts, times=times)])

    (mistake,) = task("i < n", "i <= n", "j < n", "j <= n").mistakes
    assert (mistake.looks_like, mistake.answer) == ("one too many", "i <= n; j <= n;")
    assert task("< n", "<= n", times=2).mistakes[0].answer == "i <= n; j <= n;"
    for texts, times, words in ((("k < n", "k <= n"), 1, "'k < n' occurs 0 times"),
                                (("< n", "<= n"), 1, "'< n' occurs 2 times"),
                                (("i < n", "i <= n"), 2, "'i < n' occurs 1 times"),
                                (("i < n",), 1, "has no text that replaces it")):
        with pytest.raises(ValueError, match=words):
            task(*texts, times=times)


def test_texts_are_replaced_one_after_the_other():
    assert replaced("a b", "a", "c", "c b", "d") == "d"


def test_an_error_of_read_is_a_verdict_too():
    def read(value, case):
        if value is None:
            raise NotImplementedError
        return value["text"]

    task = Task("text", lambda: "a", lambda: [()], read=read)
    assert task.judge(lambda: {"text": "a"}).state == "ok"
    assert task.judge(lambda: None).state == "todo"
    assert "it raised KeyError: 'text'" in task.judge(lambda: {}).text


def test_a_call_is_not_ended_where_nogpu_holds_a_lock():
    from nogpu.engine import memory

    def place():
        for _ in range(3):
            memory.free(memory.allocate(8).address)

    for limit in range(10, 400):
        instructions(place, (), limit)
        assert not memory._lock._is_owned(), limit


@pytest.mark.parametrize("cut_short", [
    lambda call, k: with_time_limit(0.002, call)(),
    lambda call, k: instructions(call, (), limit=1000 + k),
], ids=["by time", "by instructions"])
def test_a_call_that_is_cut_short_leaves_numpy_and_the_warnings_as_they_were(cut_short):
    def endless():
        while True:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")

    before = np.geterr(), list(warnings.filters)
    for k in range(100):  # without the care for it, one in twenty leaves something behind
        with suppress(Refusal):
            cut_short(endless, k)
        assert (np.geterr(), list(warnings.filters)) == before
