"""`call_http`: one request, made by the engine itself as the activity `BuiltIn::HttpActivity` (host contract 3.13).

Whatever the server answers is the result, a 202 with its Location too: the SDK does not know the ids that polling
would take. Only a request that gets no answer fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from email.message import Message
from typing import Any

from devhost.durable.compact import compact

_TIMEOUT_SECONDS = 100.0
_CONTENT_HEADERS = frozenset(
    {"allow", "expires", "last-modified"}
    | {f"content-{name}" for name in ("disposition", "encoding", "language", "length", "location", "md5", "range")}
    | {"content-type"}
)


class HttpFailedError(Exception):
    """The request could not be made, or got no answer; the message is the task's failure."""


async def call_http(request: str) -> str:
    """Make the request that the JSON text describes and return the answer as JSON text; raises `HttpFailedError`.

    Follows redirects, and waits up to 100 s, as the .NET client does.
    """
    return await _in_thread(lambda: _send(_parse(json.loads(request))))


def _parse(wire: Mapping[str, Any]) -> urllib.request.Request:
    headers = {name: _joined(value) for name, value in (wire.get("headers") or {}).items()}
    content_type = next((value for name, value in headers.items() if name.lower() == "content-type"), None)
    if wire.get("tokenSource"):
        raise HttpFailedError("This local host has no managed identity: call_http with a token source needs Azure.")
    if content_type is not None and "multipart" in content_type:
        raise HttpFailedError("Multipart content is not supported with CallHttpAsync.")
    if not wire["uri"].lower().startswith(("http://", "https://")):
        raise HttpFailedError("Only 'http' and 'https' schemes are allowed. (Parameter 'value')")
    content = wire.get("content")
    if content is not None and content_type is None:
        headers["Content-Type"] = "text/plain"
    body = None if content is None else content.encode()
    return urllib.request.Request(wire["uri"], body, headers, method=wire["method"].upper())


def _joined(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _send(request: urllib.request.Request) -> str:
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            return _result(answer.status, answer.headers, answer.read())
    except urllib.error.HTTPError as refusal:
        # An answer like any other: its status is the orchestrator's business.
        with refusal:
            return _result(refusal.code, refusal.headers, refusal.read())
    except TimeoutError as error:
        raise HttpFailedError(
            f"The request was canceled due to the configured HttpClient.Timeout of {_TIMEOUT_SECONDS:.0f} seconds "
            "elapsing."
        ) from error
    except urllib.error.URLError as error:
        raise HttpFailedError(f"{_text(error.reason)} ({request.host})") from error
    except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
        raise HttpFailedError(f"An error occurred while sending the request: {_text(error)}") from error


def _text(reason: object) -> str:
    return str(getattr(reason, "strerror", None) or reason)


def _result(status: int, received: Message, body: bytes) -> str:
    headers: dict[str, str | list[str]] = {}
    for name in dict.fromkeys(received.keys()):
        values = received.get_all(name, [])
        if name.lower() not in _CONTENT_HEADERS:
            headers[name] = values[0] if len(values) == 1 else values
    charset = received.get_content_charset() or "utf-8"
    content = body.decode(charset, errors="replace")
    return compact({"statusCode": status, "headers": headers, "content": content})


async def _in_thread(work: Callable[[], str]) -> str:
    """Return what the work returns. Not a pool's thread: one that still waits for a server must not hold up an exit."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str] = loop.create_future()

    def tell(settle: Callable[[Any], None], value: object) -> None:
        if not done.done():
            settle(value)

    def run() -> None:
        try:
            outcome: tuple[Callable[[Any], None], object] = (done.set_result, work())
        except Exception as error:
            outcome = (done.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(tell, *outcome)

    threading.Thread(target=run, name="durable-http", daemon=True).start()
    return await done
