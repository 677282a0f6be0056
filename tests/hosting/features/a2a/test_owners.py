"""Each caller has tasks of their own, as they have threads on our own routes."""

from __future__ import annotations

import pytest

from hosting.app import Principal, PrincipalRequest
from tests.hosting.features.a2a.wired import Wired
from tests.support.a2a import message

ADA, BOB = {"x-user": "ada"}, {"x-user": "bob"}


def signed_in(request: PrincipalRequest) -> Principal | None:
    """Return whom the header names."""
    name = request.headers.get("x-user")
    return None if name is None else Principal("https://login.example", name)


@pytest.mark.behaviour("a2a.owners")
async def test_anothers_tasks_are_not_there() -> None:
    """Not read, followed, continued, canceled or listed; the card is for all."""
    wired = Wired(principal=signed_in)
    async with wired.http as http:
        sent = message("my secret", contextId="mine")
        task = (await wired.result("SendMessage", headers=ADA, message=sent))["task"]
        tried = [
            await wired.rpc("GetTask", headers=BOB, id=task["id"]),
            await wired.rpc("SubscribeToTask", headers=BOB, id=task["id"]),
            await wired.rpc("CancelTask", headers=BOB, id=task["id"]),
            await wired.rpc("SendMessage", headers=BOB, message=message("x", taskId=task["id"])),
        ]
        lists = [
            await wired.result("ListTasks", headers=who, **fields)
            for who in (BOB, ADA)
            for fields in ({}, {"contextId": "mine"})
        ]
        unsigned = await http.post("Joker", json={"jsonrpc": "2.0", "id": 1, "method": "ListTasks"})
        card = await http.get("Joker/.well-known/agent-card.json")
        own = await wired.result("GetTask", headers=ADA, id=task["id"])

    assert [answer["error"]["code"] for answer in tried] == [-32001] * len(tried)
    assert "secret" not in str(tried)
    assert [one["totalSize"] for one in lists] == [0, 0, 1, 1]
    assert (unsigned.status_code, unsigned.headers["www-authenticate"]) == (401, "Bearer")
    assert (card.status_code, own) == (200, task)


@pytest.mark.behaviour("a2a.list")
async def test_the_tasks_of_all_of_a_callers_contexts_are_listed_together() -> None:
    """Those that changed last first; artifacts only where they are wanted."""
    wired = Wired(principal=signed_in)
    async with wired.http:
        sent = [message(text, contextId=context) for text, context in (("a", "one"), ("b", "two"), ("c", "one"))]
        tasks = [(await wired.result("SendMessage", headers=ADA, message=one))["task"] for one in sent]
        listed = await wired.result("ListTasks", headers=ADA)
        clerks = await wired.result("ListTasks", "Clerk", headers=ADA)

    assert [task["id"] for task in listed["tasks"]] == [task["id"] for task in reversed(tasks)]
    assert not any("artifacts" in task for task in listed["tasks"])
    assert (listed["totalSize"], clerks["totalSize"]) == (3, 0)
