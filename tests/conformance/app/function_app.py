"""An agent for the conformance pack. Its tool `refund` waits for a person, `work` takes a second; X-User says who asks.

With LEASE_SECONDS a run whose process died is taken over that much sooner.
"""

import os
from functools import partial

from agent_framework import Agent

import hosting.app
from hosting.app import AgentFunctionApp, Principal, PrincipalRequest
from tests.conformance.model import Client, refund, work


def who(request: PrincipalRequest) -> Principal:
    """Take the caller's word for it: this is a test."""
    return Principal(issuer="test", id=request.headers.get("x-user", "nobody"))


if lease := os.environ.get("LEASE_SECONDS"):
    hosting.app.Services = partial(hosting.app.Services, lease_seconds=float(lease), margin_seconds=float(lease) / 2)
assistant = Agent(Client(), "Answer.", name="Assistant", tools=[refund, work])
app = AgentFunctionApp(agents=[assistant], client_tools=True, principal=who, wires=["a2a", "ag-ui", "responses"])
