"""Functions and methods from tables.

A row is a signature and the docstring's first line; lines that are indented belong to the row
above. A rule says what the functions of a table do, a mark in place of an annotation how an
argument is converted first::

    table.functions(globals(), on_host, '''
    hamming(M): Return the Hamming window.
    kaiser(M, beta): Return the Kaiser window.
    ''')

The functions have these signatures, so Python itself refuses what does not fit them.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import operator
import re
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType

_ROW = re.compile(r"(?P<signature>.*?\)(?: -> [^:]+)?): (?P<doc>.+)")
Rule = Callable[[str], Callable]


def functions(
    namespace: dict, rule: Rule, rows: str, marks: dict[str, Callable] | None = None
) -> list[Callable]:
    """Define the functions of a table in a module, and return them.

    Parameters
    ----------
    namespace : dict
        The module's ``globals()``.
    rule : function
        Gets a row's name and returns what is called with the arguments, passed on as the row's
        signature names them: by position, or by keyword where only that is possible.
    rows : str
    marks : dict of str to function, optional
        What a mark does: gets the argument and the parameter's name, returns what is passed on.
    """
    made = []
    for name, make in _makers(rows, namespace, marks or {}):
        function = namespace[name] = make(rule(name))
        function.__qualname__ = name
        made.append(function)
    return made


def methods(kind: type, rule: Rule, rows: str, static: bool = False) -> None:
    """Define the methods of a table in a class; signatures begin with ``self`` unless static."""
    namespace = {"__name__": kind.__module__}
    for name, make in _makers(rows, namespace, {}):
        function = make(rule(name))
        function.__qualname__ = f"{kind.__qualname__}.{name}"
        setattr(kind, name, staticmethod(function) if static else function)


def properties(kind: type, rows: str) -> None:
    """Define properties that hand out an attribute: ``name = attribute.of.it: Docstring.``"""
    for row in _rows(rows):
        name, path, doc = re.fullmatch(r"(\w+) = ([\w.]+): (.+)", row).groups()
        setattr(kind, name, property(operator.attrgetter(path), doc=doc))


def nothing(*arguments: object, **keywords: object) -> None:
    """What a function does that has nothing to do here."""


def functions_of(*modules: ModuleType) -> dict[str, Callable]:
    """Return the public functions that modules define, by name.

    A module with ``__all__`` gives what stands there.
    """
    found = {}
    for module in modules:
        names = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items()
            if isinstance(value, FunctionType) and not name.startswith("_")
            and value.__module__ == module.__name__
        ]  # fmt: skip
        found |= {name: getattr(module, name) for name in names}
    return found


def _rows(rows: str) -> list[str]:
    """The rows of a table, each in one line."""
    return [" ".join(row.split()) for row in re.split(r"\n(?=\S)", inspect.cleandoc(rows))]


def _makers(
    rows: str, namespace: dict, marks: dict[str, Callable]
) -> Iterator[tuple[str, Callable]]:
    """Each row's name, and a function that makes its function from what that has to call."""
    source = [_definition(row, marks) for row in _rows(rows)]
    tree = ast.fix_missing_locations(ast.Module(body=source, type_ignores=[]))
    place = f"<table of {namespace['__name__']}>"
    flags = __future__.annotations.compiler_flag
    made: dict[str, Callable] = {}
    exec(compile(tree, place, "exec", flags=flags, dont_inherit=True), namespace, made)
    for name, maker in made.items():
        yield name, lambda call, maker=maker: maker(call, marks)


def _definition(row: str, marks: dict[str, Callable]) -> ast.FunctionDef:
    """The definition of a function that defines and returns the row's function."""
    found = _ROW.fullmatch(row)
    if found is None:
        raise ValueError(f"no row of a table: {row}")
    (made,) = ast.parse(f"def {found['signature']}: pass").body
    names, body = made.args, [ast.Expr(ast.Constant(found["doc"]))]
    positional = [*names.posonlyargs, *names.args]
    for one in (*positional, *names.kwonlyargs):
        if isinstance(one.annotation, ast.Name) and one.annotation.id in marks:
            convert = f"_marks[{one.annotation.id!r}]"
            body += ast.parse(f"{one.arg} = {convert}({one.arg}, {one.arg!r})").body
            one.annotation = None
    passed = [one.arg for one in positional]
    passed += [f"*{names.vararg.arg}"] if names.vararg else []
    passed += [f"{one.arg}={one.arg}" for one in names.kwonlyargs]
    passed += [f"**{names.kwarg.arg}"] if names.kwarg else []
    made.body = body + ast.parse(f"return _call({', '.join(passed)})").body
    (maker,) = ast.parse(f"def {made.name}(_call, _marks): return {made.name}").body
    maker.body.insert(0, made)
    return maker
