"""The parts of OpenAI's protocols that are the same in each of them: models, refusals, and an error's shape.

An agent is what OpenAI's clients call a model.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any

from hosting.core.outcome import usage_of
from hosting.core.thread.events import Terminal
from hosting.errors import HostingError, InvalidFieldError, UnknownAgentError
from hosting.http.refusals import TRY_AGAIN, is_later
from hosting.http.replies import Reply
from hosting.http.wire import Schema, object_schema
from hosting.http.wire_replies import refusal_reply
from hosting.http.wire_requests import inline_file, linked_file
from hosting.plan import AgentPlan, Plan

_STATUS_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_TEXT: Schema = {"type": "string"}
REFUSAL: Schema = object_schema(
    {"error": object_schema(dict.fromkeys(("message", "type", "code"), _TEXT), "message", "type", "code")}, "error"
)
"""The JSON Schema of a refusal."""


class NotServedError(HostingError, code="unsupported_parameter", status=400):
    """A field, a value or an operation of the protocol that this app does not serve; `param` names the field."""

    def __init__(self, detail: str, param: str | None = None) -> None:
        super().__init__(detail)
        self.param = param


def find_agent(plan: Plan, name: str | None, place: str = "'model'") -> AgentPlan:
    """Return the agent of that name, which has its place in the request, or the only one.

    Raises `UnknownAgentError`.
    """
    if name is not None:
        return plan.served(name)
    agents = plan.served_of()
    if len(agents) != 1:
        served = ", ".join(agent.name for agent in agents) or "none"
        raise UnknownAgentError(f"Name the agent as {place}. Agents: {served}.")
    return agents[0]


def model_object(agent: AgentPlan) -> dict[str, Any]:
    """Return an agent as the protocol's model; its creation time is unknown."""
    return {"id": agent.name, "object": "model", "created": 0, "owned_by": "app"}


def models_object(plan: Plan) -> dict[str, Any]:
    """Return the list of the agents that are served."""
    return {"object": "list", "data": [model_object(agent) for agent in plan.served_of()]}


def openai_error(error: HostingError) -> dict[str, Any]:
    """Return an error as the protocol has it."""
    kind = _STATUS_TYPES.get(error.status, "server_error" if error.status >= 500 else "invalid_request_error")
    return {"message": error.detail, "type": kind, "param": getattr(error, "param", None), "code": error.code}


def openai_refusal(error: HostingError, *, is_vain: bool = False) -> Reply:
    """Return an error as an answer. Clients retry by themselves only the errors that are worth it.

    `is_vain`: the same request again would begin another run.
    """
    is_vain = is_vain or (not is_later(error) and error.status in (*TRY_AGAIN, 500))
    more = {"x-should-retry": "false"} if is_vain else None
    return refusal_reply(error, {"error": openai_error(error)}, is_later=is_later(error), more=more)


def ignored_metadata(ignored: Sequence[str]) -> dict[str, str]:
    """Return the metadata of an answer that names the fields without an effect; none where all have one."""
    return {"ignored": ", ".join(ignored)} if ignored else {}


def openai_file(where: str, part: Mapping[str, Any], member: str, media_type: str | None) -> dict[str, Any]:
    """Return the file of a part in stored form: by its id, or by what the `member` has.

    That is a data URL, the address of a picture, or Base64 of a file, which is of this `media_type` if its name says no
    other one. Raises `InvalidFieldError`.
    """
    if part.get("file_id") is not None:
        return {"$type": "hostedFile", "fileId": part["file_id"]}
    uri, name = part.get(member), part.get("filename")
    if not isinstance(uri, str):
        raise InvalidFieldError(f"{where} has neither file_id nor {member}.")
    if uri.startswith("data:"):
        return inline_file(uri, name=name)
    if media_type is None:
        return linked_file(uri)
    return inline_file(uri, mimetypes.guess_type(str(name))[0] or media_type, name)


def openai_usage(end: Terminal | None, read: str, written: str, **of_cache: int) -> dict[str, Any] | None:
    """Return the tokens of a run, with all its attempts, where the protocol says so of those `read` and `written`.

    `of_cache` are further counts of its cache. None where the run has not ended, and where its model counts none.
    """
    used = usage_of(end)
    if not used:
        return None
    cached, reasoning = (used.get(f"{name}_token_count", 0) for name in ("cache_read_input", "reasoning_output"))
    return {
        f"{read}_tokens": used.get("input_token_count", 0),
        f"{read}_tokens_details": {"cached_tokens": cached, **of_cache},
        f"{written}_tokens": used.get("output_token_count", 0),
        f"{written}_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": used.get("total_token_count", 0),
    }
