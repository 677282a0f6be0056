"""Tokens of the caller: a tool acts with the rights of the user who sent the run's message.

Theory. The token of a request is in this process's memory and nowhere else: in a context variable, which whatever works
for the request inherits, and by the id of the run that the request began, until that has ended here. So a run has it
in the request's own process, and no other run does: a schedule's, a trigger's, one that another process takes up. A
context may be inherited by work for somebody else, so a token serves only a run whose principal sent it, while its
attempt is at work. Where there is none, a tool pauses for the user to come back, or gets an error before it acts.

What comes of an exchange is cached by the caller's token itself: an answer of the provider to one sign-in never serves
another.
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
from typing import NoReturn, Protocol
from weakref import WeakKeyDictionary

from hosting.authorizations import Authorization
from hosting.errors import ConfigurationError
from hosting.issued_tokens import IssuedTokens, UserToken, UserTokenError
from hosting.principal import Principal, PrincipalRequest, PrincipalResolver, checked_resolver, sent_once

__all__ = ["ExchangesUserTokens", "OnBehalfOf", "UserToken", "UserTokenError", "on_behalf_of", "token_for"]

logger = logging.getLogger(__name__)

MOST_KEPT = 1_000
"""Of an app: the callers' tokens that are kept for runs that are not at work, the newest ones."""
_LONGEST_TOKEN = 16_384
_LONGEST_AUDIENCE = 180
_AUDIENCE = re.compile(r"[!#-\[\]-~]+")
_BEARER = re.compile(r"bearer +([\w-]+\.[\w-]+\.[\w-]+)", re.IGNORECASE | re.ASCII)
_JWT = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
_OF_EASY_AUTH = "x-ms-token-aad-access-token"
"""The header with the user's access token, where App Service Authentication has a token store."""


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


class RunTokens:
    """Where one attempt of a run gets tokens: of the `app`, for what its user `sent`, until it `is_over`."""

    __slots__ = ("_run_id", "app", "is_over", "sent")

    def __init__(self, app: OnBehalfOf, run_id: str, sent: _Sent | None) -> None:
        self.app = app
        self.sent = sent
        self.is_over = False
        self._run_id = run_id

    def at_hand(self) -> _Sent | None:
        """Return the user's token, if it still lasts."""
        return self.sent if self.sent is not None and self.app.lasts(self.sent) else None

    def end(self) -> None:
        """Give no token any more: code that goes on in this context works for nobody, or for somebody else.

        The run may go on in this process, so the token is kept for it until `OnBehalfOf.forget`.
        """
        self.is_over = True
        self.sent = None
        self.app.keep(self._run_id)


_AT_WORK: ContextVar[RunTokens | None] = ContextVar("hosting_run_tokens", default=None)
"""The tokens of the attempt for which this code works; None in an app that exchanges none."""


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
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, IssuedTokens] = WeakKeyDictionary()
        self._kept: OrderedDict[str, _Sent] = OrderedDict()

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
        try:
            expires_at = self.exchange.lasts_until(text, principal, self._clock())
        except Exception as error:  # its text and its frames may have the token
            logger.error("The exchange cannot read a caller's token: %s", type(error).__name__)
            return None
        return None if expires_at is None else _Sent(principal, text, expires_at)

    def sent_by(self, principal: Principal | None, run_id: str = "") -> _Sent | None:
        """Return the token that is at hand here for a run of the principal, if it still lasts.

        It is that of the request for which this code works, or of the request that began the run.
        """
        for sent in (_SENT.get(), self._kept.get(run_id)):
            is_theirs = sent is not None and principal is not None and sent.principal.owner == principal.owner
            if sent is not None and is_theirs and self.lasts(sent):
                return sent
        return None

    def lasts(self, sent: _Sent) -> bool:
        """Return whether the caller's token has not ended yet."""
        return sent.expires_at > self._clock()

    def keep(self, run_id: str) -> None:
        """Keep the token of the request for which this code works, for when that run begins here, or goes on."""
        now = self._clock()
        for old in [each for each, sent in self._kept.items() if sent.expires_at <= now]:
            del self._kept[old]
        if (sent := _SENT.get()) is not None and self.lasts(sent):
            self._kept[run_id] = sent
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def forget(self, run_id: str) -> None:
        """Keep no token for that run."""
        self._kept.pop(run_id, None)

    def begin(self, run_id: str, principal: Principal | None) -> RunTokens:
        """Have the code of this context work for an attempt of the run."""
        sent = self.sent_by(principal, run_id)
        self.forget(run_id)
        tokens = RunTokens(self, run_id, sent)
        _SENT.set(sent)
        _AT_WORK.set(tokens)
        return tokens

    async def of_user(self, sent: _Sent, scope: str) -> UserToken:
        """Return the user's token for the scope; raises `UserTokenError`."""
        identity = hashlib.sha256(sent.token.encode()).hexdigest()
        key = (sent.principal.owner, identity, scope)
        return await self._exchanged().token(key, lambda: self.exchange.of_user(sent.token, sent.principal, scope))

    async def of_app(self, scope: str) -> UserToken:
        """Return the app's own token for the scope; raises `UserTokenError`."""
        return await self._exchanged().token(("", "", scope), lambda: self.exchange.of_app(scope))

    def _exchanged(self) -> IssuedTokens:
        loop = asyncio.get_running_loop()
        if (exchanged := self._loops.get(loop)) is None:
            exchanged = self._loops[loop] = IssuedTokens(self._clock)
        return exchanged


def on_behalf_of(
    resolver: PrincipalResolver, exchange: ExchangesUserTokens, *, header: str | None = None
) -> PrincipalResolver:
    """Return the resolver for `principal=`, by which tools get tokens of the caller (`current().user_token(...)`).

    `resolver` says who sends a request. Their token is in the `header`: without one it is `Authorization` for
    `bearer_token(...)`, and `X-MS-TOKEN-AAD-ACCESS-TOKEN` for `easy_auth()`, which has it where its token store is on.

    Raises `ConfigurationError` for a resolver of your own without a `header`, and for an address of the sign-in that
    cannot be shown to users.
    """
    checked_resolver(resolver)
    if header is None:
        header = _header_of(resolver)
    try:
        service, url = exchange.sign_in
        Authorization.of(service, url, ())
    except ValueError as error:
        raise ConfigurationError(f"The address of the sign-in cannot be shown to users. {error}") from None
    return OnBehalfOf(resolver, exchange, header.lower())


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

    @property
    def is_over(self) -> bool:
        """Whether it is a call that has ended."""

    def authorization(
        self, service: str, *, url: str, scopes: tuple[str, ...], claims: str | None = None
    ) -> Awaitable[None]:
        """Wait for the user's sign-in."""


async def token_for(call: Asking, audience: str, *, or_app: bool) -> UserToken:
    """Return the token for a call, as `ToolCall.user_token` says; raises `UserTokenError`."""
    scope = _scope_of(audience)
    work = _work_of(call)
    while True:
        claims = None
        if (sent := work.at_hand()) is not None:
            try:
                return await work.app.of_user(sent, scope)
            except UserTokenError as error:
                if error.reason != "sign_in" or not call.may_pause:
                    raise
                claims = error.claims
        elif or_app:
            return await work.app.of_app(scope)
        elif not call.may_pause or call.principal is None:
            raise _absent(call)
        service, url = work.app.exchange.sign_in
        await call.authorization(service, url=url, scopes=(scope,), claims=claims)


def _scope_of(audience: str) -> str:
    if len(audience) > _LONGEST_AUDIENCE or not _AUDIENCE.fullmatch(audience):
        raise UserTokenError(
            "audience",
            f"The audience {audience[:80]!r} cannot be asked for. Give the address or id of one service, 1 to "
            f"{_LONGEST_AUDIENCE} characters without blanks.",
        )
    return audience if audience.endswith("/.default") else f"{audience}/.default"


def _work_of(call: Asking) -> RunTokens:
    """Return the tokens of the attempt that is at work; raises `UserTokenError` where none is, or not any more."""
    work = _AT_WORK.get()
    if work is None:
        raise UserTokenError(
            "not_set_up",
            "This app exchanges no user tokens. Give principal=on_behalf_of(...); see docs/guides/user-tokens.md.",
        )
    if work.is_over or call.is_over:
        raise UserTokenError(
            "absent",
            "This code was begun for a tool call or a run that has ended, so it may work for another user now. Ask for "
            "the token in the tool, and hand it on; see docs/guides/user-tokens.md.",
        )
    return work


def _absent(call: Asking) -> UserTokenError:
    if call.principal is None:
        return UserTokenError(
            "absent",
            "Nobody signed in sent this run's message, so no user's token can serve it. Where the app's own identity "
            "is enough, ask with or_app=True.",
        )
    return UserTokenError(
        "absent",
        "The run has no token of its user now, and this call cannot wait for one. Mark a tool of the agent itself "
        "@idempotent, or ask with or_app=True where the app's own identity is enough.",
    )
