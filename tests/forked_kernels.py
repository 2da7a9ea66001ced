"""Kernels for the notebooks under test, forked from one process that has imported what all need.

A notebook's kernel imports IPython, NumPy and matplotlib for a second before its first cell runs;
forty notebooks wait for that. Here one process (`python tests/forked_kernels.py`) imports them once
and forks a kernel for each notebook. Nothing of the course or of nogpu is loaded before the fork,
so a kernel still finds both as a learner's does. A kernel that a test gives an environment of its
own starts in the ordinary way (tests/install, simulator/tests/engine/test_jupyter.py).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence


class ForkedKernel:
    """A kernel's process, with what jupyter_client uses of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """None while it runs, else 0: its parent has reaped it, so that its status is not known."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("kernel", timeout)
            time.sleep(0.01)
        return 0

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Forker:
    """The process that forks them; it is started for the first kernel and ends with this one."""

    def __init__(self) -> None:
        self._server: subprocess.Popen | None = None

    def start(
        self, arguments: Sequence[str], env: dict[str, str], cwd: str, quiet: bool
    ) -> ForkedKernel:
        if self._server is None or self._server.poll() is not None:
            self._server = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        request = {"arguments": list(arguments), "env": env, "cwd": cwd, "quiet": quiet}
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return ForkedKernel(int(self._server.stdout.readline()))


def install() -> None:
    """Let jupyter_client fork the kernels of this Python; others are launched as before."""
    if not hasattr(os, "fork"):
        return
    from jupyter_client.provisioning import local_provisioner

    launch, forker = local_provisioner.launch_kernel, Forker()

    def launch_or_fork(command: list[str], **options: object) -> object:
        env = dict(options.get("env") or os.environ)
        own = {name for name, value in env.items() if os.environ.get(name) != value}
        if (command[0] != sys.executable or "ipykernel_launcher" not in command
                or any(not name.startswith("JPY_") for name in own)
                or options.get("stdin") or options.get("stdout")):  # fmt: skip
            return launch(command, **options)
        arguments = command[command.index("ipykernel_launcher") + 1 :]
        quiet = options.get("stderr") is not None  # where its messages shall not be seen
        return forker.start(arguments, env, options.get("cwd") or os.getcwd(), quiet)

    local_provisioner.launch_kernel = launch_or_fork


def _become_kernel(request: dict) -> None:
    os.setsid()  # before anyone knows its process id: who ends it, ends its whole group
    print(os.getpid(), flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    if request["quiet"]:
        os.dup2(null, 2)
    os.dup2(2, 1)  # the pipe is the parent's alone
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    os.environ["JPY_PARENT_PID"] = str(os.getppid())
    sys.argv[:] = ["ipykernel_launcher.py", *request["arguments"]]
    sys.path[:] = [place for place in sys.path if place != os.path.dirname(__file__)]
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance()


def serve() -> None:
    """Import, then fork a kernel for each line that comes."""
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    import ipykernel.ipkernel  # noqa: F401
    import ipykernel.kernelapp  # noqa: F401
    import matplotlib.pyplot as plt
    import matplotlib_inline.backend_inline  # noqa: F401

    plt.figure().canvas.draw()  # its fonts
    plt.close("all")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that nobody has to wait for the kernels
    while line := sys.stdin.readline():
        if os.fork() == 0:
            _become_kernel(json.loads(line))
            os._exit(0)


if __name__ == "__main__":
    serve()
