"""Follows a run: its events and text, each once, in order, as they come, from whichever process.

Theory. A follower gets at once what this process appends and what its agents write. The text of a run that another
process holds comes with the log, which is watched, or polled every 25 ms to 1 s. Text that was delivered when it came
is not delivered again when it is logged. A later attempt repeats what was not yet stable, at a smaller offset:
`text[:offset] + delta` is always right. A slow follower delays nobody.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from typing import Any, Literal, overload

from hosting.errors import LogUnavailableError, ShuttingDownError, ThreadDeletedError
from hosting.ports import EntityClient
from hosting.runner.thread_log import ThreadLog
from hosting.service.broadcast import Broadcast, DeltaText, LoggedEvent, News, UnderWay, Update, unbroken
from hosting.service.held_runs import HeldRuns
from hosting.service.lost_runs import LostRunCheck
from hosting.service.runs import FIRST_POLL_SECONDS, LONGEST_POLL_SECONDS, next_pause
from hosting.stores.contract import MOST_POSITION
from hosting.thread.events import Claimed, Delta, RunEvent
from hosting.thread.run import Run, under_way

logger = logging.getLogger(__name__)

QUIET_SECONDS = 15.0
OUTAGE_SECONDS = 20.0


class Following:
    """Follows runs of this app. The log may be away for `outage_seconds`; a run may be queued for `queue_seconds`."""

    def __init__(
        self,
        log: ThreadLog,
        broadcast: Broadcast,
        holders: HeldRuns,
        *,
        first_poll_seconds: float = FIRST_POLL_SECONDS,
        quiet_seconds: float = QUIET_SECONDS,
        outage_seconds: float = OUTAGE_SECONDS,
        queue_seconds: float = math.inf,
    ) -> None:
        self._log = log
        self._broadcast = broadcast
        self._holders = holders
        self._first_poll_seconds = first_poll_seconds
        self._quiet_seconds = quiet_seconds
        self._outage_seconds = outage_seconds
        self._queue_seconds = queue_seconds

    @overload
    def follow(
        self, run: Run, client: EntityClient, *, logged_only: bool = False
    ) -> AsyncGenerator[list[Update], None]: ...

    @overload
    def follow(
        self, run: Run, client: EntityClient, *, logged_only: bool = False, with_executors: Literal[True]
    ) -> AsyncGenerator[list[News], None]: ...

    async def follow(
        self, run: Run, client: EntityClient, *, logged_only: bool = False, with_executors: bool = False
    ) -> AsyncGenerator[list[Any], None]:
        """Yield the run's events from its first to its end, and its text as it comes; an empty list per quiet time.

        A followed run is watched (`HeldRuns.watched`), and is claimed here if nobody holds it in its turn. The follower
        gets the log's events alone (`logged_only`), or what executors are at too, if the run is held here. Raises
        `ThreadDeletedError` once its thread is deleted, `LogUnavailableError` when the log stays away, and as `_holds`.
        """
        delivery = _Delivery(run, logged_only=logged_only, with_executors=with_executors and not logged_only)
        publish = self._holders.publish
        check = LostRunCheck(self._log, run, self._queue_seconds, publish=publish)
        clock = asyncio.get_running_loop().time
        pause, sent_at, seen_at = self._first_poll_seconds, clock(), clock()
        with (
            self._holders.watched(run.address, run.run_id, client),
            self._broadcast.subscribe(run.address) as follower,
        ):
            updates: Iterable[News] = await self._read(delivery)
            while True:
                if new := delivery.newer(updates):
                    yield new
                    pause, sent_at = self._first_poll_seconds, clock()
                if delivery.is_over:
                    return
                if clock() - sent_at >= self._quiet_seconds:
                    yield []
                    sent_at = clock()
                is_here = self._holds(run.run_id)
                updates = await follower.next(LONGEST_POLL_SECONDS if is_here else 0.0)
                has_gap = follower.has_missed or delivery.misses(updates)
                if updates and not has_gap:
                    continue
                try:
                    if delivery.awaits_holder and not has_gap and not is_here:
                        is_here = await self._holders.claim_next(run.address, run.run_id, client) is not None
                    if not is_here and delivery.known is not None:
                        await check.run(delivery.known)
                    if not is_here and not has_gap:
                        await follower.wait_beside(self._log.watch(run.address, delivery.position, pause), pause)
                        pause = next_pause(pause)
                    if not is_here or has_gap:
                        follower.has_missed = False
                        updates = await self._read(delivery)
                    seen_at = clock()
                except LogUnavailableError:
                    if clock() - seen_at > self._outage_seconds:
                        raise
                    logger.warning("The log cannot be reached to follow run %s.", run.run_id)
                    await asyncio.sleep(pause)

    def _holds(self, run_id: str) -> bool:
        """Return whether this process holds the run; raises `ShuttingDownError` if not, and it is about to end."""
        is_here = self._holders.held.get(run_id) is not None
        if not is_here and self._holders.draining.is_set():
            raise ShuttingDownError("The process that sends this stream is about to end. Reconnect for the rest.")
        return is_here

    async def _read(self, delivery: _Delivery) -> list[News]:
        run, after = delivery.run, delivery.position
        held = self._holders.held.get(run.run_id)
        # Before the log is read: what is newer is queued.
        superstep, text, attempt = (
            (None, "", 0) if held is None else (held.superstep, held.streamed(), held.run.attempts)
        )
        through = run.end or MOST_POSITION
        events = unbroken(run, after, await self._log.events(run.address, after, through=through))
        if delivery.known is None and not events:
            raise ThreadDeletedError(f"Run {run.run_id!r} was deleted with its thread.")
        logged: list[News] = [LoggedEvent(position, event) for position, event in events]
        if superstep is not None:
            logged.append(UnderWay(run.run_id, superstep))
        if text:
            logged.append(DeltaText(run.run_id, 0, text, attempt))
        return logged


class _Delivery:
    """A follower's state of a run: its position and its text."""

    def __init__(self, run: Run, *, logged_only: bool, with_executors: bool) -> None:
        self.run = run
        self._logged_only = logged_only
        self._with_executors = with_executors
        self.position = run.first - 1
        self.known: Run | None = None
        self._text = ""

    @property
    def is_over(self) -> bool:
        """Whether the last event was delivered; raises `ThreadDeletedError` for a run that has no end of its own."""
        if self.known is not None and self.known.is_deleted and self.known.terminal is None:
            raise ThreadDeletedError(f"Run {self.run.run_id!r} was deleted with its thread.")
        return self.known is not None and self.known.terminal is not None

    @property
    def awaits_holder(self) -> bool:
        """Whether the run has no holder, as far as the follower knows."""
        return self.known is not None and self.known.claim is None

    def newer(self, updates: Iterable[News]) -> list[News]:
        """Return those of the follower's run that it does not have yet."""
        new: list[News] = []
        for one in updates:
            if isinstance(one, DeltaText):
                new += [] if self._logged_only else self._unlogged(one)
            elif isinstance(one, UnderWay):
                new += [one] if self._is_wanted(one) else []
            elif one.position == self.position + 1:
                new += self._appended(one)
        return new

    def misses(self, updates: Iterable[News]) -> bool:
        """Return whether another process appended something before these, which must be read from the log."""
        positions = [one.position for one in updates if isinstance(one, LoggedEvent) and one.position > self.position]
        return bool(positions) and positions[0] != self.position + 1

    def _appended(self, one: LoggedEvent) -> list[Update]:
        self.position, event = one.position, one.event
        if self.known is None:
            self.known = Run(self.run.address, self.run.accepted, one.position, one.position)
        else:
            self.known = self.known.after(one.position, event)
        if not isinstance(event, RunEvent) or event.run_id != self.run.run_id:
            return []
        if isinstance(event, Delta) and not self._logged_only:
            return [one] if self._add_text(event) else []
        if isinstance(event, Claimed):
            self._text = self._text[: len(self.known.text)]
        return [one]

    def _is_wanted(self, one: UnderWay) -> bool:
        """Return whether the follower wants the executors' progress, and their superstep has not ended for it."""
        if not self._with_executors or self.known is None or one.run_id != self.run.run_id:
            return False
        return under_way(self.known, one.superstep) is not None

    def _unlogged(self, delta: DeltaText) -> list[Update]:
        if delta.run_id != self.run.run_id or delta.offset > len(self._text):
            return []  # of another run, or after text that was missed: the log has both
        if self.known is None or self.known.is_over or delta.attempt != self.known.attempts:
            return []  # from before the end, or from an attempt before the one that the log has
        offset, text, had = delta.offset, delta.text, self._text[delta.offset :]
        if had and text.startswith(had):
            offset, text = offset + len(had), text[len(had) :]
        new = replace(delta, offset=offset, text=text, after=self.position)
        return [new] if self._add_text(new) else []

    def _add_text(self, delta: DeltaText | Delta) -> bool:
        """Add a delta to the text that was delivered; return whether any of it was new."""
        end = delta.offset + len(delta.text)
        is_there = end <= len(self._text) and self._text[delta.offset : end] == delta.text
        if is_there and (delta.text or end == len(self._text)):  # one without text ends the answer there
            return False
        self._text = self._text[: delta.offset] + delta.text
        return True
