"""Keys, asked for with `--auth` only: who may call what (host contract 2.2).

The master key opens everything, a host key opens every function, a function's own key opens that function, and an
extension's system key opens its webhook.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from devhost.bindings import AuthLevel
from devhost.http.origins import is_loopback_name

_FREE_PATHS = frozenset({"/", "/admin/host/ping"})


@dataclass(frozen=True)
class Keys:
    """The keys of one app; names of functions and extensions are in lower case."""

    master: str
    host: str
    functions: Mapping[str, str]
    system: Mapping[str, str]

    def opens_function(self, given: str, name: str, level: AuthLevel) -> bool:
        """Tell whether the key is enough for a function of this level."""
        if level == "anonymous":
            return True
        accepted = [self.master]
        if level == "function":
            accepted += [self.host, self.functions.get(name.lower(), "")]
        return _is_one_of(given, accepted)

    def refusal_of_webhook(self, given: str, extension: str) -> int | None:
        """Return the status that refuses the key for a webhook: 401 for none or unknown ones, 403 for another kind."""
        if _is_one_of(given, [self.master, self.system.get(f"{extension.lower()}_extension", "")]):
            return None
        return 403 if _is_one_of(given, [self.host, *self.functions.values(), *self.system.values()]) else 401


def _is_one_of(given: str, accepted: list[str]) -> bool:
    return bool(given) and any(key and hmac.compare_digest(given.encode(), key.encode()) for key in accepted)


def given_key(asked: HTTPConnection) -> str:
    """Return the key that a request brings, empty without one; the header wins over the query."""
    return asked.headers.get("x-functions-key") or next(iter(asked.query_params.getlist("code")), "")


def asking_for_master(app: ASGIApp, keys: Keys) -> ASGIApp:
    """Return the host's own pages behind the master key, but for the home page and the ping."""

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].lower().rstrip("/") or "/"
        if path in _FREE_PATHS or _is_one_of(given_key(HTTPConnection(scope)), [keys.master]):
            await app(scope, receive, send)
        else:
            await Response(status_code=401)(scope, receive, send)

    return check


def only_for_own_process(app: ASGIApp) -> ASGIApp:
    """Return the durable client's door, which asks for no key, closed to other machines."""

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client and is_loopback_name(client[0]):
            await app(scope, receive, send)
        else:
            await Response(status_code=401)(scope, receive, send)

    return check
