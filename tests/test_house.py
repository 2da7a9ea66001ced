"""The house: which rooms there are, what each holds, how large it may be, and who imports whom.

The table of architecture.md. `python -m authoring house` prints the picture of what there is.
"""

import json
import sys
from pathlib import PurePath

import pytest
from house import Module, circles, files_of, picture, read_house, room_of, room_of_import

# What stands in the course's folder.
TOP = {
    "folders": {"notebooks", "solutions", "exercises", "helpers", "checks", "simulator",
                "authoring", "publishing", "install", "docs", "tests", ".binder", ".ci",
                ".devcontainer", ".github"},
    "files": {"README.md", "README.zh.md", "AGENTS.md", "CITATION.cff", "CONTRIBUTING.md",
              "environment.yml", "Makefile", "pyproject.toml", "LICENSE",
              "LICENSE-CC-BY-4.0", ".gitignore", "conftest.py", "MANIFEST.in"},
}
# Each room's own folders, and the endings of its files.
ROOMS = {
    "notebooks": (set(), {".ipynb", ".md"}),
    "solutions": (set(), {".ipynb"}),
    "exercises": (set(), {".ipynb"}),
    "helpers": ({"draw", "tune", "timeline", "data", "kernels"},
                {".py", ".json", ".npz", ".md", ".png", ".cu", ".j2"}),
    "checks": ({"machinery", "grading", "learner"}, {".py"}),
    "authoring": ({"profiles", "template"}, {".py", ".ipynb", ".txt"}),
    "publishing": (set(), {".py"}),
    "install": ({"pages", "learner"}, {".py", ".j2", ".json"}),
    "docs": (set(), {".md", ".py", ".css", ".svg"}),  # conf.py and what it names: the site's
    "tests": ({"helpers", "checks", "authoring", "publishing", "install", "notebooks"},
              {".py", ".json", ".txt"}),
}
# Lines of Python, at most; nogpu's limits stand in simulator/tests/test_structure.py.
LIMITS = {
    "helpers": 7_000, "helpers without draw": 4_000, "checks": 9_000, "checks/machinery": 1_500,
    "authoring": 3_000, "publishing": 600,
    "install": 900, "install/learner": 600,  # each without the other
}
# Whom a room may import besides itself.
MAY_IMPORT = {
    "helpers": {"nogpu"},
    "checks": {"helpers", "nogpu"},
    "authoring": {"helpers", "checks", "nogpu", "install"},
    "publishing": {"helpers", "authoring"},
    "install": set(),
    "nogpu": set(),
    "simulator": {"nogpu"},
    "simulator/tests": {"nogpu"},
    "notebooks": {"helpers", "checks"},
    "exercises": {"helpers", "checks"},
    "solutions": {"helpers", "checks"},
    "tests": {"helpers", "checks", "authoring", "publishing", "install", "nogpu"},
}
# In helpers only the backend, and what shows an inspection.
SEE_NOGPU = {"helpers.backend", "helpers.inspection", "helpers.tune.simulator"}
# Pictures get plain data: of the rest of helpers they may import only this.
DRAW_MAY_IMPORT = {"helpers.formats"}
WITHOUT_CIRCLES = ("helpers", "checks", "authoring", "publishing", "install")


@pytest.fixture(scope="module")
def house():
    return read_house()


# ---- the rules, each as a function that names what breaks it -------------------------------------


def misplaced(paths):
    """Files and folders that the house has no place for."""
    wrong = []
    for path in map(PurePath, paths):
        room, *inside = path.parts
        if not inside:
            wrong += [str(path)] * (room not in TOP["files"])
        elif room not in TOP["folders"]:
            wrong.append(str(path))
        elif room in ROOMS:
            folders, endings = ROOMS[room]
            if len(inside) > 1 and inside[0] not in folders or path.suffix not in endings:
                wrong.append(str(path))
    return wrong


def too_long(house):
    """Rooms with more lines of Python than their limit."""
    lines = dict.fromkeys(LIMITS, 0)
    for module in house.values():
        in_learner = module.path.startswith("install/learner/")
        parts = {
            "checks/machinery": module.path.startswith("checks/machinery/"),
            "helpers without draw": module.room == "helpers"
            and not module.path.startswith("helpers/draw/"),
            "install/learner": in_learner,
        }
        whole = [] if in_learner else [module.room]
        for room in (*whole, *(part for part, has in parts.items() if has)):
            if room in lines:
                lines[room] += module.lines
    return {room: count for room, count in lines.items() if count > LIMITS[room]}


def forbidden_imports(house):
    """Pairs of a module and what it must not import."""
    wrong = []
    for module in house.values():
        for name in sorted(module.imports):
            other = room_of_import(name)
            allowed = other == module.room or other in MAY_IMPORT[module.room]
            if module.room == "helpers" and other == "nogpu":
                allowed = module.name in SEE_NOGPU
            if module.name.startswith("helpers.draw") and other == "helpers":
                allowed = name.startswith("helpers.draw") or name in DRAW_MAY_IMPORT
            if not allowed:
                wrong.append((module.name, name))
    return wrong


def missing_modules(house):
    """Pairs of a module and a module of ours that it imports and that there is not."""
    return [(module.name, name) for module in house.values() for name in sorted(module.imports)
            if name not in house]


def shadowing(house):
    """Modules of helpers that are called like a module of the standard library."""
    return [module.path for module in house.values() if module.room == "helpers"
            and module.name.rsplit(".", 1)[-1] in sys.stdlib_module_names]


# ---- the house ----------------------------------------------------------------------------------


def test_each_file_is_in_a_room_that_is_meant_for_it():
    assert not misplaced(files_of())


def test_each_room_is_as_small_as_it_should_be(house):
    assert not too_long(house), f"\n{picture(house)}"


def test_arrows_point_down_only(house):
    assert not forbidden_imports(house), f"\n{picture(house)}"


def test_each_exception_is_needed(house):
    users = {m.name for m in house.values() if m.room == "helpers"
             and any(room_of_import(name) == "nogpu" for name in m.imports)}
    drawn = {name for m in house.values() if m.name.startswith("helpers.draw")
             for name in m.imports if not name.startswith("helpers.draw")}
    assert users == SEE_NOGPU and drawn == DRAW_MAY_IMPORT


def test_all_that_is_imported_exists(house):
    assert not missing_modules(house)


@pytest.mark.parametrize("room", WITHOUT_CIRCLES)
def test_no_modules_import_each_other_in_a_circle(house, room):
    found = circles({name: m for name, m in house.items() if m.room == room})
    assert not found, f"\n{picture(house)}"


def test_rooms_form_no_circle(house):
    rooms = {room: Module(room, room, "", 0, frozenset(
        room_of_import(name) for m in house.values() if m.room == room
        for name in m.imports) - {room}) for room in MAY_IMPORT}
    assert not circles(rooms)


def test_no_module_of_helpers_hides_the_standard_librarys(house):
    assert not shadowing(house)


def test_the_picture_has_every_room_and_no_arrow_up(house):
    text = picture(house)
    for room in MAY_IMPORT:
        assert f"\n{room} " in f"\n{text}"
    assert "helpers" in text.split("\nchecks ")[1].split("\n")[0]
    assert "UP:" not in text


# ---- each rule can fail -------------------------------------------------------------------------


def toy(root, files):
    """A house with these files, of which those of `notebooks` are notebooks of one cell."""
    for path, source in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".ipynb"):
            source = json.dumps({"cells": [{"cell_type": "code", "source": [source]}]})
        (root / path).write_text(source)
    return read_house(root, files)


@pytest.mark.parametrize("path", [
    "helpers/publish.html", "checks/answers/a.py", "lesson.py", "scripts/run.sh", "docs/x/y.md",
    "notebooks/helper.py",
])
def test_a_file_without_a_room_is_noticed(path):
    assert misplaced([path]) == [path]
    assert not misplaced(["helpers/draw/a.py", "checks/a.py", "README.md", "simulator/src/x.cpp"])


@pytest.mark.parametrize("path, room", [
    ("helpers/a.py", "helpers"), ("helpers/tune/a.py", "helpers without draw"),
    ("checks/a.py", "checks"), ("checks/machinery/a.py", "checks/machinery"),
    ("authoring/a.py", "authoring"), ("install/a.py", "install"),
    ("install/learner/a.py", "install/learner"),
])
def test_a_room_that_is_too_large_is_noticed(tmp_path, path, room):
    assert room in too_long(toy(tmp_path, {path: "x = 1\n" * (LIMITS[room] + 1)}))
    assert room not in too_long(toy(tmp_path, {path: "x = 1\n" * LIMITS[room]}))
    assert not too_long(toy(tmp_path, {"helpers/draw/a.py": "x = 1\n" * 5_000}))


@pytest.mark.parametrize("path, source, imported", [
    ("helpers/a.py", "import checks.task", "checks.task"),
    ("helpers/a.py", "def f():\n    from authoring import index", "authoring.index"),
    ("helpers/a.py", "from nogpu import engine", "nogpu.engine"),
    ("helpers/draw/a.py", "from ..tune import result", "helpers.tune.result"),
    ("helpers/draw/a.py", "from .. import timing", "helpers.timing"),
    ("checks/a.py", "from tests import contrast", "tests.contrast"),
    ("install/a.py", "import helpers", "helpers"),
    ("simulator/src/nogpu/inspect/a.py", "import helpers.timing", "helpers.timing"),
    ("simulator/tests/a.py", "import checks", "checks"),
    ("notebooks/a.ipynb", "%time 1\nfrom authoring import index", "authoring.index"),
    ("notebooks/a.ipynb", "try:\n    !git clone\n    from nogpu import engine\nexcept: pass",
     "nogpu.engine"),
])
def test_a_forbidden_import_is_noticed(tmp_path, path, source, imported):
    others = dict.fromkeys([
        "checks/__init__.py", "checks/task.py", "authoring/index.py", "helpers/__init__.py",
        "helpers/timing.py", "helpers/tune/result.py", "tests/contrast.py",
        "simulator/src/nogpu/engine/__init__.py"], "")
    house = toy(tmp_path, {**others, path: source})
    (wrong,) = forbidden_imports(house)
    assert wrong[1] == imported and not missing_modules(house)


def test_the_picture_shows_arrows_up_and_circles(tmp_path):
    house = toy(tmp_path, {"helpers/a.py": "from . import b\nimport checks.task",
                           "helpers/b.py": "from . import a", "checks/task.py": ""})
    assert "UP: helpers/a.py imports checks.task" in picture(house)
    assert "CIRCLE: helpers.a, helpers.b" in picture(house)


def test_an_import_by_name_is_noticed(tmp_path):
    house = toy(tmp_path, {
        "helpers/__init__.py": "import importlib\n"
        "def f():\n    return importlib.import_module('.draw', __name__)",
        "helpers/draw/__init__.py": "from .. import f"})
    assert house["helpers"].imports == {"helpers.draw"}
    assert circles(house) == [["helpers", "helpers.draw"]]


def test_a_circle_over_three_and_inside_a_function_is_noticed(tmp_path):
    house = toy(tmp_path, {"helpers/a.py": "from . import b", "helpers/b.py": "from .c import x",
                           "helpers/c.py": "def f():\n    import helpers.a",
                           "helpers/d.py": "from . import a"})
    assert circles(house) == [["helpers.a", "helpers.b", "helpers.c"]]


def test_a_module_that_is_gone_is_noticed(tmp_path):
    house = toy(tmp_path, {"checks/a.py": "from helpers.inspect import inspect"})
    assert missing_modules(house) == [("checks.a", "helpers.inspect")]


def test_a_name_of_the_standard_library_is_noticed(tmp_path):
    assert shadowing(toy(tmp_path, {"helpers/inspect.py": ""})) == ["helpers/inspect.py"]


def test_rooms_are_told_by_their_longest_folder():
    assert room_of("simulator/src/nogpu/finder.py") == "nogpu"
    assert room_of("simulator/tests/engine/test_a.py") == "simulator/tests"
    assert room_of("simulator/benchmark.py") == "simulator"
    assert room_of("pyproject.toml") is None


def test_a_circle_in_the_installation_is_noticed(tmp_path):
    """Its modules import each other without the package's name."""
    house = toy(tmp_path, {"install/a.py": "import b\nfrom learner import c",
                           "install/b.py": "from a import f", "install/learner/c.py": "import a"})
    assert circles(house) == [["install.a", "install.b", "install.learner.c"]]
