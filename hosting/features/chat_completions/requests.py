"""A request of the protocol, parsed and checked before anything is started.

Theory. The protocol's caller sends the whole conversation each time, so its thread is a temporary one, which goes with
the answer. A request that names a thread continues that: the thread has the conversation, and the messages behind the
last one of the assistant are new. A request that ends with results of the caller's tools answers the thread that called
them. Every field that the protocol has is in one of three tables: served, the agent's own, or refused. What an agent's
author decides is ignored and named in the answer, because chat front ends send it unasked;
what would change the meaning of the answer is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.request.contents import Limits, limits_of
from hosting.core.request.fields import read_flag, read_text
from hosting.core.request.response_format import read_response_format
from hosting.core.thread.run_request import RunRequest, StartRun, UserMessage
from hosting.errors import InvalidFieldError
from hosting.features.chat_completions import names
from hosting.features.chat_completions.calls import add_calls, read_content, read_results
from hosting.http.routes import COUNTED
from hosting.http.run_call import THREAD_ID_HEADERS, RawRequest, one_thread_id, read_idempotency_key
from hosting.http.wire import Schema, WireDocument, WireOperation, object_schema
from hosting.http.wire_calls import OwnConversation, Result
from hosting.http.wire_openai import REFUSAL, NotServedError, find_agent, openai_file
from hosting.http.wire_options import TOOL_CHOICES, openai_options
from hosting.http.wire_requests import inline_file, object_fields, read_message
from hosting.names import check_thread_id
from hosting.plan import AgentPlan, Plan
from hosting.ports import Wait
from hosting.settings import Settings
from hosting.strict_json.parsing import json_type

_FLAG: Schema = {"type": ["boolean", "null"]}
FIELDS: Mapping[str, Schema] = {
    "messages": {"type": "array", "minItems": 1, "items": {"type": "object"}},
    "model": {"type": ["string", "null"]},
    "stream": _FLAG,
    "stream_options": {"type": ["object", "null"]},
    "response_format": {"type": ["object", "null"]},
    "metadata": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
    "tool_choice": TOOL_CHOICES,
    "tools": {"type": ["array", "null"], "items": {"type": "object"}},
}
"""The fields that are served, with the JSON Schemas of their values. A `model` is an agent."""

SERVED = FIELDS.keys()
AGENTS_OWN = {
    *("frequency_penalty", "logit_bias", "max_completion_tokens", "max_tokens", "parallel_tool_calls", "prediction"),
    *("presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning_effort"),
    *("safety_identifier", "seed", "service_tier", "store", "temperature", "top_p", "user", "verbosity"),
}
"""What an agent's author decides, or leaves to callers. An answer names those that it ignores."""

_OLDER = "OpenAI has 'tools' in place of {!r}. Send functions as 'tools', if the agent takes any."
REFUSED: Mapping[str, str] = {
    **{name: _OLDER.format(name) for name in ("functions", "function_call")},
    "web_search_options": "The agent has its own tools, which this app runs. Leave 'web_search_options' out.",
    "audio": "Answers are texts. Leave 'audio' out.",
    "logprobs": "Probabilities of tokens are not supported. Leave 'logprobs' out.",
    "top_logprobs": "Probabilities of tokens are not supported. Leave 'top_logprobs' out.",
    "moderation": "Moderation is not supported. Leave 'moderation' out.",
    "stop": "An answer is not cut off at a text. Leave 'stop' out.",
}
_NOTHING: tuple[Any, ...] = (None, False, [], {}, "", 0)
"""Values that ask for nothing; OpenAI's defaults among them."""

_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system", "developer": "system"}


class Completion(Struct, frozen=True):
    """A completion that a caller wants: a new run, or the one that goes on with `results` of the caller's tools.

    `ignored` are the parts of the request that have no effect. `counts_usage`: its stream ends with the tokens.
    """

    agent: AgentPlan
    start: StartRun
    results: tuple[Result, ...]
    ignored: Sequence[str]
    streams: bool
    counts_usage: bool

    @property
    def is_repeatable(self) -> bool:
        """Whether the same request again finds the same run: by its key, or by the calls that it answers."""
        return self.start.idempotency_key is not None or bool(self.results)


def parse_completion(call: RawRequest, plan: Plan, settings: Settings, owner: str) -> Completion:
    """Return the completion that a body asks for; raises `HostingError`s that name the field."""
    known = {*SERVED, *AGENTS_OWN, *REFUSED, "n", "modalities"}
    fields = object_fields(call, known, settings.max_body_bytes)
    for name, sentence in REFUSED.items():
        if fields.get(name) not in _NOTHING:
            raise NotServedError(sentence, name)
    if fields.get("n") not in (None, 1):
        raise NotServedError("A completion has one choice. Leave 'n' out, or send 1.", "n")
    if fields.get("modalities") not in (None, [], ["text"]):
        raise NotServedError("Answers are texts. Leave 'modalities' out, or send ['text'].", "modalities")
    model = fields.get("model")
    agent = find_agent(plan, None if model is None else read_text("model", model))
    thread_id = _thread_id(fields.get("metadata"), call.headers)
    if thread_id is not None:
        thread_id = check_thread_id(thread_id, agent.name, owner)
    limits = limits_of(agent, settings)
    options, ignored = openai_options(fields, AGENTS_OWN, limits, "function")
    messages = _objects(fields.get("messages"))
    results = read_results(messages)
    if results and thread_id not in (None, results[0].thread_id):
        raise NotServedError(f"{results[0].where} is of another thread than the one that is named.", "messages")
    request, unread = RunRequest(), list[str]()
    if not results:
        read, unread = _messages(messages, limits)
        wanted = fields.get("response_format")
        *earlier, last = read if thread_id is None else _new(read)
        request = RunRequest(
            **last.model_dump(),
            earlier=tuple(earlier),
            response_format=None if wanted is None else read_response_format(wanted),
            **options,
        )
    streams, counts_usage = _stream(fields)
    start = StartRun(
        request,
        results[0].thread_id if results else thread_id,
        Wait(math.inf if streams else None, answer=True),
        read_idempotency_key(call.headers),
        call.headers.get("traceparent"),
        streams=streams,
        busy=agent.options.busy,
        temporary=thread_id is None and not results,
    )
    return Completion(agent, start, results, [*ignored, *unread], streams, counts_usage)


def _stream(fields: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return whether the answer is streamed, and whether its stream ends with the tokens."""
    streams = fields.get("stream") is not None and read_flag("stream", fields["stream"])
    options = fields.get("stream_options") or {}
    if not isinstance(options, dict) or not set(options) <= {"include_usage", "include_obfuscation"}:
        raise InvalidFieldError("The field 'stream_options' must be an object with 'include_usage'.")
    wanted = options.get("include_usage")
    return streams, wanted is not None and read_flag("stream_options.include_usage", wanted)


def _thread_id(metadata: object, headers: Mapping[str, str]) -> str | None:
    """Return the thread that a request names, by `metadata.thread_id` or a header; None for one of its own."""
    texts = {} if metadata is None else metadata
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise InvalidFieldError(f"The field 'metadata' is a JSON {json_type(metadata)}. Send an object of texts.")
    named = [unquote(headers[name]) for name in THREAD_ID_HEADERS if headers.get(name)]
    return one_thread_id([*([texts["thread_id"]] if texts.get("thread_id") else []), *named])


def _objects(value: object) -> list[dict[str, Any]]:
    """Return the messages as they are; raises `NotServedError` for one of the protocol's older form of calls."""
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        raise InvalidFieldError(f"The field 'messages' is a JSON {json_type(value)}. Send a list of messages.")
    for number, message in enumerate(value):
        if message.get("role") == "function" or message.get("function_call"):
            advice = "Send 'tool_calls', and results of role 'tool'."
            raise NotServedError(f"messages[{number}] is of OpenAI's older form of calls. {advice}", "messages")
    return value


def _messages(sent: Sequence[Mapping[str, Any]], limits: Limits) -> tuple[list[UserMessage], list[str]]:
    """Return the messages, and the names of those that are ignored: the agent has instructions of its own.

    The conversation is the caller's, so the assistant's messages are taken whatever roles the settings allow.
    """
    widened = replace(limits, roles=(*limits.roles, "assistant"))
    conversation, ignored = OwnConversation("messages"), list[str]()
    for number, message in enumerate(sent):
        where, role = f"messages[{number}]", _role(number, message)
        if role == "system" and "system" not in limits.roles:
            ignored.append(where)
        elif role == "tool":
            conversation.result(where, "tool_call_id", message.get("tool_call_id"), read_content(where, message))
        else:
            if message.get("content") or role != "assistant":
                conversation.add(read_message(where, {**message, "role": role}, "text", _content, widened))
            if role == "assistant" and message.get("tool_calls"):
                add_calls(conversation, where, message["tool_calls"])
    return conversation.messages(), ignored


def _role(number: int, message: Mapping[str, Any]) -> str:
    """Return a message's role by the agent's words; raises `InvalidFieldError`."""
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise InvalidFieldError(f"messages[{number}].role is {str(role)[:80]!r}. Send {', '.join(map(repr, _ROLES))}.")
    return _ROLES[role]


def _new(messages: Sequence[UserMessage]) -> Sequence[UserMessage]:
    """Return the messages behind the last one of the assistant or its tools: those before it are the thread's."""
    answers = [number for number, message in enumerate(messages) if message.role in ("assistant", "tool")]
    return messages[answers[-1] + 1 :] if answers else messages


def _content(where: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part in stored form; the reader of the stored form checks it."""
    kind = part.get("type")
    if kind in ("text", "refusal"):
        return {"$type": "text", "text": part.get(str(kind))}
    value = part.get(str(kind))
    if kind not in ("image_url", "file", "input_audio"):
        detail = f"{where} is of type {str(kind)[:60]!r}. Send text, image_url, input_audio or file."
        raise NotServedError(detail, "messages")
    if not isinstance(value, dict):
        raise InvalidFieldError(f"{where}.{kind} is a JSON {json_type(value)}. Send an object.")
    if kind == "input_audio" and isinstance(value.get("data"), str):
        return inline_file(value["data"], f"audio/{'mpeg' if value.get('format') == 'mp3' else value.get('format')}")
    member = {"image_url": "url", "file": "file_data", "input_audio": "data"}[str(kind)]
    return openai_file(f"{where}.{kind}", value, member, None if kind == "image_url" else "application/pdf")


def _operations(agents: Sequence[str]) -> Iterator[WireOperation]:
    """Yield the operations that are served of these agents."""
    others = {"n", "modalities", *AGENTS_OWN}
    members = {**FIELDS, "model": {"enum": [*agents, None]}, **{name: {} for name in sorted(others)}}
    body = object_schema(members, "messages", additionalProperties=False)
    for route in (route for route in names.OPERATIONS if route not in names.NOT_SERVED):
        is_create = route is names.CREATE
        yield WireOperation(
            route,
            object_schema({"object": {"type": "string"}}, "object"),
            body if is_create else None,
            streams=is_create,
            limited=(200, *COUNTED) if is_create else (),
        )


CHAT_DOCUMENT = WireDocument(REFUSAL, _operations)
"""The wire in the OpenAPI document: what it takes and answers, in outline."""
