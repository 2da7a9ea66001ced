"""Who imports whom: every module and notebook of the house, its lines, arrows and circles.

`python -m authoring house` prints the picture. The rules of the house (which room may import which,
how many lines a room may have) stand in tests/test_house.py.
"""

from __future__ import annotations

import ast
import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Each room and the folder of its Python files, the highest room first: arrows point down.
ROOMS = {
    "tests": "tests",
    "authoring": "authoring",
    "notebooks": "notebooks",
    "exercises": "exercises",
    "solutions": "solutions",
    "checks": "checks",
    "helpers": "helpers",
    "simulator/tests": "simulator/tests",
    "simulator": "simulator",
    "nogpu": "simulator/src/nogpu",
    "install": "install",
}
TEMPLATE = "authoring/template/"  # texts that a new lesson begins with: nobody imports or runs them
PACKAGES = {"tests", "authoring", "checks", "helpers", "nogpu", "install"}  # what imports name


@dataclass(frozen=True)
class Module:
    """One Python file or notebook.

    Attributes
    ----------
    name : str
        As imports write it ("helpers.tune.search", of a package without ".__init__"); of what
        nobody can import, its path.
    room : str
        One of `ROOMS`.
    path : str
        From the root.
    lines : int
        Of Python, blank ones and comments included; of a notebook those of its code cells.
    imports : frozenset of str
        The modules of the house that it imports, also inside functions.
    """

    name: str
    room: str
    path: str
    lines: int
    imports: frozenset[str]


def files_of(root: Path = ROOT) -> list[str]:
    """The paths of all files that git knows or would add."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted(path for path in set(listed.splitlines()) if (root / path).is_file())


def read_house(root: Path = ROOT, paths: Iterable[str] | None = None) -> dict[str, Module]:
    """All modules and notebooks by name.

    Parameters
    ----------
    root : Path
        The course's folder.
    paths : iterable of str, optional
        Its files; those of `files_of` unless given.
    """
    sources = {path: source_of(root / path) for path in (files_of(root) if paths is None else paths)
               if path.endswith((".py", ".ipynb")) and room_of(path)
               and not path.startswith(TEMPLATE)}
    names = {path: module_name(path) for path in sources}
    known = set(names.values())
    return {names[path]: Module(names[path], room_of(path), path, len(source.splitlines()),
                                imports_of(source, names[path], path, known))
            for path, source in sources.items()}


def room_of(path: str) -> str | None:
    """The room of a file: the one with the longest folder that the path begins with."""
    fitting = [room for room, folder in ROOMS.items() if path.startswith(f"{folder}/")]
    return max(fitting, key=lambda room: len(ROOMS[room]), default=None)


def module_name(path: str) -> str:
    """A file's name in imports, or its path where it has none."""
    parts = path.removeprefix("simulator/src/").removesuffix(".py").split("/")
    if parts[0] not in PACKAGES or not path.endswith(".py"):
        return path
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def source_of(path: Path) -> str:
    """The Python of a file; of a notebook its code cells, with IPython's commands translated."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    from IPython.core.inputtransformer2 import TransformerManager

    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return "\n".join(TransformerManager().transform_cell("".join(cell["source"]))
                     for cell in cells)


def imports_of(source: str, name: str, path: str, known: set[str]) -> frozenset[str]:
    """The modules of the house that a source imports.

    Parameters
    ----------
    source : str
    name, path : str
        Of the importing module: relative imports start from there.
    known : set of str
        The names of all modules of the house.
    """
    package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            whole = {f"{base}.{alias.name}" for alias in node.names}
            found |= {one if {one, f"install.{one}"} & known else base for one in whole}
        elif (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
              and getattr(node.func, "attr", getattr(node.func, "id", "")) == "import_module"):
            found.add(resolve_name(str(node.args[0].value), package))
    if name.startswith("install."):  # a folder that is run: its modules import each other by name
        found = {f"install.{one}" if f"install.{one}" in known else one for one in found}
    # The simulator's tests have a package `tests` of their own.
    return frozenset(one for one in found - {name} if one.partition(".")[0] in PACKAGES
                     and (one in known or not one.startswith("tests")))


def circles(modules: Mapping[str, Module]) -> list[list[str]]:
    """Groups of modules in which each imports each of the others, directly or through others."""
    reached = {name: module.imports & modules.keys() for name, module in modules.items()}
    for middle in modules:  # Warshall's algorithm: paths through ever more of the modules
        for name, others in reached.items():
            if middle in others:
                reached[name] = others | reached[middle]
    groups = {tuple(sorted(other for other in reached[name] if name in reached[other]))
              for name in modules if name in reached[name]}
    return sorted(map(list, groups))


def room_of_import(name: str) -> str:
    """The room of an imported name."""
    return name.partition(".")[0]


def picture(modules: Mapping[str, Module]) -> str:
    """The rooms from the highest to the lowest, their lines, and how many modules import what.

    An arrow that points up is marked with "UP" and followed by the modules that make it.
    """
    order = list(ROOMS)
    rows = []
    for room in order:
        members = [module for module in modules.values() if module.room == room]
        arrows = Counter(room_of_import(name) for module in members
                         for name in {room_of_import(one) for one in module.imports})
        downward = [f"{other} ({count})" for other, count in sorted(arrows.items())
                    if other != room and order.index(other) > order.index(room)]
        lines = sum(module.lines for module in members)
        rows.append(f"{room:16}{len(members):>4} files {lines:>7,} lines"
                    + (f"  -> {', '.join(downward)}" if downward else ""))
        rows += [f"    UP: {module.path} imports {name}" for module in members
                 for name in sorted(module.imports) if room_of_import(name) != room
                 and order.index(room_of_import(name)) < order.index(room)]
    for group in circles(modules):
        rows.append(f"    CIRCLE: {', '.join(group)}")
    return "\n".join(rows)


if __name__ == "__main__":
    print(picture(read_house()))
