"""A run whose followers get what a test scripts: its events, in batches, and the error that breaks it off."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from hosting.core.broadcast import DeltaText, LoggedEvent, Update
from hosting.core.following import Following
from hosting.core.thread.events import Claimed, Delta
from hosting.core.thread.run import Run
from hosting.names import Address
from hosting.ports import EntityClient
from tests.support.threads import NOW, accepted, completed

NO_CLIENT: Any = None
FIRST = 4
ENDED = 7
BEGUN: list[Update] = [
    LoggedEvent(FIRST, accepted()),
    LoggedEvent(
        5,
        Claimed(at=NOW, run_id="r1", attempt=1, token="t", holder="caller", lease_seconds=20.0, deadline=NOW + 300),
    ),
]
LOGGED = LoggedEvent(6, Delta(at=NOW, run_id="r1", offset=0, text="Good day"))
END = LoggedEvent(ENDED, completed())
DELTA = DeltaText("r1", 0, "Good", after=5)


class ScriptedFollowing(Following):
    """Yields the same batches to all who follow, each at once; then raises `breaks`, if there is one."""

    def __init__(self, *batches: list[Update], breaks: Exception | None = None) -> None:
        self._batches = batches
        self._breaks = breaks
        self.logged_only: list[bool] = []
        self.let_go = 0

    async def follow(
        self, run: Run, client: EntityClient, *, logged_only: bool = False, with_executors: bool = False
    ) -> AsyncGenerator[list[Update], None]:
        """Yield the batches."""
        self.logged_only.append(logged_only)
        try:
            for batch in self._batches:
                yield batch
            if self._breaks is not None:
                raise self._breaks
        finally:
            self.let_go += 1


def run_after(*news: Update) -> Run:
    """Return the run as it stands behind its beginning and these."""
    run = Run(Address.of("Helper", "t1"), accepted(), FIRST, FIRST)
    for one in (*BEGUN[1:], *news):
        assert isinstance(one, LoggedEvent)
        run = run.after(one.position, one.event)
    return run
