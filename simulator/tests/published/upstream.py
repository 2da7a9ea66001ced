"""A pytest plugin for the libraries' own tests: their `cupy.testing`, a fixed sample, a table.

`measure.py tests` loads it. It reads NOGPU_UPSTREAM (the checkout whose `cupy/testing` is used),
NOGPU_EVERY and NOGPU_MOST (the sample of each file), NOGPU_OUTCOMES and NOGPU_SIZES (the tables).
"""

from __future__ import annotations

import csv
import importlib
import math
import os
import re
import signal
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

import numpy as np
import pytest

# A test that fails for want of a private name, or of a private module's name, is not counted.
PRIVATE = re.compile(
    r"has no attribute '_(?!_)|module 'cupy[\w.]*\._\w[\w.]*' has no attribute"
    r"|cannot import name '_(?!_)|No module named '[\w.]*\b_\w"
    r"|lacks [\w.]*\b_(?!_)\w|absent module: (\S*\._(?!_)|cupy\._core\.internal)"
)

# Modules that tests reach as attributes, without an import that `_Finder` would see.
ABSENT = re.compile(
    r"cupyx\.(linalg|time|optimizing|jit) exists in CuPy, but nogpu lacks"
    r"|nogpu lacks cupyx\.cusparse\."  # all but sorting
)


# Names of modules that nogpu has, which test files use while they are imported.
AT_IMPORT = (
    "cupy._core.create_reduction_func",
    "cupy._core._routines_linalg.COMPUTE_TYPE_DEFAULT",
    "cupy._core._routines_linalg.COMPUTE_TYPE_FP16",
    "cupy._core._routines_linalg.COMPUTE_TYPE_FP32",
    "cupy._core._routines_linalg.COMPUTE_TYPE_TF32",
    "cupy._core._routines_linalg.COMPUTE_TYPE_PEDANTIC",
    "cupy._core._routines_linalg.COMPUTE_TYPE_FP64",
    "cupy._core._routines_linalg.COMPUTE_TYPE_BF16",
    "cupy_backends.cuda.api.driver._is_cuda_python",
    "cupy.cuda.cub",
    "cupy.cuda.compiler._run_cc",
)

# Private names that tests only replace or call on their way to what they test.
STAND_INS = {
    "cupy.cuda.compiler._kernel_cache_backend": None,
    "cupy.cuda.compiler._get_bool_env_variable": None,
    "cupy.cuda.compiler._empty_file_preprocess_cache": {},
    "cupy._util.clear_memo": lambda: None,
    "cupy._util.PerformanceWarning": type("PerformanceWarning", (Warning,), {}),
}


class Absent:
    """Stands for a name of a module that nogpu lacks: false, and an error where it is used.

    Test files import such modules at their top, for a few of their tests.
    """

    def __init__(self, name: str) -> None:
        self._absent = name

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return self._absent.rpartition(".")[2]

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._absent}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> object:
        raise NotImplementedError(f"absent module: {self._absent}")

    def __mro_entries__(self, bases: tuple) -> tuple:
        return (type("Absent", (), {"__init__": lambda made, *arguments: self()}),)

    __iter__ = __enter__ = __getitem__ = __len__ = __call__


class _AtImport(Absent):
    """An absent name that a test file may call while it is imported."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        if self._absent.endswith("_run_cc"):  # what `nvcc --version` says
            return "Cuda compilation tools, release 13.0, V13.0.48"
        return Absent(self._absent)


class _Missing(ModuleType):
    """A module that nogpu lacks."""

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.__name__ == "cupy._core.internal" and name == "prod":  # cupy.testing uses it
            return math.prod
        if name == "_is_integer_output":  # cupyx.scipy.ndimage._util: what its tests expect by it
            return lambda output, array: np.dtype(
                output if isinstance(output, type) else (array if output is None else output).dtype
            ).kind in "iu"
        if name == "DiskKernelCacheBackend":  # only put in the place of a private name
            return _AtImport(f"{self.__name__}.{name}")
        return Absent(f"{self.__name__}.{name}")


class _Finder:
    """Finds `cupy.testing` in the checkout, and an empty module where nogpu has none."""

    def find_spec(self, name: str, path: list[str] | None = None, target: object = None) -> object:
        if name == "cupy.testing":
            return PathFinder.find_spec(name, [os.path.join(os.environ["NOGPU_UPSTREAM"], "cupy")])
        if path is None or name.split(".")[0] not in ("cupy", "cupyx", "cupy_backends"):
            return None
        if name.startswith("cupy.testing.") or PathFinder.find_spec(name, path):
            return None
        spec = ModuleSpec(name, self, is_package=True)
        spec.submodule_search_locations = []
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Missing(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to do: the module is empty."""


def sorted_out(reason: str) -> str:
    """Say what a failure is about: private names, absent modules, a package, or nogpu."""
    if PRIVATE.search(reason):
        return "private"
    if "time is up: more than" in reason:
        return "hangs"
    if "absent module: " in reason or ABSENT.search(reason):
        return "absent"
    return (
        "skipped" if re.search(r"No module named 'scipy|name 'scipy' is not", reason) else "failed"
    )


class _Outcomes:
    """Writes one line for each test: its outcome and the last line of its error."""

    def __init__(self, path: str) -> None:
        self.file = open(path, "a", newline="")  # noqa: SIM115 - open until the process ends
        self.table = csv.writer(self.file, lineterminator="\n")

    def add(self, test: str, outcome: str, reason: str) -> None:
        reason = " ".join(reason.split())
        if outcome == "failed":
            outcome = sorted_out(reason)
        self.table.writerow([test, outcome, reason[:300]])
        self.file.flush()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            if report.when == "teardown":
                return
            reason = ""
            if report.failed:
                crash = getattr(report.longrepr, "reprcrash", None)
                reason = crash.message if crash else str(report.longrepr)[-300:]
            elif report.skipped:
                reason = str(report.longrepr)
            outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
            self.add(report.nodeid, outcome, reason)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
            self.add(report.nodeid, "failed", (lines or [str(report.longrepr)[-200:]])[-1])


def _context() -> Iterator[None]:
    """Make a context for a test and leave it: pycuda.tools.init_cuda_context_fixture."""
    context = importlib.import_module("pycuda.tools").make_default_context()
    yield
    context.pop()


def pytest_configure(config: pytest.Config) -> None:
    """Put the checkout's `cupy.testing` before nogpu's."""
    if os.environ.get("NOGPU_UPSTREAM"):
        sys.meta_path.insert(0, _Finder())
        for name in (*AT_IMPORT, *STAND_INS):
            module, _, attribute = name.rpartition(".")
            place = importlib.import_module(module)
            if attribute not in vars(place):
                setattr(place, attribute, STAND_INS.get(name, _AtImport(name)))
    else:
        tools = importlib.import_module("pycuda.tools")
        tools.init_cuda_context_fixture = getattr(tools, "init_cuda_context_fixture", _context)
    if path := os.environ.get("NOGPU_OUTCOMES"):
        config.pluginmanager.register(_Outcomes(path), "nogpu-outcomes")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """End a test that takes longer than a minute."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError("time is up: more than 60 seconds")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep every n-th test of each file, or at most so many, in the order of their ids."""
    every, most = (
        int(os.environ.get("NOGPU_EVERY", "1")),
        int(os.environ.get("NOGPU_MOST", "1000000")),
    )
    files: dict[str, list[pytest.Item]] = {}
    for item in sorted(items, key=lambda item: item.nodeid):
        files.setdefault(item.nodeid.split("::")[0], []).append(item)
    chosen = []
    for tests in files.values():
        step = max(every, -(-len(tests) // most))
        chosen += tests[step // 2 :: step] if len(tests) > step // 2 else tests[:1]
    if path := os.environ.get("NOGPU_SIZES"):
        with open(path, "a") as file:
            file.writelines(f"{name},{len(tests)}\n" for name, tests in files.items())
    if len(chosen) < len(items):
        kept = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen
