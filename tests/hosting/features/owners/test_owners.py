"""An app with owners: who is asked, whose thread it is, and what another sees of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from hosting.app import Principal, PrincipalRequest
from hosting.core.entity.proxy import DurableAgent
from hosting.core.stores.memory import MemoryThreadStore
from hosting.errors import IdentityUnavailableError
from hosting.http.route import Route
from tests.support.declared_routes import FILE_ROUTES, OWNED_ROUTES, ROUTES, SHARED_ROUTES
from tests.support.noted import Noted, NotingOrchestration
from tests.support.owned_app import ISSUER, THREADS, OwnedApp, owner

FIGURES = "/api/agents/Clerk/figures"

HIDDEN = "ada-secret-thread"
NEVER = "ada-nothing-there"
BODIES = {
    "{approval_id}": {"approved": True},
    "grants": {"issuer": ISSUER, "id": "bob", "access": "run"},
}
OF_THREADS = [route for route in (*ROUTES, *FILE_ROUTES, *OWNED_ROUTES, *SHARED_ROUTES) if "{thread_id}" in route.path]


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    app = OwnedApp()
    async with app.http:
        yield app


def path_of(route: Route, thread_id: str, run_id: str = "r" * 32, approval_id: str = "a" * 32) -> str:
    ids = {"thread_id": thread_id, "run_id": run_id, "approval_id": approval_id}
    return "/api/" + route.path.format(
        name="Clerk", grant_id="g", grant="g", standing_id="s", file_id="f" * 32, upload_id="u" * 32, **ids
    )


def plain(answer: httpx.Response, thread_id: str) -> tuple[int, dict[str, str], str]:
    """Return all of an answer, without the thread's id and the moment."""
    headers = {name: value.replace(thread_id, "ID") for name, value in answer.headers.items()}
    return answer.status_code, headers, answer.text.replace(thread_id, "ID")


EVERY_ROUTE = [*ROUTES, *FILE_ROUTES, *OWNED_ROUTES, *SHARED_ROUTES]


@pytest.mark.behaviour("owners.who")
async def test_nobody_is_answered_401_on_every_route_that_is_about_somebody(owned: OwnedApp) -> None:
    """Also for an agent, a body or an id that would be refused; only what is about the app is for all."""
    for route in EVERY_ROUTE:
        answer = await owned.ask(None, route.method, path_of(route, "no such thread!"), content=b"\xff" * 3_000)

        if route.is_for_all:
            assert answer.status_code == 200, route
        else:
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), route
            assert route.method == "HEAD" or answer.json()["code"] == "unauthorized", route


@pytest.mark.behaviour("owners.who")
async def test_what_the_app_says_wrongly_is_a_defect_and_what_it_refuses_is_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A `HostingError` is for the caller; any other exception, and what is no principal, is 500 without its text."""

    def failing(request: PrincipalRequest) -> Any:
        match request.headers.get("x-user"):
            case "away":
                raise IdentityUnavailableError("The keys cannot be fetched. Try again.")
            case "broken":
                raise ValueError("a secret of the resolver")
            case _:
                return "ada"

    owned = OwnedApp(failing)
    answers = {user: await owned.ask(user, "GET", f"{THREADS}/t") for user in ("away", "broken", "text")}

    assert {user: (one.status_code, one.json()["code"]) for user, one in answers.items()} == {
        "away": (503, "identity_unavailable"),
        "broken": (500, "internal_error"),
        "text": (500, "internal_error"),
    }
    assert "secret" not in answers["broken"].text
    assert "returned a str" in caplog.text


@pytest.mark.behaviour("owners.one-404")
async def test_anothers_thread_is_answered_as_one_that_never_was(
    owned: OwnedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every route of a thread, with the right ids of its run and its approval; and no store is called more often."""
    ended = await owned.say("ada", "call refund 10", HIDDEN)
    run_id, approval_id = ended["run_id"], ended["pending_approvals"][0]["id"]
    before = await owned.stored()
    calls: Counter[str] = Counter()
    for name in ("append", "head", "events", "row", "heads"):
        inner = getattr(MemoryThreadStore, name)

        def counted(self: Any, *given: Any, _name: str = name, _inner: Any = inner) -> Any:
            calls[_name] += 1
            return _inner(self, *given)

        monkeypatch.setattr(MemoryThreadStore, name, counted)
    for route in OF_THREADS:
        seen = {}
        for thread_id in (HIDDEN, NEVER):
            calls.clear()
            path = path_of(route, thread_id, run_id, approval_id)
            body = BODIES.get(route.path.rpartition("/")[2]) if route.method == "POST" else None
            answer = await owned.ask("bob", route.method, path, json=body)
            await owned.stored()
            seen[thread_id] = (plain(answer, thread_id), dict(calls))
        assert seen[HIDDEN] == seen[NEVER], route

    assert await owned.stored() == before
    assert (await owned.ask("ada", "GET", f"{THREADS}/{HIDDEN}/runs/{run_id}")).status_code == 200


@pytest.mark.behaviour("owners.told")
async def test_who_asked_stands_in_the_export_and_in_the_stored_conversation(owned: OwnedApp) -> None:
    """So that an operator can say whose a thread is; the app's own threads name nobody."""
    await owned.say("ada", "hi")

    document = (await owned.stored())[f"{owner('ada')}!t"]
    export = (await owned.ask("ada", "GET", f"{THREADS}/t/export")).json()

    assert document["data"]["extensionData"]["durableAgentHost"]["owner"] == {"issuer": ISSUER, "id": "ada"}
    assert export["runs"][0]["accepted"]["principal"] == {"issuer": ISSUER, "id": "ada", "name": "Ada", "roles": []}


@pytest.mark.behaviour("overview.owners")
async def test_what_is_told_of_all_threads_together_is_of_the_owners_own(owned: OwnedApp) -> None:
    for user, names in (("ada", "ab"), ("bob", "x")):
        for name in names:
            await owned.say(user, f"hi from {name}", name)
    await owned.say("ada", "call refund 10", "a")

    newest = (await owned.ask("ada", "GET", THREADS, params={"sort": "changed"})).json()["threads"]
    waiting = {user: (await owned.ask(user, "GET", "/api/approvals")).json() for user in ("ada", "bob", "eve")}
    runs = {
        user: sum(day["runs"] for day in (await owned.ask(user, "GET", FIGURES)).json()["days"])
        for user in ("ada", "bob", "eve")
    }

    assert [(one["thread_id"], one["title"], one["status"]) for one in newest] == [
        ("a", "hi from a", "waiting"),
        ("b", "hi from b", "idle"),
    ]
    (approval,) = waiting["ada"].pop("approvals")
    assert (approval["agent"], approval["thread_id"], approval["tool"]) == ("Clerk", "a", "refund")
    assert waiting == {
        "ada": {"next_cursor": None},
        "bob": {"approvals": [], "next_cursor": None},
        "eve": {"approvals": [], "next_cursor": None},
    }
    assert runs == {"ada": 3, "bob": 1, "eve": 0}


def called(person: Principal | None, thread_id: str = "t") -> tuple[str, dict[str, Any]]:
    """Return the key of the entity that an orchestration for this person calls, and what it sends."""
    proxy: DurableAgent[Noted] = DurableAgent("Clerk", "", NotingOrchestration(), owner=person)
    noted = proxy.run("hi", session=proxy.get_session(thread_id))
    return noted.call.address.entity[1], dict(noted.fields)


@pytest.mark.behaviour("owners.orchestrations")
async def test_an_orchestration_uses_the_threads_of_the_owner_that_it_names(owned: OwnedApp) -> None:
    """That person reads them over HTTP; without an owner they are the app's, which nobody who is signed in has."""
    for person in (Principal(ISSUER, "ada"), None):
        key, fields = called(person)
        answer = await owned.host.entities.call("dafx-clerk", key, "run", fields)
        assert json.loads(json.loads(answer["result"]))["response"] == "echo: hi"

    found = {user: (await owned.ask(user, "GET", f"{THREADS}/t")).status_code for user in ("ada", "bob")}

    assert found == {"ada": 200, "bob": 404}
    assert sorted(await owned.stored()) == sorted(["t", f"{owner('ada')}!t"])


@pytest.mark.behaviour("owners.orchestrations")
async def test_a_call_that_names_another_than_the_owner_of_its_thread_is_refused(owned: OwnedApp) -> None:
    key, fields = called(Principal(ISSUER, "ada"))

    for principal in ({"issuer": ISSUER, "id": "bob"}, {"issuer": ISSUER}, {"issuer": "", "id": ""}, "ada", 7):
        answer = await owned.host.entities.call("dafx-clerk", key, "run", {**fields, "principal": principal})
        assert (answer["isError"], "'principal' is not the owner" in answer["result"]) == (True, True)

    assert await owned.stored() == {}
