"""The clerk's app with owners, called without a host: whoever says so in the header `x-user` is signed in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import httpx

from hosting.app import AgentFunctionApp, Budget, Limit, Principal, PrincipalRequest
from hosting.principal import PrincipalResolver
from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import clerk
from tests.support.direct import DirectHost

ISSUER = "https://login.example"
THREADS = "/api/agents/Clerk/threads"
RUN = "/api/agents/Clerk/run"


def signed_in(request: PrincipalRequest) -> Principal | None:
    """Return the principal that a test says; nobody without the header."""
    name = request.headers.get("x-user")
    return None if name is None else Principal(ISSUER, name, name=name.title())


def with_roles(request: PrincipalRequest) -> Principal | None:
    """Return the same; `root` is an administrator."""
    found = signed_in(request)
    return replace(found, roles=("operators",)) if found is not None and found.id == "root" else found


def owner(name: str) -> str:
    """Return the name that this user's threads lie under."""
    return Principal(ISSUER, name).owner


class OwnedApp:
    """One process of the app; `note` is told of each call of a tool. Another `agent` stands for the clerk."""

    def __init__(
        self,
        principal: PrincipalResolver = signed_in,
        note: Callable[[str], object] = str,
        default_callback: Any = None,
        agent: Any = None,
        workflows: Sequence[Any] = (),
        *,
        webhook: str | None = None,
        budget: Budget | None = None,
        limit: Limit | None = None,
        search: Any = None,
        **environ: str,
    ) -> None:
        self.app = AgentFunctionApp(
            agents=[agent or clerk(note)],
            workflows=workflows,
            enable_mcp_tool_trigger=True,
            principal=principal,
            default_callback=default_callback,
            webhook=webhook,
            budget=budget,
            limit=limit,
            search=search,
            environ={"AGENT_LOG": "memory", **environ},
        )
        self.host = DirectHost(self.app)
        transport = httpx.ASGITransport(self.host.asgi, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://app.example", timeout=GUARD_SECONDS)

    async def ask(self, user: str | None, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request as that user, None for nobody."""
        headers = {**({} if user is None else {"x-user": user}), **options.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **options)

    async def say(self, user: str, message: str, thread_id: str | None = "t", **options: Any) -> dict[str, Any]:
        """Send a message as that user and return the answer."""
        body = {"message": message, **({} if thread_id is None else {"thread_id": thread_id})}
        answer = await self.ask(user, "POST", RUN, json=body, **options)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def stored(self) -> dict[str, dict[str, Any]]:
        """Return every stored conversation by its entity's key, once no entity has anything to do."""
        await asyncio.wait_for(self.host.entities.idle(), GUARD_SECONDS)
        return {place.rpartition("@")[2]: json.loads(text) for place, text in self.host.entities.states.items()}
