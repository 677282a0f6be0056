"""Messages that nobody meant: each answer is one of the protocol, with the request's id or without one."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from hosting.app import Principal
from tests.support.any_json import AnyJson
from tests.support.mcp_wire import ASKS, HANDSHAKE, STATELESS, Session, Wired, events_of, until
from tests.support.seeds import repeated

TEXTS = " hello Joker Clerk accept decline cancel form a:b:c 2026-07-28 2025-11-25 ü😀 \u0000"
NAMES = (
    *("name", "arguments", "query", "threadId", "sessionId", "_meta", "progressToken", "requestState", "action"),
    *("inputResponses", "content", "approved", "reason", "answer", "protocolVersion", "capabilities", "elicitation"),
    *("requestId", "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/protocolVersion"),
)
HEADER = re.compile("[!-~]+")
ANY = AnyJson(TEXTS.split(" "), NAMES)
METHODS = ("initialize", "ping", "server/discover", "tools/list", "tools/call", "notifications/cancelled", "x")


def message(chance: random.Random, number: int, session: Session, question: dict[str, Any]) -> dict[str, Any]:
    """Return a message that is right but for a few members."""
    if chance.random() < 0.15:
        content = {"action": "accept", "content": ANY.members(chance, chance.randrange(3))}
        result = chance.choice((content, ANY.value(chance)))
        return {"jsonrpc": "2.0", "id": chance.choice((question["id"], "a:b:c", number)), "result": result}
    params: dict[str, Any] = {"name": chance.choice(("Joker", "Clerk")), "arguments": {"query": "hello"}}
    sent = session.request(chance.choice(METHODS), params, number)
    target = chance.choice((sent["params"], params["arguments"], sent["params"].get("_meta", params)))
    target |= ANY.members(chance, chance.randrange(3))
    wrong = {chance.choice(("jsonrpc", "id", "params", "method")): ANY.value(chance)} if chance.random() < 0.2 else {}
    return {**sent, **wrong}


@pytest.mark.slow
@pytest.mark.behaviour("mcp-endpoint.fuzzed")
async def test_whatever_is_sent_the_answer_is_the_protocols(seed: int) -> None:
    """A result, a stream, nothing for what wants nothing, or an error with a code; never a defect of ours."""
    wired = Wired(principal=lambda _: Principal("https://login.example", "ada"))
    chance, codes = random.Random(seed), set[int]()
    async with wired.http:
        sessions = [Session(wired.http, HANDSHAKE, ASKS), Session(wired.http, STATELESS, ASKS)]
        await sessions[0].begin()
        async with sessions[0].calling("call refund 7", "Clerk") as events:
            question = await until(events, "id")
        for number in range(repeated(300, 5000)):
            session = chance.choice(sessions)
            sent = message(chance, number, session, question)
            headers = session.headers if session.version == HANDSHAKE else stateless_headers(sent)
            answer = await wired.http.post("", json=sent, headers=headers)
            codes.add(checked(sent, answer))

    assert {0, -32600, -32601, -32602, -32020} <= codes


def stateless_headers(sent: dict[str, Any]) -> dict[str, str]:
    """Return the headers that repeat the body, as far as it has what a header can hold."""
    params = sent.get("params")
    repeats = {"mcp-method": sent.get("method"), "mcp-name": params.get("name") if isinstance(params, dict) else None}
    can_hold = {name: value for name, value in repeats.items() if isinstance(value, str) and HEADER.fullmatch(value)}
    return {"mcp-protocol-version": STATELESS, **can_hold}


def checked(sent: Any, answer: Any) -> int:
    """Return the code of an answer's error, 0 without one, after its form was checked."""
    if answer.status_code == 202:
        assert answer.text == ""
        return 0
    is_stream = answer.headers["content-type"].startswith("text/event-stream")
    body = events_of(answer.text)[-1].value if is_stream else answer.json()
    error = body.get("error", {"code": 0})
    assert answer.status_code < 500, (sent, answer.text)
    assert error["code"] != -32603, (sent, body)
    assert body["id"] in (sent["id"], None), (sent, body)
    assert body.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), (sent, body)
    assert answer.status_code == 200 or "error" in body
    json.dumps(body)
    return int(error["code"])
