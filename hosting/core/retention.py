"""Removes old data of a thread: events of living ones, and expired threads.

Trimming. Events go by age once a committed document holds what they say. The entity trims, and only up to the position
of the document that it was given: that is committed, while the document that it returns may never be. `Trimmed` is an
event first, so that a reader knows what may be missing; then the store removes it. A process that dies in between
leaves events that are not read: the next check finds and removes them. Complete runs go, with their rows. A check reads
what is too old and a few hundred events behind it, so a thread in use is checked once in many events, and an idle one
by the sweep.

Expiry. An agent may have a time to live, counted from the last successful turn. The turn itself writes the time, from
its event, so a turn applied twice gives one document. Other packages read and write the same property. A time that
cannot be read never passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from hosting.core.thread.commands import TrimThread
from hosting.core.thread.events import TERMINALS, Accepted, Completed, Event, Terminal
from hosting.core.thread.thread_events import Deleted, Deleting
from hosting.core.thread_log import ThreadLog
from hosting.names import Address
from hosting.ports import read_utc, utc
from state.conversation import with_expiration
from state.extension import LogMark
from state.models import Conversation

_Stored = tuple[int, Event]
EVENTS_BETWEEN_TRIMS = 256
DAY_SECONDS = 86_400.0


class Retention:
    """Keeps the events of an app's living threads for so many days."""

    def __init__(self, log: ThreadLog, days: float) -> None:
        self._log = log
        self._kept_seconds = days * DAY_SECONDS

    def is_due(self, mark: LogMark, position: int) -> bool:
        """Return whether an operation that moves a document to that position should trim."""
        return mark.position // EVENTS_BETWEEN_TRIMS < position // EVENTS_BETWEEN_TRIMS

    async def trim(self, address: Address, mark: LogMark) -> None:
        """Remove old events that the document with this mark contains.

        Raises `LogUnavailableError`; removed events stay removed.
        """
        head = await self._log.head(address)
        if head.epoch != mark.epoch or head.state != "open":
            return
        now = self._log.clocks.wall()
        piece = await self._piece(address, head.trimmed)
        is_due = head.trimmed > 0 and not (piece and isinstance(piece[0][1], Deleted))
        older = await self._older(address, piece, mark.since, now - self._kept_seconds)
        through = _last_complete_run(older)
        if through > head.trimmed:
            trimmed = (await self._log.execute(address, TrimThread(now, through))).head
            is_due = is_due or trimmed.trimmed > head.trimmed
            head = trimmed
        if is_due and head.state == "open":  # a tombstone's rows are not for their age to remove
            await self._log.trim(address, head)

    async def _older(self, address: Address, piece: list[_Stored], through: int, oldest_kept: float) -> list[_Stored]:
        """Return the events of that first piece and of those behind it, up to that position, from before `oldest_kept`.

        They are read in pieces, so that a thread with young events alone is read in one piece, however long it is.
        """
        older: list[_Stored] = []
        while piece:
            part = list(takewhile(lambda stored: stored[0] <= through and stored[1].at < oldest_kept, piece))
            older += part
            piece = await self._piece(address, piece[-1][0]) if len(part) == len(piece) else []
        return older

    async def _piece(self, address: Address, after: int) -> list[_Stored]:
        return await self._log.events(address, after, through=after + EVENTS_BETWEEN_TRIMS)


def _last_complete_run(events: Iterable[_Stored]) -> int:
    """Return the position up to which these first events of a thread have no run without its end; 0 without one."""
    open_runs: dict[str, int] = {}
    last = 0
    for position, event in events:
        last = position
        if isinstance(event, Accepted):
            open_runs[event.run_id] = position
        elif isinstance(event, TERMINALS):
            open_runs.pop(event.run_id, None)
        elif isinstance(event, Deleting):
            open_runs.clear()
    return min((first - 1 for first in open_runs.values()), default=last)


def after_turn(conversation: Conversation, terminal: Terminal | None, ttl_seconds: float | None) -> Conversation:
    """Return the conversation with the expiration that a turn gives it.

    An answer begins its time anew, or ends it where the agent has none any more. A run without an answer changes
    nothing, but for a conversation that has no expiration yet: without an answer it would stay for ever.
    """
    if terminal is None or (ttl_seconds is None and not isinstance(terminal, Completed)):
        return conversation
    if ttl_seconds is None:
        return with_expiration(conversation, None)
    if isinstance(terminal, Completed) or conversation.data.expiration_time_utc is None:
        return begun(conversation, terminal.at, ttl_seconds)
    return conversation


def begun(conversation: Conversation, moment: float, ttl_seconds: float) -> Conversation:
    """Return the conversation with its time beginning at that `moment`."""
    return with_expiration(conversation, utc(moment + ttl_seconds))


def is_expired(conversation: Conversation, now: float) -> bool:
    """Return whether the conversation's time is up."""
    expires_at = read_utc(conversation.data.expiration_time_utc or "")
    return expires_at is not None and expires_at <= now
