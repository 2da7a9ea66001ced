"""Measure every case with Nsight Compute on this machine's GPU and write `recorded.json`.

Run from the root of the repository, with CuPy importable and `ncu` on the PATH:

    python tests/engine/nsight/record.py [FILE]

FILE is `tests/engine/nsight/recorded.json` unless given; `$OUT/recorded.json` where OUT is set.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from cases import cases  # noqa: E402

NEEDED = [
    *(f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"
      for what in ("requests", "sectors") for op in ("ld", "st", "atom", "red")),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
]  # fmt: skip
# Beside them the counters that Nsight Compute gets by instrumenting the code: they see no waiting
# for one another, and so are the same in every run.
WELCOME = re.compile(
    r"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom"
    r"|smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_(ld|st|atom)"
    r"|smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_(ld|st|atom|red)"
    r"|smsp__sass_inst_executed_op_shared_(ld|st|atom)"
    r"|smsp__inst_executed_op_shared_(ld|st|atom)_pred_on_any"
    r"|smsp__sass_data_bytes_mem_(shared|global)_op_(ld|st)"
)


def known_metrics() -> list[str]:
    """The metrics to ask for: those of WELCOME that this ncu lists, with those of NEEDED."""
    done = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=False)
    words = {line.split(" ", 1)[0] for line in done.stdout.splitlines()}
    names = {f"{word}.sum" for word in words if WELCOME.fullmatch(word)} | set(NEEDED)
    return sorted(names)


def measure(metrics: list[str], extra: list[str]) -> list[dict[str, str]]:
    """One row a launch, in order: column to text."""
    names = "|".join(sorted({case.kernel for case in cases()}))
    command = [
        "ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
        "--kernel-name-base", "function", "--kernel-name", f"regex:^({names})$",
        "--metrics", ",".join(metrics), *extra, sys.executable, str(HERE / "run.py"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if done.returncode != 0 or start is None:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
        raise SystemExit(f"ncu ended with {done.returncode}")
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[start:]))))
    return [row for row in rows if row["ID"]]  # the line of units has none


def number(text: str) -> float | int | None:
    """A value as ncu prints it, with or without separators; None for n/a."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return int(value) if value == int(value) else value


def main() -> None:
    """Measure and write."""
    wanted = cases()
    metrics = known_metrics()
    print(f"{len(wanted)} launches, {len(metrics)} metrics", flush=True)
    try:
        rows = measure(metrics, [])
    except SystemExit as problem:
        print(problem, "- once more with the needed metrics alone", file=sys.stderr)
        metrics = NEEDED
        rows = measure(metrics, [])
    if len(rows) != len(wanted):
        raise SystemExit(f"{len(wanted)} launches, but {len(rows)} were measured")
    launches = []
    for case, row in zip(wanted, rows):
        if row["Kernel Name"] != case.kernel:
            raise SystemExit(f"{case.name}: measured {row['Kernel Name']} instead")
        found = {metric: number(row[metric]) for metric in metrics if metric in row}
        found = {metric: value for metric, value in found.items() if value}
        launches.append({"case": case.name, "metrics": found})
    try:  # instructions by name, for the barriers: newer versions only
        # The patterns, whose names hold a colon, come last: they are left out here.
        opcodes = measure(["sass__inst_executed_per_opcode"],
                          ["--print-metric-instances", "details",
                           "--launch-count", str(sum(":" not in c.name for c in wanted))])
        for launch, row in zip(launches, opcodes):
            text = row.get("sass__inst_executed_per_opcode", "")
            barrier = re.search(r"\bBAR: ([\d,]+)", text)
            launch["barrier_instructions"] = number(barrier.group(1)) if barrier else 0
    except SystemExit as problem:
        print(f"without opcodes: {problem}", file=sys.stderr)

    import cupy as cp

    version = subprocess.run(["ncu", "--version"], capture_output=True, text=True, check=False)
    properties = cp.cuda.runtime.getDeviceProperties(0)
    document = {
        "device": properties["name"].decode(),
        "date": datetime.date.today().isoformat(),
        "ncu": next((line.strip() for line in version.stdout.splitlines() if "Version" in line),
                    ""),
        "cupy": cp.__version__,
    }  # fmt: skip
    rows = ",\n".join("  " + json.dumps(launch) for launch in launches)
    text = json.dumps(document, indent=1)[:-2] + f',\n "launches": [\n{rows}\n ]\n}}\n'
    out = os.environ.get("OUT")
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(out or HERE) / "recorded.json"
    target.write_text(text)
    print(f"{target}: {len(launches)} launches, {document['ncu']}")


if __name__ == "__main__":
    main()
