"""Tasks whose answer is a kernel: what is accepted, how arrays get there, what faults become."""

import dataclasses

import numpy as np
import pytest

import helpers

helpers.start()

from checks import first_kernels  # noqa: E402
from checks.machinery import kernel_task as kernels  # noqa: E402
from checks.machinery.kernel_task import (  # noqa: E402
    KernelTask,
    blank,
    launch,
    to_device,
    wrong_declaration,
)
from checks.machinery.task import Mistake  # noqa: E402

DOUBLE = r"""
extern "C" __global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""


def launch_twice(x):
    return (2,), (32,), (to_device(x), blank(x.shape, x.dtype), np.int32(x.size))


TWICE = KernelTask("twice", lambda x: 2 * x, lambda: [(np.arange(40, dtype=np.float32),)],
                   launch=launch_twice, parameters="const float* x, float* y, int n")


def test_source_and_kernel_are_the_same_answer():
    import cupy

    assert TWICE.judge(DOUBLE).state == "ok"
    assert TWICE.judge(cupy.RawKernel(DOUBLE, "twice")).state == "ok"


@pytest.mark.parametrize("simulator", [True, False])
def test_a_fault_names_line_kernel_and_kind(simulator, monkeypatch):
    if simulator and helpers.backend._started.name == "cuda":
        pytest.skip("this machine has a GPU: faults are found by a rehearsal")
    monkeypatch.setattr(kernels, "is_simulated", lambda cupy: simulator)
    verdict = TWICE.judge(DOUBLE.replace("i < n", "i < n + 1"))
    assert verdict.state == "no"
    assert "line 4 of the kernel twice makes an access outside an array" in verdict.text
    assert "x[40]" in verdict.text and "0x" not in verdict.text


def test_a_kernel_that_writes_nothing_does_not_profit_from_old_memory():
    assert TWICE.judge(DOUBLE).state == "ok"
    verdict = TWICE.judge(DOUBLE.replace("i < n", "i < 0"))
    assert "expected 0, got nan" in verdict.text


def test_a_kernel_that_does_not_compile_gets_the_compilers_first_line():
    text = TWICE.judge(DOUBLE.replace("2 * x[i]", "2 * z[i]")).text
    assert 'it does not compile: line 4: identifier "z" is undefined.' in text


@pytest.mark.parametrize("code, words", [
    (DOUBLE.replace("x[i];\n}", "x[i];"), "a `}` is missing"),
    (DOUBLE.replace("(i < n)", "(i < n"), "a `)` is missing"),
    (DOUBLE.replace("if (i", "/* { */ if (i"), None),
    (DOUBLE.replace("y[i] =", "return"), "`return` with a value"),
    (DOUBLE.replace("2 * x[i]", "x[i] ^ 2"), "a power is written z * z * z"),
    (DOUBLE.replace("2 * x[i]", "x[i] + INFINITY"), "write 3.4e38f"),
    (DOUBLE.replace("2 * x[i];", "2 * x[i]"), 'a ";" is missing'),
    (DOUBLE.replace("y[i] = 2 * x[i]", "atomicAdd(y[i], 2 * x[i])"), "it takes an address"),
])
def test_compilers_words_become_plain_ones(code, words):
    verdict = TWICE.judge(code)
    assert verdict.state == "ok" if words is None else words in verdict.text, verdict.text


def test_a_source_that_does_not_compile_is_compiled_once(monkeypatch):
    tried = []
    monkeypatch.setattr(kernels, "rehearse", lambda *args: tried.append(args))
    many = dataclasses.replace(TWICE, cases=lambda: 5 * TWICE.cases())
    assert "does not compile" in many.judge(DOUBLE.replace("2 *", "2 * *")).text
    assert len(tried) == 1


def test_a_comment_left_in_a_finished_answer_does_not_matter():
    stub = DOUBLE[:DOUBLE.index("    int i")] + "    // YOUR CODE HERE\n}\n"
    begun = DOUBLE[:DOUBLE.index("    if")] + "    // YOUR CODE HERE\n}\n"
    full = DOUBLE.replace("    int i", "    // YOUR CODE HERE\n    int i")
    empty = dataclasses.replace(TWICE, given="")
    assert [TWICE.judge(code).state for code in (stub, begun, full)] == ["todo"] * 3
    assert [empty.judge(code).state for code in (stub, begun, full)] == ["todo", "no", "ok"]
    given = dataclasses.replace(TWICE, given=begun.replace("// YOUR CODE HERE", ""))
    assert [given.judge(code).state for code in (stub, begun, full)] == ["todo", "todo", "ok"]
    assert "a result that the kernel never writes" in empty.judge(begun).text


def test_an_endless_stub_is_not_compiled():
    assert TWICE.judge("this is no C\n// YOUR CODE HERE").state == "todo"


@pytest.mark.parametrize("code, words", [
    (DOUBLE, None),
    ("// __global__ void twice()\n", "there is none"),
    (DOUBLE.replace("twice", "thrice"), "there is thrice"),
    (DOUBLE.replace('extern "C"', ""), 'needs `extern "C"`'),
    (DOUBLE.replace("int n", "long n"), "your twice takes (const float* x, float* y, long n)"),
    (DOUBLE.replace("const float* x", "float const *__restrict__ a"), None),
    (DOUBLE.replace("__global__ void", "__global__ void __launch_bounds__(64)"), None),
])
def test_declarations_are_compared_by_type(code, words):
    sentence = wrong_declaration(code, "twice", "const float* x, float* y, int n")
    assert sentence is None if words is None else words in sentence


@pytest.mark.parametrize("view", [
    lambda x: x, lambda x: x.T, lambda x: x[::-2, 1:], lambda x: x[:, ::-3],
    lambda x: np.broadcast_to(x[1], (5, 9)), lambda x: x[:0],
])
def test_views_keep_their_strides_on_the_device(view):
    x = view(np.arange(63, dtype=np.float32).reshape(7, 9))
    there = to_device(x)
    assert there.strides == x.strides or not x.size
    assert np.array_equal(there.get(), x)


def test_every_launch_shape_of_decay_is_asked():
    cases = first_kernels.decay.cases()
    shapes = {(grid[0], block[0]) for *_, grid, block in cases}
    assert (1, 1) in shapes and any(block % 32 for _, block in shapes)
    assert any(grid * block > len(v) for v, *_, (grid,), (block,) in cases)


def test_kernel_sources_by_name():
    from helpers.kernels import source

    assert "__global__ void bias_gelu(" in source("bias_gelu")
    with pytest.raises(FileNotFoundError, match=r"bias_gely\.cu"):
        source("bias_gely")


@pytest.mark.parametrize("rows, columns", [(3, 4), (257, 12), (5, 1024)])
def test_the_lessons_bias_gelu_is_the_networks(rows, columns):
    import cupy

    from helpers import network
    from helpers.kernels import source

    rng = np.random.default_rng(rows)
    x = (4 * rng.standard_normal((rows, columns))).astype(np.float32)
    bias = rng.standard_normal(columns, np.float32)
    y = blank(x.shape, np.float32)
    launch(cupy.RawKernel(source("bias_gelu"), "bias_gelu"), (-(-x.size // 512),), (128,),
           (to_device(x), to_device(bias), y, np.uint32(columns), np.uint32(x.size // 4)))
    assert np.allclose(y.get(), network.gelu(x + bias), rtol=0, atol=1e-5)


def test_an_endless_generated_kernel_is_waited_for_once(monkeypatch):
    from checks import pycuda_dynamic_compilation
    from checks.machinery import kernel_task

    monkeypatch.setattr(kernel_task, "TIME_LIMIT", 0.1)
    asked = []

    def slope(formula):
        asked.append(formula)
        return ("__global__ void slope(const float* xs, const float* ys, float* zs, int n) {\n"
                f"    for (int i = threadIdx.x; i < n; i += 0) zs[i] = {len(asked)} * xs[i];\n}}\n")

    verdict = pycuda_dynamic_compilation.slope.judge(slope)
    assert "the kernel slope does not come to an end" in verdict.text
    assert len(asked) == 1


def test_an_error_of_the_compiler_is_a_mistake_only_with_the_same_words():
    known = dataclasses.replace(TWICE, right=DOUBLE, mistakes=[
        Mistake.replacing("a name that is declared nowhere", "2 * x[i]", "2 * z[i]")])
    longer = DOUBLE.replace("    if", "\n\n    if").replace("2 * x[i]", "z[i] * 2")
    assert "declared nowhere" in known.judge(longer).text
    other = known.judge(DOUBLE.replace("2 * x[i];", "2 * x[i]")).text
    assert "does not compile" in other and "This looks like" not in other


def test_a_recipe_is_changed_in_all_its_parts():
    recipe = first_kernels.Recipe.of("ReductionKernel", "T x", "T y", "x", "a + b", "y = a", "0",
                                     "total", preamble="// none")
    changed = recipe.replaced("a + b", "a * b", "// none", "")
    assert changed.arguments == ("T x", "T y", "x", "a * b", "y = a", "0", "total")
    assert changed.keywords == {"preamble": ""}


@pytest.mark.skipif(helpers.backend._started.name == "cuda", reason="the memory is nogpu's")
@pytest.mark.parametrize("named", [False, True])
def test_freed_memory_beside_an_array_is_outside_the_arrays(named):
    import cupy

    with cupy.cuda.using_allocator(None):  # no pool, which would use the place again at once
        freed = cupy.empty(64, np.float32)
    if named:  # as a launch does with its arguments
        cupy.RawKernel(DOUBLE, "twice")((1,), (32,), (freed, freed, np.int32(0)))
        cupy.cuda.Device().synchronize()  # until then the launch holds its arguments
    place = freed.data.ptr
    del freed
    text = TWICE.judge(DOUBLE.replace("y[i]", f"((float*){place}ull)[i]")).text
    assert "line 4 of the kernel twice makes an access outside an array: thread" in text
    assert text.endswith("writes 4 bytes outside every array, where memory was freed."), text


@pytest.mark.skipif(helpers.backend._started.name == "cuda", reason="the memory is nogpu's")
def test_what_an_access_outside_looks_like_depends_on_nothing_that_ran_before():
    import cupy

    far = DOUBLE.replace("y[i] =", "y[1000 + i] =")
    for size in range(1, 300, 13):
        arrays = [cupy.zeros(size, np.float32) for _ in range(40)]
        del arrays[::3]  # holes in the pool, below arrays that live
        text = TWICE.judge(far).text
        assert "writes 4 bytes at y[1000], 3,840 bytes past its end" in text, text
