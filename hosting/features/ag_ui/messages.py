"""The protocol's messages, made from the log and the document, and the marks of messages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from hosting.core.thread.run import Run
from hosting.core.thread.run_request import UserMessage
from hosting.core.thread.thread_events import MessagesPut
from state.conversation import exchanges, is_unanswered
from state.json_values import parse
from state.models import Conversation, ResponseEntry, entry_text
from state.put import source_of

Message = Mapping[str, Any]


def mark(message: Message) -> str:
    """Return the mark of a message's content, whatever its id is."""
    content = message.get("content") or ""
    match content:
        case [{"type": "text", "text": str(text)}]:
            content = text
    calls = message.get("toolCalls") or message.get("tool_calls")
    functions = [call["function"] if isinstance(call, dict) and "function" in call else call for call in _listed(calls)]
    pairs = [[call.get("name"), call.get("arguments")] if isinstance(call, dict) else call for call in functions]
    values = [message["role"], content, pairs]
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode(errors="surrogatepass")).hexdigest()[:32]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def conversation_mark(messages: Iterable[Message]) -> str:
    """Return the mark of a conversation."""
    return hashlib.sha256("".join(map(mark, messages)).encode()).hexdigest()[:32]


def older_messages(conversation: Conversation, logged: Collection[str]) -> list[Message]:
    """Return the messages of entries that are of none of these runs and messages; a run without an answer has none."""
    entries = [entry for entry in exchanges(conversation) if source_of(entry) not in logged]
    left = {entry.correlation_id for entry in entries if isinstance(entry, ResponseEntry) and is_unanswered(entry)}
    messages: list[Message] = []
    for number, entry in enumerate(entries):
        if entry.correlation_id in left:
            continue
        for place, message in enumerate(parse(entry_text(entry)).get("messages") or ()):
            messages += _stored_messages(f"{entry.correlation_id}:entry-{number}.{place}", message)
    return messages


def _stored_messages(name: str, message: Mapping[str, Any]) -> Iterable[Message]:
    """Return a stored message as the protocol has it: one, or one for each result that it holds."""
    contents = message.get("contents") or ()
    text = "".join(content.get("text") or "" for content in contents if content.get("$type") == "text")
    calls = [_call(content) for content in contents if content.get("$type") == "functionCall"]
    media = [] if message.get("role") == "assistant" else [part for part in contents if part.get("$type") != "text"]
    shown = _content(text, media)
    if shown or calls:
        says = {"content": shown} if shown else {}
        yield {"id": name, "role": message.get("role"), **says, **({"toolCalls": calls} if calls else {})}
    for number, content in enumerate(part for part in contents if part.get("$type") == "functionResult"):
        result = content.get("result")
        shown = result if isinstance(result, str) else json.dumps(result)
        yield {"id": f"{name}.{number}", "role": "tool", "toolCallId": content.get("callId"), "content": shown}


def _call(content: Mapping[str, Any]) -> dict[str, Any]:
    arguments = content.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {
        "id": content.get("callId"),
        "type": "function",
        "function": {"name": content.get("name"), "arguments": text},
    }


def asked_message(name: str, message: UserMessage) -> Message:
    """Return a run's request as the protocol has it."""
    return {"id": name, "role": message.role, "content": _content(message.message, message.contents)}


def put_messages(put: MessagesPut) -> list[Message]:
    """Return messages that were put in; those of the agent are texts, as the protocol has them."""
    shown: list[Message] = []
    for number, message in enumerate(put.messages):
        name, texts = f"{put.id}:put-{number}", [part["text"] for part in message.contents if part["$type"] == "text"]
        says = {"content": "".join([message.message, *texts])} if message.role == "assistant" else {}
        shown.append({**asked_message(name, message), **says})
    return shown


def asked_messages(run: Run) -> list[Message]:
    """Return what a run was asked, under the ids that its client gave; an answer to approvals asks nothing."""
    request = run.accepted.request
    messages = [] if request.decisions else request.messages
    logged = (run.accepted.wire or {}).get("asked") or [
        [f"{run.run_id}:asked-{number}", None] for number in range(len(messages))
    ]
    return [asked_message(name, message) for (name, _), message in zip(logged, messages, strict=False)]


def _content(text: str, contents: Iterable[Mapping[str, Any]]) -> str | list[dict[str, Any]]:
    """Return a text, with media of stored contents as a list of parts."""
    parts = [part for content in contents if (part := _part(content)) is not None]
    if not parts:
        return text
    return [*([{"type": "text", "text": text}] if text else []), *parts]


def _part(content: Mapping[str, Any]) -> dict[str, Any] | None:
    make = _PARTS.get(str(content.get("$type")))
    return None if make is None else make(content)


def _media_part(media: str, kind: str, value: str) -> dict[str, Any]:
    name = media.partition("/")[0]
    source = {"type": kind, "value": value, "mimeType": media}
    return {"type": name if name in ("image", "audio", "video") else "document", "source": source}


def _data_part(content: Mapping[str, Any]) -> dict[str, Any]:
    prefix, _, value = str(content.get("uri")).partition(",")
    return _media_part(prefix.removeprefix("data:").removesuffix(";base64"), "data", value)


_PARTS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "text": lambda content: {"type": "text", "text": content.get("text")},
    "data": _data_part,
    "uri": lambda content: _media_part(str(content.get("mediaType")), "url", str(content.get("uri"))),
    "hostedFile": lambda content: {"type": "document", "source": {"type": "file", "value": content.get("fileId")}},
}
