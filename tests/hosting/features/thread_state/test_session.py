"""The session's state over HTTP: read with a version, and written without a run."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from hosting.functions.durable_1.client import DurableClient
from hosting.http.rewinding import Rewinding
from hosting.names import Address
from state.conversation import session_state
from tests.support.direct import SignalClient
from tests.support.notetaker import notetaker
from tests.support.owned_app import ISSUER, RUN, THREADS, OwnedApp, owner, with_roles

STATE = f"{THREADS}/t/state"


@pytest.fixture
def goes_on() -> threading.Event:
    return threading.Event()


@pytest.fixture
async def owned(goes_on: threading.Event) -> AsyncIterator[OwnedApp]:
    """One process of the app; Ada has the thread "t", and its agent keeps notes."""
    app = OwnedApp(with_roles, agent=notetaker(goes_on), AGENT_ADMIN_ROLE="operators")
    async with app.http:
        await app.say("ada", "one")
        yield app


async def state(owned: OwnedApp, who: str = "ada", place: str = STATE) -> dict[str, Any]:
    answer = await owned.ask(who, "GET", place)
    assert answer.status_code == 200, answer.text
    assert answer.headers["etag"] == f'"{answer.json()["version"]}"'
    return dict(answer.json())


async def patch(owned: OwnedApp, changes: Any, who: str = "ada", place: str = STATE, **headers: str) -> httpx.Response:
    return await owned.ask(who, "PATCH", place, json={"state": changes}, headers=headers)


@pytest.mark.behaviour("thread.state")
async def test_the_next_run_begins_with_the_state_that_was_written(owned: OwnedApp) -> None:
    before = await state(owned)

    written = await patch(owned, {"notes": {"text": "be brief"}})
    after = await state(owned)
    said = (await owned.say("ada", "two"))["response"]

    assert before["state"] == {"notes": {"runs": 1}}
    assert (written.status_code, written.json()) == (200, after)
    assert written.headers["etag"] == f'"{after["version"]}"'
    assert after["state"] == {"notes": {"runs": 1, "text": "be brief"}}
    assert after["version"] != before["version"]
    assert "notes: be brief, runs: 2" in said


@pytest.mark.behaviour("thread.state")
async def test_another_version_is_not_changed_and_a_repeated_patch_finds_itself_done(owned: OwnedApp) -> None:
    version = (await state(owned))["version"]

    first = await patch(owned, {"notes": {"text": "a"}}, **{"if-match": f'"{version}"'})
    again = await patch(owned, {"notes": {"text": "a"}}, **{"if-match": f'"{version}"'})
    other = await patch(owned, {"notes": {"text": "b"}}, **{"if-match": f'"{version}"'})

    assert [answer.status_code for answer in (first, again, other)] == [200, 200, 412]
    assert first.json() == again.json()
    assert other.json()["code"] == "state_changed"
    assert (await state(owned))["state"]["notes"]["text"] == "a"
    assert await kinds(owned) == ["accepted", "claimed", "completed", "session_written"]


async def kinds(owned: OwnedApp, thread_id: str = "t") -> list[str]:
    """Return the kinds of the events in the log of Ada's thread."""
    events = await owned.app._services.log.events(Address.of("Clerk", thread_id, owner("ada")), 0)
    return [event.kind for _, event in events]


@pytest.mark.behaviour("thread.state")
async def test_a_write_during_a_run_is_refused_and_names_the_run(owned: OwnedApp, goes_on: threading.Event) -> None:
    """The run's end would bring a session of its own."""
    body = {"message": "hold", "thread_id": "t", "wait_for_response": False}
    run_id = (await owned.ask("ada", "POST", RUN, json=body)).json()["run_id"]

    refused = await patch(owned, {"notes": {"text": "late"}})
    goes_on.set()

    assert (refused.status_code, refused.json()["code"]) == (409, "thread_busy")
    assert run_id in refused.json()["detail"]
    await owned.stored()
    assert (await patch(owned, {"notes": {"text": "later"}})).status_code == 200


@pytest.mark.behaviour("thread.state-reserved")
@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
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
    ],
)
async def test_what_only_the_app_or_the_framework_may_write_is_refused(
    owned: OwnedApp, changes: Any, status: int, code: str
) -> None:
    before = await state(owned)

    answer = await patch(owned, changes)

    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert await state(owned) == before


@pytest.mark.behaviour("thread.state-reserved")
async def test_a_state_has_a_limit_and_may_always_become_smaller(owned: OwnedApp) -> None:
    pieces = [await patch(owned, {f"p{number}": "x" * 60_000}) for number in range(5)]

    assert [answer.status_code for answer in pieces] == [200] * 4 + [413]
    assert pieces[-1].json()["code"] == "state_too_large"
    assert (await patch(owned, {"p0": None})).status_code == 200


@pytest.mark.behaviour("thread.state")
@pytest.mark.parametrize(
    ("sent", "status"), [("*", 200), ('"other", {etag}', 200), ('"short"', 412), ("W/{etag}", 412), ("0", 412)]
)
async def test_if_match_is_any_state_or_one_of_those_that_it_names(owned: OwnedApp, sent: str, status: int) -> None:
    etag = f'"{(await state(owned))["version"]}"'

    answer = await patch(owned, {"notes": {"text": "a"}}, **{"if-match": sent.format(etag=etag)})

    assert answer.status_code == status


@pytest.mark.behaviour("thread.state-owned")
async def test_whoever_reads_a_thread_reads_its_state_and_its_owner_alone_writes_it(owned: OwnedApp) -> None:
    given = {"issuer": ISSUER, "id": "bob", "access": "run"}
    grant = (await owned.ask("ada", "POST", f"{THREADS}/t/grants", json=given)).json()["grant"]

    shared = await owned.ask("bob", "GET", f"/api/shared/{grant}/state")
    by_bob = await patch(owned, {"notes": {"text": "b"}}, "bob", f"/api/shared/{grant}/state")
    strangers = [await owned.ask("eve", "GET", STATE), await patch(owned, {"notes": {"text": "e"}}, "eve")]

    assert shared.json() == await state(owned)
    assert (by_bob.status_code, by_bob.json()["code"]) == (403, "forbidden")
    assert [answer.status_code for answer in strangers] == [404, 404]
    assert (await state(owned))["state"] == {"notes": {"runs": 1}}


@pytest.mark.behaviour("thread.state")
@pytest.mark.behaviour("thread.rewound")
async def test_a_run_that_is_replaced_leaves_the_state_that_was_written_before_it(owned: OwnedApp) -> None:
    await patch(owned, {"notes": {"text": "before"}})
    second = (await owned.say("ada", "two"))["run_id"]
    await patch(owned, {"notes": {"text": "after"}})
    services = owned.app._services
    address = Address.of("Clerk", "t", owner("ada"))
    client: Any = DurableClient(SignalClient(owned.host.entities))
    view = await services.threads.view(address, client)

    rewound = Rewinding(services.archiver).before(view, second, [second], 1.0)

    assert session_state(view.conversation) != rewound.session
    assert rewound.session is not None
    assert rewound.session["state"] == {"notes": {"runs": 1, "text": "before"}}
