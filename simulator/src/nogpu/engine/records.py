"""Records and numbers that the runtime and Python exchange, read from the runtime's own header.

``native/runtime/records.h`` (and ``nogpu_abi.h`` for :class:`Entry`) is their only definition: the
ctypes classes and enumerations here are made from its text, so that nothing can drift apart.
"""

from __future__ import annotations

import ctypes
import re
from enum import IntEnum
from pathlib import Path

_NATIVE = Path(__file__).parents[1] / "native"
_ABI, _RECORDS = (
    re.sub(r"//[^\n]*", "", (_NATIVE / name).read_text(encoding="utf-8"))
    for name in ("include/nogpu_abi.h", "runtime/records.h")
)
_TEXT = _ABI + _RECORDS
_TYPES = {
    "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "unsigned int": ctypes.c_uint32,
    "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "char": ctypes.c_char,
}  # fmt: skip
_FUNCTION = re.compile(r"void \(\*(\w+)\)\([^()]*\)")
_POINTER = re.compile(r"[\w:\s]+\*[\w\s*]*?(\w+)")
_VALUES = re.compile(r"(unsigned int|\w+)\s+(\w[\w\s,\[\]]*)")


def _fields(declaration: str) -> list[tuple[str, type]]:
    """The fields that one declaration within a structure makes, with their ctypes."""
    pointer = _FUNCTION.fullmatch(declaration) or _POINTER.fullmatch(declaration)
    if pointer:
        return [(pointer.group(1), ctypes.c_void_p)]
    values = _VALUES.fullmatch(declaration)
    if not values or values.group(1) not in _TYPES:
        raise ValueError(f"records.h: cannot read the declaration {declaration!r}")
    result = []
    for item in values.group(2).split(","):
        name, count = re.fullmatch(r"\s*(\w+)(?:\[(\d+)\])?\s*", item).groups()
        kind = _TYPES[values.group(1)]
        result.append((name, kind * int(count) if count else kind))
    return result


def _body(keyword: str, name: str) -> str:
    return re.search(rf"\b{keyword} {name}\b[^{{;]*\{{([^}}]*)\}};", _TEXT).group(1)


def _structure(name: str) -> type[ctypes.Structure]:
    declarations = [" ".join(part.split()) for part in _body("struct", name).split(";")]
    fields = [field for part in declarations if part for field in _fields(part)]
    return type(name, (ctypes.Structure,), {"_fields_": fields, "__module__": __name__})


def _enumeration(name: str, prefix: str = "k") -> type[IntEnum]:
    """The enumeration of a name; its members are called as in C++, without the prefix."""
    members, value = {}, -1
    for item in _body("enum", name).split(","):
        if item.strip():
            member, _, given = (part.strip() for part in item.partition("="))
            value = int(given, 0) if given else value + 1
            members[member.removeprefix(prefix)] = value
    return IntEnum(name, members, module=__name__)


# Every structure of the header and every enumeration, some of whose members have longer prefixes.
_PREFIXES = {"CheckBits": "kCheck", "Space": "kIn"}
_NAMES = re.findall(r"\b(struct|enum) (\w+)[^{};]*\{", _RECORDS)
globals().update({
    name: _enumeration(name, _PREFIXES.get(name, "k")) if keyword == "enum" else _structure(name)
    for keyword, name in [("struct", "Entry"), *_NAMES]
})  # fmt: skip
