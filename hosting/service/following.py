"""A run's events and words for whoever follows it: each once, in order, as they come, from whichever process.

Theory. What this process appends, and the words that its agents say, reach a follower at once; words of a run that
another process holds come with the log, which is watched, or looked at from 25 ms up to 1 s apart. Words that were told
when they came are not told again when they are logged. A later attempt says anew what was not settled: its words stand
at a smaller offset, and whoever shows `text[:offset] + delta` is right. How slowly a follower takes what it is told is
nobody else's matter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable

from hosting.errors import LogUnavailableError, ThreadDeletedError
from hosting.service.changes import Appended, Changes, Follower, News, Spoken
from hosting.service.holders import Holders
from hosting.service.runs import FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS, LOOK_GROWTH, Run, unbroken
from hosting.stores.contract import ThreadStore
from hosting.stores.thread_log import ThreadLog
from hosting.thread.events import Claimed, Delta, RunEvent
from hosting.thread.run import RunRecord

logger = logging.getLogger(__name__)

QUIET_SECONDS = 15.0
OUTAGE_SECONDS = 20.0


class Following:
    """Follows runs of this app's log, which may stay away for `outage_seconds`."""

    def __init__(
        self,
        log: ThreadLog,
        store: ThreadStore,
        changes: Changes,
        holders: Holders,
        *,
        first_look_seconds: float = FIRST_LOOK_SECONDS,
        quiet_seconds: float = QUIET_SECONDS,
        outage_seconds: float = OUTAGE_SECONDS,
    ) -> None:
        self._log = log
        self._store = store
        self._changes = changes
        self._holders = holders
        self._first_look_seconds = first_look_seconds
        self._quiet_seconds = quiet_seconds
        self._outage_seconds = outage_seconds

    async def follow(self, run: Run) -> AsyncIterator[list[News]]:
        """Yield the run's events from its first to its end, and its words as they come; nothing for each quiet time.

        Raises `ThreadDeletedError` once its thread is deleted, and `LogUnavailableError` when the log stays away.
        """
        telling = _Telling(run)
        clock = asyncio.get_running_loop().time
        look, told_at, seen_at = self._first_look_seconds, clock(), clock()
        with self._changes.followed(run.address) as follower:
            news: Iterable[News] = await self._read(telling)
            while True:
                if told := telling.tell(news):
                    yield told
                    look, told_at = self._first_look_seconds, clock()
                if telling.is_over:
                    return
                if clock() - told_at >= self._quiet_seconds:
                    yield []
                    told_at = clock()
                is_here = self._holders.held(run.run_id) is not None
                news = await follower.next(LONGEST_LOOK_SECONDS if is_here else 0.0)
                is_behind = follower.has_missed or telling.lacks(news)
                if news and not is_behind:
                    continue
                try:
                    if not is_here and not is_behind:
                        await self._watch(telling, follower, look)
                        look = min(look * LOOK_GROWTH, LONGEST_LOOK_SECONDS)
                    if not is_here or is_behind:
                        follower.has_missed = False
                        news = await self._read(telling)
                    seen_at = clock()
                except LogUnavailableError:
                    if clock() - seen_at > self._outage_seconds:
                        raise
                    logger.warning("The log cannot be reached to follow run %s.", run.run_id)
                    await asyncio.sleep(look)

    async def _watch(self, telling: _Telling, follower: Follower, seconds: float) -> None:
        """Return when there may be more: as soon as the store or this process says so, or after so many seconds."""
        hearing = asyncio.ensure_future(follower.arrives(seconds))
        watching = asyncio.ensure_future(self._store.watch(telling.run.address, telling.position, seconds))
        try:
            await asyncio.wait((hearing, watching), return_when=asyncio.FIRST_COMPLETED)
            if watching.done() and not watching.result():
                await hearing
        finally:
            hearing.cancel()
            watching.cancel()

    async def _read(self, telling: _Telling) -> list[News]:
        run, after = telling.run, telling.position
        events = unbroken(run.record, after, await self._log.events(run.address, after))
        return [Appended(position, event) for position, event in events]


class _Telling:
    """What one follower has been told of a run: up to which position, and which text."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.position = run.record.first - 1
        self._record: RunRecord | None = None
        self._text = ""

    @property
    def is_over(self) -> bool:
        """Whether the last event was told; raises `ThreadDeletedError` for a run that has no end of its own."""
        if self._record is not None and self._record.is_deleted and self._record.terminal is None:
            raise ThreadDeletedError(f"Run {self.run.run_id!r} was deleted with its thread.")
        return self._record is not None and self._record.terminal is not None

    def tell(self, news: Iterable[News]) -> list[News]:
        """Return what of it is new to the follower, and its own run's."""
        told: list[News] = []
        for one in news:
            if isinstance(one, Spoken):
                told += self._spoken(one)
            elif one.position == self.position + 1:
                told += self._appended(one)
        return told

    def lacks(self, news: Iterable[News]) -> bool:
        """Tell whether something came between what was told and this, from another process: the log has it."""
        positions = [one.position for one in news if isinstance(one, Appended) and one.position > self.position]
        return bool(positions) and positions[0] != self.position + 1

    def _appended(self, one: Appended) -> list[News]:
        self.position, event = one.position, one.event
        if self._record is None:
            self._record = RunRecord(self.run.record.accepted, one.position, one.position)
        else:
            self._record = self._record.after(one.position, event)
        if not isinstance(event, RunEvent) or event.run_id != self.run.run_id:
            return []
        if isinstance(event, Delta):
            return self._spoken(Spoken(event.run_id, event.offset, event.text))
        if isinstance(event, Claimed):
            self._text = self._text[: len(self._record.text)]
        return [one]

    def _spoken(self, words: Spoken) -> list[News]:
        if words.run_id != self.run.run_id or words.offset > len(self._text):
            return []  # another run's, or words behind some that were missed: the log has both
        end = words.offset + len(words.text)
        if end <= len(self._text) and self._text[words.offset : end] == words.text:
            return []
        self._text = self._text[: words.offset] + words.text
        return [words]
