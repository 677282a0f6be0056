"""Forks over HTTP, and what they cost of the stores."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from benchmarks.long_thread import made_thread
from hosting.names import Address
from tests.support.app.scripted import scripted_agent
from tests.support.cluster.cluster import AGENT, INSTANCE, Cluster
from tests.support.cluster.engine import instance_of
from tests.support.cluster.life import Life
from tests.support.cluster.threads import archiving_cluster
from tests.support.cluster.threads import fork as fork_of
from tests.support.flows import FLOWS
from tests.support.made_app import app_of, served
from tests.support.owned_app import ISSUER, THREADS, OwnedApp, with_roles

FORK = f"{THREADS}/t/fork"


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    """One process of the app; Ada has the thread "t" of two turns."""
    app = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators")
    async with app.http:
        await app.say("ada", "one")
        await app.say("ada", "two")
        yield app


async def fork(owned: OwnedApp, user: str = "ada", path: str = FORK, **fields: Any) -> httpx.Response:
    """Fork a thread as that user; `key` is the idempotency key."""
    headers = {"idempotency-key": key} if (key := fields.pop("key", None)) else {}
    return await owned.ask(user, "POST", path, json=fields, headers=headers)


async def texts(owned: OwnedApp, thread_id: str, user: str = "ada") -> list[str]:
    answer = await owned.ask(user, "GET", f"{THREADS}/{thread_id}/messages")
    return [entry["messages"][0]["contents"][0]["text"] for entry in answer.json()["entries"]]


@pytest.mark.behaviour("fork.whole")
async def test_a_message_is_edited_by_a_fork_before_it(owned: OwnedApp) -> None:
    made = await fork(owned, at=3, before=True)
    forked = made.json()
    await owned.say("ada", "two, and a half", forked["thread_id"])
    shown = (await owned.ask("ada", "GET", made.headers["location"])).json()

    assert made.status_code == 201
    assert forked["forked_from"] == {"thread_id": "t", "session_id": "t", "entries": 2}
    assert forked["thread_id"] == forked["session_id"] == made.headers["x-ms-thread-id"] != "t"
    assert (shown["forked_from"], shown["message_count"]) == (forked["forked_from"], 4)
    assert (await texts(owned, forked["thread_id"]))[::2] == ["one", "two, and a half"]
    assert (await texts(owned, "t"))[::2] == ["one", "two"]
    assert "forked_from" not in (await owned.ask("ada", "GET", f"{THREADS}/t")).json()


@pytest.mark.behaviour("fork.once")
async def test_a_fork_is_found_by_its_id_and_by_its_key(owned: OwnedApp) -> None:
    """A second request says so; for something else the id is taken and the key used."""
    made = [await fork(owned, thread_id="f"), await fork(owned, key="k"), await fork(owned)]
    again = [await fork(owned, thread_id="f"), await fork(owned, key="k"), await fork(owned)]
    other = [await fork(owned, thread_id="f", at=2), await fork(owned, key="k", at=2), await fork(owned, thread_id="t")]

    assert [one.headers.get("idempotency-replayed") for one in (*made, *again)] == [*[None] * 3, "true", "true", None]
    assert [one.json() for one in again[:2]] == [one.json() for one in made[:2]]
    assert again[2].json()["thread_id"] != made[2].json()["thread_id"]
    assert [(one.status_code, one.json()["code"]) for one in other] == [
        (409, "thread_exists"),
        (409, "idempotency_key_reused"),
        (409, "thread_exists"),
    ]


@pytest.mark.behaviour("fork.owner")
async def test_nobody_but_its_owner_forks_a_thread(owned: OwnedApp) -> None:
    """To others it is not there; who may read or run it may not, nor may an administrator."""
    grant = {"issuer": ISSUER, "id": "bob", "access": "run"}
    given = (await owned.ask("ada", "POST", f"{THREADS}/t/grants", json=grant)).json()["grant"]
    await fork(owned, thread_id="f")

    refused = [
        await fork(owned, "bob"),
        await fork(owned, "bob", f"/api/shared/{given}/fork"),
        await fork(owned, "root", f"{FORK}?owner={'a' * 16}"),
        await owned.ask("bob", "GET", f"{THREADS}/f"),
    ]

    assert [(one.status_code, one.json()["code"]) for one in refused] == [
        (404, "unknown_thread"),
        (403, "forbidden"),
        (403, "forbidden"),
        (404, "unknown_thread"),
    ]


WRONG_FORKS: list[tuple[Any, ...]] = [
    ({"at": 0}, 400, "invalid_field"),
    ({"at": True}, 400, "invalid_field"),
    ({"at": 1.5}, 400, "invalid_field"),
    ({"at": "no/run"}, 400, "invalid_field"),
    ({"at": [1]}, 400, "invalid_field"),
    ({"at": 9}, 400, "invalid_field"),
    ({"at": 1}, 400, "invalid_field"),
    ({"before": True}, 400, "invalid_field"),
    ({"at": 1, "before": "yes"}, 400, "invalid_field"),
    ({"at": "0" * 32}, 404, "unknown_run"),
    ({"thread_id": "no/id"}, 400, "invalid_thread_id"),
    ({"thread_id": 7}, 400, "invalid_field"),
    ({"until": 3}, 400, "unknown_field"),
]


@pytest.mark.behaviour("fork.at")
async def test_what_cannot_be_forked_is_refused_by_name(owned: OwnedApp) -> None:
    for fields, status, code in WRONG_FORKS:
        answer = await fork(owned, **fields)

        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        listed = (await owned.ask("ada", "GET", THREADS)).json()["threads"]
        assert [one["thread_id"] for one in listed] == ["t"]


@pytest.mark.behaviour("fork.at")
async def test_a_thread_of_a_workflow_is_not_forked() -> None:
    async with served(app_of(scripted_agent("Joker"), workflows=FLOWS)) as (_, http):
        await http.post("/api/workflows/Text/run", json={"message": "hi", "thread_id": "t"})
        answers = [await http.post(f"/api/{kind}/Text/threads/t/fork", json={}) for kind in ("workflows", "agents")]

    assert [(one.status_code, one.json()["code"]) for one in answers] == [(409, "fork_refused"), (404, "unknown_agent")]


LENGTHS = (8_000, 24_000)
SHARES = (1, 2, 4)
"""Of a thread up to where a fork ends."""


async def long_thread(length: int) -> Cluster:
    """Return a cluster whose thread has so many messages."""
    cluster = archiving_cluster()
    app = cluster.process()
    made = await made_thread(app.stores.archive, app.place(0), app.services.settings, length)
    cluster.engine.documents[INSTANCE] = made
    return cluster


@pytest.mark.moved_time
@pytest.mark.behaviour("fork.cost")
async def test_a_fork_makes_the_same_calls_whatever_is_before_and_behind_its_end() -> None:
    calls = []
    for length in LENGTHS:
        cluster = await long_thread(length)
        for share in SHARES:
            life = Life()
            forked = await fork_of(cluster.process(life), f"share-{share}", at=length // share)
            assert forked.entries == length // share
            calls.append(life.calls)
        await cluster.close()

    assert calls[: len(SHARES)] == calls[len(SHARES) :]
    assert max(calls) < 32


@pytest.mark.moved_time
@pytest.mark.behaviour("archive.counts-all")
async def test_a_fork_that_ends_long_before_the_end_counts_what_it_has() -> None:
    """Messages and tokens; its document is the one that reading all behind its end makes."""
    cluster = await long_thread(LENGTHS[0])
    quick, slow = cluster.process(), cluster.process()
    slow.stores.archive._objects = WithoutSums(cluster.archive)
    for at in (50, 1000, 7950):
        for name, app in (("quick", quick), ("slow", slow)):
            await fork_of(app, f"{name}-{at}", at=at)
            await cluster.deliver(app)
        assert stored(cluster, f"quick-{at}") == stored(cluster, f"slow-{at}")
    await cluster.close()


class WithoutSums:
    """The objects of an archive whose segments say nothing of those before them."""

    def __init__(self, objects: Any) -> None:
        self._objects = objects

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    async def read(self, thread: Any, names: Any) -> dict[str, bytes]:
        """Return the objects, each without its last line if that is none of its entries."""
        found = await self._objects.read(thread, names)
        return {name: cut(name, body) for name, body in found.items()}


def cut(name: str, body: bytes) -> bytes:
    _, _, first, last = (int(part) for part in name.split("-"))
    return b"\n".join(body.split(b"\n")[: last - first + 1])


def stored(cluster: Cluster, thread_id: str) -> Any:
    """Return a fork's document without what two forks never have in common."""
    data = json.loads(cluster.engine.documents[instance_of(*Address.of(AGENT, thread_id).entity)])["data"]
    host = data["extensionData"]["durableAgentHost"]
    del host["generation"], host["lenders"]["generation"]
    return data
