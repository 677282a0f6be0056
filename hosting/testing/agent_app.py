"""The app of a test: a local host on a free port, which is shared by the tests that give it the same settings."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from hosting.client.connection import app_address
from hosting.testing.asking import AppRequests, RunAnswer, waited_for
from hosting.testing.case import CLOCK_FILE, AppCase, CallMade, begin_case
from hosting.testing.local_app import LocalApp, LocalAppError, StartHost, start_host
from hosting.testing.this_process import CASES, AppHere, Variables

Environ = Callable[[], Mapping[str, str]]
"""Returns the variables of the app's process."""
PrepareCase = Callable[[AppCase], None]
"""Writes what the test wants of the app into the files of its case."""
_MODULE = "hosting.testing.host_process"
_SCRIPT = '''"""Loads the app of {path}, whose state is kept in this folder."""

from pathlib import Path

__file__ = {path!r}
exec(compile(Path(__file__).read_bytes(), __file__, "exec"))
'''


class _Host(Protocol):
    """A host that runs."""

    @property
    def printed(self) -> Sequence[str]: ...

    @property
    def printed_before(self) -> Sequence[str]: ...

    def kill(self) -> None: ...


class _Running(Struct, frozen=True):
    """A host, the app and the variables that it has, its address, the folder of its cases, and what ends it."""

    root: Path
    environ: Mapping[str, str]
    url: str
    cases: Path
    host: _Host
    end: Callable[[], None]


class AppHosts:
    """The local hosts of one session of pytest: one in a process of its own, and one in this process."""

    def __init__(self, folder: Path, start: StartHost = start_host) -> None:
        self._folder, self._numbers, self._start = folder, itertools.count(1), start
        self._running: dict[bool, _Running] = {}

    def run(self, root: Path, environ: Mapping[str, str], *, in_process: bool) -> _Running:
        """Return the host of the app in the folder `root` with these variables: that which runs, or a new one.

        Raises `local_app.LocalAppError` for an app that does not start.
        """
        running = self._running.get(in_process)
        if running is not None and (running.root, running.environ) == (root, environ):
            if isinstance(running.host, AppHere):
                running.host.use()
            return running
        self.end(in_process)
        if not (root / "host.json").is_file():
            raise LocalAppError(
                f"{root} has no host.json: it is no Functions app. Have agent_app_folder name the app's."
            )
        place = self._folder / f"host-{next(self._numbers)}"
        cases, state = place / "cases", place / "app"
        state.mkdir(parents=True)
        begin_case(cases, "none")
        (state / "function_app.py").write_text(_SCRIPT.format(path=str(root / "function_app.py")), encoding="utf-8")
        shutil.copy(root / "host.json", state)
        host: AppHere | LocalApp
        if in_process:
            host = AppHere(root, state, cases)
            url, end = host.start(), host.end
        else:
            host = LocalApp(state, (_MODULE, str(cases)), environ, self._start)
            url, end = host.__enter__(), host.stop_at_once
        running = self._running[in_process] = _Running(root, dict(environ), url, cases, host, end)
        return running

    def end(self, in_process: bool) -> None:
        """End that host, and forget what it kept."""
        running = self._running.pop(in_process, None)
        if running is not None:
            running.end()

    def end_all(self) -> None:
        """End both."""
        for in_process in (False, True):
            self.end(in_process)


class AgentApp:
    """The app as one test has it. The host is started at the first use, with the variables that the test then has."""

    def __init__(
        self, hosts: AppHosts, root: Path, case_name: str, prepare: PrepareCase, environ: Environ, *, in_process: bool
    ) -> None:
        self._hosts, self._root, self._case_name = hosts, root, case_name
        self._prepare, self._environ = prepare, environ
        self._in_process, self._variables = in_process, Variables()
        self._case: AppCase | None = None
        self._running: _Running | None = None

    @property
    def case(self) -> AppCase | None:
        """The files of this test; None as long as it has not used the app."""
        return self._case

    @property
    def url(self) -> str:
        """The address of the running app, such as `http://127.0.0.1:41123`."""
        return self._begun().url

    @property
    def clock_file(self) -> Path:
        """The file that moves the app's time."""
        return self._begun().cases / CLOCK_FILE

    @property
    def requests(self) -> AppRequests:
        """The requests to the running app."""
        return AppRequests(app_address(self.url), {})

    @property
    def tool_calls(self) -> list[CallMade]:
        """The calls of tools that the app made in this test, in their order, in all its processes."""
        return [] if self._case is None else self._case.calls.read()

    @property
    def printed(self) -> Sequence[str]:
        """The last lines that the app's host printed; none of an app in this process."""
        return () if self._running is None else self._running.host.printed

    @property
    def printed_before(self) -> Sequence[str]:
        """The last lines of the process that ended before the one that runs now, as one that was killed."""
        return () if self._running is None else self._running.host.printed_before

    def kill(self) -> None:
        """End the app's process without a chance to clean up; another one is started, at the same address.

        Raises `local_app.LocalAppError` for an app in the process of its tests.
        """
        self._begun().host.kill()

    def read(self, path: str) -> Any:
        """Return the JSON of a route of the app, such as `agents/assistant/threads/t1`.

        Raises `RemoteAgentError`, with the app's code, for a refusal.
        """
        __tracebackhide__ = True
        return self.send("GET", path)

    def send(self, method: str, path: str, body: object = None, *, key: str | None = None) -> Any:
        """Send a request to a route of the app, and return the JSON of its answer; raises as `read` does.

        It is sent again under one idempotency key (`key`) until the app answers.
        """
        __tracebackhide__ = True
        return waited_for(self.requests.send(method, path, body, key))

    def until(self, path: str, holds: Callable[[Any], bool]) -> Any:
        """Read a route again and again, for up to 120 s, and return its JSON once `holds(it)` is true.

        Raises `RemoteAgentError` for a refusal, and with the code `run_pending` when the time is over.
        """
        __tracebackhide__ = True
        return waited_for(self.requests.until(path, holds))

    def goes_on(self, waiting: RunAnswer) -> RunAnswer:
        """Return the end of the run that went on without a person, as by the `default` of a question.

        Raises `RemoteAgentError` as `ask` does.
        """
        __tracebackhide__ = True
        return waited_for(self.requests.run_after(waiting))

    def leave(self, *, has_failed: bool) -> None:
        """End this test's use of the app; what a test that failed has left undone is not for the next one."""
        if has_failed:
            self._hosts.end(self._in_process)
        if self._in_process:
            CASES.folder = None
            self._variables.restore()

    def _begun(self) -> _Running:
        if self._running is None:
            environ = self._environ()
            if self._in_process:
                with self._variables.changed(environ):
                    self._running = self._hosts.run(self._root, environ, in_process=True)
                CASES.folder = self._running.cases
            else:
                self._running = self._hosts.run(self._root, environ, in_process=False)
            self._case = begin_case(self._running.cases, self._case_name)
            self._prepare(self._case)
        return self._running
