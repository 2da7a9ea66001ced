"""`%load_ext nogpu` in IPython, as in a notebook."""

import pytest
from package_support import PACKAGE, RACE, run

pytest.importorskip("IPython")

SESSION = """\
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="NoColor")
for cell in {cells!r}:
    shell.run_cell(cell)
"""


def session(tmp_path, *cells):
    """What IPython prints for these cells."""
    return run("-c", SESSION.format(cells=cells), IPYTHONDIR=str(tmp_path)).stdout


def test_extension_installs_nogpu_and_shows_faults_without_its_own_frames(tmp_path):
    out = session(tmp_path, "%load_ext nogpu", RACE.split("if __name__")[0], "launch().get()")
    assert "----> 1 launch().get()" in out
    assert "Race: kernel 'reverse', kernel.cu:4: thread (" in out
    assert str(PACKAGE) not in out and "get(self" not in out
    assert len(out.splitlines()) < 10


def test_other_errors_are_shown_as_ever(tmp_path):
    plain = session(tmp_path, "1 / 0")
    assert session(tmp_path, "%load_ext nogpu", "1 / 0") == plain
    assert "ZeroDivisionError" in plain


def test_unloading(tmp_path):
    out = session(tmp_path, "%load_ext nogpu", "import cupy", "%unload_ext nogpu", "import cupy",
                  "shell = get_ipython(); print(shell.custom_exceptions)")  # fmt: skip
    assert "No module named 'cupy'" in out
    assert out.endswith("()\n")


def test_a_real_library_is_named(tmp_path):
    out = session(tmp_path, "import sys, types; sys.modules['cupy'] = m = types.ModuleType('cupy');"
                            " m.__file__ = 'elsewhere'", "%load_ext nogpu")  # fmt: skip
    assert "RuntimeError: The real cupy is imported already." in out
