"""Requests that nobody meant: each answer is a JSON-RPC response with the request's id, or without one."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from hosting.app import Principal
from hosting.features.a2a.requests import METHODS
from tests.hosting.features.a2a.wired import Wired
from tests.support.any_json import AnyJson
from tests.support.seeds import repeated

TEXTS = (
    " hello joker a~b ROLE_USER ROLE_AGENT TASK_STATE_WORKING text/plain image/png iVBORw0KGgo= https://a.example/b "
    "2026-01-31T12:00:00Z approve 1.0~a nan~a ü😀 \u0000"
)
NAMES = (
    *("message", "messageId", "message_id", "contextId", "taskId", "role", "parts", "text", "raw", "url", "data"),
    *("mediaType", "filename", "metadata", "configuration", "historyLength", "returnImmediately", "id", "status"),
    *("pageSize", "pageToken", "statusTimestampAfter", "includeArtifacts", "approvals", "approved", "tenant"),
)
ANY = AnyJson(TEXTS.split(" "), NAMES)


def request(chance: random.Random, number: int, task: str) -> dict[str, Any]:
    """Return a request that is right but for a few members."""
    sent: dict[str, Any] = {"messageId": f"f{number}", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    params: dict[str, Any] = {"message": sent, "id": task}
    target = chance.choice((params, sent, sent["parts"][0]))
    target |= ANY.members(chance, chance.randrange(3))
    wrong = {chance.choice(("jsonrpc", "id", "params", "method")): ANY.value(chance)} if chance.random() < 0.2 else {}
    return {"jsonrpc": "2.0", "id": number, "method": chance.choice(list(METHODS)), "params": params, **wrong}


@pytest.mark.slow
@pytest.mark.behaviour("a2a.fuzzed")
async def test_whatever_is_sent_the_answer_is_the_protocols(seed: int) -> None:
    """A result, a stream of results, or an error with a code and a reason; never a defect of ours."""
    wired = Wired(principal=lambda _: Principal("https://login.example", "ada"))
    chance, codes = random.Random(seed), set[int]()
    task = (await wired.send("call refund 7", "Clerk"))["id"]
    for number in range(repeated(300, 5000)):
        sent = request(chance, number, task)
        if (sent["method"], sent["params"]) == ("SubscribeToTask", {"id": task}):
            continue
        agent = chance.choice(("Joker", "Clerk")) if sent["method"] != "SubscribeToTask" else "Joker"
        answer = await wired.http.post(agent, json=sent)
        assert answer.status_code == 200, (sent, answer.text)
        if answer.headers["content-type"].startswith("text/event-stream"):
            continue
        body = answer.json()
        code = body.get("error", {"code": 0})["code"]
        codes.add(code)
        assert code != -32603, (sent, body)
        assert body["id"] in (sent["id"], None), (sent, body)
        assert body.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), (sent, body)
        json.dumps(body)

    assert {0, -32600, -32602, -32001, -32003, -32004} <= codes
