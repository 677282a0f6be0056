"""What the entity answered to a call, as agent-framework's response or as the error that names agent, run and cause."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from agent_framework import AgentResponse, Content, Message, UsageDetails

from hosting.errors import HostingError
from hosting.wanted_format import WantedFormat


@dataclass(frozen=True)
class Call:
    """One run that an orchestration asks for."""

    agent: str
    thread_id: str
    run_id: str
    wanted: WantedFormat


class AgentRunError(Exception):
    """A run that an orchestration asked for ended without an answer.

    `code` is one of the run's codes (docs/http-api.md), or `refused` for a request that the entity did not take.
    """

    def __init__(self, call: Call, code: str, detail: str) -> None:
        super().__init__(f"Agent {call.agent!r}, run {call.run_id} on thread {call.thread_id}: {detail} ({code})")
        self.agent = call.agent
        self.thread_id = call.thread_id
        self.run_id = call.run_id
        self.code = code
        self.detail = detail


def read_answer(call: Call, result: object) -> AgentResponse[Any]:
    """Return the response that a call's result holds; raise `AgentRunError` for every other end."""
    if isinstance(result, Exception):
        raise AgentRunError(call, "refused", str(result))
    answer = _answer(result)
    if answer is None:
        raise AgentRunError(call, "refused", f"The entity answered {result!r:.80}, which is no run's end.")
    if answer["status"] != "success":
        raise AgentRunError(call, answer["error"]["code"], answer["error"]["detail"])
    try:
        return _response(call, answer)
    except HostingError as error:
        raise AgentRunError(call, error.code, error.detail) from None


def _answer(result: object) -> Mapping[str, Any] | None:
    """Return the JSON object that a result's text holds: text, because the SDK makes Python objects of objects."""
    try:
        answer = json.loads(result) if isinstance(result, str) else None
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and "status" in answer else None


def _response(call: Call, result: Mapping[str, Any]) -> AgentResponse[Any]:
    return AgentResponse(
        messages=[Message("assistant", [Content.from_text(result["response"])])],
        response_id=call.run_id,
        usage_details=cast(UsageDetails, dict(result["usage"])),
        value=call.wanted.value(result["value"]) if "value" in result else None,
        additional_properties={"run_id": call.run_id, "thread_id": call.thread_id},
    )
