"""An app whose process dies around its n-th append, by itself, or around the removal of a log: on which side of it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.app_folder import make_app
from tests.support.carriers import APP
from tests.support.running_host import RunningHost
from tests.support.whole_lines import whole_lines

HOST = json.loads((APP / "host.json").read_text(encoding="utf-8"))
SOURCE = '''
import os, signal
from functools import partial
from pathlib import Path

import hosting.app
from tests.support.clerk import clerk

NOTES = Path(os.environ["NOTES"])


class KillingStore:
    """A store whose process dies around its n-th write; what it does otherwise is the real store's."""

    def __init__(self, store):
        self._store, self._writes = store, 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def _die(self, side):
        if os.environ.get("KILL") == f"{side} {self._writes}":
            os.kill(os.getpid(), signal.SIGKILL)

    async def _write(self, write):
        self._writes += 1
        self._die("before")
        result = await write
        self._die("after")
        return result

    async def append(self, *arguments, **named):
        return await self._write(self._store.append(*arguments, **named))

    async def forget(self, *arguments):
        if os.environ.get("KILL") == "before forget":
            os.kill(os.getpid(), signal.SIGKILL)
        is_gone = await self._store.forget(*arguments)
        if os.environ.get("KILL") == "after forget":
            os.kill(os.getpid(), signal.SIGKILL)
        return is_gone


def note(what):
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(what + "\\n")


choose = hosting.store_choice.choose_thread_store
hosting.store_choice.choose_thread_store = lambda *arguments: KillingStore(choose(*arguments))
hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
app = hosting.app.AgentFunctionApp(agents=[clerk(note)])
'''


class ClerksApp:
    """The clerk's app in a folder, over one log; its tools note what they did."""

    def __init__(self, folder: Path, log: dict[str, str], source: str = SOURCE) -> None:
        self._notes = folder / "notes.txt"
        self._notes.touch()
        self._environ = {**log, "NOTES": str(self._notes)}
        (folder / "app").mkdir()
        self.path = make_app(folder / "app", source, host=HOST)

    def host(self, **environ: str) -> RunningHost:
        """Start a host of the app."""
        return RunningHost(self.path, environ={**self._environ, **environ})

    def notes(self) -> list[str]:
        """Return which tools did something, in all processes."""
        return [line.split()[0] for line in self.said()]

    def said(self) -> list[str]:
        """Return what the tools did in all processes, a line for each call."""
        return whole_lines(self._notes)
