"""In a real Jupyter kernel: the stop button stops a runaway kernel, and a fault harms nothing."""

from __future__ import annotations

import os
import sys
import time

import pytest

manager_module = pytest.importorskip("jupyter_client.manager")
pytest.importorskip("ipykernel")

PREPARE = """
import numpy as np
from nogpu import engine
module = engine.compile('''
__global__ void endless(volatile int* x) { while (*x == 0); }
__global__ void set(int* x, int i) { x[i] = 1; }
''')
x = engine.allocate(4, "x")
engine.fill(x.address, 0, 1, 4)
address = np.uint64(x.address).tobytes()
"""


def execute(client: object, code: str) -> str:
    # By default the kernel throws away what arrives while it tidies up after an error.
    return client.execute(code, stop_on_error=False)


def outcome(client: object, message: str, seconds: float = 60) -> dict:
    while True:
        reply = client.get_shell_msg(timeout=seconds)
        if reply["parent_header"].get("msg_id") == message:
            return reply["content"]


def test_interrupt_and_fault() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    manager, client = manager_module.start_new_kernel(env=environment)
    try:
        assert outcome(client, execute(client, PREPARE))["status"] == "ok"
        for everything in (True, False):
            launch = f"with engine.checks({everything}): " + (
                "module.kernel('endless').launch((2,), (64,), [address])"
            )
            message = execute(client, launch)
            time.sleep(0.5)
            start = time.monotonic()
            manager.interrupt_kernel()
            assert outcome(client, message)["ename"] == "KeyboardInterrupt"
            assert time.monotonic() - start < 10  # it stops, and by itself never would
        for _ in range(2):
            null = execute(client, "module.kernel('set').launch((1,), (1,), [bytes(8), bytes(4)])")
            assert outcome(client, null)["ename"] == "NullPointer"
        last = "module.kernel('set').launch((1,), (1,), [address, bytes(4)])"
        assert outcome(client, execute(client, last))["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
