"""A thread that waits for approvals: which runs may start on it, decided by its one writer.

Theory. The conversation says which run it waits for, and that run's log says what was decided. A message is refused
until the decisions are there or their time has passed. The run that goes on brings all of them. Started over HTTP, its
id is made of the approvals' ids and its decisions are in the log; brought by an orchestration, they are recorded here
before its agent starts, so that nobody else can decide any more. A run whose log was removed by its age waits no more.
Source: turn.md, Decisions, Approvals.
"""

from __future__ import annotations

from dataclasses import replace

from hosting.approval.approvals import resumed_run_id, resuming_run_id, undecided
from hosting.entity.applying import request_of, with_run
from hosting.errors import ApprovalsPendingError, ApprovalsVoidError, HostingError
from hosting.events import ApprovalAnswered
from hosting.ports import Clock
from hosting.run_record import RunRecord
from hosting.runlog.log import RunLog
from hosting.thread.messages import open_requests
from state.conversation import Pause, pause_of, with_pause
from state.models import Conversation


class Pauses:
    """The pauses of one agent's threads."""

    def __init__(self, log: RunLog, clock: Clock) -> None:
        self._log = log
        self._clock = clock

    async def caught_up(self, record: RunRecord, conversation: Conversation) -> Conversation:
        """Return the conversation with the run that went on from its pause, if that ended without coming by here.

        A run that was cancelled in the queue, or lost, is ended by whoever sees it, and its signal may never arrive.
        """
        pause = pause_of(conversation)
        if pause is None or pause.is_over or record.accepted.request.decisions:
            return conversation
        asked = await self._log.kept(pause.run_id)
        if asked is None or undecided(asked):
            return conversation
        resumed = await self._log.kept(resuming_run_id(asked))
        if resumed is None or resumed.terminal is None:
            return conversation
        grown = with_run(conversation, resumed, request_of(resumed.accepted, conversation))
        return grown or with_pause(conversation, replace(pause, is_over=True))

    async def refusal(self, record: RunRecord, conversation: Conversation) -> HostingError | None:
        """Return why the run may not start on this conversation, or None when it may."""
        if record.accepted.request.decisions:
            return await self._refused_decisions(record, conversation)
        pause = pause_of(conversation)
        if pause is None or pause.is_over:
            return None
        asked = await self._log.kept(pause.run_id)
        if asked is None or (undecided(asked) and self._has_expired(pause)):
            return None
        return ApprovalsPendingError(
            f"Thread {record.accepted.thread_id!r} waits for approvals and takes messages again when all are answered. "
            "GET .../approvals lists them; POST .../approvals/<id> answers one."
        )

    async def _refused_decisions(self, record: RunRecord, conversation: Conversation) -> HostingError | None:
        pause = pause_of(conversation)
        brought = {decision.id for decision in record.accepted.request.decisions}
        if pause is None or brought != open_requests(conversation).keys():
            return ApprovalsVoidError("These are not the tool calls that the thread waits for, or it waits no more.")
        if record.run_id == resumed_run_id(record.accepted.place, brought):
            return None
        return await self._record_brought(record, pause)

    async def _record_brought(self, record: RunRecord, pause: Pause) -> HostingError | None:
        """Record the decisions that the run brought; refuse them when somebody else has decided on one."""
        while (asked := await self._log.kept(pause.run_id)) is not None:
            if asked.answers:
                mine = all(answer.run_id == record.run_id for answer in asked.answers)
                return None if mine else ApprovalsVoidError("Somebody else has answered one of these approvals.")
            if self._has_expired(pause):
                break
            events = [
                ApprovalAnswered(at=self._clock(), decision=decision, run_id=record.run_id)
                for decision in record.accepted.request.decisions
            ]
            if await self._log.append(asked, *events) is not None:
                return None
        return ApprovalsVoidError("The time for these approvals has passed; the thread goes on without the calls.")

    def _has_expired(self, pause: Pause) -> bool:
        return pause.expires_at is not None and self._clock() >= pause.expires_at
