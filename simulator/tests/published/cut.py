"""The device part of a published CUDA file: what is left when the host's functions are cut away.

A published program is one file with a `main`; CuPy and PyCUDA compile kernels alone. A person who
moves such a kernel to Python deletes the host's functions and their includes by hand. This module
does it by a rule, so that every measurement compiles the same text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

MASKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"][^\n]*\n?', re.M)
# Headers that nvcc reads for device code. All others are the host's and are cut away.
KEPT = re.compile(
    r"cooperative_groups|cuda_fp|cuda_bf|mma\.h|curand_kernel|curand_mtgp|cub/|thrust/|cuda/|cute/"
    r"|cutlass|cuComplex|math_constants|cuda_pipeline|vector_|device_|sm_|crt/|math_functions"
)
HOST_C = re.compile(r"(std(io|lib|int|def|bool)|math|float|limits|assert|string)\.h|c(std(io|int|lib)"
                    r"|math|float|limits|assert|string)|limits")
HOST_NAMES = re.compile(
    r"\bstd::(vector|string|map|function|unique_ptr|shared_ptr|ostream|random|mt19937|chrono)|\bFILE\b"
    r"|\btorch::|\bat::Tensor|\bcuda(Error|Stream|Event|Array|Graph|DeviceProp)\w*_?t?\b"
    r"|\bcu(blas|dnn|rand|fft|solver|sparse)\w*(Handle|Generator|Descriptor)\w*|\bEigen::|\bcv::"
)
ATTRIBUTE = re.compile(r"__(?:launch_bounds|align|cluster_dims)__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)"
                       r"|__attribute__\s*\(\([^()]*(?:\([^()]*\))?[^()]*\)\)|__noinline__"
                       r"|__forceinline__|\b(?:static|inline|extern\s+\"C\"|extern)\b")


@dataclass(frozen=True)
class Kernel:
    """A `__global__` function: its name, its template's parameters, and (type, name) of each
    of its own parameters."""

    name: str
    template: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]


def mask(text: str) -> str:
    """Return the text with comments blank and strings replaced, every character in its place."""

    def blank(match: re.Match) -> str:
        filler = " " if match[0].startswith("/") else "s"
        return re.sub(r"[^\n]", filler, match[0]) if filler == " " else (
            '"' + re.sub(r"[^\n]", "s", match[0][1:-1]) + '"')

    return MASKED.sub(blank, text)


def with_own_headers(text: str, path: str, read: Callable[[str], str | None],
                     seen: set[str] | None = None) -> str:
    """Put the repository's own headers in the place of their includes.

    Parameters
    ----------
    text, path
        The file's text and its place in the repository.
    read
        Returns a file's text, or None if the repository has no such file.
    seen
        Headers that are in the text already.
    """
    seen = {path} if seen is None else seen

    def put(match: re.Match) -> str:
        if match[1] == "<":
            return match[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[2]))
        if place in seen:
            return ""
        header = None if KEPT.match(match[2]) or place.startswith("..") else read(place)
        if header is None:
            return match[0]
        seen.add(place)
        return with_own_headers(header, place, read, seen) + "\n"

    return INCLUDE.sub(put, text)


def items(text: str, masked: str) -> list[tuple[int, int]]:
    """Return start and end of each declaration and each directive at the outermost level."""
    found, start, depth, place = [], None, 0, 0
    while place < len(masked):
        char = masked[place]
        if char == "#" and not masked[masked.rfind("\n", 0, place) + 1 : place].strip():
            end = place
            while True:
                end = masked.find("\n", end)
                if end < 0 or masked[end - 1] != "\\":
                    break
                end += 1
            end = len(masked) if end < 0 else end + 1
            if start is None:
                found.append((place, end))
            place = end
            continue
        if start is None and not char.isspace():
            start = place
        if char in "{(":
            depth += 1
        elif char in "})":
            depth -= 1
            if char == "}" and depth == 0 and start is not None:
                rest = masked[place + 1 :].lstrip()
                head = masked[start:place]
                if not (rest.startswith((";", ",", "=")) or is_type(head) or is_value(head)):
                    found.append((start, place + 1))
                    start = None
        elif char == ";" and depth == 0 and start is not None:
            found.append((start, place + 1))
            start = None
        place += 1
    return found


def is_type(head: str) -> bool:
    """Tell whether the declaration defines a type, whose end is a semicolon."""
    before = re.sub(r"template\s*<[^{}]*?>\s*(?=struct|class|union)", "", head.split("{")[0])
    return bool(re.match(r"\s*(typedef\b|(?:struct|class|union|enum)\b(?!.*\)\s*$))", before, re.S))


def is_value(head: str) -> bool:
    """Tell whether the declaration is a variable with a value in braces."""
    return bool(re.search(r"=\s*$|\]\s*$", head.split("{")[0]))


def kept(text: str, masked: str) -> bool:
    """Tell whether a declaration belongs to the device part."""
    head = masked.split("{")[0]
    if re.match(r"\s*using\s+namespace\b", head):
        return not re.search(r"\bstd\b|\bat\b|torch|\bcv\b", head)
    if re.search(r"__(global|device|constant)__", head):
        return True
    if re.search(r"\b(int|void)\s+main\s*\(", head):
        return False
    if re.match(r"\s*(template\b.*)?(struct|class|union|enum|typedef|using)\b", head, re.S) and (
            is_type(masked) or re.match(r"\s*(template\b.*?)?(using|struct|class|union)\b", head, re.S)
            and not re.search(r"\)\s*$", head)):
        return not HOST_NAMES.search(masked)
    if re.search(r"\)\s*(const)?\s*$", head) and "{" in masked:  # a function of the host
        return "constexpr" in head and not HOST_NAMES.search(masked)
    if re.match(r"\s*texture\s*<", head):
        return True
    constant = re.match(r"\s*(static\s+|inline\s+)*(const|constexpr)\b", head)
    return bool(constant and "=" in masked and not HOST_NAMES.search(masked)
                and not re.search(r"\b(cuda|std::|malloc|getenv)\w*", masked))


def include_kept(line: str, host_headers: bool) -> bool:
    """Tell whether an include stays: CUDA's headers, and the C library's for nvcc."""
    match = INCLUDE.match(line)
    return bool(match and (KEPT.match(match[2]) or host_headers and HOST_C.fullmatch(match[2])))


def device_part(text: str, host_headers: bool, plain_name: str | None = None) -> str:
    """Return the text without the host's functions, variables and includes.

    Parameters
    ----------
    text
        A file with its own headers in place.
    host_headers
        Keep `math.h`, `float.h` and the like, which nvcc reads and NVRTC does not.
    plain_name
        This kernel gets `extern "C"`, so that a module finds it by its name.
    """
    text = re.sub(r"^[ \t]*#[ \t]*pragma[ \t]+once[^\n]*", "", text, flags=re.M)
    masked, parts = mask(text), []
    for start, end in items(text, masked):
        part, shadow = text[start:end], masked[start:end]
        if part.startswith("#"):
            if not INCLUDE.match(part) or include_kept(part, host_headers):
                parts.append(part.rstrip("\n"))
            continue
        scope = re.match(r'(namespace\b[\w\s:]*|extern\s*"s"\s*)\{', shadow)
        if scope:
            inner = device_part(part[scope.end() : part.rindex("}")], host_headers, plain_name)
            parts.append(part[: scope.end()] + "\n" + inner + "\n}")
        elif kept(part, shadow):
            head = shadow.split("{")[0]
            if plain_name and "__global__" in head and "template" not in head and re.search(
                    rf"\b{plain_name}\s*\(", head) and 'extern' not in head:
                part = 'extern "C" ' + part
            parts.append(part)
    return "\n".join(parts) + "\n"


def split(text: str) -> list[str]:
    """Split at the commas that stand in no brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "<([{") - (char in ">)]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def kernels(text: str) -> list[Kernel]:
    """Return the kernels that a text defines, in its order."""
    masked = re.sub(r"^[ \t]*#[^\n]*(\\\n[^\n]*)*", lambda m: re.sub(r"[^\n]", " ", m[0]),
                    mask(text), flags=re.M)
    found: dict[str, Kernel] = {}
    for start, end in _functions(masked):
        head = ATTRIBUTE.sub(" ", masked[start:end])
        match = re.search(r"__global__\s+(?:\w+\s+)*?void\s+(?:\w+\s+)*?(\w+)\s*\((.*)\)\s*$", head, re.S)
        match = match or re.search(r"\bvoid\s+__global__\s+(\w+)\s*\((.*)\)\s*$", head, re.S)
        if not match:
            continue
        template = re.search(r"template\s*<(.*?)>\s*(?:__global__|void|\Z)", head[: match.start() + 11], re.S)
        parameters = []
        for parameter in split(" ".join(match[2].split())):
            if parameter == "void":
                continue
            parameter = re.sub(r"=.*", "", parameter).strip()
            named = re.match(r"(.*?[\s*&])(\w+)\s*(\[[^\]]*\])?$", re.sub(r"__restrict__|__restrict|"
                             r"\brestrict\b|\bvolatile\b|__grid_constant__", " ", parameter))
            if named:
                kind = named[1].strip() + ("*" if named[3] else "")
                parameters.append((re.sub(r"\s*\*\s*", "*", kind), named[2]))
            else:
                parameters.append((parameter, ""))
        found.setdefault(match[1], Kernel(match[1], tuple(split(template[1])) if template else (),
                                          tuple(parameters)))
    return list(found.values())


def _functions(masked: str) -> list[tuple[int, int]]:
    """Return start and end of the text before each kernel's body."""
    places = []
    for match in re.finditer(r"__global__", masked):
        body, stop = masked.find("{", match.end()), masked.find(";", match.end())
        if body < 0 or (0 <= stop < body):
            continue
        start = max(masked.rfind(char, 0, match.start()) for char in ";}{") + 1
        places.append((start, body))
    return places
