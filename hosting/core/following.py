"""Follows a run: its events and text, each once, in order, as they come, from whichever process.

Theory. A follower gets at once what this process appends and what its agents write. The text of a run that another
process holds comes with the log (`hosting.core.care`). Text that was delivered when it came is not delivered again
when it is logged. A later attempt repeats the text that was not yet stable, at a smaller offset:
`text[:offset] + delta` is always right. A slow follower delays no other.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any, Literal, overload

from hosting.core.broadcast import DeltaText, LoggedEvent, News, UnderWay, Update
from hosting.core.care import Care, RunView
from hosting.core.thread.events import Claimed, Delta, NoAnswer, RunEvent
from hosting.core.thread.run import Ended, Over, Run, common_length, difference, is_of, under_way, with_delta
from hosting.errors import ShuttingDownError
from hosting.ports import EntityClient

QUIET_SECONDS = 15.0
OUTAGE_SECONDS = 20.0


class StreamTime:
    """How long a stream may go on that begins now: `seconds`, and until its process is about to end."""

    def __init__(self, draining: asyncio.Event, seconds: float) -> None:
        self._draining, self._clock = draining, asyncio.get_running_loop().time
        self._ends_at = self._clock() + seconds

    def left(self) -> float:
        """Return the seconds that the platform leaves it."""
        return max(0.0, self._ends_at - self._clock())

    @property
    def is_over(self) -> bool:
        """Whether the stream is to end now."""
        return self._draining.is_set() or self.left() == 0

    async def wait(self) -> None:
        """Return when the stream is to end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(None if math.isinf(left := self.left()) else left):
                await self._draining.wait()


class Following:
    """Follows runs of this app. The log may be away for `outage_seconds`, and a stream may take `most_seconds`.

    `draining` is set once this process is about to end.
    """

    def __init__(
        self,
        care: Care,
        draining: asyncio.Event,
        *,
        quiet_seconds: float = QUIET_SECONDS,
        outage_seconds: float = OUTAGE_SECONDS,
        most_seconds: float = math.inf,
    ) -> None:
        self._care, self.draining = care, draining
        self._quiet_seconds = quiet_seconds
        self._outage_seconds = outage_seconds
        self._most_seconds = most_seconds

    def stream_time(self) -> StreamTime:
        """Return the time of a stream that begins now."""
        return StreamTime(self.draining, self._most_seconds)

    @overload
    def follow(
        self, run: Run, client: EntityClient, *, time: StreamTime | None = None, logged_only: bool = False
    ) -> AsyncGenerator[list[Update], None]: ...

    @overload
    def follow(
        self,
        run: Run,
        client: EntityClient,
        *,
        time: StreamTime | None = None,
        logged_only: bool = False,
        with_executors: Literal[True],
    ) -> AsyncGenerator[list[News], None]: ...

    async def follow(
        self,
        run: Run,
        client: EntityClient,
        *,
        time: StreamTime | None = None,
        logged_only: bool = False,
        with_executors: bool = False,
    ) -> AsyncGenerator[list[Any], None]:
        """Yield the run's events from its first to its end, and its text as it comes; an empty list per quiet time.

        A followed run is watched (`HeldRuns.watched`), and is claimed here if it has no holder in its turn. The
        follower gets the log's events alone (`logged_only`), or what executors are at too, if the run is held here.
        `time` is that of a stream which has gone on already; without it, one begins with this.
        Raises `ThreadDeletedError` once its thread is deleted, `LogUnavailableError` when the log stays away, and
        `ShuttingDownError` when this process is about to end and does not hold the run, or the platform's time is up.
        """
        delivery = _Delivery(run, logged_only=logged_only, with_executors=with_executors and not logged_only)
        clock = asyncio.get_running_loop().time
        sent_at = clock()
        watching = self._care.watch(
            run, delivery, client, seconds=(time or self.stream_time()).left(), outage_seconds=self._outage_seconds
        )
        async with aclosing(watching) as updates:
            async for new in updates:
                if new or clock() - sent_at >= self._quiet_seconds:
                    yield list(new)
                    sent_at = clock()
        if not delivery.is_over:
            raise ShuttingDownError("The function that sends this stream is about to end. Reconnect for the rest.")


class _Delivery(RunView):
    """A follower's view of a run from its first event on, and its text."""

    def __init__(self, run: Run, *, logged_only: bool, with_executors: bool) -> None:
        super().__init__(Run(run.address, run.accepted, run.first, run.first), run.first - 1)
        self._logged_only = logged_only
        self._with_executors = with_executors
        self._text = ""

    @property
    def is_over(self) -> bool:
        """Whether the last event was delivered; raises as that of any view."""
        return super().is_over and isinstance(self.run.state, Ended)

    def take(self, news: Sequence[News]) -> Sequence[News]:
        """Return those of the follower's run that it does not have yet."""
        new: list[News] = []
        for update in news:
            if self.has_gap:
                break
            if isinstance(update, DeltaText):
                new += [] if self._logged_only else self._unlogged(update)
            elif isinstance(update, UnderWay):
                is_wanted = self._with_executors and update.run_id == self.run.run_id
                new += [update] if is_wanted and under_way(self.run, update.superstep) is not None else []
            elif update.position == self.position + 1:
                new += self._appended(update)
            else:
                self.has_gap = update.position > self.position
        return new

    def _appended(self, update: LoggedEvent) -> list[Update]:
        self.position, event = update.position, update.event
        self.run = self.run.after(update.position, event)
        if not isinstance(event, RunEvent) or not is_of(event, self.run.run_id):
            return []
        if isinstance(event, Delta) and not self._logged_only:
            return [update] if self._add_text(event) is not None else []
        if isinstance(event, Claimed):
            self._text = self._text[: len(self.run.text)]
        if (
            isinstance(event, NoAnswer)
            and self.run.end is event
            and not self._logged_only
            and self._text != self.run.text
        ):
            # Text that is in no log was lost with its attempt.
            same, text = common_length(self._text, self.run.text), self.run.text
            return [DeltaText(event.run_id, same, text[same:], self.run.attempts, update.position - 1), update]
        return [update]

    def _unlogged(self, delta: DeltaText) -> list[Update]:
        if delta.run_id != self.run.run_id or delta.offset > len(self._text):
            return []  # of another run, or after text that was missed: the log has both
        if isinstance(self.run.state, Over) or delta.attempt != self.run.attempts:
            return []  # from before the end, or from an attempt before that of the log
        change = self._add_text(delta)
        return [] if change is None else [DeltaText(delta.run_id, *change, delta.attempt, self.position)]

    def _add_text(self, delta: DeltaText | Delta) -> tuple[int, str] | None:
        """Add a delta to the delivered text; return the new text; a delta without text ends it there."""
        if (change := difference(self._text, delta.offset, delta.text)) is not None:
            self._text = with_delta(self._text, *change)
        return change
