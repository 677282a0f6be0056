"""An app of the scripted agent and the clerk with the wire, called without a host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx
import httpx2
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion

from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import clerk
from tests.support.direct import DirectHost
from tests.support.made_app import MEMORY, app_of
from tests.support.strictly import strictly

URL = "http://app.example/api/chat/v1"


class Chats:
    """The app; `http` sends plain requests below the wire's path, `openai` is the official client."""

    def __init__(self, environ: dict[str, str] | None = None, agents: Sequence[Any] = (), **options: Any) -> None:
        self.notes: list[str] = []
        agents = agents or (scripted_agent("Joker"), clerk(self.notes.append))
        self.app = app_of(*agents, wires=["chat-completions"], environ={**MEMORY, **(environ or {})}, **options)
        self.host = DirectHost(self.app)
        transport = httpx.ASGITransport(self.host.asgi, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url=URL, timeout=GUARD_SECONDS)
        same = httpx2.AsyncClient(transport=httpx2.ASGITransport(self.host.asgi, raise_app_exceptions=False))
        self.openai = AsyncOpenAI(api_key="unused", base_url=URL, http_client=same, max_retries=0)

    async def post(self, *messages: object, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
        """Return the answer to a request of these messages: of a user where they are texts."""
        sent = [{"role": "user", "content": message} if isinstance(message, str) else message for message in messages]
        body = {"model": "Joker", "messages": sent, **fields}
        return await self.http.post("chat/completions", json=body, headers=headers)

    async def create(self, *messages: object, **fields: Any) -> ChatCompletion:
        """Return the completion of a request of these messages, held strictly."""
        answer = await self.post(*messages, **fields)
        assert answer.status_code == 200, answer.text
        return strictly(ChatCompletion, answer.json())

    async def text(self, *messages: object, **fields: Any) -> str | None:
        return (await self.create(*messages, **fields)).choices[0].message.content

    async def refused(self, *messages: object, **fields: Any) -> tuple[int, dict[str, Any]]:
        """Return status and error of a request that is not served."""
        answer = await self.post(*messages, **fields)
        return answer.status_code, answer.json()["error"]


def said(role: str, content: object) -> dict[str, object]:
    return {"role": role, "content": content}
