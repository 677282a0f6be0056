"""A server on this machine that takes webhooks, and keeps what it was sent."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from standardwebhooks import Webhook

from hosting.app import AgentFunctionApp
from hosting.features.webhooks.feature import WebhooksFeature
from hosting.features.webhooks.webhooks import Webhooks

GUARD_SECONDS = 5.0
SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()
OLDER_SECRET = "whsec_" + base64.b64encode(b"o" * 32).decode()
WEBHOOKS = {"AGENT_LOG": "memory", "AGENT_WEBHOOK_SECRET": SECRET, "AGENT_WEBHOOK_HOSTS": "127.0.0.1"}


@dataclass(frozen=True)
class Received:
    """One request: its path, its headers in lower case, its body."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """The message's id."""
        return self.headers["webhook-id"]

    def verified(self, secret: str = SECRET) -> Any:
        """Return the message as the official verifier gives it; raises for one that is not signed so."""
        return Webhook(secret).verify(self.body, self.headers)

    @property
    def message(self) -> Any:
        """The message, whoever signed it."""
        return json.loads(self.body)


def webhooks_of(app: AgentFunctionApp) -> Webhooks:
    """Return the sender of an app that has a secret."""
    [feature] = (each for each in app._served.features if isinstance(each, WebhooksFeature))
    assert feature.webhooks is not None
    return feature.webhooks


class Receiver:
    """Answers with `statuses` in turn, then with 204; for 0 only once it `is_over`. `url` is where it is."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.is_over = asyncio.Event()
        self.arrived: asyncio.Queue[Received] = asyncio.Queue()
        self.url = ""

    async def next(self, seconds: float = GUARD_SECONDS) -> Received:
        """Return the next request, under the guard."""
        return await asyncio.wait_for(self.arrived.get(), seconds)

    async def handle(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.arrived.put_nowait(Received(request.path, headers, await request.read()))
        status = self.statuses.pop(0) if self.statuses else 204
        if not status:
            await self.is_over.wait()
            status = 204
        return web.Response(status=status, headers={"location": f"{self.url}/elsewhere"} if status // 100 == 3 else {})


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver until the end of the block."""
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield receiver
    receiver.is_over.set()
    await runner.cleanup()
