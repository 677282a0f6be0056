"""Where a token of the caller is at hand: in providers, middleware, other agents and queued runs, and in no trigger."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any

import azure.functions as func
import httpx
import pytest
from agent_framework import Agent, AgentContext, AgentMiddleware, ContextProvider, tool

from hosting.app import AgentFunctionApp
from hosting.principal import Principal
from hosting.tools import current, idempotent
from hosting.user_tokens import UserTokenError
from tests.support.clerk import ClerksClient
from tests.support.direct import DirectHost
from tests.support.identity_provider import ADA, BOB, GRAPH, TENANT, IdentityProvider
from tests.support.mailer import by_platform, mailer, of_platform
from tests.support.owned_app import RUN, THREADS, OwnedApp

pytestmark = pytest.mark.behaviour("user-tokens.handed-on")

ISSUER = f"https://login.microsoftonline.com/{TENANT}/v2.0"


def nested(provider: IdentityProvider, noted: list[str]) -> Agent[Any]:
    """Return an agent with another as its tool; provider, middleware and tools of both note whose token they get."""

    async def note(place: str) -> None:
        try:
            token = await current().user_token(GRAPH)
        except UserTokenError as error:
            noted.append(f"{place}: {error.reason}")
        else:
            noted.append(f"{place}: {provider.user_of(token.value)}")

    class Provider(ContextProvider):
        async def before_run(self, **named: Any) -> None:
            await note(self.source_id)

    class Middleware(AgentMiddleware):
        async def process(self, context: AgentContext, call_next: Callable[[], Awaitable[None]]) -> None:
            await note("middleware")
            await call_next()

    inner = Agent(ClerksClient(), name="Inner", context_providers=[Provider("inner provider")])

    @idempotent
    @tool
    async def step(n: str) -> str:
        await current().step("first", note, "step")
        return n

    return Agent(
        ClerksClient(),
        name="Clerk",
        tools=[inner.as_tool(name="inner", arg_name="n"), step],
        context_providers=[Provider("provider")],
        middleware=[Middleware()],
    )


@pytest.mark.parametrize("has_token", [True, False])
async def test_other_places_of_a_run_get_the_token_or_an_error(provider: IdentityProvider, has_token: bool) -> None:
    """None of them can wait for the user."""
    noted: list[str] = []
    app = OwnedApp(by_platform(provider), agent=nested(provider, noted))
    headers = of_platform(provider.token(ADA) if has_token else None, ADA)

    await app.ask(None, "POST", RUN, headers=headers, json={"message": "call inner 1, step 2", "thread_id": "t"})

    whose = ADA if has_token else "absent"
    assert set(noted) == {f"{place}: {whose}" for place in ("provider", "middleware", "inner provider", "step")}


async def test_a_queued_message_has_the_token_of_its_own_sender(provider: IdentityProvider) -> None:
    """The process that ends one run begins the next, for whoever waits for that."""
    begun, gate, served = threading.Event(), threading.Event(), list[str]()

    @idempotent
    @tool
    async def hold(n: str) -> str:
        begun.set()
        await asyncio.to_thread(gate.wait, 20)
        token = await current().user_token(GRAPH)
        served.append(provider.user_of(token.value))
        return n

    app = OwnedApp(by_platform(provider), agent=Agent(ClerksClient(), name="Clerk", tools=[hold]))
    ada, bob = (of_platform(provider.token(user), user) for user in (ADA, BOB))
    body = {"message": "call hold 1", "thread_id": "t"}
    first = asyncio.ensure_future(app.ask(None, "POST", RUN, headers=ada, json=body))
    await asyncio.to_thread(begun.wait, 20)
    granted = await app.ask(
        None, "POST", f"{THREADS}/t/grants", headers=ada, json={"issuer": ISSUER, "id": BOB, "access": "run"}
    )
    shared = f"/api/shared/{granted.json()['grant']}/run"
    second = asyncio.ensure_future(app.ask(None, "POST", shared, headers=bob, json={"message": "call hold 2"}))
    runs = f"{THREADS}/t/runs"
    while len((await app.ask(None, "GET", runs, headers=ada)).json()["runs"]) < 2:  # noqa: ASYNC110 - by HTTP
        await asyncio.sleep(0.02)
    gate.set()

    answers = [(await each).json()["response"] for each in (first, second)]

    assert [answer[-7:] for answer in answers] == ["told: 1", "told: 2"]
    assert served == [ADA, BOB]


async def test_a_run_of_an_own_route_has_its_senders_token(provider: IdentityProvider) -> None:
    """The route asks who sends the request, and begins a run for them."""
    served: list[str] = []
    app = AgentFunctionApp(
        agents=[mailer(provider, served)], principal=by_platform(provider), environ={"AGENT_LOG": "memory"}
    )

    @app.route(route="own", methods=["POST"])
    async def own(req: func.HttpRequest) -> func.HttpResponse:
        sender = await app.principal_of(req)
        run = await app.client.run("Clerk", "call mail 1", owner=sender, wait=True)
        return func.HttpResponse(run.response)

    transport = httpx.ASGITransport(DirectHost(app).asgi)
    async with httpx.AsyncClient(transport=transport, base_url="http://app.example") as http:
        answers = [await http.post("/api/own", headers=of_platform(provider.token(user), user)) for user in (ADA, BOB)]

    assert [answer.text.partition("told: ")[2] for answer in answers] == [f"1 by {user}" for user in (ADA, BOB)]
    assert served == [ADA, BOB]


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
