"""Bodies and paths that nobody meant: each answer is the protocol's object, or an error of its shape."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hosting.features.responses.requests import AGENTS_OWN, REFUSED, SERVED, SILENT
from tests.hosting.features.responses.wired import Wired
from tests.support.any_json import AnyJson
from tests.support.seeds import repeated
from tests.support.strictly import response

FIELDS = sorted(SERVED | SILENT | AGENTS_OWN | REFUSED.keys())
TEXTS = (
    " hello joker resp_1~joker~t conv_joker~t user assistant message input_text input_image input_file text auto none "
    "mcp_approval_response json_schema data:, data:image/png;base64,iVBORw0KGgo= //a ü😀 \u0000"
)
NAMES = (
    *("type", "role", "content", "text", "image_url", "file_data", "file_id", "filename", "format", "schema", "name"),
    *("id", "approval_request_id", "approve", "reason", "detail", "entity_id", "verbosity", "strict"),
)
ANY = AnyJson(TEXTS.split(" "), NAMES)


def body(chance: random.Random) -> dict[str, Any]:
    """Return a request that is right but for a few fields."""
    fields = {"model": "Joker", "input": [{"role": "user", "content": [{"type": "input_text", "text": "hello"}]}]}
    wrong = {chance.choice(FIELDS): ANY.value(chance) for _ in range(chance.randrange(1, 4))}
    if chance.random() < 0.3:
        fields["input"][0] |= ANY.members(chance, 2, 2)  # type: ignore[index]
    elif chance.random() < 0.5:
        part = ANY.members(chance, 2, 2)
        fields["input"][0]["content"][0] |= part  # type: ignore[index]
    return {**fields, **wrong}


@pytest.mark.slow
@pytest.mark.behaviour("responses.fuzzed")
async def test_whatever_body_is_sent_the_answer_is_the_protocols(wired: Wired, seed: int) -> None:
    """A 4xx by name, or a response; never a defect of ours."""
    chance, statuses = random.Random(seed), set[int]()
    for _ in range(repeated(300, 5000)):
        sent = body(chance)
        answer = await wired.http.post("responses", json=sent)
        statuses.add(answer.status_code)
        assert answer.status_code < 500, (sent, answer.text)
        if answer.status_code >= 400:
            assert answer.json()["error"].keys() == {"message", "type", "param", "code"}, sent
        elif answer.headers["content-type"] == "application/json":
            response(answer.json())

    assert {200, 400} <= statuses
