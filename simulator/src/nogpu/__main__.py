"""`python -m nogpu` stands for `python`, with nogpu's cupy and pycuda in the program and its
child processes:

    python -m nogpu script.py arguments
    python -m nogpu -m module arguments
    python -m nogpu -c code arguments

What follows is Python's own command line. `python -m nogpu -i` is an interactive session.
"""

from __future__ import annotations

import os
import sys

import nogpu


def own_options() -> list[str]:
    """Options of the running Python, as it was started with: ``["-X", "dev"]``."""
    words = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv[1:])]
    if words[-1:] == ["nogpu"]:  # -m nogpu, or -um nogpu
        words.pop()
    elif words and words[-1].endswith("mnogpu"):  # -mnogpu, or -umnogpu
        words[-1] = words[-1].removesuffix("nogpu")
    if not words or not words[-1].endswith("m"):
        sys.exit("nogpu: start it as `python -m nogpu`, from a command line")
    words[-1] = words[-1].removesuffix("m")
    return words if words[-1] != "-" else words[:-1]


def ignores_path(words: list[str]) -> bool:
    """Whether Python's options before the program let it pass over PYTHONPATH or `site`."""
    waiting = iter(words)
    for word in waiting:
        if word == "-" or not word.startswith("-"):
            return False
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(waiting, None)
            continue
        for place, letter in enumerate(word[1:], 2):
            if letter in "IES":
                return True
            if letter in "cm":
                return False
            if letter in "WX":
                if place == len(word):  # its value is the next word
                    next(waiting, None)
                break
    return False


def main() -> None:
    """Become Python again, with the same options, which imports nogpu at its start."""
    wanted = sys.argv[1:]
    if not wanted or wanted[0] in ("-h", "--help"):
        print(__doc__, file=sys.stdout if wanted else sys.stderr, end="")
        sys.exit(0 if wanted else 2)
    options = own_options()
    if ignores_path([*options, *wanted]):
        sys.exit("nogpu: with -I, -E or -S Python passes over PYTHONPATH, by which nogpu is found")
    nogpu.install()
    os.execv(sys.executable, [sys.executable, *options, *wanted])


if __name__ == "__main__":
    main()
