"""Mutation of the checks: the rules, the reports, and a sample of mutants given to the checks."""

import json

import pytest
from mutation import __main__ as command
from mutation.agreement import agrees, inputs_of, least_inputs
from mutation.cuda_rules import cuda_changes
from mutation.judging import cell_of, in_processes, judge, judge_all, mutants_of_task, tasks_of
from mutation.python_rules import python_changes
from mutation.report import FOLDER, read_report, summary, unexplained, write_report
from mutation.source import Mutant, Region, mutants_of, regions

REPORTED = sorted(path.stem for path in FOLDER.glob("*.json"))
SAMPLED = "strided_views", "first_kernels"  # rules for Python, rules for CUDA
SAMPLE = 2  # mutants of each rule


def made_of(text, language, **values):
    region = Region(0, len(text), language)
    change = {"Python": python_changes, "CUDA": cuda_changes}[language]
    made = mutants_of(text, change(text, region, values))
    return {(mutant.rule, mutant.source) for mutant in made}


@pytest.mark.parametrize("text, rule, mutant", [
    ("a < b", "comparison", "a <= b"),
    ("x not in y", "comparison", "x in y"),
    ("a - b", "operator", "a + b"),
    ("a - b", "operands exchanged", "b - a"),
    ("(a) - b", "operator", "(a) + b"),
    ("x[1]", "constant", "x[2]"),
    ("x[k]", "index", "x[k - 1]"),
    ("x[a:b]", "slice", "x[a:b - 1]"),
    ("x[a:b]", "slice", "x[:b]"),
    ("x.sum(axis=1)", "axis", "x.sum(axis=0)"),
    ("f(x, dtype=y)", "argument dropped", "f(x)"),
    ("x.astype(y)", "call dropped", "x"),
    ("f(x, y)", "order", "f(y, x)"),
    ("np.zeros(3)", "twin", "np.empty(3)"),
    ("np.zeros(3, x.dtype)", "dtype", "np.zeros(3, 'float64')"),
    ("-np.inf", "soft infinity", "-1e4"),
    ("if a and b:\n    f(x)", "guard", "if False:\n    f(x)"),
    ("if a and b:\n    f(x)", "guard", "if (b):\n    f(x)"),
    ("if a and b:\n    f(x)", "statement dropped", "if a and b:\n    pass"),
    ("while a:\n    f(x)", "loop", "if a:\n    f(x)"),
    ("raise ValueError(x)", "error's type", "raise KeyError(x)"),
    ("def f(n, m):\n    return n", "parameter", "def f(n, m):\n    return 7"),
    ("def f(n, m):\n    return n", "name", "def f(n, m):\n    return m"),
])
def test_rule_for_python(text, rule, mutant):
    assert (rule, mutant) in made_of(text, "Python", n=[7, 7, 8])


GIVEN = "__global__ void f(const float* x, float* y, int n, int m, long long k, float a) {"


@pytest.mark.parametrize("text, rule, mutant", [
    ("if (i < n) y[i] = 1;", "comparison", "if (i <= n) y[i] = 1;"),
    ("if (i < n) y[i] = 1;", "guard", "if (true) y[i] = 1;"),
    ("if (i < n) y[i] = 1;", "statement dropped", "if (i < n) ;"),
    ("if (i < n) y[i] = 1;", "index", "if (i < n) y[(i) + 1] = 1;"),
    ("if (i < n && j < m) { }", "guard", "if (j < m) { }"),
    ("if (i < n && j < m) { }", "guard", "if (i < n) { }"),
    ("__syncthreads();", "statement dropped", ";"),
    ("long long i = 0;", "type", "int i = 0;"),
    ("i = 2LL * n;", "type narrowed", "i = 2 * n;"),
    ("i = 2LL * n;", "name", "i = 2LL * m;"),
    ("i = 2LL * n;", "parameter", "i = 2LL * 7;"),
    ("y[0] = a;", "parameter", "y[0] = 0.1f;"),
    ("float top = -INFINITY;", "soft infinity", "float top = -1e4f;"),
    ("float top = -INFINITY;", "initial value", "float top = 0;"),
    ("float p = q > 0 ? q : 1;", "value narrowed", "float p = (int)(q > 0 ? q : 1);"),
    ("y[i] += p;", "value narrowed", "y[i] += __int_as_float(__float_as_int(p) & 0xffff0000);"),
    ("both.m = p;", "value narrowed", "both.m = (int)(p);"),
    ("y[i] = fmaxf(p, q);", "twin", "y[i] = fminf(p, q);"),
    ("int i = 1 + blockIdx.x;", "thread", "int i = 1 + blockIdx.y;"),
    ("int i = blockIdx.x;", "one block works", "if (blockIdx.x > 0) return; int i = 0;"),
    ("int i = threadIdx.x;", "one thread works",
     "if (blockIdx.x + threadIdx.x > 0) return; int i = 0;"),
    ("y[0] = 1;", "input overwritten",
     "y[0] = 1; if (blockIdx.x + threadIdx.x == 0) ((float *)x)[0] = 0; "),
    ("for (int i = t; i < n; i += step) { }", "loop",
     "for (int i = t; i < n; i += step, i = 2000000000) { }"),
    ("for (int i = t; i < n; i += step) { }", "loop", "for (int i = t; i < n; i++) { }"),
])
def test_rule_for_cuda(text, rule, mutant):
    cell = f"{GIVEN}\n// ### BEGIN SOLUTION\n{text}\n// ### END SOLUTION\n}}"
    (region,) = regions(cell)
    values = {"n": [7], "a": [0.1]}
    found = {(one.rule, "".join(one.source.split()))
             for one in mutants_of(cell, cuda_changes(cell, region, values))}
    assert (rule, "".join(cell.replace(text, mutant).split())) in found


@pytest.mark.parametrize("text", ["n = i + m;", "float p = 0;", "y += n;", "k = i;"])
def test_whole_numbers_constants_and_pointers_are_not_narrowed(text):
    cell = f"{GIVEN}\n// ### BEGIN SOLUTION\n{text}\n// ### END SOLUTION\n}}"
    (region,) = regions(cell)
    assert "value narrowed" not in {one.rule for one in cuda_changes(cell, region, {})}


def test_only_the_solution_is_mutated():
    cell = "a = 1\n### BEGIN SOLUTION\nb = 2\n### END SOLUTION\nc = 3\n"
    (region,) = regions(cell)
    sources = [one.source for one in mutants_of(cell, python_changes(cell, region, {}))]
    assert sources and all("a = 1" in one and "c = 3" in one for one in sources)


def test_comments_and_pragmas_stay():
    text = "// i < n\n#pragma unroll 4\n/* 1 + 2 */"
    assert not made_of(text, "CUDA")


def stubborn(lesson, question):
    """A stand-in for `judge`: it does not come to an end, dies, or answers."""
    while question == "hang":
        pass
    if question == "die":
        import os

        os._exit(1)
    return question, ""


@pytest.mark.slow
def test_mutants_that_hang_or_crash_take_nothing_with_them():
    questions = [("hang",), ("die",), ("fine",)]
    found = in_processes(stubborn, "start_here", questions, 1, seconds=0.5)
    assert [end for end, _ in found] == ["timed out", "crashed", "fine"]


def test_agreement_is_found_and_refuted():
    cell = cell_of("strided_views", "tiles")
    same = cell.replace("swapaxes(1, 2)", "swapaxes(2, 1)")
    wrong = cell.replace("columns % width", "columns % 2")
    assert agrees("strided_views", "tiles", same, 50) == (50, "")
    assert agrees("strided_views", "tiles", wrong, 50)[0] < 50


def test_inputs_of_a_task_without_a_generator_are_its_cases_with_other_seeds():
    task = tasks_of("einsum")["convolution"]
    many = list(inputs_of("einsum", task, 3 * len(task.cases())))
    values = {one[0].tobytes() for one in many}
    assert len(values) == len(many)


def test_reasons_outlive_a_new_report(tmp_path):
    mutant = Mutant("constant", "b = 3", "b = 2", "2", "3")
    judged = {"task": [(mutant, "survived", ""), (mutant, "refused", "")]}
    first = write_report("lesson", judged, {("task", mutant.name): 10_000}, tmp_path)
    assert unexplained(first) == [f"task: {mutant.name}"] and "NO REASON" in summary(first)
    first["task"]["survivors"][0]["reason"] = "because"
    (tmp_path / "lesson.json").write_text(json.dumps(first))
    again = write_report("lesson", judged, {}, tmp_path)
    assert not unexplained(again)
    assert again["task"]["mutants"] == {"made": 2, "refused": 1, "survived": 1}


def test_lessons_are_named_by_number_or_subject():
    assert command.lessons(["06", "einsum"]) == ["einsum", "first_kernels"]
    with pytest.raises(SystemExit, match="no lesson"):
        command.lessons(["99"])


# ---- the reports --------------------------------------------------------------------------------


@pytest.mark.parametrize("lesson", REPORTED)
def test_no_survivor_is_unexplained(lesson):
    report = read_report(lesson)
    assert not unexplained(report)
    for task, found in report.items():
        for survivor in found["survivors"]:
            assert survivor["agrees_on"] >= least_inputs(lesson, task), (
                f"{task}: {survivor['mutant']} differs from the solution")


@pytest.mark.parametrize("lesson", REPORTED)
def test_report_is_about_the_mutants_of_today(lesson):
    report = read_report(lesson)
    assert set(report) == set(tasks_of(lesson))
    for task, found in report.items():
        mutants = mutants_of_task(lesson, task)
        names = {mutant.name for mutant in mutants}
        assert found["mutants"]["made"] == len(mutants), f"{task}: run make mutants"
        assert {survivor["mutant"] for survivor in found["survivors"]} <= names


@pytest.mark.parametrize("lesson", REPORTED)
def test_a_task_has_many_mutants(lesson):
    made = [found["mutants"]["made"] for found in read_report(lesson).values()]
    assert sum(made) >= 40 * len(made)


def ends_as_reported(lesson, chosen):
    """Compare how (task, mutant) pairs end with the lesson's report."""
    report = read_report(lesson)
    questions = [(task, mutant.source) for task, mutant in chosen]
    ended = in_processes(judge, lesson, questions, 1)
    for (task, mutant), (end, text) in zip(chosen, ended):
        survives = mutant.name in {one["mutant"] for one in report[task]["survivors"]}
        assert (end == "survived") == survives, f"{task}: {mutant.name} {end}: {text}"


@pytest.mark.parametrize("lesson", SAMPLED)
def test_sample_of_mutants_ends_as_reported(lesson):
    by_rule = {}
    for task in tasks_of(lesson):
        for mutant in mutants_of_task(lesson, task):
            by_rule.setdefault(mutant.rule, []).append((task, mutant))
    chosen = [one for rule in by_rule.values()
              for one in rule[::max(1, len(rule) // SAMPLE)][:SAMPLE]]
    # Each kernel has to be compiled.
    ends_as_reported(lesson, chosen if lesson == "strided_views" else chosen[::8])


@pytest.mark.slow
@pytest.mark.parametrize("lesson", REPORTED)
def test_all_mutants_end_as_reported(lesson):
    report = read_report(lesson)
    for task, mutants in judge_all(lesson).items():
        survivors = [mutant.name for mutant, end, _ in mutants if end == "survived"]
        assert survivors == [one["mutant"] for one in report[task]["survivors"]]
