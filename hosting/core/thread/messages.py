"""The messages that a run gives its agent: the request's, or decisions on tool calls that wait; never a call left open.

A conversation that paused holds tool calls without results, which no model takes before a message. The decisions make
agent-framework close them. Where there will be none any more, because the time passed or the run that continued ended
without an answer, the next run closes them itself, in front of its message.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from agent_framework import (
    AgentResponse,
    Content,
    Message,
    create_always_approve_tool_response,
    create_always_approve_tool_with_arguments_response,
)
from msgspec import Struct
from msgspec.structs import replace

from hosting.authorizations import Authorization
from hosting.client_tools import Tools, refusal, result_text
from hosting.core.thread.run_request import Decision, PauseKind, PendingApproval, RunRequest, UserMessage
from state.codec import entry_value
from state.conversation import response_of
from state.convert import agent_response, content_values_to_framework, request_entry, stored_response
from state.extension import Pause, host_of
from state.json_values import to_json_value
from state.models import Conversation
from state.portable import portable_text

APPROVALS = frozenset({"function_approval_request", "function_approval_response"})
"""The framework's contents about calls that wait for a person."""
WAITING = ("function_approval_request", "function_call")
_ALWAYS = {
    "tool": create_always_approve_tool_response,
    "tool_with_arguments": create_always_approve_tool_with_arguments_response,
}
_ID_LENGTH = 32
ASKED = "durable_question"
"""The property of the framework's request in which a tool asks a person: question and schema, or the sign-in that it
needs, and the answers before it."""


def waiting_calls(response: AgentResponse[Any]) -> list[Content]:
    """Return the calls of a response that wait: requests for a person's approval, and calls of the caller's tools."""
    return [content for content in response.user_input_requests if content.type in WAITING]


def approval_id(run_id: str, request_id: str | None) -> str:
    """Return the id under which a request of the run is answered: 32 hexadecimal digits.

    It is the run's own, so that a late answer never decides on a later call to which a model gave the same id.
    """
    name = portable_text(f"{run_id}/{request_id}")  # as it is in the stored request
    return hashlib.sha256(name.encode()).hexdigest()[:_ID_LENGTH]


def call_id(run_id: str, request: Content) -> str:
    """Return the id under which a call that waits is answered, whether the framework gave the content an id or not."""
    return approval_id(run_id, request.id or request.call_id)


def pending_approvals(
    run_id: str, response: AgentResponse[Any], tools: Tools, now: float
) -> tuple[PendingApproval, ...]:
    """Return the calls of the run's response that wait, in the order of the model; `tools` are the caller's."""
    schemas = {tool.name: tool.answer_schema for tool in tools}
    return tuple(pending_approval(call_id(run_id, call), call, schemas, now) for call in waiting_calls(response))


def pending_approval(
    pending_id: str, request: Content, schemas: Mapping[str, Any] | None = None, now: float = 0.0
) -> PendingApproval:
    """Return a request for the approval of a call, or a call of a caller's tool, as a run ends with it `now`."""
    kind: PauseKind = "client_tool" if request.type == "function_call" else "approve"
    call = request if kind == "client_tool" else request.function_call
    name = portable_text((call.name if call is not None else None) or "")
    arguments = _arguments(call.arguments if call is not None else None)
    schema = (schemas or {}).get(name) if kind == "client_tool" else None
    pending = PendingApproval(id=pending_id, tool=name, arguments=arguments, kind=kind, answer_schema=schema)
    if (asked := request.additional_properties.get(ASKED)) is None:
        return pending
    question: dict[str, Any]
    if (authorization := asked.get("authorization")) is not None:
        question = {"kind": "authorization", "authorization": Authorization.model_validate(authorization)}
    else:
        question = {"kind": "ask", "question": asked["question"], "answer_schema": asked["schema"]}
    if (seconds := asked.get("seconds")) is not None:
        question |= {"expires_at": now + seconds, "default": asked.get("default")}
    return pending.model_copy(update=question)


def _arguments(arguments: object) -> Any:
    """Return arguments as the object that their text holds, if it holds one: models send text."""
    if not isinstance(arguments, str):
        return to_json_value(arguments or {})
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    return to_json_value(value if isinstance(value, dict) else arguments)


_NOT_MADE = "This call was not made: it was not approved in time."
_NOT_ANSWERED = "This call did not end: nobody answered its question in time."
_NOT_SIGNED_IN = "This call did not end: the user did not sign in in time."
_UNKNOWN = "The run that was to make this call ended before its outcome was recorded. The call may have been made."


def request_messages(request: RunRequest) -> list[Message]:
    """Return the request's messages, the newest last."""
    return framework_messages((*request.earlier, request))


def framework_messages(sent: Iterable[UserMessage]) -> list[Message]:
    """Return messages of users as the framework has them."""
    messages = []
    for message in sent:
        text = [Content.from_text(message.message)] if message.message else []
        messages.append(Message(message.role, [*text, *content_values_to_framework(message.contents)]))
    return messages


def exchange_entries(
    messages: Sequence[Message], name: Callable[[int], str], created_at: str
) -> Iterator[dict[str, Any]]:
    """Yield entries in stored form: a request for messages of users, a response for those of the agent after them.

    `name` returns the correlation id of both, by the number of the pair.
    """
    pair = 0
    for is_answer, group in groupby(messages, lambda message: message.role == "assistant"):
        pair += not is_answer
        if is_answer:
            response: AgentResponse[Any] = AgentResponse(messages=list(group))
            yield stored_response(run_id=name(pair), created_at=created_at, response=response)
        else:
            yield entry_value(request_entry(run_id=name(pair), created_at=created_at, messages=list(group)))


def run_messages(request: RunRequest, conversation: Conversation) -> list[Message]:
    """Return the messages that a run adds to the conversation before its agent answers."""
    if request.decisions:
        return _decided(request, open_requests(conversation))
    pause = host_of(conversation).pause
    own = request_messages(request)
    closing = None if pause is None else _closing(pause, conversation)
    return own if closing is None or not closing.contents else [closing, *own]


def closing_message(conversation: Conversation) -> Message | None:
    """Return the messages that close the conversation's open calls, once decided; None if it has none.

    Whether they were made is unknown.
    """
    pause = host_of(conversation).pause
    return None if pause is None else _closing(replace(pause, is_over=True), conversation)


def open_requests(conversation: Conversation) -> dict[str, Content]:
    """Return the framework's contents of what the conversation waits for, by the approval's id."""
    pause = host_of(conversation).pause
    if pause is None or pause.is_over:
        return {}
    requests = waiting_calls(_paused_response(pause, conversation))
    return {call_id(pause.run_id, request): request for request in requests}


def expiry(approvals: Iterable[PendingApproval], now: float, seconds: float) -> float | None:
    """Return when nobody can answer any more what a run that ends `now` waits for; None for never.

    It is the first time at which something without a default expires: the run cannot go on without it. `seconds` is
    the time of what has none of its own, 0 for ever.
    """
    general = now + seconds if seconds else None
    ends = [approval.expires_at or general for approval in approvals if approval.default is None]
    return min((end for end in ends if end is not None), default=None)


class CallNotes(Struct, frozen=True):
    """What the model learns of decisions, by the framework's id of the call, and the arguments that they changed.

    `refusals` stand in place of a call's result, `changes` before it. `arguments` are JSON texts, by the request's id.
    """

    refusals: Mapping[str, str] = {}
    changes: Mapping[str, str] = {}
    arguments: Mapping[str, str] = {}


def call_notes(request: RunRequest, conversation: Conversation) -> CallNotes:
    """Return what the request's decisions say about the calls that the conversation waits for."""
    refusals, changes, arguments = dict[str, str](), dict[str, str](), dict[str, str]()
    requests = open_requests(conversation) if request.decisions else {}
    for decision in request.decisions:
        asked = requests.get(decision.id)
        if asked is None or asked.id is None or asked.function_call is None or asked.function_call.id is None:
            continue
        if decision.arguments is not None:
            arguments[asked.id] = decision.arguments
            changes[asked.function_call.id] = (
                f"A person changed the arguments of this call before it was made: {decision.arguments}"
            )
        elif not decision.approved and decision.reason:
            refusals[asked.function_call.id] = refusal(decision.reason)
    return CallNotes(refusals, changes, arguments)


def _decided(request: RunRequest, requests: dict[str, Content]) -> list[Message]:
    """Return the results of the caller's tools, the decisions as the framework's responses, and other values."""
    answers = [call_answer(each, requests[each.id]) for each in request.decisions if each.id in requests]
    results = [content for content in answers if content.type == "function_result"]
    decided = [content for content in answers if content.type != "function_result"]
    given = [decision.value for decision in request.decisions if decision.id not in requests and decision.value]
    messages = (Message("tool", results), Message("user", [*decided, *map(Content.from_text, given)]))
    return [message for message in messages if message.contents] or [messages[1]]


def call_answer(decision: Decision, call: Content) -> Content:
    """Return the answer to a call that waits: the result of a caller's tool, or the response to a request."""
    if call.type == "function_call":
        text = result_text(decision.value, decision.error, decision.reason)
        return Content.from_function_result(str(call.call_id), result=text, id=call.id)
    return approval_response(decision, call)


def approval_response(decision: Decision, request: Content) -> Content:
    """Return the decision as the framework's response to its request."""
    assert request.id is not None
    assert request.function_call is not None
    properties: dict[str, Any] = {"reason": decision.reason} if decision.reason else {}
    if decision.always is not None:
        make = _ALWAYS[decision.always]
        properties |= make(request, reason=decision.reason).additional_properties
    asked = request.additional_properties.get(ASKED)
    if asked is not None and "authorization" in asked:
        properties[ASKED] = {**asked, "grants": [*asked["grants"], asked["digest"]]}
    elif asked is not None and decision.value is not None:
        answer = {"digest": asked["digest"], "value": decision.value}
        properties[ASKED] = {**asked, "answers": [*asked["answers"], answer]}
    call = called_with(request.function_call, decision)
    return Content.from_function_approval_response(
        decision.approved, request.id, call, additional_properties=properties
    )


def called_with(call: Content, decision: Decision) -> Content:
    """Return the call as it is made after the decision: with the person's arguments, if they changed them."""
    if decision.arguments is None:
        return call
    changed = copy.copy(call)
    changed.arguments = decision.arguments
    return changed


def _closing(pause: Pause, conversation: Conversation) -> Message:
    contents = [content for message in _paused_response(pause, conversation).messages for content in message.contents]
    ended = {content.call_id for content in contents if content.type == "function_result"}
    calls = [content for content in contents if content.type == "function_call" and content.call_id not in ended]
    asked = {one.function_call.call_id: one.additional_properties.get(ASKED) for one in contents if one.function_call}

    def outcome(call: Content) -> str:
        if pause.is_over:
            return _UNKNOWN
        if (question := asked.get(call.call_id)) is None:
            return _NOT_MADE
        return _NOT_SIGNED_IN if "authorization" in question else _NOT_ANSWERED

    results = [Content.from_function_result(str(call.call_id), result=outcome(call), id=call.id) for call in calls]
    return Message("tool", results)


def _paused_response(pause: Pause, conversation: Conversation) -> AgentResponse[Any]:
    entry = response_of(conversation, pause.run_id)
    return AgentResponse(messages=[]) if entry is None else agent_response(entry)
