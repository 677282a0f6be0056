"""Requests to a running app that outlive its restarts.

Theory. A run is asked for with an `Idempotency-Key`, so its request may be sent again: the app finds the run that it
began. All other requests only read. So each request is repeated while the app is away, too busy or about to end, until
the patience is over. What the app refuses for good is an error with its own sentence.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from msgspec import Struct

from hosting.errors import InvalidFieldError

_READ_SECONDS = 240.0
"""More than any app waits for a run before it answers 202."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 4.0
_AWAY = frozenset({429, 502, 503})
_LAST = frozenset({"completed", "failed", "cancelled", "joined"})
_ON_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


class RemoteAgentError(Exception):
    """A run of a remote agent that has no answer: refused, failed, or not reached.

    `code` is the app's own (docs/reference/http-errors.md), or `unreachable`; `status` is that of HTTP, 0 without any.
    """

    def __init__(self, detail: str, code: str = "unreachable", status: int = 0) -> None:
        super().__init__(detail)
        self.detail, self.code, self.status = detail, code, status


class AppAnswer(Struct, frozen=True):
    """An answer of the app: its status, its headers, and its JSON (None without a body)."""

    status: int
    headers: Mapping[str, str]
    fields: Any


class Event(Struct, frozen=True):
    """One event of a stream: its id (empty without one), its name and its JSON."""

    id: str
    name: str
    data: str


def app_address(url: str) -> str:
    """Return where the app's routes begin; raise `InvalidFieldError` for an address that is none."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_address = False
    if not is_address or parts.query or parts.fragment or parts.username is not None:
        raise InvalidFieldError(f"url is {url[:80]!r}. Give where the app runs, as http://localhost:7071.")
    return url.rstrip("/").removesuffix("/api") + "/api"


class AppConnection:
    """What one caller asks of an app, within `patience_seconds` from now on."""

    def __init__(self, http: aiohttp.ClientSession, address: str, patience_seconds: float) -> None:
        self._http, self._address = http, address
        self._end = time.monotonic() + patience_seconds

    async def read(self, path: str, query: Mapping[str, str] | None = None) -> AppAnswer:
        """Return the answer to a GET; raise `RemoteAgentError` for a refusal, or once the patience is over."""
        return await self.send("GET", path, query=query)

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> AppAnswer:
        """Return the answer to a request that may be repeated; raise `RemoteAgentError` as `read` does."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                answer = await self._sent(method, path, query, body, headers)
                if answer.status < 400:
                    return answer
                error = _refusal(answer, self._address)
                if answer.status not in _AWAY:
                    raise error
                pause = max(pause, pause_of(answer))
            except (aiohttp.ClientError, TimeoutError, OSError):
                error = RemoteAgentError(f"The app cannot be reached at {self._address}. Is it running there?")
            await self._pause(pause, error)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def wait(self, seconds: float) -> None:
        """Wait before a run is looked at again; raise `RemoteAgentError` once the patience is over."""
        late = RemoteAgentError("The run has not ended in the time that was given. It goes on.", "run_pending", 202)
        await self._pause(seconds, late)

    async def events(self, path: str) -> AsyncIterator[tuple[str, Any]]:
        """Yield the name and the fields of each event of a run, up to its last; some come twice after a break.

        Raises `RemoteAgentError` as `read` does.
        """
        last, pause = "", _FIRST_PAUSE_SECONDS
        while True:
            error = RemoteAgentError("The stream of the run broke, and the app is not back.")
            try:
                headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
                async with self._http.get(f"{self._address}/{path}", headers=headers) as answer:
                    if answer.status == 204:
                        return
                    if answer.status >= 400:
                        error = _refusal(AppAnswer(answer.status, answer.headers, await _json(answer)), self._address)
                        if answer.status not in _AWAY:
                            raise error
                    async for event in sent_events(answer.content.iter_any()):
                        last, pause = event.id or last, _FIRST_PAUSE_SECONDS
                        if event.name == "unavailable":
                            break
                        yield event.name, json.loads(event.data)
                        if event.name in _LAST:
                            return
            except (aiohttp.ClientError, TimeoutError, OSError):
                error = RemoteAgentError(f"The app cannot be reached at {self._address}. Is it running there?")
            await self._pause(pause, error)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def _pause(self, seconds: float, error: RemoteAgentError) -> None:
        """Wait before a request is sent again; raise the error once the patience is over."""
        if time.monotonic() + seconds > self._end:
            raise error from None
        await asyncio.sleep(seconds)

    async def _sent(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: object,
        headers: Mapping[str, str] | None,
    ) -> AppAnswer:
        where = f"{self._address}/{path}"
        async with self._http.request(method, where, params=query, json=body, headers=headers) as answer:
            return AppAnswer(answer.status, answer.headers, await _json(answer))


@asynccontextmanager
async def connected_app(
    address: str, headers: Mapping[str, str], patience_seconds: float
) -> AsyncIterator[AppConnection]:
    """Yield a connection to the app, which is closed at the end. An app on this machine is asked without a proxy."""
    uses_proxy = urlsplit(address).hostname not in _ON_THIS_MACHINE
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=_READ_SECONDS)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout, trust_env=uses_proxy) as http:
        yield AppConnection(http, address, patience_seconds)


async def _json(answer: aiohttp.ClientResponse) -> Any:
    """Return the JSON of an answer, None without any."""
    content = await answer.read()
    try:
        return json.loads(content) if content else None
    except ValueError:
        return None


async def sent_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """Yield the events of a stream, of which each has one line of data, as it comes in; a cut last one is left out."""
    waiting = b""
    async for piece in pieces:
        *texts, waiting = (waiting + piece).split(b"\n\n")
        for text in texts:
            lines = (line.partition(": ") for line in text.decode().split("\n"))
            fields = {name: value for name, _, value in lines if name}
            if "data" in fields:
                yield Event(fields.get("id", ""), fields.get("event", "message"), fields["data"])


def pause_of(answer: AppAnswer) -> float:
    """Return how many seconds the app wants to be left alone, at most a minute."""
    text = answer.headers.get("Retry-After", "")
    return min(float(text), 60.0) if text.isascii() and text.isdigit() else 0.0


def _refusal(answer: AppAnswer, address: str) -> RemoteAgentError:
    """Return the app's own sentence as an error, or what a host in front of it answered."""
    problem = answer.fields if isinstance(answer.fields, dict) else {}
    detail, code = problem.get("detail"), problem.get("code")
    if isinstance(detail, str) and isinstance(code, str):
        return RemoteAgentError(detail, code, answer.status)
    remedy = {
        401: " Give a function key as `key`.",
        403: " Is the app stopped, or closed to your network?",
        404: " Give the app's address, without the path of a route.",
    }.get(answer.status, "")
    return RemoteAgentError(f"{address} answered {answer.status}.{remedy}", "refused", answer.status)
