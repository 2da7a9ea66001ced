"""What the profiling programs make of other tools' reports."""

import json
from itertools import product

import pytest
import record_clinic as clinic

import helpers
from authoring.profiles import attention, fast_kernels, profiling
from helpers.data import load_profile

PROJECTED = """Generating SQLite file r.sqlite from r.nsys-rep
Processing [r.sqlite] with [nvtx_gpu_proj_sum.py]...
Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Proj Med (ns),Avg GPU Ops
:batch,PushPop,300,400,2,150.0,7.0

"""
KERNELS = """Processing [r.sqlite] with [cuda_gpu_kern_sum.py]...
Time (%),Total Time (ns),Instances,Name
75.0,90,3,"void reduce<int, float>(T1)"
25.0,30,1,copy
"""


def test_reports_of_nsight_systems_are_read_without_what_it_says_before():
    reports = {"nvtx_gpu_proj_sum": profiling.table_in(PROJECTED, ",Total "),
               "cuda_gpu_kern_sum": profiling.table_in(KERNELS, ",Total ")}
    found = fast_kernels.summary(reports)
    assert found["ranges"] == [{"range": "batch", "times": 2, "host_total": 400, "gpu_total": 300,
                                "gpu_median": 150.0, "operations": 7.0}]
    assert found["kernels"] == [["void reduce<int, float>(T1)", 3, 90], ["copy", 1, 30]]
    skipped = "SKIPPED: r.sqlite does not contain NV Tools data."
    assert profiling.table_in(skipped, ",Total ") == []


NCU = """#!/bin/sh
echo "$@" > "$NCU_ASKED"
[ -n "$NCU_FAILS" ] && echo "no permission to read counters" && exit 1
cat "$NCU_SAYS"
"""


@pytest.fixture
def ncu(tmp_path, monkeypatch):
    """An `ncu` that prints a table with the given rows, and writes down how it was called."""
    program = tmp_path / "ncu"
    program.write_text(NCU)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("NCU_ASKED", str(tmp_path / "asked"))
    monkeypatch.setenv("NCU_SAYS", str(tmp_path / "table"))

    def prints(*rows):
        columns = ["ID", "Kernel Name", *profiling.METRICS.values(), attention.TENSOR]
        lines = ["==PROF== Connected", columns, ["", "", *["unit"] * (len(columns) - 2)], *rows]
        (tmp_path / "table").write_text("\n".join(
            line if isinstance(line, str) else ",".join(f'"{part}"' for part in line)
            for line in lines))
        return (tmp_path / "asked").read_text

    return prints


def row(name, value):
    """A row of ncu's table: all metrics are `value`."""
    return ["0", name, *[value] * (len(profiling.METRICS) + 1)]


def test_the_counts_of_attention_are_read_from_nsight_computes_table(ncu):
    asked = ncu(row("cupy_fill(CArray)", "8"), row("attend(float*, int)", "1,234.567"),
                row("fmha_kernel", "5"), row("combine", "2"))
    found = attention.counted()
    assert found["lesson"] == dict.fromkeys(profiling.METRICS, 1234.57)
    assert found["sdpa"] == {"kernel": "fmha_kernel", "tensor": 7}
    for words in ("--nvtx-include lesson/", "--nvtx-include sdpa/", attention.TENSOR,
                  "-m authoring.profiles.attention --run"):
        assert words in asked()


def test_a_metric_that_the_gpu_lacks_is_left_out(ncu, monkeypatch):
    monkeypatch.setattr(fast_kernels, "launches", lambda: {"product, naive": None})
    asked = ncu(row("naive(float*)", "n/a")[:2] + ["42"] + ["n/a"] * len(profiling.METRICS))
    assert fast_kernels.profile() == {
        "product, naive": {"kernel": "naive", "ns": 42, "states": {}}}
    assert "--nvtx-include product\\, naive/" in asked()


def test_an_error_of_nsight_compute_is_shown(ncu, monkeypatch):
    ncu(row("attention", "1"))
    monkeypatch.setenv("NCU_FAILS", "yes")
    with pytest.raises(SystemExit, match="ncu ended with 1\nno permission to read counters"):
        attention.counted()


def test_a_profile_is_written_where_the_lesson_reads_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(profiling, "FOLDER", tmp_path)
    profiling.write_profile({"gpu": "H200"}, "attention", [])
    profiling.write_profile({"gpu": "T4"}, "attention", [str(tmp_path / "mine.json")])
    assert json.loads((tmp_path / "attention.json").read_text()) == {"gpu": "H200"}
    assert json.loads((tmp_path / "mine.json").read_text()) == {"gpu": "T4"}


def test_times_alone_leave_the_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(profiling, "FOLDER", tmp_path)
    monkeypatch.setattr(profiling, "heading", lambda: {"gpu": "H200"})
    monkeypatch.setattr(attention, "timed", lambda: {"float16": [5]})
    file = tmp_path / "attention.json"
    file.write_text('{"gpu": "T4", "date": "Monday", "float16": [], "counted": {"lesson": 1}}')
    for _ in range(2):
        attention.times()
        assert json.loads(file.read_text())["counted"] == {"lesson": 1, "date": "Monday"}
    assert json.loads(file.read_text())["float16"] == [5]


@pytest.mark.slow  # it runs whole lessons, and authors only use it
def test_the_profiled_kernels_are_those_of_the_lesson_and_are_checked(monkeypatch, capsys):
    monkeypatch.setattr(fast_kernels, "SIDE", 128)
    helpers.start()
    capsys.readouterr()
    launches = fast_kernels.launches()
    recorded = load_profile("fast_kernels")
    assert list(launches) == [*recorded["kernels"], *recorded["reader"]]
    for name in "tile", "8 x 8", "reader 8 x 2":
        launch, result, is_right = launches[name]
        result.fill(0)  # all kernels write to one array
        assert not is_right(result)
        launch()
        assert is_right(result)
    assert capsys.readouterr().out == ""  # what the lesson's cells print is left out


@pytest.mark.slow  # it runs whole lessons, and authors only use it
def test_attention_is_measured_by_the_lessons_functions(monkeypatch):
    helpers.start()
    monkeypatch.setattr(attention, "LENGTHS", (64,))
    monkeypatch.setattr(attention, "OTHER", 64)
    found = attention.one_query()
    assert found["keys"] == 64 and found["bound_us"] > 0
    assert [row["name"] for row in found["rows"]][:3] == ["matmul", "this lesson's kernel", "tuned"]
    assert all(row["share"] == found["bound_us"] / row["us"] > 0 for row in found["rows"])
    assert vars(attention.own_code()).keys() >= {"by_einsum", "by_matmul", "by_tiles"}


def test_the_recorded_attention_is_no_slower_than_its_peers():
    recorded, ms = load_profile("attention"), {}
    for row in recorded["float16"]:
        ms.setdefault((*row["shape"], row["causal"]), {})[row["name"]] = row["ms"]
    assert {(shape[3], shape[4]) for shape in ms} == set(product((64, 128), (False, True)))
    assert all(row["tuned"] <= row["PyTorch flash"] for row in ms.values())
    times = {row["name"]: row["ms"] for row in recorded["rows"] if row["dtype"] == "float32"}
    assert times["tuned"] == min(times.values())
    (query,) = (row["us"] for row in recorded["one_query"]["rows"] if row["name"] == "tuned")
    assert recorded["one_query"]["keys"] == 65536 and query <= 30


def test_what_the_sanitizer_says_is_shortened_to_its_first_finding():
    said = ["COMPUTE-SANITIZER", "Invalid __global__ read of size 4 bytes",
            "at k+0xc0 in " + "0a" * 20 + ".cubin.cu:5",
            "by thread (3,0,0) in block (0,0,0)", "Access to 0x7f00 is out of bounds",
            "Invalid __global__ read of size 4 bytes", "ERROR SUMMARY: 2 errors"]
    assert clinic.first_finding(said) == ["Invalid __global__ read of size 4 bytes",
                                      "at k+0xc0 in kernel.cu:5",
                                      "by thread (3,0,0) in block (0,0,0)"]
    assert clinic.first_finding(["ERROR SUMMARY: 0 errors"]) == []


def test_measure_has_a_row_for_each_variant_that_is_here(capsys):
    helpers.start()
    capsys.readouterr()
    import cupy as cp

    def by_matmul(q, k, v):
        return helpers.network.softmax(q @ k.swapaxes(-1, -2) / 8, cp) @ v

    def wrong(q, k, v):
        return 2 * by_matmul(q, k, v)

    def missing(q, k, v):
        raise NotImplementedError

    variants = {"matmul": by_matmul, "missing": missing, "wrong": wrong}
    right, twice = attention.measure(variants, (1, 2, 32, 64), "float32")
    assert (right["name"], right["dtype"], right["shape"]) == ("matmul", "float32", [1, 2, 32, 64])
    assert right["error"] < 1e-5 and abs(twice["error"] - 1) < 1e-5
    assert right["peak"] >= 2 * 32 * 32 * 4 and right["ms"] > 0 and right["tflops"] > 0
    (row,) = attention.measure({"matmul": by_matmul}, (1, 2, 32, 64), "float16", errors=False)
    assert row["dtype"] == "float16" and "error" not in row
