"""The package's own structure: who imports whom, no circles, and how many lines a room has."""

import ast
import functools
import re
from pathlib import Path

import pytest

import nogpu

PACKAGE = Path(nogpu.__file__).parent
OTHER_ROOMS = ("helpers", "checks", "authoring", "install", "tests")
FACES = ("cupy", "cupyx", "cupy_backends", "pycuda")  # they are found by these names
# Each room of the package and the rooms that its modules may import. What stands directly in
# `nogpu` (finder, command line, plugins) finds the faces by their path and imports none of them.
MAY_IMPORT = {
    "engine": {"engine"},
    "faces": {"engine", "faces"},
    "inspect": {"engine", "inspect"},
    "nogpu": {"engine", "inspect", "nogpu"},
}
# The engine's layers, the lowest first: a module imports only modules that stand before it.
LAYERS = (
    "errors", "forking", "devices", "limits", "records", "switches", "options", "source",
    "symbols", "plain", "unset", "cache", "compiler", "native", "headers", "memory", "faults",
    "order", "counters", "module", "scheduler", "streams", "__init__", "arenas", "images",
    "indices", "layout", "special", "subscripts",
    "translate",  # from "arenas" on they know arrays, and nothing of kernels
)  # fmt: skip
NATIVE = {".h", ".cuh", ".cpp", ""}  # headers of CUDA's own names may have no suffix


def _name_of(path: Path) -> str:
    """A file's module, in full: ``nogpu.engine.memory``; a package is its ``__init__``."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts)


MODULES = {_name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def _module(name: str) -> str | None:
    """The module of this package that an import of ``name`` names, None for others'."""
    if name.partition(".")[0] in FACES:
        name = f"nogpu.faces.{name}"
    return next((m for m in (name, f"{name}.__init__") if m in MODULES), None)


@functools.cache
def _imports(name: str) -> set[str]:
    """Names of the modules that a module imports, also inside functions, in full."""
    package = name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {_module(alias.name) or alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            whole = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                found.add(_module(f"{whole}.{alias.name}") or _module(whole) or whole)
    return found - {name}


def _room(name: str) -> str:
    """The room of a module of the package."""
    parts = name.split(".")
    return parts[1] if parts[1] in MAY_IMPORT and len(parts) > 2 else "nogpu"


def _circles(modules: set[str]) -> list[list[str]]:
    """Groups of modules of which each imports, over some others, each (Tarjan's algorithm)."""
    index, low, stack, result = {}, {}, [], []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(_imports(name) & modules):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                result.append(sorted(group))

    for name in sorted(modules):
        if name not in index:
            visit(name)
    return result


def test_imports_are_read_inside_functions_and_relative():
    assert "nogpu.engine.memory" in _imports("nogpu.engine.scheduler")
    assert "nogpu.faces.cupyx._runtime" in _imports("nogpu.faces.cupy.__init__")


def test_nothing_imports_upward():
    upward = {
        (name, other)
        for name in MODULES
        for other in _imports(name)
        if other.partition(".")[0] in OTHER_ROOMS
        or (other in MODULES and _room(other) not in MAY_IMPORT[_room(name)])
    }
    assert not upward


@pytest.mark.parametrize("room", ["engine", "faces", "inspect", "nogpu"])
def test_no_modules_import_each_other_in_a_circle(room):
    assert not _circles({name for name in MODULES if _room(name) == room})


def test_rooms_form_no_circle():
    assert not _circles(set(MODULES))


def test_each_module_of_the_engine_imports_only_lower_layers():
    modules = [name for name in MODULES if _room(name) == "engine"]
    engine = {name.removeprefix("nogpu.engine."): name for name in modules}
    assert sorted(engine) == sorted(LAYERS)
    for i, layer in enumerate(LAYERS):
        lower = {engine[other] for other in LAYERS[:i]}
        assert _imports(engine[layer]) & set(MODULES) <= lower, layer


def test_the_array_stands_on_memory_and_streams_alone():
    """Routines stand above the array and become its methods in `_core/_methods.py`."""
    reached, left = set(), ["nogpu.faces.cupy._core.core"]
    while left:
        for other in _imports(left.pop()) & set(MODULES) - reached:
            reached.add(other)
            left.append(other)
    faces = {name.removeprefix("nogpu.faces.") for name in reached if _room(name) == "faces"}
    libraries = {name for name in faces if name.partition(".")[0] in FACES}
    assert {name.rpartition(".")[0] for name in libraries - {"cupy._util"}} <= {
        "cupy.cuda", "cupy_backends.cuda.api",
    }  # fmt: skip


def test_modules_are_imported_by_their_text_only_where_a_package_finds_its_parts():
    """An import hidden in a string would be an import that the tests above do not see."""
    found = {
        name.removeprefix("nogpu.faces.")
        for name in MODULES
        if _room(name) == "faces"
        for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "import_module"
    }
    assert found == {
        "missing",  # names that a package imports when they are asked for
        "cupy._core._methods",  # NumPy's protocols: the function of the same name
    }  # fmt: skip


def _lines(*folders: str) -> int:
    files = [
        path
        for folder in folders
        for path in (PACKAGE / folder).rglob("*")
        if path.is_file() and (path.suffix == ".py" or folder == "native" and path.suffix in NATIVE)
    ]
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


@pytest.mark.parametrize(
    "folders, most",
    [
        (("engine", "native"), 15_000),
        (("faces",), 18_000),
    ],
)
def test_room_stays_small(folders, most):
    assert 0 < _lines(*folders) <= most


def test_inspect_and_the_rest_stay_small():
    rest = sum(len(path.read_text(encoding="utf-8").splitlines())
               for name, path in MODULES.items() if _room(name) in ("inspect", "nogpu"))
    assert 0 < rest <= 1_500


def test_every_lock_is_held_over_a_fork():
    """A lock that another thread holds would stay locked in the child for ever (`forking`)."""
    found = []
    for name, path in MODULES.items():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(r"\bR?Lock\(\)", line) and not re.search(r"\bheld\(", line):
                found.append((name, number))
    # A module's own lock is replaced in the child: it is held as long as a compiler runs.
    assert {name for name, _ in found} == {"nogpu.engine.module"} and len(found) == 2
