"""`install` and `uninstall`: what `import cupy` finds, and what is left afterwards."""

import pytest
from package_support import WHERE, run

LIBRARIES = ("cupy", "cupyx", "cupy_backends", "pycuda")


@pytest.fixture
def real(tmp_path):
    """A folder with packages that stand for the real libraries."""
    for name in LIBRARIES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("real = True\n")
    return tmp_path


def run_with(real, code):
    return run("-c", WHERE + code, path=(real, *run.__kwdefaults__["path"])).stdout


def test_all_four_libraries_and_their_modules_are_found(real):
    out = run_with(real, f"""
import nogpu
nogpu.install()
import cupy.cuda.stream, cupyx.scipy.special, cupy_backends.cuda.api.runtime, pycuda.driver
import sys
for name in {LIBRARIES}:
    assert "nogpu/faces" in sys.modules[name].__file__ and sys.modules[name].__spec__.name == name
    print(name)
""")
    assert out.split() == list(LIBRARIES)


def test_nothing_is_replaced_before_install(real):
    assert run_with(real, "import nogpu; print(where())") == "elsewhere\n"


def test_installing_twice_changes_nothing():
    out = run("-c", """
import os, sys, nogpu
nogpu.install()
before = list(sys.meta_path), os.environ["PYTHONPATH"], list(sys.path)
nogpu.install()
assert before == (sys.meta_path, os.environ["PYTHONPATH"], sys.path)
nogpu.uninstall()
nogpu.uninstall()
assert len(sys.meta_path) == len(before[0]) - 1
""")
    assert out.stderr == ""


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_real_library_that_is_imported_is_named_and_nothing_changes(real, name):
    out = run_with(real, f"""
import os, sys, nogpu
before = os.environ["PYTHONPATH"], list(sys.meta_path)
import {name}
try:
    nogpu.install()
except RuntimeError as error:
    print(error)
assert before == (os.environ["PYTHONPATH"], sys.meta_path)
""")
    assert out == (
        f"The real {name} is imported already. Call nogpu.install() before `import {name}`, "
        "in a fresh process.\n"
    )


def test_uninstall_lets_the_real_library_be_found_and_leaves_it_alone(real):
    out = run_with(real, """
import sys, nogpu
nogpu.install()
import cupy
held = cupy.arange(4)
nogpu.uninstall()
assert not [name for name in sys.modules if name.split(".")[0] == "cupy"]
import cupy
print(cupy.real, int(held.sum()))
nogpu.uninstall()
assert sys.modules["cupy"] is cupy
""")
    assert out == "True 6\n"


def test_install_after_uninstall():
    out = run("-c", """
import nogpu
for _ in range(2):
    nogpu.install()
    import cupy, pycuda.autoinit, pycuda.gpuarray
    print(int(cupy.arange(4).sum()), pycuda.gpuarray.to_gpu(cupy.arange(4).get() + 1).get().sum())
    nogpu.uninstall()
""").stdout
    assert out == "6 10\n6 10\n"


def test_nogpu_is_not_a_distribution_called_cupy():
    # Metadata describe what is installed. pip and whoever reads them must not be told otherwise;
    # a program that asks the module for its version is answered.
    run("-c", """
import nogpu
from importlib.metadata import PackageNotFoundError, packages_distributions, version
def versions():
    for name in ("cupy", "cupy-cuda12x", "cupy-cuda13x", "pycuda"):
        try:
            yield version(name)
        except PackageNotFoundError:
            yield None
before = list(versions())
nogpu.install()
import cupy, pycuda
assert list(versions()) == before
assert cupy.__version__.split(".")[0] >= "14" and pycuda.VERSION_TEXT
""")
