"""The process survives: interrupts, time limits, real signals, forks, ten thousand launches."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from engine_support import array, pack, read

from nogpu import engine

SOURCE = r"""
__global__ void endless(volatile int* x) { while (*x == 0); }
__global__ void endless_pure(int* x) { for (unsigned i = 1; i; i += 2) if (i == 0) *x = 1; }
__global__ void endless_wait(int* x) {
    __syncthreads();
    while (atomicAdd(x, 0) == 0) __syncthreads();
}
__global__ void add(int* x) { atomicAdd(x, 1); }
__global__ void wild(int* x, long offset) { *(int*)((char*)x + offset) = 1; }
__global__ void divide(int* x, int by) { *x = 7 / by; }
__global__ void recurse(int* x, int n);
__device__ __noinline__ int down(int n) { volatile int m = n; return m * down(m + 1) % 7 + m; }
__global__ void recurse(int* x, int n) { *x = down(n); }
__global__ void talk() { printf("%d\n", blockIdx.x); }
__device__ int total;
__global__ void count() { atomicAdd(&total, 1); }
"""


@pytest.fixture(scope="module")
def module() -> engine.Module:
    return engine.compile(SOURCE)


@pytest.fixture
def x():
    allocation = array(np.zeros(1, np.int32), "x")
    yield allocation
    allocation.free()


def still_works(module: engine.Module, x: engine.Allocation) -> None:
    engine.fill(x.address, 0, 1, 4)
    module.kernel("add").launch((3,), (33,), pack(x))
    assert read(x, np.int32)[0] == 99


ENDLESS = ["endless", "endless_pure", "endless_wait"]


@pytest.mark.parametrize("name", ENDLESS)
def test_time_limit(module: engine.Module, x: engine.Allocation, checked: bool, name: str) -> None:
    with pytest.raises(engine.KernelTimeout):
        module.kernel(name).launch((2,), (64,), pack(x), time_limit=0.1)
    still_works(module, x)


@pytest.mark.parametrize("name", ENDLESS)
def test_keyboard_interrupt(
    module: engine.Module, x: engine.Allocation, checked: bool, name: str
) -> None:
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        module.kernel(name).launch((2,), (64,), pack(x), time_limit=20)
    still_works(module, x)


def test_signals_without_checks(module: engine.Module, x: engine.Allocation) -> None:
    with engine.checks(False):
        with pytest.raises(engine.NullPointer):
            module.kernel("add").launch((1,), (1,), [bytes(8)])
        with pytest.raises(engine.NotDeviceMemory):
            far = np.int64(2**45 - x.address)
            module.kernel("wild").launch((1,), (1,), pack(x, far))
        with pytest.raises(engine.IntegerDivisionByZero) as caught:
            module.kernel("divide").launch((1,), (1,), pack(x, np.int32(0)))
        assert caught.value.line == 10
        with pytest.raises(engine.StackOverflow):
            module.kernel("recurse").launch((1,), (1,), pack(x, np.int32(1)))
        still_works(module, x)


def test_ten_thousand_launches_do_not_grow(module: engine.Module, x: engine.Allocation) -> None:
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def rounds(count: int) -> None:
        for k in range(count):
            temporary = engine.allocate(40000 if k % 2 else 400, "temporary")
            kernel.launch((2,), (32,), arguments)
            if k % 200 == 0:
                with pytest.raises(engine.GlobalOutOfBounds):
                    wild.launch((1,), (1,), wild_arguments)
            temporary.free()

    kernel, wild = module.kernel("add"), module.kernel("wild")
    arguments, wild_arguments = pack(x), pack(x, np.int64(4))
    rounds(1000)
    before = resident()
    rounds(9000)
    # The ring of small allocations (32 MB, and its shadow) may fill up once.
    assert resident() - before < 24 * 2**20
    assert read(x, np.int32)[0] == 640000


def test_segments_run_out_and_start_again(module: engine.Module, x: engine.Allocation) -> None:
    """More blocks than there are segment numbers: races are still found, nothing else is."""
    module.kernel("add").launch((1_200_000,), (1,), pack(x))
    assert read(x, np.int32)[0] == 1_200_000
    with pytest.raises(engine.Race):
        racing = engine.compile("__global__ void f(int* x) { *x += 1; }")
        racing.kernel("f").launch((2,), (1,), pack(x))


def test_variables_are_shared_by_both_builds(module: engine.Module) -> None:
    total = module.variable("total")
    engine.fill(total.address, 0, 1, 4)
    for everything in (True, False, True, False):
        with engine.checks(everything):
            module.kernel("count").launch((1,), (10,))
    assert read(total, np.int32)[0] == 40


def test_two_modules_of_one_source_have_their_own_variables() -> None:
    one, two = engine.compile(SOURCE), engine.compile(SOURCE)
    one.kernel("count").launch((1,), (10,))
    assert read(one.variable("total"), np.int32)[0] == 10
    assert read(two.variable("total"), np.int32)[0] == 0


def test_launches_from_several_python_threads(module: engine.Module) -> None:
    x = array(np.zeros(1, np.int32), "x")

    def work() -> None:
        for _ in range(50):
            module.kernel("add").launch((2,), (8,), pack(x))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read(x, np.int32)[0] == 4 * 50 * 16


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess:
    head = "import numpy as np, os, signal, sys\nfrom nogpu import engine\n"
    folder = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path + [folder])},
    )


def test_faulthandler_above_and_below_us() -> None:
    done = run_python(
        """
        import faulthandler
        faulthandler.enable()
        m = engine.compile("__global__ void f(int* x) { *x = 1; }")
        for k in range(3):
            try:
                with engine.checks(False):
                    m.kernel("f").launch((1,), (1,), [bytes(8)])
            except engine.NullPointer:
                print("caught")
            faulthandler.enable()
        """
    )
    assert done.stdout.split() == ["caught"] * 3, done.stderr
    assert "Fatal Python error" not in done.stderr


def test_a_real_crash_of_the_process_is_still_one() -> None:
    done = run_python(
        """
        import ctypes, faulthandler
        faulthandler.enable()
        m = engine.compile("__global__ void f(int* x) { *x = 1; }")
        x = engine.allocate(4)
        m.kernel("f").launch((1,), (1,), [np.uint64(x.address).tobytes()])
        ctypes.string_at(8)
        """
    )
    assert done.returncode == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in done.stderr


def test_fork_gets_workers_of_its_own(module: engine.Module, x: engine.Allocation) -> None:
    still_works(module, x)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            still_works(module, x)
            status = 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 0


def test_printf_goes_to_file_descriptor_one() -> None:
    done = run_python(
        """
        m = engine.compile('__global__ void f() { printf("block %d\\\\n", blockIdx.x); }')
        m.kernel("f").launch((1,), (2,))
        """
    )
    assert done.stdout == "block 0\n" * 2, done.stderr


def test_without_a_compiler_arrays_work_and_kernels_say_what_to_install() -> None:
    done = run_python(
        """
        from nogpu.engine import compiler
        compiler.importlib.util.find_spec = lambda name: None
        try:
            engine.compile("__global__ void f() {}")
        except engine.CompilerNotFound as error:
            print(error)
        """,
        PATH="/nonexistent",
        CXX="",
    )
    assert "Install one with: " in done.stdout, done.stderr
