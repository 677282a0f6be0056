"""Which machines and pages may call the host, and the CORS headers of its responses.

The host asks for no key, so a page in the developer's browser could drive it: by a name that it lets point to 127.0.0.1
(DNS rebinding), by posting across origins, or by a form that no preflight precedes. A browser cannot hide either: it
sends the name as `Host`, the page's site as `Origin`, and how near the two are as `Sec-Fetch-Site`. The real host needs
no such check, as it asks for keys.

Starlette's CORSMiddleware is not used: it answers a preflight with 200 and a text, and names methods of its own; the
real host answers 204, without a body, with what was asked for.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from devhost.settings import CorsPolicy

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({"same-origin", "none"})
# RFC 3986, 3.2.2: an address of version 6 in brackets, or a name; RFC 9110, 7.2: of a host there is no user before it.
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)\]|([A-Za-z0-9._-]+))(?::([0-9]{0,5}))?")
_PAGE = re.compile(r"https?://(?P<authority>.+)", re.IGNORECASE)
_LAST_PORT = 65535
_MOST_SHOWN = 80  # of what a caller sent, in a sentence
_HOW_TO_OPEN = "To open the host to a page, name its origin in Host.CORS of local.settings.json."


def is_loopback_name(name: str | None) -> bool:
    """Return whether a host name or address, without port, is this machine's loopback."""
    if not name:
        return False
    if name.lower().removesuffix(".") == "localhost":
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
        headers = _merged(scope["headers"])
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
        if self._is_loopback and not _is_of_loopback(host):
            shown = host[:_MOST_SHOWN]
            return f"The host '{shown}' is not this machine's loopback. Use http://localhost or http://127.0.0.1."
        origin = _text(headers, b"origin")
        if b"origin" in headers and policy.allows(origin):
            return None
        if b"origin" in headers and not self._is_own_page(origin, headers):
            return f"Requests from pages of '{origin[:_MOST_SHOWN]}' are not allowed. {_HOW_TO_OPEN}"
        site = _text(headers, b"sec-fetch-site")
        is_own = b"sec-fetch-site" not in headers or site in _OWN_SITES or "*" in policy.origins
        if method not in _READING and not is_own:
            return f"Requests of '{site[:_MOST_SHOWN]}' pages that write are not allowed. {_HOW_TO_OPEN}"
        return None

    def _is_own_page(self, origin: str, headers: Mapping[bytes, bytes]) -> bool:
        """Return whether a web server of this machine served the page; of an opened host, whether it did so itself.

        That is the very name by which the page calls, a proxy's name where one stands before us: no page of another
        site can set either header.
        """
        page = _PAGE.fullmatch(origin)
        if page is None:
            return False
        names = () if self._is_loopback else (_text(headers, name).lower() for name in (b"host", b"x-forwarded-host"))
        return _is_of_loopback(page["authority"]) or page["authority"].lower() in names


def _merged(headers: Iterable[tuple[bytes, bytes]]) -> Mapping[bytes, bytes]:
    """Return the headers by name, what came twice as one list: of a host, an origin and a site there is no list.

    Starlette's Headers cost more to ask for so many names, and give the first of a name, whatever the app reads.
    """
    merged: dict[bytes, bytes] = {}
    for name, value in headers:
        merged[name] = merged[name] + b", " + value if name in merged else value
    return merged


def _text(headers: Mapping[bytes, bytes], name: bytes) -> str:
    """Return the value, without the blanks around it that are no part of it (RFC 9110, 5.5)."""
    return headers.get(name, b"").decode("latin-1").strip(" \t")


def _is_of_loopback(authority: str) -> bool:
    """Return whether a host, with or without port, is this machine's loopback; what is no host is not.

    Parsed here by its grammar, because `urlsplit` takes what no client means: it leaves out what stands behind a
    bracket and before an `@`.
    """
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        return False
    address, name, port = parts.groups()
    return int(port or 0) <= _LAST_PORT and is_loopback_name(address or name)


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
