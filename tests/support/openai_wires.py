"""An app of the obedient agent with both of OpenAI's wires, and what its model says that it was given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx
import httpx2
from openai import AsyncOpenAI

from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.made_app import app_of
from tests.support.obedient import obedient
from tests.support.strictly import response

ORIGIN = "http://app.example/api"
DECLARED_BY_EACH: Mapping[str, Any] = {
    **dict.fromkeys(("temperature", "top_p"), (0, 1)),
    **dict.fromkeys(("frequency_penalty", "presence_penalty"), (-1, 1)),
    "seed": (0, 9),
    "max_tokens": 200,
    "reasoning_effort": ["low", "medium"],
    "verbosity": ["low"],
    "instructions": 20,
}
"""Options that callers may set, by each protocol in its own words."""


class Wires:
    """An app of an agent that lets its callers choose, or not; over plain HTTP, and by the official client."""

    def __init__(self, declared: Mapping[str, Any] | None, **options: Any) -> None:
        app = app_of(wires=["responses", "chat-completions"], **options)
        app.add_agent(obedient(), options=declared)
        asgi = DirectHost(app).asgi
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(asgi), base_url=ORIGIN, timeout=GUARD_SECONDS)
        same = httpx2.AsyncClient(transport=httpx2.ASGITransport(asgi))
        self.openai = AsyncOpenAI(api_key="unused", base_url=f"{ORIGIN}/openai/v1", http_client=same, max_retries=0)
        self.chat = AsyncOpenAI(api_key="unused", base_url=f"{ORIGIN}/chat/v1", http_client=same, max_retries=0)

    async def respond(self, **fields: Any) -> httpx.Response:
        """Return the answer to a request by Responses."""
        return await self.http.post("openai/v1/responses", json={"input": "hello", **fields})

    async def complete(self, *messages: dict[str, Any], **fields: Any) -> httpx.Response:
        """Return the answer to a request by Chat Completions."""
        said = [*messages, {"role": "user", "content": "hello"}]
        return await self.http.post("chat/v1/chat/completions", json={"messages": said, **fields})


def responded(answer: httpx.Response) -> dict[str, Any]:
    """Return the options that the model of a response says it had."""
    assert answer.status_code == 200, answer.text
    return dict(json.loads(response(answer.json()).output_text))


def completed(answer: httpx.Response) -> dict[str, Any]:
    """Return the options that the model of a completion says it had."""
    assert answer.status_code == 200, answer.text
    return dict(json.loads(answer.json()["choices"][0]["message"]["content"]))
