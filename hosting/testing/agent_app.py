"""The app of a test: a real local host on a free port, which is shared by the tests that give it the same settings."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hosting.client.connection import app_address
from hosting.testing.asking import AppRequests
from hosting.testing.case import AppCase, CallMade, begin_case
from hosting.testing.local_app import LocalApp, LocalAppError

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


class AppHosts:
    """The local hosts of one session of pytest, one at a time: each for a folder of an app and its variables."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, itertools.count(1)
        self._running: tuple[Path, Mapping[str, str]] | None = None
        self._app: LocalApp | None = None
        self.cases = folder
        self.url = ""

    @property
    def printed(self) -> Sequence[str]:
        """The last lines that the host printed."""
        return () if self._app is None else self._app.printed

    def run(self, root: Path, environ: Mapping[str, str]) -> None:
        """Have a host of the app in the folder `root` with these variables, a new one where the running one has others.

        Raises `local_app.LocalAppError` for an app that does not start.
        """
        if self._app is not None and self._running == (root, environ):
            return
        self.end()
        if not (root / "host.json").is_file():
            raise LocalAppError(
                f"{root} has no host.json: it is no Functions app. Have agent_app_folder name the app's."
            )
        place = self._folder / f"host-{next(self._numbers)}"
        self.cases = place / "cases"
        begin_case(self.cases, "none")
        state = place / "app"
        state.mkdir()
        (state / "function_app.py").write_text(_SCRIPT.format(path=str(root / "function_app.py")), encoding="utf-8")
        shutil.copy(root / "host.json", state)
        self._app = LocalApp(state, (_MODULE, str(self.cases)), environ)
        self._running = (root, dict(environ))
        self.url = self._app.__enter__()

    def kill(self) -> None:
        """End the host's process without a chance to clean up; another one is started, on the same port."""
        if self._app is not None:
            self._app.kill()

    def end(self) -> None:
        """End the host, and forget what it kept."""
        app, self._app, self._running = self._app, None, None
        if app is not None:
            app.stop_at_once()


class AgentApp:
    """The app as one test has it. The host is started at the first use, with the variables that the test then has."""

    def __init__(self, hosts: AppHosts, root: Path, case_name: str, prepare: PrepareCase, environ: Environ) -> None:
        self._hosts, self._root, self._case_name = hosts, root, case_name
        self._prepare, self._environ = prepare, environ
        self._case: AppCase | None = None

    @property
    def case(self) -> AppCase | None:
        """The files of this test; None as long as it has not used the app."""
        return self._case

    @property
    def url(self) -> str:
        """The address of the running app, such as `http://127.0.0.1:41123`."""
        if self._case is None:
            self._hosts.run(self._root, self._environ())
            self._case = begin_case(self._hosts.cases, self._case_name)
            self._prepare(self._case)
        return self._hosts.url

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
        """The last lines that the app's host printed."""
        return self._hosts.printed

    def kill(self) -> None:
        """End the app's process without a chance to clean up; another one is started, at the same address."""
        self.url  # noqa: B018 - starts it
        self._hosts.kill()
