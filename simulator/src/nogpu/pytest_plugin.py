"""`pytest --nogpu`: the tests' cupy and pycuda are nogpu's, in pytest-xdist's workers, too."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

import nogpu

from . import finder, tracebacks


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("nogpu").addoption(
        "--nogpu",
        action="store_true",
        help="let cupy and pycuda be nogpu's: kernels run on this machine's processor, checked",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install before the first conftest.py is imported, for it may import cupy."""
    if not early_config.known_args_namespace.nogpu:
        return
    was_installed = finder.is_installed()
    try:
        nogpu.install()
    except RuntimeError as error:
        raise pytest.UsageError(f"--nogpu: {error}") from None
    if not was_installed:
        early_config.add_cleanup(nogpu.uninstall)
    early_config.pluginmanager.register(_Run(), "nogpu-run")


class _Run:
    """What a run with `--nogpu` adds: a line in the header, and faults with the right test."""

    def pytest_report_header(self) -> str:
        from nogpu import engine

        try:
            compiler = f"compiled by {engine.find_compiler().identity}"
        except engine.CompilerNotFound as error:
            compiler = f"not compiled: {error}"
        return f"nogpu {nogpu.__version__}: cupy and pycuda are nogpu's; kernels are {compiler}"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Wait for the kernels that the test leaves behind: their faults are its own."""
        outcome = yield
        faults = [f"{type(fault).__name__}: {fault}" for fault in _waiting_faults()]
        if faults and outcome.excinfo is None:
            text = "\n".join(["The test did not wait for its kernels:", *faults])
            outcome.force_exception(pytest.fail.Exception(text, pytrace=False))
        elif faults:
            item.add_report_section("call", "nogpu", "\n".join(faults))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo) -> None:
        """Leave nogpu's own frames out of a fault's traceback: the fault is not theirs."""
        if call.excinfo is not None and isinstance(call.excinfo.value, nogpu.KernelFault):
            fault = call.excinfo.value
            fault.__traceback__ = tracebacks.outside(call.excinfo.tb)
            call.excinfo = pytest.ExceptionInfo.from_exception(fault)


def _waiting_faults() -> list[nogpu.KernelFault]:
    """Faults of kernels that nothing has waited for so far."""
    streams = sys.modules.get("nogpu.engine.streams")  # not loaded: no kernel has run
    faults: list[nogpu.KernelFault] = []
    while streams is not None:
        try:
            streams.synchronize()
        except nogpu.KernelFault as fault:
            faults.append(fault)
            continue
        except streams.StreamError:  # the test left a capture open: nothing can wait
            pass
        break
    return faults
