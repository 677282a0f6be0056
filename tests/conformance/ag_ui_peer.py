"""The same agent under agent-framework-ag-ui, with the package's own store of threads. X-User says who asks."""

from __future__ import annotations

from agent_framework import Agent
from agent_framework_ag_ui import InMemoryAGUIThreadSnapshotStore, add_agent_framework_fastapi_endpoint
from fastapi import FastAPI, Request

from tests.conformance.model import Client, refund, step
from tests.conformance.serving import serve


def who(request: Request) -> str:
    """Take the caller's word for it: this is a test."""
    return request.headers.get("x-user", "nobody")


app = FastAPI()
add_agent_framework_fastapi_endpoint(
    app,
    Agent(Client(), "Answer.", name="Assistant", tools=[refund, step]),
    snapshot_store=InMemoryAGUIThreadSnapshotStore(),
    authorization_scope_resolver=who,
)

if __name__ == "__main__":
    serve(app)
