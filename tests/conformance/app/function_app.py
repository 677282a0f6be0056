"""Agents for the conformance pack. X-User says who asks, and Authorization brings a token of theirs.

Its tools `refund` and `write` wait for a person, `send` and `send_soon` ask one, `work` takes a second, `step` is one
of eight, and `letters` works with the token of its caller. The agent `Closed` takes no tools of callers.

With LEASE_SECONDS a run whose process died is taken over that much sooner.
"""

import os
import time
from functools import partial

from agent_framework import Agent, tool

import hosting.app
from hosting.app import AgentFunctionApp, Principal, PrincipalRequest
from hosting.tools import current, idempotent
from hosting.user_tokens import UserToken, on_behalf_of
from tests.conformance.model import STEPS, Client, refund, step, work, write

TOKEN_SECONDS = 3_600.0


@idempotent
@tool
async def send() -> str:
    """Send something where a person says."""
    return f"Sent to {await current().ask('Where does it go?')}."


@idempotent
@tool
async def send_soon() -> str:
    """Send something where a person says, or in three seconds to the depot."""
    return f"Sent to {await current().ask('Where does it go?', seconds=3, default='the depot')}."


@idempotent
@tool
async def letters() -> str:
    """Count the letters of the caller, with a token of theirs."""
    token = await current().user_token("https://post.example")
    return f"2 letters for {token.value.partition(' of ')[2]}."


@idempotent
@tool(name="step")
async def step_of(run: str, number: int) -> str:
    """Make one step of a run, and say how far it is."""
    await current().progress((number - 1) / STEPS, f"step {number}")
    return str(await step.func(run, number))


class Exchange:
    """Takes tokens such as `token.ada.SIGNATURE`, and gives one for the post."""

    sign_in = ("Post", "https://login.example/sign-in")

    def lasts_until(self, token: str, principal: Principal, now: float) -> float | None:
        """Return its end where it is of the caller."""
        return now + TOKEN_SECONDS if token.split(".")[1] == principal.id else None

    def of_user(self, token: str, principal: Principal, scope: str) -> UserToken:
        """Return a token of whom the token names."""
        return UserToken(f"{scope} of {token.split('.')[1]}", time.time() + TOKEN_SECONDS)

    def of_app(self, scope: str) -> UserToken:
        """No tool asks for it."""
        raise NotImplementedError


def who(request: PrincipalRequest) -> Principal:
    """Take the caller's word for it: this is a test."""
    return Principal(issuer="test", id=request.headers.get("x-user", "nobody"))


if lease := os.environ.get("LEASE_SECONDS"):
    hosting.app.Services = partial(hosting.app.Services, lease_seconds=float(lease), margin_seconds=float(lease) / 2)
tools = [refund, idempotent(write), send, send_soon, idempotent(work), step_of, letters]
assistant = Agent(Client(), "Answer.", name="Assistant", tools=tools)
app = AgentFunctionApp(
    agents=[assistant],
    client_tools=True,
    principal=on_behalf_of(who, Exchange(), header="authorization"),
    wires=["a2a", "ag-ui", "responses"],
)
app.add_agent(Agent(Client(), "Answer.", name="Closed"), client_tools=False)
