"""Approvals as callers see them: listed, and answered once. The run that goes on is started by the last answer.

Theory. A decision is appended to the log of the run that asked, and then, if it was the last one, the run that goes on
is opened. A process that dies in between leaves a run that is due: whoever lists the thread's approvals or answers one
again starts it, under the same id. Source: turn.md, Decisions, Approvals.
"""

from __future__ import annotations

from dataclasses import dataclass

from hosting.approval.approvals import asked_approvals, resuming_run_id, undecided
from hosting.entity.threads import Threads, ThreadView
from hosting.errors import ApprovalAnsweredError, ApprovalExpiredError, UnknownApprovalError
from hosting.events import ApprovalAnswered
from hosting.ports import Clock, EntityClient
from hosting.requests import Decision
from hosting.run.runs import Runs
from hosting.run_record import RunRecord
from hosting.runlog.log import RunLog
from state.conversation import pause_of


@dataclass(frozen=True)
class Recorded:
    """An answer was recorded behind the run `asked`; `resumed` goes on from there if it was the last answer."""

    asked: RunRecord
    resumed: RunRecord | None


class Approvals:
    """Lists and answers the approvals that threads wait for."""

    def __init__(self, log: RunLog, runs: Runs, threads: Threads, clock: Clock) -> None:
        self._log = log
        self._runs = runs
        self._threads = threads
        self._clock = clock

    async def paused(self, agent: str, thread_id: str, client: EntityClient) -> RunRecord | None:
        """Return the run whose approvals the thread waits for now, or None; a run that is due is started.

        Raises as `Threads.view` does.
        """
        view = await self._threads.view(agent, thread_id, client)
        asked = await self._asked(view)
        if asked is None:
            return None
        if not undecided(asked):
            await self._runs.resume(asked, client)
            return None
        return None if self._has_expired(asked) else asked

    async def answer(
        self, agent: str, thread_id: str, decision: Decision, client: EntityClient, *, streamed: bool = False
    ) -> Recorded:
        """Record the decision, and start the run that goes on, `streamed` or not, if it was the last one missing.

        Raises as `Threads.view` and `Runs.start` do, `UnknownApprovalError`, `ApprovalAnsweredError` and
        `ApprovalExpiredError`.
        """
        self._runs.admit()
        view = await self._threads.view(agent, thread_id, client)
        waiting = await self._asked(view)
        asked = next((run for run in (waiting, *view.runs) if run is not None and _asks(run, decision.id)), None)
        if asked is None:
            raise UnknownApprovalError(f"Thread {thread_id!r} has no approval {decision.id[:80]!r}.")
        is_waited_for = asked is waiting
        recorded = await self._record(asked, decision, is_waited_for=is_waited_for)
        if recorded is None:
            if is_waited_for and not undecided(asked):
                await self._runs.resume(asked, client)
            raise _answered(asked, decision.id)
        if undecided(recorded):
            return Recorded(recorded, None)
        return Recorded(recorded, await self._runs.resume(recorded, client, streamed=streamed))

    async def _record(self, asked: RunRecord, decision: Decision, *, is_waited_for: bool) -> RunRecord | None:
        """Return the run with the decision behind it, or None when somebody else has decided."""
        while any(approval.id == decision.id for approval in undecided(asked)):
            if not is_waited_for or self._has_expired(asked):
                raise ApprovalExpiredError(
                    f"Approval {decision.id!r} waits no more: its time has passed, or the thread was reset or went on. "
                    "Send the thread its next message."
                )
            moved = await self._log.append(asked, ApprovalAnswered(at=self._clock(), decision=decision))
            if moved is not None:
                return moved
            asked = (await self._log.read(asked.run_id)) or asked
        return None

    async def _asked(self, view: ThreadView) -> RunRecord | None:
        """Return the run that the conversation waits for, with its answers as they stand."""
        pause = pause_of(view.conversation)
        if pause is None or pause.is_over:
            return None
        listed = next((run for run in view.runs if run.run_id == pause.run_id), None)
        return listed or await self._log.read(pause.run_id)

    def _has_expired(self, asked: RunRecord) -> bool:
        expires_at = getattr(asked.terminal, "expires_at", None)
        return expires_at is not None and self._clock() >= expires_at


def _answered(asked: RunRecord, approval_id: str) -> ApprovalAnsweredError:
    """Return the refusal, which leads a caller whose first answer got lost to the run that goes on."""
    went_on = "" if undecided(asked) else f" Run {resuming_run_id(asked)} goes on from there."
    return ApprovalAnsweredError(f"Approval {approval_id!r} is answered already; the first answer stands.{went_on}")


def _asks(run: RunRecord, approval_id: str) -> bool:
    return any(approval.id == approval_id for approval in asked_approvals(run))
