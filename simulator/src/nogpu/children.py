"""Python processes that a program starts find nogpu's libraries too.

Python imports the module `sitecustomize` at its start. The folder `startup` has one that installs
nogpu, and PYTHONPATH, which child processes inherit, names that folder. A child that gets another
environment, or ignores it (`python -I`, `-E`, `-S`), is not served.
"""

from __future__ import annotations

import os

STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")


def serve() -> None:
    """Put the folder at the head of PYTHONPATH; nothing changes where it is there already."""
    folders = _folders()
    # A path with a colon cannot stand in PYTHONPATH.
    if STARTUP not in folders and os.pathsep not in STARTUP:
        os.environ["PYTHONPATH"] = os.pathsep.join([STARTUP, *folders])


def leave() -> None:
    """Take the folder out of PYTHONPATH again, and leave the rest of it as it is."""
    folders = _folders()
    if STARTUP in folders:
        rest = [folder for folder in folders if folder != STARTUP]
        if rest:
            os.environ["PYTHONPATH"] = os.pathsep.join(rest)
        else:
            del os.environ["PYTHONPATH"]


def _folders() -> list[str]:
    value = os.environ.get("PYTHONPATH", "")
    return value.split(os.pathsep) if value else []
