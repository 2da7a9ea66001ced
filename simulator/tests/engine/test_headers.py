"""g++ reads nogpu's headers precompiled, and makes of a kernel what it makes of it without."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from engine_support import GCC

from nogpu import engine
from nogpu.engine import cache, compiler, headers, native

KERNEL = "__global__ void f(float* x) { x[threadIdx.x] = sqrtf(%d.0f) + warpSize; }"
# Faults that g++ finds in a kernel, and in nogpu's headers on a kernel's behalf.
WRONG = [
    "x[0] = y;",
    "atomicAdd(&x, 1);",
    "int unused; x[0] = unused; y;",
    'struct S {}; printf("%d", S());',
]

pytestmark = pytest.mark.skipif(
    getattr(compiler.probe(GCC), "family", None) != "gcc" or not hasattr(os, "memfd_create"),
    reason="no g++ here, or no memory with a descriptor",
)


@pytest.fixture
def includes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What each compilation includes first, in an empty cache and a process that is new to it."""
    native.runtime()  # from the usual cache: it takes seconds to build
    monkeypatch.setenv("NOGPU_CACHE_DIR", str(tmp_path / "cache"))
    begin_anew(monkeypatch)
    seen = []
    run = compiler.Compiler.run

    def watched(self, arguments, source=None):
        # The precompilation itself names its output's language.
        given = "c++-header" if "c++-header" in arguments else next(
            Path(after).name for word, after in zip(arguments, arguments[1:]) if word == "-include")
        seen.append(given)
        return run(self, arguments, source)

    monkeypatch.setattr(compiler.Compiler, "run", watched)
    engine.use_compiler(GCC)
    yield seen
    engine.use_compiler(None)


def begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headers, "_compilations", Counter())
    monkeypatch.setattr(headers, "_descriptors", {})


def library(module: engine.Module, tmp_path: Path) -> bytes:
    """What the compiler made last of a module's source."""
    newest = max((tmp_path / "cache").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    description, data = cache.load(newest.stem)
    assert description["entries"] == module.kernel_names
    return data


def test_third_compilation_of_a_process_leaves_them_precompiled(includes, tmp_path, monkeypatch):
    made = [library(engine.compile(KERNEL % k), tmp_path) for k in range(4)]
    assert includes == [headers.PRELUDE, headers.PRELUDE, "c++-header", headers.NAME, headers.NAME]
    assert len(set(made)) == 4

    del includes[:]
    begin_anew(monkeypatch)  # as in another process
    for k in range(4, 6):
        engine.compile(KERNEL % k)
    assert includes == [headers.PRELUDE, headers.NAME]


@pytest.mark.parametrize("checked", [True, False])
def test_library_is_the_same_with_and_without(includes, tmp_path, monkeypatch, checked):
    with engine.checks(checked):
        for k in range(3):
            engine.compile(KERNEL % k)
        made = library(engine.compile(KERNEL % 3), tmp_path)
        assert includes[-1] == headers.NAME
        begin_anew(monkeypatch)
        monkeypatch.setenv("NOGPU_CACHE_DIR", str(tmp_path / "other"))
        engine.compile(KERNEL % 3)
    assert includes[-1] == headers.PRELUDE
    (other,) = (tmp_path / "other").iterdir()
    assert cache.load(other.stem)[1] == made


@pytest.mark.parametrize("body", WRONG)
def test_errors_are_the_same_with_and_without(includes, monkeypatch, body):
    source = f"__global__ void f(float* x) {{\n    {body}\n}}"
    with pytest.raises(engine.CompileError) as without:
        engine.compile(source)
    for k in range(3):
        engine.compile(KERNEL % k)
    del includes[:]
    with pytest.raises(engine.CompileError) as precompiled:
        engine.compile(source)
    assert headers.NAME in includes
    assert str(precompiled.value) == str(without.value)
    assert headers.NAME not in str(precompiled.value)


def test_damaged_ones_are_not_used(includes, tmp_path):
    for k in range(3):
        engine.compile(KERNEL % k)
    (descriptor,) = headers._descriptors.values()
    os.pwrite(descriptor, bytes(64), 0)
    for from_cache in (False, True):  # g++ has read the file in the compilation's folder
        assert engine.compile(KERNEL % 3).from_cache is from_cache
    os.ftruncate(descriptor, 0)
    assert engine.compile(KERNEL % 4).from_cache is False


def test_where_they_cannot_be_made_kernels_are_compiled(includes, monkeypatch):
    monkeypatch.setattr(os, "memfd_create", lambda *_: (_ for _ in ()).throw(OSError("none left")))
    for k in range(5):
        engine.compile(KERNEL % k)
    assert headers.NAME not in includes


def test_a_child_of_a_fork_uses_its_parents(includes):
    for k in range(3):
        engine.compile(KERNEL % k)
    del includes[:]
    child = os.fork()
    if not child:
        engine.compile(KERNEL % 3)
        os._exit(includes != [headers.NAME])
    assert os.waitpid(child, 0)[1] == 0


def test_other_headers_first_or_those_of_the_system(includes, tmp_path):
    (tmp_path / "first.h").write_text("#define FIRST 1\n")
    for k in range(5):
        engine.compile(KERNEL % k, ("-include", str(tmp_path / "first.h")))
        engine.compile("#include <stdlib.h>\n" + KERNEL % k, dialect="nvcc")
    assert headers.NAME not in includes and "c++-header" not in includes


def test_changed_headers_of_the_users_are_seen(includes, tmp_path):
    """The compiler's list of included files is kept where nogpu's own are precompiled."""
    (tmp_path / "own.h").write_text("#define OWN 0\n")
    for k in range(3):
        engine.compile('#include "own.h"\n' + KERNEL % k, [f"-I{tmp_path}"])
    source = '#include "own.h"\n__global__ void f(float* x) { x[0] = OWN; }'
    for value in (1, 2):
        (tmp_path / "own.h").write_text(f"#define OWN {value}\n")
        for from_cache in (False, True):
            assert engine.compile(source, [f"-I{tmp_path}"]).from_cache is from_cache
    assert includes[-2:] == [headers.NAME] * 2
