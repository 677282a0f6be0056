"""Which machines and pages may call the host, and the CORS headers of its responses (host contract 2.6).

The host asks for no key, so a page in the developer's browser could drive it: by a name that it lets point to 127.0.0.1
(DNS rebinding), by posting across origins, or by a form that no preflight precedes. A browser cannot hide either: it
sends the name as `Host`, the page's site as `Origin`, and how near the two are as `Sec-Fetch-Site`. The real host needs
no such check, as it asks for keys.

Starlette's CORSMiddleware is not used: it answers a preflight with 200 and a text, and names methods of its own; the
real host answers 204, without a body, with what was asked for.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devhost.settings import CorsPolicy

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OTHER_SITES = frozenset({"cross-site", "same-site"})
_HOW_TO_OPEN = "To open the host to a page, name its origin in Host.CORS of local.settings.json."


def is_loopback_name(name: str | None) -> bool:
    """Tell whether a host name or address, without port, is this machine's loopback."""
    if not name:
        return False
    if name.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class OriginGuard:
    """The host's app behind its checks, on every route.

    A request is refused with 403 and a sentence when its Origin is another site's, or when it writes from a page of
    another origin; and when its Host is another machine's, if `is_loopback` says that the host listens on this machine
    only. A host that listens on other addresses was opened on purpose: names other than localhost are then right, and
    the pages that it serves by them are its own.
    """

    def __init__(self, app: ASGIApp, policy: CorsPolicy | None, *, is_loopback: bool) -> None:
        self._app = app
        self._policy = policy
        self._is_loopback = is_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, answer a preflight, or hand on."""
        if scope["type"] != "http":
            return
        # The first of a name counts, as in Starlette's Headers, which cost more to ask for so many names.
        headers: Mapping[bytes, bytes] = dict(reversed(scope["headers"]))
        if b"host" not in headers:
            await Response(status_code=400)(scope, receive, send)
            return
        refusal = self._refusal(scope["method"], headers)
        if refusal is not None:
            await PlainTextResponse(refusal, 403)(scope, receive, send)
            return
        origin = _text(headers, b"origin")
        if b"origin" not in headers or self._policy is None:
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            await Response(status_code=204, headers=_preflight(headers, self._policy, origin))(scope, receive, send)
        else:
            added = _cors_headers(self._policy, origin) if self._policy.allows(origin) else {}
            await self._app(scope, receive, _with_headers(send, added))

    def _refusal(self, method: str, headers: Mapping[bytes, bytes]) -> str | None:
        policy, host = self._policy or CorsPolicy(), _text(headers, b"host")
        if self._is_loopback and not _is_of_loopback(f"//{host}"):
            return f"The host '{host}' is not this machine's loopback. Use http://localhost or http://127.0.0.1."
        origin = _text(headers, b"origin")
        if origin and policy.allows(origin):
            return None
        is_own = _is_of_loopback(origin) or (not self._is_loopback and _is_own_page(origin, headers))
        if origin and not is_own:
            return f"Requests from pages of '{origin}' are not allowed. {_HOW_TO_OPEN}"
        site = _text(headers, b"sec-fetch-site").lower()
        if method not in _READING and site in _OTHER_SITES and "*" not in policy.origins:
            return f"Requests of '{site}' pages that write are not allowed. {_HOW_TO_OPEN}"
        return None


def _is_own_page(origin: str, headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a page was served by the very name by which it calls, a proxy's name where one stands before us.

    No page of another site can set either header.
    """
    names = {_text(headers, name).lower() for name in (b"host", b"x-forwarded-host")}
    return origin.lower().partition("://")[2] in names - {""}


def _text(headers: Mapping[bytes, bytes], name: bytes) -> str:
    return headers.get(name, b"").decode("latin-1")


@lru_cache(maxsize=128)
def _is_of_loopback(url: str) -> bool:
    """Tell whether the URL's host is this machine's loopback; remembered, as callers ask with few names."""
    try:
        address = urlsplit(url)
        _ = address.port  # raises for what is no port: the name before it would not be the whole name
        return is_loopback_name(address.hostname)
    except ValueError:
        return False


def _cors_headers(policy: CorsPolicy, origin: str) -> Mapping[str, str]:
    """Return the headers of a response to an allowed origin."""
    is_any = "*" in policy.origins
    headers = {"access-control-allow-origin": "*" if is_any else origin}
    if not is_any:
        headers["vary"] = "Origin"
    if policy.with_credentials:
        headers["access-control-allow-credentials"] = "true"
    return headers


def _preflight(headers: Mapping[bytes, bytes], policy: CorsPolicy, origin: str) -> Mapping[str, str]:
    if not policy.allows(origin):
        return {}
    method = _text(headers, b"access-control-request-method")
    answered = {**_cors_headers(policy, origin), "access-control-allow-methods": method}
    if wanted := _text(headers, b"access-control-request-headers"):
        answered["access-control-allow-headers"] = wanted
    return answered


def _with_headers(send: Send, added: Mapping[str, str]) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in added.items():
                headers.append(name, value)
        await send(message)

    return send_with_headers
