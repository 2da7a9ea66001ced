"""What a check says where the machine keeps it from judging, and what nbgrader gets then."""

import errno
import os
import tempfile

import numpy as np
import pytest

import helpers

helpers.start()

import checks  # noqa: E402
from checks import NothingJudged, first_kernels  # noqa: E402
from checks.machinery.environment import hindrance_in  # noqa: E402
from checks.machinery.task import Mistake, Task  # noqa: E402
from nogpu import engine  # noqa: E402

RIGHT = first_kernels.DECAY
WRONG = RIGHT.replace("i += step", "i += n")
STUB = 'extern "C" __global__ void decay() {\n    // YOUR CODE HERE\n}'


@pytest.fixture
def compiler(monkeypatch, tmp_path):
    """Makes the only compiler of the machine one that says a text and fails."""

    def install(says):
        program = tmp_path / "broken-compiler"
        program.write_text("#!/bin/sh\n"
                           '[ "$1" = --version ] && echo "g++ 0" && exit\n'
                           f"cat > /dev/null\necho '{says}' >&2\nexit 1\n")
        program.chmod(0o700)
        monkeypatch.setenv("CXX", str(program))

    return install


@pytest.fixture
def calls(monkeypatch):
    """How often a kernel was compiled."""
    made = []
    build = engine.compiler.Compiler.build
    monkeypatch.setattr(engine.compiler.Compiler, "build",
                        lambda *args: made.append(args) or build(*args))
    return made


def new(source):
    """The source as no cache knows it."""
    return f"{source}\n// {os.urandom(8).hex()}"


def no_compiler(monkeypatch, compiler):
    monkeypatch.setattr(engine.compiler, "probe", lambda command: None)
    return "no C++ compiler is here. Install one: "


def full_disk(monkeypatch, compiler):
    compiler("decay.cu:9:1: fatal error: error writing to cc.s: No space left on device")
    return "a disk is full. Make room in "


def no_memory(monkeypatch, compiler):
    compiler("c++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.")
    return "no memory left"


def half_a_compiler(monkeypatch, compiler):
    compiler("c++: fatal error: cannot execute ‘cc1plus’: execvp: No such file or directory")
    return "the C++ compiler does not work: "


def failing_folder(number):
    def break_it(monkeypatch, compiler):
        # As if raised by the library itself, which calls it to make a temporary folder.
        code = compile(f"def mkdir(*args): raise OSError({number}, 'no', 'x')",
                       tempfile.__file__, "exec")
        space = {}
        exec(code, space)
        monkeypatch.setattr(tempfile._os, "mkdir", space["mkdir"])
        return {errno.ENOMEM: "no memory left", errno.ENOSPC: "a disk is full",
                errno.EDQUOT: "a disk is full"}.get(number, "a folder cannot be written")

    return break_it


def no_folder(monkeypatch, compiler):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/nowhere/at/all"])
    return "a folder cannot be written"


def no_pyelftools(monkeypatch, compiler):
    monkeypatch.setattr(engine.symbols, "ELFFile", None)
    return "the package pyelftools is missing. Install it: python -m pip install pyelftools"


# On a GPU machine CUDA's own compiler builds the answer.
without_gpu = pytest.mark.skipif(helpers.backend._started.name == "cuda",
                                 reason="a GPU machine needs no C++ compiler of its own")
FAILURES = [no_compiler, full_disk, no_memory, half_a_compiler, no_folder, no_pyelftools,
            *map(failing_folder, (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES,
                                  errno.ENOMEM))]


@without_gpu
@pytest.mark.parametrize("failure", FAILURES, ids=lambda f: f.__qualname__.split(".")[0])
def test_a_failure_of_the_machine_is_no_verdict_on_the_answer(
        failure, monkeypatch, compiler, calls, capsys):
    assert first_kernels.decay.judge(RIGHT).state == "ok"
    calls.clear()
    remedy = failure(monkeypatch, compiler)
    for source in (RIGHT, WRONG):
        first_kernels.decay(new(source))
        said = " ".join(capsys.readouterr().out.split())
        assert said.startswith("[unchecked] decay: could not be checked: "), said
        assert remedy in said and "This looks like" not in said
    assert len(calls) <= 2, "the first failure ends a check"
    first_kernels.decay(STUB)
    assert capsys.readouterr().out == "[todo] decay: not attempted yet\n"
    monkeypatch.undo()
    assert first_kernels.decay.judge(new(RIGHT)).state == "ok", "once repaired it judges again"
    assert first_kernels.decay.judge(new(WRONG)).state == "no"


@without_gpu
def test_nbgrader_gets_an_error_that_says_that_nothing_was_judged(monkeypatch, compiler):
    checks.stop_grading_without_kernels()  # does nothing where nobody grades
    assert first_kernels.decay.judge(RIGHT).state == "ok"
    no_compiler(monkeypatch, compiler)
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(NothingJudged, match="nothing is said of the answer: decay could not be"):
        first_kernels.decay(new(RIGHT))
    with pytest.raises(NothingJudged, match="Nothing was judged.*no C.. compiler"):
        checks.stop_grading_without_kernels()
    monkeypatch.undo()
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    checks.stop_grading_without_kernels()


def test_a_line_on_standard_error_costs_no_points(monkeypatch, capsys):
    def ratio(x):
        return x / x

    task = Task("ratio", lambda x: np.array([np.nan]), lambda: [(np.zeros(1),)])
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.warns(RuntimeWarning):
        task(ratio)

    def loud(x):
        import sys

        print("a warning", file=sys.stderr)
        return np.array([np.nan])

    task(loud)
    out, err = capsys.readouterr()
    assert "a warning" in out and not err


def raises(error):
    def answer(x):
        raise error

    return answer


@pytest.mark.parametrize("answer, words", [
    (raises(OSError(errno.ENOSPC, "No space left on device")), "it raised OSError"),
    (raises(PermissionError(errno.EACCES, "no")), "it raised PermissionError"),
    (raises(engine.CompilerNotFound("There is none.")), "it raised CompilerNotFound"),
    (raises(ModuleNotFoundError("No module named 'elftools'")), "it raised ModuleNotFoundError"),
    (raises(MemoryError()), "it raised MemoryError"),
    (lambda x: np.zeros(2**57), "it raised _ArrayMemoryError"),
    (lambda x: np.full(2**57, 1.0), "it raised _ArrayMemoryError"),
    (lambda x: tempfile.mkdtemp(dir="/proc/self"), "it raised "),
    (lambda x: open("/proc/self/nowhere/x", "w"), "it raised FileNotFoundError"),
])
def test_an_answers_own_error_is_the_answers(answer, words):
    verdict = Task("f", lambda x: x, lambda: [(1,)]).judge(answer)
    assert verdict.state == "no" and words in verdict.text, verdict.text


def test_an_array_that_no_device_holds_is_the_answers():
    import cupy

    def huge(x):
        return cupy.zeros(2**50)

    verdict = Task("f", lambda x: x, lambda: [(1,)]).judge(huge)
    assert verdict.state == "no" and "OutOfMemoryError" in verdict.text


def test_memory_that_the_system_refuses_is_no_mistake(monkeypatch):
    assert "no memory" in hindrance_in(engine.OutOfMemory(100, used=10, capacity=1000))
    assert hindrance_in(engine.OutOfMemory(100, used=950, capacity=1000)) is None


def test_a_case_or_a_specification_that_the_machine_cannot_make():
    # A function of the room `checks`, as its lessons' are.
    space = {"np": np}
    exec(compile("def spec(x): return np.zeros(2**57)\ndef cases(): return [(np.zeros(2**57),)]",
                 os.path.join(os.path.dirname(first_kernels.__file__), "some.py"), "exec"), space)
    for task in (Task("f", space["spec"], lambda: [(1,)]), Task("f", lambda x: x, space["cases"])):
        verdict = task.judge(lambda x: x)
        assert verdict.state == "unchecked" and "no memory left" in verdict.text, verdict.text


def test_a_compilers_complaint_about_the_answer_stays_one(monkeypatch):
    words = "#error : No space left on device"
    verdict = first_kernels.decay.judge(RIGHT.replace("    int step", f"{words}\n    int step"))
    assert verdict.state == "no" and "it does not compile" in verdict.text


def test_a_mistake_is_not_tried_after_a_failure_of_the_machine():
    tried = []
    space = {}
    exec(compile("def fails(x): raise OSError(28, 'No space left on device')",
                 first_kernels.__file__, "exec"), space)
    task = Task("f", lambda x: x, lambda: [(1,), (2,)],
                mistakes=[Mistake("anything", lambda x: tried.append(x))])
    assert task.judge(space["fails"]).state == "unchecked"
    assert not tried
