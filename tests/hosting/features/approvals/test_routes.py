"""Approvals over HTTP: requested, shown, answered once, and the conversation that continues from there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator

from tests.support.desk import THREADS, Desk
from tests.support.event_stream import parse


@pytest.mark.behaviour("approvals.asked")
async def test_a_tool_that_needs_approval_ends_the_run_and_is_not_called(desk: Desk) -> None:
    answer = (await desk.say("call refund 5")).json()

    (approval,) = answer["pending_approvals"]
    assert (answer["status"], desk.notes) == ("success", [])
    assert approval["tool"] == "refund"
    assert approval["arguments"] == {"n": "5"}
    assert approval["run_id"] == answer["run_id"]
    assert approval["requested_at"] < approval["expires_at"]


@pytest.mark.behaviour("approvals.said")
@pytest.mark.behaviour("approvals.listed")
async def test_a_run_says_and_its_thread_lists_what_they_wait_for(desk: Desk) -> None:
    """Behind what the agent said, each tool once; a model that calls a tool mostly says nothing."""
    answer = (await desk.say("call refund 5, refund 7")).json()
    pending = answer["pending_approvals"]
    await desk.say("hello", "other")

    listed = (await desk.http.get("/api/agents/Clerk/threads/t/approvals")).json()

    assert answer["response"] == "One moment.\n\nWaits for a person's approval of: refund."
    assert listed == {"thread_id": "t", "session_id": "t", "approvals": pending}
    assert await desk.waiting("other") == []


@pytest.mark.behaviour("approvals.refused")
async def test_a_refused_call_is_not_made_and_the_model_gets_the_reason(desk: Desk) -> None:
    """In the person's words; the conversation keeps them."""
    (approval,) = await desk.approvals_of("call refund 5")

    answer = await desk.answer(approval, False, reason="too much")

    assert answer.json()["response"] == "told: This call was not made: it was refused. Reason: too much"
    assert desk.notes == []
    assert (await desk.say("thanks")).json()["response"] == "echo: thanks"
    assert "Reason: too much" in str((await desk.stored())["data"]["conversationHistory"][3])


@pytest.mark.behaviour("approvals.several")
async def test_several_are_answered_one_by_one_and_the_last_answer_goes_on(desk: Desk) -> None:
    first, second = await desk.approvals_of("call refund 5, look 1, refund 7")

    one = await desk.answer(second, False, reason="not that one")
    left = await desk.waiting()
    last = await desk.answer(first)

    assert (one.status_code, one.json()["status"], one.json()["pending_approvals"][0]["id"]) == (200, "answered", first)
    assert left == [first]
    assert last.json()["response"] == (
        "told: refunded 5 | saw 1 | This call was not made: it was refused. Reason: not that one"
    )
    assert [note.split()[0] for note in desk.notes] == ["refund", "look"]


@pytest.mark.behaviour("approvals.once")
async def test_of_many_who_answer_at_once_in_two_processes_one_decides(tmp_path: Path) -> None:
    """The log decides; the tool is called once or not at all, and a second answer like the winner's finds its run."""
    log = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    one, two = Desk(**log), Desk(**log)
    two.host.entities = one.host.entities
    async with one.http, two.http:
        (approval,) = await one.approvals_of("call refund 5")
        answers = await asyncio.gather(*(desk.answer(approval, n < 2) for n in range(4) for desk in (one, two)))

    won = [answer for answer in answers if answer.status_code == 200]
    assert sorted(answer.status_code for answer in answers) == [200] * 4 + [409] * 4
    assert len({answer.json()["run_id"] for answer in won}) == 1
    assert (won[0].json()["response"] == "told: refunded 5") == (len(one.notes + two.notes) == 1)


@pytest.mark.behaviour("approvals.blocks")
async def test_a_message_waits_until_all_are_answered(desk: Desk) -> None:
    (approval,) = await desk.approvals_of("call refund 5")

    refused = await desk.say("hello?")
    await desk.answer(approval)

    assert (refused.status_code, refused.json()["code"]) == (409, "approvals_pending")
    assert "hello?" not in str(await desk.stored())
    assert (await desk.say("hello")).json()["response"] == "echo: hello"


@pytest.mark.behaviour("approvals.unknown")
@pytest.mark.parametrize("approval_id", ["nobody", "no~such"])
async def test_an_unknown_approval_is_not_found(desk: Desk, approval_id: str) -> None:
    (elsewhere,) = await desk.approvals_of("call refund 5", "other")
    await desk.say("hello")

    answers = [await desk.answer(approval_id), await desk.answer(elsewhere)]

    assert [(each.status_code, each.json()["code"]) for each in answers] == [(404, "unknown_approval")] * 2


@pytest.mark.behaviour("approvals.expires")
async def test_an_expired_approval_counts_as_refused() -> None:
    hasty = Desk(AGENT_APPROVAL_SECONDS="0.000001")
    async with hasty.http:
        (approval,) = await hasty.approvals_of("call refund 5, look 1")
        late = await hasty.answer(approval)
        listed = await hasty.waiting()
        answer = (await hasty.say("never mind")).json()

    assert (late.status_code, late.json()["code"], listed) == (410, "approval_expired", [])
    assert (answer["response"], hasty.notes) == ("echo: never mind", [])
    closing = (await hasty.stored())["data"]["conversationHistory"][2]["messages"][0]
    assert (closing["role"], {content["$type"] for content in closing["contents"]}) == ("tool", {"functionResult"})
    assert "it was not approved in time" in str(closing)


@pytest.mark.behaviour("approvals.failed-run")
async def test_a_run_that_went_on_and_failed_leaves_no_open_call(desk: Desk) -> None:
    """The tool was called once; with the next message the model learns that its outcome is unknown."""
    (approval,) = await desk.approvals_of("call refund 13")

    failed = await desk.answer(approval)
    answer = (await desk.say("and now?")).json()

    assert (failed.status_code, failed.json()["code"]) == (500, "run_failed")
    assert (answer["response"], len(desk.notes)) == ("echo: and now?", 1)
    assert "The call may have been made." in str((await desk.stored())["data"]["conversationHistory"][-2])
    assert (await desk.answer(approval)).json()["code"] == "run_failed"
    assert (await desk.answer(approval, False)).json()["code"] == "approval_answered"


@pytest.mark.behaviour("approvals.forgotten")
async def test_a_reset_forgets_what_waits(desk: Desk) -> None:
    (approval,) = await desk.approvals_of("call refund 5")

    reset = await desk.http.post("/api/agents/Clerk/threads/t/reset")
    late = await desk.answer(approval)

    assert (reset.status_code, await desk.waiting()) == (204, [])
    assert (late.status_code, late.json()["code"]) == (410, "approval_expired")
    assert ((await desk.say("hello")).json()["response"], desk.notes) == ("echo: hello", [])


@pytest.mark.behaviour("approvals.kept")
async def test_what_waits_is_read_and_exported_with_its_thread(desk: Desk) -> None:
    """The question in the conversation, the answer behind the run; the first run's status stays what it was."""
    (approval,) = await desk.approvals_of("call refund 5")
    thread = "/api/agents/Clerk/threads/t"
    (run,) = (await desk.http.get(f"{thread}/runs")).json()["runs"]
    before = (await desk.http.get(f"{thread}/runs/{run['run_id']}")).json()
    await desk.answer(approval, False, reason="too much")

    messages = (await desk.http.get(f"{thread}/messages")).json()["entries"]
    exported = (await desk.http.get(f"{thread}/export")).json()["runs"]

    assert [content["$type"] for content in messages[1]["messages"][0]["contents"]] == [
        "text",
        "functionCall",
        "unknown",
    ]
    assert messages[2]["messages"][0]["contents"][0]["content"]["type"] == "function_approval_response"
    decision = {"id": approval, "approved": False, "reason": "too much", "value": None}
    assert exported[0]["answers"][0]["decision"] == decision
    assert (await desk.http.get(f"{thread}/runs/{run['run_id']}")).json() == before


@pytest.mark.behaviour("approvals.form")
async def test_an_answer_in_text_names_what_waits_and_how_to_answer(desk: Desk) -> None:
    answer = await desk.http.post(
        "/api/agents/Clerk/run?thread_id=t", content="call refund 5", headers={"content-type": "text/plain"}
    )
    (approval,) = await desk.waiting()

    *said, how = answer.text.split("\n\n")
    assert said == ["One moment.", f'Waits for approval {approval}: refund({{"n": "5"}})']
    sent = "http://app.example/api/agents/Clerk/threads/t/approvals/<id>"
    assert how == (
        f'To answer, POST {{"approved": true}} or {{"approved": false, "reason": "..."}} as application/json to {sent}'
    )
    answered = await desk.http.post(sent.replace("<id>", approval), json={"approved": True})
    assert answered.json()["response"] == "told: refunded 5"


@pytest.mark.behaviour("approvals.not-waited")
async def test_the_run_that_goes_on_need_not_be_waited_for(desk: Desk) -> None:
    (approval,) = await desk.approvals_of("call refund 5")

    answer = await desk.answer(approval, wait_for_response=False)

    assert (answer.status_code, answer.json()["status"]) == (202, "accepted")
    assert answer.headers["location"].endswith(answer.json()["run_id"])


WRONG_ANSWERS: list[tuple[Any, ...]] = [
    ({}, "invalid_field"),
    ({"approved": "yes"}, "invalid_field"),
    ({"approved": True, "reason": 5}, "invalid_field"),
    ({"approved": True, "reason": "x" * 2001}, "invalid_field"),
    ({"aproved": True}, "unknown_field"),
    ([True], "invalid_body"),
    ({"approved": True, "wait_for_response": "maybe"}, "invalid_wait"),
]


@pytest.mark.behaviour("approvals.checked")
async def test_an_answer_that_is_none_is_refused_and_decides_nothing(desk: Desk) -> None:
    (approval,) = await desk.approvals_of("call refund 5")
    for body, code in WRONG_ANSWERS:
        answer = await desk.http.post(f"/api/agents/Clerk/threads/t/approvals/{approval}", json=body)

        assert (answer.status_code, answer.json()["code"]) == (400, code)
        assert await desk.waiting() == [approval]


def frames(stream: str) -> list[tuple[str, dict[str, Any]]]:
    lines = [dict(line.split(": ", 1) for line in frame.splitlines()) for frame in stream.strip().split("\n\n")]
    return [(line["event"], json.loads(line["data"])) for line in lines]


@pytest.mark.behaviour("approvals.streamed")
async def test_a_stream_names_what_waits_and_so_does_the_one_that_goes_on(desk: Desk) -> None:
    """Each approval before the end; the answer to the last one may be a stream itself."""
    accept = {"accept": "text/event-stream"}
    body = {"message": "call refund 5, refund 7", "thread_id": "t"}
    events = frames((await desk.http.post("/api/agents/Clerk/run", json=body, headers=accept)).text)
    first, second = await desk.waiting()
    await desk.answer(first)

    url = f"/api/agents/Clerk/threads/t/approvals/{second}"
    answer = await desk.http.post(url, json={"approved": False, "reason": "no"}, headers=accept)

    assert [data["id"] for event, data in events if event == "approval_requested"] == [first, second]
    assert events[-1][0] == "completed"
    assert [event for event, _ in frames(answer.text)] == [
        "accepted",
        "started",
        "tool_call",
        "tool_result",
        "delta",
        "completed",
    ]
    assert frames(answer.text)[-1][1]["response"] == (
        "told: refunded 5 | This call was not made: it was refused. Reason: no"
    )


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


CLERK = "/api/agents/Clerk"
THREAD = f"{CLERK}/threads/t"
EVENTS = {"accept": "text/event-stream"}
Calls = list[tuple[str, Any]]


async def in_timeline(http: httpx.AsyncClient, run: str) -> Calls:
    """Return the tools that a run's timeline says it called, with their arguments."""
    steps = (await http.get(f"{run}/timeline")).json()["steps"]
    return sorted((step["tool"], step["arguments"]) for step in steps if step["kind"] == "tool_call")


def in_stream(text: str) -> Calls:
    """Return the tools whose calls a stream has, with their arguments."""
    frames = [frame.fields for frame in parse(text) if frame.event == "tool_call"]
    return sorted((fields["tool"], fields["arguments"]) for fields in frames)


async def asked(http: httpx.AsyncClient, message: str) -> str:
    """Have the agent wait for one answer; return where it goes."""
    body = {"message": message, "thread_id": "t"}
    (approval,) = (await http.post(f"{CLERK}/run", json=body)).json()["pending_approvals"]
    return f"{THREAD}/approvals/{approval['id']}"


@pytest.mark.behaviour("approvals.shown-arguments")
@pytest.mark.parametrize(("changed", "made"), [({}, "5"), ({"arguments": {"n": "7"}}, "7")])
async def test_a_call_that_waited_is_shown_as_it_is_made_and_so_are_those_beside_it(
    desk: Desk, changed: dict[str, Any], made: str
) -> None:
    """In the stream of the run that goes on, and in its timeline; the person's arguments, if they changed them."""
    place = await asked(desk.http, "call refund 5, look 3")

    stream = await desk.http.post(place, json={"approved": True, **changed}, headers=EVENTS)

    shown = [("look", {"n": "3"}), ("refund", {"n": made})]
    assert in_stream(stream.text) == shown
    assert await in_timeline(desk.http, f"{THREAD}/runs/{stream.headers['x-ms-run-id']}") == shown
