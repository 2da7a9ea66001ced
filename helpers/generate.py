"""Pieces of CUDA source made from values: types, numbers and templates.

What goes into generated source is checked here, where the mistake can still be named: C++ accepts
most wrong values without a word, or complains about a line of the generated text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from .errors import find_compiler_error

C_TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
    "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long long",
    "uint64": "unsigned long long", "float32": "float", "float64": "double",
}  # fmt: skip
ELSEWHERE = {"float16": "; CUDA's is __half, of the header cuda_fp16.h",
             "complex64": "; CUDA's is float2", "complex128": "; CUDA's is double2"}
SUFFIXES = {"int64": "ll", "uint32": "u", "uint64": "ull", "float32": "f"}


def c_type(dtype: object) -> str:
    """The name in CUDA C++ of the type that a NumPy dtype has in memory: "float" for float32.

    Raises
    ------
    TypeError
        Where C++ has no such type of its own, as for float16, complex numbers and strings, or
        where the bytes of the dtype are swapped.
    """
    dtype = np.dtype(dtype)
    if not dtype.isnative:
        raise TypeError(f"dtype {dtype} has its bytes in the other order: a kernel would read other"
                        " numbers. Convert it with .astype first.")
    if dtype.name not in C_TYPES:
        raise TypeError(f"dtype {dtype} has no name in C{ELSEWHERE.get(dtype.name, '')}. These"
                        f" have: {', '.join(C_TYPES)}.")
    return C_TYPES[dtype.name]


def literal(value: object, dtype: object = "float32", name: str = "") -> str:
    """A number as CUDA C++ writes it, with the type of `dtype` and exactly its value.

    Parameters
    ----------
    value : number
        Is converted to `dtype` first: 0.1 becomes the float32 nearest to it, `0.1f`.
    dtype : dtype
        See `c_type`.
    name : str, optional
        What error messages call the value, `coefficients[3]` for instance.

    Returns
    -------
    str
        In parentheses where it begins with a minus, so that it may stand behind one.

    Raises
    ------
    ValueError
        For nan and infinite numbers, and numbers that `dtype` cannot hold.
    TypeError
        For what is no real number, or a dtype without a name in C.
    """
    c_type(dtype)
    kind = np.dtype(dtype)
    called = f"{name} is {value}" if name else f"{value}"
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    real = (bool, int, float, np.integer, np.floating, np.bool_)
    if not isinstance(value, real):
        raise TypeError(f"{name or 'the value'} is {value!r}, a {type(value).__name__}: only"
                        " integers and real numbers can be written into source.")
    if not isinstance(value, int) and not np.isfinite(value):
        raise ValueError(f"{called}: C has no literal for it.")
    if kind.kind == "b":
        if value not in (0, 1):
            raise ValueError(f"{called}: bool holds only 0 and 1.")
        return "true" if value else "false"
    if kind.kind == "f":
        try:
            with np.errstate(over="ignore"):
                number = kind.type(value)
        except OverflowError:  # a Python int beyond all floating-point numbers
            number = kind.type(np.inf)
        if not np.isfinite(number):
            raise ValueError(f"{called}: too large for {kind}, whose largest number is"
                             f" {np.finfo(kind).max}.")
        # The shortest texts that read back as the same number; str() differs between NumPys.
        text = min(np.format_float_positional(number, trim="0"),
                   np.format_float_scientific(number, trim="-"), key=len)
    else:
        number, limits = int(value), np.iinfo(kind)
        if number != value:
            raise ValueError(f"{called}: {kind} holds only integers.")
        if not limits.min <= number <= limits.max:
            raise ValueError(f"{called}: {kind} goes from {limits.min} to {limits.max}.")
        if number == limits.min < -(2**15):  # C has no literal for it, only a minus before
            return f"({number + 1}{SUFFIXES.get(kind.name, '')} - 1)"
        text = str(number)
    text += SUFFIXES.get(kind.name, "")
    return f"({text})" if text.startswith("-") else text


def literals(values: Iterable, dtype: object = "float32", name: str = "values") -> list[str]:
    """`literal` of each number; an error says which: `coefficients[3] is nan`."""
    return [literal(value, dtype, f"{name}[{k}]") for k, value in enumerate(values)]


def render(template: str, **values: object) -> str:
    """Fill in a Jinja2 template (jinja.palletsprojects.com/templates) for CUDA source.

    Parameters
    ----------
    template : str
        `{{ name }}` is replaced by a value; lines with `{% for ... %}`, `{% if ... %}` and their
        ends leave no line behind. Two filters know C: `{{ x | literal("float32") }}` and
        `{{ dtype | c_type }}`.
    values
        All that the template names, and nothing else.

    Raises
    ------
    NameError
        Where the template names what was not given, or the other way round.
    ValueError
        Where the template itself is not well formed.
    TypeError
        For a bare floating-point number: `{{ 0.1 }}` would be a double in C++.
    """
    from jinja2 import Environment, StrictUndefined, TemplateSyntaxError, meta

    def finalize(value: object) -> object:
        if isinstance(value, (float, np.floating)):
            raise TypeError(f"{{{{ {value} }}}} would be a double in C++, or nothing that it knows:"
                            ' write {{ name | literal("float32") }}, or another type.')
        return value

    environment = Environment(undefined=StrictUndefined, finalize=finalize, trim_blocks=True,
                              lstrip_blocks=True, keep_trailing_newline=True)
    environment.filters.update(literal=literal, literals=literals, c_type=c_type)
    try:
        wanted = meta.find_undeclared_variables(environment.parse(template))
    except TemplateSyntaxError as error:
        raise ValueError(f"line {error.lineno} of the template: {error.message}.") from None
    for name in sorted(wanted - set(values)):
        raise NameError(f"line {_line_of(name, template)} of the template names {name!r}, which was"
                        f" not given; given were {_list(values)}.")
    for name in sorted(set(values) - wanted):
        raise NameError(f"{name!r} was given, but the template does not name it; it names"
                        f" {_list(wanted)}.")
    return environment.from_string(template).render(**values)


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _line_of(name: str, template: str) -> int:
    """The first line with `name` inside of {{ }} or {% %}."""
    for piece in re.finditer(r"\{\{.*?\}\}|\{%.*?%\}", template, re.DOTALL):
        if found := re.search(rf"\b{re.escape(name)}\b", piece[0]):
            return template.count("\n", 0, piece.start() + found.start()) + 1
    return 1


def explain(error: Exception, source: str, extern_c: bool = True) -> str:
    """The first thing that a compiler says against generated source, and the lines it means.

    Parameters
    ----------
    error : Exception
        PyCUDA's CompileError or CuPy's CompileException.
    source : str
        What was compiled; its lines are numbered from 1.
    extern_c : bool
        Whether PyCUDA put a line `extern "C" {` before it, as it does unless told not to.
    """
    log = getattr(error, "stderr", None) or str(error)
    found = find_compiler_error(log)
    if found is None:
        return log.strip().split("\n")[0]
    lines = source.split("\n")
    shift = int(extern_c and getattr(error, "stderr", None) is not None)
    number = min(max(found.line - shift, 1), len(lines))
    shown = [f"line {number}: {found.text}"]
    for k in range(max(1, number - 2), min(len(lines), number + 1) + 1):
        shown.append(f"{'>' if k == number else ' '} {k:3} | {lines[k - 1]}")
    return "\n".join(shown)
