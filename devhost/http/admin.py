"""The built-in endpoints that tools ask: pages, status, ping, the list of functions."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from devhost.bindings import HttpTrigger, SentTrigger
from devhost.durable.clock import Clock
from devhost.http.routes import displayed_route
from devhost.index import Function, FunctionIndex
from devhost.settings import HostSettings
from devhost.triggers.sender import Sender
from devhost.triggers.sent_message import SendError, SentMessage

_NO_CACHE = {"cache-control": "no-store,no-cache", "pragma": "no-cache"}
_DURABLE = "/admin/durable"
_VERSION = "4.0.0.0"
RunNow = Callable[[str], bool]
DescribeEngine = Callable[[str | None], Awaitable[list[str]]]


class AdminEndpoint:
    """Answers `/` and `/admin/*`; what tools do not need is a 404 that says so."""

    def __init__(
        self,
        index: FunctionIndex,
        settings: HostSettings,
        *,
        pages: Mapping[str, Callable[[], Response]],
        started_at: float,
        run_now: RunNow,
        sender: Sender,
        clock: Clock,
        describe_engine: DescribeEngine | None,
    ) -> None:
        """Answer for one app.

        `pages` are what a browser is shown, by their paths in lower case, `started_at` is the reading of
        `time.monotonic` from which `processUptime` counts, `run_now` runs a timer by hand and returns whether it is
        one, `sender` delivers messages by hand, `describe_engine` gives readable lines about one durable instance or
        all.
        """
        self._index = index
        self._settings = settings
        self._run_now = run_now
        self._sender = sender
        self._clock = clock
        self._describe_engine = describe_engine
        self._started_at = started_at
        self._pages: Mapping[tuple[str, str], Callable[[], Response]] = {
            **{("GET", path): page for path, page in pages.items()},
            ("GET", "/admin/host/status"): self._status,
            ("GET", "/admin/host/ping"): self._ping,
            ("POST", "/admin/host/ping"): self._ping,
            ("GET", "/admin/functions"): self._functions,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        method, given_path = request.method, request.scope["path"]
        path = given_path.lower().rstrip("/") or "/"
        page = self._pages.get((method, path))
        if page is not None:
            return page()
        if method == "GET" and path.startswith("/admin/functions/"):
            return self._function(path.rpartition("/")[2])
        if method == "POST" and path.startswith("/admin/functions/"):
            return self._run_by_hand(path.rpartition("/")[2], await request.body())
        if method == "GET" and self._describe_engine and _is_below(path, _DURABLE):
            lines = await self._describe_engine(given_path[len(_DURABLE) + 1 :] or None)
            return PlainTextResponse("\n".join([*lines, ""]))
        return PlainTextResponse(f"The local host has no {method} {path}.", 404)

    def _status(self) -> Response:
        status: dict[str, object] = {
            "id": "devhost",
            "state": "Running",
            "version": _VERSION,
            "versionDetails": f"{_VERSION}+devhost",
            "platformVersion": "",
            "instanceId": "",
            "computerName": "",
            "processUptime": int((time.monotonic() - self._started_at) * 1000),
            "functionAppContentEditingState": "Unknown",
        }
        if self._settings.extension_bundle:
            status["extensionBundle"] = self._settings.extension_bundle
        return _json(status)

    def _ping(self) -> Response:
        return Response(headers=_NO_CACHE)

    def _functions(self) -> Response:
        return _json([self._describe(function) for function in self._index.functions])

    def _function(self, name: str) -> Response:
        found = next((function for function in self._index.functions if function.name.lower() == name), None)
        return Response(status_code=404) if found is None else _json(self._describe(found))

    def _run_by_hand(self, name: str, body: bytes) -> Response:
        """Begin to run a timer, or to deliver a message; others have their own door, which the refusal names."""
        function = next((function for function in self._index.running() if function.name.lower() == name), None)
        if function is None:
            return Response(status_code=404)
        if self._run_now(function.name):
            return Response(status_code=202)
        if not isinstance(function.trigger, SentTrigger):
            return PlainTextResponse(
                "Timers alone are run by hand here, and messages sent to Service Bus and the like; "
                f"'{function.name}' is a {function.trigger_type}. Call it by its own trigger.",
                400,
            )
        try:
            self._sender.send(function, function.trigger, _read_message(body, self._clock.now()))
        except SendError as error:
            return PlainTextResponse(str(error), 400)
        return Response(status_code=202)

    def _describe(self, function: Function) -> Mapping[str, object]:
        origin = f"https://{os.environ.get('WEBSITE_HOSTNAME', 'localhost')}"
        return {
            "name": function.name,
            "script_root_path_href": None,
            "script_href": f"{origin}/admin/vfs/{function.script}",
            "config_href": None,
            "test_data_href": f"{origin}/admin/vfs/{function.name}.dat",
            "href": f"{origin}/admin/functions/{function.name}",
            "invoke_url_template": self._invoke_url(function, origin),
            "language": "python",
            "config": {
                "name": function.name,
                "entryPoint": function.name,
                "scriptFile": function.script,
                "language": "python",
                "functionDirectory": function.directory,
                "bindings": function.bindings,
            },
            "files": None,
            "test_data": "",
            "isDisabled": function.is_disabled,
            "isDirect": False,
            "isProxy": False,
        }

    def _invoke_url(self, function: Function, origin: str) -> str | None:
        if not isinstance(function.trigger, HttpTrigger):
            return None
        return f"{origin}/{displayed_route(function.trigger, self._settings.route_prefix)}"


def _read_message(body: bytes, now: datetime) -> SentMessage:
    """Return the message of a request: `input` as on the real host, `metadata` and `session` beside it."""
    try:
        content = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise SendError('The body must be a JSON object, {"input": "...", "metadata": {"name": "value"}}.')
    given, metadata, session = content.get("input", ""), content.get("metadata", {}), content.get("session")
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise SendError(f"'metadata' must map names to texts, but is {metadata!r}.")
    if not isinstance(session, str | None):
        raise SendError(f"'session' must be a text, but is {session!r}.")
    return SentMessage(given if isinstance(given, str) else json.dumps(given), metadata, session, now)


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")


def _json(content: object) -> Response:
    """Return the content as JSON; what JSON does not know, in a function's bindings, as text."""
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=False, default=str)
    return Response(body, media_type="application/json; charset=utf-8")
