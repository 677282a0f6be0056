"""The app in the process of its tests: the local host in a thread, in place of a process of its own.

Routes, durable functions and stores are those of any local host. What is different: an app's module is run by this
process, so a test may replace what it uses, and nothing can be killed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from hosting.ports import APP_CLOCKS
from hosting.testing.case import CLOCK_FILE, Cases
from hosting.testing.clock import moved_clocks
from hosting.testing.local_app import LocalAppError
from hosting.testing.scripted import count_calls, script_models

_THREADED_HOST = "devhost.threaded"
_SCRIPT, _MODULE, _APP = "function_app.py", "function_app", "AgentFunctionApp"
_KEPT = frozenset({"PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER", "PYTEST_VERSION"})
"""Variables that are pytest's own: it changes them while the app runs."""
CASES = Cases()
"""The cases of the app that runs in this process; outside of a test that uses it there is none."""


@cache
def watch_this_process() -> None:
    """Have agents that are made from now on ask the scripted model while a test has one, and note calls of tools."""
    script_models(CASES)
    count_calls(CASES)


class Variables:
    """The variables of this process while a test uses its app, and then those that it had."""

    def __init__(self) -> None:
        self._changed: dict[str, str | None] = {}

    @contextmanager
    def changed(self, wanted: Mapping[str, str]) -> Iterator[None]:
        """Have these variables and no others, but for pytest's own; note what the block changes, too."""
        before = dict(os.environ)
        try:
            _have({**dict.fromkeys(before.keys() - _KEPT), **wanted})
            yield
        finally:
            names = before.keys() | os.environ.keys()
            self._changed = {name: before.get(name) for name in names if before.get(name) != os.environ.get(name)}

    def restore(self) -> None:
        """Have what was changed as it was before."""
        _have(self._changed)
        self._changed = {}


def _have(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class AppHere:
    """The app of the folder `root` in this process; what its host keeps is in `state`."""

    printed: Sequence[str] = ()
    printed_before: Sequence[str] = ()

    def __init__(self, root: Path, state: Path, cases: Path) -> None:
        self._root, self._state, self._cases = root, state, cases
        self._host: Any = None
        self._module: ModuleType | None = None
        self._of_worker: dict[str, str] = {}

    def start(self) -> str:
        """Run the app's script with the variables that this process has now, and return the app's address.

        Raises `LocalAppError` for an app that cannot be run.
        """
        watch_this_process()
        try:
            threaded = import_module(_THREADED_HOST)
        except ModuleNotFoundError as error:
            if not _THREADED_HOST.startswith(str(error.name)):
                raise
            raise LocalAppError("The local host is not installed. Install functions-local-host.") from None
        self._host = threaded.ThreadedHost(self._state, self._cases / CLOCK_FILE)
        given = dict(os.environ)
        clocks = APP_CLOCKS.set(moved_clocks(self._cases / CLOCK_FILE))
        try:
            url = str(self._host.start(self._run_script, os.environ))
        except threaded.HostError as error:
            raise LocalAppError(f"The app in {self._root} does not start. {error}") from error
        finally:
            APP_CLOCKS.reset(clocks)
        self._of_worker = {name: value for name, value in os.environ.items() if given.get(name) != value}
        return url

    def use(self) -> None:
        """Have the variables again that the host set for the app, which another test uses now."""
        os.environ.update(self._of_worker)

    def kill(self) -> None:
        """Raise `LocalAppError`: it would be the end of the tests."""
        raise LocalAppError(
            "The app runs in the process of its tests, which cannot be killed. Mark the test killed_at, or have the "
            "fixture agent_app_in_process return False in its file."
        )

    def end(self) -> None:
        """End the host and the app. Runs that are at work go no further."""
        if self._host is not None:
            self._host.stop()
        for value in () if self._module is None else tuple(vars(self._module).values()):
            if any(kind.__name__ == _APP for kind in type(value).__mro__):
                value.shutdown.close()

    def _run_script(self) -> ModuleType:
        """Run the script and return its module, which is the one that tests import: the same for every app of it."""
        if str(self._root) not in sys.path:
            sys.path.insert(0, str(self._root))
        path = self._root / _SCRIPT
        spec = spec_from_file_location(_MODULE, path)
        if spec is None or spec.loader is None:
            raise LocalAppError(f"{path} is no Python file.")
        module = sys.modules.get(_MODULE)
        if module is None or getattr(module, "__file__", None) != str(path):
            module = sys.modules[_MODULE] = module_from_spec(spec)
        spec.loader.exec_module(module)
        self._module = module
        return module
