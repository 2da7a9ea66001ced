"""What `make lab` and `make test` run first, with whichever Python the machine has.

Every Python must be able to read this file, 2.7 included, so that an old one can say what is
missing. So there are no f-strings and no annotations here, and nothing newer than `%`. The work is
done in `commands.py`, which only a Python that is new enough reads.
"""

import os
import sys

NEEDED = (3, 10)


def main():
    """Say what is missing where the course cannot run; otherwise run commands.py."""
    if sys.version_info[:2] < NEEDED:
        sys.stderr.write(
            "This course needs Python %d.%d or newer, and %s is %d.%d: "  # noqa: UP031, see top
            "install a newer one, then name it, as in `make lab PYTHON=python3.12`.\n"
            % (NEEDED + (sys.executable,) + tuple(sys.version_info[:2]))
        )
        return 1
    if os.name != "posix":
        sys.stderr.write(
            "These commands run on Linux, macOS and WSL. On Windows install WSL once "
            "(`wsl --install`), open its terminal and run them there.\n"
        )
        return 1
    sys.dont_write_bytecode = True  # a full disk may leave half a .pyc, and nothing starts then
    here = os.path.dirname(os.path.abspath(__file__))
    import runpy

    return runpy.run_path(os.path.join(here, "commands.py"))["main"](sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
