"""A transport to an app in this process whose answers come piece by piece, as httpx's own does not hand them on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import suppress
from typing import Any

import httpx

Message = MutableMapping[str, Any]


class LiveTransport(httpx.AsyncBaseTransport):
    """Sends requests to the ASGI app; each body is read as it is sent."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer once its head is there."""
        sent: asyncio.Queue[Message] = asyncio.Queue()
        received: list[Message] = [{"type": "http.request", "body": await request.aread(), "more_body": False}]

        async def receive() -> Message:
            return received.pop() if received else await asyncio.Event().wait()  # type: ignore[return-value]

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.split(b"?")[0],
            "query_string": request.url.query,
            "server": (request.url.host, request.url.port),
            "client": ("127.0.0.1", 1),
            "root_path": "",
        }
        served = asyncio.ensure_future(self._app(scope, receive, sent.put))
        served.add_done_callback(lambda _: sent.put_nowait({"type": "ended"}))
        head = await sent.get()
        assert head["type"] == "http.response.start", head
        return httpx.Response(head["status"], headers=head["headers"], stream=_Body(served, sent))


class _Body(httpx.AsyncByteStream):
    def __init__(self, served: asyncio.Future[None], sent: asyncio.Queue[Message]) -> None:
        self._served = served
        self._sent = sent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self._sent.get())["type"] == "http.response.body":
            yield message["body"]
            if not message.get("more_body"):
                break

    async def aclose(self) -> None:
        self._served.cancel()
        with suppress(asyncio.CancelledError):
            await self._served
