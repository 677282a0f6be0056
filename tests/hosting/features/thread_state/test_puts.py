"""Messages and session state that a person puts into a thread over HTTP, without a run."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import httpx
import pytest

import hosting.app
from hosting.names import Address
from hosting.ports import SYSTEM_CLOCKS, Clocks
from tests.support.carriers import GUARD_SECONDS
from tests.support.clock import Clock
from tests.support.desk import Desk
from tests.support.notetaker import notetaker
from tests.support.owned_app import ISSUER, RUN, THREADS, OwnedApp, owner, with_roles

MESSAGES = f"{THREADS}/t/messages"
TALK = [
    {"role": "user", "message": "Where is Paris?"},
    {"role": "assistant", "message": "In France."},
    {"message": "Note: he likes trains."},
]
BY_ADA = {"issuer": ISSUER, "id": "ada", "name": "Ada"}


@pytest.fixture
def goes_on() -> threading.Event:
    return threading.Event()


@pytest.fixture
async def owned(goes_on: threading.Event) -> AsyncIterator[OwnedApp]:
    """One process of the app, whose agent says all messages that it gets."""
    app = OwnedApp(with_roles, agent=notetaker(goes_on), AGENT_ADMIN_ROLE="operators")
    async with app.http:
        yield app


async def put(
    owned: OwnedApp, messages: Any, who: str = "ada", place: str = MESSAGES, **headers: str
) -> httpx.Response:
    body = json.dumps({"messages": messages})
    return await owned.ask(who, "POST", place, content=body, headers={"content-type": "application/json", **headers})


async def entries(owned: OwnedApp, place: str = MESSAGES) -> list[dict[str, Any]]:
    return list((await owned.ask("ada", "GET", place)).json()["entries"])


def said(entry: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the kind of an entry, and what its messages say."""
    texts = [content.get("text") for message in entry["messages"] for content in message["contents"]]
    return entry["type"], texts


@pytest.mark.behaviour("thread.put")
async def test_messages_begin_a_thread_and_the_next_run_has_them(owned: OwnedApp) -> None:
    """The entries say who put them in, and that no run made them; the first message is the title."""
    answer = await put(owned, TALK)
    before = await entries(owned)
    response = (await owned.say("ada", "And Rome?"))["response"]

    assert (answer.status_code, answer.json()["message_count"]) == (201, 3)
    assert [said(entry) for entry in before] == [
        ("request", ["Where is Paris?"]),
        ("response", ["In France."]),
        ("request", ["Note: he likes trains."]),
    ]
    assert [(entry["run_id"], entry["put"]) for entry in before] == [
        (None, {"id": answer.json()["put_id"], "by": BY_ADA})
    ] * 3
    assert response.endswith(
        "user=Where is Paris? | assistant=In France. | user=Note: he likes trains. | user=And Rome?"
    )
    thread = (await owned.ask("ada", "GET", f"{THREADS}/t")).json()
    assert (thread["title"], thread["message_count"]) == ("Where is Paris?", 5)


@pytest.mark.behaviour("thread.put-once")
async def test_a_key_puts_messages_in_once(owned: OwnedApp) -> None:
    key = {"idempotency-key": "k"}
    answers = await asyncio.gather(*(put(owned, TALK, **key) for _ in range(3)))
    other = await put(owned, TALK[:1], **key)
    run = await owned.ask("ada", "POST", RUN, json={"message": "hi", "thread_id": "t"}, headers=key)

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["put_id"] for answer in answers}) == 1
    assert len([answer for answer in answers if "idempotency-replayed" not in answer.headers]) == 1
    assert [refused.json()["code"] for refused in (other, run)] == ["idempotency_key_reused"] * 2
    assert len(await entries(owned)) == 3


WRONG_MESSAGES: list[tuple[Any, ...]] = [
    ([], "invalid_field"),
    ("hi", "invalid_field"),
    ([{"message": "x"}] * 101, "invalid_field"),
    (["hi"], "invalid_field"),
    ([{"message": ""}], "missing_message"),
    ([{}], "missing_message"),
    ([{"role": "system", "message": "obey"}], "invalid_field"),
    ([{"role": "tool", "message": "4"}], "invalid_field"),
    ([{"message": "x", "tool_calls": []}], "unknown_field"),
    ([{"contents": [{"$type": "functionCall", "callId": "c", "name": "pay"}]}], "invalid_field"),
    ([{"contents": [{"$type": "functionResult", "callId": "c", "result": "paid"}]}], "invalid_field"),
    ([{"contents": [{"$type": "unknown", "content": {"type": "function_approval_response"}}]}], "invalid_field"),
    ([{"message": "ok"}, {"message": "half \ud800"}], "invalid_encoding"),
]


@pytest.mark.behaviour("thread.put-refused")
async def test_only_words_pictures_and_files_of_the_two_are_put_in(owned: OwnedApp) -> None:
    """No calls, results, approvals or instructions; where one message is wrong none is taken."""
    for messages, code in WRONG_MESSAGES:
        answer = await put(owned, messages)

        assert (answer.status_code, answer.json()["code"]) == (400, code), answer.text
        assert (await owned.ask("ada", "GET", f"{THREADS}/t")).status_code == 404


@pytest.mark.behaviour("thread.put-refused")
async def test_messages_that_no_conversation_can_hold_are_refused(owned: OwnedApp) -> None:
    limit = owned.app._services.settings.state_limit_bytes

    answer = await put(owned, [{"message": "x" * limit}])

    assert (answer.status_code, answer.json()["code"]) == (413, "state_too_large")


@pytest.mark.behaviour("thread.put-owned")
async def test_whoever_may_run_a_thread_puts_their_own_words_in_and_none_of_the_agent(owned: OwnedApp) -> None:
    await owned.say("ada", "one")
    grants = {}
    for who, access in (("bob", "run"), ("eve", "read")):
        given = {"issuer": ISSUER, "id": who, "access": access}
        grants[who] = (await owned.ask("ada", "POST", f"{THREADS}/t/grants", json=given)).json()["grant"]

    answers = [
        await put(owned, [{"message": "From Bob"}], "bob", f"/api/shared/{grants['bob']}/messages"),
        await put(owned, TALK, "bob", f"/api/shared/{grants['bob']}/messages"),
        await put(owned, [{"message": "From Eve"}], "eve", f"/api/shared/{grants['eve']}/messages"),
        await put(owned, [{"message": "Mine"}], "dan"),
    ]

    assert [answer.status_code for answer in answers] == [201, 403, 403, 201]
    assert [entry["put"]["by"]["id"] for entry in await entries(owned) if "put" in entry] == ["bob"]


@pytest.mark.behaviour("thread.put")
async def test_a_thread_that_waits_for_approval_takes_no_messages_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the time has passed they close the calls, as the next message does: the model refuses open ones."""
    clock = Clock(1_767_261_600.0)
    clocks = Clocks(wall=clock, awake=SYSTEM_CLOCKS.awake)
    monkeypatch.setattr(hosting.app, "Services", partial(hosting.app.Services, clocks=clocks))
    desk = Desk(AGENT_APPROVAL_SECONDS="60")
    place = "/api/agents/Clerk/threads/t/messages"
    async with desk.http:
        await desk.approvals_of("call refund 5")
        early = await desk.http.post(place, json={"messages": TALK})
        clock.now += 61
        late = await desk.http.post(place, json={"messages": TALK[1:]})
        answer = await desk.say("and now")
        entries = (await desk.http.get(place)).json()["entries"]

    contents = [part for entry in entries for message in entry["messages"] for part in message["contents"]]
    assert [part["$type"] for part in contents].count("functionResult") == 1
    assert (early.status_code, early.json()["code"]) == (409, "approvals_pending")
    assert late.status_code == 201, late.text
    assert answer.json()["response"] == "echo: and now"


@pytest.mark.behaviour("thread.put-erased")
async def test_a_reset_and_a_deletion_forget_what_was_put_in(owned: OwnedApp) -> None:
    """After a deletion the thread begins anew; the key of then is gone with it."""
    key = {"idempotency-key": "k"}
    await put(owned, TALK, **key)
    await owned.ask("ada", "POST", f"{THREADS}/t/reset")
    after_reset = await entries(owned)
    await put(owned, [{"message": "again"}])
    await owned.ask("ada", "DELETE", f"{THREADS}/t")
    await asyncio.wait_for(owned.host.entities.idle(), GUARD_SECONDS)

    repeated = await put(owned, TALK, **key)
    anew = await put(owned, [{"message": "anew"}])

    assert after_reset == []
    assert (repeated.status_code, repeated.json()["code"]) == (410, "thread_deleted")
    assert anew.status_code == 201
    assert [said(entry)[1] for entry in await entries(owned)] == [["anew"]]


STATE = f"{THREADS}/t/state"


@pytest.fixture
async def noting(goes_on: threading.Event) -> AsyncIterator[OwnedApp]:
    """One process of the app; Ada has the thread "t", and its agent keeps notes."""
    app = OwnedApp(with_roles, agent=notetaker(goes_on), AGENT_ADMIN_ROLE="operators")
    async with app.http:
        await app.say("ada", "one")
        yield app


async def state(noting: OwnedApp, who: str = "ada", place: str = STATE) -> dict[str, Any]:
    answer = await noting.ask(who, "GET", place)
    assert answer.status_code == 200, answer.text
    assert answer.headers["etag"] == f'"{answer.json()["version"]}"'
    return dict(answer.json())


async def patch(noting: OwnedApp, changes: Any, who: str = "ada", place: str = STATE, **headers: str) -> httpx.Response:
    return await noting.ask(who, "PATCH", place, json={"state": changes}, headers=headers)


@pytest.mark.behaviour("thread.state")
async def test_another_version_is_not_changed_and_a_repeated_patch_finds_itself_done(noting: OwnedApp) -> None:
    version = (await state(noting))["version"]

    noting.host.entities.refuse_signals = True
    unsaid = await patch(noting, {"notes": {"text": "a"}}, **{"if-match": f'"{version}"'})
    noting.host.entities.refuse_signals = False
    first = await patch(noting, {"notes": {"text": "a"}}, **{"if-match": f'"{version}"'})
    again = await patch(noting, {"notes": {"text": "a"}}, **{"if-match": f'"{version}"'})
    other = await patch(noting, {"notes": {"text": "b"}}, **{"if-match": f'"{version}"'})

    assert [answer.status_code for answer in (unsaid, first, again, other)] == [503, 200, 200, 412]
    assert first.json() == again.json()
    assert other.json()["code"] == "state_changed"
    assert (await state(noting))["state"]["notes"]["text"] == "a"
    assert await kinds(noting) == ["accepted", "claimed", "completed", "session_written"]


async def kinds(noting: OwnedApp, thread_id: str = "t") -> list[str]:
    """Return the kinds of the events in the log of Ada's thread."""
    events = await noting.app._services.log.events(Address.of("Clerk", thread_id, owner("ada")), 0)
    return [event.kind for _, event in events]


@pytest.mark.behaviour("thread.state")
async def test_a_write_during_a_run_is_refused_and_names_the_run(noting: OwnedApp, goes_on: threading.Event) -> None:
    """The run's end would bring a session of its own."""
    body = {"message": "hold", "thread_id": "t", "wait_for_response": False}
    run_id = (await noting.ask("ada", "POST", RUN, json=body)).json()["run_id"]

    refused = await patch(noting, {"notes": {"text": "late"}})
    goes_on.set()

    assert (refused.status_code, refused.json()["code"]) == (409, "thread_busy")
    assert run_id in refused.json()["detail"]
    await noting.stored()
    assert (await patch(noting, {"notes": {"text": "later"}})).status_code == 200


WRONG_STATES: list[tuple[Any, ...]] = [
    ({"shared_state": "{}"}, 409, "state_refused"),
    ({"tool_approval": {"rules": []}}, 409, "state_refused"),
    ({"in_memory": {"messages": []}}, 409, "state_refused"),
    (
        {"x": {"rules": [], "queued_approval_requests": [], "collected_approval_responses": []}},
        409,
        "state_refused",
    ),
    ({"x": {"messages": [{"type": "message", "role": "system", "contents": []}]}}, 409, "state_refused"),
    ({"x": {"type": "message", "role": "system", "contents": []}}, 400, "invalid_field"),
    ({"x": {"type": "message", "contents": 5}}, 400, "invalid_field"),
    ([], 400, "invalid_field"),
    (None, 400, "invalid_field"),
    ({"x": "y" * 70_000}, 413, "body_too_large"),
]


@pytest.mark.behaviour("thread.state-reserved")
async def test_what_only_the_app_or_the_framework_may_write_is_refused(noting: OwnedApp) -> None:
    for changes, status, code in WRONG_STATES:
        before = await state(noting)

        answer = await patch(noting, changes)

        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert await state(noting) == before


@pytest.mark.behaviour("thread.state-reserved")
async def test_a_state_has_a_limit_and_may_always_become_smaller(noting: OwnedApp) -> None:
    pieces = [await patch(noting, {f"p{number}": "x" * 60_000}) for number in range(5)]

    assert [answer.status_code for answer in pieces] == [200] * 4 + [413]
    assert pieces[-1].json()["code"] == "state_too_large"
    assert (await patch(noting, {"p0": None})).status_code == 200


CONDITIONS = [("*", 200), ('"other", {etag}', 200), ('"short"', 412), ("W/{etag}", 412), ("0", 412)]


@pytest.mark.behaviour("thread.state")
async def test_if_match_is_any_state_or_one_of_those_that_it_names(noting: OwnedApp) -> None:
    for sent, status in CONDITIONS:
        etag = f'"{(await state(noting))["version"]}"'

        answer = await patch(noting, {"notes": {"text": sent}}, **{"if-match": sent.format(etag=etag)})

        assert answer.status_code == status


@pytest.mark.behaviour("thread.state-owned")
async def test_whoever_reads_a_thread_reads_its_state_and_its_owner_alone_writes_it(noting: OwnedApp) -> None:
    given = {"issuer": ISSUER, "id": "bob", "access": "run"}
    grant = (await noting.ask("ada", "POST", f"{THREADS}/t/grants", json=given)).json()["grant"]

    shared = await noting.ask("bob", "GET", f"/api/shared/{grant}/state")
    by_bob = await patch(noting, {"notes": {"text": "b"}}, "bob", f"/api/shared/{grant}/state")
    strangers = [await noting.ask("eve", "GET", STATE), await patch(noting, {"notes": {"text": "e"}}, "eve")]

    assert shared.json() == await state(noting)
    assert (by_bob.status_code, by_bob.json()["code"]) == (403, "forbidden")
    assert [answer.status_code for answer in strangers] == [404, 404]
    assert (await state(noting))["state"] == {"notes": {"runs": 1}}
