"""An app that a test makes of its own agents: what it registers, and how it is asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from hosting.app import AgentFunctionApp
from tests.support.direct import DirectHost

MEMORY = {"AGENT_LOG": "memory"}


def app_of(*agents: Any, **options: Any) -> AgentFunctionApp:
    """Return an app of these agents with nothing read from the machine."""
    return AgentFunctionApp(agents=agents, environ=options.pop("environ", MEMORY), **options)


def triggers(app: AgentFunctionApp) -> dict[str, dict[str, Any]]:
    """Return the trigger binding of each of the app's functions."""
    return {
        function.get_function_name(): binding
        for function in app.get_functions()
        for binding in map(json.loads, function.get_raw_bindings())
        if binding["type"].endswith("Trigger")
    }


def timers(app: AgentFunctionApp) -> dict[str, str]:
    """Return the timer functions of an app with their schedules."""
    return {
        function.get_function_name(): binding["schedule"]
        for function in app.get_functions()
        for binding in map(json.loads, function.get_raw_bindings())
        if binding["type"] == "timerTrigger"
    }


@asynccontextmanager
async def served(app: AgentFunctionApp) -> AsyncIterator[tuple[DirectHost, httpx.AsyncClient]]:
    """The app behind the direct carrier."""
    host = DirectHost(app)
    transport = httpx.ASGITransport(host.asgi, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://app.example") as http:
        yield host, http


async def ask(http: httpx.AsyncClient, message: str, **fields: Any) -> httpx.Response:
    return await http.post("/api/agents/Joker/run", json={"message": message, **fields})
