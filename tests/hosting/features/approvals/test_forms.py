"""The forms of an answer: a decision, a value or an error, in the OpenAPI document as in the app."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.desk import THREADS, Desk

PLACE = "/agents/{name}/threads/{thread_id}/approvals/{approval_id}"
TAKEN: list[dict[str, Any]] = [
    {"approved": True},
    {"approved": False, "reason": "no"},
    {"approved": True, "always": "tool"},
    {"approved": True, "arguments": {}},
    {"approved": False, "always": None, "arguments": None},
    {"value": None},
    {"value": [1], "reason": "so", "always": None},
    {"error": "broken", "wait_for_response": False},
]
REFUSED: list[dict[str, Any]] = [
    {},
    {"reason": "no"},
    {"approved": True, "value": 1},
    {"approved": True, "error": "broken"},
    {"value": 1, "error": "broken"},
    {"approved": True, "value": 1, "error": "broken"},
    {"approved": False, "always": "tool"},
    {"approved": False, "arguments": {}},
    {"value": 1, "always": "tool"},
    {"value": 1, "arguments": {}},
    {"error": "broken", "arguments": {}},
]


@pytest.mark.behaviour("openapi.limits")
@pytest.mark.behaviour("approvals.checked")
async def test_the_document_takes_and_refuses_the_answers_that_the_app_does(desk: Desk) -> None:
    """To an approval that nobody knows, so that each is only read."""
    document = (await desk.http.get("/api/openapi.json")).json()
    body = document["paths"][PLACE]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema = Draft202012Validator(body)
    await desk.say("hello")

    answers = [await desk.http.post(f"{THREADS}/t/approvals/x", json=sent) for sent in (*TAKEN, *REFUSED)]

    codes = ["unknown_approval"] * len(TAKEN) + ["invalid_field"] * len(REFUSED)
    assert [answer.json()["code"] for answer in answers] == codes
    assert [schema.is_valid(sent) for sent in (*TAKEN, *REFUSED)] == [code == "unknown_approval" for code in codes]
