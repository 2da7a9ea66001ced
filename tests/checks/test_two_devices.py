"""The answers about many GPUs, in a process of their own: a process has one number of devices."""

import os
import subprocess
import sys
from pathlib import Path


def test_answers_for_several_devices():
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider",
         "-k", "many_gpus", str(Path(__file__).parent)],
        env=environment | {"NOGPU_DEVICES": "2"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout, done.stdout[-1000:]
