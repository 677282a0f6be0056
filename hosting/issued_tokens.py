"""Tokens that an identity provider gave for a user or for the app, and why there is none.

Theory. What comes of an exchange is kept in memory, for the same key, until shortly before its end. Errors are made
anew where they leave: no frame in their traceback has a token in its locals.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal, NoReturn

logger = logging.getLogger(__name__)

MOST_CACHED = 1_000
"""Of an event loop: the exchanged tokens that are kept, the newest ones."""
MARGIN_SECONDS = 300.0
"""A token that ends sooner is exchanged anew: a call with it takes a while."""

Reason = Literal["not_set_up", "absent", "sign_in", "refused", "unavailable", "audience"]


class UserTokenError(Exception):
    """There is no token for the tool, and it has not acted yet.

    `reason` is "not_set_up": the app exchanges none; "absent": the run has no token of its user and the call cannot
    wait for one; "sign_in": the user must sign in again first, as `claims` say (JSON), where the provider wants more
    than before; "refused": the identity provider gives none; "unavailable": it cannot be asked now, try again;
    "audience": the tool named none that may be asked for. The text is a sentence of ours, never the provider's.
    """

    def __init__(self, reason: Reason, text: str, claims: str | None = None) -> None:
        super().__init__(text)
        self.reason = reason
        self.claims = claims

    def anew(self) -> UserTokenError:
        """Return the same error without a traceback: the frames of an exchange have tokens in their locals."""
        return UserTokenError(self.reason, str(self), self.claims)


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


class IssuedTokens:
    """The exchanged tokens of one event loop. Whoever asks for one that is under way waits for the same exchange."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tokens: OrderedDict[tuple[str, ...], UserToken] = OrderedDict()
        self._under_way: dict[tuple[str, ...], asyncio.Task[UserToken | UserTokenError]] = {}

    async def token(self, key: tuple[str, ...], exchange: Callable[[], UserToken]) -> UserToken:
        """Return the kept token, or one of a new exchange; raises `UserTokenError`, and keeps no failure."""
        now = self._clock()
        for old in [each for each, kept in self._tokens.items() if kept.expires_at <= now]:
            del self._tokens[old]
        if (kept := self._tokens.get(key)) is not None and kept.expires_at - MARGIN_SECONDS > now:
            self._tokens.move_to_end(key)
            return kept
        if (task := self._under_way.get(key)) is None:
            task = self._under_way[key] = asyncio.ensure_future(self._made(key, exchange))
        made = await asyncio.shield(task)
        if isinstance(made, UserToken):
            return made
        raise made.anew()

    async def _made(self, key: tuple[str, ...], exchange: Callable[[], UserToken]) -> UserToken | UserTokenError:
        try:
            token = await asyncio.to_thread(exchange)
        except UserTokenError as error:
            return error
        except Exception as error:  # its text and its frames may have the token
            logger.error("The exchange of a token raised %s.", type(error).__name__)
            return UserTokenError("unavailable", "The identity provider cannot be asked for a token now. Try again.")
        finally:
            del self._under_way[key]
        if token.expires_at <= self._clock():
            return UserTokenError("refused", "The identity provider gave a token that has expired. Try again.")
        self._tokens[key] = token
        while len(self._tokens) > MOST_CACHED:
            self._tokens.popitem(last=False)
        return token
