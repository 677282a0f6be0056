"""Runs as callers see them: start one, wait for it, look at it. The agent itself is run by the entity.

Theory. The log is written before the signal, so a run exists from its first line on and whoever attaches to it may do
what the first caller can no longer do: signal again (one compare-and-append decides who) or, past every deadline, end
it as lost. A waiter never reads the conversation. Source: turn.md, Records 1, 7, 8, 9.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from hosting.approval.approvals import resuming_request, resuming_run_id
from hosting.errors import IdempotencyKeyReusedError, LogUnavailableError, RunLostError, UnknownRunError
from hosting.events import Accepted, CancelRequested, Event, Place, Signalled
from hosting.identity import new_id, new_run_id
from hosting.names import entity_name
from hosting.ports import Clock, EntityClient, Found, Opened
from hosting.process.telemetry import carried_traceparent
from hosting.request.run_call import RunCall, Wait, fingerprint
from hosting.run.endings import cancelled
from hosting.run_record import RunRecord
from hosting.runlog.log import RunLog
from hosting.settings import Settings
from hosting.thread.endings import unanswered

logger = logging.getLogger(__name__)

FIRST_POLL_SECONDS = 0.025
POLL_GROWTH = 1.25
"""What a waiter adds to the time of a run that another process executes: an eighth on average, at most a quarter."""

LONGEST_POLL_SECONDS = 1.0
RESIGNAL_SECONDS = 5.0


@dataclass(frozen=True)
class Attached:
    """A run and whether this request found it (an idempotent replay) rather than started it."""

    record: RunRecord
    replayed: bool


class Runs:
    """Starts runs and follows them, for every surface."""

    def __init__(
        self,
        log: RunLog,
        settings: Settings,
        clock: Clock,
        *,
        admit: Callable[[], None] = lambda: None,
        is_heard: Callable[[str], bool] = lambda agent: False,
    ) -> None:
        """`admit` raises the refusal of a run that may not be started; `is_heard` tells whether an agent has a
        callback."""
        self._log = log
        self._settings = settings
        self._clock = clock
        self.admit = admit
        self._is_heard = is_heard

    async def start(self, agent: str, call: RunCall, client: EntityClient) -> Attached:
        """Open the run's log, then signal its entity; with a known idempotency key attach to the run of that key.

        Raises what `admit` does, `LogUnavailableError`, `TooManyRunsError`, `ThreadDeletingError` or, for a key
        whose run was deleted, `ThreadDeletedError`: nothing was started. A signal that fails, or may have failed,
        leaves an accepted run: the caller gets 202, and whoever attaches to it signals again.
        """
        thread_id = call.thread_id or new_id()
        accepted = Accepted(
            at=self._clock(),
            run_id=new_run_id(Place.of(agent, thread_id)),
            agent=agent,
            thread_id=thread_id,
            fingerprint=call.fingerprint(agent),
            request=call.request,
            streamed=call.streams,
            traceparent=carried_traceparent(call.traceparent),
        )
        receipt = f"{agent.lower()}\n{call.idempotency_key}" if call.idempotency_key else None
        opened = await self._begin(accepted, client, receipt, self._settings.queue_limit)
        if isinstance(opened, Found):
            if opened.record.accepted.fingerprint != accepted.fingerprint:
                raise IdempotencyKeyReusedError(
                    "This Idempotency-Key was used for another request. Use a new key for a new request."
                )
            return Attached(opened.record, replayed=True)
        return Attached(opened.record, replayed=False)

    async def resume(self, asked: RunRecord, client: EntityClient, *, streamed: bool = False) -> RunRecord:
        """Return the run that goes on from one whose approvals are all answered, started if nobody has.

        Raises as `start` does; a full queue does not keep it out.
        """
        request, place = resuming_request(asked), asked.accepted.place
        accepted = Accepted(
            at=self._clock(),
            run_id=resuming_run_id(asked),
            agent=asked.accepted.agent,
            thread_id=place.thread_id,
            fingerprint=fingerprint(place.agent, place.thread_id, request),
            request=request,
            traceparent=carried_traceparent(None),
            streamed=streamed,
        )
        opened = await self._begin(accepted, client)
        return await self._care(opened.record, client) if isinstance(opened, Found) else opened.record

    async def wait_as(self, wanted: Wait, record: RunRecord, client: EntityClient) -> RunRecord:
        """Return the record once it is terminal, or as it stands when the caller does not want to wait any longer."""
        if not wanted.answer:
            return record
        longest = self._settings.wait_seconds
        seconds = longest if wanted.seconds is None else min(longest, wanted.seconds)
        return await self.wait(record, client, seconds)

    async def wait(self, record: RunRecord, client: EntityClient, seconds: float) -> RunRecord:
        """Return the record once it is terminal, or as it stands after `seconds`.

        Ends within the same loop turn when this process appends the terminal record; else polls, from 25 ms up to 1 s.
        Raises `ThreadDeletedError` once the run is deleted.
        """
        loop = asyncio.get_running_loop()
        end, pause = loop.time() + seconds, FIRST_POLL_SECONDS
        while record.terminal is None and (left := end - loop.time()) > 0:
            here = self._log.executes(record.run_id)
            changed = await self._log.changed(
                record.run_id, record.position, min(left, LONGEST_POLL_SECONDS if here else pause)
            )
            if changed is not None:
                record = changed
                continue
            pause = min(pause * POLL_GROWTH, LONGEST_POLL_SECONDS)
            record = await self.look(record, client)
        return record

    async def find(self, agent: str, thread_id: str, run_id: str, client: EntityClient) -> RunRecord:
        """Return a run by its place; raises `UnknownRunError` when that place has no such run."""
        record = await self._log.read(run_id)
        if record is None or record.accepted.place != Place.of(agent, thread_id):
            raise UnknownRunError(f"There is no run {run_id[:80]!r} on thread {thread_id[:80]!r} of agent {agent!r}.")
        return await self._care(record, client)

    async def cancel(self, agent: str, thread_id: str, run_id: str, client: EntityClient) -> RunRecord:
        """Have a run end as cancelled, and return it as it then stands; cancelling again changes nothing.

        A run that no attempt holds ends here, so it never starts. Else its log says that it is to end: the process that
        executes it sees that within a second, and so does the next attempt if that process has died.
        """
        record = await self.find(agent, thread_id, run_id, client)
        stopped = await self.end_early(record)
        return stopped if stopped.terminal is record.terminal else await self._tell(stopped, client)

    async def end_early(self, record: RunRecord) -> RunRecord:
        """See `cancel`."""
        while record.terminal is None and not record.cancel_requested:
            now = self._clock()
            event = cancelled(record.run_id, now) if record.claim is None else CancelRequested(at=now)
            record = await self._append(record, event)
        return record

    async def _begin(
        self, accepted: Accepted, client: EntityClient, receipt: str | None = None, most_open: int | None = None
    ) -> Opened | Found:
        """Open the run's log, and signal its entity if that made the run."""
        self.admit()
        opened = await self._log.open(accepted, receipt, most_open)
        if isinstance(opened, Opened):
            await self._signal(opened.record, client)
        return opened

    async def look(self, record: RunRecord, client: EntityClient) -> RunRecord:
        """Return the run as the store has it; with the store down, as it was: the next look may find more."""
        try:
            return await self._care((await self._log.read(record.run_id)) or record, client)
        except LogUnavailableError:
            logger.warning("The run log cannot be reached to look at run %s.", record.run_id)
            return record

    async def _care(self, record: RunRecord, client: EntityClient) -> RunRecord:
        """End an open run that nobody can end any more, or signal it again when its signal may have been lost."""
        if record.terminal is not None:
            return record
        now = self._clock()
        if self._is_lost(record, now):
            error = RunLostError("The run was not ended within its time; its process or its signal was lost.")
            return await self._tell(await self._append(record, unanswered(record.run_id, now, error)), client)
        if self._log.executes(record.run_id):
            return record
        silence = now - record.signalled_at
        if silence > max(RESIGNAL_SECONDS, record.signalled_at - record.accepted.at):
            moved = await self._log.append(record, Signalled(at=now))
            if moved is not None:
                await self._signal(moved, client)
                return moved
        return record

    async def _tell(self, record: RunRecord, client: EntityClient) -> RunRecord:
        """Have an agent's callback hear of a run that ended here: by its entity, which may never have heard of it."""
        if self._is_heard(record.accepted.agent):
            await self._signal(record, client)
        return record

    def _is_lost(self, record: RunRecord, now: float) -> bool:
        if record.claim is None:
            return now > record.accepted.at + self._settings.queue_timeout_seconds
        return now > record.claim.deadline + self._settings.redelivery_seconds

    async def _append(self, record: RunRecord, event: Event) -> RunRecord:
        appended = await self._log.append(record, event)
        return appended or (await self._log.read(record.run_id)) or record

    async def _signal(self, record: RunRecord, client: EntityClient) -> None:
        accepted = record.accepted
        order = {"run_id": accepted.run_id, "logged": True}
        try:
            await client.signal(entity_name(accepted.agent), accepted.thread_id, "run", order)
        except Exception:
            logger.exception(
                "The signal of run %s may not have been sent; it is sent again by who waits.", record.run_id
            )
