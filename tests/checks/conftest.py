"""Settings of the checks' tests."""

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    """Answers about many GPUs need two simulated devices: test_two_devices.py gives them these.

    `items` are those of the whole run: the other rooms' tests of this lesson need one device.
    """
    if os.environ.get("NOGPU_DEVICES", "1") == "1":
        for item in items:
            if "many_gpus" in item.name and Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="runs in a process of two devices"))
