"""Who looks at the file for those that wait: for as long as somebody does, and in its own time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hosting.core.stores.contract import ThreadKey, Watchers
from hosting.core.stores.sqlite import POLL_SECONDS, THREADS, ChangePoller

THREAD = ("hub", "joker.app~t1")
SECONDS = 0.3
GUARD_SECONDS = 5


class CountingWatchers(Watchers):
    """Watchers that count how often somebody asked for whom to look."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def threads(self) -> list[ThreadKey]:
        """Count, and return them."""
        self.looks += 1
        return super().threads()


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[Path]:
    """The file of a store, which stays open."""
    path = tmp_path / "threads.sqlite"
    with contextlib.closing(THREADS.connect(path, "NORMAL")):
        yield path


@pytest.mark.behaviour("log.watch")
async def test_a_store_that_is_closed_and_used_again_is_looked_at_in_its_own_time(path: Path) -> None:
    """The thread that looks is still there for those that wait anew, and in no more hurry than before."""
    watchers = CountingWatchers()
    looker = ChangePoller(path, watchers)

    with watchers.watching(THREAD, 0) as watcher:
        looker.start()
        looker.stop()
        looker.start()
        assert not await watcher.woken_within(SECONDS)

    assert 2 < watchers.looks < 2 * SECONDS / POLL_SECONDS


@pytest.mark.behaviour("log.watch")
async def test_nobody_is_looked_for_whose_event_loop_is_closed() -> None:
    """They will never leave by themselves."""
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
