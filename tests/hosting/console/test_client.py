"""Agents called from a program of one's own: sync and async, one conversation per session, one error for all ends."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from agent_framework_durabletask import DurableAIAgentClient
from durabletask.client import AsyncTaskHubGrpcClient, TaskHubGrpcClient
from durabletask.entities import EntityInstanceId
from durabletask.worker import TaskHubGrpcWorker
from pydantic import BaseModel

from hosting.console.client import AgentClient, AsyncAgentClient
from hosting.console.worker import AgentWorker
from hosting.core.entity.called_run import AgentRunError
from hosting.errors import ConfigurationError, EngineUnavailableError, HostingError
from hosting.task_hub import TaskHubClient
from state.codec import read
from tests.hosting.console.console import GUARD_SECONDS, Console, stored, task_hub
from tests.support.app.scripted import scripted_agent


class City(BaseModel):
    """A format."""

    name: str


@pytest.mark.behaviour("console.client")
def test_runs_with_one_session_are_one_conversation_stored_as_every_host_stores_it(console: Console) -> None:
    """In the public form, under the entity of every host: an object, which dashboards and other packages read."""
    with console.client() as client:
        writer = client.get_agent("writer")
        session = writer.create_session()
        first = writer.run("my name is Ada", session=session)
        within, apart = writer.run("recall", session=session), writer.run("recall")
        text = stored(console.task_hub(), "writer", session.session_id)

    assert (first.text, within.text, apart.text) == ("echo: my name is Ada", "my name is Ada | recall", "recall")
    assert within.additional_properties["thread_id"] == session.session_id
    document = json.loads(text)
    kinds = [entry["$type"] for entry in document["data"]["conversationHistory"]]
    assert (document["schemaVersion"], kinds[:2]) == ("1.1.0", ["request", "response"])
    assert read(text).data.conversation_history[0].correlation_id


@pytest.mark.behaviour("console.moving-over")
def test_the_ecosystems_own_client_reaches_our_agents_and_reads_their_answers_in_the_thread(console: Console) -> None:
    """A program changes its worker, and nothing else: it signals a request of its own form and polls the thread."""
    writer = DurableAIAgentClient(console.task_hub(), max_poll_retries=50, poll_interval_seconds=0.1).get_agent(
        "writer"
    )
    session = writer.create_session()
    answers = [writer.run(message, session=session).text for message in ("my name is Ada", "recall")]

    assert answers == ["echo: my name is Ada", "my name is Ada | recall"]


@pytest.mark.behaviour("console.client")
async def test_an_event_loop_awaits_the_response(console: Console) -> None:
    async with (
        AsyncTaskHubGrpcClient(host_address=console.address) as hub,
        AsyncAgentClient(hub, **console.options) as client,
    ):
        response = await client.get_agent("critic").run('say {"name": "Oslo"}', response_format=City)

    assert response.value == City(name="Oslo")


@pytest.mark.behaviour("console.client")
def test_a_run_that_outlives_the_wait_raises_an_error_that_names_agent_and_run(console: Console) -> None:
    with console.client(AGENT_WAIT_SECONDS="0") as client, pytest.raises(AgentRunError) as pending:
        client.get_agent("writer").run("meet 2")
    end_meeting(console)

    assert (pending.value.agent, pending.value.code) == ("writer", "run_pending")
    assert pending.value.run_id in str(pending.value)


@pytest.mark.behaviour("console.client")
async def test_a_wrong_call_is_refused_and_nothing_is_sent(console: Console) -> None:
    """As in an orchestration; what settings forbid too; and an engine that cannot be reached is named."""
    with console.client() as client:
        with pytest.raises(HostingError, match="The message is blank"):
            client.get_agent("writer").run(" ")
        with pytest.raises(HostingError, match="cannot be a function's name"):
            client.get_agent("no/such/name")
    with pytest.raises(ConfigurationError, match="which clients cannot share with workers"):
        AgentClient(console.task_hub(), environ={"AGENT_LOG": "memory"})
    with pytest.raises(EngineUnavailableError, match="The durable engine cannot be reached"):
        await TaskHubClient(TaskHubGrpcClient(host_address="127.0.0.1:1")).read("dafx-writer", "t")


@pytest.mark.behaviour("console.client")
async def test_threads_are_listed_by_pages_in_the_order_of_their_ids(console: Console) -> None:
    with console.client() as client:
        critic = client.get_agent("critic")
        for thread_id in ("b", "a", "c"):
            critic.run("hi", session=critic.get_session(thread_id))
            stored(console.task_hub(), "critic", thread_id)
    engine = TaskHubClient(console.task_hub())

    first = await engine.list("dafx-critic", 2, None)
    second = await engine.list("dafx-critic", 100, first.cursor)

    keys = [key for page in (first, second) for key, _ in page.keys if len(key) == 1]
    assert (len(first.keys), second.cursor, keys) == (2, None, ["a", "b", "c"])


@pytest.mark.behaviour("console.client")
async def test_an_orchestration_that_has_ended_is_purged_by_its_id(console: Console) -> None:
    """As the deletion of a thread needs it: not one that is missing, nor an entity, which goes by itself."""
    hub = console.task_hub()
    ended = hub.schedule_new_orchestration("left_alone", input="hi")
    hub.wait_for_orchestration_completion(ended, timeout=GUARD_SECONDS)
    open_one = hub.schedule_new_orchestration("left_alone", input="meet 2")
    hub.wait_for_orchestration_start(open_one, timeout=GUARD_SECONDS)
    engine = TaskHubClient(hub)

    outcomes = [await engine.purge(name) for name in (ended, ended, open_one, "@dafx-writer@t")]
    await asyncio.to_thread(end_meeting, console)

    assert outcomes == ["deleted", "missing", "running", "missing"]


@pytest.mark.slow
@pytest.mark.behaviour("console.worker")
def test_a_sweep_ends_the_threads_whose_time_is_up(options: dict[str, Any]) -> None:
    """A conversation begins anew under the same id; a thread of an agent without a time to live stays."""
    with task_hub() as address, TaskHubGrpcClient(host_address=address) as hub:
        worker = AgentWorker(TaskHubGrpcWorker(host_address=address), **options)
        worker.add_agent(scripted_agent("brief"), ttl_seconds=0.001)
        worker.add_agent(scripted_agent("lasting"))
        with worker, AgentClient(hub, **options) as client:
            agents = [client.get_agent(name) for name in ("brief", "lasting")]
            for agent in agents:
                agent.run("hello", session=agent.get_session("t"))
                stored(hub, agent.name, "t")
            swept = worker.sweep(hub)
            until_gone(hub, EntityInstanceId("dafx-brief", "t"))
            counts = [agent.run("count", session=agent.get_session("t")).text for agent in agents]

    assert (swept.signalled, counts) == (1, ["1", "3"])


def end_meeting(console: Console) -> None:
    """Have the run end that waits for one more."""
    with console.client() as client:
        client.get_agent("critic").run("meet 2")


def until_gone(hub: TaskHubGrpcClient, entity: EntityInstanceId) -> None:
    """Return once the entity has no state, under the guard."""
    end = time.monotonic() + GUARD_SECONDS
    while (found := hub.get_entity(entity)) is not None and found.get_state():
        assert time.monotonic() < end
        time.sleep(0.01)  # the engine tells nobody
