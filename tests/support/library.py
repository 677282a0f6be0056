"""An app whose agent searches files, on the local host's durable engine in this process: so its jobs are done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx

from devhost.durable.store.contract import Store
from hosting.app import AgentFunctionApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.engine_app import EngineApp, engine_app
from tests.support.owned_app import with_roles

FILES = "/api/files"
AGENT = "/api/agents/Librarian"


class Library:
    """The running app; whoever says so in the header `x-user` is signed in."""

    def __init__(self, app: AgentFunctionApp, running: EngineApp) -> None:
        self.app, self.running, self.http = app, running, running.http

    async def ask(self, user: str, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request as that user."""
        headers = {"x-user": user, **options.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **options)

    async def upload(self, user: str, text: str | bytes, name: str = "a.txt", path: str = FILES) -> dict[str, Any]:
        """Store a file, and return it once the search is ready with it, or has failed."""
        body = text if isinstance(text, bytes) else text.encode()
        answer = await self.ask(user, "POST", path, params={"name": name}, content=body)
        assert answer.status_code == 201, answer.text
        return await self.ended(user, f"{path}/{answer.json()['file_id']}")

    async def ended(self, user: str, url: str) -> dict[str, Any]:
        """Return a file once its job is over."""
        async with asyncio.timeout(GUARD_SECONDS):
            while True:
                answer = await self.ask(user, "GET", url)
                assert answer.status_code == 200, answer.text
                if answer.json().get("index", {}).get("status") in ("ready", "failed"):
                    return dict(answer.json())
                await asyncio.sleep(0.05)

    async def say(self, user: str, message: str, thread_id: str = "t", agent: str = AGENT, **headers: str) -> Any:
        """Send a message, and return the answer's fields."""
        body = {"message": message, "thread_id": thread_id}
        answer = await self.ask(user, "POST", f"{agent}/run", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


@asynccontextmanager
async def library(
    *agents: Any,
    workflows: Sequence[Any] = (),
    inner: Store | None = None,
    wires: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Library]:
    """Run the app of these agents and workflows until the block ends."""
    settings = {"AGENT_LOG": "memory", "AGENT_ADMIN_ROLE": "operators", **(environ or {})}
    app = AgentFunctionApp(agents=agents, workflows=workflows, wires=wires, principal=with_roles, environ=settings)
    async with engine_app(app, inner=inner) as running:
        yield Library(app, running)
