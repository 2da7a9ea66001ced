"""Inline PTX: ``asm("add.s32 %0, %1, %2;" : "=r"(x) : "r"(y), "r"(z));`` as C++.

Moves, arithmetic, comparisons, bits, conversions, global loads and stores, special registers. A
statement with anything else stays as it is, for the compiler to refuse: its instructions are named.
("PTX ISA", "Inline PTX Assembly in CUDA".)
"""

from __future__ import annotations

import re

from .source import blank

_STATEMENT = re.compile(r"\b(?:asm|__asm__)\b\s*(?:volatile\b|__volatile__\b)?\s*\(")
_TYPES = {
    **{f"{kind}{bits}": name for kind in "ub" for bits, name in (
        (8, "unsigned char"), (16, "unsigned short"), (32, "unsigned int"),
        (64, "unsigned long long"))},
    "s8": "signed char", "s16": "short", "s32": "int", "s64": "long long", "f32": "float",
    "f64": "double", "pred": "bool",
}  # fmt: skip
_SPECIAL = {
    "laneid": "nogpu::lane()", "warpid": "nogpu::rank() / 32", "clock": "(unsigned)clock()",
    "clock64": "clock64()", "globaltimer": "nogpu_nanoseconds()", "smid": "0u", "nsmid": "1u",
    "WARP_SZ": "32u", "lanemask_eq": "(1u << nogpu::lane())",
    "lanemask_lt": "((1u << nogpu::lane()) - 1u)", "lanemask_le": "((2u << nogpu::lane()) - 1u)",
    "lanemask_gt": "~((2u << nogpu::lane()) - 1u)", "lanemask_ge": "~((1u << nogpu::lane()) - 1u)",
    **{f"{ptx}.{axis}": f"{name}.{axis}" for axis in "xyz" for ptx, name in (
        ("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))},
}  # fmt: skip
# How each instruction computes its result of its operands, read as its type.
_COMPUTES = {
    "mov": "{0}", "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}",
    "div": "{0} / {1}", "rem": "{0} % {1}", "neg": "-{0}", "not": "~{0}", "and": "{0} & {1}",
    "or": "{0} | {1}", "xor": "{0} ^ {1}", "min": "min({0}, {1})", "max": "max({0}, {1})",
    "abs": "{0} < 0 ? -{0} : {0}", "mad": "{0} * {1} + {2}",
    "fma": "fma({0}, {1}, {2})", "shl": "nogpu::ptx_shift({0}, (unsigned){1}, true)",
    "shr": "nogpu::ptx_shift({0}, (unsigned){1}, false)", "popc": "__popcll({0})",
    "clz": "nogpu::ptx_zeros({0})", "brev": "nogpu::ptx_reverse({0})", "sqrt": "sqrt({0})",
    "rsqrt": "1 / sqrt({0})", "rcp": "1 / {0}", "sin": "sin({0})", "cos": "cos({0})",
    "ex2": "exp2({0})", "lg2": "log2({0})",
}  # fmt: skip
_COMPARES = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<",
             "ls": "<=", "hi": ">", "hs": ">="}  # fmt: skip
_MODIFIERS = {"rn", "rz", "rm", "rp", "rni", "rzi", "ftz", "lo", "approx", "full", "wide", "cg",
              "ca", "cs", "cv", "wb", "wt", "nc", "volatile", "relaxed", "gpu", "to"}  # fmt: skip
_PLAIN = {"bar.sync": "__syncthreads()", "trap": "__trap()", "membar.gl": "__threadfence()",
          "membar.cta": "__threadfence_block()"}  # fmt: skip


class _Lacking(Exception):
    """An instruction, or an operand, that is not translated."""


def translate(source: str) -> tuple[str, list[str]]:
    """The source with the statements that are understood as C++; what others consist of.

    The lines stay where they are.
    """
    hidden, lacking = blank(source), []
    for found in reversed(list(_STATEMENT.finditer(hidden))):
        end = _closing(hidden, found.end() - 1)
        inside = source[found.end() : end].replace("\\\n", " ")
        parts = _split(inside, ":")  # the template, outputs, inputs, what is changed besides
        try:
            text = _statement(parts)
        except _Lacking as error:
            lacking.insert(0, str(error))
            continue
        whole = source[found.start() : end]
        lines = ("\\\n" if "\\\n" in whole else "\n") * whole.count("\n")
        source = source[: found.start()] + text + lines + source[end + 1 :]
    return source, list(dict.fromkeys(lacking))


def _closing(hidden: str, at: int) -> int:
    depth = 0
    for place in range(at, len(hidden)):
        depth += (hidden[place] == "(") - (hidden[place] == ")")
        if depth == 0:
            return place
    return len(hidden) - 1


def _statement(parts: list[str]) -> str:
    template = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', parts[0]))
    template = template.replace("\\n", "\n").replace("\\t", " ")
    operands = []
    for part in parts[1:3]:
        operands += [_operand(one) for one in _split(part) if one.strip()]
    registers: dict[str, str] = {}
    done = [_instruction(one, operands, registers) for one in _instructions(template)]
    declared = " ".join(f"{kind} {name} = 0;" for name, kind in registers.items())
    return "do { " + " ".join([declared, *done]).strip() + " } while (0)"


def _operand(text: str) -> str:
    """The expression of ``"=r"(x)``."""
    found = re.fullmatch(r'\s*"[=+&]*[rlfdhn]"\s*\((.*)\)\s*', text, re.DOTALL)
    if found is None:
        raise _Lacking(" ".join(text.split()))
    return f"({found.group(1)})"


def _split(text: str, separator: str = ",") -> list[str]:
    """Parted by what separates outside brackets and strings."""
    parts, depth, quoted = [""], 0, False
    for letter in text:
        quoted ^= letter == '"'
        depth += 0 if quoted else (letter in "([{") - (letter in ")]}")
        if letter == separator and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _instructions(template: str) -> list[str]:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", template, flags=re.DOTALL)
    text = re.sub(r"%%|%(?=[A-Za-z_])", "%$", text)  # nvcc takes one sign before a name, too
    text = re.sub(r"^\s*\{|\}\s*$", "", text.strip()) if text.strip().startswith("{") else text
    return [one.strip() for one in text.split(";") if one.strip()]


def _instruction(text: str, operands: list[str], registers: dict[str, str]) -> str:
    if text.startswith(".reg"):
        declared = re.fullmatch(r"\.reg\s+\.(\w+)\s+([\w%$,\s]+)", text)
        if declared is None or declared.group(1) not in _TYPES:
            raise _Lacking(text)
        for name in declared.group(2).split(","):
            registers[f"ptx_{name.strip('% $')}"] = _TYPES[declared.group(1)]
        return ""
    guard = re.match(r"@(!?)%?\$?(\w+)\s+", text)
    condition = f"if ({guard.group(1)}ptx_{guard.group(2)}) " if guard else ""
    name, _, rest = (text[guard.end() :] if guard else text).partition(" ")
    if name in _PLAIN and rest.strip() in ("", "0"):
        return f"{condition}{_PLAIN[name]};"
    words = name.split(".")
    kinds = [word for word in words[1:] if word in _TYPES]
    known = {word for word in words[1:] if word in _MODIFIERS or word in ("global", "hi")}
    compare = [word for word in words[1:] if word in _COMPARES]
    left = len(words) - 1 - len(kinds) - len(known | set(compare))
    values = [one.strip() for one in _split(rest)]

    def place(index: int) -> str:
        return _register(values[index], operands, registers, name)

    def value(index: int, kind: str) -> str:
        return f"nogpu::ptx_as<{_TYPES[kind]}>({place(index)})"

    if left or not kinds or "wide" in known and words[0] != "mul":
        raise _Lacking(name)
    kind, result = kinds[0], ""
    pair = [one for one in values if one.startswith("{")]
    if pair and words[0] == "mov" and kind in ("b64", "b32") and len(_split(pair[0][1:-1])) == 2:
        low, high = (_register(one, operands, registers, name) for one in
                     (half.strip("{} ") for half in _split(pair[0][1:-1])))  # fmt: skip
        call = "join" if values[1] in pair else "part"
        whole = place(0) if call == "join" else value(1, kind)
        return f"{condition}nogpu::ptx_{call}({whole}, {low}, {high});"
    if words[0] == "ld" and "global" in known:
        result = f"*(const {_TYPES[kind]}*){_address(values[1], operands, name)}"
    elif words[0] == "st" and "global" in known:
        target = f"*({_TYPES[kind]}*){_address(values[0], operands, name)}"
        return f"{condition}{target} = {value(1, kind)};"
    elif words[0] == "cvt" and len(kinds) == 2:
        result = f"({_TYPES[kind]}){value(1, kinds[1])}"
        if kind[0] != "f" and kinds[1][0] == "f" and "rni" in known:
            result = f"({_TYPES[kind]})rint({value(1, kinds[1])})"
    elif words[0] == "setp" and compare:
        kind, result = "pred", f"{value(1, kind)} {_COMPARES[compare[0]]} {value(2, kind)}"
    elif words[0] == "selp":
        result = f"{place(3)} ? {value(1, kind)} : {value(2, kind)}"
    elif words[0] == "mul" and known & {"hi", "wide"}:
        wide = {"32": "64", "16": "32"}.get(kind[1:])
        if wide is None or kind[0] == "f":
            raise _Lacking(name)
        product = f"({_TYPES[kind[0] + wide]}){value(1, kind)} * {value(2, kind)}"
        if "wide" in known:
            return f"{condition}nogpu::ptx_set<{_TYPES[kind[0] + wide]}>({place(0)}, {product});"
        result = f"({product}) >> {kind[1:]}"
    elif words[0] in _COMPUTES:
        if "hi" in known or "rz" in known and kind[0] == "f":
            raise _Lacking(name)
        result = _COMPUTES[words[0]].format(*(value(i, kind) for i in range(1, len(values))))
    else:
        raise _Lacking(name)
    return f"{condition}nogpu::ptx_set<{_TYPES[kind]}>({place(0)}, ({_TYPES[kind]})({result}));"


def _address(text: str, operands: list[str], name: str) -> str:
    found = re.fullmatch(r"\[\s*%(\d+)\s*(\+\s*\d+)?\s*\]", text)
    if found is None or int(found.group(1)) >= len(operands):
        raise _Lacking(name)
    return f"((unsigned long){operands[int(found.group(1))]}{found.group(2) or ''})"


def _register(text: str, operands: list[str], registers: dict[str, str], name: str) -> str:
    """An operand: ``%0``, a special register, a number, or a register that was declared."""
    if re.fullmatch(r"%\d+", text) and int(text[1:]) < len(operands):
        return operands[int(text[1:])]
    if text[:2] == "%$" and text[2:] in _SPECIAL:
        return _SPECIAL[text[2:]]
    if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+(\.\d*)?(e-?\d+)?)[uU]?", text):
        return text
    if found := re.fullmatch(r"0([fFdD])((?:[0-9a-fA-F]{8}){1,2})", text):
        kind = "float" if found.group(1) in "fF" else "double"
        return f"__builtin_bit_cast({kind}, 0x{found.group(2)}{'ull' * (kind == 'double')})"
    declared = f"ptx_{text.lstrip('%$')}"
    if declared not in registers:
        raise _Lacking(name)
    return declared
