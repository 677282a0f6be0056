"""The planned agent in a process that kills itself, once, around the n-th append to its run log.

KILL_AT is that number, KILL_WHEN `before` or `after`; NOTES the file that the outside counts by; HARMLESS makes the
tools idempotent.
"""

import os
import signal
from pathlib import Path
from typing import Any

from planned import planned_agent

import hosting.app
from hosting.events import Event
from hosting.ports import RunLogStore

NOTES = Path(os.environ["NOTES"])


class KillingStore:
    """A store whose process is killed at one of its appends; what it does otherwise is the real store's."""

    def __init__(self, store: RunLogStore) -> None:
        self._store = store
        self._appends = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, run_id: str, *events: Event, after: int) -> bool:
        self._appends += 1
        is_last = self._appends == int(os.environ.get("KILL_AT", "0"))
        if is_last and os.environ["KILL_WHEN"] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        appended = await self._store.append(run_id, *events, after=after)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return appended


def note(what: str) -> None:
    """Tell the outside, in one write."""
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(f"{what}\n")


choose = hosting.app.choose_store
hosting.app.choose_store = lambda *arguments: KillingStore(choose(*arguments))
app = hosting.app.AgentFunctionApp(agents=[planned_agent(note, harmless="HARMLESS" in os.environ)])
