"""Python processes that begin with the product's packages imported: each is a fork of one that has done that.

A host takes 0.8 s of a processor until it is ready, most of it imports, and the suite starts hundreds of hosts to kill
them. In a fork the same code runs from the first line of its module on. What is asked about a start itself, about
imports and about commands is asked of a Python that starts as a user's does.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[2]
_STORES = ("hosting.core.stores.redis", "hosting.core.stores.tables", "hosting.core.stores.blobs")
_HOST = ("devhost.cli", "devhost.host", "devhost.durable.engine", "devhost.http.fastapi_mode")
_SERVER = ("uvloop", "uvicorn.loops.auto", "uvicorn.lifespan.off")
PACKAGES = ("hosting.app", *_HOST, *_SERVER, "fastapi", "aiohttp", "mcp.types", *_STORES)
PRODUCT = "hosting"
START_SECONDS = 60.0
_MOST_BYTES = 1024 * 1024


class Begins(Enum):
    """What a process has imported when it begins."""

    WARM = "all of `PACKAGES`"
    WITHOUT_PRODUCT = "the same but for the product, which is imported anew: 0.1 s of a processor"
    COLD = "nothing, as a user's"


class WarmProcess:
    """One such process, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, streams: Sequence[int], ended: threading.Event, codes: Mapping[int, int]) -> None:
        self.pid = pid
        self.stdout, *apart = [os.fdopen(stream, encoding="utf-8", errors="replace") for stream in streams]
        self.stderr = apart[0] if apart else None
        self._ended, self._codes = ended, codes

    @property
    def returncode(self) -> int | None:
        """How it ended, minus the signal where one ended it; None while it runs."""
        return self._codes.get(self.pid)

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended. Raises `subprocess.TimeoutExpired`."""
        if not self._ended.wait(timeout):
            raise subprocess.TimeoutExpired("a warm process", timeout or 0.0)
        return self._codes[self.pid]

    def communicate(self) -> tuple[str, str | None]:
        """Return what it prints until its end, and what it says of errors where that is a stream of its own."""
        complained: list[str] = []
        reader = threading.Thread(target=lambda: complained.extend(self.stderr or ()))
        reader.start()
        printed = self.stdout.read()
        reader.join()
        self.wait()
        return printed, None if self.stderr is None else "".join(complained)

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended just now
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without a chance to clean up."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


Process = WarmProcess | subprocess.Popen[str]


class WarmPython:
    """The process whose forks are started, from a test process."""

    def __init__(self, root: Path) -> None:
        self._forks, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._parent = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
        )
        theirs.close()
        self._starting = threading.Lock()
        self._news = threading.Condition()
        self._started: list[int] = []
        self._ended: dict[int, threading.Event] = {}
        self._codes: dict[int, int] = {}
        threading.Thread(target=self._receive, daemon=True).start()
        atexit.register(self._forks.close)

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        folder: Path,
        environ: Mapping[str, str],
        *,
        has_errors: bool,
        begins: Begins,
    ) -> WarmProcess:
        """Start `python -m module` with the arguments in the folder; its output and errors are one stream or two."""
        order = {
            "module": module,
            "arguments": list(arguments),
            "folder": str(folder),
            "environ": dict(environ),
            "begins": begins.name,
        }
        pipes = [os.pipe() for _ in range(1 + has_errors)]
        with self._starting:
            socket.send_fds(self._forks, [json.dumps(order).encode()], [theirs for _, theirs in pipes])
            for _, theirs in pipes:
                os.close(theirs)
            with self._news:
                assert self._news.wait_for(lambda: self._started, START_SECONDS), "no fork was started"
                pid = self._started.pop()
        return WarmProcess(pid, [ours for ours, _ in pipes], self._ended[pid], self._codes)

    def _receive(self) -> None:
        while message := self._forks.recv(_MOST_BYTES):
            pid, code = json.loads(message)
            if code is None:
                with self._news:
                    self._ended[pid] = threading.Event()
                    self._codes.pop(pid, None)
                    self._started.append(pid)
                    self._news.notify()
            else:
                self._codes[pid] = code
                self._ended[pid].set()


@lru_cache(maxsize=1)
def warm_python() -> WarmPython:
    """Return what starts the warm processes of this test process."""
    return WarmPython(ROOT)


def start_python(
    module: str,
    *arguments: str,
    folder: Path = ROOT,
    environ: Mapping[str, str] = os.environ,
    has_errors: bool = False,
    begins: Begins = Begins.WARM,
    in_terminal: bool = False,
) -> Process:
    """Start `python -m module` with the arguments in the folder; its errors are a stream of its own, or in its output.

    Where it is not on Linux, it is cold. One `in_terminal` has a group of its own, and is cold.
    """
    if sys.platform == "linux" and begins is not Begins.COLD and not in_terminal:
        return warm_python().start(module, arguments, folder, environ, has_errors=has_errors, begins=begins)
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=dict(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if has_errors else subprocess.STDOUT,
        text=True,
        start_new_session=in_terminal,
    )


def forked(orders: socket.socket) -> dict[str, Any]:
    """Fork for each order, and report each start and end; returns in the fork, with its order."""
    child_ended, wake_up = socket.socketpair()
    for one in (child_ended, wake_up):
        one.setblocking(False)
    signal.set_wakeup_fd(wake_up.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which end with their forks
    while True:
        ready, _, _ = select.select([orders, child_ended], [], [])
        if child_ended in ready:
            child_ended.recv(4096)
            report_ends(orders)
        if orders in ready:
            message, outputs, _, _ = socket.recv_fds(orders, _MOST_BYTES, 2)
            if not message:
                os._exit(0)
            pid = os.fork()
            if not pid:
                break
            for output in outputs:
                os.close(output)
            orders.send(json.dumps([pid, None]).encode())
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for one in (orders, child_ended, wake_up):
        one.close()
    os.dup2(outputs[0], 1)
    os.dup2(outputs[-1], 2)
    for output in outputs:
        os.close(output)
    return dict(json.loads(message))


def report_ends(orders: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        orders.send(json.dumps([pid, os.waitstatus_to_exitcode(status)]).encode())


def main() -> NoReturn:
    """Import the packages; then be, in each fork, the module that is ordered."""
    for name in PACKAGES:
        __import__(name)
    forget("agents")  # an app has its own
    gc.collect()
    gc.freeze()
    order = forked(socket.socket(fileno=int(sys.argv[1])))
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environ"])
    arm_crash_points()
    if order["begins"] == Begins.WITHOUT_PRODUCT.name:
        forget(PRODUCT)
    sys.argv = [order["module"], *order["arguments"]]
    given = filter(None, order["environ"].get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = [order["folder"], *given, *sys.path[2:]]  # in place of the root and of PYTHONPATH, which is the root
    code: object = None
    try:
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code
    end_at_once(code)


def forget(package: str) -> None:
    """Have all of a package imported anew by who asks for it next."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]


def arm_crash_points() -> None:
    """Have this process die where its variable says, which the host reads as it is imported: in the parent."""
    from devhost.durable.crash import crash_points

    crash_points.arm(os.environ.get("DEVHOST_CRASH_AT", ""))


def end_at_once(code: object) -> NoReturn:
    """End as `sys.exit` would, but for taking apart all that was imported: in a fork each such page is copied first."""
    if not (code is None or isinstance(code, int)):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code or 0)


if __name__ == "__main__":
    main()
