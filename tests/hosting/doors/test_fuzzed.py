"""Requests that nobody meant, at every door: each answer is one of the door's own, and never a defect of ours."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from hosting.features.a2a.requests import METHODS
from hosting.features.ag_ui.requests import FIELDS
from hosting.features.chat_completions import requests as chat
from hosting.features.responses import requests as responses
from tests.support.any_json import AnyJson
from tests.support.doors import Asked, Door
from tests.support.seeds import repeated

TEXTS = (
    " hello Joker joker t ROLE_USER ROLE_AGENT user assistant system tool message text image file binary auto none "
    "resp_1~joker~t conv_joker~t a~b image/png iVBORw0KGgo= data:, //a 1.0 a:b:c accept decline ü😀 \u0000 \ud800"
)
NAMES: Mapping[str, tuple[str, ...]] = {
    "http": ("message", "contents", "messages", "options", "thread_id", "response_format", "$type", "uri", "busy"),
    "responses": (*responses.SERVED, *responses.SILENT, *responses.AGENTS_OWN, *responses.REFUSED, "type", "image_url"),
    "chat-completions": (*chat.SERVED, *chat.AGENTS_OWN, *chat.REFUSED, "content", "role", "tool_calls", "type", "url"),
    "ag-ui": (*FIELDS, "thread_id", "run_id", "interruptId", "status", "payload", "toolCallId", "mimeType", "source"),
    "ai-sdk": ("id", "messages", "trigger", "messageId", "parts", "state", "toolCallId", "output", "approval", "url"),
    "a2a": ("messageId", "message_id", "contextId", "taskId", "role", "parts", "raw", "data", "metadata", "pageToken"),
    "mcp": ("name", "arguments", "query", "threadId", "_meta", "progressToken", "requestState", "inputResponses"),
}
JSON_RPC = ("jsonrpc", "id", "method", "params")
CALLED: Mapping[str, tuple[str, ...]] = {
    "a2a": tuple(METHODS),
    "mcp": ("initialize", "ping", "server/discover", "tools/list", "tools/call", "notifications/cancelled", "x"),
}


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


def body(door: Door, chance: random.Random, number: int) -> dict[str, Any]:
    """Return a request that is right but for a few members, anywhere in it."""
    sent = door.body(Asked("hello", f"t-{number}", f"k-{number}", has_picture=True))
    if door.name in CALLED and chance.random() < 0.5:
        sent["method"] = chance.choice(CALLED[door.name])
    names = [*NAMES[door.name], *(JSON_RPC if door.name in CALLED else ())]
    for _ in range(chance.randrange(1, 4)):
        target = chance.choice([*objects(sent)])
        target[chance.choice([*target, *names])] = AnyJson(TEXTS.split(" "), names).value(chance)
    return sent


def code_of(door: Door, answer: httpx.Response) -> str:
    """Return our code of a refusal, or of a run that failed; nothing where the request was served."""
    if answer.status_code == 202 or answer.headers["content-type"].startswith("text/event-stream"):
        return ""
    read = answer.json()
    is_refused = answer.status_code >= 400 or read.get("error") or (read.get("result") or {}).get("isError")
    return door.code(read) if is_refused else ""


@pytest.mark.slow
@pytest.mark.behaviour("responses.fuzzed")
@pytest.mark.behaviour("ag-ui.fuzzed")
@pytest.mark.behaviour("a2a.fuzzed")
@pytest.mark.behaviour("mcp-endpoint.fuzzed")
async def test_whatever_is_sent_the_answer_is_one_of_the_door(owned: httpx.AsyncClient, door: Door, seed: int) -> None:
    """It is served, or refused by one of our codes in the door's own form."""
    chance, codes = random.Random(f"{seed} {door.name}"), Counter[str]()
    for number in range(repeated(200, 5000)):
        sent = body(door, chance, number)
        answer = await door.send(owned, json.dumps(sent).encode(), content_type="application/json", x_user="ada")
        code = code_of(door, answer)
        assert code != "internal_error", (sent, answer.text)
        assert answer.status_code < 500 or code == "invalid_output", (sent, answer.text)
        door.check(sent, answer)
        codes[code] += 1

    assert codes[""] > 2
    assert len(codes) > 3, codes
