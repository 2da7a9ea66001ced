"""CUDA source to something that can be loaded: here the simulator's engine is the compiler."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from nogpu import engine
from nogpu.faces import HEADERS

INCLUDE = Path(__file__).parents[1] / "_core" / "include"
_MAGIC = b"\x7fCUSIM1\n"
_PLACE = re.compile(r"^([^\s:][^:]*):(\d+):(?:\d+:)? (?:fatal )?(error|warning|note): (.*)$")
# What g++ or clang++ says of an unknown name, and how NVRTC says it.
_UNDECLARED = (
    (re.compile(r"‘([^’]+)’ was not declared in this scope.*"), r'identifier "\1" is undefined'),
    (re.compile(r"'([^']+)' was not declared in this scope.*"), r'identifier "\1" is undefined'),
    (re.compile(r"use of undeclared identifier '([^']+)'.*"), r'identifier "\1" is undefined'),
    (re.compile(r"unknown type name '([^']+)'.*"), r'identifier "\1" is undefined'),
    (re.compile(r"[‘']([^’']+)[’'] does not name a type.*"), r'identifier "\1" is undefined'),
    (re.compile(r"expected [‘'],[’'] or [‘'];[’'].*"), 'expected a ";"'),
    (re.compile(r"expected [‘']([^’']+)[’'] (?:before|after) .*"), r'expected a "\1"'),
    (re.compile(r"expected '([^']+)'.*"), r'expected a "\1"'),
    (re.compile(r"expected (?:primary-)?expression(?: before .*)?"), "expected an expression"),
    (re.compile(r"(\S+): No such file or directory"), r'cannot open source file "\1"'),
    (re.compile(r"'(\S+)' file not found"), r'cannot open source file "\1"'),
)


class CompileException(Exception):
    """A source did not compile."""

    def __init__(
        self, msg: str, source: str, name: str, options: Sequence[str], backend: str = "nvcc"
    ) -> None:
        self._msg = msg
        self.source, self.name, self.options, self.backend = source, name, options, backend
        super().__init__()

    def __reduce__(self) -> tuple:
        return (type(self), (self._msg, self.source, self.name, self.options, self.backend))

    def get_message(self) -> str:
        """The compiler's log."""
        return self._msg

    __repr__ = __str__ = get_message

    def dump(self, f: TextIO) -> None:
        """Write the log and the source with numbered lines."""
        lines = self.source.split("\n")
        width = len(str(len(lines)))
        options = " ".join(self.options)
        f.write(f"{self.backend.upper()} compilation error: {self._msg}\n-----\n")
        f.write(f"Name: {self.name}\nOptions: {options}\nCUDA source:\n")
        for number, line in enumerate(lines, 1):
            f.write(f"{number:0{width}d} {line.rstrip()}\n")
        f.write("-----\n")
        f.flush()


def is_valid_kernel_name(name: str) -> bool:
    """Whether a kernel can be called so."""
    return re.match(r"^[a-zA-Z_][a-zA-Z_0-9]*$", name) is not None


def _as_nvrtc_says(log: str, name: str) -> str:
    """The host compiler's log with places, and the commonest words, as NVRTC writes them."""
    lines, errors = [], 0
    for line in log.splitlines():
        place = _PLACE.match(line)
        if place is None:
            lines.append(line)
            continue
        file, number, kind, text = place.groups()
        if kind == "note":
            continue
        text = re.sub(r"; did you mean .*\?$", "", text)
        for pattern, words in _UNDECLARED:
            text = pattern.sub(words, text)
        errors += kind == "error"
        lines.append(f"{file}({number}): {kind}: {text}")
    if errors:
        plural = "s" if errors > 1 else ""
        lines.append(f'\n{errors} error{plural} detected in the compilation of "{name}".')
    return "\n".join(lines) + "\n"


def _compile(
    source: str, options: Sequence[str] = (), name_expressions: Sequence[str] = (),
    backend: str = "nvrtc", name: str = "kernel.cu",
) -> engine.Module:  # fmt: skip
    """Compile; CompileException where the source has a mistake."""
    # As the library has it: what a program says itself comes later, and counts.
    given = ("-ftz=true", *options) if backend == "nvrtc" else options
    try:
        return engine.compile(
            source, (*given, f"-I{INCLUDE}", f"-I{HEADERS}"), name_expressions, dialect=backend,
            name=name)
    except engine.CompileError as error:
        log = _as_nvrtc_says(str(error), name)
        raise CompileException(log, source, name, tuple(options), backend) from None


def _image(
    source: str, options: Sequence[str], names: Sequence[str], backend: str, **more: bool
) -> bytes:  # fmt: skip
    """What stands for a cubin here: the source, and how to compile it."""
    content = {"source": source, "options": list(options), "names": list(names), "backend": backend}
    return _MAGIC + json.dumps(content | more).encode()


def _open_image(image: bytes) -> dict | None:
    """The content of an image; None for a real cubin, PTX, or anything else."""
    image = bytes(image)
    return json.loads(image[len(_MAGIC) :]) if image.startswith(_MAGIC) else None


def compile_using_nvrtc(
    source: str, options: Sequence[str] = (), arch: str | None = None, filename: str = "kern.cu",
    name_expressions: Sequence[str] | None = None, log_stream: TextIO | None = None,
    cache_in_memory: bool = False, jitify: bool = False,
) -> tuple[bytes, dict[str, str] | None]:  # fmt: skip
    """Compile CUDA source.

    Returns
    -------
    image : bytes
        For `cupy.cuda.Module.load`. No cubin here: it holds the source for the simulator.
    mapping : dict of str to str
        The name in the image of each of ``name_expressions``.
    """
    names = tuple(name_expressions or ())
    module = _compile(source, options, names, "nvrtc", filename)
    for name in names:
        module.kernel(name)
    return _image(source, options, names, "nvrtc"), {name: name for name in names}
