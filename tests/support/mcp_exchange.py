"""One raw exchange with the MCP endpoint, held to the shape that every answer has."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.support.running_host import GUARD_SECONDS, RunningHost

PATH = "/runtime/webhooks/mcp"
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@asynccontextmanager
async def raw_client(host: RunningHost) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client that sends what an MCP client sends."""
    async with httpx.AsyncClient(base_url=host.origin, headers=HEADERS, timeout=GUARD_SECONDS) as client:
        yield client


async def call(client: httpx.AsyncClient, method: str, params: object = None, **headers: str) -> dict[str, Any]:
    """Post one call and return the one event's message, without its id and version."""
    message = {"jsonrpc": "2.0", "id": 7, "method": method, **({} if params is None else {"params": params})}
    answer = await client.post(PATH, json=message, headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")
    assert answer.text.startswith("event: message\ndata: ")
    assert answer.text.endswith("\n\n")
    content: dict[str, Any] = json.loads(answer.text.removeprefix("event: message\ndata: "))
    assert list(content)[1:] == ["id", "jsonrpc"]
    assert content.pop("id") == 7
    assert content.pop("jsonrpc") == "2.0"
    return content
