"""An app of the scripted agent and the clerk with one wire, called without a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import clerk
from tests.support.direct import DirectHost
from tests.support.live_asgi import LiveTransport
from tests.support.made_app import MEMORY, app_of

ORIGIN = "http://app.example/api"


class WiredApp:
    """The app; `http` sends requests below `path`, `notes` are of its tools. `more` are other agents, or it alone.

    One that is `live` hands streams on as they come.
    """

    wire = ""
    path = ""
    headers: Mapping[str, str] = {}
    is_live = False

    def __init__(self, environ: Mapping[str, str] | None = None, *more: Any, **options: Any) -> None:
        self.notes: list[str] = []
        agents = (scripted_agent("Joker"), clerk(self.notes.append), *self.others(), *more)
        self.app = app_of(*agents, wires=[self.wire], environ={**MEMORY, **(environ or {})}, **options)
        self.host = DirectHost(self.app)
        direct = httpx.ASGITransport(self.host.asgi, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(
            transport=LiveTransport(self.host.asgi) if self.is_live else direct,
            base_url=f"{ORIGIN}/{self.path}",
            headers=self.headers,
            timeout=GUARD_SECONDS,
        )

    def others(self) -> tuple[Any, ...]:
        """Return the agents beside those two."""
        return ()

    def adds_tools(self, agent: Any) -> None:
        """Give the clerk that agent's tools."""
        self.app.agents["Clerk"].default_options["tools"] += agent.default_options["tools"]  # type: ignore[attr-defined]

    async def ours(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """Return the answer of our own route below `agents`."""
        return await self.http.request(method, f"{ORIGIN}/agents/{path}", json=body, headers=headers)
