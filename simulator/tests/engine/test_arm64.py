"""The runtime on arm64, under qemu: context switch, checks and signals through the same code."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from nogpu.engine import compiler

CROSS, QEMU = "aarch64-linux-gnu-g++", "qemu-aarch64"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which(CROSS) is None, reason=f"{CROSS} is not installed"),
    pytest.mark.skipif(shutil.which(QEMU) is None, reason=f"{QEMU} is not installed"),
]

KERNELS = r"""
__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
__global__ void reverse(float* x) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[255 - threadIdx.x];
}
__global__ void missing_barrier(float* x) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[255 - threadIdx.x];
}
__global__ void warp(int* x) {
    int v = threadIdx.x;
    for (int s = 16; s; s /= 2) v += __shfl_down_sync(0xffffffffu, v, s);
    if (threadIdx.x % 32 == 0) atomicAdd(x, v);
}
__device__ __noinline__ int down(int n) { volatile int m = n; return m * down(m + 1) % 7 + m; }
__global__ void recurse(int* x) { *x = down(1); }
extern "C" void* marker() { static thread_local char nogpu_marker[16]; return nogpu_marker; }
extern "C" const nogpu::Entry entries[] = {
    CUSIM_ENTRY(0, scale), CUSIM_ENTRY(0, reverse), CUSIM_ENTRY(0, warp),
    CUSIM_ENTRY(0, recurse), CUSIM_ENTRY(0, missing_barrier),
};
"""
DRIVER = r"""
#include "runtime.cpp"
#include <link.h>
extern "C" const nogpu::Entry entries[];
extern "C" void* marker();
static uint64_t tls_base, tls_size;
static uint32_t checks;
static void* tls_marker() { return marker(); }
static int find_tls(dl_phdr_info* info, size_t, void*) {
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS) {
            tls_base = (uint64_t)info->dlpi_tls_data;
            tls_size = info->dlpi_phdr[i].p_memsz;
        }
    return 0;
}
static int run(Library* library, int entry, int grid, int block,
               std::vector<const void*> arguments) {
    LaunchRequest r;
    memset(&r, 0, sizeof r);
    r.entry = &entries[entry];
    r.library = library;
    r.grid[0] = grid; r.block[0] = block;
    r.grid[1] = r.grid[2] = r.block[1] = r.block[2] = 1;
    r.checks = checks;
    r.arguments = arguments.data();
    Symbol all{0, 1 << 20, 0, 0};
    r.shared = &all;
    r.shared_count = 1;
    Job* job = cs_submit(&r);
    while (!cs_wait(job, 50)) {}
    FaultRecord fault;
    const char* text;
    uint64_t bytes;
    cs_result(job, &fault, &text, &bytes);
    cs_release(job);
    printf("%d:%d:%u:%u ", entry, fault.kind, fault.block[0], fault.thread[0]);
    return fault.kind;
}
int main(int, char** arguments) {
    checks = (uint32_t)atoi(arguments[1]);
    if (cs_start(2, (uint64_t)1 << 30, UINT64_MAX, 1) != 0) return 1;
    dl_iterate_phdr(find_tls, nullptr);
    Library* l = cs_library(tls_marker, (uint64_t)marker() - tls_base, tls_size, nullptr, 0, 0, 0,
                            0, 0);
    uint64_t x = cs_allocate(4000, 1, 0), sum = cs_allocate(4, 1, 0), null = 0;
    float* f = (float*)x;
    for (int i = 0; i < 1000; i++) f[i] = i;
    *(int*)sum = 0;
    int n = 1000;
    run(l, 0, 4, 256, {&x, &n});
    run(l, 1, 1, 256, {&x});
    run(l, 2, 2, 256, {&sum});
    printf("= %g %g %g %d\n", f[0], f[255], f[999], *(int*)sum);
    run(l, 0, 1, 1, {&null, &n});
    run(l, 3, 1, 1, {&sum});
    if (checks) {
        n = 1010;
        run(l, 0, 4, 256, {&x, &n});
        run(l, 4, 1, 256, {&x});
    }
    printf("\n");
}
"""


BASE = [CROSS, "-std=c++17", "-O1", "-fno-exceptions", "-fno-strict-aliasing", "-w"]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The runtime and a main program, compiled once."""
    output = str(tmp_path_factory.mktemp("arm64") / "driver.o")
    command = [*BASE, f"-I{compiler.RUNTIME}", "-c", "-x", "c++", "-", "-o", output]
    subprocess.run(command, input=DRIVER.encode(), check=True)
    return output


@pytest.mark.parametrize("checked", [0, 1])
def test_kernels_on_arm64(tmp_path: Path, driver: str, checked: int) -> None:
    family = compiler.Compiler(("g++",), "gcc", "").kernel_flags(bool(checked))
    flags = [f for f in family if not f.startswith(("-Wl", "-m", "-shared", "-fvisibility"))]
    kernels = [
        *BASE, *flags, f"-DCUSIM_CHECKED={checked}", "-DCUSIM_NVCC=0", "-DCUSIM_LIBC=0",
        f"-I{compiler.INCLUDE}", "-include", "nogpu_prelude.h", "-c", "-", "-o",
        str(tmp_path / "kernels.o"),
    ]  # fmt: skip
    subprocess.run(kernels, input=KERNELS.encode(), check=True)
    program = str(tmp_path / "program")
    link = [CROSS, "-static", driver, str(tmp_path / "kernels.o"), "-lpthread", "-lm"]
    subprocess.run([*link, "-o", program, "-Wl,--allow-multiple-definition"], check=True)
    done = subprocess.run(
        [QEMU, program, "255" if checked else "0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    first, second = done.stdout.splitlines()
    assert first == "0:0:0:0 1:0:0:0 2:0:0:0 = 510 0 1998 65280"
    faults = ["0:4:0:0", "3:10:0:0"]  # a null pointer, a stack that is full
    if checked:
        faults += ["0:1:3:232", "4:8:0:128"]  # out of bounds, a race
    assert second.split() == faults
