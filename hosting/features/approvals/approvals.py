"""Tool calls that wait for a person: listed, and answered once. The last answer begins the run that continues.

Theory. The decision and, with the last one, the run that continues are one append, so no answer is recorded that
nothing follows. A repeated last answer finds that run. Whoever decides on a head that has moved since reads what was
decided meanwhile and decides anew.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from hosting.core.agent.held_run import read_run
from hosting.core.agent.hosted_agent import HostedAgent
from hosting.core.held_runs import HeldRuns
from hosting.core.request.response_format import CHECK_SECONDS
from hosting.core.runs import Runs
from hosting.core.thread.commands import AnswerApproval, Change, ClaimTerms, Stale, Unchanged
from hosting.core.thread.events import Accepted
from hosting.core.thread.head import Head
from hosting.core.thread.rows import ApprovalRow
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Answering, Decision, PendingApproval, RunRequest
from hosting.core.thread_log import ThreadLog
from hosting.errors import ForbiddenError, InvalidInputError
from hosting.http.verbs import Answered
from hosting.model_options import options_after
from hosting.names import Address, new_id
from hosting.principal import Caller, owner_of


class _Recording(Struct):
    """An answer under way. The run `requested` it, as of the newest head on which the answer was decided."""

    answering: Answering
    address: Address
    run_id: str
    terms: ClaimTerms | None
    requested: Run | None = None


class Approvals:
    """Lists and answers the approvals that threads wait for."""

    def __init__(self, log: ThreadLog, runs: Runs, holders: HeldRuns, agents: Mapping[str, HostedAgent]) -> None:
        self._log = log
        self._runs = runs
        self._holders = holders
        self._agents = agents

    async def waiting(self, address: Address) -> Run | None:
        """Return the run whose approvals the thread waits for now, or None. Raises `LogUnavailableError`."""
        head = await self._log.head(address)
        if head.waiting is None or not head.is_waiting_for_approval(self._log.clocks.wall()):
            return None
        return await self._run(address, head, head.waiting.run_id)

    async def answer(self, address: Address, answering: Answering) -> Answered:
        """Record the decision, and begin the run that continues if it was the last one missing; see `Runs.start`.

        That run is asked for by whoever decided last, as one that somebody begins by a message.

        Raises what the thread refuses: `UnknownApprovalError`, `ApprovalAnsweredError`, `ApprovalExpiredError`,
        `ThreadDeletedError` and `ThreadDeletingError`; `ForbiddenError` where another user was to sign in; and as
        `Runs.start` does.
        """
        self._runs.admit()
        return await self._holders.shield(self._answer(address, answering))

    async def _answer(self, address: Address, answering: Answering) -> Answered:
        with self._holders.reserve(address.agent, wanted=answering.waits) as terms:
            recording = _Recording(answering, address, new_id(), terms)
            command, head = partial(self._command, recording), await self._log.head(address)
            done = await self._log.execute(address, await command(head), command)
            while isinstance(done.outcome, Stale):  # somebody else decided on another of them at this moment
                done = await self._log.execute(address, await command(done.head), command)
        match done.outcome:
            case Change(run_id="") | Unchanged(run_id=""):  # others are still to be decided
                self._holders.publish(address, done)
                resumed = None
            case _:
                client, waits = answering.caller.client, answering.waits
                resumed = (await self._runs.begun(address, done, recording.run_id, client, waits=waits)).run
        requested = recording.requested
        assert requested is not None
        for position, event in done.events:
            requested = requested.after(position, event)
        return Answered(requested, resumed)

    async def _command(self, recording: _Recording, head: Head) -> AnswerApproval:
        """Return the answer as it is to be decided on that head; raises as `_check` and `_check_user` do."""
        answering, address = recording.answering, recording.address
        row = await self._log.row(address, ApprovalRow, answering.decision.id, head)
        requested = await self._run(address, head, row.asked_by) if isinstance(row, ApprovalRow) else None
        if requested is None and isinstance(row, ApprovalRow):
            row = None  # what asked for it was removed by age, and what is left of it answers nobody
        if requested is not None:
            _check_user(requested, answering)
        if requested is not None and not answering.gives_up:
            await asyncio.to_thread(self._check, address.agent, requested, answering.decision)
        recording.requested, at = requested, self._log.clocks.wall()
        by = None if answering.decision.default else answering.caller.principal
        return AnswerApproval(at, answering.decision, row, _resumed(recording, at), recording.terms, by)

    def _check(self, agent: str, requested: Run, decision: Decision) -> None:
        """Raise `InvalidInputError` for an answer that does not fit the question.

        One that is the same as before is the same again, and one of an older version may lack what is asked for now.
        """
        _check_form(requested, decision)
        is_answered = any(answer.decision.id == decision.id for answer in requested.answers)
        is_checked = decision.value is not None or decision.always is not None
        if is_checked and not is_answered and agent in self._agents:
            self._agents[agent].check_answer(requested, decision)

    async def _run(self, address: Address, head: Head, run_id: str) -> Run | None:
        found = await read_run(self._log, address, run_id, head)
        return found if isinstance(found, Run) else None


_MISSING = {
    "ask": "{!r} waits for an answer. Send it as 'value', by the approval's answer_schema.",
    "client_tool": "Tool {!r} is the caller's own. Send its result as 'value', or 'error'.",
}
_WRONG = {
    "ask": "The value is not what {!r} asked for",
    "client_tool": "The result of tool {!r} is not as its answer_schema says",
}


def _check_form(requested: Run, decision: Decision) -> None:
    """Raise `InvalidInputError` for an answer that is not of the kind, or not of the schema, that was asked for."""
    asked = next((one for one in requested.requested_approvals if one.id == decision.id), None)
    if asked is None or (asked.kind == "client_tool" and not decision.approved):
        return
    if asked.kind == "approve" and decision.value is None and decision.error is None:
        _check_arguments(asked, decision)
        return
    if asked.kind == "authorization":
        _check_bare(asked, decision)
        return
    if asked.kind == "approve":
        raise InvalidInputError(f"Tool {asked.tool!r} waits for a decision. Send 'approved', true or false.")
    if decision.value is None:
        raise InvalidInputError(_MISSING[asked.kind].format(asked.tool))
    if asked.answer_schema is not None and (fault := _fault(asked.answer_schema, decision.value)) is not None:
        raise InvalidInputError(f"{_WRONG[asked.kind].format(asked.tool)}: {fault}.")


def _check_bare(asked: PendingApproval, decision: Decision) -> None:
    """Raise `InvalidInputError` for an answer with more than that the user has signed in, or why not."""
    others = ("value", "error", "arguments", "always", *(("reason",) if decision.approved else ()))
    if sent := [name for name in others if getattr(decision, name) is not None]:
        raise InvalidInputError(
            f"{asked.tool!r} waits for a sign-in. Send 'approved', true once you have signed in, without {sent[0]!r}: "
            "no token, code or password is taken here."
        )


def _check_user(requested: Run, answering: Answering) -> None:
    """Raise `ForbiddenError` where another user was to sign in: the one for whom the run calls its tools."""
    asked = next((one for one in requested.requested_approvals if one.id == answering.decision.id), None)
    if asked is None or asked.kind != "authorization":
        return
    user = requested.accepted.principal
    if (requested.address.owner if user is None else user.owner) != owner_of(answering.caller.principal):
        raise ForbiddenError(
            f"{asked.tool!r} waits for the sign-in of the user for whom it is called. Nobody else may answer, and no "
            "grant or role changes that."
        )


def _check_arguments(asked: PendingApproval, decision: Decision) -> None:
    """Raise `InvalidInputError` for arguments with which the approved tool cannot be called."""
    if decision.arguments is None:
        return
    if asked.arguments_schema is None:
        raise InvalidInputError(
            f"The arguments of {asked.tool!r} cannot be changed. Leave 'arguments' out, or refuse the call and say in "
            "'reason' what you want."
        )
    # A name that the tool does not have would be dropped without a word.
    schema = {"additionalProperties": False, **asked.arguments_schema}
    if (fault := _schema_fault(schema) or _fault(schema, decision.arguments)) is not None:
        raise InvalidInputError(f"The arguments do not fit tool {asked.tool!r}: {fault}. See its arguments_schema.")


def _schema_fault(schema: dict[str, Any]) -> str | None:
    """Return why no value can be checked against a schema, which may be of a server's tool; or None."""
    from hosting.strict_json.json_schema import BadSchemaError, check_schema

    try:
        check_schema(schema)
    except BadSchemaError as error:
        return f"its schema {error}"
    return None


def _fault(schema: dict[str, Any], text: str) -> str | None:
    """Return why the value in a JSON text does not fit a schema, or cannot be checked; None if it fits."""
    from hosting.strict_json.json_schema import UncheckableError, value_fault

    try:
        return value_fault(schema, json.loads(text), CHECK_SECONDS)
    except UncheckableError as error:
        return str(error)


def _resumed(recording: _Recording, at: float) -> Accepted:
    """Return the run that continues: with every decision, and the answer's form that the run before was asked for."""
    answering, address, requested = recording.answering, recording.address, recording.requested
    before = RunRequest() if requested is None else requested.accepted.request
    made = () if requested is None else tuple(answer.decision for answer in requested.answers)
    person: Accepted | Caller = answering.caller
    if requested is not None and any(one.kind == "authorization" for one in requested.requested_approvals):
        person = requested.accepted  # whoever signed in: another who decides last beside that has not
    request = RunRequest(
        response_format=before.response_format,
        enable_tool_calls=before.enable_tool_calls,
        orchestration_id=before.orchestration_id,
        retry=before.retry,
        webhook=None if requested is None else before.webhook_after(requested.run_id),
        client_tools=before.client_tools,
        options=options_after(before.options),
        page_context=before.page_context,
        metadata=before.metadata,
        context=before.context,
        state=answering.state,
        decisions=(*made, answering.decision),
    )
    agent = address.agent if requested is None else requested.accepted.agent
    return Accepted(
        at=at,
        run_id=recording.run_id,
        agent=agent,
        thread_id=address.thread_id,
        request=request,
        fingerprint=request.fingerprint(agent, address.thread_id),
        principal=person.principal,
        grant=person.grant,
        streamed=answering.streamed,
        wire=None if answering.wire is None else dict(answering.wire),
    )
