"""A request of the protocol, parsed and checked before anything is started.

Theory. Clients send the whole conversation each time, as they have it. The app has it in its log. So what stands before
the agent's last message is not new, and the agent gets only what follows. A client that sends a run again, because its
stream broke, may have some of that run's own messages: their ids say so, and they count for nothing. Answers to
interrupts come without a new message. CopilotKit sends them under the id of the run that asked, with its person's word
as a result of the call, which is none. The result of a tool of the client's own is such a message, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hosting.client_tools import ClientTool
from hosting.core.request.contents import NOT_BLANK, Limits, checked_media_type
from hosting.core.request.fields import LONGEST_REASON, read_decision, read_text
from hosting.core.thread.run_request import Decision, UserMessage
from hosting.errors import InvalidFieldError, MissingMessageError
from hosting.features.ag_ui.context import CONTEXT_SCHEMA, read_context, read_shared
from hosting.features.ag_ui.names import RUN, UnservedInputError
from hosting.http.client_tools import read_client_tools
from hosting.http.routes import COUNTED
from hosting.http.run_call import RawRequest
from hosting.http.wire import Schema, WireDocument, WireOperation, object_schema
from hosting.http.wire_requests import (
    chosen_within,
    inline_file,
    linked_file,
    read_message,
    spelled_fields,
    spellings_of,
)
from hosting.model_options import ChosenOptions
from hosting.names import APP, check_thread_id, id_pattern, is_id
from hosting.strict_json.parsing import json_type

_FORWARDED = "forwardedProps"
WITHOUT_EFFECT = ("availableInterrupts", _FORWARDED)
"""Fields that an older client repeats, and fields for an application's own server, of which the options alone count."""

_TEXT: Schema = {"type": "string"}
_REFUSED = object_schema({"type": {"const": "RUN_ERROR"}, "message": _TEXT, "code": _TEXT}, "type", "message", "code")
_USERS = {"id": _TEXT, "role": {"const": "user"}, "content": dict(NOT_BLANK)}
_MESSAGE: Schema = {
    "anyOf": [object_schema(_USERS, "id", "role", "content"), object_schema({"id": _TEXT, "role": _TEXT}, "id", "role")]
}
FIELDS: dict[str, Schema] = {
    **{name: {} for name in WITHOUT_EFFECT},
    "threadId": {"type": "string", "pattern": f"^{id_pattern(32)}$"},
    "runId": {"type": "string", "pattern": f"^{id_pattern(64)}$"},
    "parentRunId": {"type": ["string", "null"]},
    "protocolVersion": _TEXT,
    "messages": {"type": "array", "items": _MESSAGE},
    "resume": {"type": ["array", "null"], "items": {"type": "object"}},
    "tools": {"type": ["array", "null"], "items": {"type": "object"}},
    "context": CONTEXT_SCHEMA,
    "state": {},
}
"""All fields of a request."""
_SPELLINGS = spellings_of(FIELDS)
_OF_THE_AGENT = frozenset(("assistant", "tool", "reasoning", "activity"))
_MEDIA = ("image", "audio", "video", "document")


class RunInput(Struct, frozen=True):
    """A run that a client wants: new `messages`, or `decisions` on the tool calls that its thread waits for.

    Those in `resume` are `resumed`; the others are results of the client's own `tools`, which stand in its messages.

    `chosen` are the model's options, for a run that messages begin.

    `sent` are all messages as the client has them. Of those that are not of this run, `past` are those up to the
    agent's last one, and `fresh` the new ones. `is_versioned`: the client says which version of the protocol it speaks,
    which none before 1.0 did. The `parent` is the client's own run that began this one; the first event names it again.
    """

    thread_id: str
    run_id: str
    messages: tuple[UserMessage, ...]
    decisions: tuple[Decision, ...]
    sent: tuple[Mapping[str, Any], ...]
    is_versioned: bool
    traceparent: str | None = None
    past: tuple[Mapping[str, Any], ...] = ()
    fresh: tuple[Mapping[str, Any], ...] = ()
    tools: tuple[ClientTool, ...] = ()
    context: str = ""
    state: str | None = None
    resumed: frozenset[str] = frozenset()
    chosen: ChosenOptions = ChosenOptions()
    parent: str = ""

    def without_first(self, count: int) -> RunInput:
        """Return the same without that many of its new messages."""
        return replace(self, messages=self.messages[count:], fresh=self.fresh[count:])

    def stands_in(self, message: Mapping[str, Any]) -> bool:
        """Return whether this message is the client's own stand-in for the result of a decided call."""
        return message["role"] == "tool" and message.get("toolCallId") in self.resumed

    def has_result(self, call_id: str) -> bool:
        """Return whether the client has a message with the result of that call."""
        return any(message["role"] == "tool" and message.get("toolCallId") == call_id for message in self.sent)


def own_prefix(run_id: str) -> str:
    """Return how the ids of all messages begin that a run sends; no id of a run has a colon."""
    return f"{run_id}:"


def without_own(sent: Iterable[Mapping[str, Any]], own: str | tuple[str, ...]) -> dict[int, Mapping[str, Any]]:
    """Return messages by their places, without those of the run with that prefix, and a user's that joined it."""
    before, is_begun = dict[int, Mapping[str, Any]](), False
    for number, message in enumerate(sent):
        if message["id"].startswith(own):
            is_begun = True
        elif not (is_begun and message["role"] == "user"):
            before[number] = message
    return before


def parse_input(call: RawRequest, agent: str, limits: Limits, owner: str = APP) -> RunInput:
    """Return the run that a body asks for; raises `HostingError`s that name the field."""
    fields = spelled_fields(call, _SPELLINGS, limits.body_bytes)
    thread_id = check_thread_id(read_text("threadId", fields.get("threadId")), agent, owner)
    run_id = read_text("runId", fields.get("runId"))
    if not is_id(run_id):
        raise InvalidFieldError(
            f"The field 'runId' is {run_id[:80]!r}. Send 1 to 64 of the characters A-Z a-z 0-9 . _ ~ -, such as a UUID."
        )
    version = fields.get("protocolVersion")
    is_versioned = version is not None and bool(read_text("protocolVersion", version))
    sent = _sent_messages(fields.get("messages"))
    tools = _tools(fields.get("tools"), limits)
    resumed = _decisions(fields.get("resume"))
    own = () if resumed else own_prefix(run_id)
    before = without_own(sent, own)
    newest = max((number for number, message in before.items() if message["role"] in _OF_THE_AGENT), default=-1)
    new = {f"messages[{number}]": message for number, message in before.items() if number > newest}
    messages = tuple(read_message(where, message, "text", _content, limits) for where, message in new.items())
    decided = frozenset(decision.id for decision in resumed)
    decisions = resumed if messages else (*resumed, *_results(before.values(), decided))
    if decisions and messages:
        raise UnservedInputError("Answers to interrupts and a message need two runs. Send 'resume' first.")
    if not decisions and not messages:
        raise MissingMessageError("There is no message after the agent's last one in 'messages'. Send a new one.")
    return RunInput(
        thread_id,
        run_id,
        messages,
        decisions,
        tuple(sent),
        is_versioned=is_versioned,
        traceparent=call.headers.get("traceparent"),
        past=tuple(message for number, message in before.items() if number <= newest),
        fresh=tuple(new.values()),
        tools=tools,
        context=read_context(fields.get("context")),
        state=read_shared(fields.get("state")),
        resumed=decided,
        chosen=chosen_within({_FORWARDED: fields.get(_FORWARDED)}, limits.options),
        parent=read_text("parentRunId", fields.get("parentRunId") or ""),
    )


def _tools(value: object, limits: Limits) -> tuple[ClientTool, ...]:
    """Return the tools of the client; one without a schema has no parameters."""
    if not isinstance(value, list):
        return read_client_tools(value, limits, "tools")
    return read_client_tools([_tool(item) if isinstance(item, dict) else item for item in value], limits, "tools")


def _tool(item: Mapping[str, Any]) -> dict[str, Any]:
    parameters = item.get("parameters")
    schema = {"type": "object", **parameters} if isinstance(parameters, dict) else parameters
    return {"name": item.get("name"), "description": item.get("description"), "parameters": schema}


def _results(messages: Iterable[Mapping[str, Any]], decided: Set[str]) -> list[Decision]:
    """Return the results of the client's own tools: its tool messages after the last message with calls that waited.

    The ids of our own messages and calls have a colon; results of calls that are `decided` stand in for a decision.
    """
    results: dict[str, Decision] = {}
    for message in messages:
        calls = [call.get("id") for call in message.get("toolCalls") or () if isinstance(call, dict)]
        if message["role"] == "user" or any(":" not in str(name) for name in calls):
            results = {}
        if message["role"] != "tool":
            continue
        call_id, content, error = (message.get(name) for name in ("toolCallId", "content", "error"))
        call_id = message.get("tool_call_id") if call_id is None else call_id
        if ":" in message["id"] or call_id in decided:
            continue
        if not (isinstance(call_id, str) and isinstance(content, str) and isinstance(error, str | None)):
            raise InvalidFieldError("A tool message needs the texts 'toolCallId' and 'content'.")
        answer = {"value": content} if error is None else {"error": error[:LONGEST_REASON]}
        results[call_id] = read_decision({"id": call_id, **answer})
    return list(results.values())


def _sent_messages(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise InvalidFieldError(f"The field 'messages' is a JSON {json_type(value)}. Send a list of messages.")
    for number, item in enumerate(value):
        if not isinstance(item, dict) or not all(isinstance(item.get(name), str) for name in ("id", "role")):
            raise InvalidFieldError(
                f"messages[{number}] is not a message. Send an object with 'id', 'role' and 'content'."
            )
    return value


def _content(where: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part in stored form; the reader of the stored form checks it."""
    kind, source, name = part.get("type"), part.get("source"), None
    if kind == "text":
        return {"$type": "text", "text": part.get("text")}
    if kind == "binary":  # the form of all media before 1.0
        types = {"data": "data", "url": "url", "id": "file"}
        member = next((member for member in types if part.get(member) is not None), "data")
        source = {"type": types[member], "value": part.get(member), "mimeType": part.get("mimeType")}
        name = part.get("filename")
    elif kind not in _MEDIA:
        raise UnservedInputError(f"{where} is of type {str(kind)[:60]!r}. Send text, {', '.join(_MEDIA)}.")
    value, media = (source.get("value"), source.get("mimeType")) if isinstance(source, dict) else (None, None)
    if not isinstance(value, str) or not (media is None or isinstance(media, str)):
        raise InvalidFieldError(f"{where} has no source. Send a 'source' with 'type', 'value' and 'mimeType'.")
    assert isinstance(source, dict)
    if media is not None:
        media = checked_media_type(f"{where}.{'mimeType' if kind == 'binary' else 'source.mimeType'}", media)
    match source.get("type"):
        case "file":
            return {"$type": "hostedFile", "fileId": value}
        case "url" if value.startswith("data:"):
            return inline_file(value, name=name)
        case "url":
            return linked_file(value, media, name)
        case "data" if media is not None:
            return inline_file(value, media, name)
    raise InvalidFieldError(f"{where}.source has an unknown type. Send 'data' with 'mimeType', 'url' or 'file'.")


def _decisions(value: object) -> tuple[Decision, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InvalidFieldError("The field 'resume' must be a list of answers to interrupts.")
    return tuple(_decision(f"resume[{number}]", item) for number, item in enumerate(value))


def _decision(where: str, item: Mapping[str, Any]) -> Decision:
    approval_id, status, payload = item.get("interruptId"), item.get("status"), item.get("payload")
    if status == "cancelled":
        return read_decision({"id": approval_id, "approved": False})
    if status != "resolved":
        raise InvalidFieldError(f"{where}.status is {str(status)[:80]!r}. Send 'resolved' or 'cancelled'.")
    if not isinstance(payload, dict):
        raise InvalidFieldError(f'{where}.payload is a JSON {json_type(payload)}. Send {{"approved": true}}, or false.')
    if "value" in payload:
        return read_decision({**payload, "id": approval_id})
    if unknown := payload.keys() - {"approved", "reason", "editedArgs"}:
        raise UnservedInputError(
            f"{where}.payload has {min(unknown)[:80]!r}. Send 'approved', and 'reason' or 'editedArgs' if you like."
        )
    members = {name: payload[name] for name in ("approved", "reason") if name in payload}
    return read_decision({**members, "id": approval_id, "arguments": payload.get("editedArgs")})


_OPERATION = WireOperation(
    RUN,
    None,
    object_schema(FIELDS, "threadId", "runId", "messages", additionalProperties=False),
    streams=True,
    limited=(200, *COUNTED),
)
AG_UI_DOCUMENT = WireDocument(_REFUSED, lambda agents: [_OPERATION])
"""The wire in the OpenAPI document: what it takes and answers, in outline."""
