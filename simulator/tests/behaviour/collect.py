"""Finds the programs without importing their files, so also where there is no CuPy.

A file in `programs/<library>/` is a chapter; each of its functions is a program. The docstring
says which behaviour the program shows, and names the exception if it ends with one (the recorder
lists those that did not, or ended otherwise). "As recorded" stands where the answer is the only
specification. The body is run as a module of its own, in a fresh namespace, after the chapter's
other statements (imports, kernels, classes).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RECORDED = HERE / "recorded"
NAMES = ROOT / "src" / "nogpu" / "faces" / "names.json"  # the faces read it too
LIBRARIES = ("cupy", "pycuda")


@dataclass(frozen=True)
class Program:
    """One small program; `name` is "chapter.function", `says` its docstring."""

    name: str
    path: Path
    says: str
    alone: bool
    statements: tuple[ast.stmt, ...]
    prelude: tuple[ast.stmt, ...]

    @property
    def library(self) -> str:
        return self.path.parent.name

    @property
    def chapter(self) -> str:
        return self.name.partition(".")[0]

    @property
    def length(self) -> int:
        """Statements, those inside `with`, `try` and functions included."""
        return sum(isinstance(node, ast.stmt) for top in self.statements for node in ast.walk(top))

    def code(self) -> CodeType:
        """Compile it. Lines keep their numbers, so that CuPy can read a function's source."""
        module = ast.Module(body=[*self.prelude, *self.statements], type_ignores=[])
        return compile(module, str(self.path), "exec")


def _is_marks(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").endswith("marks")


def _chapter(path: Path) -> list[Program]:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    prelude = [
        node for node in tree.body if not isinstance(node, ast.FunctionDef) and not _is_marks(node)
    ]
    found = []
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef):
            continue
        says = ast.get_docstring(node) or ""
        found.append(Program(
            name=f"{path.stem}.{node.name}",
            path=path,
            says=" ".join(says.split()),
            alone=any(ast.unparse(mark) == "alone" for mark in node.decorator_list),
            statements=tuple(node.body[1:] if says else node.body),
            prelude=tuple(prelude),
        ))
    return found


def programs(library: str = "cupy") -> list[Program]:
    """Return all programs of a library, chapter by chapter, in the order of their files."""
    folder = HERE / "programs" / library
    return [one for path in sorted(folder.glob("*.py")) for one in _chapter(path)]
