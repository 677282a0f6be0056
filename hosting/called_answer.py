"""What the entity answered to a call, as agent-framework's response or as the error that names agent, run and cause."""

from __future__ import annotations

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
    if not isinstance(result, Mapping) or "status" not in result:
        raise AgentRunError(call, "refused", f"The entity answered {result!r:.80}, which is no run's end.")
    if result["status"] != "success":
        raise AgentRunError(call, result["error"]["code"], result["error"]["detail"])
    try:
        return _response(call, result)
    except HostingError as error:
        raise AgentRunError(call, error.code, error.detail) from None


def _response(call: Call, result: Mapping[str, Any]) -> AgentResponse[Any]:
    return AgentResponse(
        messages=[Message("assistant", [Content.from_text(result["response"])])],
        response_id=call.run_id,
        usage_details=cast(UsageDetails, dict(result["usage"])),
        value=call.wanted.value(result["value"]) if "value" in result else None,
        additional_properties={"run_id": call.run_id, "thread_id": call.thread_id},
    )
