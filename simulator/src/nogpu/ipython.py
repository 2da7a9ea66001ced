"""`%load_ext nogpu`: nogpu's cupy and pycuda in a notebook or an IPython session."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from . import finder, tracebacks

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Install nogpu, and show a kernel's fault without nogpu's own frames."""
    from .engine import KernelFault

    finder.install()
    shell.set_custom_exc((KernelFault,), _show)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Undo it."""
    finder.uninstall()
    shell.set_custom_exc((), None)


def _show(
    shell: InteractiveShell,
    kind: type[BaseException],
    fault: BaseException,
    traceback: TracebackType,
    tb_offset: int | None = None,
) -> list[str]:
    lines = shell.InteractiveTB.structured_traceback(
        kind, fault, tracebacks.outside(traceback), tb_offset=tb_offset
    )
    shell._showtraceback(kind, fault, lines)
    return lines
