"""Local variables that a kernel reads before it has given them a value.

The compiler follows the paths through a function and says where a variable *is* used without a
value, and where it *may* be. The second is often no mistake: ``if (k == 0 || x > best) best = x;``.
Of these only a variable is taken that the source changes (``sum += x[k]``) and never assigns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from . import source

FLAGS = {
    "gcc": ["-Wuninitialized", "-Wmaybe-uninitialized"],
    "clang": ["-Wuninitialized", "-Wconditional-uninitialized"],
}
_VARIABLE = r"['‘](?P<name>\w+)(?:\.[^'’]*)?['’]"  # or a member of it
_PLACE = r"^(?P<file>[^\s:]+):(?P<line>\d+):(?P<column>\d+): "
_WARNING = re.compile(
    rf"{_PLACE}warning: (?:variable )?{_VARIABLE} "
    "(?P<what>is used uninitialized|may be (?:used )?uninitialized|is uninitialized when used)"
)
_NOTE = re.compile(
    rf"{_PLACE}note: (?:{_VARIABLE} (?:was )?declared here"
    r"|initialize the variable ['‘](?P<other>\w+)['’])"
)
_NAME_BEFORE = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>(){};]*>)?\s*\(")
# Of arrays the compilers say nothing. One that is changed, never assigned, and used in no other way
# than by its elements.
_ARRAY = re.compile(
    r"(?<![\w,<(])(?:float|double|int|unsigned|long|unsigned int|long long)\s+(?P<name>\w+)\s*"
    r"(?:\[[^\]]*\]\s*)+;"
)
_NO_FUNCTION = {"__launch_bounds__", "__attribute__", "alignas", "__align__", "if", "for", "while",
                "switch"}  # fmt: skip


def find(log: str, text: str, file: str, kernels: Iterable[str]) -> list[list]:
    """Rows ``[variable, line, kernel]`` from what the compiler said of a source.

    Parameters
    ----------
    log : str
        The compiler's, in its own order: a warning, then where the variable was declared.
    text, file : str
        The source and what messages call it.
    kernels : iterable of str
        Names of its kernels, without namespaces.
    """
    if re.search(r"^\s*#\s*line\b", text, re.MULTILINE):
        return []
    blanked, names = source.blank(text), set(kernels)
    lines = [0]
    for line in blanked.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    rows, warned = [], None
    for message in log.splitlines():
        found = _WARNING.match(message)
        if found:
            warned = found if found["file"] == file else None
            continue
        note = _NOTE.match(message)
        if not note or warned is None or (note["name"] or note["other"]) != warned["name"]:
            continue
        sure, line, name = warned["what"].startswith("is "), int(warned["line"]), warned["name"]
        warned = None
        if int(note["line"]) >= len(lines):
            continue
        at = lines[int(note["line"]) - 1] + int(note["column"]) - 1
        function, end = _function(blanked, at)
        if function not in names:
            continue
        changed = _changed(blanked[at:end], name)
        if changed is not None:
            line = blanked.count("\n", 0, at + changed) + 1
        elif not sure:
            continue
        if [name, line, function] not in rows:
            rows.append([name, line, function])
    for found in _ARRAY.finditer(blanked):
        before = re.split(r"[;{}]", blanked[: found.start()])[-1]
        if re.search(r"__|\b(?:static|extern)\b", before):
            continue
        function, end = _function(blanked, found.start())
        scope, name = blanked[found.end() : end], found["name"]
        changed = _changed(scope, name) if function in names else None
        if changed is not None and not re.search(rf"\b{name}\b(?!\s*\[)", scope):
            line = blanked.count("\n", 0, found.end() + changed) + 1
            rows.append([name, line, function])
    return rows


def _changed(scope: str, name: str) -> int | None:
    """Where a variable is first changed, in the text of its scope; None if it is assigned."""
    if "asm" in scope or re.search(rf"(?:&|>>)\s*{name}\b", scope):
        return None
    if re.search(rf"\b{name}\b\s*(?:\[[^\]]*\]\s*)*(?:\.\w+\s*)?=(?!=)", scope):
        return None
    found = re.search(rf"\b{name}\b\s*(?:\[[^;]*?\]\s*)*(?:[-+*/%|^]=|<<=|\+\+|--)", scope)
    return found and found.start()


def _function(text: str, at: int) -> tuple[str, int]:
    """The function that a place lies in, and where the innermost block around it ends."""
    open_braces: list[int] = []
    for found in re.finditer(r"[{}]", text[:at]):
        if found.group() == "{":
            open_braces.append(found.start())
        elif open_braces:
            open_braces.pop()
    depth, end = 1, len(text)
    for found in re.finditer(r"[{}]", text[at:]):
        depth += 1 if found.group() == "{" else -1
        if depth == 0:
            end = at + found.start()
            break
    for brace in open_braces:
        head = re.split(r"[;{}]", text[:brace])[-1]
        if head.rstrip().endswith(")"):
            names = [n for n in _NAME_BEFORE.findall(head) if n not in _NO_FUNCTION]
            return (names[0] if names else ""), end
    return "", end
