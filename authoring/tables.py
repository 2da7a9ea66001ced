"""The README's two tables, made from recorded data: faults and speeds.

`write` is what `make tables` calls; each table stands between two comments in the README.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from helpers import clinic
from helpers.data import load_profile
from nogpu import engine

RUNS = Path(__file__).parents[1] / "helpers" / "data" / "recorded" / "nvidia-h200.json"
# The planted faults, whose kinds are the clinic's; the table calls them as the simulator does.
FAULTS = (engine.GlobalOutOfBounds, engine.Race, engine.BarrierFault, engine.UninitialisedRead,
          engine.MisalignedAccess)
# Of a recorded run: lesson, its key, what is compared with what (names of rows), and in words.
SPEEDS = (
    ("06", "kernels/leaky", "RawKernel, float4", "copy", "leaky ReLU, a kernel of your own"),
    ("06", "kernels/bias_gelu", "one kernel, float4", "copy", "bias and GELU in one kernel"),
    ("08", "memory/sum", "shuffles", "cp.sum", "sum of 2^28 numbers"),
    ("08", "memory/transpose", "tile[64][65], float4", "copy", "transpose of 16384 x 8192"),
    ("11", "fast/softmax", "in registers", "copy", "softmax of 8192 rows of 4096"),
    ("11", "fast/matmul", "register tile", "cuBLAS", "product of 4096 x 4096, without TF32"),
    ("12", "generated/horner", "generated, 4 a thread", "copy",
     "generated polynomial of degree 16"),
    ("12", "generated/stencil", "generated, long", "copy", "generated stencil of radius 4"),
    ("14", "streams/graph_queued", "graph", "loop", "queueing 100 kernels, as a graph"),
)


def faults() -> str:
    """How many of the clinic's broken kernels the GPU, compute-sanitizer and the simulator name."""
    content = json.loads((clinic.RECORDED / "nvidia-h200.json").read_text(encoding="utf-8"))
    counts = {fault.kind: [0, 0, 0] for fault in FAULTS}
    for patient in clinic.PATIENTS.values():
        said = content["patients"][patient.name]
        tools = any(said[tool]["said"] for tool in clinic.TOOLS)
        for k, found in enumerate((True, "error" in said["plain"], tools)):
            counts[patient.kind][k] += found
    lines = ["| fault planted | kernels | the GPU reports | compute-sanitizer reports "
             "| the simulator reports |", "|---|---|---|---|---|"]
    totals = [sum(column) for column in zip(*counts.values())]
    rows = [(fault.called, counts[fault.kind]) for fault in FAULTS]
    for words, (kernels, gpu, tools) in [*rows, ("**all**", totals)]:
        lines.append(f"| {words} | {kernels} | {gpu} | {tools} | {kernels} |")
    version = content["compute-sanitizer"].split()[1]
    lines += ["", f"Recorded on an {content['gpu']}, {content['date']}, with compute-sanitizer "
              f"{version} and its four tools in turn. The kernels are those of lesson 08's clinic; "
              "a test demands the simulator's reports, with kind, line and thread."]
    return "\n".join(lines)


def _times(ratio: float) -> str:
    if ratio >= 10:
        return f"{ratio:.0f} times faster"
    return f"{ratio:.1f} times faster" if ratio >= 1.3 else f"{ratio:.0%} of its speed"


def speeds() -> str:
    """What the lessons' kernels reached on the recorded GPU, against the copy or a library."""
    content = json.loads(RUNS.read_text(encoding="utf-8"))
    lines = ["| lesson | what | set against | reached |", "|---|---|---|---|"]
    for lesson, key, ours, other, words in SPEEDS:
        medians = {row["name"]: row["median"] for row in content["runs"][key]["rows"]}
        against = f"the {other}" if other in ("copy", "loop") else other
        reached = _times(medians[other] / medians[ours])
        lines.append(f"| {lesson} | {words} | {against} | {reached} |")
    rows = {(row["name"], row["dtype"]): row for row in load_profile("attention")["rows"]}
    torch, ours = "PyTorch scaled-dot-product", {"float32": "tuned", "float16": "tuned"}
    shape = "4 x 16 heads, 4096 x 64"
    lesson = rows["this lesson's kernel", "float32"]["ms"]
    lines.append(f"| 16 | attention, {shape}, the lesson's kernel | CuPy's `matmul` | "
                 f"{_times(rows['matmul', 'float32']['ms'] / lesson)} |")
    for dtype, name in ours.items():
        ratio = rows[torch, dtype]["ms"] / rows[name, dtype]["ms"]
        lines.append(f"| 16 | the same, tuned, {dtype} | PyTorch's scaled-dot-product | "
                     f"{_times(ratio)} |")
    lines += ["", f"Recorded on an {content['gpu']}, {content['date']}, {content['cupy']}, medians "
              "of one run each. \"The copy\" moves as many bytes as the kernel must; a sum only "
              "reads. On your card the ratios differ: the lessons show yours beside these."]
    return "\n".join(lines)


def write(readme: Path, check: bool = False) -> bool:
    """Write both tables into the README; return whether that changes it.

    Parameters
    ----------
    readme : Path
    check : bool
        Only compare.

    Raises
    ------
    ValueError
        When the README lacks the comments that a table stands between.
    """
    text = old = readme.read_text(encoding="utf-8")
    for name, table in (("faults", faults()), ("speeds", speeds())):
        text, found = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)",
                              lambda match, table=table: f"{match[1]}{table}\n{match[2]}", text,
                              flags=re.S)
        if found != 1:
            raise ValueError(f"{readme.name} lacks <!-- {name} --> ... <!-- end of {name} -->")
    if text != old and not check:
        readme.write_text(text, encoding="utf-8")
    return text != old
