"""Mutants of CUDA: rules on the tokens of a kernel's text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from .source import Change, Region

TOKEN = re.compile(r"""
    (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.\d*|\.?\d+)(?:[eE][+-]?\d+)?[fFuUlL]*)
  | (?P<builtin>(?:thread|block)Idx\.[xyz]|(?:block|grid)Dim\.[xyz])
  | (?P<word>[A-Za-z_]\w*)
  | (?P<mark><<=|>>=|\+\+|--|->|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|\S)
""", re.VERBOSE)
HIDDEN = re.compile(r"//[^\n]*|/\*.*?\*/|\#[^\n]*|\{%.*?%\}", re.DOTALL)
KERNEL = re.compile(r"__global__[^(]*?\b\w+\s*\(([^)]*)\)")
MARKS = {"<": ("<=", ">"), "<=": ("<", ">"), ">": (">=", "<"), ">=": (">", "<"), "==": ("!=",),
         "!=": ("==",), "+": ("-",), "-": ("+",), "*": ("/", "+"), "/": ("*", "%"),
         "%": ("/",), "&": ("|",), "|": ("&",), "<<": (">>",), ">>": ("<<",), "+=": ("-=", "="),
         "-=": ("+=",), "*=": ("/=", "="), "/=": ("-=",), "++": ("--",), "--": ("++",),
         "<<=": (">>=",), ">>=": ("<<=",)}
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
TWINS = {
    "fmaxf": ("fminf",), "fminf": ("fmaxf",), "max": ("min",), "min": ("max",),
    "expf": ("__expf", "exp2f"), "exp": ("expf",), "logf": ("log2f", "__logf"), "tanh": ("tanhf",),
    "tanhf": ("sinhf",), "sqrtf": ("rsqrtf",), "atomicAdd": ("atomicMax",),
    "__shfl_xor_sync": ("__shfl_down_sync",), "__shfl_up_sync": ("__shfl_down_sync",),
    "__shfl_sync": ("__shfl_xor_sync",), "float4": ("float2",), "while": ("if",),
}
# A type, and what a declaration may have in its place.
TYPES = {"long long": ("int",), "double": ("float",), "unsigned": ("int",), "size_t": ("int",),
         "float": ("double", "int"), "int": ("short", "float"), "T": ("float", "double")}
TYPE = re.compile(r"\b(long long|double|unsigned|size_t|float|int|T)\b(?!\s*\*)")
NUMBER = re.compile(r"\b(?:float|double|T|int|long|unsigned|size_t|bool|char|short)\b")
INFINITE = re.compile(r"-\s*(?:INFINITY|FLT_MAX|3\.4\d*e\+?38f?)")
DECLARES = re.compile(r"(?:const\s+|extern\s+|__shared__\s+|static\s+)*"
                      r"(?:long long|unsigned|double|float4?|int|size_t|bool|char|T|Sum)\s+[\w*]")
CONTROL = {"for", "while", "if", "else", "do", "return", "break", "continue"}
ONE_THREAD = {"blockIdx": "0", "threadIdx": "0", "gridDim": "1", "blockDim": "1"}
ONE_BLOCK = {"blockIdx": "0", "gridDim": "1"}
DOUBLE = re.compile(r"\bfloat\b(?!\s*\*)")


class CudaRules:
    """Collects the changes of a region of CUDA.

    Parameters
    ----------
    cell : str
    region : Region
    values : mapping
        What the task's cases pass for the kernel's scalar parameters.
    """

    def __init__(self, cell: str, region: Region, values: Mapping[str, Sequence]) -> None:
        self.cell, self.region, self.values = cell, region, values
        self.text = HIDDEN.sub(lambda hidden: re.sub(r"[^\n]", " ", hidden[0]),
                               cell[region.start:region.end])
        self.tokens = [found for found in TOKEN.finditer(self.text)]
        self.changes: list[Change] = []
        before = cell[:region.start]
        found = list(KERNEL.finditer(before)) or list(KERNEL.finditer(self.text))
        self.parameters = self._parse(found[-1][1]) if found else {}
        for rule in (self.marks, self.numbers, self.words, self.types, self.infinities,
                     self.indices, self.guards, self.statements, self.loops, self.initial_values,
                     self.narrow_values, self.whole):
            rule()

    @staticmethod
    def _parse(parameters: str) -> dict[str, str]:
        """The kernel's parameters by name, each with its type."""
        found = {}
        for parameter in parameters.split(","):
            words = parameter.replace("*", " * ").replace("__restrict__", " ").split()
            if len(words) > 1:
                found[words[-1]] = " ".join(words[:-1])
        return found

    def note(self, rule: str, start: int, end: int, *texts: str) -> None:
        base = self.region.start
        self.changes += [Change.at(rule, base + start, base + end, text) for text in texts]

    # ---- rules on single tokens

    def marks(self) -> None:
        for k, token in enumerate(self.tokens):
            mark = token[0]
            if token["mark"] is None or mark not in MARKS | {"&&": (), "||": (), "!": ()}:
                continue
            if mark in "+-*&" and not self._is_binary(k):
                if mark == "-" and not INFINITE.match(self.text, token.start()):
                    self.note("sign or negation", *token.span(), "")
                continue
            if mark == "!":
                self.note("sign or negation", *token.span(), "")
            elif mark in ("&&", "||"):
                self.note("guard", *token.span(), "||" if mark == "&&" else "&&")
            else:
                rule = "comparison" if mark in COMPARISONS else "operator"
                self.note(rule, *token.span(), *MARKS[mark])

    def _is_binary(self, k: int) -> bool:
        """Whether an operand stands before token `k`, and no type of a declaration or a cast."""
        if k == 0:
            return False
        before = self.tokens[k - 1]
        if before["word"] and (before[0] in CONTROL or TYPE.match(before[0])
                               or before[0] in ("float4", "bool")):
            return False
        return bool(before["word"] or before["number"] or before["builtin"] or before[0] in ")]")

    def numbers(self) -> None:
        for k, token in enumerate(self.tokens):
            if not token["number"]:
                continue
            digits = token[0].rstrip("uUlL" if token[0][:2].lower() == "0x" else "fFuUlL")
            suffix = token[0][len(digits):]
            if digits[:2].lower() == "0x":
                self.note("constant", *token.span(), f"{hex(int(digits, 16) >> 1)}{suffix}")
            elif digits.isdigit():
                if "L" in suffix.upper():
                    self.note("type narrowed", *token.span(), digits)
                self.note("constant", *token.span(), f"{int(digits) + 1}{suffix}",
                          *([f"{int(digits) - 1}{suffix}"] if int(digits) else []))
            elif abs(float(digits)) < 1e30:
                self.note("constant", *token.span(), f"{float(digits) * 1.01!r}{suffix}",
                          f"0.0{suffix}")
                if "f" not in suffix and k > 1 and self.tokens[k - 2][0] == "T":
                    start = self.tokens[k - 2].start()
                    end = self.tokens[k + 1].end()
                    self.note("precision", start, end, f"{float(digits)!r}",
                              f"T({float(digits):.4g})")

    def words(self) -> None:
        for token in self.tokens:
            word = token[0]
            if token["builtin"]:
                value = "0" if "Idx" in word else "1"
                other = word[:-1] + ("y" if word.endswith("x") else "x")
                self.note("thread", *token.span(), value, other)
                if word.startswith("blockDim"):
                    self.note("parameter", *token.span(), "256", "32")
            elif token["word"]:
                self.note("twin", *token.span(), *TWINS.get(word, ()))
                if word in self.parameters:
                    self._parameter(word, token)

    def _parameter(self, word: str, token: re.Match) -> None:
        kind = self.parameters[word].replace("const ", "")
        same = [name for name, other in self.parameters.items()
                if other.replace("const ", "") == kind]
        at = same.index(word)
        self.note("name", *token.span(), *(same[k] for k in (at - 1, at + 1)
                                           if 0 <= k < len(same)))
        values = list(self.values.get(word, ()))
        if values:
            often = max(values, key=lambda value: (values.count(value), -values.index(value)))
            self.note("parameter", *token.span(), *dict.fromkeys(map(_literal, (values[0], often))))

    def types(self) -> None:
        for found in TYPE.finditer(self.text):
            self.note("type", *found.span(), *TYPES[found[0]])

    def infinities(self) -> None:
        for found in INFINITE.finditer(self.text):
            self.note("soft infinity", *found.span(), "-1e4f", "-100.0f", "0.0f")

    # ---- rules on expressions

    def _closing(self, k: int) -> int:
        """The token that closes the bracket of token `k`."""
        pairs, depth = {"(": ")", "[": "]", "{": "}"}, 0
        opening, closing = self.tokens[k][0], pairs[self.tokens[k][0]]
        for at in range(k, len(self.tokens)):
            depth += (self.tokens[at][0] == opening) - (self.tokens[at][0] == closing)
            if not depth:
                return at
        return len(self.tokens) - 1

    def indices(self) -> None:
        for k, token in enumerate(self.tokens):
            if token[0] == "[" and not self._declares_array(k):
                start, end = token.end(), self.tokens[self._closing(k)].start()
                inside = self.text[start:end]
                self.note("index", start, end, f"({inside}) + 1", f"({inside}) - 1")

    def _declares_array(self, k: int) -> bool:
        start = max(self.text.rfind(mark, 0, self.tokens[k].start()) for mark in ";{}")
        return bool(re.match(r"\s*(?:extern\s+)?(?:__shared__\s|\w+\s+\w+\s*\[|float \w+\[)",
                             self.text[start + 1:self.tokens[k].end()]))

    def guards(self) -> None:
        for k, token in enumerate(self.tokens):
            if token[0] in ("if", "while") and self.tokens[k + 1][0] == "(":
                span = self.tokens[k + 1].end(), self.tokens[self._closing(k + 1)].start()
                self.note("guard", *span, "true", "false")
            if token[0] in ("&&", "||"):
                left, right = self._operand(k, -1), self._operand(k, 1)
                self.note("guard", left, token.end(), "")
                self.note("guard", token.start(), right, "")
            if token[0] == "?":
                left = self._operand(k, -1)
                self.note("guard", left, token.start(), "true ")

    def _operand(self, k: int, step: int,
                 marks: Sequence[str] = ("&&", "||", "?", ":", ";", ",", "=")) -> int:
        """Where the operand of token `k` ends that lies to its left (-1) or right (1)."""
        depth, at = 0, k + step
        opening, closing = ("([{", ")]}") if step > 0 else (")]}", "([{")
        while 0 <= at < len(self.tokens):
            mark = self.tokens[at][0]
            if depth == 0 and (mark in marks or mark in closing):
                break
            depth += (mark in opening) - (mark in closing)
            at += step
        at -= step
        return self.tokens[at].start() if step < 0 else self.tokens[at].end()

    # ---- rules on statements

    def _statements(self) -> Iterator[tuple[int, int]]:
        """Token ranges of the simple statements, each with its semicolon."""
        k, start = 0, 0
        while k < len(self.tokens):
            mark = self.tokens[k][0]
            if k == start and mark in ("for", "while", "if") and k + 1 < len(self.tokens):
                k = start = self._closing(k + 1) + 1
                continue
            if k == start and mark in ("else", "{", "}", "do"):
                k = start = k + 1
                continue
            if mark in "([{":
                k = self._closing(k)
            elif mark == ";":
                yield start, k
                start = k + 1
            k += 1
        if start < len(self.tokens) and self.tokens[-1][0] != "}":
            yield start, len(self.tokens)

    def statements(self) -> None:
        for first, last in self._statements():
            start = self.tokens[first].start()
            end = self.tokens[last].start() if last < len(self.tokens) else len(self.text.rstrip())
            if not DECLARES.match(self.text[start:end]):
                self.note("statement dropped", start, end, "")

    def loops(self) -> None:
        for k, token in enumerate(self.tokens):
            if token[0] != "for" or self.tokens[k + 1][0] != "(":
                continue
            end = self.tokens[self._closing(k + 1)].start()
            header = self.text[self.tokens[k + 1].end():end]
            parts = header.split(";")
            variable = re.search(r"(\w+)\s*=", parts[0])
            if len(parts) == 3 and variable:
                falls = re.search(r">|--", parts[1] + parts[2])
                name, far = variable[1], "-2000000000" if falls else "2000000000"
                self.note("loop", end, end, f", {name} = {far}")
                value = self.text.index("=", self.tokens[k + 1].end()) + 1
                stop = self.text.index(";", value)
                self.note("loop", value, stop, " 0", f"{self.text[value:stop]} + 1")
                self.note("loop", end - len(parts[2]), end, f" {name}++")

    def initial_values(self) -> None:
        for first, last in self._statements():
            last = min(last, len(self.tokens) - 1)
            if not DECLARES.match(self.text[self.tokens[first].start():self.tokens[last].end()]):
                continue
            for k in range(first, last):
                if self.tokens[k][0] == "=":
                    end = self._operand(k, 1)
                    self.note("initial value", self.tokens[k].end(), end, " 0", " 1")

    def narrow_values(self) -> None:
        """What goes into a floating-point variable, as if one with fewer digits had held it."""
        for first, last in self._statements():
            for k in range(first + 1, min(last, len(self.tokens) - 1)):
                if self.tokens[k][0] in ("=", "+=") and self._is_float(k):
                    start, end = self.tokens[k].end(), self._operand(k, 1, (";", ","))
                    value = self.text[start:end].strip()
                    if not value.strip("-.0123456789ef"):
                        continue
                    self.note("value narrowed", start, end, f" (int)({value})",
                              f" __int_as_float(__float_as_int({value}) & 0xffff0000)")

    def _is_float(self, k: int) -> bool:
        """Whether the assignment at token `k` is to a number that may have a fraction."""
        at, depth = k - 1, 0
        while at > 0 and (depth or self.tokens[at][0] == "]" or self.tokens[at - 1][0] == "."):
            depth += (self.tokens[at][0] == "]") - (self.tokens[at][0] == "[")
            at -= 1 if depth or self.tokens[at][0] in "[]" else 2
        name = self.tokens[at]["word"]
        if not name:
            return False
        for before in re.findall(rf"([^;(){{}}]*?)\b{name}\b", self.cell):
            kinds = re.findall(NUMBER, before)
            if kinds:
                pointer = before.rstrip().endswith("*") and at == k - 1
                return kinds[-1] in ("float", "double", "T") and not pointer
        return True  # a part of a structure

    # ---- rules on the whole region

    def whole(self) -> None:
        builtins = [token for token in self.tokens if token["builtin"]]
        alone = {"one thread works": (ONE_THREAD, "if (blockIdx.x + threadIdx.x > 0) return; "),
                 "one block works": (ONE_BLOCK, "if (blockIdx.x > 0) return; "),
                 "every thread does all": (ONE_THREAD, "")}
        base = self.region.start
        for rule, (table, prefix) in alone.items():
            changed = [token for token in builtins if token[0].split(".")[0] in table]
            edits = [(base + t.start(), base + t.end(), table[t[0].split(".")[0]])
                     for t in changed]
            first = self.tokens[0].start() + base if self.tokens else base
            if edits and "__global__" not in self.text:
                start = [(first, first, prefix)] if prefix and edits[0][0] != first else []
                self.changes.append(Change(rule, (*start, *edits)))
        floats = [found for found in DOUBLE.finditer(self.text)]
        if len(floats) > 1:
            self.changes.append(Change("type", tuple(
                (base + f.start(), base + f.end(), "double") for f in floats)))
        for name, kind in self.parameters.items():
            if kind.startswith("const") and kind.endswith("*") and self.tokens:
                end = base + (self.text.rfind("}") if "__global__" in self.text
                              else len(self.text.rstrip()))
                plain = kind.removeprefix("const ")
                overwrite = f" if (blockIdx.x + threadIdx.x == 0) (({plain}){name})[0] = 0; "
                self.changes.append(Change.at("input overwritten", end, end, overwrite))


def _literal(value: object) -> str:
    """A number as CUDA writes it, a float32 with its suffix."""
    if float(value) == int(value) and "float" not in type(value).__name__:
        return f"{int(value)}" if abs(int(value)) < 2**31 else f"{int(value)}LL"
    return f"{float(value):.9g}".replace("e+", "e") + ("f" if "." in f"{float(value):.9g}" else
                                                       ".0f")


def cuda_changes(cell: str, region: Region, values: Mapping[str, Sequence] = {}) -> list[Change]:  # noqa: B006
    """All changes of a region of CUDA; see `CudaRules`."""
    return CudaRules(cell, region, values).changes
