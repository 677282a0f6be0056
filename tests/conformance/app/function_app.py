"""An agent for the conformance pack. X-User says who asks.

Its tools `refund` and `write` wait for a person, `send` asks one, and `work` takes a second.

With LEASE_SECONDS a run whose process died is taken over that much sooner.
"""

import os
from functools import partial

from agent_framework import Agent, tool

import hosting.app
from hosting.app import AgentFunctionApp, Principal, PrincipalRequest
from hosting.tools import current, idempotent
from tests.conformance.model import Client, refund, work, write


@idempotent
@tool
async def send() -> str:
    """Send something where a person says."""
    return f"Sent to {await current().ask('Where does it go?')}."


def who(request: PrincipalRequest) -> Principal:
    """Take the caller's word for it: this is a test."""
    return Principal(issuer="test", id=request.headers.get("x-user", "nobody"))


if lease := os.environ.get("LEASE_SECONDS"):
    hosting.app.Services = partial(hosting.app.Services, lease_seconds=float(lease), margin_seconds=float(lease) / 2)
assistant = Agent(Client(), "Answer.", name="Assistant", tools=[refund, idempotent(write), send, work])
app = AgentFunctionApp(agents=[assistant], client_tools=True, principal=who, wires=["a2a", "ag-ui", "responses"])
