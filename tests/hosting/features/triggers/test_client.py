"""app.client in functions of the user's own, and the options of an agent_trigger."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import azure.functions as func
import httpx
import pytest
from agent_framework import Agent

from hosting.app import AgentFunctionApp, AgentRun, Limit, Principal
from hosting.core.entity.called_run import AgentRunError
from hosting.errors import (
    HostingError,
    InvalidFieldError,
    InvalidIdempotencyKeyError,
    InvalidThreadIdError,
    InvalidWaitError,
    LimitExceededError,
    UnknownAgentError,
    UnknownRunError,
)
from tests.support.app.scripted import ScriptedClient, scripted_agent
from tests.support.deliveries import queued
from tests.support.direct import DirectHost
from tests.support.made_app import app_of, served
from tests.support.obedient import obedient

ANNA = Principal("https://issuer.example", "anna")
BERT = Principal("https://issuer.example", "bert")


class Inbox:
    """An app with one function of the user's, which does what a test has it do."""

    def __init__(self, *agents: Any, **options: Any) -> None:
        self.app = app_of(*(agents or (scripted_agent("Joker"),)), **options)
        self.work: Callable[[], Awaitable[Any]]

        @self.app.function_name("inbox")
        @self.app.queue_trigger(arg_name="message", queue_name="inbox", connection="AzureWebJobsStorage")
        async def inbox(message: func.QueueMessage) -> Any:
            return await self.work()

        self.host = DirectHost(self.app)

    async def do(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Return what the work gives within the function, as the host calls it."""
        self.work = work
        return await asyncio.wait_for(self.host.trigger("inbox", message=func.QueueMessage(body="text")), 5)

    async def run(self, message: Any, agent: str = "Joker", **options: Any) -> AgentRun:
        run = await self.do(lambda: self.app.client.run(agent, message, **options))
        assert isinstance(run, AgentRun)
        return run


@pytest.mark.behaviour("triggers.client")
async def test_a_function_starts_a_run_and_reads_its_answer() -> None:
    inbox = Inbox()

    first = await inbox.run("hello", thread_id="t1", wait=True)
    second = await inbox.run("count", thread_id="t1", wait=30)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(inbox.host.asgi), base_url="http://app.example") as http:
        answer = await http.get(f"/api/agents/Joker/threads/t1/runs/{second.run_id}")

    assert (first.status, first.response, first.is_over) == ("success", "echo: hello", True)
    assert second.response == "3"
    spelled_twice = {"sessionId", "correlationId", "messageCount"}
    assert {name: value for name, value in answer.json().items() if name not in spelled_twice} == second.fields


@pytest.mark.behaviour("triggers.client")
async def test_a_function_cancels_a_run() -> None:
    inbox = Inbox()

    started = await inbox.run("sleep 30")
    with pytest.raises(AgentRunError, match=r"app\.client\.result"):
        _ = started.response
    await inbox.do(lambda: inbox.app.client.cancel(started))
    ended = await inbox.do(lambda: inbox.app.client.result(started))

    assert ended.status == "cancelled"
    with pytest.raises(AgentRunError, match="run_cancelled"):
        _ = ended.response


@pytest.mark.behaviour("triggers.client")
async def test_each_owner_has_threads_of_their_own() -> None:
    inbox = Inbox(scripted_agent("Joker"), principal=lambda request: None)

    runs = [await inbox.run("count", thread_id="t1", owner=owner, wait=True) for owner in (ANNA, BERT, None, ANNA)]

    assert [run.response for run in runs] == ["1", "1", "1", "3"]
    stranger = AgentRun("Joker", "t1", runs[0].run_id, owner=BERT)
    with pytest.raises(UnknownRunError):
        await inbox.do(lambda: inbox.app.client.result(stranger))


@pytest.mark.behaviour("triggers.client-limits")
async def test_the_limits_of_an_owner_hold() -> None:
    inbox = Inbox(scripted_agent("Joker"), principal=lambda request: None, limit=Limit(requests_per_minute=1))

    first = await inbox.run("hello", owner=ANNA, key="one", wait=True)
    with pytest.raises(LimitExceededError):
        await inbox.run("hello", owner=ANNA, key="two")
    again = await inbox.run("hello", owner=ANNA, key="one", wait=True)

    assert again.run_id == first.run_id


@pytest.mark.behaviour("triggers.client")
@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"agent": "Nobody"}, UnknownAgentError),
        ({"agent": None}, UnknownAgentError),
        ({"thread_id": "a/b"}, InvalidThreadIdError),
        ({"key": "two words"}, InvalidIdempotencyKeyError),
        ({"wait": "long"}, InvalidWaitError),
        ({"wait": float("nan")}, InvalidWaitError),
        ({"wait": -1}, InvalidWaitError),
        ({"busy": "perhaps"}, InvalidFieldError),
        ({"webhook": "https://hooks.example"}, InvalidFieldError),
    ],
)
async def test_what_cannot_be_run_is_refused_at_once(options: dict[str, Any], refusal: type[HostingError]) -> None:
    with pytest.raises(refusal, match=r"\."):
        await Inbox().run("hello", **options)


@pytest.mark.behaviour("triggers.client")
async def test_outside_of_an_invocation_the_client_says_where_it_works() -> None:
    inbox = Inbox()

    with pytest.raises(LookupError, match="async def"):
        await inbox.app.client.run("Joker", "hello")


@pytest.mark.behaviour("triggers.client")
async def test_a_tool_of_an_agent_starts_a_run_of_another() -> None:
    async def ask() -> str:
        run = await app.client.run("Joker", "hello", wait=True)
        events = [frame.event async for frame in app.client.stream(run)]
        return f"{run.response}, {events[-1]}"

    app = app_of(scripted_agent("Joker"), Agent(client=ScriptedClient(), name="Asker", tools=[ask]))
    async with served(app) as (_, http):
        answer = await http.post("/api/agents/Asker/run", json={"message": "tool ask"})

    assert answer.json()["response"] == "tool said echo: hello, completed"


def app_with(ends: list[AgentRun], options: Any) -> AgentFunctionApp:
    """Return an app with a function whose deliveries have these options."""
    app = app_of()
    app.add_agent(obedient(), options={"temperature": (0, 1)})

    @app.agent_trigger("Joker", options=options, on_end=ends.append)
    @app.function_name("inbox")
    @app.queue_trigger(arg_name="message", queue_name="inbox", connection="AzureWebJobsStorage")
    async def inbox(message: func.QueueMessage) -> None:
        """Have the body be the message."""

    return app


@pytest.mark.behaviour("options.doors")
async def test_each_delivery_has_the_options_of_its_trigger() -> None:
    ends: list[AgentRun] = []
    host = DirectHost(app_with(ends, {"temperature": 0.5, "seed": 3}))

    await host.trigger("inbox", message=queued("hello"))

    assert [(json.loads(run.response), run.ignored) for run in ends] == [({"temperature": 0.5}, ["options.seed"])]
