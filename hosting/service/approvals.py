"""Tool calls that wait for a person: listed, and answered once. The last answer begins the run that goes on.

Theory. The decision and, with the last one, the run that goes on are one append, so no answer is recorded that nothing
follows. A repeated last answer finds that run. Whoever decides on a head that has moved since reads what was decided
meanwhile and decides anew.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from hosting.address import Address
from hosting.identity import new_id
from hosting.ports import EntityClient
from hosting.request.run_call import fingerprint
from hosting.requests import Decision, RunRequest
from hosting.runner.journal import appended
from hosting.service.holders import Holders
from hosting.service.runs import Run, Runs
from hosting.stores.thread_log import ThreadLog
from hosting.thread.commands import Answer, Change, Stale
from hosting.thread.events import Accepted
from hosting.thread.head import Head
from hosting.thread.rows import ApprovalRow, RunRow, approval_name, run_name
from hosting.thread.run import RunRecord, run_record


@dataclass(frozen=True)
class Answered:
    """An answer was recorded for the run `asked`; `resumed` goes on from there if it was the last one."""

    asked: Run
    resumed: Run | None


class Approvals:
    """Lists and answers the approvals that threads wait for."""

    def __init__(self, log: ThreadLog, runs: Runs, holders: Holders) -> None:
        self._log = log
        self._runs = runs
        self._holders = holders

    async def waiting(self, agent: str, thread_id: str) -> Run | None:
        """Return the run whose approvals the thread waits for now, or None. Raises `LogUnavailableError`."""
        address = Address.of(agent, thread_id)
        head = await self._log.head(address)
        if head.waiting is None or not head.waits_for_approval(time.time()):
            return None
        record = run_record(head.waiting.run_id, await self._log.events(address, head.waiting.first - 1))
        return None if record is None else Run(address, record)

    async def answer(
        self,
        agent: str,
        thread_id: str,
        decision: Decision,
        client: EntityClient,
        *,
        waits: bool = True,
        streamed: bool = False,
    ) -> Answered:
        """Record the decision, and begin the run that goes on if it was the last one missing; see `Runs.start`.

        Raises what the thread refuses: `UnknownApprovalError`, `ApprovalAnsweredError`, `ApprovalExpiredError`,
        `ThreadDeletedError` and `ThreadDeletingError`; and as `Runs.start` does.
        """
        address = Address.of(agent, thread_id)
        return await self._holders.finish(
            self._answer(address, agent, decision, client, waits=waits, streamed=streamed)
        )

    async def _answer(
        self, address: Address, agent: str, decision: Decision, client: EntityClient, *, waits: bool, streamed: bool
    ) -> Answered:
        run_id = new_id()
        asked: RunRecord | None = None

        async def command(head: Head) -> Answer:
            nonlocal asked
            row = await self._log.row(address, ApprovalRow, approval_name(decision.id), head)
            asked = await self._record(address, head, row.asked_by) if isinstance(row, ApprovalRow) else None
            resumed = _resumed(agent, address.thread_id, run_id, asked, decision, streamed=streamed)
            return Answer(time.time(), decision, row, resumed, terms)

        with self._holders.room(address.agent, wanted=waits) as terms:
            done = await self._log.ask(address, await command(await self._log.head(address)), command)
            while isinstance(done.outcome, Stale):  # somebody else decided on another of them at this moment
                done = await self._log.ask(address, await command(done.head), command)
        going_on = await self._runs.begun(address, done, run_id, client)
        assert asked is not None
        for position, event in appended(done) if isinstance(done.outcome, Change) else ():
            asked = asked.after(position, event)
        return Answered(Run(address, asked), going_on)

    async def _record(self, address: Address, head: Head, run_id: str) -> RunRecord | None:
        row = await self._log.row(address, RunRow, run_name(run_id), head)
        return run_record(run_id, await self._log.events(address, row.first - 1)) if isinstance(row, RunRow) else None


def _resumed(
    agent: str, thread_id: str, run_id: str, asked: RunRecord | None, decision: Decision, *, streamed: bool
) -> Accepted:
    """Return the run that goes on: with every decision, and the answer's form that the run before was asked for."""
    before = RunRequest() if asked is None else asked.accepted.request
    made = () if asked is None else tuple(answer.decision for answer in asked.answers)
    request = RunRequest(
        response_format=before.response_format,
        enable_tool_calls=before.enable_tool_calls,
        orchestration_id=before.orchestration_id,
        retry=before.retry,
        decisions=(*made, decision),
    )
    return Accepted(
        at=time.time(),
        run_id=run_id,
        agent=agent,
        thread_id=thread_id,
        request=request,
        fingerprint=fingerprint(agent, thread_id, request),
        streamed=streamed,
    )
