"""An app of the scripted agent and the clerk with the wire, called without a host."""

from __future__ import annotations

from typing import Any

import httpx
import httpx2
from openai import AsyncOpenAI
from openai.types.responses import Response

from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import clerk
from tests.support.direct import DirectHost
from tests.support.made_app import MEMORY, app_of
from tests.support.strictly import response

URL = "http://app.example/api/openai/v1"


class Wired:
    """The app; `http` sends plain requests below the wire's path, `openai` is the official client."""

    def __init__(self, environ: dict[str, str] | None = None, **options: Any) -> None:
        self.notes: list[str] = []
        agents = (scripted_agent("Joker"), clerk(self.notes.append))
        self.app = app_of(*agents, wires=["responses"], environ={**MEMORY, **(environ or {})}, **options)
        self.host = DirectHost(self.app)
        transport = httpx.ASGITransport(self.host.asgi, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url=URL, timeout=GUARD_SECONDS)
        same = httpx2.AsyncClient(transport=httpx2.ASGITransport(self.host.asgi, raise_app_exceptions=False))
        self.openai = AsyncOpenAI(api_key="unused", base_url=URL, http_client=same, max_retries=0)

    async def create(self, message: object, model: str = "Joker", **fields: Any) -> Response:
        """Return the response to some input, held strictly."""
        answer = await self.http.post("responses", json={"model": model, "input": message, **fields})
        assert answer.status_code == 200, answer.text
        return response(answer.json())

    async def refused(self, **fields: Any) -> tuple[int, dict[str, Any]]:
        """Return status and error of a request that is not served."""
        answer = await self.http.post("responses", json=fields)
        return answer.status_code, answer.json()["error"]

    async def read(self, identifier: str) -> Response:
        """Return a response, held strictly."""
        answer = await self.http.get(f"responses/{identifier}")
        assert answer.status_code == 200, answer.text
        return response(answer.json())


def asked(response: Response) -> list[Any]:
    return [item for item in response.output if item.type == "mcp_approval_request"]


def answer_to(item: Any, approve: bool = True, **more: Any) -> dict[str, Any]:
    return {"type": "mcp_approval_response", "approval_request_id": item.id, "approve": approve, **more}


def joined(events: list[Any]) -> list[Any]:
    """Return the events with the deltas that follow each other as one, under the number of the last."""
    found: list[Any] = []
    for one in events:
        if found and one.type == found[-1].type == "response.output_text.delta":
            found[-1] = one.model_copy(update={"delta": found[-1].delta + one.delta})
        else:
            found.append(one)
    return found
