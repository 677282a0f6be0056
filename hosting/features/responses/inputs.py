"""The input of a response: messages, or answers to what the response before waits for.

Theory. A response that names none before it, and no conversation, begins a thread: its input is the whole conversation
so far, with the agent's messages and calls, as OpenAI's clients send it. The thread of one that is not stored goes with
the answer, but waits for the outputs of the caller's functions. Input that ends with those answers the thread that
waits, by the ids of the calls; the rest is a copy of what the thread has. The input of a response that names what came
before is new.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.request.contents import Limits
from hosting.core.request.fields import check_message, read_decision
from hosting.core.thread.run_request import Decision, UserMessage
from hosting.errors import InvalidFieldError
from hosting.http.verbs import MOST_PUT
from hosting.http.wire_calls import OUTPUT, item_messages, item_results, output_text
from hosting.http.wire_openai import NotServedError, openai_file
from hosting.http.wire_requests import read_message
from hosting.names import PUT_ROLES
from hosting.strict_json.parsing import json_type


class Input(Struct, frozen=True):
    """What a response is to answer: `messages`, or `decisions`. These answer `thread_id`, if their ids say so.

    `ignored` are the places of messages to the model that the settings allow no caller.
    """

    messages: tuple[UserMessage, ...] = ()
    decisions: tuple[Decision, ...] = ()
    thread_id: str | None = None
    ignored: tuple[str, ...] = ()


def read_response_input(value: object, limits: Limits, *, is_whole: bool) -> Input:
    """Return the input of a response; it `is_whole` if it names no conversation that goes on.

    Raises `HostingError`s by their place.
    """
    if value is None or isinstance(value, str):
        return Input((UserMessage(message=check_message(value or "")),))
    if not isinstance(value, list) or not value:
        raise InvalidFieldError(f"The field 'input' is a JSON {json_type(value)}. Send a text, or a list of items.")
    if not all(isinstance(item, dict) for item in value):
        raise InvalidFieldError("The field 'input' has items that are not objects.")
    if is_whole and value[-1].get("type") == OUTPUT:
        results = item_results("input", value)
        return Input((), tuple(result.decision for result in results), results[0].thread_id)
    answers = [(number, item) for number, item in enumerate(value) if str(item.get("type")) in _ANSWERS]
    if len(answers) == len(value):
        return Input(decisions=tuple(_ANSWERS[str(item["type"])](f"input[{number}]", item) for number, item in answers))
    if answers and not is_whole:
        raise NotServedError("Answers to calls and a message need two responses. Send the answers first.", "input")
    for number, item in enumerate(() if is_whole else value):
        _refuse_step(f"input[{number}]", item)
    ignored = [f"input[{number}]" for number, item in enumerate(value) if _is_ignored(item, limits)]
    # The agent's messages are taken whatever roles the settings allow: the caller could say the same as its own.
    widened = replace(limits, roles=(*limits.roles, "assistant")) if is_whole else limits
    messages = item_messages("input", value, lambda number, item: _message(number, item, widened))
    return Input(tuple(messages), ignored=tuple(ignored))


def _is_ignored(item: Mapping[str, Any], limits: Limits) -> bool:
    """Return whether a message is of the app's own role, which the settings leave to it."""
    return item.get("role") in _SYSTEM and "system" not in limits.roles


_SYSTEM = ("system", "developer")


def _decision(where: str, item: Mapping[str, Any]) -> Decision:
    if item.get("arguments") is not None:
        detail = "the protocol changes no arguments. Change them over HTTP or on the page, or refuse the call"
        raise NotServedError(f"{where} has 'arguments', and {detail}.", "input")
    name = item.get("approval_request_id")
    approval_id = name.removeprefix("mcpr_") if isinstance(name, str) else name
    return read_decision({"id": approval_id, "approved": item.get("approve"), "reason": item.get("reason")})


def _output(where: str, item: Mapping[str, Any]) -> Decision:
    name = item.get("call_id")
    approval_id = name.removeprefix("call_").partition("~")[0] if isinstance(name, str) else name
    return read_decision({"id": approval_id, "value": output_text(where, item)})


_ANSWERS = {"mcp_approval_response": _decision, OUTPUT: _output}
"""The items that answer what a response waits for."""


def read_put_items(items: object, limits: Limits) -> tuple[UserMessage, ...]:
    """Return the messages that a list of items puts into a conversation; raises `HostingError`s by their place."""
    if not isinstance(items, list) or not 0 < len(items) <= MOST_PUT:
        sent = f"has {len(items)} items" if isinstance(items, list) else f"is a JSON {json_type(items)}"
        raise InvalidFieldError(f"The field 'items' {sent}. Send a list of 1 to {MOST_PUT} messages.")
    if not all(isinstance(item, dict) for item in items):
        raise InvalidFieldError("The field 'items' has items that are not objects.")
    limits = replace(limits, roles=PUT_ROLES)
    for number, item in enumerate(items):
        if (kind := str(item.get("type", "message"))[:60]) != "message":
            detail = f"items[{number}] is of type {kind!r}, and only messages are put in. Leave it out."
            raise NotServedError(detail, "items")
    return tuple(_read_message(f"items[{number}]", item, limits) for number, item in enumerate(items))


def _message(number: int, item: Mapping[str, Any], limits: Limits) -> UserMessage | None:
    """Return a message, None for one that is ignored; raises `HostingError`s by its place."""
    where = f"input[{number}]"
    _refuse_step(where, item)
    return None if _is_ignored(item, limits) else _read_message(where, item, limits)


def _read_message(where: str, item: Mapping[str, Any], limits: Limits) -> UserMessage:
    role = "system" if item.get("role") in _SYSTEM else item.get("role")
    return read_message(where, {**item, "role": role}, "input_text", _content, limits)


def _refuse_step(where: str, item: Mapping[str, Any]) -> None:
    """Raise `NotServedError` for an item that is no message."""
    if (kind := str(item.get("type", "message"))[:60]) != "message":
        raise NotServedError(
            f"{where} is of type {kind!r}, and only messages and {' or '.join(_ANSWERS)} are accepted: the app stores "
            "its agents' own steps. Continue with 'previous_response_id' or 'conversation'.",
            "input",
        )


def _content(where: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part in stored form; the reader of the stored form checks it."""
    kind = part.get("type")
    if kind in ("input_text", "output_text", "refusal"):
        return {"$type": "text", "text": part.get("refusal" if kind == "refusal" else "text")}
    member = {"input_image": "image_url", "input_file": "file_data"}.get(str(kind))
    if member is None:
        detail = f"{where} is of type {str(kind)[:60]!r}. Send input_text, input_image or input_file."
        raise NotServedError(detail, "input")
    return openai_file(where, part, member, None if kind == "input_image" else "application/octet-stream")
