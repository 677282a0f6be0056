"""A request of `useChat`, parsed and checked before anything is started.

Theory. The client sends its whole chat each time. The thread has it, so only the last message counts. One of the user
begins a run. One of the assistant has answers to what its run waits for: they stand in the parts of the last step,
which is the one in which the run ended. What the parts before it say has been taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hosting.client_tools import ClientTool
from hosting.core.request.contents import Limits, checked_media_type
from hosting.core.request.fields import LONGEST_REASON, read_decision, read_text
from hosting.core.thread.run_request import Decision, UserMessage
from hosting.errors import InvalidFieldError, MissingMessageError
from hosting.features.ai_sdk import names
from hosting.http.client_tools import CLIENT_TOOLS, read_client_tools
from hosting.http.routes import COUNTED
from hosting.http.run_call import RawRequest
from hosting.http.wire import Schema, WireDocument, WireOperation, object_schema
from hosting.http.wire_requests import inline_file, linked_file, message_of_contents, object_fields
from hosting.model_options import OPTIONS, ChosenOptions, read_chosen
from hosting.names import check_thread_id, id_pattern, is_id
from hosting.strict_json.parsing import json_type

_TRIGGERS = ("submit-message", "regenerate-message")
_FIELDS = frozenset(("id", "messages", "trigger", "messageId", CLIENT_TOOLS, OPTIONS))


class ChatRequest(Struct, frozen=True):
    """The last message of a chat: the user's `message`, or `decisions` on what the thread waits for.

    `message_id` is the client's id of it. `is_again`: it is an earlier one, as it was or edited, and the thread goes on
    from before it. `chosen` are the model's options, for a run that the message begins.
    """

    thread_id: str
    message_id: str
    message: UserMessage | None
    decisions: tuple[Decision, ...]
    is_again: bool
    client_tools: tuple[ClientTool, ...]
    chosen: ChosenOptions
    traceparent: str | None


def parse_chat(call: RawRequest, agent: str, limits: Limits, owner: str) -> ChatRequest:
    """Return what a body asks for; raises `HostingError`s that name the field."""
    fields = object_fields(call, _FIELDS, limits.body_bytes)
    thread_id = check_thread_id(read_text("id", fields.get("id")), agent, owner)
    trigger = fields.get("trigger", _TRIGGERS[0])
    if trigger not in _TRIGGERS:
        raise InvalidFieldError(f"The field 'trigger' is {trigger!r:.80}. Send {' or '.join(map(repr, _TRIGGERS))}.")
    where, last = _last(fields.get("messages"))
    message_id = read_text(f"{where}.id", last.get("id"))
    if not is_id(message_id):
        raise InvalidFieldError(f"{where}.id is {message_id[:80]!r}. Send 1 to 64 of A-Z a-z 0-9 . _ ~ -.")
    role, parts = last.get("role"), _parts(where, last.get("parts"))
    decisions = tuple(_decisions(where, parts)) if role == "assistant" else ()
    if role == "assistant" and not decisions:
        raise MissingMessageError(
            f"{where} is the assistant's, and answers nothing that it waits for. End with a message of the user."
        )
    if role not in ("assistant", "user"):
        raise InvalidFieldError(f"{where}.role is {role!r:.80}. End with a message of 'user' or 'assistant'.")
    message = None
    if role == "user":
        contents = [_content(f"{where}.parts[{number}]", part) for number, part in enumerate(parts)]
        message = message_of_contents(where, contents, "user", limits)
    return ChatRequest(
        thread_id,
        message_id,
        message,
        decisions,
        role == "user" and (trigger == _TRIGGERS[1] or fields.get("messageId") is not None),
        read_client_tools(fields.get(CLIENT_TOOLS), limits),
        read_chosen(fields.get(OPTIONS), limits.options),
        call.headers.get("traceparent"),
    )


def _last(value: object) -> tuple[str, Mapping[str, Any]]:
    """Return where the last message stands, and the message."""
    if not isinstance(value, list):
        raise InvalidFieldError(f"The field 'messages' is a JSON {json_type(value)}. Send a list of messages.")
    if not value:
        raise MissingMessageError("The field 'messages' is empty. End with a message of the user.")
    where = f"messages[{len(value) - 1}]"
    if not isinstance(value[-1], dict):
        raise InvalidFieldError(f"{where} is a JSON {json_type(value[-1])}. Send an object with 'id', 'role', 'parts'.")
    return where, value[-1]


def _parts(where: str, value: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise InvalidFieldError(f"{where}.parts is a JSON {json_type(value)}. Send a list of parts.")
    return value


def _content(where: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part in stored form; the reader of the stored form checks it."""
    match part.get("type"):
        case "text":
            return {"$type": "text", "text": part.get("text")}
        case "file":
            url = part.get("url")
            if not isinstance(url, str):
                raise InvalidFieldError(f"{where}.url is a JSON {json_type(url)}. Send a URL, or a data URL.")
            media = part.get("mediaType")
            media = checked_media_type(f"{where}.mediaType", media) if isinstance(media, str) and "/" in media else None
            if url.startswith("data:"):
                return inline_file(url, name=part.get("filename"))
            return linked_file(url, media, part.get("filename"))
    raise names.UnservedMessageError(f"{where} is of type {str(part.get('type'))[:60]!r}. Send text and file.")


def _decisions(where: str, parts: Sequence[Mapping[str, Any]]) -> Iterator[Decision]:
    """Yield the answers in the last step: approvals, and results of calls that the client makes."""
    steps = [number for number, part in enumerate(parts) if part.get("type") == "step-start"]
    for number in range(steps[-1] if steps else 0, len(parts)):
        part, place = parts[number], f"{where}.parts[{number}]"
        state, is_ours = part.get("state"), part.get("providerExecuted") is True
        if state == "approval-responded":
            approval = part.get("approval")
            answer = approval if isinstance(approval, dict) else {}
            reason = {} if answer.get("reason") is None else {"reason": answer["reason"]}
            yield read_decision({"id": answer.get("id"), "approved": answer.get("approved"), **reason})
        elif state == "output-available" and not is_ours:
            yield read_decision({"id": part.get("toolCallId"), "value": part.get("output")})
        elif state == "output-error" and not is_ours:
            text = read_text(f"{place}.errorText", part.get("errorText"))
            yield read_decision({"id": part.get("toolCallId"), "error": text[:LONGEST_REASON]})


_TEXT: Schema = {"type": "string"}
_MESSAGE = object_schema(
    {"id": _TEXT, "role": {"enum": ["user", "assistant", "system"]}, "parts": {"type": "array", "items": {}}},
    *("id", "role", "parts"),
)
_CHAT = object_schema(
    {
        "id": {"type": "string", "pattern": f"^{id_pattern(32)}$"},
        "messages": {"type": "array", "minItems": 1, "items": _MESSAGE},
        "trigger": {"enum": [*_TRIGGERS]},
        "messageId": {"type": ["string", "null"]},
        CLIENT_TOOLS: {"type": ["array", "null"], "items": {"type": "object"}},
        OPTIONS: {"type": ["object", "null"]},
    },
    *("id", "messages"),
    additionalProperties=False,
)
_PROBLEM = object_schema({"status": {"type": "integer"}, "detail": _TEXT, "code": _TEXT}, "status", "detail", "code")
_OPERATIONS = (
    WireOperation(names.SEND, None, _CHAT, streams=True, limited=(200, *COUNTED)),
    WireOperation(names.MESSAGES, object_schema({"messages": {"type": "array", "items": _MESSAGE}}, "messages")),
    WireOperation(names.STREAM, None, streams=True),
)
AI_SDK_DOCUMENT = WireDocument(_PROBLEM, lambda agents: _OPERATIONS)
"""The wire in the OpenAPI document: what it takes and answers, in outline."""
