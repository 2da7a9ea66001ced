"""Python functions of numbers, translated to C++ for kernels.

As in CuPy, a number in the function has a type of its own, int64 or float64, which decides with
the others; and half precision is computed in single.
"""

from __future__ import annotations

import ast
import inspect
import numbers
import operator
import textwrap
import warnings
from collections.abc import Callable

import numpy as np

_NAMES = {
    "?": "bool", "b": "signed char", "h": "short", "i": "int", "l": "long long", "q": "long long",
    "B": "unsigned char", "H": "unsigned short", "I": "unsigned int", "L": "unsigned long long",
    "Q": "unsigned long long", "e": "float16", "f": "float", "d": "double",
    "F": "complex<float>", "D": "complex<double>",
}  # fmt: skip


def typename(dtype: np.typing.DTypeLike) -> str:
    """The C++ type of a dtype's elements."""
    dtype = np.dtype(dtype)
    try:
        return _NAMES[dtype.char]
    except KeyError:
        raise ValueError(f"Unsupported dtype {dtype}") from None


# By the ufunc's name; {0} and {1} are the operands, of one type unless said.
_EXPRESSIONS = {
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1}", "divide": "{0} / {1}",
    "floor_divide": "py_floor_divide({0}, {1})", "remainder": "py_remainder({0}, {1})",
    "fmod": "fmod({0}, {1})", "power": "py_power({0}, {1})", "float_power": "pow({0}, {1})",
    "negative": "-{0}", "positive": "+{0}", "square": "{0} * {0}", "reciprocal": "1 / {0}",
    "absolute": "abs({0})", "fabs": "fabs({0})", "sign": "py_sign({0})",
    "less": "{0} < {1}", "less_equal": "{0} <= {1}", "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}", "equal": "{0} == {1}", "not_equal": "{0} != {1}",
    "logical_and": "{0} && {1}", "logical_or": "{0} || {1}", "logical_not": "!{0}",
    "logical_xor": "!{0} != !{1}", "bitwise_and": "{0} & {1}", "bitwise_or": "{0} | {1}",
    "bitwise_xor": "{0} ^ {1}", "invert": "~{0}", "left_shift": "{0} << {1}",
    "right_shift": "{0} >> {1}", "maximum": "py_maximum({0}, {1})",
    "minimum": "py_minimum({0}, {1})", "fmax": "max({0}, {1})", "fmin": "min({0}, {1})",
    "isnan": "isnan({0})", "isinf": "isinf({0})", "isfinite": "isfinite({0})",
    "signbit": "signbit({0})", "arctan2": "atan2({0}, {1})", "hypot": "hypot({0}, {1})",
    "copysign": "copysign({0}, {1})", "nextafter": "nextafter({0}, {1})", "conjugate": "conj({0})",
    "degrees": "{0} * 57.295779513082320877", "radians": "{0} * 0.017453292519943295769",
    "arcsin": "asin({0})", "arccos": "acos({0})", "arctan": "atan({0})", "arcsinh": "asinh({0})",
    "arccosh": "acosh({0})", "arctanh": "atanh({0})",
}  # fmt: skip
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2",
              "log10", "log1p", "sqrt", "cbrt", "floor", "ceil", "trunc", "rint"):  # fmt: skip
    _EXPRESSIONS[_name] = _name + "({0})"
_UNSIGNED_ABSOLUTE = "{0}"


def expression(name: str, dtype: np.dtype, *operands: str) -> str | None:
    """C++ for a ufunc of operands that have ``dtype`` already; None where there is none."""
    text = _EXPRESSIONS.get({"true_divide": "divide", "mod": "remainder"}.get(name, name))
    if text is None:
        return None
    kind = dtype.kind
    if kind == "c" and name.startswith("logical"):
        operands = tuple(f"({x}.real() != 0 || {x}.imag() != 0)" for x in operands)
    if kind == "c" and name == "power":
        text = "pow({0}, {1})"
    elif name == "absolute" and kind in "ub":
        text = _UNSIGNED_ABSOLUTE
    elif name == "conjugate" and kind != "c":
        text = "{0}"
    elif name == "invert" and kind == "b":
        text = "!{0}"
    elif kind == "b" and name in ("add", "maximum"):
        text = "{0} || {1}"
    elif kind == "b" and name in ("multiply", "minimum"):
        text = "{0} && {1}"
    elif kind in "iub" and name in ("floor", "ceil", "trunc", "rint"):
        text = "{0}"
    return f"({text.format(*operands)})"


_OPERATORS = {  # of Python's objects, and of elements
    ast.Add: (operator.add, np.add), ast.Sub: (operator.sub, np.subtract),
    ast.Mult: (operator.mul, np.multiply), ast.Div: (operator.truediv, np.true_divide),
    ast.FloorDiv: (operator.floordiv, np.floor_divide), ast.Mod: (operator.mod, np.remainder),
    ast.Pow: (operator.pow, np.power), ast.LShift: (operator.lshift, np.left_shift),
    ast.RShift: (operator.rshift, np.right_shift), ast.BitAnd: (operator.and_, np.bitwise_and),
    ast.BitOr: (operator.or_, np.bitwise_or), ast.BitXor: (operator.xor, np.bitwise_xor),
    ast.UAdd: (operator.pos, np.positive), ast.USub: (operator.neg, np.negative),
    ast.Invert: (operator.invert, np.invert), ast.Not: (operator.not_, np.logical_not),
    ast.Lt: (operator.lt, np.less), ast.LtE: (operator.le, np.less_equal),
    ast.Gt: (operator.gt, np.greater), ast.GtE: (operator.ge, np.greater_equal),
    ast.Eq: (operator.eq, np.equal), ast.NotEq: (operator.ne, np.not_equal),
    ast.And: (lambda x, y: x and y, np.logical_and), ast.Or: (lambda x, y: x or y, np.logical_or),
}  # fmt: skip
_NUMBERS = (bool, np.bool_, numbers.Number)
BOOLEAN_SUBTRACT = (
    "cupy boolean subtract, the `-` operator, is deprecated, use the bitwise_xor, the `^` operator,"
    " or the logical_xor function instead.")
WEAK = {bool: np.dtype(bool), int: np.dtype("l"), float: np.dtype("d"), complex: np.dtype("D")}


class _Data:
    """A C++ expression of a known type."""

    def __init__(self, code: str, dtype: np.dtype) -> None:
        self.code, self.dtype = code, dtype


class _Constant:
    """A Python object known while translating."""

    def __init__(self, value: object) -> None:
        self.value = value


class _Tuple:
    """Several expressions."""

    def __init__(self, parts: list[_Data]) -> None:
        self.parts = parts

    @property
    def dtype(self) -> tuple:
        """The types of the parts."""
        return tuple(part.dtype for part in self.parts)


def _literal(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return f"{int(value)}LL"
    if isinstance(value, (complex, np.complexfloating)):
        return f"complex<double>({_literal(value.real)}, {_literal(value.imag)})"
    value = float(value)
    if value != value:
        return '__builtin_nan("")'
    if value in (float("inf"), float("-inf")):
        return "__builtin_inf()" if value > 0 else "(-__builtin_inf())"
    return repr(value)


def _typename(dtype: np.dtype) -> str:
    """The C++ type of a variable: half precision is computed in single."""
    return typename(np.dtype(np.float32) if dtype.char == "e" else dtype)


def _cast(code: str, of: np.dtype | None, dtype: np.dtype) -> str:
    if of is not None and of.kind == "c" and dtype.kind != "c":
        part = f"{code}.real()" if dtype.kind != "b" else f"({code} != {_typename(of)}(0))"
        return f"(({_typename(dtype)}){part})"
    return code if of is not None and of == dtype else f"(({_typename(dtype)}){code})"


class Translator:
    """One function for one list of argument types; ``results`` has the types that it returns."""

    def __init__(
        self, function: Callable, types: list[np.dtype], loop_of: Callable[[object], object]
    ) -> None:
        """Read the source; ``loop_of`` gives the NumPy ufunc that an object stands for, or None."""
        self.function, self._loop_of = function, loop_of
        self.source = textwrap.dedent(inspect.getsource(function))
        tree = _definition(self.source, function)
        self.tree = tree
        self.names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
        parameters = [a.arg for a in tree.args.args]
        if len(parameters) != len(types):
            raise TypeError(
                f"{function.__name__}() takes {len(parameters)} positional arguments but "
                f"{len(types)} were given.")
        self.variables = dict(zip(parameters, types))
        self.tuples: dict[str, _Tuple] = {}
        self.parameters = dict(self.variables)
        self.results: list[np.dtype] | None = None
        self.as_tuple = False

    def translate(self) -> str:
        """C++ of a device function ``vectorized`` that stores its results by reference."""
        if isinstance(self.tree, ast.Lambda):
            body = self._return(self.tree.body)
        else:
            body = "".join(self._located(statement) for statement in self.tree.body)
        if self.results is None:
            raise TypeError("No return statement found in the function.")
        parameters = [f"{_typename(t)} {n}" for n, t in self.parameters.items()]
        parameters += [f"{typename(t)}& _out{i}" for i, t in enumerate(self.results)]
        local = "".join(
            f"{_typename(t)} {n};\n"
            for n, t in self.variables.items() if n not in self.parameters
        )  # fmt: skip
        return (
            f"static inline __device__ void vectorized({', '.join(parameters)}) {{\n"
            f"{local}{body}}}\n"
        )

    # statements

    def _located(self, statement: ast.stmt) -> str:
        """Its C++; an error gets the source with the line marked."""
        try:
            return self._statement(statement)
        except Exception as error:
            if getattr(error, "_located", False):
                raise
            lines = self.source.split("\n")
            marked = "\n".join(
                ("> " if number == statement.lineno else "  ") + line
                for number, line in enumerate(lines, 1))
            located = type(error)(f"{error}\n\n{marked}")
            located._located = True
            raise located from None

    def _block(self, statements: list[ast.stmt]) -> str:
        return "{\n" + "".join(self._located(one) for one in statements) + "}\n"

    def _statement(self, node: ast.stmt) -> str:
        if isinstance(node, ast.Return):
            return self._return(node.value)
        if isinstance(node, ast.Assign):
            if len(node.targets) != 1:
                raise NotImplementedError("Not implemented.")
            return self._assign(node.targets[0], self._expression(node.value), node)
        if isinstance(node, ast.AugAssign):
            if not isinstance(node.target, ast.Name):
                raise NotImplementedError("Not implemented.")
            old = self._name(node.target.id)
            value = self._expression(node.value)
            new = self._call_ufunc(_OPERATORS[type(node.op)][1], [old, value])
            if isinstance(old, _Data):
                if not np.can_cast(new.dtype, old.dtype, "same_kind"):
                    raise TypeError(
                        f"Cannot cast from {new.dtype!r} to {old.dtype!r} with casting rule "
                        "same_kind.")
            return self._assign(node.target, new, node)
        if isinstance(node, ast.If):
            test = self._expression(node.test)
            if isinstance(test, _Constant):
                return self._block(node.body if test.value else node.orelse)
            text = f"if ({self._condition(node.test)}) {self._block(node.body)}"
            return text + (f"else {self._block(node.orelse)}" if node.orelse else "")
        if isinstance(node, ast.While) and not node.orelse:
            return f"while ({self._condition(node.test)}) {self._block(node.body)}"
        if isinstance(node, ast.For) and not node.orelse:
            return self._for(node)
        if isinstance(node, (ast.Pass, ast.Break, ast.Continue)):
            return f"{ast.unparse(node).replace('pass', '')};\n"
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return ""  # a docstring
        raise NotImplementedError("Not implemented.")

    def _assign(self, target: ast.expr, value: object, statement: ast.stmt) -> str:
        if isinstance(target, ast.Tuple):
            return self._unpack(target, value, statement)
        if not isinstance(target, ast.Name):
            raise NotImplementedError("Not implemented.")
        name = target.id
        if isinstance(value, _Constant) and not isinstance(value.value, (*_NUMBERS, tuple)):
            if statement not in getattr(self.tree, "body", ()):
                raise TypeError("Cannot assign constant value not at top-level.")
            if name in self.variables:
                raise TypeError(f"Type mismatch of variable: `{name}`")
            self.names[name] = value.value
            return ""
        value = self._data(value)
        if isinstance(value, _Tuple) or name in self.tuples:
            return self._assign_tuple(name, value)
        known = self.variables.setdefault(name, value.dtype)
        if not np.can_cast(value.dtype, known, "same_kind"):
            raise TypeError(
                f"Cannot cast from '{value.dtype}' to {known} with casting rule same_kind.")
        return f"{name} = {_cast(value.code, value.dtype, known)};\n"

    def _assign_tuple(self, name: str, value: _Data | _Tuple) -> str:
        known = self.tuples.get(name)
        if known is None and name not in self.variables:
            parts = [_Data(f"{name}__{i}", part.dtype) for i, part in enumerate(value.parts)]
            known = self.tuples[name] = _Tuple(parts)
            self.variables.update({part.code: part.dtype for part in parts})
        own = self.variables[name] if known is None else known.dtype
        if isinstance(own, tuple) != isinstance(value, _Tuple) or own != value.dtype:
            raise TypeError(f"Data type mismatch of variable: `{name}`: {own} != {value.dtype}")
        return "".join(f"{to.code} = {of.code};\n" for to, of in zip(known.parts, value.parts))

    def _unpack(self, target: ast.Tuple, value: object, statement: ast.stmt) -> str:
        value = self._data(value)
        if not isinstance(value, _Tuple):
            raise ValueError(f"{value.dtype} cannot be unpack")
        size = len(target.elts)
        if len(value.parts) != size:
            what = "too many" if len(value.parts) > size else "not enough"
            raise ValueError(f"{what} values to unpack (expected {size})")
        kept, code = [], ""
        for i, part in enumerate(value.parts):  # all are read before one of them is written
            own = f"_t{target.lineno}_{target.col_offset}_{i}"
            if isinstance(part, _Tuple):
                inner = [_Data(f"{own}_{j}", one.dtype) for j, one in enumerate(part.parts)]
                kept.append(_Tuple(inner))
            else:
                inner, part = [_Data(own, part.dtype)], _Tuple([part])
                kept.append(inner[0])
            code += "".join(f"const {_typename(to.dtype)} {to.code} = {of.code};\n"
                            for to, of in zip(inner, part.parts))  # fmt: skip
        code += "".join(self._assign(one, of, statement) for one, of in zip(target.elts, kept))
        return f"{{\n{code}}}\n"

    def _for(self, node: ast.For) -> str:
        loop = node.iter
        is_range = isinstance(loop, ast.Call) and self._value(loop.func) is range
        if not is_range or not isinstance(node.target, ast.Name):
            raise TypeError("for-loop is supported only for range iterator.")
        bounds = [self._data(self._expression(argument)) for argument in loop.args]
        if any(bound.dtype.kind not in "iu" for bound in bounds):
            raise TypeError("range supports only for integer type.")
        values = [_cast(bound.code, bound.dtype, np.dtype("l")) for bound in bounds]
        start, stop, step = (
            ("0", values[0], "1") if len(values) == 1 else (*values, "1")[:3]
        )
        name, number = node.target.id, f"_n{node.lineno}_{node.col_offset}"
        self._assign(node.target, _Data("", np.dtype("l")), node)
        return (
            f"for (long long {number} = {start}, {number}e = {stop}, {number}s = {step}; "
            f"{number}s > 0 ? {number} < {number}e : {number} > {number}e; {number} += {number}s) "
            f"{{\n{name} = {number};\n{self._block(node.body)}}}\n"
        )

    def _return(self, value: ast.expr | None) -> str:
        if value is None:
            raise TypeError("The function must return a value.")
        result = self._data(self._expression(value))
        self.as_tuple = isinstance(result, _Tuple)
        found = result.parts if self.as_tuple else [result]
        kinds = [one.dtype for one in found]
        if self.results is None:
            self.results = kinds
        elif self.results != kinds:
            raise ValueError(
                f"Failed to infer the return type: {self.results} and {kinds} do not agree")
        stores = "".join(f"_out{i} = {one.code};\n" for i, one in enumerate(found))
        return f"{{\n{stores}return;\n}}\n"

    # expressions

    def _data(self, item: object) -> _Data | _Tuple:
        if isinstance(item, (_Data, _Tuple)):
            return item
        value = item.value
        if isinstance(value, tuple):
            return _Tuple([self._data(_Constant(one)) for one in value])
        if isinstance(value, np.generic):
            return _Data(f"(({_typename(value.dtype)}){_literal(value)})", value.dtype)
        if type(value) not in WEAK:
            raise TypeError(f"Type {type(value)} is not supported.")
        return _Data(f"({_literal(value)})", WEAK[type(value)])

    def _condition(self, node: ast.expr) -> str:
        found = self._data(self._expression(node))
        return _cast(found.code, found.dtype, np.dtype(bool))

    def _value(self, node: ast.expr) -> object:
        """The Python object behind a name, None where there is none."""
        found = self._expression(node, missing=True)
        return found.value if isinstance(found, _Constant) else None

    def _name(self, name: str, missing: bool = False) -> object:
        if name in self.tuples:
            return self.tuples[name]
        if name in self.variables:
            return _Data(name, self.variables[name])
        if name in self.names:
            return _Constant(self.names[name])
        builtins = self.names.get("__builtins__", {})
        builtins = builtins if isinstance(builtins, dict) else vars(builtins)
        if name in builtins:
            return _Constant(builtins[name])
        raise NameError(f"Unbound name: {name}")

    def _expression(self, node: ast.expr, missing: bool = False) -> object:
        if isinstance(node, ast.Constant):
            return _Constant(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id, missing)
        if isinstance(node, ast.Attribute):
            owner = self._expression(node.value)
            if isinstance(owner, _Constant):
                return _Constant(getattr(owner.value, node.attr))
            raise NotImplementedError("Not implemented: __getattr__")
        if isinstance(node, ast.BinOp):
            return self._operation(node.op, node.left, node.right)
        if isinstance(node, ast.UnaryOp):
            return self._operation(node.op, node.operand)
        if isinstance(node, ast.Compare):
            if len(node.ops) != 1:
                raise NotImplementedError("Comparison of 3 or more values is not implemented.")
            return self._operation(node.ops[0], node.left, node.comparators[0])
        if isinstance(node, ast.BoolOp):
            first, *rest = [self._expression(value) for value in node.values]
            for value in rest:
                first = self._operate(node.op, [first, value])
            return first
        if isinstance(node, ast.Tuple):
            return _Tuple([self._data(self._expression(one)) for one in node.elts])
        if isinstance(node, ast.Subscript):
            items, index = self._expression(node.value), self._expression(node.slice)
            if isinstance(items, _Tuple) and isinstance(index, _Constant):
                return items.parts[index.value]
        if isinstance(node, ast.IfExp):
            if self._data(self._expression(node.test)).dtype.kind == "c":
                raise TypeError("Complex type value cannot be boolean condition.")
            test = self._condition(node.test)
            x, y = (self._expression(n) for n in (node.body, node.orelse))
            x, y = self._like(x, y), self._like(y, x)
            if x.dtype != y.dtype:
                raise TypeError(f"Type mismatch in conditional expression.: {x.dtype} != {y.dtype}")
            return _Data(f"({test} ? {x.code} : {y.code})", x.dtype)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise NotImplementedError("Not implemented.")

    def _operation(self, operator: ast.AST, *operands: ast.expr) -> object:
        return self._operate(operator, [self._expression(operand) for operand in operands])

    def _operate(self, operator: ast.AST, values: list) -> object:
        if type(operator) not in _OPERATORS:
            raise NotImplementedError("Not implemented.")
        of_python, ufunc = _OPERATORS[type(operator)]
        if all(isinstance(value, _Constant) for value in values):
            return _Constant(of_python(*[value.value for value in values]))
        return self._call_ufunc(ufunc, values)

    def _like(self, item: object, other: object) -> _Data:
        """An expression; a Python number takes the type of the other one."""
        if not isinstance(item, _Constant) or isinstance(item.value, np.generic):
            return self._data(item)
        return self._data(_Constant(self._data(other).dtype.type(item.value)))

    def _call(self, node: ast.Call) -> object:
        function = self._value(node.func)
        arguments = [self._expression(argument) for argument in node.args]
        options = {word.arg: self._value(word.value) for word in node.keywords}
        loop = self._loop_of(function)
        if loop is not None and not options.keys() - {"dtype"}:
            if loop.nout == 1 and loop.nin == len(arguments):
                return self._call_ufunc(loop, arguments, options.get("dtype"))
        if function in (min, max) and len(arguments) > 1:
            loop = np.minimum if function is min else np.maximum
            result = arguments[0]
            for argument in arguments[1:]:
                result = self._call_ufunc(loop, [result, argument])
            return result
        if function is abs and len(arguments) == 1:
            return self._call_ufunc(np.absolute, arguments)
        if isinstance(function, type) and issubclass(function, _NUMBERS) and len(arguments) == 1:
            found, dtype = self._data(arguments[0]), np.dtype(function)
            if found.dtype.kind == "c" and dtype.kind not in "cb":
                warnings.warn("Casting complex values to real discards the imaginary part",
                              np.exceptions.ComplexWarning, stacklevel=2)  # fmt: skip
            return _Data(_cast(found.code, found.dtype, dtype), dtype)
        if callable(function) and all(isinstance(one, _Constant) for one in arguments):
            return _Constant(function(*[one.value for one in arguments], **options))
        raise TypeError(f"Invalid function call '{ast.unparse(node.func)}'.")

    def _call_ufunc(self, ufunc: np.ufunc, arguments: list, dtype: object = None) -> object:
        values = [self._data(argument) for argument in arguments]
        asked = (*(value.dtype for value in values), None)
        if ufunc is np.subtract and all(value.dtype.kind == "b" for value in values):
            raise TypeError(BOOLEAN_SUBTRACT)
        if dtype is None:
            found = ufunc.resolve_dtypes(asked)
        else:
            signature = (*(None,) * ufunc.nin, np.dtype(dtype))
            found = ufunc.resolve_dtypes(asked, signature=signature, casting="unsafe")
            if not all(np.can_cast(of, to, "same_kind") for of, to in zip(asked[:-1], found)):
                raise TypeError(f"Cannot cast to {found[0]} with casting rule same_kind.")
        codes = [_cast(one.code, one.dtype, kind) for one, kind in zip(values, found)]
        code = expression(ufunc.__name__, found[0], *codes)
        if code is None or found[-1].char not in "?bhilqBHILQefdFD":
            raise TypeError(f"Invalid function call '{ufunc.__name__}'.")
        return _Data(_cast(code, None, found[-1]), found[-1])


def _definition(source: str, function: Callable) -> ast.FunctionDef | ast.Lambda:
    """The function's node in its source."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a lambda within a longer statement
        start = source.index("lambda")
        for end in range(len(source), start, -1):
            try:
                tree = ast.parse(source[start:end], mode="eval")
                break
            except SyntaxError:
                continue
    kind = ast.Lambda if function.__name__ == "<lambda>" else ast.FunctionDef
    found = [node for node in ast.walk(tree) if isinstance(node, kind)]
    if kind is ast.Lambda and len(found) > 1:
        raise ValueError("Multiple callables are found near the definition of the lambda.")
    return found[0]
