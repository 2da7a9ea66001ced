"""What `nogpu` offers, and what importing it costs."""

import ast
import pickle
import traceback

import pytest
from package_support import PACKAGE, run

import nogpu
from nogpu import engine
from nogpu.engine import faults

FAULTS = {
    name
    for name, value in vars(faults).items()
    if isinstance(value, type) and issubclass(value, faults.KernelFault)
}


def test_public_are_the_switches_the_counters_inspect_and_the_faults():
    assert set(nogpu.__all__) == FAULTS | {"checks", "counting", "inspect", "install", "uninstall"}
    assert {n for n in dir(nogpu) if not n.startswith("__")} == set(nogpu.__all__)


def test_type_checkers_see_the_same_names():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    named = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    assert named == set(nogpu.__all__)


@pytest.mark.parametrize("name", sorted({*FAULTS, "checks", "counting"}))
def test_name_is_the_engine_s(name):
    assert getattr(nogpu, name) is getattr(engine, name)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_faults_call_themselves_by_their_public_names(name):
    fault = getattr(nogpu, name)("text")
    assert traceback.format_exception_only(fault) == [f"nogpu.{name}: text\n"]
    assert type(pickle.loads(pickle.dumps(fault))) is getattr(nogpu, name)


def test_a_program_s_own_fault_is_its_own():
    assert type("Mine", (nogpu.Race,), {"__module__": "mine"}).__module__ == "mine"


def test_inspect_is_a_module_that_can_be_called():
    assert nogpu.inspect.Report.__module__.startswith("nogpu.inspect")
    with pytest.raises(TypeError, match="cannot find the source of this int"):
        nogpu.inspect(1, 1, 1)


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'nogpu' has no attribute 'instal'"):
        nogpu.instal  # noqa: B018


def test_importing_and_installing_imports_neither_numpy_nor_the_engine():
    code = """
import sys
before = set(sys.modules)
import nogpu
nogpu.install()
nogpu.install()
print(*sorted(set(sys.modules) - before))
"""
    loaded = run("-I", "-c", f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})" + code)
    loaded = loaded.stdout.split()
    assert [name for name in loaded if name.startswith("nogpu")] == [
        "nogpu", "nogpu.children", "nogpu.finder",
    ]  # fmt: skip
    heavy = {"collections", "inspect", "numpy", "pathlib", "re", "typing"}
    assert not heavy & set(loaded)
