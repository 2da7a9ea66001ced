"""The devices: how many the program sees, and whose memory each of them reaches."""

from __future__ import annotations

import os
from collections.abc import Mapping


def visible_devices(environment: Mapping[str, str]) -> list[int]:
    """Numbers of the devices that a process sees, of ``NOGPU_DEVICES`` (1 unless given).

    ``CUDA_VISIBLE_DEVICES`` chooses among them as in CUDA, up to its first wrong number. Where it
    would leave none, as on a machine whose GPU it hides, it says nothing of nogpu's.

    Raises
    ------
    ValueError
        If ``NOGPU_DEVICES`` is no number from 1 to 32.
    """
    given = environment.get("NOGPU_DEVICES", "1")
    if not given.isdecimal() or not 1 <= int(given) <= 32:  # as the runtime has places for
        raise ValueError(f"NOGPU_DEVICES is {given!r}: a number from 1 to 32 is possible")
    every, chosen = list(range(int(given))), []
    for word in environment.get("CUDA_VISIBLE_DEVICES", "").split(","):
        if not word.strip().isdecimal() or int(word) not in every or int(word) in chosen:
            break
        chosen.append(int(word))
    return chosen or every


visible = visible_devices(os.environ)  # once: memory is divided among them
count = len(visible)
peers: set[tuple[int, int]] = set()  # a device, and another whose memory its kernels may use


def reach(device: int) -> int:
    """A bit for each device whose memory a device's kernels may use; 0 where they may use all."""
    mask = sum(1 << other for other in range(count) if other == device or (device, other) in peers)
    return mask if mask + 1 < 1 << count else 0
