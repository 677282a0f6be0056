"""The app's own durable client, answered in this process: its requests would come back to this server over HTTP.

Theory. Every request of the SDK's client goes through one session of its module, and such a request costs as much as
the HTTP request that the function answers. So while the host runs, that session hands the requests for this host to
the management app. They are the same requests, and get the same answers. What the app's code may have put into a URL
and an HTTP client would change on the way, what another event loop sends, and what is for another host, goes over HTTP.

A request that has arrived is handled to its end, whether or not its client waits. It is handled in the context that the
host was started in: no invocation, no trace and no variable of a caller may pass to what it starts.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp, Message, Scope

_SDK = "azure.durable_functions.models.utils.http_utils"
_PLAIN = re.compile(r"(?!.*/\.)[\w/@~!$=&?%.+-]*", re.ASCII)


@contextmanager
def answered_here(app: ASGIApp, base_url: str) -> Iterator[None]:
    """Answer what the SDK's client sends to addresses under `base_url` with `app`, until the block ends.

    An SDK that has no such session goes on over HTTP.
    """
    sdk: Any = sys.modules.get(_SDK)  # the app has imported it
    if not hasattr(sdk, "_get_session"):
        yield
        return
    theirs = sdk._get_session
    session = OwnSession(app, base_url, theirs)

    async def own() -> OwnSession:
        return session

    sdk._get_session = own
    try:
        yield
    finally:
        sdk._get_session = theirs


class OwnSession:
    """As much of an `aiohttp.ClientSession` as the SDK uses, for the event loop that makes it."""

    def __init__(self, app: ASGIApp, base_url: str, over_http: Callable[[], Awaitable[Any]]) -> None:
        """`over_http` returns the session for all that is not answered here."""
        address = urlsplit(base_url)
        self.over_http = over_http
        self._app = app
        self._base_url = base_url
        self._root_path = address.path.rstrip("/")
        self._host = address.netloc.encode()
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()

    def get(self, url: str, **options: Any) -> Exchange:
        """See `aiohttp.ClientSession.get`."""
        return Exchange(self, "GET", url, options)

    def post(self, url: str, **options: Any) -> Exchange:
        """See `aiohttp.ClientSession.post`."""
        return Exchange(self, "POST", url, options)

    def delete(self, url: str, **options: Any) -> Exchange:
        """See `aiohttp.ClientSession.delete`."""
        return Exchange(self, "DELETE", url, options)

    def answers(self, url: str) -> bool:
        """Return whether a request to the address is answered in this process."""
        is_ours = url.startswith(self._base_url) and asyncio.get_running_loop() is self._loop
        return is_ours and _PLAIN.fullmatch(url, len(self._base_url)) is not None

    async def answer(self, method: str, url: str, content: object, headers: Mapping[str, str]) -> Answer:
        """Return the app's answer; the request goes on if the caller is cancelled."""
        path, _, query = url[len(self._base_url) :].partition("?")
        sent = [(b"host", self._host), *((name.lower().encode(), value.encode()) for name, value in headers.items())]
        body = b"" if content is None else json.dumps(content).encode()
        if body:
            sent += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        scope: Scope = {
            "type": "http",
            "method": method,
            "scheme": "http",
            "path": f"{self._root_path}/{unquote(path)}",
            "root_path": self._root_path,
            "query_string": query.encode(),
            "headers": sent,
        }
        answer = Answer()
        # Not by the loop's factory: it would mark the task with the caller's invocation.
        handling = self._context.run(asyncio.Task, self._handle(scope, body, answer), loop=self._loop)
        await asyncio.shield(handling)
        return answer

    async def _handle(self, scope: Scope, body: bytes, answer: Answer) -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, receive, answer.take)


class Exchange:
    """One request and its answer: an async context manager, as aiohttp's are."""

    def __init__(self, session: OwnSession, method: str, url: str, options: Mapping[str, Any]) -> None:
        self._session = session
        self._method = method
        self._url = url
        self._options = options
        self._over_http: Any = None

    async def __aenter__(self) -> Any:
        """Return the answer once it is there."""
        if self._session.answers(self._url):
            content, headers = self._options.get("json"), self._options.get("headers") or {}
            return await self._session.answer(self._method, self._url, content, headers)
        session = await self._session.over_http()
        self._over_http = session.request(self._method, self._url, **self._options)
        return await self._over_http.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        """Let go of the connection, where there is one."""
        if self._over_http is not None:
            await self._over_http.__aexit__(*error)


class Answer:
    """An answer as the SDK reads it."""

    def __init__(self) -> None:
        self.status = 0
        self._body = b""

    async def take(self, message: Message) -> None:
        """Take a message of the app: an ASGI `send`."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self._body += message.get("body", b"")

    async def json(self, **_: object) -> Any:
        """Return what the body says, None for an empty one."""
        return json.loads(self._body) if self._body.strip() else None
