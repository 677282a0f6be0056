"""Apps with one of OpenAI's wires, called without a host, and the official client of each."""

from __future__ import annotations

from typing import Any

import httpx
import httpx2
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from tests.support.strictly import response, strictly
from tests.support.wired import ORIGIN, WiredApp


class OpenAiApp(WiredApp):
    """The app; `openai` is the official client."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        transport = httpx2.ASGITransport(self.host.asgi, raise_app_exceptions=False)
        same, url = httpx2.AsyncClient(transport=transport), f"{ORIGIN}/{self.path}"
        self.openai = AsyncOpenAI(api_key="unused", base_url=url, http_client=same, max_retries=0)


class ResponsesApp(OpenAiApp):
    """One that speaks Responses."""

    wire, path = "responses", "openai/v1"

    async def create(self, message: object, model: str | None = "Joker", **fields: Any) -> Response:
        """Return the response to some input, held strictly."""
        return _response(await self.http.post("responses", json={"model": model, "input": message, **fields}))

    async def read(self, identifier: str) -> Response:
        """Return a response, held strictly."""
        return _response(await self.http.get(f"responses/{identifier}"))

    async def refused(self, **fields: Any) -> tuple[int, dict[str, Any]]:
        """Return status and error of a request that is not served."""
        answer = await self.http.post("responses", json=fields)
        return answer.status_code, answer.json()["error"]


def _response(answer: httpx.Response) -> Response:
    assert answer.status_code == 200, answer.text
    return response(answer.json())


def asked(made: Response) -> list[Any]:
    """Return the items of a response that ask for approval."""
    return [item for item in made.output if item.type == "mcp_approval_request"]


def answer_to(item: Any, approve: bool = True, **more: Any) -> dict[str, Any]:
    return {"type": "mcp_approval_response", "approval_request_id": item.id, "approve": approve, **more}


class CompletionsApp(OpenAiApp):
    """One that speaks Chat Completions."""

    wire, path = "chat-completions", "chat/v1"

    async def post(self, *messages: object, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
        """Return the answer to a request of these messages: of a user where they are texts."""
        sent = [said("user", message) if isinstance(message, str) else message for message in messages]
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


def said(role: object, content: object) -> dict[str, object]:
    return {"role": role, "content": content}
