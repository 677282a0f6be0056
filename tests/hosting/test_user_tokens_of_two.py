"""Two users at work at once in one process: each place of a run gets its own user's token, and a trigger's run none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from typing import Any, Never

import azure.functions as func
import pytest
from agent_framework import (
    Agent,
    BackgroundAgentsProvider,
    ChatResponse,
    Content,
    Executor,
    FunctionInvocationContext,
    FunctionMiddleware,
    MCPStreamableHTTPTool,
    Message,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    step,
    tool,
    workflow,
)
from agent_framework.observability import OBSERVABILITY_SETTINGS
from agent_framework.orchestrations import ConcurrentBuilder, HandoffBuilder, SequentialBuilder

from hosting.app import AgentFunctionApp
from hosting.principal import Principal, easy_auth
from hosting.tools import current
from hosting.user_tokens import UserToken, UserTokenError, on_behalf_of
from tests.support.clerk import ClerksClient
from tests.support.delegating import asking, follow_steps, start, wait
from tests.support.direct import DirectHost
from tests.support.exported_spans import Exported
from tests.support.identity_provider import ADA, GRAPH, TENANT, IdentityProvider
from tests.support.mailer import SIGN_IN, by_platform, mailer, of_platform
from tests.support.owned_app import RUN, OwnedApp
from tests.support.tool_server import ToolServer
from tests.support.two_users import USERS, Meeting, both_ask

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


def handed_off(meeting: Meeting) -> Any:
    """Return a triage that hands each request to another agent."""
    second = noting(meeting, "Second")
    triage = caller_of("handoff_to_Second", name="Triage", require_per_service_call_history_persistence=True)
    builder = HandoffBuilder(
        name="Flow", participants=[triage, second], termination_condition=lambda said: said[-1].text == "done"
    )
    return builder.with_start_agent(triage).build()


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
    "sequential": (
        RUN,
        lambda meeting: (
            SequentialBuilder(participants=[noting(meeting, name) for name in ("First", "Second")])
            .build()
            .as_agent("Clerk")
        ),
        ("First", "Second"),
    ),
    "concurrent": (
        RUN,
        lambda meeting: (
            ConcurrentBuilder(participants=[noting(meeting, name) for name in ("First", "Second")])
            .build()
            .as_agent("Clerk")
        ),
        ("First", "Second"),
    ),
    "handoff": ("/api/workflows/Flow/run", lambda meeting: lambda: handed_off(meeting), ("Second",)),
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


@pytest.mark.behaviour("user-tokens.of-two-at-once")
async def test_a_task_of_a_background_agent_gets_its_users_token(provider: IdentityProvider, meeting: Meeting) -> None:
    """It is a run of its own, which the process of its parent runs."""
    worker = noting(meeting, "Worker")
    delegates = BackgroundAgentsProvider([worker])
    planner = Agent(asking(follow_steps), name="Clerk", context_providers=[delegates])
    app = OwnedApp(by_platform(provider), agent=planner)

    await both_ask(app, provider, RUN, message=f"{start('work', 'Worker')}\n{wait(1)}")

    assert meeting.noted == meeting.of("Worker")


class TokenForServer(FunctionMiddleware):
    """Asks for the user's token before each call of a server's tool, as the guide says."""

    def __init__(self, meeting: Meeting) -> None:
        self._meeting = meeting

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        await self._meeting.meet(current().run_id)
        token = await current().user_token(GRAPH)
        context.kwargs["of_user"] = token.value
        await call_next()


@pytest.mark.behaviour("user-tokens.of-two-at-once")
async def test_an_mcp_server_gets_each_users_own_token(
    provider: IdentityProvider, meeting: Meeting, spans: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over the connections of one MCP tool, by function middleware and `header_provider`; no span has one."""
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "_enable_instrumentation", True)
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "_enable_sensitive_data", True)
    with ToolServer() as server:
        cities = MCPStreamableHTTPTool(
            "cities",
            server.url,
            header_provider=lambda given: {"authorization": f"Bearer {given['of_user']}"},
        )
        agent = Agent(ClerksClient(), name="Clerk", tools=[cities], middleware=[TokenForServer(meeting)])
        app = OwnedApp(by_platform(provider), agent=agent)
        answers = await both_ask(app, provider, RUN, message="call city_of name=me")
        await asyncio.to_thread(app.app._loop.close)

    users = {answer["run_id"]: user for answer, user in zip(answers, USERS, strict=True)}
    sent = {
        (users[str(key).partition("-")[0]], provider.user_of(header.removeprefix("Bearer ")))
        for key, header in zip(server.keys, server.signed, strict=True)
    }
    assert ["me lives in Paris" in answer["response"] for answer in answers] == [True, True]
    assert sent == {(user, user) for user in USERS}
    exported = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "lives in Paris" in exported
    assert provider.canary not in exported


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


class Exchange:
    """An exchange whose tokens have its name."""

    sign_in = ("Here", SIGN_IN)

    def __init__(self, name: str) -> None:
        self._name = name

    def lasts_until(self, token: str, principal: Principal, now: float) -> float:
        return now + 1_000

    def of_user(self, token: str, principal: Principal, scope: str) -> UserToken:
        return UserToken(f"{self._name} for the user", time.time() + 1_000)

    def of_app(self, scope: str) -> UserToken:
        return UserToken(f"{self._name} for the app", time.time() + 1_000)


@tool
async def ask(n: str) -> str:
    try:
        return (await current().user_token(GRAPH, or_app=True)).value
    except UserTokenError as error:
        return error.reason


@pytest.mark.behaviour("user-tokens.of-the-caller")
async def test_each_app_of_a_process_exchanges_by_its_own_provider() -> None:
    """Whichever was made last; an app without `on_behalf_of` has none, also for the app's own identity."""
    resolver = easy_auth({"WEBSITE_AUTH_ENABLED": "True"})
    resolvers = [on_behalf_of(resolver, Exchange("first")), on_behalf_of(resolver, Exchange("second")), resolver]
    apps = [OwnedApp(each, agent=Agent(ClerksClient(), name="Clerk", tools=[ask])) for each in resolvers]
    answers = [
        await app.ask(None, "POST", RUN, headers=of_platform(token), json={"message": "call ask 1"})
        for app in apps
        for token in ("a.b.c", None)
    ]

    assert [answer.json()["response"].partition("told: ")[2] for answer in answers] == [
        *("first for the user", "first for the app"),
        *("second for the user", "second for the app"),
        *("not_set_up", "not_set_up"),
    ]
