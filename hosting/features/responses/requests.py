"""A request of the protocol, parsed and checked before anything is started.

Every field that the protocol has is in one of four tables: served, the agent's own, silent, or refused by a message.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from msgspec import Struct

from hosting.core.request.contents import NOT_BLANK, Limits, limits_of
from hosting.core.request.fields import read_flag, read_text
from hosting.core.request.response_format import read_response_format
from hosting.core.thread.run_request import Decision, ResponseFormat, RunRequest, StartRun, UserMessage
from hosting.errors import InvalidFieldError
from hosting.features.responses import names
from hosting.features.responses.inputs import read_put_items, read_response_input
from hosting.features.responses.names import IdParts
from hosting.http.route import Route
from hosting.http.routes import COUNTED
from hosting.http.run_call import RawRequest, read_idempotency_key
from hosting.http.verbs import MOST_PUT, NewMessages
from hosting.http.wire import Schema, WireDocument, WireOperation, object_schema
from hosting.http.wire_openai import REFUSAL, NotServedError, find_agent, ignored_metadata
from hosting.http.wire_options import TOOL_CHOICES, openai_options
from hosting.http.wire_requests import object_fields
from hosting.metadata import LONGEST_TEXT, MOST_MEMBERS, SCHEMA, read_metadata
from hosting.plan import AgentPlan, Plan
from hosting.ports import Wait
from hosting.settings import Settings

_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": ["boolean", "null"]}
_METADATA: Schema = {
    **SCHEMA,
    "type": ["object", "null"],
    "additionalProperties": {"type": "string", "maxLength": LONGEST_TEXT},
}
_ITEMS: Schema = {"type": "array", "maxItems": MOST_PUT, "items": {"type": "object"}}
FIELDS: Mapping[str, Schema] = {
    "input": {"anyOf": [dict(NOT_BLANK), {"type": "array", "minItems": 1, "items": {"type": "object"}}]},
    "model": {"type": ["string", "null"]},
    "stream": _FLAG,
    "background": _FLAG,
    "store": _FLAG,
    "previous_response_id": {"type": ["string", "null"]},
    "conversation": {"anyOf": [{"type": ["string", "null"]}, object_schema({"id": _TEXT}, "id")]},
    "metadata": _METADATA,
    "text": {"type": ["object", "null"]},
    "tool_choice": TOOL_CHOICES,
    "tools": {"type": ["array", "null"], "items": {"type": "object"}},
}
"""The fields that are served, with the JSON Schemas of their values. A `model` is an agent."""

SERVED = FIELDS.keys()
SILENT = frozenset({"stream_options"})
"""The obfuscation of a stream, which has none."""

AGENTS_OWN = {
    *("context_management", "image", "include", "instructions", "max_output_tokens", "max_tool_calls"),
    *("parallel_tool_calls", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning"),
    *("safety_identifier", "service_tier", "temperature", "top_p", "truncation", "user"),
}
"""What an agent's author decides, or leaves to callers. The response names those that it ignores."""

REFUSED: Mapping[str, str] = {
    "prompt": "Stored prompts are not supported. Leave 'prompt' out.",
    "moderation": "Moderation is not supported. Leave 'moderation' out.",
    "access_programs": "Access programs are not supported. Leave 'access_programs' out.",
    "background_options": "Background runs have no options. Leave 'background_options' out.",
    "top_logprobs": "Probabilities of tokens are not supported. Leave 'top_logprobs' out.",
}
_NOTHING: tuple[Any, ...] = (None, [], {}, 0)
"""Values that ask for nothing; OpenAI's defaults among them."""


class Create(Struct, frozen=True):
    """A response that a caller wants: a run of `agent`, or `decisions` on the tool calls that a thread waits for.

    `waiting` is where that thread is.
    """

    agent: AgentPlan
    start: StartRun
    decisions: tuple[Decision, ...]
    waiting: IdParts | None
    previous: IdParts | None
    conversation: IdParts | None
    streams: bool
    ignored: Sequence[str]


def parse_create(call: RawRequest, plan: Plan, settings: Settings) -> Create:
    """Return the response that a body asks for; raises `HostingError`s that name the field."""
    fields = _body_fields(call, SERVED | SILENT | AGENTS_OWN | REFUSED.keys(), settings.max_body_bytes)
    for name, sentence in REFUSED.items():
        if fields.get(name) not in _NOTHING:
            raise NotServedError(sentence, name)
    metadata = _metadata(fields.get("metadata"))
    previous, conversation = _previous(fields.get("previous_response_id")), _conversation(fields.get("conversation"))
    if previous is not None and conversation is not None:
        raise NotServedError("Send 'conversation' or 'previous_response_id', not both.", "previous_response_id")
    place = previous or conversation
    agent = _agent(plan, fields.get("model"), metadata, place)
    streams, background, stores = (
        default if fields.get(name) is None else read_flag(name, fields[name])
        for name, default in (("stream", False), ("background", False), ("store", True))
    )
    if not stores and (background or place is not None):
        raise NotServedError(
            "A response that is not stored has no conversation and does not run in the background. Leave 'store' out, "
            "or 'background', 'conversation' and 'previous_response_id'.",
            "store",
        )
    limits = limits_of(agent, settings)
    given = read_response_input(fields.get("input"), limits, is_whole=place is None)
    options, unread = openai_options(fields, AGENTS_OWN, limits)
    ignored = [*unread, *given.ignored]
    request = _request(fields, given.messages, limits).model_copy(update={**options, "metadata": metadata})
    waiting = place if given.thread_id is None else IdParts(agent.name, given.thread_id)
    if given.decisions and waiting is None:
        raise NotServedError("An answer needs its conversation. Send 'previous_response_id' too.", "input")
    wire = {
        "metadata": {**ignored_metadata(ignored), **metadata},
        "background": background,
        "previous_response_id": fields.get("previous_response_id"),
        "in_conversation": conversation is not None,
    }
    start = StartRun(
        request,
        None if place is None else place.thread_id,
        Wait(math.inf if streams else None, answer=streams or not background),
        read_idempotency_key(call.headers),
        call.headers.get("traceparent"),
        streams=streams or background,
        wire=wire,
        busy=agent.options.busy,
        temporary=not stores,
    )
    return Create(agent, start, given.decisions, waiting, previous, conversation, streams, ignored)


def _request(fields: dict[str, Any], messages: Sequence[UserMessage], limits: Limits) -> RunRequest:
    """Return the messages for the agent with what is asked of their answer; raises `HostingError`s."""
    if not messages:
        return RunRequest()
    *earlier, last = messages
    return RunRequest(
        **last.model_dump(),
        earlier=tuple(earlier),
        response_format=_format(fields.get("text")),
    )


class NewConversation(Struct, frozen=True):
    """A conversation that a body begins with `agent`: its metadata, and the messages that stand in it."""

    agent: AgentPlan
    metadata: dict[str, str]
    messages: tuple[UserMessage, ...]


def parse_conversation(call: RawRequest, plan: Plan, settings: Settings) -> NewConversation:
    """Return the conversation that a body begins; raises `HostingError`s that name the field."""
    fields = _body_fields(call, {"items", "metadata"}, settings.max_body_bytes)
    metadata = _metadata(fields.get("metadata"))
    agent = find_agent(plan, metadata.get("agent_id") or metadata.get("entity_id"), "'metadata.agent_id'")
    items = fields.get("items")
    return NewConversation(
        agent, metadata, () if items in (None, []) else read_put_items(items, limits_of(agent, settings))
    )


def parse_items(call: RawRequest, limits: Limits) -> NewMessages:
    """Return the messages that a body puts into a conversation; raises `HostingError`s that name the field."""
    fields = _body_fields(call, {"items"}, limits.body_bytes)
    return NewMessages(read_put_items(fields.get("items"), limits), read_idempotency_key(call.headers))


def parse_metadata(call: RawRequest, most_bytes: int) -> dict[str, str]:
    """Return the metadata that a conversation gets; raises `HostingError`s that name the field."""
    fields = _body_fields(call, {"metadata"}, most_bytes)
    if "metadata" not in fields:
        raise InvalidFieldError("The field 'metadata' is missing. Send the conversation's metadata.")
    return _metadata(fields["metadata"])


def _body_fields(call: RawRequest, members: Set[str], most_bytes: int) -> dict[str, Any]:
    """Return the members of a JSON body, empty for no body; raises `HostingError`s."""
    return object_fields(call, members, most_bytes) if call.body else {}


def _metadata(value: object) -> dict[str, str]:
    """Return up to 16 pairs of texts; raises `InvalidFieldError`."""
    pairs = {} if value is None else value
    if not isinstance(pairs, dict) or not all(isinstance(text, str) for text in pairs.values()):
        raise InvalidFieldError(
            f"The field 'metadata' must have at most {MOST_MEMBERS} texts. Send an object of texts."
        )
    read_metadata("metadata", pairs)
    return pairs


def _agent(plan: Plan, model: object, metadata: Mapping[str, str], place: IdParts | None) -> AgentPlan:
    """Return the agent by `metadata.entity_id`, `model`, or the conversation that is continued; all must agree."""
    name = metadata.get("entity_id") or (None if model is None else read_text("model", model))
    agent = find_agent(plan, name or (place.agent if place is not None else None))
    if place is not None and place.agent.lower() != agent.name.lower():
        raise NotServedError(f"The conversation belongs to agent {place.agent!r}, not to {agent.name!r}.", "model")
    return agent


def _previous(value: object) -> IdParts | None:
    return None if value is None else names.read_response_id(read_text("previous_response_id", value))


def _conversation(value: object) -> IdParts | None:
    value = read_text("conversation.id", value.get("id")) if isinstance(value, dict) else value
    return None if value is None else names.read_conversation_id(read_text("conversation", value))


def _format(text: object) -> ResponseFormat | None:
    """Return the format in `text.format`: one object there, two in our own field."""
    members = {} if text is None else text
    if not isinstance(members, dict) or not set(members) <= {"format", "verbosity"}:
        raise InvalidFieldError("The field 'text' must be an object with 'format'.")
    schema = members.get("format")
    if schema is None:
        return None
    if not isinstance(schema, dict) or schema.get("type") not in ("text", "json_object", "json_schema"):
        raise InvalidFieldError("The field 'text.format' must have the type text, json_object or json_schema.")
    if schema["type"] != "json_schema":
        return read_response_format(schema)
    members = {name: member for name, member in schema.items() if name != "type"}
    return read_response_format({"type": "json_schema", "json_schema": members})


def responses_document(routes: Sequence[Route]) -> WireDocument:
    """Return the wire in the OpenAPI document: what it takes and answers, in outline."""
    return WireDocument(REFUSAL, lambda agents: _operations(routes, agents))


def _operations(routes: Sequence[Route], agents: Sequence[str]) -> Iterator[WireOperation]:
    """Yield those operations of the routes that are served, of these agents."""
    others: dict[str, Schema] = {name: {} for name in sorted(SILENT | AGENTS_OWN)}
    created = {**FIELDS, "model": {"enum": [*agents, None]}, **others}
    bodies = {
        names.CREATE: object_schema(created, "input", additionalProperties=False),
        names.BEGIN: object_schema(
            {"metadata": _METADATA, "items": _ITEMS | {"type": ["array", "null"]}}, additionalProperties=False
        ),
        names.ADD_ITEMS: object_schema({"items": _ITEMS | {"minItems": 1}}, "items", additionalProperties=False),
        names.UPDATE: object_schema({"metadata": _METADATA}, "metadata", additionalProperties=False),
    }
    for route in routes:
        answer = {} if route in (names.META, names.ENTITIES, names.ENTITY) else {"object": _TEXT}
        if route not in names.NOT_SERVED:
            yield WireOperation(
                route,
                object_schema(answer, *answer),
                bodies.get(route),
                streams=route in (names.CREATE, names.RESPONSE),
                limited=(200, *COUNTED) if route is names.CREATE else (),
            )
