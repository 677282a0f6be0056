"""A run's events for whoever follows it: from the first to the terminal one, in order, each once, as they come.

Theory. Only what is in the log is told, so every follower, now or after a crash, gets the same. What this process
appends it tells its followers from memory, in the same loop turn; a run that another process executes is asked for,
from 25 ms up to 1 s apart, and looked after meanwhile, so that its last event comes even when nobody executes it any
more. A follower takes what it asks for: how slowly it does so is nobody else's matter. Source: http-api.md section 5.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from hosting.errors import LogUnavailableError
from hosting.events import TERMINAL_KINDS, Event
from hosting.ports import EntityClient
from hosting.reply.frames import Frame, Frames
from hosting.run.runs import FIRST_POLL_SECONDS, LONGEST_POLL_SECONDS, Runs
from hosting.run_record import RunRecord
from hosting.runlog.log import RunLog

logger = logging.getLogger(__name__)

QUIET_SECONDS = 15.0
LOOK_SECONDS = 5.0
OUTAGE_SECONDS = 20.0


@dataclass(frozen=True)
class Batch:
    """Frames that came together, up to `position`; none of them where the events have none, or nothing came."""

    frames: tuple[Frame, ...]
    position: int
    is_silence: bool
    is_last: bool


class Following:
    """Follows runs of this app's log, which may stay away for `outage_seconds`."""

    def __init__(self, log: RunLog, runs: Runs, outage_seconds: float = OUTAGE_SECONDS) -> None:
        self._log = log
        self._runs = runs
        self._outage_seconds = outage_seconds

    async def follow(self, record: RunRecord, client: EntityClient) -> AsyncIterator[tuple[Event, ...]]:
        """Yield the run's events, none whenever there were none for 15 s.

        Raises `ThreadDeletedError` once the run is deleted, and `LogUnavailableError` when the log stays away for
        longer than that.
        """
        with self._log.followed(record.run_id):
            position = 0
            silence = Silence()
            while True:
                events = await self._events(record.run_id, position, silence)
                if events:
                    yield events
                    position += len(events)
                    if any(event.kind in TERMINAL_KINDS for event in events):
                        return
                    silence = Silence()
                while not await self._is_worth_asking(record.run_id, position, silence):
                    if silence.is_to_be_told():
                        yield ()
                if silence.is_to_be_told():
                    yield ()
                if silence.is_worth_a_look():
                    record = await self._runs.look(record, client)

    async def batches(self, record: RunRecord, client: EntityClient, after: int) -> AsyncGenerator[Batch, None]:
        """Yield the run's frames behind position `after`; see `follow`. The first batch comes at once, even if empty.

        The frames before are folded and not told.
        """
        frames = Frames()
        async for events in self.follow(record, client):
            told = [frame for event in events for frame in frames.next(event) if frames.told > after]
            yield Batch(tuple(told), max(after, frames.told), not events, frames.has_ended)

    async def _events(self, run_id: str, position: int, silence: Silence) -> tuple[Event, ...]:
        try:
            return await self._log.events(run_id, position)
        except LogUnavailableError:
            if silence.seconds > self._outage_seconds:
                raise
            logger.warning("The run log cannot be reached to follow run %s.", run_id)
            return ()

    async def _is_worth_asking(self, run_id: str, position: int, silence: Silence) -> bool:
        """Wait for news; tell whether there are some, or may be where this process does not hear of them."""
        here = self._log.executes(run_id)
        heard = await self._log.changed(run_id, position, LONGEST_POLL_SECONDS if here else silence.next_poll())
        return heard is not None or not self._log.executes(run_id)


class Silence:
    """How long nothing came, and what is due because of it."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._began = self._told = self._looked = self._clock()
        self._poll_seconds = FIRST_POLL_SECONDS

    @property
    def seconds(self) -> float:
        """Since the last event, or since the follower came."""
        return self._clock() - self._began

    def next_poll(self) -> float:
        """Return the seconds to wait before asking again, each time more."""
        now, self._poll_seconds = self._poll_seconds, min(self._poll_seconds * 1.5, LONGEST_POLL_SECONDS)
        return now

    def is_to_be_told(self) -> bool:
        """Tell, every 15 s once, that the follower should hear that nothing came."""
        is_due, self._told = _due(self._clock(), self._told, QUIET_SECONDS)
        return is_due

    def is_worth_a_look(self) -> bool:
        """Tell, every 5 s once, that somebody should look whether the run can still end."""
        is_due, self._looked = _due(self._clock(), self._looked, LOOK_SECONDS)
        return is_due


def _due(now: float, last: float, every_seconds: float) -> tuple[bool, float]:
    return (True, now) if now - last >= every_seconds else (False, last)
