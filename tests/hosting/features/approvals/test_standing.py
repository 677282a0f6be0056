"""Standing approvals over HTTP: given once, listed with who gave them, and withdrawn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_framework import AgentContext, AgentMiddleware, ToolApprovalMiddleware

from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import clerk
from tests.support.desk import THREADS, Desk
from tests.support.owned_app import ISSUER, OwnedApp

STANDING = f"{THREADS}/t/approvals/standing"


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """One process of the app, whose agent keeps standing approvals."""
    desk = Desk(ToolApprovalMiddleware())
    async with desk.http:
        yield desk


async def give(desk: Desk, message: str) -> dict[str, Any]:
    """Have the clerk ask, and approve that for good; return the answer of the run that continued."""
    (approval,) = await desk.approvals_of(message)
    answer = await desk.answer(approval, always="tool")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def standing(desk: Desk, place: str = STANDING) -> list[dict[str, Any]]:
    answer = await desk.http.get(place)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["standing_approvals"])


async def withdraw(desk: Desk) -> httpx.Response:
    return await desk.http.delete(f"{STANDING}/{(await standing(desk))[0]['id']}")


async def asks(desk: Desk, message: str, thread_id: str = "t") -> bool:
    return "pending_approvals" in (await desk.say(message, thread_id)).json()


@pytest.mark.behaviour("approvals.standing")
async def test_a_tool_that_is_approved_for_good_is_called_without_a_question(desk: Desk) -> None:
    """With any arguments, on this thread; the list has it once the run has ended that continued."""
    (approval,) = await desk.approvals_of("call refund 5")
    before = await standing(desk)
    await desk.answer(approval, always="tool")

    (listed,) = await standing(desk)

    assert before == []
    assert {**listed, "id": "", "given_at": ""} == {
        "id": "",
        "tool": "refund",
        "arguments": None,
        "server": None,
        "given_by": None,
        "given_at": "",
    }
    assert listed["given_at"] > "2026"
    assert not await asks(desk, "call refund 7")
    assert await asks(desk, "call refund 7", "other")


@pytest.mark.behaviour("approvals.withdrawn")
@pytest.mark.parametrize("end", ["", "/5"])
async def test_no_fork_brings_back_what_was_withdrawn(desk: Desk, end: str) -> None:
    run_id = (await give(desk, "call refund 5"))["run_id"]
    await desk.say("thanks")
    await withdraw(desk)

    body = {"thread_id": "fork", **({"at": run_id} if end else {})}
    forked = await desk.http.post(f"{THREADS}/t/fork", json=body)

    assert forked.status_code == 201, forked.text
    assert await standing(desk, f"{THREADS}/fork/approvals/standing") == []
    assert await asks(desk, "call refund 5", "fork")


def shared_with(answer: httpx.Response) -> str:
    """Return where the person with this grant finds the thread's standing approvals."""
    return f"/api/shared/{answer.json()['grant']}/approvals/standing"


@pytest.mark.behaviour("approvals.standing-owners")
async def test_who_may_approve_on_a_thread_may_withdraw() -> None:
    """Its owner, and a person with a grant to run; one with a grant to read sees them, with who gave each."""
    owned = OwnedApp(agent=clerk(str, ToolApprovalMiddleware()))
    async with owned.http:
        asked = (await owned.say("ada", "call refund 5"))["pending_approvals"]
        of_bob, of_eve = [
            shared_with(await owned.ask("ada", "POST", f"{THREADS}/t/grants", json={**grant, "issuer": ISSUER}))
            for grant in ({"id": "bob", "access": "run"}, {"id": "eve", "access": "read"})
        ]
        decision = {"approved": True, "always": "tool"}
        await owned.ask("bob", "POST", of_bob.replace("standing", asked[0]["id"]), json=decision)

        (seen,) = (await owned.ask("eve", "GET", of_eve)).json()["standing_approvals"]
        by_eve = await owned.ask("eve", "DELETE", f"{of_eve}/{seen['id']}")
        by_nobody = await owned.ask("mallory", "DELETE", f"{STANDING}/{seen['id']}")
        listed = (await owned.ask("ada", "GET", STANDING)).json()["standing_approvals"]
        by_bob = await owned.ask("bob", "DELETE", f"{of_bob}/{seen['id']}")

        assert seen["given_by"] == {"issuer": ISSUER, "id": "bob", "name": "Bob"}
        assert [by_eve.status_code, by_nobody.status_code, by_bob.status_code] == [403, 404, 204]
        assert listed == [seen]
        assert (await owned.ask("ada", "GET", STANDING)).json()["standing_approvals"] == []


class Held(AgentMiddleware):
    """Holds each run that says "wait" until it may go on."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()

    async def process(self, context: AgentContext, call_next: Any) -> None:
        if any("wait" in message.text for message in context.messages):
            self.begun.set()
            await asyncio.wait_for(self.go.wait(), GUARD_SECONDS)
        await call_next()


@pytest.mark.behaviour("approvals.withdrawn")
async def test_a_withdrawal_during_a_run_is_refused_in_every_process(tmp_path: Path) -> None:
    """The run has begun with the rule: the refusal names it, and the same request works once it has ended."""
    held, log = Held(), {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    one, two = Desk(ToolApprovalMiddleware(), held, **log), Desk(ToolApprovalMiddleware(), **log)
    two.host.entities = one.host.entities
    async with one.http, two.http:
        await give(one, "call refund 5")
        begun = (await one.say("wait", wait_for_response=False)).json()
        await asyncio.wait_for(held.begun.wait(), GUARD_SECONDS)

        refused = [await withdraw(one), await withdraw(two)]
        held.go.set()
        await asyncio.wait_for(one.host.entities.idle(), GUARD_SECONDS)
        withdrawn = await withdraw(two)

        assert [answer.json()["code"] for answer in refused] == ["thread_busy"] * 2
        assert all(begun["run_id"] in answer.json()["detail"] for answer in refused)
        assert withdrawn.status_code == 204
        assert await standing(one) == []
        assert await asks(one, "call refund 5")
