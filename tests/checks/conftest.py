"""Settings of the checks' tests."""

import gc
import os

os.environ.setdefault("NOGPU_DEVICES", "2")  # for the tasks about many GPUs


def pytest_collection_finish():
    """What is there now stays: a check that collects garbage need not look through it each time."""
    gc.collect()
    gc.freeze()
