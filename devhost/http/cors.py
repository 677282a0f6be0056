"""Requests from pages of other origins, as `Host.CORS` of local.settings.json allows them (host contract 2.6)."""

from __future__ import annotations

from dataclasses import dataclass

from devhost.http.asgi import ASGIApp, Message, Receive, Scope, Send, answer, header


@dataclass(frozen=True)
class CorsPolicy:
    """The origins that may call; `*` among them means all. `with_credentials` lets their cookies come along."""

    origins: frozenset[str]
    with_credentials: bool

    def allows(self, origin: str) -> bool:
        """Tell whether pages of this origin may call."""
        return "*" in self.origins or origin.rstrip("/").lower() in self.origins

    def headers(self, origin: str) -> list[tuple[str, str]]:
        """Return what an allowed origin is told."""
        told = [("access-control-allow-origin", "*" if "*" in self.origins else origin)]
        if "*" not in self.origins:
            told.append(("vary", "Origin"))
        if self.with_credentials:
            told.append(("access-control-allow-credentials", "true"))
        return told


def with_cors(app: ASGIApp, policy: CorsPolicy) -> ASGIApp:
    """Return the app behind the policy: preflights are answered 204 here, answers tell allowed origins so."""

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        origin = header(scope, b"origin")
        if not origin:
            await app(scope, receive, send)
        elif scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method"):
            await answer(send, 204, headers=_preflight(scope, policy, origin))
        else:
            await app(scope, receive, _telling(send, policy, origin) if policy.allows(origin) else send)

    return check


def _preflight(scope: Scope, policy: CorsPolicy, origin: str) -> list[tuple[str, str]]:
    if not policy.allows(origin):
        return []
    told = policy.headers(origin)
    told.append(("access-control-allow-methods", header(scope, b"access-control-request-method")))
    if wanted := header(scope, b"access-control-request-headers"):
        told.append(("access-control-allow-headers", wanted))
    return told


def _telling(send: Send, policy: CorsPolicy, origin: str) -> Send:
    async def send_told(message: Message) -> None:
        if message["type"] == "http.response.start":
            added = [(name.encode(), value.encode("latin-1")) for name, value in policy.headers(origin)]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return send_told
