"""What kernels print with `printf`, shown where Python prints."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator

from . import backend


@contextlib.contextmanager
def device_output() -> Iterator[None]:
    """Show what kernels print, in the notebook, when the block ends.

    A GPU's `printf` writes to the process's standard output, past the notebook, when the buffer of
    the GPU is read: at the next synchronisation. Here all work is waited for, and the text then
    printed as Python prints.

    Notes
    -----
    Lines of one thread come in its order. Between threads a GPU promises no order. On a GPU the
    text is all that the process writes to file descriptor 1 within the block.
    """
    on_gpu = not backend.is_simulated(backend.find_cupy())
    parts: list[bytes] = []
    try:
        with _descriptor_1() if on_gpu else backend.simulated_prints() as parts:
            yield
    finally:
        if text := b"".join(parts).decode(errors="replace"):
            print(text, end="" if text.endswith("\n") else "\n")


@contextlib.contextmanager
def _descriptor_1() -> Iterator[list[bytes]]:
    """Collect what the process writes to its standard output, the GPU's printf included."""
    parts: list[bytes] = []
    _wait_and_flush()
    with tempfile.TemporaryFile() as file:
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield parts
        finally:
            try:
                _wait_and_flush()
            finally:
                os.dup2(saved, 1)
                os.close(saved)
                file.seek(0)
                parts.append(file.read())


def _wait_and_flush() -> None:
    """Wait for all work, which reads the GPU's printf buffer, and empty the host's buffers."""
    try:
        backend.find_cupy().cuda.Device().synchronize()
    finally:
        sys.stdout.flush()
        ctypes.CDLL(None).fflush(None)  # of the C library, through which the driver writes
