"""`python -m nogpu` is `python`, with nogpu in it."""

import re
import zipfile

import pytest
from package_support import RACE, WHERE, names_the_race, run

PROBE = """\
import sys
state = {"name": __name__, "file": globals().get("__file__"), "spec": repr(__spec__),
         "package": __package__, "argv": sys.argv, "path": sys.path, "warnings": sys.warnoptions,
         "options": sys._xoptions, "flags": repr(sys.flags), "main": sorted(vars())}
for name, value in state.items():
    print(name, value)
print(sys.stdin.read())
sys.stdout.flush()
"""
CASES = {
    "script": ["probe.py", "a", "-b", "-m", "nogpu"],
    "script with options": ["-W", "error", "-Xdev", "-uB", "probe.py", "-c"],
    "module": ["-m", "probe", "a", "-b"],
    "module after a flag": ["-Bm", "probe", "a"],
    "package": ["-m", "folder.inner", "a"],
    "code": ["-c", "import probe", "a", "-b"],
    "folder": ["folder", "a"],
    "archive": ["archive.zip", "a"],
    "standard input": ["-", "a"],
    "missing file": ["missing.py", "a"],
    "missing module": ["-m", "missing", "a"],
    "package without main": ["-m", "folder.none"],
    "unknown option": ["--unknown"],
    "syntax error": ["syntax.py"],
    "exception": ["raises.py", "ValueError('no')"],
    "exception in a module": ["-m", "raises", "KeyError('no')"],
    "exit status": ["raises.py", "SystemExit(7)"],
    "exit text": ["raises.py", "SystemExit('reason')"],
    "interrupt": ["raises.py", "KeyboardInterrupt()"],
    "version": ["-V"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with programs of all kinds."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "probe.py").write_text(PROBE)
    (folder / "raises.py").write_text("import sys\ndef f():\n    raise eval(sys.argv[1])\nf()\n")
    (folder / "syntax.py").write_text("x = (\n")
    for inner in ("folder", "folder/inner", "folder/none"):
        (folder / inner).mkdir()
        (folder / inner / "__init__.py").write_text("")
    (folder / "folder" / "__main__.py").write_text(PROBE)
    (folder / "folder" / "inner" / "__main__.py").write_text(PROBE)
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", PROBE)
    (folder / "race.py").write_text(RACE)
    return folder


def said(done):
    """Exit status and output of a process, addresses of objects left out."""
    return done.returncode, *(re.sub("0x[0-9a-f]+", "", t) for t in (done.stdout, done.stderr))


@pytest.mark.parametrize("words", CASES.values(), ids=CASES.keys())
def test_the_program_cannot_tell_the_difference(folder, words):
    text = PROBE if words[0] == "-" else "some input"
    plain = run(*words, cwd=folder, text=text, expect=None)
    ours = run("-m", "nogpu", *words, cwd=folder, text=text, expect=None)
    assert said(ours) == said(plain)
    assert any(said(plain))


@pytest.mark.parametrize(
    "own", [["-um", "nogpu"], ["-mnogpu"], ["-X", "dev", "-Wi", "-m", "nogpu"]]
)
def test_own_options_of_python_are_kept(folder, own):
    options = [word.replace("mnogpu", "").removesuffix("m") for word in own]
    options = [word for word in options if word not in ("-", "nogpu")]
    plain = run(*options, "probe.py", "a", cwd=folder, text="")
    assert run(*own, "probe.py", "a", cwd=folder, text="").stdout == plain.stdout


@pytest.mark.parametrize("words", [["-c", "WHERE"], ["-m", "where"], ["where.py"], ["-"]])
def test_every_kind_of_program_finds_nogpu_s_cupy(folder, words):
    text = WHERE + "print(where())"
    (folder / "where.py").write_text(text)
    words = [text if word == "WHERE" else word for word in words]
    assert run("-m", "nogpu", *words, cwd=folder, text=text).stdout == "nogpu\n"


def test_a_race_is_named(folder):
    done = run("-m", "nogpu", "race.py", cwd=folder, expect=1)
    assert names_the_race(done.stderr)


def test_a_fault_that_nothing_waited_for_is_named_at_the_end(folder):
    (folder / "waits_not.py").write_text("import race\nrace.launch()\nprint('end')\n")
    done = run("-m", "nogpu", "waits_not.py", cwd=folder)
    assert done.stdout == "end\n" and names_the_race(done.stderr)
    assert done.stderr.startswith("The program ended without waiting for this:\nnogpu.Race: ")
    assert len(done.stderr.splitlines()) == 3


def test_a_kernel_without_end_does_not_keep_the_program(folder):
    (folder / "endless.py").write_text("""\
import cupy as cp
code = 'extern "C" __global__ void wait(volatile int* x) { while (*x == 0) ; }'
wait = cp.RawKernel(code, "wait")
wait((1,), (1,), (cp.zeros(1, dtype=cp.int32),))
""")
    assert run("-m", "nogpu", "endless.py", cwd=folder).stderr == ""


def test_it_may_follow_another_tool(folder):
    (folder / "where.py").write_text(WHERE + "print(where())")
    done = run("-m", "cProfile", "-m", "nogpu", "where.py", cwd=folder)
    assert done.stdout.startswith("nogpu\n") and "function calls" in done.stdout


@pytest.mark.parametrize("option", ["-I", "-E", "-S", "-uE"])
def test_options_by_which_python_passes_over_nogpu_are_refused(folder, option):
    done = run("-m", "nogpu", option, "probe.py", cwd=folder, expect=1)
    assert done.stderr.startswith("nogpu: with -I, -E or -S Python passes over PYTHONPATH")


@pytest.mark.parametrize(
    "words",
    [["-W", "E", "probe.py"], ["-WI", "probe.py"], ["probe.py", "-I"], ["-c", "0", "-I"],
     ["-cE = 0"], ["-mES"], ["--check-hash-based-pycs", "-E", "-V"]],
)  # fmt: skip
def test_only_python_s_own_options_are_meant(folder, words):
    (folder / "ES.py").write_text("")
    refused = run("-m", "nogpu", *words, cwd=folder, text="", expect=None).stderr
    assert "passes over PYTHONPATH" not in refused


def test_help():
    done = run("-m", "nogpu", "--help")
    assert "python -m nogpu script.py" in done.stdout
    assert run("-m", "nogpu", expect=2).stderr == done.stdout


def test_started_in_another_way():
    code = "import runpy; runpy.run_module('nogpu', run_name='__main__')"
    done = run("-c", code, "script.py", expect=1)
    assert done.stderr == "nogpu: start it as `python -m nogpu`, from a command line\n"
