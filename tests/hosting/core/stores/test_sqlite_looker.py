"""Who looks at the file for those that wait: for as long as somebody does, and in its own time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hosting.core.stores.contract import Watchers
from hosting.core.stores.sqlite import ChangePoller

THREAD = ("hub", "joker.app~t1")
GUARD_SECONDS = 5


@pytest.mark.behaviour("log.watch")
async def test_nobody_is_looked_for_whose_event_loop_is_closed() -> None:
    watchers = Watchers()
    with watchers.watching(THREAD, 0) as watcher:
        closed = asyncio.new_event_loop()
        closed.close()
        assert watchers.threads() == [THREAD]

        watcher.loop = closed

        assert watchers.threads() == []


@pytest.mark.behaviour("log.watch")
async def test_a_watch_of_a_file_that_cannot_be_looked_at_ends(tmp_path: Path) -> None:
    """Its caller looks itself, and is told what is wrong."""
    watchers = Watchers()
    looker = ChangePoller(tmp_path, watchers)

    with watchers.watching(THREAD, 0) as watcher:
        looker.start()
        assert not await asyncio.wait_for(watcher.woken_within(30), GUARD_SECONDS)
