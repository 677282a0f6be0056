"""Threads that an owner shares, administrators, and all that one person has."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from hosting.http.route import Route
from tests.support.declared_routes import ROUTES, SHARED_ROUTES
from tests.support.owned_app import ISSUER, RUN, THREADS, OwnedApp, owner, with_roles
from tests.support.receiver import WEBHOOKS, receiving

BOB = {"issuer": ISSUER, "id": "bob", "access": "read"}
NEVER = "clerk~abcdefghij234567~0123456789abcdef~t"


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    """One process of the app; Ada has the thread "t"."""
    app = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators")
    async with app.http:
        await app.say("ada", "I am Ada")
        yield app


async def shared(owned: OwnedApp, access: str, thread_id: str = "t", who: str = "bob") -> dict[str, Any]:
    grant = {"issuer": ISSUER, "id": who, "access": access}
    answer = await owned.ask("ada", "POST", f"{THREADS}/{thread_id}/grants", json=grant)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def path_of(route: Route, grant: str, run_id: str = "r" * 32, approval_id: str = "a" * 32) -> str:
    return "/api/" + route.path.format(grant=grant, run_id=run_id, approval_id=approval_id, standing_id="s")


@pytest.mark.behaviour("owners.told")
async def test_a_timeline_says_who_decided(owned: OwnedApp) -> None:
    asked = await owned.say("ada", "call refund 5, refund 7")
    grant = (await shared(owned, "run"))["grant"]
    by_bob, by_ada = (approval["id"] for approval in asked["pending_approvals"])
    await owned.ask("bob", "POST", f"/api/shared/{grant}/approvals/{by_bob}", json={"approved": True})
    await owned.ask("ada", "POST", f"{THREADS}/t/approvals/{by_ada}", json={"approved": False})

    timeline = (await owned.ask("ada", "GET", f"{THREADS}/t/runs/{asked['run_id']}/timeline")).json()

    decided = [(step["approved"], step["by"]) for step in timeline["steps"] if step["kind"] == "approval_answered"]
    assert decided == [
        (True, {"issuer": ISSUER, "id": "bob", "name": "Bob"}),
        (False, {"issuer": ISSUER, "id": "ada", "name": "Ada"}),
    ]


@pytest.mark.behaviour("owners.grants")
async def test_who_is_notified_of_a_thread_is_its_owners_alone() -> None:
    """Whoever else reads it finds no address, no host and no role, in no answer; its owner finds them all."""
    owned = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators", **WEBHOOKS)
    async with owned.http, receiving() as receiver:
        receiver.statuses = [410, 204]
        hook = f"{receiver.url}/services/SECRET"
        body = {"message": "hi", "thread_id": "t", "webhook": hook}
        run_id = (await owned.ask("root", "POST", RUN, json=body)).json()["run_id"]
        await receiver.next()
        await owned.host.entities.idle()
        given = {"issuer": ISSUER, "id": "bob", "access": "read"}
        grant = (await owned.ask("root", "POST", f"{THREADS}/t/grants", json=given)).json()["grant"]
        await owned.ask("root", "POST", f"{THREADS}/t/grants", json={**given, "id": "eve", "access": "run"})
        eves = (await owned.ask("root", "GET", f"{THREADS}/t/grants")).json()["grants"][1]["grant"]
        await owned.ask("eve", "POST", f"/api/shared/{eves}/run", json={"message": "I am Eve", "webhook": hook})
        await receiver.next()
        await owned.host.entities.idle()
        reading = [path_of(route, grant, run_id) for route in SHARED_ROUTES if route.method == "GET"]
        read = {path: (await owned.ask("bob", "GET", path)).text for path in reading}
        own = (await owned.ask("root", "GET", f"{THREADS}/t/export")).json()

    told = (receiver.url.removeprefix("http://"), "SECRET", "operators", eves)
    assert {path: word for path, text in read.items() for word in told if word in text} == {}
    assert [run["accepted"]["request"]["webhook"] for run in own["runs"]] == [hook, hook]
    assert len(own["webhooks"]) == 2
    assert len(json.loads(read[f"/api/shared/{grant}/export"])["runs"]) == 2


@pytest.mark.behaviour("owners.grants")
async def test_a_grant_allows_what_it_says_and_no_more(owned: OwnedApp) -> None:
    before = await owned.stored()
    for access in ("read", "run"):
        grant = (await shared(owned, access))["grant"]
        for route in SHARED_ROUTES:
            answer = await owned.ask("bob", route.method, path_of(route, grant), json={"approved": True})

            is_allowed = route.needs in {"read", access}
            assert (answer.status_code == 403) == (not is_allowed), (access, route)
            if not is_allowed and route.method != "HEAD":
                assert answer.json()["code"] == "forbidden", (access, route)
            assert await owned.stored() == before, (access, route)


@pytest.mark.behaviour("owners.grants")
async def test_somebody_with_whom_a_thread_is_shared_asks_its_agent(owned: OwnedApp) -> None:
    """The conversation is the owner's still; the run's record has who asked, and by which grant."""
    grant = (await shared(owned, "run"))["grant"]

    waited = await owned.ask("bob", "POST", f"/api/shared/{grant}/run", json={"message": "and I am Bob"})
    begun = await owned.ask(
        "bob", "POST", f"/api/shared/{grant}/run", json={"message": "later", "wait_for_response": False}
    )
    elsewhere = await owned.ask("bob", "POST", f"/api/shared/{grant}/run", json={"message": "hi", "thread_id": "x"})
    documents = await owned.stored()
    export = (await owned.ask("ada", "GET", f"{THREADS}/t/export")).json()

    assert (waited.status_code, waited.json()["thread_id"]) == (200, "t")
    assert begun.headers["location"].startswith(f"http://app.example/api/shared/{grant}/runs/")
    assert (await owned.ask("bob", "GET", begun.headers["location"])).status_code == 200
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (400, "conflicting_thread_ids")
    assert list(documents) == [f"{owner('ada')}!t"]
    host = documents[f"{owner('ada')}!t"]["data"]["extensionData"]["durableAgentHost"]
    assert host["owner"] == {"issuer": ISSUER, "id": "ada"}
    asked = [(run["accepted"]["principal"]["id"], run["accepted"]["grant"]) for run in export["runs"]]
    assert asked == [("ada", None), ("bob", grant), ("bob", grant)]


@pytest.mark.behaviour("owners.grants")
async def test_a_grant_opens_nothing_for_anybody_else_and_nothing_once_it_is_gone(owned: OwnedApp) -> None:
    """A stranger, one that was withdrawn, one of a deleted thread and one that never was are answered alike."""
    withdrawn, kept = await shared(owned, "read"), await shared(owned, "run", who="eve")
    gone = await owned.ask("ada", "DELETE", f"{THREADS}/t/grants/{withdrawn['grant']}")
    again = await owned.ask("ada", "DELETE", f"{THREADS}/t/grants/{withdrawn['grant']}")
    await owned.say("ada", "hi", "deleted")
    deleted = await shared(owned, "read", "deleted")
    await owned.ask("ada", "DELETE", f"{THREADS}/deleted")
    await owned.say("ada", "hi", "deleted")

    def plain(answer: httpx.Response, grant: str) -> tuple[int, str]:
        return answer.status_code, answer.text.replace(grant, "GRANT")

    seen = {
        plain(await owned.ask("bob", "GET", f"/api/shared/{grant}/messages"), grant)
        for grant in (withdrawn["grant"], kept["grant"], deleted["grant"], NEVER, "nonsense")
    }

    assert (gone.status_code, again.status_code) == (204, 204)
    assert [(status, json.loads(text)["code"]) for status, text in seen] == [(404, "unknown_grant")]
    assert [one["id"] for one in (await owned.ask("ada", "GET", f"{THREADS}/t/grants")).json()["grants"]] == ["eve"]


@pytest.mark.behaviour("owners.grants")
async def test_a_grant_is_given_once_and_to_sixteen(owned: OwnedApp) -> None:
    """The same again is the same grant; one more than the head holds is refused."""
    first, again = await shared(owned, "read"), await shared(owned, "read")
    for number in range(15):
        await shared(owned, "read", who=f"friend-{number}")

    full = await owned.ask("ada", "POST", f"{THREADS}/t/grants", json={**BOB, "id": "one more"})

    assert first == again
    assert first["url"] == f"http://app.example/api/shared/{first['grant']}"
    assert (full.status_code, full.json()["code"]) == (409, "too_many_grants")


WRONG_GRANTS: list[tuple[Any, ...]] = [
    ({**BOB, "access": "write"}, "invalid_field"),
    ({**BOB, "id": ""}, "invalid_field"),
    ({**BOB, "id": 7}, "invalid_field"),
    ({**BOB, "issuer": "i" * 129}, "invalid_field"),
    ({**BOB, "id": "a\u0000b"}, "invalid_field"),
    ({"issuer": ISSUER, "id": "bob"}, "invalid_field"),
    ({**BOB, "role": "reader"}, "unknown_field"),
    ([], "invalid_body"),
]


@pytest.mark.behaviour("owners.grants")
async def test_a_grant_that_says_nothing_sensible_is_refused(owned: OwnedApp) -> None:
    for body, code in WRONG_GRANTS:
        answer = await owned.ask("ada", "POST", f"{THREADS}/t/grants", json=body)

        assert (answer.status_code, answer.json()["code"]) == (400, code)
        assert (await owned.ask("ada", "GET", f"{THREADS}/t/grants")).json()["grants"] == []


@pytest.mark.behaviour("owners.admin")
async def test_an_administrator_reads_and_deletes_for_an_owner_and_each_time_is_logged(
    owned: OwnedApp, caplog: pytest.LogCaptureFixture
) -> None:
    whose = {"owner": owner("ada")}
    listed = await owned.ask("root", "GET", THREADS, params=whose)
    read = await owned.ask("root", "GET", f"{THREADS}/t/messages", params=whose)
    deleted = await owned.ask("root", "DELETE", f"{THREADS}/t", params=whose)

    assert [one["thread_id"] for one in listed.json()["threads"]] == ["t"]
    assert "I am Ada" in read.text
    assert deleted.status_code == 204
    assert (await owned.ask("ada", "GET", f"{THREADS}/t")).status_code == 404
    lines = [record.getMessage() for record in caplog.records if "Administrator" in record.getMessage()]
    assert lines == [
        f"Administrator root of {ISSUER}: {what}, owner {owner('ada')}, thread {thread}."
        for what, thread in (
            ("GET agents/{name}/threads", "-"),
            ("GET agents/{name}/threads/{thread_id}/messages", "t"),
            ("DELETE agents/{name}/threads/{thread_id}", "t"),
        )
    ]


@pytest.mark.behaviour("owners.admin")
async def test_nobody_else_names_an_owner_and_nobody_acts_for_one(owned: OwnedApp) -> None:
    """Without the role everything is 403, with it what neither reads nor deletes; without the setting all of it."""
    ids = {"thread_id": "t", "run_id": "r" * 32, "approval_id": "a" * 32, "standing_id": "s"}
    plain = OwnedApp(with_roles)

    async def status(app: OwnedApp, user: str, route: Route) -> int:
        path = "/api/" + route.path.format(name="Clerk", **ids)
        return (await app.ask(user, route.method, path, params={"owner": owner("ada")}, json={})).status_code

    for route in (each for each in ROUTES if not each.is_for_all):
        assert (await status(owned, "bob", route), await status(plain, "root", route)) == (403, 403), route
        assert (await status(owned, "root", route) == 403) == (route.method in ("POST", "PATCH")), route
    refused = await owned.ask("root", "GET", f"{THREADS}/t", params={"owner": "Ada"})
    everything = await owned.ask("root", "DELETE", "/api/owners/me", params={"owner": "app"})
    assert (everything.status_code, everything.json()["code"]) == (400, "invalid_field")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_field")


@pytest.mark.behaviour("owners.person")
async def test_a_person_exports_everything_page_by_page(owned: OwnedApp) -> None:
    """Whole threads of all agents; nothing of anybody else's."""
    for name in ("a", "b", "c"):
        await owned.say("ada", f"in {name}", name)
    await owned.say("bob", "mine", "a")
    await owned.ask("ada", "DELETE", f"{THREADS}/b")
    await owned.stored()

    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await owned.ask("ada", "GET", "/api/owners/me/export", params={"limit": 1, "cursor": cursor})).json()
        assert (page["owner"], len(page["threads"])) == (owner("ada"), 1)
        found, cursor = [*found, *page["threads"]], page["next_cursor"]
    me = (await owned.ask("ada", "GET", "/api/owners/me")).json()

    assert [one["thread_id"] for one in found] == ["a", "c", "t"]
    assert ["in a" in json.dumps(found), "mine" in json.dumps(found)] == [True, False]
    assert {one["agent"] for one in found} == {"Clerk"}
    assert me == {"owner": owner("ada"), "issuer": ISSUER, "id": "ada", "name": "Ada", "roles": []}


@pytest.mark.behaviour("owners.person")
async def test_a_person_is_forgotten_with_receipts(owned: OwnedApp) -> None:
    """All of their threads, and nobody else's; again changes nothing and tells the same."""
    for name in ("a", "b"):
        await owned.say("ada", "hi", name)
    await owned.say("bob", "hi", "a")

    first = await owned.ask("ada", "DELETE", "/api/owners/me")
    again = await owned.ask("ada", "DELETE", "/api/owners/me")
    nobody = await owned.ask("eve", "DELETE", "/api/owners/me")

    assert (first.status_code, first.json()["status"]) == (200, "deleted")
    assert [(one["agent"], one["thread_id"], one["runs"]) for one in first.json()["threads"]] == [
        ("Clerk", name, 1) for name in ("a", "b", "t")
    ]
    assert again.json() == first.json()
    assert nobody.json() == {"owner": owner("eve"), "status": "deleted", "threads": []}
    assert list(await owned.stored()) == [f"{owner('bob')}!a"]


@pytest.mark.behaviour("owners.person")
async def test_a_page_of_an_export_ends_before_a_thread_that_cannot_be_read(owned: OwnedApp) -> None:
    """The next page says why, and what was read before it is whole."""
    for name in ("a", "b", "c"):
        await owned.say("ada", f"in {name}", name)
    key = next(key for key in await owned.stored() if key.endswith("b"))
    place = next(place for place in owned.host.entities.states if place.endswith(f"@{key}"))
    owned.host.entities.states[place] = '{"schemaVersion": "9.0.0"}'

    page = (await owned.ask("ada", "GET", "/api/owners/me/export")).json()
    behind = await owned.ask("ada", "GET", "/api/owners/me/export", params={"cursor": page["next_cursor"]})

    assert [thread["thread_id"] for thread in page["threads"]] == ["a"]
    assert (behind.status_code, behind.json()["code"]) == (500, "unreadable_state")
