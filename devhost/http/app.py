"""Which endpoint answers a request: the host's own ones before the app's functions (host contract 2.1).

Paths are compared without case and without 405s, which Starlette's own router cannot.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from devhost.http.keys import Keys, given_key

WEBHOOKS = "/runtime/webhooks"
_WEBHOOK_VERBS = frozenset({"GET", "PUT", "POST", "DELETE", "OPTIONS"})


class HostApp:
    """The whole host as one ASGI app.

    `webhooks` are the extensions under `/runtime/webhooks/<name>`; `rpc` is the durable client's own door, which the
    real host opens on a second port. With `keys`, a webhook asks for its key before it is looked up.
    """

    def __init__(
        self,
        functions: ASGIApp,
        admin: ASGIApp,
        webhooks: Mapping[str, ASGIApp],
        rpc: ASGIApp | None,
        keys: Keys | None,
    ) -> None:
        self._functions = functions
        self._admin = admin
        self._webhooks = webhooks
        self._rpc = rpc
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        first = scope["path"][1:].partition("/")[0].lower()
        if first in ("", "admin"):
            await self._answer_root(scope, receive, send)
        elif first == "durabletask" and self._rpc is not None:
            scope["root_path"] = "/durabletask"
            await self._rpc(scope, receive, send)
        elif first == "runtime" and scope["path"].lower().startswith(WEBHOOKS + "/"):
            await self._answer_webhook(scope, receive, send)
        else:
            await self._functions(scope, receive, send)

    async def _answer_root(self, scope: Scope, receive: Receive, send: Send) -> None:
        """`/` shows the home page to readers; with an empty route prefix, other verbs may be a function's."""
        is_home = scope["path"] == "/" and scope["method"] == "GET"
        endpoint = self._admin if is_home or scope["path"].lower().startswith("/admin") else self._functions
        await endpoint(scope, receive, send)

    async def _answer_webhook(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path"][len(WEBHOOKS) + 1 :].partition("/")[0]
        refusal = self._keys.refusal_of_webhook(given_key(HTTPConnection(scope)), name) if self._keys else None
        if refusal is not None:
            await Response(status_code=refusal)(scope, receive, send)
            return
        webhook = self._webhooks.get(name.lower())
        if webhook is None or (scope["method"] not in _WEBHOOK_VERBS):
            await Response(status_code=404)(scope, receive, send)
            return
        scope["root_path"] = f"{WEBHOOKS}/{name}"
        await webhook(scope, receive, send)
