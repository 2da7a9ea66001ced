"""The reader in one kernel beside its peers, as one run has measured all of them."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt

from ..formats import aligned
from .style import COLOURS, INK, show, style

STREAMS = 3  # of the rate from the host's memory
Group = tuple[str, str, dict[str, float], dict[str, float]]


def groups(run: Mapping) -> list[Group]:
    """What is compared, its unit, what this course has written, and what stands beside it.

    Parameters
    ----------
    run : mapping
        As `authoring.profiles.reader` writes it.
    """
    rates = {name: row["rate"] for name, row in run["rates"].items()}
    one = {name: row["us"] for name, row in (run["one_digit"] | run["one_digit_by_torch"]).items()}
    host = {name: row for name, row in run["from_host"].items() if name.startswith("float")}
    ours = ("one kernel, float32", "one kernel, float16")
    torch = [name for name in rates if name.startswith(("PyTorch", "torch"))]
    half = [name for name in torch if "float16" in name]

    def some(values: Mapping, *names: str) -> dict[str, float]:
        return {name: values[name] for name in names}

    return [
        ("float32, images on the GPU", "digits a second", some(rates, ours[0]),
         some(rates, "CuPy, 100,000 at a time", "compiled with its weights",
              *(name for name in torch if name not in half))),
        ("float16, images on the GPU", "digits a second", some(rates, ours[1]), some(rates, *half)),
        ("one digit, from the host's memory to the answer", "us", some(one, *ours),
         {name: us for name, us in one.items() if name not in ours}),
        ("from the host's memory: bytes in, digits out", "digits a second",
         {f"one kernel, {name}": row[f"streams {STREAMS}"] for name, row in host.items()},
         {f"the kernel alone, {name}": row["kernel"] for name, row in host.items()}
         | {"the copies alone": run["from_host"]["bus"]}),
    ]


def reader(run: Mapping) -> None:
    """Draw the four comparisons with logarithmic axes, and print the same as a table."""
    table = []
    with style():
        _, panels = plt.subplots(2, 2, figsize=(10, 6), layout="constrained")
        for panel, (title, unit, ours, beside) in zip(panels.flat, groups(run)):
            rows = sorted((ours | beside).items(), key=lambda row: row[1], reverse=unit == "us")
            table += [("", ""), (title, unit)]
            for y, (name, value) in enumerate(rows):
                panel.barh(y, value, color=COLOURS[name not in ours], edgecolor=INK,
                           hatch=None if name in ours else "//")
                panel.annotate(f" {value:,.4g}" if unit == "us" else f" {value:,.0f}", (value, y),
                               va="center", fontsize=8)
                table.append((f"  {name}", f"{value:,.1f}" if unit == "us" else f"{value:,.0f}"))
            panel.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
            panel.set(xscale="log", title=title, xlabel=f"{unit} (logarithmic)")
            panel.set_xlim(right=panel.get_xlim()[1] * 8)
        where = f"One run on an {run['gpu']}, {run['date']}, PyTorch {run['torch']}"
        show("The reader in one kernel (without hatching) beside its peers (hatched)",
             "\n".join([where, *(line.rstrip() for line in aligned(table))]))
