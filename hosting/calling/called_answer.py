"""The end of a called run on its way: as the text that the entity answers, and as what the caller gets of that.

The caller gets the whole response, contents, usage and finish reason, or the error that names agent, run and cause. The
text is JSON within the result's own JSON: the durable SDKs make Python objects of objects, and a model wrote these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_framework import AgentResponse

from hosting.agent.valued_response import with_value
from hosting.calling.wanted_format import WantedFormat
from hosting.errors import HostingError
from hosting.reply.run_replies import outcome_fields
from hosting.run_record import RunRecord
from hosting.thread.approvals import approval_id, approval_requests
from hosting.thread.events import Completed, Terminal
from state.codec import read_entry
from state.convert import agent_response
from state.errors import MalformedError
from state.models import ResponseEntry


@dataclass(frozen=True)
class Call:
    """One run that Python code asks for."""

    agent: str
    thread_id: str
    run_id: str
    wanted: WantedFormat


class AgentRunError(Exception):
    """A run that was called for ended without an answer.

    `code` is one of the run's codes (docs/http-api.md), or `refused` for a request that the entity did not take.
    """

    def __init__(self, call: Call, code: str, detail: str) -> None:
        super().__init__(f"Agent {call.agent!r}, run {call.run_id} on thread {call.thread_id}: {detail} ({code})")
        self.agent = call.agent
        self.thread_id = call.thread_id
        self.run_id = call.run_id
        self.code = code
        self.detail = detail


def answer_text(record: RunRecord, terminal: Terminal) -> str:
    """Return the text that tells what a run ended in: the answer's fields and its response entry, or the problem."""
    fields = dict(outcome_fields(record, terminal))
    return json.dumps({**fields, "entry": terminal.entry} if isinstance(terminal, Completed) else fields)


def read_answer(call: Call, result: object) -> AgentResponse[Any]:
    """Return the response that a call's result holds; raise `AgentRunError` for every other end."""
    if isinstance(result, Exception):
        raise AgentRunError(call, "refused", str(result))
    answer = _answer(result)
    if answer is None:
        raise AgentRunError(call, "refused", f"The entity answered {result!r:.80}, which is no run's end.")
    if "error" in answer:
        raise AgentRunError(call, answer["error"]["code"], answer["error"]["detail"])
    try:
        return _response(call, answer)
    except MalformedError as error:
        raise AgentRunError(call, "refused", str(error)) from error
    except HostingError as error:
        raise AgentRunError(call, error.code, error.detail) from None


def _answer(result: object) -> Mapping[str, Any] | None:
    """Return the JSON object that a result's text holds."""
    try:
        answer = json.loads(result) if isinstance(result, str) else None
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and ("entry" in answer or "error" in answer) else None


def _response(call: Call, answer: Mapping[str, Any]) -> AgentResponse[Any]:
    entry = read_entry(answer["entry"])
    if not isinstance(entry, ResponseEntry):
        raise MalformedError("The answer's entry is no response.")
    value = call.wanted.value(answer["value"]) if "value" in answer else None
    response = agent_response(entry)
    for request in approval_requests(response):
        request.id = approval_id(call.run_id, request)  # as it is listed and answered over HTTP too
    return with_value(response, value, {"run_id": call.run_id, "thread_id": call.thread_id})
