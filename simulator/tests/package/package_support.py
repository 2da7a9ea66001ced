"""What the tests of the package share: a Python of their own for each program."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import nogpu

PACKAGE = Path(nogpu.__file__).parent
SIMULATOR = Path(__file__).parents[2]
RACE = '''\
import cupy as cp

reverse = cp.RawKernel(r"""
extern "C" __global__ void reverse(float* x) {
    __shared__ float tile[256];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[255 - threadIdx.x];
}""", "reverse")

def launch():
    x = cp.arange(256, dtype=cp.float32)
    reverse((1,), (256,), (x,))
    return x

if __name__ == "__main__":
    print(launch()[:4])
'''
# Where `import cupy` would find it, without importing it: "nogpu", "elsewhere" or "nowhere".
WHERE = """\
import os
from importlib.util import find_spec

def where(_=None):
    spec = find_spec("cupy")
    place = spec and os.path.dirname(spec.origin)
    return "nowhere" if spec is None else "nogpu" if place.endswith("faces/cupy") else "elsewhere"
"""


def run(
    *arguments: object,
    python: str = sys.executable,
    path: Sequence[object] = (PACKAGE.parent,),
    expect: int | None = 0,
    text: str | None = None,
    cwd: Path | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a Python whose PYTHONPATH is `path`, and compare its exit status with `expect`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), **variables}
    if not path:
        del environment["PYTHONPATH"]
    done = subprocess.run(
        [python, *map(str, arguments)],
        input=text, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert expect in (None, done.returncode), done.stdout + done.stderr
    return done


def names_the_race(text: str) -> bool:
    """Whether a text names the kernel, the line and the thread of the race in RACE."""
    return "Race: kernel 'reverse', kernel.cu:4: thread (" in text


def build_wheel(source: Path, folder: Path) -> Path:
    """The wheel that pip builds from `source`; the test is skipped where setuptools is missing."""
    words = ["-m", "pip", "wheel", "--no-deps", "--quiet", "--retries", "1", "--wheel-dir"]
    done = run(*words, folder, source, expect=None)
    if "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("pip cannot get setuptools here, which builds the wheel")
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("nogpu-*.whl")
    return built
