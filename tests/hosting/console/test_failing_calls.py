"""Each call of a console worker to its log fails, is late, or is done and its answer lost, while its clients wait.

One worker has all the turns at once, each on a thread of its own, and in each another call is the one that fails.
Clients reach the log past the proxy: what fails is the worker's.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from durabletask.client import AsyncTaskHubGrpcClient, TaskHubGrpcClient
from durabletask.worker import TaskHubGrpcWorker

from hosting.console.client import AsyncAgentClient
from hosting.console.worker import AgentWorker
from hosting.core.thread.events import TERMINALS
from tests.hosting.console.console import logged, stored, task_hub
from tests.support.clerk import clerk
from tests.support.failing_log import Faults, Proxy, in_each_way, proxied, set_for_each_call
from tests.support.kept_in import HUB, settings_of

pytestmark = pytest.mark.slow

GUARD_SECONDS = 90.0


@dataclass(frozen=True)
class FailingConsole:
    """An engine with a worker whose log is behind a proxy; `options` are its clients', `notes` what its tool did."""

    address: str
    proxy: Proxy
    options: dict[str, Any]
    notes: list[str] = field(default_factory=list)


@pytest.fixture
def console(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FailingConsole]:
    """The engine, its worker behind the proxy, and what reaches its log past that."""
    settings = settings_of(request.param, request)
    options = {"environ": settings, "folder": tmp_path, "hub": settings[HUB]}
    with proxied(settings, request) as (proxy, environ), task_hub() as address:
        made = FailingConsole(address, proxy, options)
        worker = AgentWorker(TaskHubGrpcWorker(host_address=address), **{**options, "environ": environ})
        worker.add_agent(clerk(made.notes.append))
        with worker:
            yield made


@pytest.mark.behaviour("console.any-call-fails")
@in_each_way("console")
async def test_a_turn_of_a_worker_one_of_whose_calls_fails_ends_once_with_its_answer(
    console: FailingConsole, faults: Faults
) -> None:
    """Whichever call it is, and whether the log did what was asked or not; nothing is doubled."""
    plain = console.proxy.set("slow", text="plain-0", times=math.inf, seconds=0.0)
    async with (
        AsyncTaskHubGrpcClient(host_address=console.address) as hub,
        AsyncAgentClient(hub, **console.options) as client,
    ):
        agent = client.get_agent("Clerk")

        async def answer(name: str) -> str:
            return str((await agent.run(f"call look {name}", session=agent.get_session(name))).text)

        assert await answer("plain-0") == "One moment.told: saw plain-0"
        calls = plain.fired
        put = set_for_each_call(console.proxy, faults, calls)
        answers = await asyncio.wait_for(asyncio.gather(*map(answer, put)), GUARD_SECONDS)

    fired = sum(fault.fired > 0 for fault in put.values())
    print(f"{calls} calls of a worker's turn, {len(put)} turns, in {fired} of them one failed")
    assert dict(zip(put, answers, strict=True)) == {name: f"One moment.told: saw {name}" for name in put}
    assert Counter(console.notes) == Counter(f"look {name}" for name in ["plain-0", *put])
    with TaskHubGrpcClient(host_address=console.address) as engine:
        documents = {name: json.loads(stored(engine, "Clerk", name, GUARD_SECONDS)) for name in put}
    told = {
        name: (
            [event.kind for event in events if isinstance(event, TERMINALS)],
            [entry["$type"] for entry in documents[name]["data"]["conversationHistory"]],
        )
        for name, events in (await logged(console.options, "Clerk", put)).items()
    }
    once = (["completed"], ["request", "response"])
    assert {name: one for name, one in told.items() if one != once} == {}
