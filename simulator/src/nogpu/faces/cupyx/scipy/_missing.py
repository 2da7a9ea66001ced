"""What is not here says so."""

from __future__ import annotations


def missing(module: str):
    """Return a module's ``__getattr__``."""

    def __getattr__(name):
        raise AttributeError(f"the simulator's {module} has no {name!r}")

    return __getattr__
