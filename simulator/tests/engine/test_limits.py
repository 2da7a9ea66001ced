"""What a process may use: the least of the machine's memory and its control groups' limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nogpu.engine import limits

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
USER = "system.slice/jupyter-ada.service"


@pytest.mark.parametrize(("mine", "file", "limit", "expected"), [
    (f"0::/{USER}", f"{USER}/memory.max", 2**29, 2**29),  # The Littlest JupyterHub
    (f"0::/{USER}", "system.slice/memory.max", 2**29, 2**29),
    (f"0::/{USER}", "memory.max", 2**29, 2**29),  # in a container, whose groups start at the root
    ("0::/", "memory.max", 2**29, 2**29),
    (f"4:memory:/{USER}", f"memory/{USER}/memory.limit_in_bytes", 2**29, 2**29),
    (f"4:cpu:/{USER}\n0::/", f"{USER}/memory.max", 2**29, MACHINE),  # somebody else's
    (f"0::/{USER}", f"{USER}/memory.max", "max", MACHINE),
    (f"0::/{USER}", f"{USER}/memory.max", 2**60, MACHINE),
    ("nothing that is known", "memory.max", 2**29, 2**29),
])
def test_the_least_limit_above_this_process_counts(
    tmp_path: Path, mine: str, file: str, limit: int | str, expected: int
) -> None:
    (tmp_path / "mine").write_text(mine + "\n")
    path = tmp_path / "groups" / file
    path.parent.mkdir(parents=True)
    path.write_text(f"{limit}\n")
    assert limits.host_memory(str(tmp_path / "groups"), str(tmp_path / "mine")) == expected


def test_without_control_groups_the_machine_is_the_limit(tmp_path: Path) -> None:
    assert limits.host_memory(str(tmp_path), str(tmp_path / "absent")) == MACHINE
