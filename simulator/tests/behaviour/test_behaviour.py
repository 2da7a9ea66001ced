"""CuPy and PyCUDA, or the simulator in their place, answer as a real GPU machine did."""

import functools
import json
import re
from collections import Counter

import pytest

from . import differences, runner
from .collect import LIBRARIES, NAMES, RECORDED, programs
from .record import doubts
from .worker import describe, normal

AT_LEAST = {"cupy": 220, "pycuda": 110}
PROGRAMS = {library: programs(library) for library in LIBRARIES}
ALL = [program for library in LIBRARIES for program in PROGRAMS[library]]
each_library = pytest.mark.parametrize("library", LIBRARIES)


def _names(library):
    return [program.name for program in PROGRAMS[library]]


def _recorded(library):
    path = RECORDED / f"{library}.json"
    if not path.exists():
        pytest.skip(f"{path.name} is not there: python -m tests.behaviour.record writes it")
    return json.loads(path.read_text(encoding="utf-8"))


def _differences(library):
    name = "differences.json" if library == "cupy" else f"{library}_differences.json"
    return json.loads((RECORDED / name).read_text(encoding="utf-8"))


# what holds on every machine


@each_library
def test_there_are_enough_programs_and_each_has_one_name(library):
    names = _names(library)
    assert len(names) >= AT_LEAST[library]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_each_program_is_short_compiles_and_says_what_it_shows():
    for program in ALL:
        program.code()
        assert program.says.endswith("."), program.name
        assert 1 <= program.length <= 16, program.name


@each_library
def test_programs_and_recorded_answers_belong_together(library):
    recorded, names = _recorded(library), _names(library)
    assert recorded["unstable"] == {}
    answers = recorded["answers"]
    assert sorted(set(names) - set(answers)) == [], "programs without a recorded answer"
    assert sorted(set(answers) - set(names)) == [], "recorded answers without a program"
    assert all(answers.values())


@each_library
def test_the_recording_names_its_machine(library):
    about = _recorded(library)["recorded"]
    assert set(about) >= {"device", "cupy", library, "cuda_runtime", "numpy", "date"}
    assert "nogpu" not in about["device"]


@each_library
def test_no_recorded_answer_has_an_address_a_path_or_a_time_in_it(library):
    recorded = _recorded(library)
    device = recorded["recorded"]["device"]
    pattern = re.compile(r"0x[0-9a-f]{5,}|\b1[34]\d{13}\b|\d\d:\d\d:\d\d|\b\d+\.\d+ [mu]s\b")
    found = {
        name: line
        for name, lines in recorded["answers"].items()
        for line in lines
        if pattern.search(line) or device in line or normal(line) != line
    }
    assert found == {}


@each_library
def test_public_names_are_recorded(library):
    recorded = json.loads(NAMES.read_text(encoding="utf-8"))[library]
    assert "nogpu" not in recorded["recorded"]["device"]
    names = recorded["names"]
    if library == "cupy":
        assert "asarray" in names["cupy"] and "get" in names["cupy.ndarray"]
    else:
        assert "mem_alloc" in names["pycuda.driver"] and "get" in names["pycuda.gpuarray.GPUArray"]
    assert not [one for found in names.values() for one in found if one.startswith("_")]


@each_library
def test_differences_of_the_simulator_have_a_program_and_a_reason(library):
    for name, row in _differences(library).items():
        assert name in _names(library) and row["why"] and isinstance(row["simulator"], list)


def test_the_simulators_readme_shows_the_differences():
    assert differences.table() in differences.README.read_text(encoding="utf-8")


def test_errors_are_recorded_without_what_differs_between_machines():
    assert describe(ValueError("bad")) == "ValueError: bad"
    assert describe(NotImplementedError()) == "NotImplementedError"
    assert describe(OSError("no /a/b.cu at 0x7f00deadbeef")) == (
        "OSError: no <path> at <address>"
    )
    assert normal("a/b 1/2 0x1F") == "a/b 1/2 0x1F"


def test_the_recorder_doubts_what_its_programs_do_not_announce():
    program = next(one for one in ALL if one.name == "arrays.missing_functions")
    expected = runner.Answer(["AttributeError: no geomspace"], "AttributeError")
    typing_error = runner.Answer(["NameError: name 'cpp' is not defined"], "NameError")
    assert doubts(program, expected, expected) == []
    assert len(doubts(program, typing_error, typing_error)) == 2
    assert "hung" in doubts(program, expected, runner.Answer(trouble="it hung"))[0]


# what a device, or the simulator, must answer

# How older NumPys word what the recording has in the words of its own.
OLDER_WORDS = {
    " To learn more, see the migration guide"
    " https:/<path>#adapting-to-changes-in-the-copy-keyword": "",
    "4.096e+03": "4096.0",
}


def in_older_words(lines):
    """Lines as every NumPy that nogpu allows would print them."""
    for newer, older in OLDER_WORDS.items():
        lines = [line.replace(newer, older) for line in lines]
    return lines


def _ask(library, request):
    """What this machine answers to the programs asked about, or why there is no answer."""
    greeting, _ = runner.ask([], library)
    if "ready" not in greeting:
        return greeting["absent"], {}
    asked = {
        item.callspec.params["program"]
        for item in request.session.items
        if getattr(item, "originalname", "") == "test_answer_is_the_recorded_one"
    }
    given = runner.run(program for program in PROGRAMS[library] if program in asked)
    return greeting["ready"], given


@pytest.fixture(scope="session")
def answers(request):
    """A function of a library: its versions here, or why it is absent, and its answers."""
    return functools.cache(lambda library: _ask(library, request))


@pytest.mark.parametrize("program", ALL, ids=[f"{one.library}-{one.name}" for one in ALL])
def test_answer_is_the_recorded_one(program, answers):
    about, given = answers(program.library)
    if isinstance(about, str):
        pytest.skip(about)
    recorded = _recorded(program.library)["answers"]
    if program.name not in recorded:
        pytest.skip("no recorded answer")
    expected = recorded[program.name]
    if "nogpu" in about["device"]:
        expected = _differences(program.library).get(program.name, {}).get("simulator", expected)
    answer = given[program.name]
    assert not answer.trouble
    assert in_older_words(answer.output) == in_older_words(expected), program.says
