"""The worker itself: what it takes, and what it does while its log is away."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from durabletask.entities import EntityContext, EntityInstanceId
from durabletask.internal.entity_state_shim import StateShim
from durabletask.serialization import JsonDataConverter
from durabletask.worker import TaskHubGrpcWorker

from hosting.console.durable import ServedEntity
from hosting.console.worker import AgentWorker
from hosting.errors import ConfigurationError, LogUnavailableError
from hosting.task_hub import PlainJson
from tests.support.app.scripted import scripted_agent
from tests.support.cluster.cluster import AppProcess, Cluster
from tests.support.flows import chat_flow

ORDER = {"message": "hi", "correlationId": "run-1"}


class Pauses(threading.Event):
    """Counts the pauses, and does in the second one what a test wants to have happened by then."""

    def __init__(self, then: Callable[[Pauses], None]) -> None:
        super().__init__()
        self.count = 0
        self._then = then

    def wait(self, timeout: float | None = None) -> bool:
        """Pause for no time at all."""
        self.count += 1
        if self.count == 2:
            self._then(self)
        return self.is_set()


async def operated(process: AppProcess, pauses: Pauses) -> tuple[object, object]:
    """Have a thread of a worker, whose log is away, do a new thread's first operation; its result, and the state."""
    loop, converter = asyncio.get_running_loop(), JsonDataConverter()
    entity = EntityInstanceId("dafx-joker", "t")
    context = EntityContext("@dafx-joker@t", "run", StateShim(None, converter), entity, converter)
    agents: Any = SimpleNamespace(result_of=lambda work: asyncio.run_coroutine_threadsafe(work, loop).result())
    process.store.is_away = True
    served = ServedEntity(process.entity, agents, pauses)
    return await asyncio.to_thread(served.operate, context, PlainJson(ORDER)), context.get_state()


@pytest.mark.behaviour("console.log-away")
async def test_an_operation_begins_when_the_log_is_back(caplog: pytest.LogCaptureFixture) -> None:
    """The SDK would never deliver again what raised; each try has its line in the log."""
    process = Cluster().process()
    pauses = Pauses(lambda _: setattr(process.store, "is_away", False))
    with caplog.at_level(logging.WARNING, "hosting.console.durable"):
        result, state = await operated(process, pauses)

    assert json.loads(str(result))["response"] == "echo: hi"
    assert len(state["data"]["conversationHistory"]) == 2  # type: ignore[index]
    assert [record.args[::2] for record in caplog.records if record.args] == [("t", 0.1), ("t", 0.5)]


@pytest.mark.behaviour("console.log-away")
async def test_a_worker_that_stops_waits_for_no_log() -> None:
    """The engine delivers the operation to another worker."""
    process, pauses = Cluster().process(), Pauses(Pauses.set)
    with pytest.raises(LogUnavailableError):
        await operated(process, pauses)

    assert (pauses.count, process.agent.turns) == (2, [])


@pytest.mark.behaviour("console.worker")
def test_a_worker_has_its_agents_by_name_and_refuses_what_an_app_refuses(tmp_path: Path) -> None:
    """Two names that meet, a time limit that is none, an agent that is a workflow, a setting that is wrong."""
    worker = AgentWorker(TaskHubGrpcWorker(), environ={}, folder=tmp_path)
    agent = scripted_agent("writer")
    worker.add_agent(agent)

    with pytest.raises(ConfigurationError, match="Two agents are named 'writer' and 'Writer'"):
        worker.add_agent(scripted_agent("Writer"))
    with pytest.raises(ConfigurationError, match="run_timeout_seconds of agent 'critic' is 0 s"):
        worker.add_agent(scripted_agent("critic"), run_timeout_seconds=0)
    with pytest.raises(ConfigurationError, match="Agent 'Chat' is a workflow"):
        worker.add_agent(chat_flow().as_agent("Chat"))
    with pytest.raises(ConfigurationError, match="AGENT_TOOL_THREADS"):
        AgentWorker(TaskHubGrpcWorker(), environ={"AGENT_TOOL_THREADS": "no"}, folder=tmp_path)
    assert worker.agents["writer"] is agent
