"""The magic command gpu_timeit."""

from __future__ import annotations

import argparse
import math
import shlex

from ._time import benchmark


def magic(line: str, cell: str | None = None) -> None:
    """Time a statement, or a cell; ``-n`` repeats, ``-w`` warm-ups, ``-m`` seconds at most."""
    from IPython import get_ipython

    parser = argparse.ArgumentParser(prog="%gpu_timeit", add_help=False)
    parser.add_argument("-n", "--n-repeat", type=int, default=10000)
    parser.add_argument("-w", "--n-warmup", type=int, default=10)
    parser.add_argument("-m", "--max-duration", type=float, default=math.inf)
    options, rest = parser.parse_known_args(shlex.split(line, posix=False))
    code = compile(" ".join(rest) if cell is None else cell, "<gpu_timeit>", "exec")
    names = get_ipython().user_ns
    print(benchmark(
        lambda: exec(code, names), n_repeat=options.n_repeat, name="run",
        n_warmup=options.n_warmup, max_duration=options.max_duration,
    ))  # fmt: skip
