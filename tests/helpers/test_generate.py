"""Pieces of CUDA source made from values: what goes in comes out exactly, or is named."""

import math

import numpy as np
import pytest

import helpers
from helpers.generate import c_type, explain, literal, literals, render
from nogpu import engine

helpers.start(needs="pycuda")

import cupy as cp  # noqa: E402
import pycuda.autoprimaryctx  # noqa: E402, F401
import pycuda.driver as drv  # noqa: E402
from pycuda.compiler import SourceModule  # noqa: E402

EDGES = [0.0, -0.0, 1.0, -2.5, 0.1, 1e10, 16777217.0, 1e-45, 1.1754942e-38, 3.4028235e38, -1e22]


def floats(dtype, integers):
    """Every sign, exponent and mantissa may come up."""
    values = np.random.default_rng(9).integers(0, np.iinfo(integers).max, 300, integers).view(dtype)
    values = np.concatenate([values, -values, np.array(EDGES, dtype), [np.finfo(dtype).max]])
    return values[np.isfinite(values)].astype(dtype)


def test_literals_are_read_back_exactly():
    """Bit by bit, through a compiler."""
    arrays = {"float32": floats("float32", np.uint32), "float64": floats("float64", np.uint64),
              "bool": np.array([True, False])}
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        info = np.iinfo(name)
        arrays[name] = np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], name)
    code = [f"__device__ {c_type(name)} v_{name}[] = {{{', '.join(literals(x, name))}}};\n"
            f"static_assert(sizeof({c_type(name)}) == {np.dtype(name).itemsize});"
            for name, x in arrays.items()]
    module = engine.compile("\n".join(code) + '\nextern "C" __global__ void nothing() {}')
    for name, x in arrays.items():
        place = module.variable(f"v_{name}")
        assert engine.view(place.address, place.nbytes, np.uint8).tobytes() == x.tobytes(), name


@pytest.mark.parametrize("value, dtype, text", [
    (0.1, "float32", "0.1f"), (1, "float32", "1.0f"), (1e10, "float32", "1e+10f"),
    (-2.5, "float32", "(-2.5f)"), (-0.0, "float64", "(-0.0)"), (1 / 3, "float64", repr(1 / 3)),
    (np.float32(0.1), "float64", "0.10000000149011612"), (7, "int32", "7"), (7.0, "int32", "7"),
    (-7, "int64", "(-7ll)"), (-2**31, "int32", "(-2147483647 - 1)"), (3, "uint32", "3u"),
    (True, "bool", "true"), (False, "float32", "0.0f"), (np.array(3), "int32", "3"),
])
def test_literal(value, dtype, text):
    assert literal(value, dtype) == text


@pytest.mark.parametrize("value, dtype, error, words", [
    (math.nan, "float32", ValueError, "nan: C has no literal for it"),
    (-math.inf, "float64", ValueError, "-inf: C has no literal for it"),
    (1e39, "float32", ValueError, r"1e\+39: too large for float32, whose largest number is 3.4"),
    (-10**400, "float64", ValueError, "too large for float64"),
    (10**30, "int64", ValueError, "int64 goes from"),
    (256, "uint8", ValueError, "256: uint8 goes from 0 to 255"),
    (2.5, "int32", ValueError, "2.5: int32 holds only integers"),
    (math.nan, "int32", ValueError, "nan: C has no literal for it"),
    (2, "bool", ValueError, "2: bool holds only 0 and 1"),
    ("1", "int32", TypeError, "'1', a str: only integers and real numbers"),
    (1j, "float32", TypeError, "1j, a complex"),
    ([1.0], "float32", TypeError, "a list"),
    (None, "float32", TypeError, "None, a NoneType"),
    (1.0, "float16", TypeError, "float16 has no name in C; CUDA's is __half"),
])
def test_numbers_without_a_literal_are_named(value, dtype, error, words):
    with pytest.raises(error, match=words):
        literal(value, dtype)


def test_coefficients_are_named_by_their_position():
    assert literals([1, -0.5]) == ["1.0f", "(-0.5f)"]
    with pytest.raises(ValueError, match=r"coefficients\[2\] is nan: C has no literal"):
        literals([1, 2, math.nan], name="coefficients")
    with pytest.raises(ValueError, match=r"weights\[0\] is inf"):
        literals(np.array([np.inf, 1]), "float64", "weights")


@pytest.mark.parametrize("dtype, words", [
    ("complex64", "complex64 has no name in C; CUDA's is float2"), ("U3", "has no name in C"),
    (object, "object has no name in C"), (np.longdouble, "has no name in C"),
    (">f4", "has its bytes in the other order"),
])
def test_dtypes_without_a_c_name_are_named(dtype, words):
    with pytest.raises(TypeError, match=words):
        c_type(dtype)


def test_a_template_is_filled_in():
    text = render("{% for w in weights %}\n    s += {{ w | literal('float64') }};\n{% endfor %}\n"
                  "{{ 'int32' | c_type }} k[] = {1};\n", weights=[0.5, -1])
    assert text == "    s += 0.5;\n    s += (-1.0);\nint k[] = {1};\n"


@pytest.mark.parametrize("template, values, error, words", [
    ("int n;\nint k = {{ step }};", {"stp": 1}, NameError,
     "line 2 of the template names 'step', which was not given; given were stp"),
    ("{{ n }}", {"n": 1, "unroll": 2}, NameError, "'unroll' was given, but .* it names n"),
    ("{% if fast %}x{% endif %}", {}, NameError, "line 1 .* names 'fast'.* given were nothing"),
    ("\n{% for k in n %}", {"n": 1}, ValueError, "line 2 of the template: Unexpected end"),
    ("x * {{ a }}", {"a": 0.1}, TypeError, "{{ 0.1 }} would be a double"),
    ("x * {{ a }}", {"a": np.float32(np.nan)}, TypeError, "{{ nan }} would be a double"),
    ("{{ a | literal }}", {"a": math.inf}, ValueError, "inf: C has no literal"),
    ("{{ t | c_type }}", {"t": "float16"}, TypeError, "float16 has no name in C"),
])
def test_mistakes_in_templates_are_named(template, values, error, words):
    with pytest.raises(error, match=words):
        render(template, **values)


SOURCE = "__global__ void k(float* x) {\n    int i = threadIdx.x;\n    x[i] = summ;\n}\n"
EXPLAINED = """line 3: identifier "summ" is undefined
    1 | __global__ void k(float* x) {
    2 |     int i = threadIdx.x;
>   3 |     x[i] = summ;
    4 | }"""


def test_a_compile_error_shows_the_generated_line():
    with pytest.raises(drv.CompileError) as by_pycuda:
        SourceModule(SOURCE)
    assert explain(by_pycuda.value, SOURCE) == EXPLAINED
    with pytest.raises(drv.CompileError) as plain:
        SourceModule(SOURCE, no_extern_c=True)
    assert explain(plain.value, SOURCE, extern_c=False) == EXPLAINED
    with pytest.raises(cp.cuda.compiler.CompileException) as by_cupy:
        cp.RawKernel('extern "C" ' + SOURCE, "k").compile()
    assert explain(by_cupy.value, SOURCE) == EXPLAINED
    assert explain(ValueError("no place in it\nmore"), SOURCE) == "no place in it"
