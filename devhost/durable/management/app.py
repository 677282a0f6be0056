"""The management API as an ASGI app: a table of methods, paths and handlers. What is not in it is 404."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from devhost.durable.management.entities import Entities
from devhost.durable.management.http import ManagementRequest, unexpected
from devhost.durable.management.instances import Instances
from devhost.errors import DurableError

logger = logging.getLogger(__name__)

Handler = Callable[..., Awaitable[Response]]


class ManagementApp:
    """Mounted for clients and for the app's own SDK; both mounts answer alike."""

    def __init__(self, instances: Instances, entities: Entities, hub_name: str) -> None:
        # The signal of an entity comes first: every turn of an agent begins with one.
        table: tuple[tuple[str, str, Handler], ...] = (
            ("POST", "/entities/{}/{}", entities.signal),
            ("GET", "/entities/{}/{}", entities.read),
            ("DELETE", "/entities/{}/{}", entities.delete),
            ("GET", "/entities/{?}", entities.list),
            ("POST", "/orchestrators/{}/{?}", instances.start),
            ("GET", "/instances", instances.list),
            ("DELETE", "/instances", instances.purge_many),
            ("GET", "/instances/{}", instances.status),
            ("DELETE", "/instances/{}", instances.purge),
            ("POST", "/instances/{}/raiseEvent/{}", instances.raise_event),
            ("POST", "/instances/{}/terminate", instances.terminate),
            ("POST", "/instances/{}/suspend", instances.suspend),
            ("POST", "/instances/{}/resume", instances.resume),
            ("POST", "/instances/{}/rewind", instances.rewind),
            ("POST", "/instances/{}/restart", instances.restart),
        )
        self._hub_name = hub_name.lower()
        self._routes = [(method, _pattern(path), handler) for method, path, handler in table]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = ManagementRequest(scope, receive)
        try:
            await request.body()
        except ClientDisconnect:
            return
        try:
            response = await self._answer(request)
        except DurableError as error:
            logger.error("%s %s failed: %s", request.method, request.path, error)
            response = unexpected(str(error), type(error).__name__)
        except Exception as error:
            logger.exception("%s %s failed", request.method, request.path)
            response = unexpected(str(error), type(error).__name__)
        await response(scope, receive, send)

    async def _answer(self, request: ManagementRequest) -> Response:
        if (request.parameter("taskhub") or self._hub_name).lower() != self._hub_name:
            return Response(status_code=404)
        path = request.path
        for method, pattern, handler in self._routes:
            if method == request.method and (match := pattern.fullmatch(path)):
                return await handler(request, *match.groups())
        return Response(status_code=404)


def _pattern(path: str) -> re.Pattern[str]:
    """Return the expression for a path: `{}` is one segment, `/{?}` at the end one or none, a last slash is free."""
    expression = path.replace("/{?}", "(?:/([^/]+))?").replace("{}", "([^/]+)")
    return re.compile(f"{expression}/?", re.IGNORECASE | re.DOTALL)
