"""A light reading of CUDA source: which kernels it has and what must be rewritten for C++.

It is no parser. Comments and strings are blanked, braces are followed so that namespaces are
known, and a few patterns are looked for. What it does not see (a kernel made by a macro, or in an
included file) it sees when given the preprocessor's output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_HIDDEN = re.compile(
    r'R"(?P<raw>[^\s()\\]{0,16})\(.*?\)(?P=raw)"'
    r"|//(?:[^\\\n]|\\.|\\\n)*|/\*.*?\*/"
    r'|"(?:[^"\\\n]|\\.)*"|(?<![0-9A-Fa-f])\'(?:[^\'\\\n]|\\.)+\'',
    re.DOTALL,
)
_TOKEN = re.compile(r"[A-Za-z_]\w*|::|[{}();<>,=\[\]]|\n")
_NOT_A_NAME = {"void", "static", "inline", "extern", "__launch_bounds__", "__attribute__",
               "__align__", "__global__", "__cluster_dims__", "__forceinline__", "__noinline__",
               "alignas", "const", "__maxnreg__", "noexcept", "auto", "__restrict__",
               "__block_size__", "decltype"}  # fmt: skip


# What may stand before the name of a function that only the host has.
_HOST_WORDS = {"__host__", "static", "inline", "extern", "const", "unsigned", "signed", "void",
               "bool", "char", "short", "int", "long", "float", "double", "size_t", "float2",
               "float3", "float4", "int2", "int3", "int4", "double2", "uint"}  # fmt: skip
_LARGE = re.compile(r"(?<![\w.'])\d{19,20}(?![\w.'])")
_CALL = re.compile(r"[A-Za-z_]\w*\s*\(")
_LAUNCH = re.compile(r"([A-Za-z_]\w*(?:::\w+)*(?:\s*<[^<>;{}()]*>)?)\s*<<<(.*?)>>>", re.DOTALL)
_DECLARED = re.compile(r"\bextern\s+(__global__\s[^;{}]*;)")
_ALIGNED_SHARED = re.compile(r"\b(__shared__[ \t]+)(alignas[ \t]*\((?:[^()\n]|\([^()\n]*\))*\))")


# Headers of CUDA's libraries, and of NVIDIA's tools beside it.
_OF_CUDA = re.compile(
    r"(?:cub|cuda|cute|cutlass|cooperative_groups|nvtx3|thrust)/.*"
    r"|(?:cublas|cuda|cudnn|cufft|cupti|curand|cusolver|cusparse|nccl|npp|nvToolsExt|nvml|nvrtc"
    r"|surface_|texture_)\w*\.h"
)


@dataclass
class Kernel:
    """A kernel found in the source."""

    name: str
    """As it is called from outside, with its namespace."""
    is_template: bool
    launch_bounds: str = ""
    """The first argument of ``__launch_bounds__``, as text; empty when there is none."""
    extern_c: bool = False
    """Whether its name is not mangled."""
    parameters: tuple[str, ...] = ()
    """Names of its parameters, an empty one where there is none."""


@dataclass
class Scan:
    """What :func:`scan` found."""

    kernels: list[Kernel] = field(default_factory=list)
    dynamic_shared: list[str] = field(default_factory=list)
    """Names of ``extern __shared__`` arrays, mangled as the compiler does."""
    refused: list[tuple[int, str]] = field(default_factory=list)
    """What CUDA does not allow and C++ does: where it is, and what CUDA's compilers say."""
    host_calls: list[tuple[int, str]] = field(default_factory=list)
    """The same of calls of host functions. To CuPy's NVRTC they are functions of the device."""
    static_at_namespace: list[int] = field(default_factory=list)
    """Where ``static`` stands before a device variable or function at namespace scope."""
    needs_preprocessor: bool = False
    includes: list[str] = field(default_factory=list)


def blank(source: str) -> str:
    """The source with comments, strings and characters blanked, every position kept."""
    return _HIDDEN.sub(lambda found: _spaces(found.group()), source)


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def scan(source: str) -> Scan:
    """Look through CUDA source text."""
    result = Scan()
    text = blank(source)
    lines, directive = [], False
    for line in text.split("\n"):
        directive = directive or line.lstrip().startswith("#")
        goes_on = line.rstrip().endswith("\\")
        if directive:
            if "__global__" in line:
                result.needs_preprocessor = True
            line = " " * len(line)
        directive = directive and goes_on
        lines.append(line)
    for found in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">\n]+)[">]', source, re.M):
        result.includes.append(found.group(2))
        if found.group(1) == '"':
            result.needs_preprocessor = True
    text = "\n".join(lines)
    for position, name, caller, defined in _walk(text, result):
        above = re.findall(r"^[ \t]*#[ \t]*(if|endif)", source[:defined], re.M)
        if above.count("if") == above.count("endif") and f"define {name}(" not in source:
            what = f'calling a __host__ function("{name}") from a {caller} is not allowed'
            result.host_calls.append((position, what))
    return result


def _walk(text: str, result: Scan) -> list[tuple[int, str, str, int]]:
    """Follow the braces; look at each declaration that begins at namespace scope.

    Returns calls from device code of functions that only the host has: where, of what, from what,
    and where that function is.
    """
    # A namespace's name, "" for extern "C", None inside anything else.
    scopes: list[str | None] = []
    of_host: dict[str, int] = {}  # where a function is that only the host has; 0: on the device
    calls, caller = [], ""
    tokens = [(m.group(), m.start()) for m in _TOKEN.finditer(text) if m.group() != "\n"]
    i = start = parens = 0
    while i < len(tokens):
        token, position = tokens[i]
        at_namespace = None not in scopes
        if token == "(":
            parens += 1
        elif token == ")":
            parens = max(0, parens - 1)
        elif token == "{":
            words = [word for word, _ in tokens[start:i]]
            if at_namespace and "namespace" in words and "(" not in words:
                name = "::".join(words[words.index("namespace") + 1 :: 2])
                scopes.append(name)
            elif at_namespace and words == ["extern"]:
                scopes.append("")
            else:
                if at_namespace:
                    _declaration(tokens[start:i], scopes, text, result)
                    caller = _caller(tokens[start:i], of_host)
                scopes.append(None)
            start = i + 1
            parens = 0
        elif token == "}":
            if scopes:
                scopes.pop()
            start = i + 1
            parens = 0
        elif token == ";" and parens == 0:
            if at_namespace:
                _declaration(tokens[start:i], scopes, text, result)
                _caller(tokens[start:i], of_host)
            start = i + 1
        elif token == "__shared__":
            _shared(tokens, i, scopes, result)
            if _is_initialised([word for word, _ in tokens[i : i + 200]]):
                what = "initializer not allowed for __shared__ variable"
                result.refused.append((position, what))
        elif caller and not at_namespace and _CALL.match(text, position):
            if text[position - 40 : position].rstrip()[-1:] not in (".", ">", ":"):
                calls.append((position, token, caller))
        i += 1
    return [(*call, of_host[call[1]]) for call in calls if of_host.get(call[1])]


def _name_at(words: list[str]) -> int | None:
    """Where the name is in a function's declaration; None in what is no such declaration."""
    depth = 0
    for i, word in enumerate(words):
        if word == "(":
            previous = words[i - 1] if i else ""
            if depth == 0 and re.match(r"[A-Za-z_]", previous) and previous not in _NOT_A_NAME:
                return i - 1
            depth += 1
        elif word == ")":
            depth -= 1
    return None


def _declaration(
    tokens: list[tuple[str, int]], scopes: list[str | None], text: str, result: Scan
) -> None:
    words = [word for word, _ in tokens]
    if "static" in words and ("__device__" in words or "__constant__" in words):
        result.static_at_namespace.append(tokens[words.index("static")][1])
    if "__global__" not in words:
        return
    at = _name_at(words)
    if at is None:
        return
    name = "::".join([*filter(None, scopes), words[at]])
    bound = ""
    if "__launch_bounds__" in words:
        begin = tokens[words.index("__launch_bounds__")][1]
        bound = _first_argument(text, begin + len("__launch_bounds__"))
    if all(name != kernel.name for kernel in result.kernels):
        extern_c = "extern" in words or "" in scopes
        result.kernels.append(
            Kernel(name, "template" in words, bound, extern_c, _parameters(words[at + 2 :]))
        )


def _caller(tokens: list[tuple[str, int]], of_host: dict[str, int]) -> str:
    """Note a function and whose it is; of one that only the device has, what CUDA calls it.

    Only the host has a function where each word before its name is known: another one may be a
    macro for ``__device__``.
    """
    words = [word for word, _ in tokens]
    at = _name_at(words)
    if at is None:
        return ""
    before, name = set(words[:at]), words[at]
    known = bool(before) and before <= _HOST_WORDS
    of_host[name] = known and of_host.get(name, 1) and tokens[at][1]
    space = before & {"__global__", "__device__"}
    if not space or before & {"__host__", "template"}:
        return ""
    return f'{space.pop()} function("{name}")'


def _parameters(words: list[str]) -> tuple[str, ...]:
    """Names of the parameters: the words between the parentheses are given, and what follows."""
    names, name, depth, in_default = [], "", 0, False
    for word in words:
        if word in (")", ",") and depth == 0:
            names.append(name)
            name, in_default = "", False
            if word == ")":
                break
        elif word in "([<{":
            depth += 1
        elif word in ")]>}":
            depth -= 1
        elif word == "=":
            in_default = True
        elif depth == 0 and not in_default and re.match(r"[A-Za-z_]", word):
            name = word
    return () if names in ([""], ["void"]) else tuple(names)


def _first_argument(text: str, at: int) -> str:
    opening = text.index("(", at)
    depth = 0
    for i in range(opening, len(text)):
        if text[i] == "(":
            depth += 1
        elif text[i] == ")":
            depth -= 1
        if (depth == 0 and text[i] == ")") or (depth == 1 and text[i] == ","):
            return text[opening + 1 : i].strip()
    return ""


def _shared(tokens: list[tuple[str, int]], i: int, scopes: list[str | None], result: Scan) -> None:
    """An ``extern __shared__`` declaration: find the name before ``[]``."""
    before = i - 1
    while before >= 0 and tokens[before][0] not in (";", "{", "}"):
        if tokens[before][0] == "extern":
            break
        before -= 1
    else:
        return
    if before < 0 or tokens[before][0] != "extern":
        return
    namespaces = []
    for scope in scopes:
        if scope is None:
            break
        namespaces += [part for part in scope.split("::") if part]
    for j in range(i, len(tokens) - 1):
        word = tokens[j][0]
        if word == ";":
            break
        if tokens[j + 1][0] == "[" and re.match(r"[A-Za-z_]", word):
            name = word
            if namespaces:
                name = "_ZN" + "".join(f"{len(n)}{n}" for n in [*namespaces, word]) + "E"
            if name not in result.dynamic_shared:
                result.dynamic_shared.append(name)


def assembles(source: str) -> bool:
    """Whether there is inline PTX."""
    return re.search(r"\b(asm|__asm__)\b", blank(source)) is not None


def launches_kernels(source: str) -> bool:
    """Whether a kernel launches another one."""
    return _LAUNCH.search(blank(source)) is not None


def rewrite_launches(source: str) -> tuple[str, str]:
    """What goes before the source, and the source with launches made objects that are called.

    ``k<<<grid, block>>>`` becomes an object of nogpu_children.h. ``extern __global__ void k();``
    inside a function goes before the source: as a template's argument g++ takes such a kernel for
    another one than the kernel itself.
    """
    front = ""
    for found in reversed(list(_DECLARED.finditer(blank(source)))):
        front += " ".join(source[slice(*found.span(1))].split())
        source = source[: found.start()] + _spaces(found.group()) + source[found.end() :]
    for found in reversed(list(_LAUNCH.finditer(blank(source)))):
        name, sizes = (source[slice(*found.span(part))] for part in (1, 2))
        child = f"nogpu::Child<decltype(&{name}), &{name}, CUSIM_FTZ>({sizes})"
        source = source[: found.start()] + child + source[found.end() :]
    return front, source


def of_cuda(header: str) -> bool:
    """Tell whether a header's name is one of CUDA's libraries."""
    return _OF_CUDA.fullmatch(header) is not None


def _is_initialised(words: list[str]) -> bool:
    """Tell whether a declaration, whose words are given and what follows, has an initializer."""
    end = words.index(";") if ";" in words else len(words)
    depth, braces = 0, {"struct", "union", "class"}.isdisjoint(words[:end])
    for previous, word in zip(words, words[1:]):  # noqa: B905 -- neighbours
        if word in "([<":
            depth += 1
        elif word in ")]>":
            depth -= 1
        elif depth == 0 and (word == "=" or (word == "{" and braces and previous != "__shared__")):
            return True
        elif word == ";" or (word == "{" and depth == 0):
            return False
    return False


def rewrite(source: str, found: Scan, absent: Sequence[str] = ()) -> str:
    """The source as the C++ compiler gets it, of the same length and with the same lines.

    ``absent`` are headers whose includes go.

    ``static`` goes from device variables at namespace scope: the compiler would take one that no
    kernel writes for a constant, though the host writes it. ``alignas`` goes before ``__shared__``,
    where C++ wants it. A number of 2**63 and more without a suffix, which is unsigned for CUDA's
    compilers, is written as C++ takes it.
    """
    for name in absent:
        line = rf'^[ \t]*#[ \t]*include[ \t]*[<"]{re.escape(name)}[>"]'
        source = re.sub(line, lambda include: " " * len(include.group()), source, flags=re.M)
    for swapped in list(_ALIGNED_SHARED.finditer(blank(source))):
        start, middle, end = swapped.start(), swapped.start(2), swapped.end()
        source = source[:start] + source[middle:end] + source[start:middle] + source[end:]
    for number in _LARGE.finditer(blank(source)):
        digits = f"{int(number.group()):#x}".ljust(len(number.group()))
        source = source[: number.start()] + digits + source[number.end() :]
    for position in found.static_at_namespace:
        source = source[:position] + " " * len("static") + source[position + len("static") :]
    return source
