"""The worker itself: what it takes, and what it does while its log is away."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path

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
from tests.support.bench import ArmedStore, Bench
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


def context_of_a_new_thread() -> EntityContext:
    """Return what the SDK hands to an entity."""
    converter = JsonDataConverter()
    entity = EntityInstanceId("dafx-joker", "t")
    return EntityContext("@dafx-joker@t", "run", StateShim(None, converter), entity, converter)


def come_back(store: ArmedStore) -> None:
    """Let the store be reached."""
    store.is_away = False


@pytest.mark.behaviour("console.log-away")
def test_an_operation_begins_when_the_log_is_back(caplog: pytest.LogCaptureFixture) -> None:
    """The SDK would never deliver again what raised; each try has its line in the log."""
    bench = Bench()
    bench.store.is_away = True
    pauses = Pauses(lambda _: come_back(bench.store))
    context = context_of_a_new_thread()

    with caplog.at_level(logging.WARNING, "hosting.console.durable"):
        result = ServedEntity(bench.entity, bench.loop, pauses).operate(context, PlainJson(ORDER))

    assert json.loads(str(result))["response"] == "echo: hi"
    assert len(context.get_state()["data"]["conversationHistory"]) == 2
    assert [record.args[::2] for record in caplog.records if record.args] == [("t", 0.1), ("t", 0.5)]


@pytest.mark.behaviour("console.log-away")
def test_a_worker_that_stops_waits_for_no_log() -> None:
    """The engine delivers the operation to another worker."""
    bench = Bench()
    bench.store.is_away = True
    pauses = Pauses(Pauses.set)

    with pytest.raises(LogUnavailableError):
        ServedEntity(bench.entity, bench.loop, pauses).operate(context_of_a_new_thread(), PlainJson(ORDER))

    assert pauses.count == 2
    assert bench.agent.seen == []


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
