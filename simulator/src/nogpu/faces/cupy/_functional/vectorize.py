"""`vectorize`: a Python function of numbers, translated to C++ and applied to all elements."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable

import numpy as np
from cupy._core import _kernel, core
from cupy._core._expressions import expression
from cupy._core._scalar import get_typename
from cupy._core._ufunc import ufunc

_OPERATORS = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide, ast.Mod: np.remainder, ast.Pow: np.power,
    ast.LShift: np.left_shift, ast.RShift: np.right_shift, ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or, ast.BitXor: np.bitwise_xor, ast.UAdd: np.positive,
    ast.USub: np.negative, ast.Invert: np.invert, ast.Not: np.logical_not, ast.Lt: np.less,
    ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}  # fmt: skip
_WEAK = {bool: np.dtype(bool), int: np.dtype("l"), float: np.dtype("d"), complex: np.dtype("D")}


class _Data:
    """A C++ expression of a known type."""

    def __init__(self, code: str, dtype: np.dtype) -> None:
        self.code, self.dtype = code, dtype


class _Constant:
    """A Python object known while translating."""

    def __init__(self, value: object) -> None:
        self.value = value


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


def _cast(code: str, of: np.dtype | None, dtype: np.dtype) -> str:
    return code if of is not None and of == dtype else f"(({get_typename(dtype)}){code})"


class _Translator:
    """One function for one list of argument types."""

    def __init__(self, function: Callable, types: list[np.dtype]) -> None:
        self.function = function
        self.source = textwrap.dedent(inspect.getsource(function))
        tree = _definition(self.source, function)
        self.tree = tree
        self.names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
        parameters = [a.arg for a in tree.args.args]
        if len(parameters) != len(types):
            raise TypeError(
                f"{function.__name__}() takes {len(parameters)} positional arguments but "
                f"{len(types)} were given."
            )
        self.variables = dict(zip(parameters, types))
        self.parameters = dict(self.variables)
        self.results: list[np.dtype] | None = None
        self.as_tuple = False

    def translate(self) -> str:
        """C++ of a device function ``function`` that stores its results by reference."""
        if isinstance(self.tree, ast.Lambda):
            body = self._return(self.tree.body)
        else:
            body = "".join(self._located(statement) for statement in self.tree.body)
        if self.results is None:
            raise TypeError("No return statement found in the function.")
        parameters = [f"{get_typename(t)} {n}" for n, t in self.parameters.items()]
        parameters += [f"{get_typename(t)}& _out{i}" for i, t in enumerate(self.results)]
        local = "".join(
            f"{get_typename(t)} {n};\n"
            for n, t in self.variables.items() if n not in self.parameters
        )  # fmt: skip
        return (
            "#include <cupy/operators.cuh>\n"
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
                for number, line in enumerate(lines, 1)
            )
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
            return self._assign(node.targets[0], self._expression(node.value))
        if isinstance(node, ast.AugAssign):
            if not isinstance(node.target, ast.Name):
                raise NotImplementedError("Not implemented.")
            old = self._name(node.target.id)
            new = self._call_ufunc(_OPERATORS[type(node.op)], [old, self._expression(node.value)])
            if isinstance(old, _Data):
                if not np.can_cast(new.dtype, old.dtype, "same_kind"):
                    raise TypeError(
                        f"Cannot cast from {new.dtype!r} to {old.dtype!r} with casting rule "
                        "same_kind."
                    )
                new = _Data(_cast(new.code, new.dtype, old.dtype), old.dtype)
            return self._assign(node.target, new)
        if isinstance(node, ast.If):
            text = f"if ({self._condition(node.test)}) {self._block(node.body)}"
            return text + (f"else {self._block(node.orelse)}" if node.orelse else "")
        if isinstance(node, ast.While) and not node.orelse:
            return f"while ({self._condition(node.test)}) {self._block(node.body)}"
        if isinstance(node, ast.For) and not node.orelse:
            return self._for(node)
        if isinstance(node, ast.Pass):
            return ";\n"
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return ""  # a docstring
        raise NotImplementedError("Not implemented.")

    def _assign(self, target: ast.expr, value: object) -> str:
        if not isinstance(target, ast.Name):
            raise NotImplementedError("Not implemented.")
        value = self._data(value)
        known = self.variables.setdefault(target.id, value.dtype)
        if known != value.dtype:
            raise TypeError(
                f"Data type mismatch of variable: `{target.id}`: {known} != {value.dtype}"
            )
        return f"{target.id} = {value.code};\n"

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
        self._assign(node.target, _Data("", np.dtype("l")))
        return (
            f"for (long long {number} = {start}, {number}e = {stop}, {number}s = {step}; "
            f"{number}s > 0 ? {number} < {number}e : {number} > {number}e; {number} += {number}s) "
            f"{{\n{name} = {number};\n{self._block(node.body)}}}\n"
        )

    def _return(self, value: ast.expr | None) -> str:
        if value is None:
            raise TypeError("The function must return a value.")
        self.as_tuple = isinstance(value, ast.Tuple)
        parts = value.elts if self.as_tuple else [value]
        found = [self._data(self._expression(part)) for part in parts]
        kinds = [one.dtype for one in found]
        if self.results is None:
            self.results = kinds
        elif self.results != kinds:
            raise ValueError(
                f"Failed to infer the return type: {self.results} and {kinds} do not agree"
            )
        stores = "".join(f"_out{i} = {one.code};\n" for i, one in enumerate(found))
        return f"{{\n{stores}return;\n}}\n"

    # expressions

    def _data(self, item: object) -> _Data:
        if isinstance(item, _Data):
            return item
        value = item.value
        if isinstance(value, np.generic):
            return _Data(f"(({get_typename(value.dtype)}){_literal(value)})", value.dtype)
        if type(value) not in _WEAK:
            raise TypeError(f"Type {type(value)} is not supported.")
        return _Data(f"({_literal(value)})", _WEAK[type(value)])

    def _condition(self, node: ast.expr) -> str:
        found = self._data(self._expression(node))
        return _cast(found.code, found.dtype, np.dtype(bool))

    def _value(self, node: ast.expr) -> object:
        """The Python object behind a name, None where there is none."""
        found = self._expression(node, missing=True)
        return found.value if isinstance(found, _Constant) else None

    def _name(self, name: str, missing: bool = False) -> object:
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
                raise NotImplementedError("Comparison of multiple values is not implemented.")
            return self._operation(node.ops[0], node.left, node.comparators[0])
        if isinstance(node, ast.BoolOp):
            sign = " && " if isinstance(node.op, ast.And) else " || "
            parts = [self._condition(value) for value in node.values]
            return _Data("(" + sign.join(parts) + ")", np.dtype(bool))
        if isinstance(node, ast.IfExp):
            test = self._condition(node.test)
            x, y = (self._data(self._expression(n)) for n in (node.body, node.orelse))
            if x.dtype != y.dtype:
                raise TypeError(f"Type mismatch in conditional expression.: {x.dtype} != {y.dtype}")
            return _Data(f"({test} ? {x.code} : {y.code})", x.dtype)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise NotImplementedError("Not implemented.")

    def _operation(self, operator: ast.AST, *operands: ast.expr) -> object:
        if type(operator) not in _OPERATORS:
            raise NotImplementedError("Not implemented.")
        values = [self._expression(operand) for operand in operands]
        return self._call_ufunc(_OPERATORS[type(operator)], values)

    def _call(self, node: ast.Call) -> object:
        function = self._value(node.func)
        arguments = [self._expression(argument) for argument in node.args]
        if isinstance(function, (np.ufunc, ufunc)) and not node.keywords:
            loop = function if isinstance(function, np.ufunc) else function._loop
            if loop.nout == 1 and loop.nin == len(arguments):
                return self._call_ufunc(loop, arguments)
        if function in (min, max) and len(arguments) > 1:
            loop = np.minimum if function is min else np.maximum
            result = arguments[0]
            for argument in arguments[1:]:
                result = self._call_ufunc(loop, [result, argument])
            return result
        if function is abs and len(arguments) == 1:
            return self._call_ufunc(np.absolute, arguments)
        if function in _WEAK and len(arguments) == 1:
            found = self._data(arguments[0])
            return _Data(_cast(found.code, found.dtype, _WEAK[function]), _WEAK[function])
        if isinstance(function, type) and issubclass(function, np.generic) and len(arguments) == 1:
            found, dtype = self._data(arguments[0]), np.dtype(function)
            return _Data(_cast(found.code, found.dtype, dtype), dtype)
        raise TypeError(f"Invalid function call '{ast.unparse(node.func)}'.")

    def _call_ufunc(self, ufunc: np.ufunc, arguments: list) -> object:
        if all(isinstance(a, _Constant) for a in arguments):
            result = ufunc(*[a.value for a in arguments])
            weak = not any(isinstance(a.value, np.generic) for a in arguments)
            return _Constant(result.item() if weak else result)
        asked = []
        for argument in arguments:
            if isinstance(argument, _Data):
                asked.append(argument.dtype)
            elif type(argument.value) in (int, float, complex):
                asked.append(type(argument.value))
            else:
                asked.append(self._data(argument).dtype)
        found = ufunc.resolve_dtypes((*asked, *(None,) * ufunc.nout))
        codes = []
        for argument, dtype in zip(arguments, found):
            if isinstance(argument, _Constant) and isinstance(argument.value, int):
                dtype.type(argument.value)  # OverflowError where it does not fit
            one = self._data(argument)
            codes.append(_cast(one.code, one.dtype, dtype))
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


class vectorize:  # noqa: N801 -- the library's name
    """A function of numbers, applied to the elements of arrays; compiled from its source.

    It may have arithmetic, comparisons, `if`, `while`, loops over `range`, and NumPy's universal
    functions. ``otypes``, ``excluded`` and ``signature`` are not supported.
    """

    def __init__(
        self, pyfunc: Callable, otypes: object = None, doc: str | None = None,
        excluded: object = None, cache: bool = False, signature: str | None = None,
    ) -> None:  # fmt: skip
        self.pyfunc, self.cache, self.otypes = pyfunc, cache, otypes
        self.__doc__ = doc or pyfunc.__doc__
        self.excluded, self.signature = excluded, signature
        if excluded is not None:
            raise NotImplementedError(
                "cupy.vectorize does not support `excluded` option currently."
            )
        if signature is not None:
            raise NotImplementedError(
                "cupy.vectorize does not support `signature` option currently."
            )
        self._kernel_cache: dict[tuple, _kernel.ElementwiseKernel] = {}

    def __call__(self, *args: object) -> object:
        """Apply it to arrays and numbers, which broadcast."""
        types = tuple(_type_of(item) for item in args)
        kernel = self._kernel_cache.get(types)
        if kernel is None:
            kernel = self._kernel_cache[types] = self._compile(types)
        return kernel(*args)

    def _compile(self, types: tuple) -> _kernel.ElementwiseKernel:
        if self.otypes is not None:
            raise NotImplementedError
        translator = _Translator(self.pyfunc, list(types))
        code = translator.translate()
        names = [f"in{i}" for i in range(len(types))]
        outs = [f"out{i}" for i in range(len(translator.results))]
        return _kernel.ElementwiseKernel(
            ", ".join(f"{t.name} {n}" for t, n in zip(types, names)),
            ", ".join(f"{t.name} {n}" for t, n in zip(translator.results, outs)),
            f"vectorized({', '.join(names + outs)})",
            "cupy_vectorize", preamble=code, return_tuple=translator.as_tuple)


def _type_of(item: object) -> np.dtype:
    if isinstance(item, (core.ndarray, np.generic)):
        return item.dtype
    for kind in (bool, int, float, complex):
        if isinstance(item, kind):
            return _WEAK[kind]
    raise TypeError(f"Invalid type {type(item)}. Argument types should be cupy.ndarray or scalar")
