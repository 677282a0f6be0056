"""Code that blocks the loop on which all agents run: said while it does, by the log, by readiness and to callers."""

from __future__ import annotations

import asyncio
import logging
import queue
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.bench import CountingAgent
from tests.support.desk import Desk
from tests.support.made_app import MEMORY, app_of, ask, served

GUARD_SECONDS = 5.0
RUN = "a" * 32
BRIEF = {**MEMORY, "AGENT_BLOCKED_SECONDS": "0.1"}
LOGGER = logging.getLogger("hosting.core.agent.agent_loop")
LINE = r"\S+test_blocked_agents.py:\d+ in run"


class Blocking(CountingAgent):
    """An agent that blocks its loop, told to `block`, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go: queue.SimpleQueue[None] = queue.SimpleQueue()

    async def run(self, messages: Any, **options: Any) -> Any:
        if messages[-1].text == "block":
            self.let_go.get()
        return await super().run(messages, **options)


class Lines(logging.Handler):
    """What is logged, one line after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._told: queue.SimpleQueue[str] = queue.SimpleQueue()

    def emit(self, record: logging.LogRecord) -> None:
        self._told.put(record.getMessage())

    async def next(self) -> str:
        """Return the next line."""
        return await asyncio.to_thread(self._told.get, True, GUARD_SECONDS)

    async def of(self, part: str) -> str:
        """Return the next line with that part: on a busy machine there may be others before it."""
        while part not in (line := await self.next()):
            pass
        return line


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What the agents' loop logs."""
    handler = Lines()
    LOGGER.addHandler(handler)
    yield handler
    LOGGER.removeHandler(handler)


@pytest.mark.slow
@pytest.mark.behaviour("hosting.refuses-while-blocked")
@pytest.mark.behaviour("http.readiness")
async def test_a_process_whose_agents_are_blocked_takes_no_new_run_until_they_go_on(lines: Lines) -> None:
    """Whoever blocks them is named in the log, and to the developer in the answer."""
    agent = Blocking()
    async with served(app_of(agent, environ=BRIEF)) as (_, http):
        blocked = asyncio.ensure_future(ask(http, "block"))
        told = await lines.of("and still is")
        refused, ready = await ask(http, "hi"), await http.get("/api/health/ready")
        agent.let_go.put(None)
        ended, gone_on = await blocked, await lines.of("was blocked")
        after = [(await http.get("/api/health/ready")).status_code, (await ask(http, "hi")).status_code]

    assert re.fullmatch(
        rf"The agent loop has been blocked for \d\.\d s by {LINE} and still is. The app takes no new runs until "
        "then.",
        told,
    )
    assert [(one.status_code, one.json()["code"], "retry-after" in one.headers) for one in (refused, ready)] == [
        (503, "agents_blocked", True)
    ] * 2
    assert re.search(rf"blocked for \d+ s by {LINE}, and no new runs start", refused.json()["detail"])
    assert (ended.status_code, after) == (200, [200, 200])
    assert gone_on.startswith("The agent loop was blocked for ")


@pytest.mark.slow
@pytest.mark.behaviour("hosting.refuses-while-blocked")
async def test_a_run_that_a_signal_brings_waits_while_the_agents_are_blocked(lines: Lines) -> None:
    """Its entity leaves it to another process, and claims it here once they go on."""
    agent = Blocking()
    async with served(app_of(agent, environ=BRIEF)) as (host, http):
        blocked = asyncio.ensure_future(ask(http, "block"))
        await lines.of("and still is")
        host.entities.deliver("dafx-joker", "other", "run", {"message": "hi", "run_id": RUN})
        while (run := await http.get(f"/api/agents/Joker/threads/other/runs/{RUN}")).status_code == 404:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        began, freed = run.json()["status"], datetime.now(UTC)
        agent.let_go.put(None)
        await asyncio.wait_for(host.entities.idle(), GUARD_SECONDS)
        await blocked
        stream = (await http.get(f"/api/agents/Joker/threads/other/runs/{RUN}/events")).text

    (started,) = re.findall(r'event: started\ndata: .*"at": "([^"]+)"', stream)
    assert began == "accepted"
    assert datetime.fromisoformat(started) > freed


@pytest.mark.behaviour("hosting.refuses-while-blocked")
async def test_an_answer_to_an_approval_is_refused_while_the_agents_are_blocked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may begin a run, as a message does; nothing is decided by it, and it can be sent again."""
    (approval,) = await desk.approvals_of("call refund 5")
    loop = desk.app._loop
    monkeypatch.setattr(loop, "_most_blocked_seconds", 0.0)
    monkeypatch.setattr(loop, "_blocked_since", 0.0)
    refused = await desk.answer(approval)
    waiting = await desk.waiting()
    monkeypatch.undo()
    answered = await desk.answer(approval)

    assert (refused.status_code, refused.json()["code"], waiting) == (503, "agents_blocked", [approval])
    assert (answered.status_code, answered.json()["response"]) == (200, "told: refunded 5")
