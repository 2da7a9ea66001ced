"""CuPy, or the simulator in its place, answers as a real GPU machine did."""

import json
import re
from collections import Counter

import pytest

from helpers import backend

from . import runner
from .collect import RECORDED, programs
from .record import doubts
from .worker import FACES, describe, normal

PROGRAMS = programs()
NAMES = [program.name for program in PROGRAMS]


def _recorded(file="cupy.json"):
    path = RECORDED / file
    if not path.exists():
        pytest.skip(f"recorded/{file} is not there: python -m tests.behaviour.record writes it")
    return json.loads(path.read_text(encoding="utf-8"))


def _differences():
    return json.loads((RECORDED / "differences.json").read_text(encoding="utf-8"))


# what holds on every machine


def test_there_are_enough_programs_and_each_has_one_name():
    assert len(PROGRAMS) >= 220
    assert [name for name, count in Counter(NAMES).items() if count > 1] == []


def test_each_program_is_short_compiles_and_says_what_it_shows():
    for program in PROGRAMS:
        program.code()
        assert program.says.endswith("."), program.name
        assert 1 <= program.length <= 16, program.name


def test_programs_and_recorded_answers_belong_together():
    recorded = _recorded()
    assert recorded["unstable"] == {}
    answers = recorded["answers"]
    assert sorted(set(NAMES) - set(answers)) == [], "programs without a recorded answer"
    assert sorted(set(answers) - set(NAMES)) == [], "recorded answers without a program"
    assert all(answers.values())


def test_the_recording_names_its_machine():
    about = _recorded()["recorded"]
    assert set(about) >= {"device", "cupy", "cuda_runtime", "numpy", "date"}
    assert "simulator" not in about["device"].lower()


def test_no_recorded_answer_has_an_address_a_path_or_a_time_in_it():
    recorded = _recorded()
    device = recorded["recorded"]["device"]
    pattern = re.compile(r"0x[0-9a-f]{5,}|\b1[34]\d{13}\b|\d\d:\d\d:\d\d|\b\d+\.\d+ [mu]s\b")
    found = {
        name: line
        for name, lines in recorded["answers"].items()
        for line in lines
        if pattern.search(line) or device in line or normal(line) != line
    }
    assert found == {}


def test_public_names_are_recorded():
    names = _recorded("names.json")["names"]
    assert "asarray" in names["cupy"] and "get" in names["cupy.ndarray"]
    assert not [one for found in names.values() for one in found if one.startswith("_")]


def test_differences_of_the_simulator_have_a_program_and_a_reason():
    for name, row in _differences().items():
        assert name in NAMES and row["why"] and isinstance(row["simulator"], list)


def test_errors_are_recorded_without_what_differs_between_machines():
    assert describe(ValueError("bad")) == "ValueError: bad"
    assert describe(NotImplementedError()) == "NotImplementedError"
    assert describe(OSError("no /a/b.cu at 0x7f00deadbeef")) == (
        "OSError: no <path> at <address>"
    )
    assert normal("a/b 1/2 0x1F") == "a/b 1/2 0x1F"


def test_the_recorder_doubts_what_its_programs_do_not_announce():
    program = next(one for one in PROGRAMS if one.name == "arrays.missing_functions")
    expected = runner.Answer(["AttributeError: no geomspace"], "AttributeError")
    typing_error = runner.Answer(["NameError: name 'cpp' is not defined"], "NameError")
    assert doubts(program, expected, expected) == []
    assert len(doubts(program, typing_error, typing_error)) == 2
    assert "hung" in doubts(program, expected, runner.Answer(trouble="it hung"))[0]


# what a device, or the simulator, must answer


def _no_backend():
    if backend.find_gpu() is None and not FACES.joinpath("cupy").is_dir():
        return "neither a GPU nor the simulator's CuPy is here"
    return ""


@pytest.fixture(scope="session")
def answers(request):
    """The answers of this machine to every program that this session asks about."""
    reason = _no_backend()
    if not reason:
        greeting, _ = runner.ask([])
        reason = greeting.get("absent", "")
    if reason:
        pytest.skip(reason)
    asked = {
        item.callspec.params["program"].name
        for item in request.session.items
        if getattr(item, "originalname", "") == "test_answer_is_the_recorded_one"
    }
    about = greeting["ready"]
    given = runner.run(program for program in PROGRAMS if program.name in asked)
    return about, given


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_answer_is_the_recorded_one(program, answers):
    about, given = answers
    recorded = _recorded()["answers"]
    if program.name not in recorded:
        pytest.skip("no recorded answer")
    expected = recorded[program.name]
    if "simulator" in about["device"].lower():
        expected = _differences().get(program.name, {}).get("simulator", expected)
    answer = given[program.name]
    assert not answer.trouble
    assert answer.output == expected, program.says
