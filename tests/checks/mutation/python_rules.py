"""Mutants of Python: each rule replaces one expression or statement of a solution."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from .cuda_rules import cuda_changes
from .source import Change, Region

COMPARISONS = {"<": ("<=", ">"), "<=": ("<", ">"), ">": (">=", "<"), ">=": (">", "<"),
               "==": ("!=",), "!=": ("==",), "in": ("not in",), "not in": ("in",),
               "is": ("is not",), "is not": ("is",)}
OPERATORS = {"+": ("-",), "-": ("+",), "*": ("/", "+"), "/": ("*",), "//": ("*", "%"),
             "%": ("//",), "**": ("*",), "@": ("*",), "&": ("|",), "|": ("&",)}
ASYMMETRIC = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult, ast.Pow)
# A function, and those that are taken for it.
TWINS = {
    "max": ("min",), "min": ("max",), "maximum": ("minimum",), "minimum": ("maximum",),
    "argmax": ("argmin",), "argmin": ("argmax",), "sum": ("max", "mean"), "mean": ("sum", "max"),
    "any": ("all",), "all": ("any",), "zeros": ("ones", "empty"), "empty": ("zeros",),
    "zeros_like": ("ones_like", "empty_like"), "empty_like": ("zeros_like",), "ones": ("zeros",),
    "sqrt": ("square",), "exp": ("exp2", "expm1"), "log": ("log2", "log1p"), "abs": ("square",),
    "isfinite": ("isnan",), "isinf": ("isnan",), "tanh": ("arctan",), "rint": ("floor", "trunc"),
    "std": ("var",), "median": ("mean", "min"), "nonzero": ("argwhere",),
    "float32": ("float64", "float16"), "float64": ("float32",), "int64": ("int32",),
    "int32": ("int64", "int16"), "int8": ("int16", "uint8"), "int16": ("int32",),
    "array_equal": ("allclose",), "setdefault": ("get",), "swapaxes": ("transpose",),
}
LITERALS = (bool, int, float, str, tuple)


class PythonRules(ast.NodeVisitor):
    """Collects the changes of a region of a cell.

    Parameters
    ----------
    cell : str
    region : Region
    values : mapping
        The values that the task's cases give to each parameter of the learner's function.
    """

    def __init__(self, cell: str, region: Region, values: Mapping[str, Sequence]) -> None:
        self.cell, self.region, self.values = cell, region, values
        self.changes: list[Change] = []
        starts, position = [], 0
        for line in cell.split("\n"):
            starts.append(position)
            position += len(line) + 1
        self._starts, self._lines = starts, cell.split("\n")
        tree = ast.parse(cell)
        self._siblings = self._find_siblings(tree)
        self.visit(tree)

    # ---- places and texts

    def _offset(self, line: int, column: int) -> int:
        text = self._lines[line - 1].encode()[:column].decode()
        return self._starts[line - 1] + len(text)

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (self._offset(node.lineno, node.col_offset),
                self._offset(node.end_lineno, node.end_col_offset))

    def text(self, node: ast.AST) -> str:
        return self.cell[slice(*self.span(node))]

    def note(self, rule: str, node: ast.AST, *texts: str) -> None:
        """A change for each text that may take the node's place."""
        self.note_span(rule, self.span(node), *texts)

    def note_span(self, rule: str, span: tuple[int, int], *texts: str) -> None:
        if self.region.start <= span[0] and span[1] <= self.region.end:
            self.changes += [Change.at(rule, *span, text) for text in texts]

    def exchange(self, rule: str, one: ast.AST, other: ast.AST) -> None:
        (a, b), (c, d) = sorted((self.span(one), self.span(other)))
        if self.region.start <= a and d <= self.region.end:
            edits = (a, b, self.cell[c:d]), (c, d, self.cell[a:b])
            self.changes.append(Change(rule, edits))

    def between(self, rule: str, one: ast.AST, other: ast.AST, table: Mapping) -> None:
        """Replace the operator between two nodes by each of its table's."""
        start, end = self.span(one)[1], self.span(other)[0]
        found = re.search(r"not\s+in|is\s+not|[a-z]+|[^\s()\\]+", self.cell[start:end])
        operator = found and " ".join(found[0].split())
        if operator in table:
            self.note_span(rule, (start + found.start(), start + found.end()), *table[operator])

    def _find_siblings(self, tree: ast.AST) -> dict[str, list[str]]:
        """Names that stand beside each other: parameters, and what one tuple is unpacked to."""
        groups = []
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                groups.append([argument.arg for argument in node.args.args])
            elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
                groups.append([one.id for one in node.elts if isinstance(one, ast.Name)])
        return {name: [other for at, other in enumerate(group) if abs(at - k) == 1]
                for group in groups for k, name in enumerate(group)}

    # ---- expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, right in pairwise([node.left, *node.comparators]):
            self.between("comparison", left, right, COMPARISONS)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.between("operator", node.left, node.right, OPERATORS)
        if isinstance(node.op, ASYMMETRIC):
            self.exchange("operands exchanged", node.left, node.right)
        self.note("operand dropped", node, self.text(node.left), self.text(node.right))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in pairwise(node.values):
            self.between("guard", left, right, {"and": ("or",), "or": ("and",)})
        word = " and " if isinstance(node.op, ast.And) else " or "
        for k in range(len(node.values)):
            rest = [self.text(value) for at, value in enumerate(node.values) if at != k]
            self.note("guard", node, f"({word.join(rest)})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub) and self._is_infinity(node.operand):
            self.note("soft infinity", node, "-1e4", "-100.0", "0.0")
            return
        self.note("sign or negation", node, self.text(node.operand))
        self.generic_visit(node)

    def _is_infinity(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == "inf"

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.note("guard", node, self.text(node.body), self.text(node.orelse))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.note("constant", node, str(not value))
        elif isinstance(value, int):
            self.note("constant", node, f"{value + 1}",
                      f"{value - 1}" if value else "(-1)")
        elif isinstance(value, float):
            self.note("constant", node, f"{value * 1.01!r}", "0.0")
        elif isinstance(value, str):
            if "__global__" in value:
                self.changes += cuda_changes(self.cell, Region(*self.span(node), "CUDA"))
            elif 1 < len(value) < 40 and self.text(node)[1:-1] == value:
                swapped = value[:-2] + value[-1] + value[-2]
                self.note("string", node, repr(value[:-1]), repr(value[1:]), repr(swapped))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        if "__global__" in self.text(node):
            self.changes += cuda_changes(self.cell, Region(*self.span(node), "CUDA"))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._is_infinity(node):
            self.note("soft infinity", node, "1e4", "100.0")
        elif node.attr in TWINS:
            base = self.text(node.value)
            self.note("twin", node, *(f"{base}.{twin}" for twin in TWINS[node.attr]))
        elif node.attr == "dtype":
            self.note("dtype", node, "'float64'", "'float32'", "'int64'")
        elif node.attr in ("T", "itemsize", "size", "nbytes", "ndim"):
            other = {"T": self.text(node.value), "itemsize": "4"}.get(node.attr)
            self.note("index", node, other or f"len({self.text(node.value)})")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            return
        name = node.id
        self.note("name", node, *self._siblings.get(name, ()))
        values = [value for value in self.values.get(name, ()) if isinstance(value, LITERALS)]
        if values:
            often = max(values, key=lambda value: (values.count(value), -values.index(value)))
            self.note("parameter", node, *dict.fromkeys((repr(values[0]), repr(often))))
        self.note("twin", node, *TWINS.get(name, ()))

    def visit_Subscript(self, node: ast.Subscript) -> None:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            if isinstance(part, ast.Slice):
                self._slice(part)
            elif not isinstance(part, ast.Constant):
                self.note("index", part, f"{self.text(part)} - 1")
        if isinstance(node.ctx, ast.Load):
            self.note("index", node, self.text(node.value))
        self.generic_visit(node)

    def _slice(self, node: ast.Slice) -> None:
        texts = [part and self.text(part) for part in (node.lower, node.upper, node.step)]
        for k, part in enumerate(texts):
            for other in ([None, f"{part} + 1", f"{part} - 1"] if part else []):
                changed = [*texts[:k], other, *texts[k + 1:]]
                text = ":".join(one or "" for one in changed)
                self.note("slice", node, text if changed[2] else text.removesuffix(":"))

    def visit_Tuple(self, node: ast.Tuple | ast.List) -> None:
        for one, other in pairwise(node.elts):
            self.exchange("order", one, other)
        self.generic_visit(node)

    visit_List = visit_Tuple

    def visit_Call(self, node: ast.Call) -> None:
        for one, other in pairwise(node.args):
            self.exchange("order", one, other)
        for keyword in node.keywords:
            if keyword.arg == "axis" and isinstance(keyword.value, (ast.Constant, ast.UnaryOp)):
                self.note("axis", keyword.value, *(other for other in ("0", "1", "None")
                                                   if other != self.text(keyword.value)))
            start, end = self.span(keyword)
            tail = re.match(r"\s*,\s*", self.cell[end:])
            head = re.search(r",\s*$", self.cell[:start])
            if tail or head:
                span = (start, end + tail.end()) if tail else (head.start(), end)
                self.note_span("argument dropped", span, "")
        if isinstance(node.func, ast.Attribute) and not self._is_module(node.func.value):
            self.note("call dropped", node, self.text(node.func.value))
        elif node.args:
            self.note("call dropped", node, self.text(node.args[0]))
        self.generic_visit(node)

    def _is_module(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in ("np", "cp", "math", "statistics", "cupy")

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self.note("guard", condition, "True")
        self.generic_visit(node)

    # ---- statements

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for statement in node.body:  # neither annotations nor defaults
            self.visit(statement)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.note("statement dropped", node, "pass")
        if isinstance(node.exc, ast.Call):
            self.note("error's type", node.exc.func, "KeyError")

    def visit_If(self, node: ast.If) -> None:
        self.note("guard", node.test, "True", "False")
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        start, _ = self.span(node)
        self.note_span("loop", (start, start + len("while")), "if")
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        every = f"list({self.text(node.iter)})"
        self.note("loop", node.iter, f"{every}[:1]", f"{every}[1:]", f"{every}[:-1]")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.between("operator", node.target, node.value,
                     {"+=": ("-=", "="), "-=": ("+=",), "*=": ("/=", "="), "/=": ("*=", "=")})
        self._simple(node)

    def _simple(self, node: ast.stmt) -> None:
        self.note("statement dropped", node, "pass")
        self.generic_visit(node)

    visit_Assign = visit_Continue = visit_Break = visit_Return = _simple

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self._simple(node)


def python_changes(cell: str, region: Region, values: Mapping[str, Sequence]) -> Iterator[Change]:
    """All changes of a region of Python; see `PythonRules`."""
    return iter(PythonRules(cell, region, values).changes)
