"""What the profiling programs make of other tools' reports."""

from authoring.profiles import clinic, kernels

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
    reports = {"nvtx_gpu_proj_sum": kernels.rows_of(PROJECTED),
               "cuda_gpu_kern_sum": kernels.rows_of(KERNELS)}
    found = kernels.summary(reports)
    assert found["ranges"] == [{"range": "batch", "times": 2, "host_total": 400, "gpu_total": 300,
                                "gpu_median": 150.0, "operations": 7.0}]
    assert found["kernels"] == [["void reduce<int, float>(T1)", 3, 90], ["copy", 1, 30]]
    assert kernels.rows_of("SKIPPED: r.sqlite does not contain NV Tools data.") == []


def test_what_the_sanitizer_says_is_shortened_to_its_first_finding():
    said = ["COMPUTE-SANITIZER", "Invalid __global__ read of size 4 bytes",
            "at k+0xc0 in " + "0a" * 20 + ".cubin.cu:5",
            "by thread (3,0,0) in block (0,0,0)", "Access to 0x7f00 is out of bounds",
            "Invalid __global__ read of size 4 bytes", "ERROR SUMMARY: 2 errors"]
    assert clinic.first_finding(said) == ["Invalid __global__ read of size 4 bytes",
                                      "at k+0xc0 in kernel.cu:5",
                                      "by thread (3,0,0) in block (0,0,0)"]
    assert clinic.first_finding(["ERROR SUMMARY: 0 errors"]) == []
