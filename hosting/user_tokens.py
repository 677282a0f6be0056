"""Tokens of the caller: a tool acts with the rights of the user who sent the run's message.

Theory. The token of a request is in this process's memory and nowhere else: in a context variable, which whatever works
for the request inherits. So a run has it that begins in the request's own process while somebody waits for it, and no
other run does: a schedule's, a trigger's, one that another process takes up. A context may be inherited by work for
somebody else, so a token serves only a run whose principal sent it. Where there is none, a tool pauses for the user to
come back, or gets an error before it acts. What comes of an exchange is cached here by the caller's token itself: an
answer of the provider to one sign-in never serves another.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Literal, NoReturn, Protocol
from weakref import WeakKeyDictionary

from hosting.authorizations import Authorization
from hosting.errors import ConfigurationError
from hosting.principal import Principal, PrincipalRequest, PrincipalResolver, checked_resolver, sent_once

logger = logging.getLogger(__name__)

MOST_CACHED = 1_000
"""Of an event loop: the exchanged tokens that are kept, the newest ones."""
MARGIN_SECONDS = 300.0
"""A token that ends sooner is exchanged anew: a call with it takes a while."""
_LONGEST_TOKEN = 16_384
_LONGEST_AUDIENCE = 180
_AUDIENCE = re.compile(r"[!#-\[\]-~]+")
_BEARER = re.compile(r"bearer +([\w-]+\.[\w-]+\.[\w-]+)", re.IGNORECASE | re.ASCII)
_JWT = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
_OF_EASY_AUTH = "x-ms-token-aad-access-token"
"""The header with the user's access token, where App Service Authentication has a token store."""

Reason = Literal["not_set_up", "absent", "refused", "unavailable", "audience"]


class UserTokenError(Exception):
    """There is no token for the tool, and it has not acted yet.

    `reason` is "not_set_up": the app exchanges none; "absent": the run has no token of its user and the call cannot
    wait for one; "refused": the identity provider gives none; "unavailable": it cannot be asked now, try again;
    "audience": the tool named none that may be asked for. The text is a sentence of ours, never the provider's.
    """

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class UserToken:
    """An access token: `value` is for the header of the call that it is for, and until `expires_at` (Unix time, s).

    `is_of_app` says that it is the app's own, and not the user's. Its text shows no token, and it cannot be pickled.
    """

    __slots__ = ("expires_at", "is_of_app", "value")

    def __init__(self, value: str, expires_at: float, *, is_of_app: bool = False) -> None:
        self.value = value
        self.expires_at = expires_at
        self.is_of_app = is_of_app

    def __repr__(self) -> str:
        return f"<UserToken of {'the app' if self.is_of_app else 'the user'}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A token is not stored. Ask for it again where you need it.")


class ExchangesUserTokens(Protocol):
    """An identity provider that gives tokens of the caller for other services. Its calls block; they are made in
    threads, and several at once."""

    @property
    def sign_in(self) -> tuple[str, str]:
        """The name and the address at which users sign in to this app, for a run that waits for its user."""

    def lasts_until(self, token: str, principal: Principal, now: float) -> float | None:
        """Return when the caller's token ends (Unix time, s); None for one that is not valid `now` or not theirs."""

    def of_user(self, token: str, principal: Principal, scope: str) -> UserToken:
        """Return the principal's token for the scope, in exchange for the caller's; raises `UserTokenError`."""

    def of_app(self, scope: str) -> UserToken:
        """Return the app's own token for the scope; raises `UserTokenError`."""


class _Sent:
    """The token of one request, and who sent it. Its text shows no token, and it cannot be pickled."""

    __slots__ = ("expires_at", "principal", "token")

    def __init__(self, principal: Principal, token: str, expires_at: float) -> None:
        self.principal = principal
        self.token = token
        self.expires_at = expires_at

    def __repr__(self) -> str:
        return "<the caller's token>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("The caller's token is not stored.")


_SENT: ContextVar[_Sent | None] = ContextVar("hosting_user_token", default=None)
"""The token of the request for which this code works."""


class OnBehalfOf:
    """A resolver that keeps the token of each request for its run; see `on_behalf_of`."""

    def __init__(
        self,
        resolver: PrincipalResolver,
        exchange: ExchangesUserTokens,
        header: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` returns the Unix time (s)."""
        self.exchange = exchange
        self.sign_in_scheme: str | None = getattr(resolver, "sign_in_scheme", None)
        self._resolver = resolver
        self._header = header
        self._clock = clock
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Exchanged] = WeakKeyDictionary()

    async def __call__(self, request: PrincipalRequest) -> Principal | None:
        """Return the sender, as the app's own resolver does, and raise what that raises."""
        _SENT.set(None)
        answer = self._resolver(request)
        principal = await answer if inspect.isawaitable(answer) else answer
        if isinstance(principal, Principal):
            _SENT.set(self._sent(request, principal))
        return principal

    def _sent(self, request: PrincipalRequest, principal: Principal) -> _Sent | None:
        value = sent_once(request.headers, self._header)
        if not value or len(value) > _LONGEST_TOKEN:
            return None
        form = _BEARER if self._header == "authorization" else _JWT
        if (token := form.fullmatch(value)) is None:
            return None
        text = token[token.re.groups]
        expires_at = self.exchange.lasts_until(text, principal, self._clock())
        return None if expires_at is None else _Sent(principal, text, expires_at)

    def sent_by(self, principal: Principal) -> _Sent | None:
        """Return the token of the request for which this code works, if that principal sent it and it still lasts."""
        sent = _SENT.get()
        if sent is None or sent.principal.owner != principal.owner or sent.expires_at <= self._clock():
            return None
        return sent

    async def of_user(self, sent: _Sent, scope: str) -> UserToken:
        """Return the user's token for the scope; raises `UserTokenError`."""
        identity = hashlib.sha256(sent.token.encode()).hexdigest()
        key = (sent.principal.owner, identity, scope)
        return await self._exchanged().token(key, lambda: self.exchange.of_user(sent.token, sent.principal, scope))

    async def of_app(self, scope: str) -> UserToken:
        """Return the app's own token for the scope; raises `UserTokenError`."""
        return await self._exchanged().token(("", "", scope), lambda: self.exchange.of_app(scope))

    def _exchanged(self) -> _Exchanged:
        loop = asyncio.get_running_loop()
        if (exchanged := self._loops.get(loop)) is None:
            exchanged = self._loops[loop] = _Exchanged(self._clock)
        return exchanged


class _Exchanged:
    """The exchanged tokens of one event loop. Whoever asks for one that is under way waits for the same exchange."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tokens: OrderedDict[tuple[str, ...], UserToken] = OrderedDict()
        self._under_way: dict[tuple[str, ...], asyncio.Task[UserToken]] = {}

    async def token(self, key: tuple[str, ...], exchange: Callable[[], UserToken]) -> UserToken:
        """Return the kept token, or one of a new exchange; raises what that raises, and keeps no failure."""
        if (kept := self._tokens.get(key)) is not None and kept.expires_at - MARGIN_SECONDS > self._clock():
            self._tokens.move_to_end(key)
            return kept
        if (task := self._under_way.get(key)) is None:
            task = self._under_way[key] = asyncio.ensure_future(self._made(key, exchange))
        return await asyncio.shield(task)

    async def _made(self, key: tuple[str, ...], exchange: Callable[[], UserToken]) -> UserToken:
        try:
            token = await asyncio.to_thread(exchange)
            now = self._clock()
            if token.expires_at <= now:
                raise UserTokenError("refused", "The identity provider gave a token that has expired. Try again.")
            for old in [each for each, kept in self._tokens.items() if kept.expires_at <= now]:
                del self._tokens[old]
            self._tokens[key] = token
            while len(self._tokens) > MOST_CACHED:
                self._tokens.popitem(last=False)
            return token
        finally:
            del self._under_way[key]


_made: OnBehalfOf | None = None
"""What exchanges tokens in this process. A run without a request has no other way to it: a process has one app."""


def on_behalf_of(
    resolver: PrincipalResolver, exchange: ExchangesUserTokens, *, header: str | None = None
) -> PrincipalResolver:
    """Return the resolver for `principal=`, by which tools get tokens of the caller (`current().user_token(...)`).

    `resolver` says who sends a request. Their token is in the `header`: without one it is `Authorization` for
    `bearer_token(...)`, and `X-MS-TOKEN-AAD-ACCESS-TOKEN` for `easy_auth()`, which has it where its token store is on.

    Raises `ConfigurationError` for a resolver of your own without a `header`, and for an address of the sign-in that
    cannot be shown to users.
    """
    global _made
    checked_resolver(resolver)
    if header is None:
        header = _header_of(resolver)
    try:
        service, url = exchange.sign_in
        Authorization.of(service, url, ())
    except ValueError as error:
        raise ConfigurationError(f"The address of the sign-in cannot be shown to users. {error}") from None
    _made = OnBehalfOf(resolver, exchange, header.lower())
    return _made


def _header_of(resolver: PrincipalResolver) -> str:
    if getattr(resolver, "sign_in_scheme", None) == "Bearer":
        return "authorization"
    if getattr(resolver, "__module__", "") == Principal.__module__:
        return _OF_EASY_AUTH
    raise ConfigurationError(
        "on_behalf_of does not know where this resolver's callers send their token. Give header='authorization', or "
        "the header that has it."
    )


class Asking(Protocol):
    """What is asked of the call or the run that wants a token."""

    @property
    def principal(self) -> Principal | None:
        """Whose run it is."""

    @property
    def may_pause(self) -> bool:
        """Whether it is a call that may wait for its user."""

    def authorization(self, service: str, *, url: str, scopes: tuple[str, ...]) -> Awaitable[None]:
        """Wait for the user's sign-in."""


async def token_for(call: Asking, audience: str, *, or_app: bool) -> UserToken:
    """Return the token for a call, as `ToolCall.user_token` says; raises `UserTokenError`."""
    tokens = _made
    if tokens is None:
        raise UserTokenError(
            "not_set_up",
            "This app exchanges no user tokens. Give principal=on_behalf_of(...); see docs/guides/user-tokens.md.",
        )
    if len(audience) > _LONGEST_AUDIENCE or not _AUDIENCE.fullmatch(audience):
        raise UserTokenError(
            "audience",
            f"The audience {audience[:80]!r} cannot be asked for. Give the address or id of one service, 1 to "
            f"{_LONGEST_AUDIENCE} characters without blanks.",
        )
    scope = audience if audience.endswith("/.default") else f"{audience}/.default"
    while (sent := None if call.principal is None else tokens.sent_by(call.principal)) is None:
        if or_app:
            return await tokens.of_app(scope)
        if call.principal is None:
            raise UserTokenError(
                "absent",
                "Nobody signed in sent this run's message, so no user's token can serve it. Where the app's own "
                "identity is enough, ask with or_app=True.",
            )
        if not call.may_pause:
            raise UserTokenError(
                "absent",
                "The run has no token of its user now, and this call cannot wait for one. Mark a tool of the agent "
                "itself @idempotent, or ask with or_app=True where the app's own identity is enough.",
            )
        service, url = tokens.exchange.sign_in
        await call.authorization(service, url=url, scopes=(scope,))
    return await tokens.of_user(sent, scope)
