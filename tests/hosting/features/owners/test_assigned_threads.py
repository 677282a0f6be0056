"""Threads from before an app knew who asks, handed to their owners by an administrator."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from hosting.core.thread.commands import Command, DeleteThread, DescribeThread
from hosting.core.thread_log import ThreadLog
from hosting.errors import LogUnavailableError
from tests.support.entity_calls import call_agent
from tests.support.owned_app import ISSUER, THREADS, OwnedApp, owner, with_roles

ADA = {"issuer": ISSUER, "id": "ada"}
PICTURE = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 100).decode()


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    """One process of the app, which archives what is older than a few turns; it has the thread "t" of nobody's."""
    app = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators", AGENT_RECENT_BYTES="2048")
    async with app.http:
        for number in range(6):
            await call_agent(app.host, "Clerk", "t", f"message {number} " + "long " * 60)
        await call_agent(app.host, "Clerk", "t", "see", contents=[{"$type": "data", "uri": PICTURE}])
        yield app


async def assign(owned: OwnedApp, thread_id: str = "t", user: str = "root", **body: Any) -> httpx.Response:
    """Have an administrator hand a thread of the app to Ada."""
    return await owned.ask(user, "POST", f"{THREADS}/{thread_id}/assign", json={**ADA, **body})


async def messages(owned: OwnedApp, user: str, **query: str) -> list[Any]:
    answer = await owned.ask(user, "GET", f"{THREADS}/t/messages", params={"limit": "200", **query})
    return [entry["messages"] for entry in answer.json()["entries"]]


@pytest.mark.behaviour("owners.assigned")
async def test_a_thread_is_handed_over_whole(owned: OwnedApp) -> None:
    """Its archive and its pictures too; the owner goes on with it, and the app has it no more."""
    before = await messages(owned, "root", owner="app")
    stored = (await owned.stored())["t"]
    assert stored["data"]["extensionData"]["durableAgentHost"]["archived"]["entries"] > 0

    handed = await assign(owned)
    after = await messages(owned, "ada")
    documents = await owned.stored()
    answer = await owned.say("ada", "and on")
    export = (await owned.ask("ada", "GET", f"{THREADS}/t/export")).json()
    gone = await owned.ask("root", "GET", f"{THREADS}/t/erasure", params={"owner": "app"})

    assert handed.status_code == 204
    assert after == before
    assert list(documents) == [f"{owner('ada')}!t"]
    host = documents[f"{owner('ada')}!t"]["data"]["extensionData"]["durableAgentHost"]
    assert host["owner"] == ADA
    assert host["archived"]["entries"] > 0
    assert answer["message_count"] == len(before) + 2
    assert [one["size_bytes"] for one in export["attachments"]] == [25_600]
    assert gone.json()["reason"] == "assigned"


@pytest.mark.behaviour("owners.assigned")
async def test_whoever_dies_behind_the_import_is_finished_by_a_repeat(
    owned: OwnedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await messages(owned, "root", owner="app")
    execute = ThreadLog.execute

    async def dying(self: ThreadLog, address: Any, command: Command, *rest: Any, **more: Any) -> Any:
        if isinstance(command, DeleteThread):
            raise LogUnavailableError()
        return await execute(self, address, command, *rest, **more)

    monkeypatch.setattr(ThreadLog, "execute", dying)
    broken = await assign(owned)
    monkeypatch.undo()
    await owned.say("ada", "and on")
    finished = await assign(owned)

    assert (broken.status_code, finished.status_code) == (503, 204)
    assert (await messages(owned, "ada"))[: len(before)] == before
    assert list(await owned.stored()) == [f"{owner('ada')}!t"]


@pytest.mark.behaviour("owners.assigned")
async def test_a_thread_that_went_on_meanwhile_stays_the_apps_and_is_handed_over_as_it_is_then(
    owned: OwnedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said between the reading and the deletion is not lost; the next try has it."""
    execute = ThreadLog.execute
    was_asked = False

    async def late(self: ThreadLog, address: Any, command: Command, *rest: Any, **more: Any) -> Any:
        nonlocal was_asked
        if isinstance(command, DeleteThread) and not was_asked:
            was_asked = True
            await execute(self, address, DescribeThread(time.time(), 0, {"for": "a test"}))
            await call_agent(owned.host, "Clerk", "t", "one more thing")
        return await execute(self, address, command, *rest, **more)

    monkeypatch.setattr(ThreadLog, "execute", late)
    first, second = await assign(owned), await assign(owned)

    assert (first.status_code, first.json()["code"]) == (409, "thread_changed")
    assert second.status_code == 204
    assert "one more thing" in json.dumps(await messages(owned, "ada"))
    assert (await owned.ask("ada", "GET", f"{THREADS}/t/export")).json()["metadata"] == {"for": "a test"}


@pytest.mark.behaviour("owners.assigned")
async def test_what_cannot_be_handed_over_is_refused_and_stays(owned: OwnedApp) -> None:
    await owned.say("ada", "mine", "taken")
    await call_agent(owned.host, "Clerk", "taken", "the app's")
    await call_agent(owned.host, "Clerk", "waits", "call refund 10")
    before = await owned.stored()

    answers = {
        "waits": await assign(owned, "waits"),
        "nothing": await assign(owned, "nothing"),
        "taken": await assign(owned, "taken"),
        "blank": await assign(owned, "t", id=""),
        "nobody": await assign(owned, "t", user="ada"),
    }

    assert {name: (one.status_code, one.json()["code"]) for name, one in answers.items()} == {
        "waits": (409, "thread_changed"),
        "nothing": (404, "unknown_thread"),
        "taken": (409, "thread_changed"),
        "blank": (400, "invalid_field"),
        "nobody": (403, "forbidden"),
    }
    assert await owned.stored() == before
