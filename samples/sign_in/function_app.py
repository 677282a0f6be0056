"""A tool that works for the user at another service, once the user has signed in there."""

import os
import secrets

import azure.functions as func
from agent_framework import Agent

from agents.models import create_chat_client
from hosting.app import AgentFunctionApp
from hosting.tools import current, idempotent

SERVICE = "http://localhost:7071/api/forge/sign-in"
TOKENS: dict[str, str] = {}
"""What the service gave, by the state of its link. A real app keeps it for each user, in a vault."""


@idempotent
async def open_issue(title: str) -> str:
    """Open an issue in the user's name."""
    state = current().thread_id
    while state not in TOKENS:
        await current().authorization("Forge", url=f"{SERVICE}?state={state}", scopes=["issues"])
    return f"The issue {title!r} is open."


desk = Agent(
    client=create_chat_client(os.environ), name="desk", instructions="Open issues for the user.", tools=[open_issue]
)

app = AgentFunctionApp(agents=[desk])


@app.route(route="forge/sign-in", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
def sign_in(req: func.HttpRequest) -> func.HttpResponse:
    """Stand for the other service, its sign-in, and your own address to which it sends what it gives."""
    TOKENS[req.params.get("state", "")] = secrets.token_urlsafe()
    return func.HttpResponse("You are signed in to Forge.\n")
