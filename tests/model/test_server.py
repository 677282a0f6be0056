"""The limit of the small model's answers, which needs no model."""

import json
from typing import Any

import httpx
import pytest

from tests.model.server import MOST_TOKENS, with_limit


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """An app that answers with what it was sent."""
    body, message = b"", {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        body += message.get("body", b"")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@pytest.mark.behaviour("template.small-model")
@pytest.mark.parametrize(
    "asked", [{}, {"max_tokens": None}, {"max_tokens": 10**6}, {"max_tokens": 5}, {"max_tokens": "x"}]
)
async def test_each_answer_of_the_small_model_ends(asked: dict[str, Any]) -> None:
    """Whatever the request says, in however many pieces it comes; less than the limit may be asked for."""

    async def pieces() -> Any:
        body = json.dumps({"messages": [], **asked}).encode()
        yield body[:9]
        yield body[9:]

    transport = httpx.ASGITransport(with_limit(echo))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        sent = (await http.post("/v1/chat/completions", content=pieces())).json()
        wrong = await http.post("/v1/chat/completions", content=b"{")

    assert sent == {"messages": [], "max_tokens": 5 if asked.get("max_tokens") == 5 else MOST_TOKENS}
    assert wrong.content == b"{"
