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
HOST_C = re.compile(
    r"(std(io|lib|int|def|bool)|math|float|limits|assert|string)\.h|c(std(io|int|lib)"
    r"|math|float|limits|assert|string)|limits"
)
HOST_NAMES = re.compile(
    r"\bstd::(vector|string|map|function|unique_ptr|shared_ptr|ostream|random|mt19937|chrono)"
    r"|\bFILE\b"
    r"|\bglut|\bGLUT_|\bGLuint|\bcudaGraphicsResource|\btimeval\b|\bStopWatch"
    r"|\btorch::|\bat::Tensor|\bcuda(Error|Stream|Event|Array|Graph|DeviceProp)\w*_?t?\b"
    r"|\bcu(blas|dnn|rand|fft|solver|sparse)\w*(Handle|Generator|Descriptor)\w*|\bEigen::|\bcv::"
)
ATTRIBUTE = re.compile(
    r"__(?:launch_bounds|align|cluster_dims)__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)"
    r"|__attribute__\s*\(\([^()]*(?:\([^()]*\))?[^()]*\)\)|__noinline__"
    r"|__forceinline__|\b(?:static|inline|extern\s+\"C\"|extern)\b"
)


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
        return (
            re.sub(r"[^\n]", filler, match[0])
            if filler == " "
            else ('"' + re.sub(r"[^\n]", "s", match[0][1:-1]) + '"')
        )

    return MASKED.sub(blank, text)


def with_own_headers(
    text: str, path: str, read: Callable[[str], str | None], seen: set[str] | None = None
) -> str:
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
        here = posixpath.dirname(path)
        if KEPT.match(match[2]) or HOST_C.fullmatch(match[2]):
            return match[0]
        for folder in (here, f"{here}/inc", f"{here}/../inc", f"{here}/../include", "Common"):
            place = posixpath.normpath(posixpath.join(folder, match[2]))
            header = None if place.startswith("..") else read(place)
            if header is not None:
                break
        else:
            return match[0]
        if place in seen:
            return ""
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
    if re.match(r"\s*using\s+std::", head):
        return False
    if re.match(r"\s*namespace\s+\w+\s*=", head):
        return True
    if re.search(r"__(global|device|constant)__", head):
        return True
    if re.search(r"\b(int|void)\s+main\s*\(", head):
        return False
    if re.match(r"\s*(template\b.*)?(struct|class|union|enum|typedef|using)\b", head, re.S) and (
        is_type(masked)
        or re.match(r"\s*(template\b.*?)?(using|struct|class|union)\b", head, re.S)
        and not re.search(r"\)\s*$", head)
    ):
        return not HOST_NAMES.search(masked)
    if re.search(r"\)\s*(const)?\s*$", head) and "{" in masked:  # a function of the host
        return "constexpr" in head and not HOST_NAMES.search(masked)
    if re.match(r"\s*texture\s*<", head):
        return True
    constant = re.match(r"\s*(static\s+|inline\s+)*(const|constexpr)\b", head)
    return bool(
        constant
        and "=" in masked
        and not HOST_NAMES.search(masked)
        and not re.search(r"\b(cuda|std::|malloc|getenv)\w*|\bchar\s*\*", masked)
    )


# What a file has to mention for an include to stay: the others were for the host.
USES = {
    r"cooperative_groups": (
        r"cooperative_groups|\bcg::|thread_block|tiled_partition|coalesced_t|this_grid"
    ),
    r"thrust/": r"\bthrust::",
    r"cub/": r"\bcub::",
    r"cuda/": r"\bcuda::",
    r"mma\.h|nvcuda": r"\bwmma\b|\bhalf\b",
    r"curand": r"\bcurand",
    r"cuda_fp8": r"fp8",
    r"cuda_bf16": r"bfloat|bf16|nv_bf",
    r"cuComplex": r"\bcu(?:Float|Double)?Complex|\bcuC",
    r"cuda_pipeline": r"pipeline",
    r"cuda_fp16": r"\bhalf|__h|half2",
}


def only_used(parts: list[str], kernel: str) -> list[str]:
    """Leave out other kernels, device functions that this one does not reach, and the includes
    and aliases of what is left out."""
    defined = [_defined(part) for part in parts]
    reached, text = set(), ""
    waiting = [place for place, names in enumerate(defined) if not names or kernel in names]
    while waiting:
        reached |= set(waiting)
        text += "\n".join(mask(parts[place]) for place in waiting)
        words = set(re.findall(r"\w+", text))
        waiting = [
            place
            for place, names in enumerate(defined)
            if place not in reached and names and names & words
        ]
    text = "\n".join(
        mask(parts[place])
        for place in sorted(reached)
        if not re.match(r"\s*(#\s*include|using\s+namespace|namespace\s+\w+\s*=)", parts[place])
    )
    left = []
    for place in sorted(reached):
        named = INCLUDE.match(parts[place]) or re.match(
            r"\s*(?:using\s+namespace|namespace\s+\w+\s*=)\s*()(\w+)", parts[place]
        )
        use = next((use for name, use in USES.items() if named and re.match(name, named[2])), "")
        if re.search(use, text):
            left.append(parts[place])
    return left


def _defined(part: str) -> set[str]:
    """Return the name of the function that a part defines, or nothing for all other parts."""
    head = mask(part).split("{")[0]
    texture = re.match(r"\s*texture\s*<.*>\s*(\w+)\s*;", head, re.S)
    if texture:
        return {texture[1]}
    if not re.search(r"__(global|device)__", head) or "(" not in ATTRIBUTE.sub(" ", head):
        return set()
    head = re.sub(
        r"template\s*<[^()]*?>\s*(?=__|static|inline|const|\w)", " ", ATTRIBUTE.sub(" ", head)
    )
    name = re.search(r"([\w~]+|operator\s*\S+?)\s*\(", head)
    return {name[1]} if name and not name[1].startswith("operator") else set()


def include_kept(line: str, host_headers: bool) -> bool:
    """Tell whether an include stays: CUDA's headers, and the C library's for nvcc."""
    match = INCLUDE.match(line)
    return bool(match and (KEPT.match(match[2]) or host_headers and HOST_C.fullmatch(match[2])))


def device_part(text: str, host_headers: bool, kernel: str, plain: bool) -> str:
    """Return the text without the host's functions, variables and includes.

    Parameters
    ----------
    text
        A file with its own headers in place.
    host_headers
        Keep `math.h`, `float.h` and the like, which nvcc reads and NVRTC does not.
    kernel
        Leave out what this kernel does not use.
    plain
        Give the kernel `extern "C"`, so that a module finds it by its name.
    """
    text = re.sub(r"^[ \t]*#[ \t]*pragma[ \t]+once[^\n]*", "", text, flags=re.M)
    return (
        "\n".join(only_used(_parts(text, host_headers, kernel if plain else None), kernel)) + "\n"
    )


def _parts(text: str, host_headers: bool, plain_name: str | None) -> list[str]:
    """Return the device part's declarations and directives, those of a namespace each in one."""
    masked, parts = mask(text), []
    for start, end in items(text, masked):
        part, shadow = text[start:end], masked[start:end]
        if part.startswith("#"):
            included = INCLUDE.match(part)
            if included and included[2].startswith("cublas"):  # brings both types with it
                parts += ["#include <cuda_fp16.h>", "#include <cuda_bf16.h>"]
            elif not included or include_kept(part, host_headers):
                parts.append(part.rstrip("\n"))
            continue
        scope = re.match(r'(namespace\b[\w\s:]*|extern\s*"s"\s*)\{', shadow)
        if scope:
            inner = _parts(part[scope.end() : part.rindex("}")], host_headers, plain_name)
            parts += [
                one if one.startswith("#") else part[: scope.end()] + "\n" + one + "\n}"
                for one in inner
            ]
        elif kept(part, shadow):
            head = shadow.split("{")[0]
            if (
                plain_name
                and "__global__" in head
                and "template" not in head
                and re.search(rf"\b{plain_name}\s*\(", head)
                and "extern" not in head
            ):
                part = 'extern "C" ' + re.sub(r"\b(static|inline)\b", " ", part, count=1)
            parts.append(part)
    return parts


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
    masked = re.sub(
        r"^[ \t]*#[^\n]*(\\\n[^\n]*)*",
        lambda m: re.sub(r"[^\n]", " ", m[0]),
        mask(text),
        flags=re.M,
    )
    found: dict[str, Kernel] = {}
    for start, end in _functions(masked):
        head = ATTRIBUTE.sub(" ", masked[start:end])
        match = re.search(
            r"__global__\s+(?:\w+\s+)*?void\s+(?:\w+\s+)*?(\w+)\s*\((.*)\)\s*$", head, re.S
        )
        match = match or re.search(r"\bvoid\s+__global__\s+(\w+)\s*\((.*)\)\s*$", head, re.S)
        if not match:
            continue
        template = re.search(
            r"template\s*<(.*?)>\s*(?:__global__|void|\Z)", head[: match.start() + 11], re.S
        )
        parameters = []
        for parameter in split(" ".join(match[2].split())):
            if parameter == "void":
                continue
            parameter = re.sub(r"=.*", "", parameter).strip()
            named = re.match(
                r"(.*?[\s*&])(\w+)\s*(\[[^\]]*\])?$",
                re.sub(
                    r"__restrict__|__restrict|"
                    r"\brestrict\b|\bvolatile\b|__grid_constant__",
                    " ",
                    parameter,
                ),
            )
            if named:
                kind = named[1].strip() + ("*" if named[3] else "")
                parameters.append((re.sub(r"\s*\*\s*", "*", kind), named[2]))
            else:
                parameters.append((parameter, ""))
        found.setdefault(
            match[1],
            Kernel(match[1], tuple(split(template[1])) if template else (), tuple(parameters)),
        )
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
