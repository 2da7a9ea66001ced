"""Try out a room of learners on one JupyterHub: `python -m tests.notebooks.rooms.jupyterhub_room`.

Starts a JupyterHub on this machine (the dummy authenticator, a server process for each learner,
each with a home of its own). All learners at once log in through the form, start their server and
a kernel, and run a solved exercise notebook through the kernel's websocket, as JupyterLab does.
One line for each says how it went; the exit status is 1 where a kernel died, a check was not right
or a cell failed.

Needs `jupyterhub` beside the course, and `configurable-http-proxy` (npm) on the PATH or named by
`--proxy`.

    python -m tests.notebooks.rooms.jupyterhub_room --learners 20
    python -m tests.notebooks.rooms.jupyterhub_room --learners 3 --endless 1
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOK = "solutions/10_debugging_kernels.ipynb"
PASSWORD = "room"
# What a learner's own copy of the course contains.
COURSE = ("helpers", "checks", "simulator/src", "notebooks", "exercises", "solutions")
MEMORY = """
import resource
print("peak", *[line.split()[1] for line in open("/proc/self/status") if line[:6] == "VmHWM:"],
      resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
ENDLESS = """
import cupy
endless = cupy.RawKernel('extern "C" __global__ void endless(int* x) { while (x[0] == 0) {} }',
                         "endless")
endless((1,), (1,), (cupy.zeros(1, dtype=cupy.int32),))
cupy.cuda.Device().synchronize()
"""
CONFIGURATION = """
c = get_config()
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.command = {proxy!r}
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie_secret"
c.JupyterHub.pid_file = "{folder}/hub.pid"
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {password!r}
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.JupyterHub.concurrent_spawn_limit = {learners}
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/homes/{{username}}"
c.Spawner.cmd = [{python!r}, "-m", "jupyterhub.singleuser"]
c.Spawner.args = {arguments!r}
c.Spawner.environment = {environment!r}
c.Spawner.start_timeout = c.Spawner.http_timeout = 300
"""


class Died(Exception):
    """The learner's kernel no longer runs."""


@dataclass
class Learner:
    """What one learner's run of the notebook gave; times in seconds, peak memory in MB.

    `child_mb` is that of the largest process that the kernel started: the compiler or a fork.
    """

    name: str
    cells: int = 0
    right: int = 0
    wrong: list[str] = field(default_factory=list)
    logged_in: float = 0.0
    started: float = 0.0
    finished: float = 0.0
    slowest: tuple[float, str] = (0.0, "")
    kernel_mb: float = 0.0
    child_mb: float = 0.0
    died: bool = False
    note: str = ""

    def line(self) -> str:
        """The report's line."""
        state = "DIED" if self.died else self.note or ", ".join(self.wrong) or "ok"
        return (f"{self.name:12} {self.cells:5} {self.right:6} {self.logged_in:8.1f}"
                f" {self.started:8.1f} {self.finished:9.1f} {self.slowest[0]:8.1f}"
                f" {self.kernel_mb:7.0f} {self.child_mb:9.0f}   {state}")


HEAD = ("learner      cells  right  log in s start s  finish s slowest s kernel MB  child MB")


class Session:
    """A learner's browser: a login with cookies, then the server's API with a token.

    Parameters
    ----------
    address : str
        Of the hub's proxy, without a slash at the end.
    name : str
    """

    def __init__(self, address: str, name: str) -> None:
        import requests

        self.address, self.name = address, name
        self.web = requests.Session()

    def log_in(self) -> None:
        """Send the login form and ask for a token with the cookies that come back."""
        page = f"{self.address}/hub/login"
        self.web.get(page, timeout=300).raise_for_status()
        form = {"username": self.name, "password": PASSWORD, "_xsrf": self._xsrf()}
        self.web.post(page, data=form, timeout=300, allow_redirects=False).raise_for_status()
        answer = self.web.post(f"{self.address}/hub/api/users/{self.name}/tokens", timeout=300,
                               headers={"X-XSRFToken": self._xsrf(), "Referer": page})
        answer.raise_for_status()
        self.token = answer.json()["token"]
        self.web.cookies.clear()
        self.web.headers["Authorization"] = f"token {self.token}"

    def _xsrf(self) -> str:
        return [cookie.value for cookie in self.web.cookies if cookie.name == "_xsrf"][-1]

    def start_server(self, patience: float) -> None:
        """Ask the hub for the server and wait until it answers."""
        user = f"{self.address}/hub/api/users/{self.name}"
        answer = self.web.post(f"{user}/server", timeout=300)
        if answer.status_code not in (201, 202):
            answer.raise_for_status()
        until = time.monotonic() + patience
        while time.monotonic() < until:
            server = self.web.get(user, timeout=300).json()["servers"].get("", {})
            if server.get("ready"):
                self.server = f"{self.address}/user/{self.name}/api"
                return
            time.sleep(1)
        raise TimeoutError(f"the server of {self.name} did not start in {patience:.0f} s")

    def start_kernel(self, path: str) -> None:
        """Open `path` with a kernel, and the kernel's websocket."""
        import websocket

        body = {"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}}
        answer = self.web.post(f"{self.server}/sessions", json=body, timeout=300)
        answer.raise_for_status()
        self.kernel = answer.json()["kernel"]["id"]
        url = f"{self.server}/kernels/{self.kernel}/channels".replace("http", "ws", 1)
        self.socket = websocket.create_connection(
            url, timeout=300, header=[f"Authorization: token {self.token}"])

    def interrupt(self) -> None:
        """What JupyterLab's square button does."""
        self.web.post(f"{self.server}/kernels/{self.kernel}/interrupt", timeout=300)

    def run(self, code: str, patience: float) -> tuple[str, str]:
        """Run a cell; return what it printed and the error's text, or an empty one.

        Raises
        ------
        Died
            When the kernel restarts, is dead, or does not answer in `patience` seconds.
        """
        import websocket

        name = uuid.uuid4().hex
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {},
                   "allow_stdin": False, "stop_on_error": True}
        header = {"msg_id": name, "username": self.name, "session": name, "version": "5.3",
                  "msg_type": "execute_request", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ")}
        self.socket.send(json.dumps({"header": header, "parent_header": {}, "metadata": {},
                                     "content": content, "buffers": [], "channel": "shell"}))
        printed, error, replied, idle = "", "", False, False
        until = time.monotonic() + patience
        while not (replied and idle):
            self.socket.settimeout(max(0.1, until - time.monotonic()))
            try:
                text = self.socket.recv()
            except websocket.WebSocketTimeoutException:
                raise Died(f"no answer in {patience:.0f} s") from None
            except (websocket.WebSocketConnectionClosedException, OSError) as problem:
                raise Died(f"the websocket closed: {problem}") from None
            if not text:
                continue
            message = json.loads(text)
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] in ("restarting", "dead"):
                raise Died(f"the kernel is {content['execution_state']}")
            if message["parent_header"].get("msg_id") != name:
                continue
            if kind == "stream":
                printed += content["text"]
            elif kind == "error":
                error = f"{content['ename']}: {content['evalue']}"
            elif kind == "execute_reply":
                replied = True
            elif kind == "status":
                idle = content["execution_state"] == "idle"
        return printed, error


def attend(learner: Learner, address: str, cells: list, options: argparse.Namespace,
           endless: bool, together: threading.Barrier) -> None:
    """Go through the notebook as one learner; whatever happens is written down in `learner`."""
    session = Session(address, learner.name)
    together.wait()
    begin = time.monotonic()
    try:
        session.log_in()
        learner.logged_in = time.monotonic() - begin
        session.start_server(options.patience)
        session.start_kernel(f"course/{options.notebook}")
        learner.started = time.monotonic() - begin
        for cell in cells:
            before = time.monotonic()
            printed, error = session.run(cell.source, options.patience)
            learner.cells += 1
            learner.slowest = max(learner.slowest, (time.monotonic() - before, cell.id))
            learner.right += len(re.findall(r"^\[ok\]", printed, re.M))
            if error:
                learner.wrong.append(f"{cell.id}: {error[:80]}")
            elif re.search(r"^\[(no|todo)\]", printed, re.M):
                learner.wrong.append(f"{cell.id}: {printed.strip()[:80]}")
            if endless and cell.id == "imports":
                learner.note = run_endless(session, options.patience)
        printed, _ = session.run(MEMORY, options.patience)
        kernel, child = (int(number) for number in printed.split()[1:])
        learner.kernel_mb, learner.child_mb = kernel / 1024, child / 1024
    except Died as death:
        learner.died, learner.note = True, str(death)
        print(f"{learner.name} after {learner.cells} cells: {death}", flush=True)
    except Exception as problem:  # the report must come whatever a learner met
        learner.wrong.append(f"{type(problem).__name__}: {problem}"[:160])
    learner.finished = time.monotonic() - begin


def run_endless(session: Session, patience: float) -> str:
    """Launch a kernel without end and interrupt it after five seconds; what came of it."""
    timer = threading.Timer(5, session.interrupt)
    timer.start()
    before = time.monotonic()
    _, error = session.run(ENDLESS, patience)
    timer.cancel()
    return f"endless kernel: {error.split(':')[0] or 'no error'} {time.monotonic() - before:.0f} s"


def free_port() -> int:
    """A port of this machine that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def make_homes(folder: Path, names: list[str], cache: Path | None) -> None:
    """A home for each learner with a copy of the course and, if given, compiled kernels."""
    for name in names:
        course = folder / "homes" / name / "course"
        course.mkdir(parents=True)
        for part in COURSE:
            shutil.copytree(ROOT / part, course / part,
                            ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
        if cache is not None:
            shutil.copytree(cache, course.parent / ".cache" / "nogpu")


@contextlib.contextmanager
def hub(folder: Path, options: argparse.Namespace) -> Iterator[str]:
    """A running JupyterHub; gives its address and stops it, with all its servers, at the end."""
    proxy = options.proxy or shutil.which("configurable-http-proxy")
    if not proxy:
        sys.exit("configurable-http-proxy is not on the PATH: npm install configurable-http-proxy,"
                 " then name node_modules/.bin/configurable-http-proxy by --proxy")
    ports = {"port": free_port(), "hub_port": free_port(), "proxy_port": free_port()}
    # A learner's caches are in the own home, as with accounts of their own.
    environment = {"COURSE_BACKEND": options.backend,
                   **dict(pair.split("=", 1) for pair in options.set)}
    configuration = folder / "jupyterhub_config.py"
    configuration.write_text(CONFIGURATION.format(
        folder=folder, proxy=[os.path.abspath(proxy)], password=PASSWORD, python=sys.executable,
        arguments=["--allow-root"] if os.geteuid() == 0 else [], environment=environment,
        learners=options.learners, **ports))
    # In a session of its own: what it starts ends with it, and nothing else does.
    with open(folder / "hub.log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "--config", str(configuration)], cwd=folder,
            stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    address = f"http://127.0.0.1:{ports['port']}"
    try:
        wait_for(address, process, folder / "hub.log")
        yield address
    finally:
        stop(process)


def wait_for(address: str, process: subprocess.Popen, log: Path) -> None:
    """Return when the hub answers; exit with its log where it does not."""
    import requests

    for _ in range(240):
        if process.poll() is not None:
            break
        with contextlib.suppress(requests.RequestException):
            if requests.get(f"{address}/hub/health", timeout=5).ok:
                return
        time.sleep(0.5)
    sys.exit(f"JupyterHub did not start:\n{log.read_text()[-3000:]}")


def descendants(parent: int) -> list[int]:
    """The process ids below `parent`, as /proc tells them."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found, queue = [], [parent]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def stop(process: subprocess.Popen) -> None:
    """End the hub and what it started, and only that."""
    started = descendants(process.pid)
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(30)
    for one in started:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
        process.wait()


def available_mb() -> float:
    """Memory that the machine has left, in MB."""
    text = Path("/proc/meminfo").read_text()
    return int(re.search(r"MemAvailable:\s+(\d+)", text)[1]) / 1024


def watch_memory(stopped: threading.Event, lowest: list[float]) -> None:
    """Keep the least memory that was available in `lowest[0]`."""
    while not stopped.wait(0.5):
        lowest[0] = min(lowest[0], available_mb())


def main(arguments: list[str] | None = None) -> int:
    """Hold the class and report; see the module's text."""
    parser = argparse.ArgumentParser(prog="python -m tests.notebooks.rooms.jupyterhub_room",
                                     description=__doc__.split("\n")[0])
    parser.add_argument("--learners", type=int, default=20)
    parser.add_argument("--notebook", default=NOTEBOOK, help="whose code cells they run")
    parser.add_argument("--endless", type=int, default=0, metavar="N",
                        help="the first N learners launch an endless kernel, too")
    parser.add_argument("--backend", default="simulator", choices=("simulator", "cuda", "auto"))
    parser.add_argument("--cache", type=Path, metavar="FOLDER",
                        help="compiled kernels that every home begins with")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="an environment variable of the learners' servers")
    parser.add_argument("--patience", type=float, default=600, help="seconds for a cell")
    parser.add_argument("--proxy", help="the program configurable-http-proxy")
    parser.add_argument("--keep-cache", type=Path, metavar="FOLDER",
                        help="copy the first learner's compiled kernels here at the end")
    options = parser.parse_args(arguments)

    notebook = nbformat.read(ROOT / options.notebook, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    checks = sum("nbgrader" in cell.metadata and cell.metadata.nbgrader.grade for cell in cells)
    learners = [Learner(f"learner{number:02}") for number in range(1, options.learners + 1)]
    lowest, stopped = [available_mb()], threading.Event()
    before, together = lowest[0], threading.Barrier(len(learners))
    with tempfile.TemporaryDirectory(prefix="room-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        make_homes(folder, [learner.name for learner in learners], options.cache)
        with hub(folder, options) as address:
            watcher = threading.Thread(target=watch_memory, args=(stopped, lowest), daemon=True)
            watcher.start()
            threads = [threading.Thread(target=attend, args=(
                           learner, address, cells, options, number < options.endless, together))
                       for number, learner in enumerate(learners)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            stopped.set()
        if options.keep_cache:
            made = folder / "homes" / learners[0].name / ".cache" / "nogpu"
            shutil.copytree(made, options.keep_cache, dirs_exist_ok=True)

    print(HEAD)
    for learner in learners:
        print(learner.line())
    whole = [one for one in learners
             if not one.died and not one.wrong and one.cells == len(cells) and one.right == checks]
    print(f"{len(whole)} of {len(learners)} ran all {len(cells)} cells with {checks} checks right;"
          f" {sum(one.died for one in learners)} kernels died")
    print(f"{os.cpu_count()} cores; seconds to the end: median"
          f" {statistics.median(one.finished for one in learners):.0f},"
          f" longest {max(one.finished for one in learners):.0f};"
          f" memory in use grew by {before - lowest[0]:.0f} MB at most")
    return 0 if len(whole) == len(learners) else 1


if __name__ == "__main__":
    sys.exit(main())
