"""What the programs of this folder share: a lesson's own code, Nsight Compute, the file written."""

from __future__ import annotations

import ast
import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import helpers
from helpers import backend

from ..notebook_form import ROOT, read

FOLDER = ROOT / "helpers" / "data" / "recorded" / "profiles"
# What the lessons call a metric, and what Nsight Compute calls it.
METRICS = {
    "ns": "gpu__time_duration.sum",
    "registers": "launch__registers_per_thread",
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l2_read_sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "l2_write_sectors": "lts__t_sectors_srcunit_tex_op_write.sum",
    "dram_read": "dram__bytes_read.sum",
    "dram_written": "dram__bytes_write.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "path_wavefronts": "l1tex__data_pipe_lsu_wavefronts.sum",
    "instructions": "smsp__inst_executed.sum",
    "issue_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "dram_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_percent": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "fma_percent": "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "warps_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
}


def lesson_code(subject: str, *cells: str) -> SimpleNamespace:
    """What some cells of a lesson import, define and assign, so that the lesson's code is measured.

    Their other statements, which print, draw and launch, are left out.
    """
    (path,) = (ROOT / "notebooks").glob(f"[0-9]*_{subject}.ipynb")
    names: dict[str, Any] = {}
    for cell in read(path).cells:
        if cell.id in cells:
            tree = ast.parse(cell.source)
            tree.body = [node for node in tree.body if isinstance(
                node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign))]
            exec(compile(tree, f"{path.name}, {cell.id}", "exec"), names)
    return SimpleNamespace(**names)


def launch_in_range(name: str, function: Callable, *args: object) -> None:
    """Call a function twice, the second time in an NVTX range for `launches_in_ranges`."""
    import cupy as cp
    from cupyx.profiler import time_range

    function(*args)
    cp.cuda.Device().synchronize()
    with time_range(name):
        function(*args)
        cp.cuda.Device().synchronize()


def launches_in_ranges(module: str, ranges: list[str], *more: str) -> list[dict[str, str]]:
    """What Nsight Compute measures of each kernel launched inside some NVTX ranges.

    Parameters
    ----------
    module : str
        The program is `python -m MODULE --run`.
    ranges : list of str
        The names of the NVTX ranges.
    *more : str
        What to measure besides METRICS, by Nsight Compute's own names.

    Returns
    -------
    list of dict
        A row for each launch, in the order of the launches.

    Raises
    ------
    SystemExit
        When `ncu` fails, with what it printed.
    """
    command = ["ncu", "--nvtx", "--clock-control", "none", "--csv", "--page", "raw",
               "--print-units", "base", "--metrics", ",".join([*METRICS.values(), *more])]
    for name in ranges:
        command += ["--nvtx-include", f"{name}/".replace(",", "\\,")]
    command += [sys.executable, "-m", module, "--run"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    rows = table_in(done.stdout, '"ID"')
    if done.returncode or not rows:
        raise SystemExit(f"ncu ended with {done.returncode}\n{done.stdout[-3000:]}"
                         f"\n{done.stderr[-3000:]}")
    return [row for row in rows if row["ID"]]  # the row below the headings contains the units


def table_in(printed: str, heading: str) -> list[dict[str, str]]:
    """The rows of the table that a profiler printed as CSV, with `heading` in its first line."""
    lines = printed.splitlines()
    start = next((k for k, line in enumerate(lines) if heading in line), len(lines))
    return [row for row in csv.DictReader(lines[start:]) if any(row.values())]


def number(text: str) -> float:
    """A number as Nsight Compute prints it, "1,234.5", with at most two decimals kept."""
    value = float(text.replace(",", ""))
    return int(value) if value == int(value) else round(value, 2)


def counts(row: dict[str, str], metrics: dict[str, str] = METRICS) -> dict[str, float]:
    """A row's numbers by the metrics' names; left out is what this GPU or `ncu` does not have."""
    found = {}
    for name, metric in metrics.items():
        with suppress(ValueError):
            found[name] = number(row.get(metric, ""))
    return found


def kernel_name(row: dict[str, str]) -> str:
    """The name of a row's kernel, without its parameters."""
    return row["Kernel Name"].split("(")[0][:60]


def run_program(subject: str, measured: Callable[[], dict], arguments: list[str],
                **programs: Callable[[], None]) -> None:
    """Write what `measured` returns, or with an argument `--NAME` run the program of that name."""
    os.environ.setdefault("COURSE_BACKEND", "cuda")
    helpers.start()
    for name, program in programs.items():
        if f"--{name}" in arguments:
            return program()
    write_profile(heading() | measured(), subject, arguments)


def heading() -> dict[str, str]:
    """What each file says first: the GPU, and the day."""
    return {"gpu": backend.find_gpu().name, "date": date.today().isoformat()}


def write_profile(content: dict, subject: str, arguments: list[str]) -> None:
    """Write a profile to the file named in `arguments`, or to the one that the lesson reads."""
    path = Path(arguments[0]) if arguments else FOLDER / f"{subject}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=1))
