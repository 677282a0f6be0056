"""An app whose process dies around an append, by itself, or around the removal of a log: on which side of it.

`KILL="before 4"` is the fourth append, `KILL="before completed 2"` the second with an event of that kind. Where a slow
machine may write in two appends what a fast one writes in one, only the kind says what is lost.
"""

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
        self._store, self._writes, self._kinds = store, 0, 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def _is_meant(self, arguments):
        _, _, meant = os.environ.get("KILL", "").partition(" ")
        kind, _, number = meant.rpartition(" ")
        self._writes += 1
        if not kind:
            return number == str(self._writes)
        has_kind = f'"kind":"{kind}"' in str(arguments)
        self._kinds += has_kind
        return has_kind and number == str(self._kinds)

    async def append(self, *arguments, **named):
        is_meant, side = self._is_meant(arguments), os.environ.get("KILL", "").partition(" ")[0]
        if is_meant and side == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = await self._store.append(*arguments, **named)
        if is_meant and side == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

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
