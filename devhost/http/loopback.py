"""Keeps web pages of other sites away from the host's own endpoints.

The host asks for no key, so a page in the developer's browser could drive it: by a name that it lets point to 127.0.0.1
(DNS rebinding), or by posting across origins. A browser cannot hide either: it sends the name as `Host` and the page's
site as `Origin`. The real host needs neither check, as it asks for keys.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from devhost.http.asgi import TEXT, ASGIApp, Receive, Scope, Send, answer, header


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


def only_from_loopback(app: ASGIApp) -> ASGIApp:
    """Return the app behind a check: 403 with a sentence when Host or Origin name another machine or site."""

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(scope)
        if refusal is None:
            await app(scope, receive, send)
        else:
            await answer(send, 403, refusal.encode(), TEXT)

    return check


def _refusal(scope: Scope) -> str | None:
    host = header(scope, b"host")
    if not is_loopback_name(_host_name(f"//{host}")):
        return f"The host '{host}' is not this machine's loopback. Use http://localhost or http://127.0.0.1."
    origin = header(scope, b"origin")
    if origin and not is_loopback_name(_host_name(origin)):
        return f"Requests from pages of '{origin}' are not allowed; only pages on localhost are."
    return None


def _host_name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
