"""After a restart in the middle of a lesson the kernel says which cell to run first."""

import os
import shutil
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

ROOT = Path(__file__).resolve().parents[2]
HINT = "In a notebook of the course run its first cell"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a cell in a kernel that has run `first_cell.py`: the error's name, what it prints."""
    folder = tmp_path_factory.mktemp("ipython")
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True)
    shutil.copy(ROOT / "install" / "first_cell.py", startup)
    variables = {**os.environ, "IPYTHONDIR": str(folder), "COURSE_BACKEND": "simulator",
                 "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "simulator" / "src")])}
    manager, client = start_new_kernel(kernel_name="python3", env=variables)

    def run(cell):
        printed = []

        def note(message):
            if message["msg_type"] == "stream":
                printed.append(message["content"]["text"])

        reply = client.execute_interactive(cell, output_hook=note, timeout=60,
                                           stop_on_error=False)
        return reply["content"].get("ename"), "".join(printed)

    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_the_first_cell_is_named_until_it_was_run(run):
    for cell, error in (("import cupy", "ModuleNotFoundError"), ("cp.arange(3)", "NameError")):
        name, printed = run(cell)
        assert name == error and HINT in printed
    assert run("1 / 0") == ("ZeroDivisionError", "")
    run("import helpers")
    assert HINT in run("import cupy as cp")[1]
    assert run("helpers.start()")[0] is None
    assert run("cp.arange(3)") == ("NameError", "")
    assert run("import no_such_module") == ("ModuleNotFoundError", "")
    # IPython drops a handler that fails; this one is still there, because it did not.
    assert run("print(get_ipython().custom_exceptions)")[1].count("class") == 2


def test_nothing_of_it_is_seen_in_the_notebook(run):
    assert run("%who")[1].split() in (["helpers"], "Interactive namespace is empty.".split())
