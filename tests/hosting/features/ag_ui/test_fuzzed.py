"""Bodies that nobody meant: each answer is a run, or an error of the protocol's shape."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from hosting.features.ag_ui.requests import FIELDS
from tests.support.ag_ui import Wired, events_of, wanted
from tests.support.any_json import AnyJson
from tests.support.seeds import repeated

pytestmark = pytest.mark.behaviour("ag-ui.fuzzed")

ROOT_NAMES = sorted([*FIELDS, "thread_id", "run_id"])
TEXTS = (
    " hello t r r_1 1.0 user assistant system tool activity reasoning text image document binary data url file "
    "image/png iVBORw0KGgo= //a resolved cancelled ü😀 \u0000 \ud800"
)
NAMES = (
    *("id", "role", "content", "type", "text", "source", "value", "mimeType", "data", "url", "toolCalls", "toolCallId"),
    *("interruptId", "status", "payload", "approved", "reason", "name", "metadata"),
)
ANY = AnyJson(TEXTS.split(" "), NAMES)


def body(chance: random.Random, number: int) -> dict[str, Any]:
    """Return a request that is right but for a few members."""
    fields = wanted([{"type": "text", "text": "hello"}], thread=f"t-{number}")
    part = chance.random()
    if part < 0.4:
        fields["messages"][0] |= ANY.members(chance, 2, 2)
    elif part < 0.6:
        fields["messages"][0]["content"][0] |= ANY.members(chance, 2, 2)
    elif part < 0.8:
        fields |= {"messages": [], "resume": [ANY.members(chance, 4, 2)]}
    return {**fields, **{chance.choice(ROOT_NAMES): ANY.value(chance) for _ in range(chance.randrange(2))}}


@pytest.mark.slow
async def test_whatever_body_is_sent_the_answer_is_the_protocols(wired: Wired, seed: int) -> None:
    """A 4xx by name, or a run; never a defect of ours."""
    chance, statuses = random.Random(seed), set[int]()
    for number in range(repeated(300, 5000)):
        sent = body(chance, number)
        answer = await wired.http.post("ag-ui/Joker", content=json.dumps(sent).encode(), headers=JSON)
        statuses.add(answer.status_code)
        assert answer.status_code < 500, (sent, answer.text)
        if answer.status_code >= 400:
            assert answer.json().keys() == {"type", "message", "code"}, sent
        else:
            events = events_of(answer.text)
            assert events[0]["type"] == "RUN_STARTED", sent
            assert events[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR"), sent

    assert {200, 400} <= statuses


JSON = {"content-type": "application/json"}
