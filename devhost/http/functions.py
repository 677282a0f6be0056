"""The endpoint of the app's own HTTP functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from devhost.bindings import HttpTrigger
from devhost.http.body import BodyLimit
from devhost.http.keys import Keys, given_key
from devhost.http.routes import BadPathError, Match, RouteTable, clean_path
from devhost.invoke import Invoker
from devhost.settings import HostSettings
from devhost.signature import HttpStyle

Answer = Callable[[Match, Invoker, Scope, Receive, Send], Awaitable[None]]


class FunctionsEndpoint:
    """Finds the function for a request and has it answered in the style of its annotation; 404 when there is none."""

    def __init__(self, routes: RouteTable, invoker: Invoker, settings: HostSettings, keys: Keys | None) -> None:
        """`keys` None asks for none."""
        self._routes = routes
        self._keys = keys
        self._invoker = invoker
        self._body_limit_bytes = settings.body_limit_bytes
        self._custom_headers = settings.custom_headers
        self._answers = _load_answers(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._custom_headers:
            send = self._with_custom_headers(send)
        try:
            match = self._routes.match(scope["method"], clean_path(scope["raw_path"]))
        except BadPathError:
            await Response(status_code=400)(scope, receive, send)
            return
        if match is None or match.function.http_style is None:
            await Response(status_code=404)(scope, receive, send)
        elif not self._is_allowed(match, scope):
            await Response(status_code=401)(scope, receive, send)
        else:
            await self._run(match, scope, receive, send)

    def _is_allowed(self, match: Match, scope: Scope) -> bool:
        trigger = match.function.trigger
        if self._keys is None or not isinstance(trigger, HttpTrigger):
            return True
        return self._keys.opens_function(given_key(HTTPConnection(scope)), match.function.name, trigger.auth_level)

    async def _run(self, match: Match, scope: Scope, receive: Receive, send: Send) -> None:
        assert match.function.http_style is not None
        answer_request = self._answers[match.function.http_style]

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await answer_request(match, self._invoker, scope, receive, send)

        await BodyLimit(app, self._body_limit_bytes, status=500)(scope, receive, send)

    def _with_custom_headers(self, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=[*message["headers"]])
                for name, value in self._custom_headers:
                    headers.setdefault(name, value)
                message = {**message, "headers": headers.raw}
            await send(message)

        return send_with_headers


def _load_answers(routes: RouteTable) -> Mapping[HttpStyle, Answer]:
    """Import what the app uses only: an app of classic functions need not have FastAPI installed."""
    answers: dict[HttpStyle, Answer] = {}
    styles = {route.function.http_style for route in routes.routes}
    if "classic" in styles:
        from devhost.http import classic

        answers["classic"] = classic.answer_request
    if "fastapi" in styles:
        from devhost.http import fastapi_mode

        answers["fastapi"] = fastapi_mode.answer_request
    return answers
