"""Two users at work at once in one process: workflows, agents within agents, shared clients and MCP servers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Never

import httpx
import pytest
from agent_framework import (
    Agent,
    BackgroundAgentsProvider,
    ChatResponse,
    Content,
    ContextProvider,
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

from hosting.tools import current
from hosting.user_tokens import UserTokenError
from tests.support.clerk import ClerksClient
from tests.support.delegating import asking, follow_steps, start, wait
from tests.support.exported_spans import Exported
from tests.support.identity_provider import ADA, BOB, GRAPH, IdentityProvider
from tests.support.mailer import by_platform, of_platform
from tests.support.owned_app import RUN, OwnedApp
from tests.support.tool_server import ToolServer
from tests.support.two_users import USERS, Meeting, both_ask

pytestmark = pytest.mark.behaviour("user-tokens.of-two-at-once")


@pytest.fixture
async def meeting(provider: IdentityProvider) -> Meeting:
    """The place where both runs meet."""
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


async def test_a_task_of_a_background_agent_gets_its_users_token(provider: IdentityProvider, meeting: Meeting) -> None:
    """It is a run of its own, which the process of its parent runs."""
    worker = noting(meeting, "Worker")
    delegates = BackgroundAgentsProvider([worker])
    planner = Agent(asking(follow_steps), name="Clerk", context_providers=[delegates])
    app = OwnedApp(by_platform(provider), agent=planner)

    await both_ask(app, provider, RUN, message=f"{start('work', 'Worker')}\n{wait(1)}")

    assert meeting.noted == meeting.of("Worker")


class Service:
    """A service over HTTP that notes whom each request is of, and who sends it by its own word."""

    def __init__(self, provider: IdentityProvider) -> None:
        self.served: set[tuple[str, str]] = set()
        self._provider = provider

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        _, _, token = request.headers["authorization"].partition(" ")
        self.served.add((request.headers["x-user"], self._provider.user_of(token)))
        return httpx.Response(200)


class ByUsersToken(httpx.Auth):
    """Signs each request of a client that all users share."""

    async def async_auth_flow(self, request: httpx.Request) -> Any:
        """Add the token."""
        token = await current().user_token(GRAPH)
        request.headers["authorization"] = f"Bearer {token.value}"
        yield request


async def test_a_shared_http_client_sends_each_users_own_token(provider: IdentityProvider, meeting: Meeting) -> None:
    """Its hooks run in the task of the call that sends the request."""
    service = Service(provider)
    shared = httpx.AsyncClient(auth=ByUsersToken(), transport=httpx.MockTransport(service))

    @tool
    async def ask(n: str) -> str:
        run = current()
        assert run.principal is not None
        await meeting.meet(run.run_id)
        await shared.get("http://service.example", headers={"x-user": run.principal.id})
        return n

    app = OwnedApp(by_platform(provider), agent=caller_of("ask", name="Clerk", tools=[ask]))
    await both_ask(app, provider, RUN, message="begin")

    assert service.served == {(user, user) for user in USERS}


class TokenForServer(FunctionMiddleware):
    """Asks for the user's token before each call of a server's tool, as the guide says."""

    def __init__(self, meeting: Meeting) -> None:
        self._meeting = meeting

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Hand it to the server's `header_provider`."""
        await self._meeting.meet(current().run_id)
        token = await current().user_token(GRAPH)
        context.kwargs["of_user"] = token.value
        await call_next()


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
        """Send one request, and return when it is done."""
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


async def test_what_a_run_leaves_at_work_gets_no_token(provider: IdentityProvider) -> None:
    """It may work for another user by then."""
    connection = Connection(provider)

    class Opening(ContextProvider):
        async def before_run(self, **named: Any) -> None:
            await connection.send()

    app = OwnedApp(
        by_platform(provider), agent=Agent(ClerksClient(), name="Clerk", context_providers=[Opening("opening")])
    )
    for user in (ADA, BOB):
        headers = of_platform(provider.token(user), user)
        await app.ask(None, "POST", RUN, headers=headers, json={"message": "hello"})

    first, second = connection.served
    assert first == ADA
    assert second.startswith("absent: ")
    assert "Ask for the token in the tool" in second


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
