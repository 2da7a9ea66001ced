"""The reader in one kernel beside its peers, as one run has measured all of them."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt

from ..formats import aligned
from .style import COLOURS, INK, show, style

OURS = "one kernel, float32", "one kernel, float16"
FLOAT32 = (OURS[0], "CuPy, 100,000 at a time", "compiled with its weights", "PyTorch, float32",
           "PyTorch, tf32", "torch.compile, float32", "torch.compile, tf32")
FLOAT16 = OURS[1], "PyTorch, float16", "torch.compile, float16"


def groups(run: Mapping) -> list[tuple[str, str, dict[str, float]]]:
    """What is compared, its unit, and the values by name, the slowest first.

    `run` is what `authoring.profiles.reader` has written.
    """
    host = {"the copies alone": run["from_host"]["bus"]}
    for name in OURS:
        row = run["from_host"][name.split(", ")[1]]
        host |= {name: row["streams 3"], f"the kernel alone, {name.split()[-1]}": row["kernel"]}
    one = run["one_digit"] | run["one_digit_by_torch"]
    found = [("float32, images on the GPU", "digits a second",
              {name: run["rates"][name]["rate"] for name in FLOAT32}),
             ("float16, images on the GPU", "digits a second",
              {name: run["rates"][name]["rate"] for name in FLOAT16}),
             ("one digit, from the host's memory to the answer", "us",
              {name: row["us"] for name, row in one.items()}),
             ("bytes from the host's memory, digits back", "digits a second", host)]
    return [(title, unit, dict(sorted(values.items(), key=lambda row: row[1],
                                      reverse=unit == "us"))) for title, unit, values in found]


def reader(run: Mapping) -> None:
    """Draw the four comparisons on logarithmic axes, and print the same as a table."""
    table = [(f"One run on an {run['gpu']}, {run['date']}", "")]
    with style():
        _, panels = plt.subplots(2, 2, figsize=(11, 5.6), layout="constrained")
        for panel, (title, unit, values) in zip(panels.flat, groups(run)):
            table += [("", ""), (title, unit)]
            for y, (name, value) in enumerate(values.items()):
                number = f"{value:,.1f}" if unit == "us" else f"{value:,.0f}"
                ours = name in OURS
                panel.plot(value, y, "o" if ours else "s", color=COLOURS[not ours],
                           markeredgecolor=INK, markersize=8)
                panel.annotate(number, (value, y), xytext=(9, 0), textcoords="offset points",
                               va="center", fontsize=8)
                table.append((f"  {name}", number))
            panel.set_yticks(range(len(values)), values, fontsize=8)
            panel.grid(axis="x", alpha=0.4)
            panel.set(xscale="log", ylim=(-0.6, len(values) - 0.4), xlabel=f"{unit} (logarithmic)",
                      xlim=(min(values.values()) / 2, max(values.values()) * 8))
            panel.set_title(title, fontsize=10)
        show("The reader in one kernel (round points) beside its peers (square points)",
             "\n".join(line.rstrip() for line in aligned(table)), printed=True)
