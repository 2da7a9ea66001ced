"""Says what to do when a cell fails because the notebook's first cell was not run in this kernel.

`make lab` copies this file into `.venv/etc/ipython/startup`, and IPython runs it in each kernel
that it starts there. The usual reason is a restart in the middle of a lesson: where there is no
GPU, only `helpers.start()` makes CuPy and PyCUDA importable.
"""


def _tell_of_first_cell(shell, kind, error, trace, tb_offset=None):
    """Show the error as always, and below it the way out, unless `helpers.start()` was called."""
    import sys

    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    backend = sys.modules.get("helpers.backend")
    if getattr(backend, "_started", None) is None:
        print("Was the kernel restarted? In a notebook of the course run its first cell, then the"
              " cells above this one\n(menu Run, Run All Above Selected Cell), and this one again.")


get_ipython().set_custom_exc((ModuleNotFoundError, NameError), _tell_of_first_cell)  # noqa: F821
