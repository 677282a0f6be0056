"""The routes of a thread's approvals, with their bodies and handlers (docs/guides/approvals.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from hosting.core.outcome import Approval, ThreadIds, approval_fields
from hosting.core.request.fields import ANSWER_FIELDS, ERROR, OF_A_DECISION, VALUE, read_decision
from hosting.core.runs import SHORT_WAIT_SECONDS, Runs
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Answering, Decision
from hosting.features.approvals.approvals import Approvals
from hosting.http import places
from hosting.http.answer_form import Form, answer_form
from hosting.http.bodies import SENT_COMPLETED
from hosting.http.replies import Reply, Streamed, json_reply, thread_headers, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import LOG, Header, ResponseSpec, Route, ok
from hosting.http.routes import (
    PREFERENCE,
    in_progress,
)
from hosting.http.run_call import (
    WAIT_MEMBERS,
    WAIT_PARAMETERS,
    JsonBody,
    RawRequest,
    Wanted,
    read_wanted,
)
from hosting.http.runs import Starting
from hosting.http.verbs import APPROVAL_ID, GOING_ON
from hosting.strict_json.parsing import Schema


class ApprovalList(ThreadIds):
    """One approval that a thread waits for."""

    approvals: list[Approval]


class AnsweredApproval(ThreadIds):
    """The answer is recorded. The thread continues after the last answer."""

    status: Literal["answered"]
    id: str
    approved: bool
    pending_approvals: list[Approval]


_ALONE: Schema = {"properties": {name: {"type": "null"} for name in OF_A_DECISION}}
_DECISION: Schema = {"if": {"properties": {"approved": {"const": False}}}, "then": _ALONE}
ANSWER = JsonBody(
    {**ANSWER_FIELDS, **WAIT_MEMBERS},
    (),
    '{"approved": true}',
    {"approved": _DECISION, VALUE: _ALONE, ERROR: _ALONE},
)
_APPROVALS = places.THREAD.below("approvals")
APPROVALS = Route(
    "thread_approvals", "GET", _APPROVALS, "List the tool calls that wait for approval", ok(ApprovalList), LOG
)
ANSWER_APPROVAL = Route(
    "approval_answer",
    "POST",
    _APPROVALS.below("{approval_id}", APPROVAL_ID),
    "Approve or refuse a tool call",
    (
        ResponseSpec(
            200,
            "The answer is recorded. After the last answer: the response of the run that continued.",
            AnsweredApproval | SENT_COMPLETED,
            (Header("x-ms-run-id", "The run that continued.", always=False), PREFERENCE),
            or_text=True,
            or_events=True,
        ),
        in_progress(PREFERENCE),
    ),
    GOING_ON,
    WAIT_PARAMETERS,
    ANSWER,
    needs="run",
)


class AnswerCall(Struct, frozen=True):
    """A caller's decision, and the wanted answer of the run that may continue."""

    decision: Decision
    wanted: Wanted


def parse_decision(call: RawRequest, approval_id: str, most_bytes: int) -> AnswerCall:
    """Return the decision that a request holds; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    fields = ANSWER.read(call, most_bytes)
    decision = read_decision({**fields, "id": approval_id})
    return AnswerCall(decision, read_wanted(fields, call, answer_form(call.headers.get("accept", ""), "json")))


class ApprovalHandlers:
    """The handlers of the routes of approvals, for all agents' and workflows' threads."""

    def __init__(self, approvals: Approvals, runs: Runs, starting: Starting, most_bytes: int) -> None:
        """A body has `most_bytes` at most."""
        self._approvals = approvals
        self._runs = runs
        self._starting = starting
        self._most_bytes = most_bytes

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return Bound(APPROVALS, self._list), Bound(ANSWER_APPROVAL, self._answer)

    async def _list(self, request: HttpRequest) -> Reply:
        return approvals_reply(request.thread_id, await self._approvals.waiting(request.address))

    async def _answer(self, request: HttpRequest) -> Reply | Streamed:
        agent = request.agent
        call = await request.parsed(lambda raw: parse_decision(raw, request.approval_id, self._most_bytes))
        wanted = call.wanted
        waits = self._runs.wait_seconds(wanted.wait) > SHORT_WAIT_SECONDS
        answering = Answering(call.decision, request.caller, waits=waits, streamed=wanted.form == "events")
        answered = await self._approvals.answer(request.address, answering)
        if answered.resumed is None:
            url = request.thread_url(agent, request.thread_id)
            return answered_reply(answered.requested, call.decision, wanted.form, url)
        return await self._starting.answer(request, agent, answered.resumed, wanted)


def approvals_reply(thread_id: str, paused: Run | None) -> Reply:
    """Return the open approvals of the run `paused`, on which its thread waits."""
    waiting = [] if paused is None else approval_fields(paused, paused.undecided)
    body: ApprovalList = {**thread_ids(thread_id), "approvals": waiting}
    return json_reply(200, body, thread_headers(thread_id))


def answered_reply(paused: Run, decision: Decision, form: Form, thread_url: str) -> Reply:
    """Return that an answer was recorded, and the approvals that still wait."""
    thread_id, waiting = paused.accepted.thread_id, paused.undecided
    if form == "text":
        sentence = f"Answered. {len(waiting)} more before the thread continues. GET {thread_url}/approvals lists them."
        return Reply(200, sentence, "text/plain", thread_headers(thread_id))
    body: AnsweredApproval = {
        "status": "answered",
        "id": decision.id,
        "approved": decision.approved,
        **thread_ids(thread_id),
        "pending_approvals": approval_fields(paused, waiting),
    }
    return json_reply(200, body, thread_headers(thread_id))
