"""What `make lab` and `make test` run first, with whichever Python the machine has.

This file has to be read by every Python, 2.7 included, so that an old one can say what is
wrong with it. Hence no f-strings, no annotations and nothing newer than `%` in here; the
work is in `commands.py`, which only a Python that is new enough ever reads.
"""

import os
import sys

NEEDED = (3, 10)


def main():
    """Refuse a Python or a system that cannot run the course, else hand over to commands.py."""
    if sys.version_info[:2] < NEEDED:
        sys.stderr.write(
            "This course needs Python %d.%d or newer, and %s is %d.%d: "  # noqa: UP031, see top
            "install a newer one, then name it, as in `make lab PYTHON=python3.12`.\n"
            % (NEEDED + (sys.executable,) + tuple(sys.version_info[:2]))
        )
        return 1
    if os.name != "posix":
        sys.stderr.write(
            "The two commands are for Linux, macOS and WSL: on Windows open WSL's terminal "
            "(`wsl --install` once) and run them there.\n"
        )
        return 1
    here = os.path.dirname(os.path.abspath(__file__))
    import runpy

    commands = runpy.run_path(os.path.join(here, "commands.py"))
    return commands["main"](sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
