"""The entity of a thread: the one writer of its document, and the watchman that finishes what others began.

Theory. Every run has a signal to its entity, so whatever becomes of the processes that hold runs, an operation comes by
here. It applies the ends that the document lacks, in their order. Then, until the run that it was sent for has ended,
it claims and runs what nobody holds or what a lost process held, and watches what is held elsewhere. It does not watch
for ever: after a while it commits what it has and sends itself on. It raises only to be delivered again, when the log
cannot be reached before an agent started; bad data it answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from hosting.address import Address
from hosting.errors import UnreadableStateError
from hosting.runner.lease import SILENCE_MARGIN_SECONDS, awake_seconds
from hosting.service.documents import Documents
from hosting.service.holders import Holders
from hosting.stores.thread_log import ThreadLog
from hosting.thread.commands import Accept, Change, Forget, Refused, Unchanged
from hosting.thread.conversation import Ahead, Outdated, Snapshot, resume
from hosting.thread.events import Accepted
from hosting.thread.head import Head
from hosting.thread.rows import RunRow, run_name
from hosting.thread.run import RunRecord, run_record
from state.codec import read
from state.errors import UnreadableStateError as UnreadableDocumentError

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 2.0
WATCHED_SECONDS = 60.0


class OutdatedDocumentError(Exception):
    """The entity was given an older document than the log goes on from: its operation is to be delivered again."""


@dataclass(frozen=True)
class Watched:
    """What an operation came to: the conversation to be stored, and the run that it was sent for.

    `goes_on`: the run has not ended, and the operation is to be sent again at once. `run` is None for one that the
    thread does not have any more.
    """

    snapshot: Snapshot
    epoch: int
    run: RunRecord | None = None
    goes_on: bool = False


class Watchman:
    """The operations of the entities of one app, for one event loop."""

    def __init__(
        self,
        log: ThreadLog,
        documents: Documents,
        holders: Holders,
        *,
        queue_limit: int,
        watched_seconds: float = WATCHED_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
        margin_seconds: float = SILENCE_MARGIN_SECONDS,
        clock: Callable[[], float] = awake_seconds,
    ) -> None:
        self._log = log
        self._documents = documents
        self._holders = holders
        self._queue_limit = queue_limit
        self._watched_seconds = watched_seconds
        self._first_pause_seconds = first_pause_seconds
        self._margin_seconds = margin_seconds
        self._clock = clock

    async def run(self, address: Address, stored: str | None, run_id: str) -> Watched:
        """Have the run ended, by whoever holds it or here; return the conversation with all that has ended.

        Raises `UnreadableStateError` for a stored document that cannot be read or is ahead of the log,
        `OutdatedDocumentError`, and `LogUnavailableError` before an agent was started.
        """
        head = await self._log.head(address)
        snapshot, began = _resumed(stored, head), head.position
        silence, end, pause = _Silence(self._clock), self._clock() + self._watched_seconds, self._first_pause_seconds
        while True:
            snapshot = await self._followed(address, snapshot, head)
            if head.run(run_id) is None:
                return Watched(snapshot, head.epoch, await self._record(address, head, run_id))
            self._documents.put(address, head, snapshot)
            silent = silence.of(head, self._margin_seconds)
            held = await self._holders.claim_as_entity(address, began, silent, snapshot)
            if held is not None:
                await held.is_over.wait()
            elif self._clock() >= end:
                return Watched(snapshot, head.epoch, await self._record(address, head, run_id), goes_on=True)
            else:
                await asyncio.sleep(min(pause, max(0.0, end - self._clock())))
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            head = await self._log.head(address)

    async def accept(self, address: Address, accepted: Accepted) -> Unchanged | Change | Refused:
        """Accept a run that an operation carries; one that is delivered again finds its run.

        Raises `LogUnavailableError`.
        """

        async def command(head: Head) -> Accept:
            known = await self._log.row(address, RunRow, run_name(accepted.run_id), head)
            return Accept(accepted, self._queue_limit, known=known, epoch=began)

        head = await self._log.head(address)
        began = head.epoch
        asked = await self._log.ask(address, await command(head), command)
        assert isinstance(asked.outcome, Change | Unchanged | Refused)
        return asked.outcome

    async def reset(self, address: Address, stored: str | None, position: int | None) -> Watched:
        """Return the conversation behind a reset: the one at that position of the log, or without one a new one.

        Raises as `run` does.
        """
        head = await self._log.head(address)
        if position is None or position > head.reset_at:
            head = (await self._log.ask(address, Forget(time.time()))).head
        return Watched(await self._followed(address, _resumed(stored, head), head), head.epoch)

    async def _followed(self, address: Address, snapshot: Snapshot, head: Head) -> Snapshot:
        is_fresh = not snapshot.open and snapshot.since < snapshot.position
        if snapshot.position == head.position and not is_fresh:
            return snapshot
        events = await self._log.events(address, snapshot.since if is_fresh else snapshot.position)
        return snapshot.follow([(at, event) for at, event in events if at <= head.position])

    async def _record(self, address: Address, head: Head, run_id: str) -> RunRecord | None:
        row = await self._log.row(address, RunRow, run_name(run_id), head)
        if not isinstance(row, RunRow):
            return None
        return run_record(run_id, await self._log.events(address, row.first - 1))


class _Silence:
    """For how long nothing was appended, by the watcher's own clock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._append_id = ""
        self._since = 0.0

    def of(self, head: Head, margin_seconds: float) -> str | None:
        """Return the append behind which the holder was silent for its lease and a margin; None while it was not."""
        if head.append_id != self._append_id:
            self._append_id, self._since = head.append_id, self._clock()
        if head.claim is None or self._clock() - self._since < head.claim.lease_seconds + margin_seconds:
            return None
        return self._append_id


def _resumed(stored: str | None, head: Head) -> Snapshot:
    try:
        found = resume(None if stored is None else read(stored), head)
    except UnreadableDocumentError as error:
        raise UnreadableStateError.because(error) from error
    if isinstance(found, Ahead):
        raise found.refusal()
    if isinstance(found, Outdated):
        raise OutdatedDocumentError("A newer document has been stored meanwhile.")
    return found
