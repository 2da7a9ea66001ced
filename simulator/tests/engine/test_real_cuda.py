"""Every kernel of these tests that is meant to be right is accepted by NVIDIA's compiler."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import test_faults
import test_process
import test_random_kernels
import test_vocabulary

NVCC = shutil.which("nvcc")
STANDARD = "#include <cassert>\n#include <cstdio>\n"


def vocabulary() -> str:
    instances = [
        f"template __global__ void {name}({name[6 : name.index(',')]}*, int);"
        for name in test_vocabulary.INSTANCES
        if name.startswith("times")
    ]
    instances.append("template __global__ void reversed<double>(double*);")
    return "\n".join([test_vocabulary.SOURCE, *instances])


SOURCES = {
    "vocabulary": vocabulary,
    "planted faults": lambda: STANDARD + test_faults.all_kernels(),
    "random kernels": lambda: test_random_kernels.all_kernels(),
    "process": lambda: STANDARD + test_process.SOURCE,
}


@pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")
@pytest.mark.parametrize("name", list(SOURCES))
def test_nvcc_accepts(tmp_path: Path, name: str) -> None:
    command = [NVCC, "-arch=sm_75", "-std=c++17", "-w", "-x", "cu", "--cubin", "-"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "kernels.cubin")],
        input=SOURCES[name]().encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
