"""The process survives: interrupts, time limits, real signals, forks, ten thousand launches."""

from __future__ import annotations

import os
import resource
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
__global__ void endless_begun(volatile int* x, int* begun) {
    atomicExch(begun, 1);
    while (*x == 0);
}
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


SLEEPING = """
__global__ void rest(int times, unsigned ns) { while (times--) __nanosleep(ns); }
__global__ void wait(volatile int* x) { while (*x == 0) __nanosleep(1000000); }
__global__ void meet(volatile int* x) {
    if (threadIdx.x == 0) while (*x == 0) __nanosleep(1000000);
    else *x = 1;
}
"""


def test_a_sleeping_kernel_leaves_the_processor(x: engine.Allocation, checked: bool) -> None:
    def switches(nanoseconds: int) -> int:
        """How often the process gave up a processor in a hundred sleeps."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        rest = pack(np.int32(100), np.uint32(nanoseconds))
        sleeping.kernel("rest").launch((1,), (1,), rest)
        return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before

    sleeping = engine.compile(SLEEPING)
    assert switches(1_000_000) >= 100 > switches(100)  # shorter than a call of the system
    engine.fill(x.address, 0, 1, 4)
    with pytest.raises(engine.KernelTimeout):
        sleeping.kernel("wait").launch((1,), (1,), pack(x), time_limit=0.1)
    sleeping.kernel("meet").launch((1,), (2,), pack(x), time_limit=60)


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
    sizes = [resident()]
    for _ in range(3):
        rounds(3000)
        sizes.append(resident())
    # The ring of small allocations (32 MB, and its shadow) may fill up once, in any of the three
    # rounds; what each launch keeps grows in every one.
    assert min(now - before for before, now in zip(sizes, sizes[1:])) < 8 * 2**20
    assert read(x, np.int32)[0] == 640000


def test_segments_run_out_and_start_again(module: engine.Module, x: engine.Allocation) -> None:
    """More blocks than there are segment numbers: races are still found, nothing else is."""
    module.kernel("add").launch((1_200_000,), (1,), pack(x))
    assert read(x, np.int32)[0] == 1_200_000
    with pytest.raises(engine.Race):
        racing = engine.compile("__global__ void f(int* x) { *x += 1; }")
        # Two blocks may run at the very same time and store the same value, and a store of the
        # value that is there already is no race. Of 64 blocks, some run one after the other.
        racing.kernel("f").launch((64,), (1,), pack(x))


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
    command = [sys.executable, "-c", head + textwrap.dedent(code)]
    environment = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path + [folder])}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
    ) as process:
        try:
            output, errors = process.communicate(timeout=120)
        except BaseException:  # its children too: they hold the pipes
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


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


HANDLERS = r"""
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>

static sigjmp_buf place;
static jmp_buf plain_place;
static volatile int handled;
static char* page;

static void leave(int) { handled++; siglongjmp(place, 1); }
static void leave_plainly(int, siginfo_t*, void*) { handled++; longjmp(plain_place, 1); }
static void cure(int, siginfo_t* info, void*) {
    if ((char*)info->si_addr != page) return;
    handled++;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

extern "C" void install(int kind) {
    struct sigaction action = {};
    if (kind == 0) action.sa_handler = leave;
    if (kind == 1) action.sa_sigaction = leave_plainly, action.sa_flags = SA_SIGINFO | SA_NODEFER;
    if (kind == 2) action.sa_sigaction = cure, action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    page = (char*)mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

extern "C" int faults(int kind, int count) {
    handled = 0;
    for (volatile int k = 0; k < count; k++) {
        if (kind == 0 && sigsetjmp(place, 1)) continue;
        if (kind == 1 && setjmp(plain_place)) continue;
        mprotect(page, 4096, PROT_NONE);
        *(volatile char*)page = 1;
    }
    return handled;
}
"""


@pytest.fixture(scope="module")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library that handles its own SIGSEGV, as virtual machines and write barriers do."""
    path = str(tmp_path_factory.mktemp("handlers") / "handlers.so")
    arguments = ["-x", "c++", "-O1", "-shared", "-fPIC", "-", "-o", path]
    status, log = engine.find_compiler().run(arguments, HANDLERS)
    assert status == 0, log
    return path


@pytest.mark.parametrize("kind", [0, 1, 2], ids=["jump", "plain jump", "cure"])
@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_a_foreign_handler_is_chained_for_ever(handlers: str, kind: int, first: str) -> None:
    done = run_python(
        f"""
        import ctypes
        library = ctypes.CDLL({handlers!r})
        m = engine.compile("__global__ void f(int* x) {{ *x = 1; }}")
        def null():
            try:
                with engine.checks(False):
                    m.kernel("f").launch((1,), (1,), [bytes(8)])
            except engine.NullPointer:
                return "NullPointer"
        if {first!r} == "ours":
            null()
        library.install({kind})
        print(null(), library.faults({kind}, 1000), null(), library.faults({kind}, 1000), null())
        """
    )
    assert done.stdout.split() == ["NullPointer", "1000", "NullPointer", "1000", "NullPointer"], (
        done.returncode,
        done.stderr,
    )


def test_a_handler_that_steps_aside_lets_the_process_end() -> None:
    """Faulthandler above ours above faulthandler: a real crash ends it, and is not repeated."""
    done = run_python(
        """
        import ctypes, faulthandler
        m = engine.compile("__global__ void f(int* x) { *x = 1; }")
        x = engine.allocate(4)
        for _ in range(3):
            faulthandler.enable()
            m.kernel("f").launch((1,), (1,), [np.uint64(x.address).tobytes()])
            faulthandler.disable()
            m.kernel("f").launch((1,), (1,), [np.uint64(x.address).tobytes()])
        faulthandler.enable()
        m.kernel("f").launch((1,), (1,), [np.uint64(x.address).tobytes()])
        ctypes.string_at(8)
        """
    )
    assert done.returncode == -signal.SIGSEGV
    assert done.stderr.count("Fatal Python error: Segmentation fault") == 1


def test_an_ignored_crash_is_still_one() -> None:
    done = run_python(
        """
        import ctypes
        signal.signal(signal.SIGSEGV, signal.SIG_IGN)
        m = engine.compile("__global__ void f(int* x) { *x = 1; }")
        x = engine.allocate(4)
        m.kernel("f").launch((1,), (1,), [np.uint64(x.address).tobytes()])
        os.kill(os.getpid(), signal.SIGSEGV)
        print("ignored", flush=True)
        ctypes.string_at(8)
        """
    )
    assert done.stdout == "ignored\n" and done.returncode == -signal.SIGSEGV


# ---- fork ------------------------------------------------------------------------------------


def wait_for_child(child: int, seconds: float = 20) -> None:
    """Wait until a child has ended well; kill it, and fail, when it hangs."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


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
    wait_for_child(child)


def test_fork_while_another_thread_reads_a_library() -> None:
    """pyelftools' cached properties have locks before Python 3.12, which the child finds taken."""
    done = run_python("""
        import faulthandler, functools, threading, time
        import elftools.elf.elffile, elftools.elf.sections

        def hold():
            for module in elftools.elf.elffile, elftools.elf.sections:
                for kind in [k for k in vars(module).values() if isinstance(k, type)]:
                    for member in vars(kind).values():
                        if isinstance(member, functools.cached_property):
                            member.lock.__enter__() if hasattr(member, "lock") else None
            held.set()
            time.sleep(100)

        engine.compile("__global__ void f(int* x) { *x = 1; }")  # the runtime is there
        held = threading.Event()
        threading.Thread(target=hold, daemon=True).start()
        held.wait()
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(30, exit=True)
            engine.compile(f"__global__ void f(int* x) {{ *x = 2; }} // {time.time()}")
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """)
    assert done.stdout == "0\n", done.stderr[-3000:]


UNDER_LOAD = r"""
import faulthandler, threading, time

CHURN = '''
__global__ void churn(int* a, int* b, int* c, int* d, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        a[i] = b[i] + c[i] + d[i];
}
__global__ void talk() { printf("%d\\n", threadIdx.x); }
'''
n = 4096
module = engine.compile(CHURN)
streams = [engine.streams.Stream(non_blocking=True) for _ in range(3)]
sink = os.open(os.devnull, os.O_WRONLY)
engine.set_printer(lambda text: os.write(sink, text))
going = True

def launches(stream):
    while going:
        arrays = [engine.allocate(4 * n, unwritten=False) for _ in range(4)]
        for array in arrays:
            stream.fill(array.address, 0, n, 4)
        arguments = [np.uint64(a.address).tobytes() for a in arrays] + [np.int32(n).tobytes()]
        for _ in range(5):
            stream.launch(module.kernel("churn"), (8,), (64,), arguments)
        stream.launch(module.kernel("talk"), (1,), (32,), [])
        stream.run(lambda: engine.allocate(100).free(), 2**20)
        stream.synchronize()
        for array in arrays:
            array.free()

def allocations():
    while going:
        for size in (10, 100_000, 3_000_000):
            engine.allocate(size).free()

def compilations():
    k = 0
    while going:
        k += 1
        engine.compile(f"__global__ void f(int* x) {{ *x = {k % 7}; }}")

threads = [threading.Thread(target=launches, args=(s,), daemon=True) for s in streams]
threads += [threading.Thread(target=work, daemon=True) for work in (allocations, compilations)]
for thread in threads:
    thread.start()
time.sleep(0.3)

def in_child(number):
    faulthandler.dump_traceback_later(50, exit=True)
    # One runs the compiler, the next one finds its kernel in the cache.
    unique = f"// {time.time()}" if number % 2 == 0 else ""
    text = f"__global__ void g(int* x) {{ x[threadIdx.x] = {number % 2}; }} {unique}"
    m = engine.compile(text)
    for on in (True, False):
        with engine.checks(on):
            x = engine.allocate(128)
            stream = engine.streams.Stream(non_blocking=True)
            stream.launch(m.kernel("g"), (1,), (32,), [np.uint64(x.address).tobytes()])
            stream.run(lambda: None, 2**20)
            stream.synchronize()
            assert (engine.view(x.address, 128, np.int32) == number % 2).all()
            x.free()
    engine.streams.synchronize()

for number in range(FORKS):
    child = os.fork()
    if child == 0:
        try:
            in_child(number)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    end = time.monotonic() + 60
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            print(number, "hangs", flush=True)
            os._exit(2)
        time.sleep(0.005)
    if status:
        print(number, "ended with", status, flush=True)
        os._exit(3)
going = False
print("done", flush=True)
"""


@pytest.mark.parametrize("forks", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_fork_under_load(forks: int) -> None:
    """Streams run kernels, threads allocate and compile; each child does all of it as well."""
    done = run_python(UNDER_LOAD.replace("FORKS", str(forks)))
    assert done.stdout == "done\n", (done.stdout, done.stderr[-3000:])


FACES_UNDER_LOAD = r"""
import faulthandler, threading, time
import nogpu
nogpu.install()
import cupy as cp

source = 'extern "C" __global__ void add(float* x, int n) { int i = threadIdx.x; x[i] += i < n; }'
going = True

def work(seed):
    stream = cp.cuda.Stream(non_blocking=True)
    k = 0
    while going:
        k += 1
        with stream:
            x = cp.arange(1000 + 100 * (k % 5), dtype=cp.float32)
            y = (x * 2 + seed)[::-1].sum()
            big = cp.ones(200_000, cp.float32) * seed
            cp.RawKernel(source, "add")((1,), (64,), (x, np.int32(64)))
            pinned = cp.cuda.alloc_pinned_memory(4096)
        if k % 10 == 0:
            cp.get_default_memory_pool().free_all_blocks()
        stream.synchronize()

for seed in range(3):
    threading.Thread(target=work, args=(seed,), daemon=True).start()
time.sleep(0.3)

for number in range(20):
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(30, exit=True)
        try:
            x = cp.zeros(64, cp.float32)
            cp.RawKernel(source, "add")((1,), (64,), (x, np.int32(64)))
            y = cp.ones(300_000, cp.float32) + float(x.sum())
            assert float(y[-1]) == 65, y
            cp.get_default_memory_pool().free_all_blocks()
            cp.get_default_memory_pool().used_bytes()
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        print(number, "ended with", status, flush=True)
        os._exit(3)
print("done", flush=True)
os._exit(0)
"""


def test_fork_under_load_of_arrays() -> None:
    """The same through cupy: pools, queued array work, kernels of a library."""
    done = run_python(FACES_UNDER_LOAD)
    assert done.stdout == "done\n", (done.stdout, done.stderr[-3000:])


def interrupt_once(began: engine.Allocation) -> None:
    """Send this process a signal as soon as a kernel has written to `began`."""
    while read(began, np.int32)[0] == 0:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGUSR1)


def test_a_fork_within_a_wait_leaves_the_launch_to_the_parent(
    module: engine.Module, x: engine.Allocation
) -> None:
    """A signal handler forks while its thread waits for a kernel."""
    children = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: children.append(os.fork()))
    try:
        engine.fill(x.address, 0, 1, 4)
        began = array(np.zeros(1, np.int32), "began")
        threading.Thread(target=interrupt_once, args=(began,)).start()
        status = 1
        try:
            module.kernel("endless_begun").launch((2,), (64,), pack(x, began), time_limit=1)
        except engine.KernelTimeout:
            pass
        except BaseException as error:  # noqa: BLE001 -- the child must not run the other tests
            if isinstance(error, engine.EngineError) and "parent process" in str(error):
                engine.fill(x.address, 0, 1, 4)
                module.kernel("add").launch((1,), (9,), pack(x))
                status = int(read(x, np.int32)[0] != 9)
        if children == [0]:
            os._exit(status)
    finally:
        signal.signal(signal.SIGUSR1, before)
    wait_for_child(children[0])
    still_works(module, x)


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
