"""Approvals under SIGKILL: a real host killed around each record that an approval makes, over each log."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.client.connection import RemoteAgentError
from hosting.names import new_id
from hosting.testing.asking import RunAnswer
from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE as KILLING
from tests.faults.killing_app import ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.kept_in import KINDS, explored, kept_in, over
from tests.support.marked_app import Notes, cuts_off, source_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

SOURCE = source_of("clerk", "clerk")
MORE_OF_EDITS = ["before claimed 2", "after tool_result 1", "before completed 2"]


async def approve_all(http: httpx.AsyncClient, thread_id: str, **changed: Any) -> None:
    """Approve whatever the thread waits for, perhaps with other arguments."""
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    for approval in (await http.get(f"{thread}/approvals")).json().get("approvals", []):
        await http.post(f"{thread}/approvals/{approval['id']}", json={"approved": True, **changed})


async def last_answer(http: httpx.AsyncClient, thread_id: str, **changed: Any) -> str:
    """Approve what still waits, and return the answer of the run that went on."""
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    while True:
        await approve_all(http, thread_id, **changed)
        for run in (await http.get(f"{thread}/runs")).json().get("runs", []):
            answer = (await http.get(f"{thread}/runs/{run['run_id']}")).json()
            if answer["status"] == "success" and "pending_approvals" not in answer:
                return str(answer["response"])
        await asyncio.sleep(0.02)


def check_the_approval(ask: Callable[..., RunAnswer], approve: Callable[..., RunAnswer], notes: Notes) -> None:
    """It is asked for once, and the tool is called once."""
    waiting = ask("call refund 5")
    assert [approval["tool"] for approval in waiting.pending_approvals] == ["refund"]

    assert (approve(waiting).text, notes.tools) == ("told: refunded 5", ["refund"])


@pytest.mark.behaviour("approvals.survives-kill")
@pytest.mark.killed_at("each step")
def test_a_host_killed_around_an_approval_loses_neither_question_nor_answer(
    ask: Callable[..., RunAnswer],
    approve: Callable[..., RunAnswer],
    notes: Notes,
    request: pytest.FixtureRequest,
) -> None:
    """A tool that was cut off is not called again, and ends its run."""
    if not cuts_off(request, "refund"):
        check_the_approval(ask, approve, notes)
        return
    with pytest.raises(RemoteAgentError) as ended:
        approve(ask("call refund 5"))

    assert ended.value.code == "run_interrupted"
    assert notes.tools in ([], ["refund"])


@pytest.mark.behaviour("approvals.survives-kill")
@pytest.mark.killed_at("after the decision was recorded")
@over("kept", *KINDS[1:])
def test_an_approval_outlives_a_kill_over_each_store(
    ask: Callable[..., RunAnswer], approve: Callable[..., RunAnswer], notes: Notes
) -> None:
    """It is recorded with the run that goes on, which another process begins."""
    check_the_approval(ask, approve, notes)


@pytest.mark.behaviour("approvals.edited")
@pytest.mark.parametrize(
    ("point", "stores"),
    [*kept_in(*KINDS, first="after 3", rest=["before 3", "after completed 2"]), *explored(*MORE_OF_EDITS)],
    indirect=["stores"],
)
async def test_a_call_with_other_arguments_is_made_with_them_by_the_process_that_goes_on(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """Nobody makes the model's own call, and the timeline says with which arguments it was made."""
    app, thread_id, changed = ClerksApp(tmp_path, stores), new_id(), {"arguments": {"n": "7"}}
    thread = f"/api/agents/Clerk/threads/{thread_id}"
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            await http.post("/api/agents/Clerk/run", json={"message": "call refund 5", "thread_id": thread_id})
            with contextlib.suppress(httpx.TransportError):
                await approve_all(http, thread_id, **changed)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(last_answer(http, thread_id, **changed), 4 * GUARD_SECONDS)
            newest = (await http.get(f"{thread}/runs")).json()["runs"][0]["run_id"]
            steps = (await http.get(f"{thread}/runs/{newest}/timeline")).json()["steps"]

    made = 'A person changed the arguments of this call before it was made: {"n": "7"}\nrefunded 7'
    assert answer == f"told: {made}"
    assert [line.rpartition(" ")[0] for line in app.said()] == ["refund 7"]
    assert {str(step["arguments"]) for step in steps if step["kind"] == "tool_call"} == {"{'n': '7'}"}


STANDING = KILLING.replace("clerk(note)", "clerk(note, ToolApprovalMiddleware())").replace(
    "import hosting.app\n", "import hosting.app\nfrom agent_framework import ToolApprovalMiddleware\n"
)
THREAD = "/api/agents/Clerk/threads/t"


async def approve_for_good(app: ClerksApp, **environ: str) -> None:
    """Have the clerk ask, and approve that for all later calls of the tool."""
    with app.host(**environ) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            asked = (await say(http, "call refund 5"))["pending_approvals"]
            answer = {"approved": True, "always": "tool"}
            given = await http.post(f"{THREAD}/approvals/{asked[0]['id']}", json=answer)
            assert given.json()["response"] == "told: refunded 5"


async def say(http: httpx.AsyncClient, message: str) -> dict[str, Any]:
    """Send one message, and return the answer."""
    answer = await http.post("/api/agents/Clerk/run", json={"message": message, "thread_id": "t"})
    return dict(answer.json())


async def newest_answer(http: httpx.AsyncClient) -> str:
    """Return the response of the thread's newest run, once it has one: of the second attempt."""
    while True:
        (newest, *_) = (await http.get(f"{THREAD}/runs")).json()["runs"]
        answer = await http.get(f"{THREAD}/runs/{newest['run_id']}")
        if answer.json().get("status") not in ("running", "queued", "pending"):
            timeline = (await http.get(f"{THREAD}/runs/{newest['run_id']}/timeline")).json()
            assert [step["kind"] for step in timeline["steps"]].count("attempt") == 2
            return str(answer.json().get("response", answer.text))
        await asyncio.sleep(0.02)


async def withdraw(http: httpx.AsyncClient) -> list[int]:
    """Withdraw each standing approval of the thread; return the statuses."""
    listed = (await http.get(f"{THREAD}/approvals/standing")).json()["standing_approvals"]
    return [(await http.delete(f"{THREAD}/approvals/standing/{one['id']}")).status_code for one in listed]


@pytest.mark.behaviour("approvals.standing-killed")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first="after 3", rest=["after 1"]), indirect=["stores"])
async def test_the_next_attempt_has_the_rules_that_the_first_one_had(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """It asks about no call, and makes none again: append 1 begins the run, and 3 has the tool's result."""
    app = ClerksApp(tmp_path, stores, STANDING)
    await approve_for_good(app)
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await say(http, "call refund 7")
        assert await until_dead(host) != 0
    before = len(app.notes())

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(newest_answer(http), 4 * GUARD_SECONDS)
            withdrawn = await withdraw(http)
            asked = await say(http, "call refund 9")

    assert answer == "told: refunded 7"
    assert [line.split()[:2] for line in app.said()] == [["refund", "5"], ["refund", "7"]]
    assert before == (2 if point == "after 3" else 1)
    assert withdrawn == [204]
    assert len(asked["pending_approvals"]) == 1


@pytest.mark.behaviour("approvals.standing-killed")
async def test_a_kill_of_the_run_that_gives_an_approval_gives_it_once(tmp_path: Path) -> None:
    """The decision is recorded, so the next attempt adds the rule."""
    app = ClerksApp(tmp_path, {"AGENT_LOG": "sqlite:.agents/log.sqlite"}, STANDING)
    with contextlib.suppress(httpx.TransportError):
        await approve_for_good(app, KILL="after 5")

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            answer = await asyncio.wait_for(newest_answer(http), 4 * GUARD_SECONDS)
            later = await say(http, "call refund 7")
            withdrawn = await withdraw(http)

    assert (answer, later["response"], withdrawn) == ("told: refunded 5", "told: refunded 7", [204])
    assert app.notes() == ["refund", "refund"]


@pytest.mark.behaviour("approvals.standing-killed")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first="after 1", rest=["before 1"]), indirect=["stores"])
async def test_a_withdrawal_that_a_kill_cut_off_is_repeated(tmp_path: Path, point: str, stores: dict[str, str]) -> None:
    """It has happened or not; after the same request again the tool asks."""
    app = ClerksApp(tmp_path, stores, STANDING)
    await approve_for_good(app)
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            with contextlib.suppress(httpx.TransportError):
                await withdraw(http)
        assert await until_dead(host) != 0

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            again = await withdraw(http)
            asked = await say(http, "call refund 7")

    assert again == ([] if point == "after 1" else [204])
    assert len(asked["pending_approvals"]) == 1
    assert app.notes() == ["refund"]
