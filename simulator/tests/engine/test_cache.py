"""The cache on disk: whole or damaged, ours or foreign, safe or not; and what cannot be built."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import subprocess
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from engine_support import array, launch, read

from nogpu import engine
from nogpu.engine import cache, compiler, native

ZERO = "__global__ void zero(int* x) { x[threadIdx.x] = 0; }"
COUNT = "__device__ int total; __global__ void count() { atomicAdd(&total, 1); }"
STRANGER = 12345
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("NOGPU_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of this test's own, where folders are made that replace the cache's."""
    folder = tmp_path / "temporary"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(cache, "_warned", set(), raising=False)
    monkeypatch.setattr(cache, "_private", None, raising=False)
    return folder


@pytest.fixture(scope="module", autouse=True)
def runtime_entry() -> tuple[str, dict, bytes]:
    """The runtime as the usual cache has it, before a test turns to a cache of its own: it takes
    seconds to build."""
    found = compiler.find()
    name = native.runtime_key(found)
    if cache.load(name) is None:
        cache.store(name, {}, native._compile_runtime(found))
    native.runtime()
    return name, *cache.load(name)


def works() -> engine.Module:
    module = engine.compile(ZERO)
    x = array(np.ones(4, np.int32), "x")
    launch(module.kernel("zero"), (1,), (4,), x)
    assert not read(x, np.int32).any()
    return module


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


# ---- entries -------------------------------------------------------------------------------


def test_second_compilation_comes_from_the_cache(fresh_cache: Path) -> None:
    assert engine.compile(ZERO).from_cache is False
    assert engine.compile(ZERO).from_cache is True
    assert engine.compile(ZERO, ["-DX"]).from_cache is False
    assert engine.compile(ZERO + "\n").from_cache is False
    assert engine.compile(ZERO, dialect="nvcc").from_cache is False
    assert not list(fresh_cache.glob("load-*")) and not list(fresh_cache.glob("new-*"))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text"])
def test_a_damaged_entry_is_compiled_again(fresh_cache: Path, damage: str) -> None:
    engine.compile(ZERO)
    (entry,) = fresh_cache.glob("*.bin")
    data = bytearray(entry.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
    entry.write_bytes({"cut": data[:-1000], "flip": data, "empty": b"", "text": b"hello"}[damage])
    assert works().from_cache is False
    assert engine.compile(ZERO).from_cache is True


@pytest.mark.parametrize(
    "without_runtime", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_racing_processes_share_the_cache(
    runtime_entry: tuple[str, dict, bytes], fresh_cache: Path, without_runtime: bool
) -> None:
    """They compile the same kernels; the slow variant has them build the same runtime, too."""
    if not without_runtime:
        cache.store(*runtime_entry)
    code = (
        "from nogpu import engine\n"
        "for k in range(4):\n"
        "    engine.compile('__global__ void f%d() {}' % k).kernel('f%d' % k).launch((1,), (1,))\n"
        "print('done')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    assert [process.communicate(timeout=120)[0] for process in running] == [b"done\n"] * 3
    names = [path.name for path in fresh_cache.iterdir()]
    # Of the runtime, the kernels, and the headers as the third kernel has left them.
    assert len(names) in (5, 6) and all(name.endswith(".bin") for name in names)


def test_an_entry_under_another_name_is_refused(fresh_cache: Path) -> None:
    engine.compile(ZERO)
    (entry,) = fresh_cache.glob("*.bin")
    other = cache.key("another")
    entry.rename(fresh_cache / f"{other}.bin")
    assert cache.load(other) is None


def test_an_entry_is_not_read_through_a_link(fresh_cache: Path, tmp_path: Path) -> None:
    engine.compile(ZERO)
    (entry,) = fresh_cache.glob("*.bin")
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    assert cache.load(entry.stem) is None
    assert works().from_cache is False
    assert not entry.is_symlink()


@pytest.mark.parametrize("mode", [0o666, 0o622])
def test_an_entry_that_others_may_write_is_refused(fresh_cache: Path, mode: int) -> None:
    engine.compile(ZERO)
    (entry,) = fresh_cache.glob("*.bin")
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    entry.chmod(mode)
    assert engine.compile(ZERO).from_cache is False


@needs_root
def test_an_entry_of_another_user_is_refused(fresh_cache: Path) -> None:
    engine.compile(ZERO)
    (entry,) = fresh_cache.glob("*.bin")
    os.chown(entry, STRANGER, STRANGER)
    assert engine.compile(ZERO).from_cache is False


def test_pruning_spares_what_the_cache_has_not_written(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.compile(ZERO)
    (entry,) = fresh_cache.glob("*.bin")
    foreign = {
        "results.bin": b"three weeks of measurements",
        f"{'a' * 64}.bin": b"the right kind of name alone",
        f"{'b' * 64}.binary": entry.read_bytes(),
    }
    for name, data in foreign.items():
        (fresh_cache / name).write_bytes(data)
        os.utime(fresh_cache / name, (0, 0))
    monkeypatch.setattr(cache, "_LIMIT_BYTES", 0)
    for k in range(50):
        cache.store(cache.key(k), {}, b"library")
    left = {path.name: path.read_bytes() for path in fresh_cache.iterdir()}
    assert {name: left.get(name) for name in foreign} == foreign
    assert len(left) - len(foreign) < 50 and entry.name not in left


# ---- the folder ----------------------------------------------------------------------------


def test_an_unwritable_cache_falls_back(
    own_temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOGPU_CACHE_DIR", "/proc/none/such")
    with pytest.warns(RuntimeWarning, match="/proc/none/such: No such file or directory"):
        assert cache.directory() == own_temporary / f"nogpu-{os.geteuid()}"
    works()


def test_a_safe_folder_is_used_without_a_word(fresh_cache: Path, own_temporary: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.directory() == fresh_cache
        link = fresh_cache.with_name("link")
        link.symlink_to(fresh_cache)
        os.environ["NOGPU_CACHE_DIR"] = str(link)  # the fixture puts it back
        assert cache.directory() == link


def passed_over(folder: Path, own_temporary: Path, reason: str) -> None:
    with pytest.warns(RuntimeWarning) as caught:
        used = cache.directory()
    assert used == own_temporary / f"nogpu-{os.geteuid()}"
    assert stat.S_IMODE(used.stat().st_mode) == 0o700
    assert len(caught) == 1
    message = str(caught[0].message)
    assert str(folder) in message and reason in message and "NOGPU_CACHE_DIR" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        assert works().from_cache is False
        assert works().from_cache is True
    assert list(used.glob("*.bin")) and not list(folder.glob("*.bin"))


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_folder_that_others_may_write_is_passed_over(
    fresh_cache: Path, own_temporary: Path, mode: int
) -> None:
    fresh_cache.chmod(mode)
    passed_over(fresh_cache, own_temporary, f"other users may write to it (mode {mode:o}")


@needs_root
def test_a_folder_of_a_group_is_passed_over(fresh_cache: Path, own_temporary: Path) -> None:
    fresh_cache.chmod(0o770)
    os.chown(fresh_cache, -1, STRANGER)
    passed_over(fresh_cache, own_temporary, "other users may write to it (mode 770")


@needs_root
def test_a_folder_of_another_user_is_passed_over(fresh_cache: Path, own_temporary: Path) -> None:
    os.chown(fresh_cache, STRANGER, STRANGER)
    passed_over(fresh_cache, own_temporary, f"it belongs to user {STRANGER}")


@needs_root
def test_a_link_that_another_user_made_is_passed_over(
    fresh_cache: Path, own_temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = fresh_cache.with_name("link")
    link.symlink_to(fresh_cache)
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    monkeypatch.setenv("NOGPU_CACHE_DIR", str(link))
    passed_over(link, own_temporary, f"a symbolic link made by user {STRANGER}")


@needs_root
def test_a_planted_temporary_folder_is_passed_over(
    own_temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOGPU_CACHE_DIR", "/proc/none/such")
    planted = own_temporary / f"nogpu-{os.geteuid()}"
    planted.mkdir()
    os.chown(planted, STRANGER, STRANGER)
    with pytest.warns(RuntimeWarning) as caught:
        used = cache.directory()
    assert ["No such file" in str(each.message) for each in caught] == [True, False]
    assert f"it belongs to user {STRANGER}" in str(caught[1].message)
    assert used.parent == own_temporary and used != planted
    assert used.stat().st_uid == os.geteuid() and stat.S_IMODE(used.stat().st_mode) == 0o700
    assert cache.directory() == used


def test_no_folder_at_all_is_said_clearly(
    own_temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOGPU_CACHE_DIR", "/proc/none/such")
    monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    with pytest.raises(engine.EngineError, match="let NOGPU_CACHE_DIR name one"):
        cache.directory()


def test_a_full_disk_is_told_once_and_the_kernel_runs(
    fresh_cache: Path, own_temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, count in ((errno.ENOSPC, 1), (errno.ENOSPC, 0), (errno.EIO, 0)):
        error = OSError(number, os.strerror(number))
        monkeypatch.setattr(cache, "_write_whole", Mock(side_effect=error))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert works().from_cache is False
        assert len(caught) == count
        for each in caught:
            text = str(each.message)
            assert str(fresh_cache) in text and "is full" in text and "NOGPU_CACHE_DIR" in text
    assert not list(fresh_cache.glob("*.bin"))


# ---- what an entry depends on, and entries that do not load ----------------------------------


def unloadable(folder: Path) -> Path:
    """Replace the library of the folder's only entry by one that no machine loads."""
    (entry,) = folder.glob("*.bin")
    description, library = cache.load(entry.stem)
    # As a library of another architecture: e_machine of the ELF header.
    cache.store(entry.stem, description, library[:18] + b"\xff\x7f" + library[20:])
    return entry


def test_an_entry_that_does_not_load_is_compiled_again(fresh_cache: Path) -> None:
    engine.compile(ZERO)
    unloadable(fresh_cache)
    assert works().from_cache is False
    assert works().from_cache is True


def test_a_runtime_that_does_not_load_is_built_again(
    runtime_entry: tuple[str, dict, bytes], fresh_cache: Path, tmp_path: Path
) -> None:
    cache.store(*runtime_entry)
    (entry,) = fresh_cache.glob("*.bin")
    intact = entry.read_bytes()
    unloadable(fresh_cache)
    assert entry.read_bytes() != intact
    built = tmp_path / "built.so"
    built.write_bytes(runtime_entry[2])
    done = run_python(
        f"""
        from pathlib import Path
        from nogpu import engine
        from nogpu.engine import native
        def build(found):  # in place of the compiler, which takes seconds
            print("built")
            return Path({str(built)!r}).read_bytes()
        native._compile_runtime = build
        engine.compile({ZERO!r})
        """
    )
    assert done.stdout == "built\n", done.stderr
    assert cache.load(entry.stem)[1] == runtime_entry[2]


def keys_of(monkeypatch: pytest.MonkeyPatch, **changes: object) -> set[tuple]:
    """The keys under which the runtime and a module are looked for."""
    seen = set()
    with monkeypatch.context() as patch:
        for name, value in changes.items():
            module, _, attribute = name.partition("__")
            patch.setattr(globals()[module], attribute, value)
        patch.setattr(cache, "load", lambda name: seen.add(name))
        patch.setattr(cache, "store", lambda *arguments: None)
        engine.compile(ZERO)
        with pytest.raises(KeyboardInterrupt):
            patch.setattr(native, "_compile_runtime", interrupt)
            native._load_runtime()
    assert len(seen) == 2
    return seen


def interrupt(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_keys_depend_on_machine_and_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = keys_of(monkeypatch)
    assert usual == keys_of(monkeypatch)
    real = platform.machine()
    other_machine = keys_of(monkeypatch, platform__machine=lambda: "riscv64")
    assert not usual & other_machine
    assert platform.machine() == real
    flags = [*native._RUNTIME_FLAGS, "-O1"]
    assert len(usual & keys_of(monkeypatch, native___RUNTIME_FLAGS=flags)) == 1


def test_a_native_build_belongs_to_one_kind_of_processor() -> None:
    plain, native_build = (
        compiler.Compiler(("g++", *words), "gcc", "g++ 12").machine()
        for words in ((), ("-march=native",))
    )
    assert platform.machine() in plain and platform.machine() in native_build
    if "flags" in Path("/proc/cpuinfo").read_text():
        assert "sse2" not in plain and "sse2" in native_build


# ---- file systems from which nothing runs ----------------------------------------------------


@pytest.fixture
def noexec_folder(tmp_path: Path):
    folder = tmp_path / "noexec"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "noexec,mode=0700", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        pytest.skip(f"no mount: {error}")
    if done.returncode:
        pytest.skip(f"no mount: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_noexec_cache_works(
    runtime_entry: tuple[str, dict, bytes], noexec_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOGPU_CACHE_DIR", str(noexec_folder))
    cache.store(*runtime_entry)
    assert works().from_cache is False
    assert works().from_cache is True
    done = run_python(
        f"""
        import numpy as np
        from nogpu import engine
        module = engine.compile({ZERO!r})
        x = engine.allocate(16)
        module.kernel("zero").launch((1,), (4,), [np.uint64(x.address).tobytes()])
        print(engine.view(x.address, 16, np.int32))
        """
    )
    assert done.stdout == "[0 0 0 0]\n", done.stderr


def test_a_noexec_cache_without_a_way_out_is_named(
    noexec_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOGPU_CACHE_DIR", str(noexec_folder))
    monkeypatch.setattr(os, "memfd_create", refuse_memory)
    with pytest.raises(engine.EngineError) as caught:
        engine.compile(ZERO)
    message = str(caught.value)
    assert f"{noexec_folder} is on a file system that is mounted noexec" in message
    assert "NOGPU_CACHE_DIR" in message and "declared but not defined" not in message


def refuse_memory(*arguments: object) -> int:
    raise PermissionError(1, "Operation not permitted")


@pytest.fixture
def nothing_runs_from_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loader that maps no file, as on a file system mounted noexec."""
    real = ctypes.CDLL

    def load(path: str, mode: int) -> ctypes.CDLL:
        if not path.startswith("/proc/"):
            text = "failed to map segment from shared object: Operation not permitted"
            raise OSError(f"{path}: {text}")
        return real(path, mode=mode)

    monkeypatch.setattr(ctypes, "CDLL", load)


def test_libraries_from_memory_are_kept_apart(nothing_runs_from_files: None) -> None:
    modules = [engine.compile(COUNT) for _ in range(5)]
    for k, module in enumerate(modules):
        for _ in range(k + 1):
            module.kernel("count").launch((1,), (10,))
    totals = [int(read(module.variable("total"), np.int32)[0]) for module in modules]
    assert totals == [10, 20, 30, 40, 50]


def test_a_loader_that_refuses_everything_is_named(
    nothing_runs_from_files: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "memfd_create", refuse_memory)
    with pytest.raises(engine.RuntimeUnavailable, match="failed to map segment") as caught:
        engine.compile(ZERO)
    assert "NOGPU_CACHE_DIR" in str(caught.value)


# ---- compilers that cannot build the runtime ---------------------------------------------------

ARRAYS_THEN_KERNEL = """
import nogpu
nogpu.install()
import cupy as cp
x = cp.arange(10, dtype=cp.float32)
print(float((x * 2).sum()), cp.asnumpy(x[::-1])[:2])
stream = cp.cuda.Stream()
with stream:
    y = x + 1
stream.synchronize()
print(float(y.max()))
kernel = cp.RawKernel("extern \\"C\\" __global__ void f(float* x) { x[0] = 7; }", "f")
for _ in range(2):
    try:
        kernel((1,), (1,), (x,))
    except nogpu.engine.EngineError as error:
        print(type(error).__name__, error)
print(float(x[0]))
"""


def script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def arrays_work_and_kernels_say(done: subprocess.CompletedProcess) -> list[str]:
    """The two errors of two launches, after everything else was right."""
    lines = done.stdout.splitlines()
    assert lines[:2] == ["90.0 [9. 8.]", "10.0"], done.stderr
    assert lines[-1] == "0.0" and len(lines) == 5, lines
    return lines[2:4]


def test_a_compiler_that_fails(fresh_cache: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    broken = script(
        tmp_path / "broken-c++",
        f'case "$*" in *--version*) echo "g++ (broken) 1.0"; exit 0;; esac\n'
        f'echo "$@" >> {asked}\n'
        'echo "In file included from x.h:1:" >&2\n'
        'echo "runtime.cpp:3:10: fatal error: cc1plus: no such tool" >&2; exit 1',
    )
    for message in arrays_work_and_kernels_say(run_python(ARRAYS_THEN_KERNEL, CXX=broken)):
        assert message.startswith("RuntimeUnavailable ")
        assert f"{broken} (g++ (broken) 1.0) cannot build its runtime" in message
        assert "runtime.cpp:3:10: fatal error: cc1plus: no such tool" in message
        assert "Install" in message or "install" in message
    assert len(asked.read_text().splitlines()) == 1  # not at every array and launch


def test_a_compiler_without_the_standard_library(fresh_cache: Path, tmp_path: Path) -> None:
    real = compiler.find().command
    without = script(tmp_path / "c++", f'exec {" ".join(real)} -nostdinc++ "$@"')
    for message in arrays_work_and_kernels_say(run_python(ARRAYS_THEN_KERNEL, CXX=without)):
        assert without in message and "fatal error: " in message and "runtime/" in message


def test_a_compiler_whose_code_does_not_load(fresh_cache: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    foreign = script(
        tmp_path / "foreign-c++",
        'case "$*" in *--version*) echo "g++ (foreign) 1.0"; exit 0;; esac\n'
        f'echo "$@" >> {asked}\n'
        'while [ "$1" != -o ]; do shift; done; echo "no library" > "$2"',
    )
    for message in arrays_work_and_kernels_say(run_python(ARRAYS_THEN_KERNEL, CXX=foreign)):
        assert foreign in message and "cannot be loaded" in message
    assert len(asked.read_text().splitlines()) == 1
    # The next process finds the entry, and builds it once again.
    arrays_work_and_kernels_say(run_python(ARRAYS_THEN_KERNEL, CXX=foreign))
    assert len(asked.read_text().splitlines()) == 2


def test_a_cxx_that_is_no_compiler_is_named(fresh_cache: Path) -> None:
    code = "from nogpu.engine import compiler\ncompiler.importlib.util.find_spec = lambda n: None\n"
    done = run_python(code + ARRAYS_THEN_KERNEL, CXX="/bin/false", PATH="/nonexistent")
    for message in arrays_work_and_kernels_say(done):
        assert "CXX names /bin/false" in message and "nstall one with" in message


def test_no_address_space_for_kernels_leaves_arrays() -> None:
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))\n"
    for message in arrays_work_and_kernels_say(run_python(limit + ARRAYS_THEN_KERNEL)):
        assert "ulimit -v" in message


