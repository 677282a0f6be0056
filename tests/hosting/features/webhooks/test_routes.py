"""Deliveries of webhooks over HTTP: what was not taken is listed, and sent again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of, ask, served
from tests.support.owned_app import ISSUER, OwnedApp, owner, with_roles
from tests.support.receiver import WEBHOOKS, Receiver, receiving

pytestmark = pytest.mark.behaviour("webhooks.shown")

LIST = "/api/agents/Joker/webhooks"
THREAD = "/api/agents/Joker/threads/t"


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as opened:
        yield opened


def _came(delivery: dict[str, Any]) -> tuple[Any, ...]:
    return delivery["receiver"], delivery["state"], [one["status"] for one in delivery["tries"]]


async def test_what_was_not_taken_is_listed_with_the_last_answer_and_sent_again(receiver: Receiver) -> None:
    """By the same id. Then it is listed no more, and its thread has both tries; of the address the host is shown."""
    receiver.statuses = [410]
    async with served(app_of(scripted_agent("Joker"), environ=WEBHOOKS)) as (host, http):
        url = f"{receiver.url}/hook?token=secret"
        run_id = (await ask(http, "say hello", thread_id="t", webhook=url)).json()["run_id"]
        await host.entities.idle()
        first, listed = await receiver.next(), (await http.get(LIST)).json()
        export = (await http.get(f"{THREAD}/export")).json()
        again = await http.post(f"{THREAD}/runs/{run_id}/webhooks/request")
        second = await receiver.next()
        await host.entities.idle()
        left, of_thread = (await http.get(LIST)).json(), (await http.get(f"{THREAD}/webhooks")).json()

    [dead] = listed["deliveries"]
    assert (*_came(dead), dead["next_try_at"]) == ("request", "dead", [410], None)
    assert (dead["thread_id"], dead["run_id"], dead["event"], dead["owner"]) == ("t", run_id, "run.completed", "app")
    assert export["webhooks"] == [dead]
    assert (dead["host"], "secret" in str(listed)) == (receiver.url.removeprefix("http://"), False)
    assert (again.status_code, again.json(), again.headers["x-ms-run-id"]) == (202, dead, run_id)
    assert (second.id, second.body) == (first.id, first.body)
    assert left == {"deliveries": [], "next_cursor": None}
    assert [_came(one) for one in of_thread["deliveries"]] == [("request", "delivered", [410, 204])]


async def test_a_delivery_that_was_taken_is_its_threads_alone_and_may_be_sent_again(receiver: Receiver) -> None:
    async with served(app_of(scripted_agent("Joker"), environ=WEBHOOKS, webhook=receiver.url)) as (host, http):
        run_id = (await ask(http, "say hello", thread_id="t")).json()["run_id"]
        first = await receiver.next()
        await host.entities.idle()
        listed, of_thread = (await http.get(LIST)).json(), (await http.get(f"{THREAD}/webhooks")).json()
        await http.post(f"{THREAD}/runs/{run_id}/webhooks/agent")
        second = await receiver.next()

    assert listed["deliveries"] == []
    assert [_came(one) for one in of_thread["deliveries"]] == [("agent", "delivered", [204])]
    assert first.id == second.id


@pytest.mark.parametrize("path", [LIST, f"{THREAD}/webhooks"])
async def test_each_delivery_is_on_one_page(receiver: Receiver, path: str) -> None:
    receiver.statuses = [410] * 14
    async with served(app_of(scripted_agent("Joker"), environ=WEBHOOKS, webhook=receiver.url)) as (host, http):
        for number in range(7):
            webhook = f"{receiver.url}/{number}"
            await ask(http, "say hello", thread_id="t" if path != LIST or number % 2 else "u", webhook=webhook)
        await host.entities.idle()
        everything = (await http.get(path)).json()
        found, cursor = list[list[Any]](), ""
        for _ in range(5):
            page = (await http.get(f"{path}?limit=3{cursor}")).json()
            found.append(page["deliveries"])
            cursor = f"&cursor={page['next_cursor']}"

    assert [len(part) for part in found] == [3, 3, 3, 3, 2]
    assert page["next_cursor"] is None
    assert [one for part in found for one in part] == everything["deliveries"]
    assert len({(one["run_id"], one["receiver"]) for one in everything["deliveries"]}) == 14


async def test_all_owners_deliveries_are_for_administrators_and_a_threads_for_its_owner(receiver: Receiver) -> None:
    """An administrator sees whose they are, and sends them again by that."""
    receiver.statuses = [410, 410]
    admin, runs = "/api/agents/Clerk/webhooks", {}
    owned = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators", **WEBHOOKS)
    async with owned.http:
        for user in ("ada", "bob"):
            body = {"message": "hi", "thread_id": "t", "webhook": receiver.url}
            runs[user] = (await owned.ask(user, "POST", "/api/agents/Clerk/run", json=body)).json()["run_id"]
            await receiver.next()
        await owned.host.entities.idle()
        again = f"/api/agents/Clerk/threads/t/runs/{runs['ada']}/webhooks/request"
        refused = [await owned.ask("ada", "GET", admin), await owned.ask("ada", "POST", again)]
        own = (await owned.ask("ada", "GET", "/api/agents/Clerk/threads/t/webhooks")).json()["deliveries"]
        everybodys = (await owned.ask("root", "GET", admin)).json()["deliveries"]
        bobs = (await owned.ask("root", "GET", f"{admin}?owner={owner('bob')}")).json()["deliveries"]
        sent = await owned.ask("root", "POST", f"{again}?owner={owner('ada')}")
        await receiver.next()

    assert [one.json()["code"] for one in refused] == ["forbidden", "forbidden"]
    assert [one["run_id"] for one in own] == [runs["ada"]]
    assert {(one["owner"], one["run_id"]) for one in everybodys} == {(owner(user), runs[user]) for user in runs}
    assert [one["owner"] for one in bobs] == [owner("bob")]
    assert sent.status_code == 202


async def test_what_was_never_sent_is_not_sent_again(receiver: Receiver) -> None:
    """A run without a webhook, one that is not there, and nobody's receiver."""
    async with served(app_of(scripted_agent("Joker"), environ=WEBHOOKS)) as (host, http):
        run_id = (await ask(http, "say hello", thread_id="t")).json()["run_id"]
        await host.entities.idle()
        paths = [f"{run_id}/webhooks/request", f"{run_id}/webhooks/else", f"{'0' * 32}/webhooks/request"]
        answers = [await http.post(f"{THREAD}/runs/{path}") for path in paths]

    assert [(one.status_code, one.json()["code"]) for one in answers] == [
        (404, "unknown_delivery"),
        (404, "unknown_delivery"),
        (404, "unknown_run"),
    ]
    assert receiver.arrived.empty()


async def test_what_is_stored_of_deliveries_is_exported_and_erased_whatever_the_app_sends_now(
    receiver: Receiver, tmp_path: Path
) -> None:
    """An app from which the secret was taken has its deliveries of before, and the notes by which they would go on."""
    receiver.statuses = [503]
    stores = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    async with served(app_of(scripted_agent("Joker"), environ={**WEBHOOKS, **stores})) as (host, http):
        run_id = (await ask(http, "say hello", thread_id="t", webhook=receiver.url)).json()["run_id"]
        await receiver.next()
        await host.entities.idle()
        states = host.entities.states
        before = (await http.get(f"{THREAD}/export")).json()["webhooks"]
    app = app_of(scripted_agent("Joker"), environ=stores)
    async with served(app) as (host, http):
        host.entities.states |= states
        export = (await http.get(f"{THREAD}/export")).json()
        deleted = await http.delete(THREAD)
        receipt = (await http.get(f"{THREAD}/erasure")).json()
        attachments = app._services.stores.attachments
        hub = app._services.stores.hub
        left = [await attachments.put_between(f"{hub}.{kind}", 0, 1e12) for kind in ("webhooks", "not-taken")]

    assert [_came(one) for one in before] == [("request", "waiting", [503])]
    assert export["webhooks"] == before
    assert [run["accepted"]["request"]["webhook"] for run in export["runs"]] == [receiver.url]
    assert (deleted.status_code, receipt["webhooks"], run_id in str(left)) == (204, 1, False)


@pytest.mark.behaviour("webhooks.told")
async def test_an_agents_own_receiver_is_told_whose_run_it_was_and_a_callers_is_not(receiver: Receiver) -> None:
    """Also of a run that somebody else began, with whom the thread is shared: its owner is who finds it."""
    told = dict[tuple[str, str], Any]()
    owned = OwnedApp(with_roles, webhook=f"{receiver.url}/agents", AGENT_ADMIN_ROLE="operators", **WEBHOOKS)
    async with owned.http:
        body = {"message": "hi", "thread_id": "t", "webhook": f"{receiver.url}/callers"}
        await owned.ask("ada", "POST", "/api/agents/Clerk/run", json=body)
        first = [await receiver.next(), await receiver.next()]
        given = {"issuer": ISSUER, "id": "bob", "access": "run"}
        grant = (await owned.ask("ada", "POST", "/api/agents/Clerk/threads/t/grants", json=given)).json()["grant"]
        shared = {"message": "I am Bob", "webhook": f"{receiver.url}/callers"}
        await owned.ask("bob", "POST", f"/api/shared/{grant}/run", json=shared)
        second = [await receiver.next(), await receiver.next()]
        told = {
            (user, one.path): one.message["data"] for user, ones in (("ada", first), ("bob", second)) for one in ones
        }
        data = told["bob", "/agents"]
        found = await owned.ask("root", "GET", f"{data['run_url']}?owner={data['owner']['owner']}")

    ada = {"owner": owner("ada"), "issuer": ISSUER, "id": "ada"}
    assert {who: data.get("owner") for who, data in told.items()} == {
        ("ada", "/agents"): ada,
        ("ada", "/callers"): None,
        ("bob", "/agents"): ada,
        ("bob", "/callers"): None,
    }
    assert (found.status_code, found.json()["run_id"]) == (200, data["run_id"])
    assert not any(text in str(told["bob", "/callers"]) for text in (ISSUER, owner("ada")))
