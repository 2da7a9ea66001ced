"""What kernels print with `printf`, shown where Python prints."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator

from . import backend


class DeviceText:
    """What the kernels of a `device_output` block printed: `text`, complete once it has ended."""

    def __init__(self) -> None:
        self.text = ""

    @property
    def lines(self) -> list[str]:
        """The text, line by line."""
        return self.text.splitlines()


@contextlib.contextmanager
def device_output(show: bool = True) -> Iterator[DeviceText]:
    """Show what kernels print, in the notebook, when the block ends.

    A GPU's `printf` writes to the process's standard output, past the notebook, and at a moment
    of its own. Here all work is waited for, and the text then printed as Python prints.

    Parameters
    ----------
    show : bool
        Whether to print the text; it is in the object's `text` in either case.

    Yields
    ------
    DeviceText

    Notes
    -----
    Lines of one thread come in its order. Between threads a GPU promises no order.
    """
    found = DeviceText()
    started = backend._started
    capture = _from_gpu if started is not None and started.name == "cuda" else _from_simulator
    try:
        with capture(found):
            yield found
    finally:
        if show and found.text:
            print(found.text, end="" if found.text.endswith("\n") else "\n")


@contextlib.contextmanager
def _from_simulator(found: DeviceText) -> Iterator[None]:
    parts: list[bytes] = []
    try:
        with backend.simulated_prints() as parts:
            yield
    finally:
        found.text = b"".join(parts).decode(errors="replace")


def _wait_for_gpu() -> None:
    """Wait for the current context's work: its printf buffer is then written out."""
    with contextlib.suppress(OSError):
        cuda = ctypes.CDLL("libcuda.so.1")
        cuda.cuCtxSynchronize()
    cupy = sys.modules.get("cupy")
    if cupy is not None:  # its context may be another than the current one
        cupy.cuda.Device().synchronize()


def _flush() -> None:
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)  # of the C library, through which the driver writes


@contextlib.contextmanager
def _from_gpu(found: DeviceText) -> Iterator[None]:
    _wait_for_gpu()
    _flush()
    with tempfile.TemporaryFile() as file:
        saved = os.dup(1)
        try:
            os.dup2(file.fileno(), 1)
            try:
                yield
            finally:
                try:
                    _wait_for_gpu()
                finally:
                    _flush()
        finally:
            os.dup2(saved, 1)
            os.close(saved)
        file.seek(0)
        found.text = file.read().decode(errors="replace")
