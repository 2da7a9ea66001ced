"""The ladder of the digit reader as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt

from ..formats import aligned, duration
from .style import COLOURS, FAINT, INK, show, style

MARKERS = "osD^vPX*"  # one for each processor and GPU


def _source(machine: Any) -> str:
    return machine.name.rpartition(", ")[2]  # "recorded" or "this machine"


def ladder(machines: Sequence[Any], flops: float, only: Sequence[str] = ()) -> None:
    """Draw digits a second, rung by rung, on a logarithmic axis, and print the same as a table.

    Parameters
    ----------
    machines : sequence of helpers.ladder.Machine
        What is known of each machine. The first that has a rung decides its place.
    flops : float
        Operations of a digit, for the roof of a machine's arithmetic.
    only : sequence of str
        The names of the rungs to show; all of them, if this is empty.
    """
    rates: dict[str, float] = {}
    for machine in machines:
        for name, rung in machine.rungs.items():
            rates.setdefault(name, rung.rate)
    if unknown := set(only) - set(rates):
        raise ValueError(f"the ladder has no rung {min(unknown)!r}.")
    names = sorted(only or rates, key=rates.get)  # the slowest first: they are drawn upwards
    machines = [machine for machine in machines if set(names) & set(machine.rungs)]
    with style():
        figure, axes = plt.subplots(figsize=(8, 1.6 + 0.34 * len(names)), layout="constrained")
        marks = zip(MARKERS * 9, COLOURS * 9)
        for k, machine in enumerate(machines):
            rungs = enumerate(map(machine.rungs.get, names))
            have = [(rung.rate, y, rung.machine) for y, rung in rungs if rung]
            axes.plot(*zip(*(one[:2] for one in have)), "-", color=FAINT, linewidth=1)
            for ran_on, (marker, colour) in zip(dict.fromkeys(one[2] for one in have), marks):
                axes.plot(*zip(*(one[:2] for one in have if one[2] == ran_on)), marker,
                          markersize=8, markerfacecolor=colour, markeredgecolor=INK,
                          label=f"{ran_on} ({_source(machine)})")
            for rate, y, _ in have:
                side = -1 if 0 < k == len(machines) - 1 else 1  # the last one's on the left
                axes.annotate(f"{rate:,.0f}", (rate, y), xytext=(9 * side, 0), va="center",
                              ha="right" if side < 0 else "left", fontsize=8, zorder=3,
                              textcoords="offset points",
                              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
            if machine.roof:
                axes.axvline(machine.roof.flops / flops, color=FAINT, linestyle="--",
                             label=f"roof of float32's arithmetic, {machine.name.split(',')[0]}")
        axes.set_yticks(range(len(names)), names)
        axes.set(xscale="log", xlabel="digits a second (logarithmic)", ylim=(-.6, len(names) - .4))
        axes.set_xlim(axes.get_xlim()[0] / 4, axes.get_xlim()[1] * 8)
        figure.legend(loc="outside lower center", fontsize=8, frameon=False)
        show("The ladder: digits a second, rung by rung", _table(names, machines, flops),
             printed=True)


def _table(names: Sequence[str], machines: Sequence[Any], flops: float) -> str:
    """The rungs as text, the slowest first, and how long a billion digits take."""
    rows = [("", "images", *("" for _ in machines), "a billion"),
            ("digits a second", "in", *map(_source, machines), "digits")]
    for name in names:
        rungs = [machine.rungs.get(name) for machine in machines]
        first = next(filter(None, rungs))
        rows.append((name, first.where,
                     *(f"{rung.rate:,.0f}" if rung else "-" for rung in rungs),
                     duration(1e9 / first.rate)))
    for machine in machines:
        if machine.roof:
            rate = machine.roof.flops / flops
            rates = (f"{rate:,.0f}" if other is machine else "" for other in machines)
            rows.append(("roof of float32's arithmetic", "", *rates, duration(1e9 / rate)))
    lines = [line.rstrip() for line in aligned(rows)]
    return "\n".join(lines + _notes(names, machines, flops))


def _notes(names: Sequence[str], machines: Sequence[Any], flops: float) -> list[str]:
    """Which rungs are above a roof of float32 in other formats, and where each one ran."""
    lines = []
    for machine in machines:
        ran: dict[str, list[str]] = {}
        for name in filter(machine.rungs.get, names):
            rung = machine.rungs[name]
            ran.setdefault(rung.machine, []).append(name)
            if machine.roof and rung.number != "float32" and rung.rate > machine.roof.flops / flops:
                lines.append(f"Above the roof of float32, with products in {rung.number}: {name}")
        most, *few = sorted(reversed(ran), key=lambda ran_on: -len(ran[ran_on]))
        places = (f"; but on {ran_on}: {'; '.join(ran[ran_on])}" for ran_on in few)
        lines += textwrap.wrap(f"{_source(machine).capitalize()}: {most}{''.join(places)}", 79,
                               subsequent_indent="  ")
    return lines
