"""Settings of the checks' tests."""

import os

import pytest


def pytest_collection_modifyitems(items):
    """Answers about many GPUs need two simulated devices: test_two_devices.py gives them these."""
    if os.environ.get("NOGPU_DEVICES", "1") == "1":
        for item in items:
            if "many_gpus" in item.name:
                item.add_marker(pytest.mark.skip(reason="runs in a process of two devices"))
