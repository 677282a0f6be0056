"""Two users at work at once in one process: each place of a run gets its own user's token, and a trigger's run none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Any, Never

import azure.functions as func
import pytest
from agent_framework import (
    Agent,
    ChatResponse,
    Content,
    Executor,
    Message,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    step,
    tool,
    workflow,
)
from agent_framework.orchestrations import ConcurrentBuilder

from hosting.app import AgentFunctionApp
from hosting.principal import Principal
from hosting.tools import current
from hosting.user_tokens import UserTokenError
from tests.support.clerk import ClerksClient
from tests.support.direct import DirectHost
from tests.support.identity_provider import ADA, GRAPH, TENANT, IdentityProvider
from tests.support.mailer import by_platform, mailer, of_platform
from tests.support.owned_app import RUN, OwnedApp
from tests.support.two_users import Meeting, both_ask

ISSUER = f"https://login.microsoftonline.com/{TENANT}/v2.0"


@pytest.fixture
async def meeting(provider: IdentityProvider) -> Meeting:
    return Meeting(provider)


class OneCall(ClerksClient):
    """A model that calls each of its tools once, whatever it is told."""

    async def _answer(self, messages: Any) -> ChatResponse[Any]:
        mine = self.additional_properties["calls"]
        done = {content.call_id for message in messages for content in message.contents if content.call_id}
        for name in mine:
            if f"{name}-once" not in done:
                call = Content.from_function_call(f"{name}-once", name, arguments='{"n": "1"}')
                return ChatResponse(messages=Message("assistant", [call]))
        return ChatResponse(messages=Message("assistant", ["done"]))


def caller_of(*names: str, **options: Any) -> Agent[Any]:
    """Return an agent that calls these tools of its own, once each."""
    return Agent(OneCall(additional_properties={"calls": names}), **options)


def noting(meeting: Meeting, name: str) -> Agent[Any]:
    """Return an agent whose one tool notes whose token it gets."""

    @tool(name=f"ask_{name.replace(' ', '_')}")
    async def ask(n: str) -> str:
        await meeting.note(name)
        return n

    return caller_of(ask.name, name=name, tools=[ask], require_per_service_call_history_persistence=True)


class Asking(Executor):
    """Notes whose token an executor gets."""

    def __init__(self, meeting: Meeting) -> None:
        super().__init__("asking")
        self._meeting = meeting

    @handler
    async def ask(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        """Note it, in the executor and in a task that it begins."""
        await self._meeting.note("executor")
        await asyncio.create_task(self._meeting.note("task of the executor"))
        await ctx.yield_output(text)


def functional(meeting: Meeting) -> Any:
    """Return a workflow of functions, and of an agent that one of them runs."""
    agent = noting(meeting, "agent of a step")

    @step(replay_key=str)
    async def first(text: str) -> str:
        await meeting.note("step")
        return (await agent.run(text)).text

    @workflow(name="Flow")
    async def flow(text: str) -> str:
        await meeting.note("function")
        return await first(text)

    return flow


def nested(meeting: Meeting) -> Agent[Any]:
    """Return an agent with an agent as its tool, which has one too."""
    innermost = noting(meeting, "innermost")
    inner = caller_of("innermost", name="inner", tools=[innermost.as_tool(name="innermost", arg_name="n")])
    return caller_of("inner", name="Clerk", tools=[inner.as_tool(name="inner", arg_name="n")])


FORMS: Mapping[str, tuple[str, Callable[[Meeting], Any], tuple[str, ...]]] = {
    "executor": (
        "/api/workflows/Flow/run",
        lambda meeting: lambda: WorkflowBuilder(name="Flow", start_executor=Asking(meeting)).build(),
        ("executor", "task of the executor"),
    ),
    "functions": ("/api/workflows/Flow/run", functional, ("function", "step", "agent of a step")),
    "concurrent": (
        RUN,
        lambda meeting: (
            ConcurrentBuilder(participants=[noting(meeting, name) for name in ("First", "Second")])
            .build()
            .as_agent("Clerk")
        ),
        ("First", "Second"),
    ),
    "agents within agents": (RUN, nested, ("innermost",)),
}


@pytest.mark.behaviour("user-tokens.of-two-at-once")
@pytest.mark.parametrize("form", FORMS)
async def test_each_of_two_runs_at_once_gets_its_own_users_token(
    provider: IdentityProvider, meeting: Meeting, form: str
) -> None:
    """Wherever the code of a run works: in executors, steps, builders' agents and agents that are tools."""
    path, make, places = FORMS[form]
    made = make(meeting)
    parts: dict[str, Any] = {"agent": made} if path == RUN else {"workflows": [made]}
    app = OwnedApp(by_platform(provider), **parts)

    await both_ask(app, provider, path, message="begin")

    assert meeting.noted == meeting.of(*places)


class Connection:
    """A connection that the first call opens and all use: its hooks run in the context of that call."""

    def __init__(self, provider: IdentityProvider) -> None:
        self.served: list[str] = []
        self._provider = provider
        self._wanted: asyncio.Queue[asyncio.Future[None]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def send(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        done = asyncio.get_running_loop().create_future()
        await self._wanted.put(done)
        await done

    async def _work(self) -> None:
        while True:
            done = await self._wanted.get()
            try:
                token = await current().user_token(GRAPH)
                self.served.append(self._provider.user_of(token.value))
            except UserTokenError as error:
                self.served.append(f"{error.reason}: {error}")
            done.set_result(None)


@pytest.mark.behaviour("user-tokens.of-two-at-once")
async def test_what_a_call_leaves_at_work_gets_no_token_though_its_run_goes_on(provider: IdentityProvider) -> None:
    """A later call of the same run finds the connection of the first."""
    connection = Connection(provider)

    @tool
    async def send(n: str) -> str:
        await connection.send()
        return "again"  # the model calls the other tool then

    @tool
    async def refund(n: str) -> str:
        await connection.send()
        return n

    app = OwnedApp(by_platform(provider), agent=Agent(ClerksClient(), name="Clerk", tools=[send, refund]))
    await app.ask(None, "POST", RUN, headers=of_platform(provider.token()), json={"message": "call send 1"})

    assert [said.partition(":")[0] for said in connection.served] == [ADA, "absent"]


@pytest.mark.behaviour("user-tokens.handed-on")
async def test_a_run_of_a_trigger_has_no_users_token(provider: IdentityProvider) -> None:
    """Also one that names a user who was there a moment ago: it waits for them."""
    served: list[str] = []
    app = AgentFunctionApp(
        agents=[mailer(provider, served)], principal=by_platform(provider), environ={"AGENT_LOG": "memory"}
    )
    ada = Principal(ISSUER, ADA)

    async def inbox(message: func.QueueMessage) -> Any:
        runs = [await app.client.run("Clerk", f"call {name} 1", owner=ada, wait=True) for name in ("once", "mail")]
        runs.append(await app.client.run("Clerk", "call once 1", wait=True))
        return [run.response for run in runs]

    trigger = app.queue_trigger(arg_name="message", queue_name="inbox", connection="AzureWebJobsStorage")
    app.function_name("inbox")(trigger(inbox))
    host = DirectHost(app)
    work = Context().run(asyncio.ensure_future, host.trigger("inbox", message=func.QueueMessage(body=b"text")))
    once, mail, of_nobody = await work

    assert once.endswith("told: 1 not sent: absent")
    assert "the user's sign-in for: mail" in mail
    assert of_nobody.endswith("told: 1 not sent: absent")
    assert (served, provider.asked) == ([], [])


@tool
async def ask(n: str) -> str:
    try:
        return (await current().user_token(GRAPH, or_app=True)).value
    except UserTokenError as error:
        return error.reason
