"""A process's connection to a store: one client, a limit for each call, and the record of its failures.

Theory of `StoreReadiness`. Each read and each append notes how it went, so that a check costs next to nothing. After a
success the log is ready; a process that has not used it yet reads once. After a failure it is not ready, and nothing is
tried for a while, however often it is checked: then one read decides. A full disk, and an account that may only be
read, still answer reads. So no read takes back that an append failed, until it is time to try another.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from typing import Generic, Literal, TypeVar

from opentelemetry import metrics

from hosting.errors import LogUnavailableError, StoreUnavailableError
from hosting.ports import Clock

logger = logging.getLogger(__name__)

_CALLS = metrics.get_meter("hosting").create_counter("agent.log.calls", "{call}", "Calls of the store of threads")
_CALL, _AGENT = "agent.log.call", "gen_ai.agent.name"

ClientT = TypeVar("ClientT")
T = TypeVar("T")


ENDLESS = "its list repeats a page and would never end."
"""The cause of a store's failure that gives a cursor twice."""


class Outage:
    """The path of every call to one store: its failures are raised in one way, and only changes are logged.

    `store` names it with its path or address, and holds no key. Without this each call to a store that is away would
    log the same, several times a second where runs are followed.
    """

    def __init__(self, store: str, unavailable: type[StoreUnavailableError], *failures: type[Exception]) -> None:
        self._store = store
        self._unavailable = unavailable
        self._failures = failures
        self._cause = ""

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Raise the store's error for a failure of the block, and log its cause if it is another than the last one's.

        Log that the store can be used again once a block succeeds.
        """
        try:
            yield
        except self._failures as error:
            cause = cause_of(error)
            if cause != self._cause:
                logger.error("%s cannot be used: %s", self._store, cause)
            self._cause = cause
            raise self._unavailable(retry_after_seconds=_retry_after_seconds(error)) from error
        if self._cause:
            logger.warning("%s can be used again.", self._store)
            self._cause = ""


def _retry_after_seconds(error: BaseException) -> float:
    """Return the pause that a service requested with its answer."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    seconds = headers.get("Retry-After", "")
    return float(seconds) if seconds.isdecimal() else 0.0


def cause_of(error: BaseException) -> str:
    """Return the first line of the error, as a sentence.

    Clients for services put the request and the reply into the lines below.
    """
    if isinstance(error, TimeoutError):
        return "it did not answer in time."
    text = next(iter(str(error).splitlines()), "").strip().rstrip(".")
    return f"{text or type(error).__name__}."


class Connection(Generic[ClientT]):
    """One client of a service, which `connect` opens at the first use, and again after a close."""

    def __init__(self, connect: Callable[[], AbstractAsyncContextManager[ClientT]]) -> None:
        self._connect = connect
        self._connecting = asyncio.Lock()
        self._client: ClientT | None = None
        self._open = AsyncExitStack()

    async def client(self) -> ClientT:
        """Return the client, which stays the same until `close`."""
        if self._client is None:
            async with self._connecting:
                if self._client is None:
                    self._client = await self._open.enter_async_context(self._connect())
        return self._client

    async def close(self) -> None:
        """Close the client and its resources."""
        opened, self._open, self._client = self._open, AsyncExitStack(), None
        await opened.aclose()


class BoundedConnection(Connection[ClientT]):
    """A connection with calls that fail after `patience_seconds`, in one way, and with one line in the log.

    `name` is how the log names the service. A call that takes too long, or raises `OSError` or `failure`, raises
    `unavailable`.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[], AbstractAsyncContextManager[ClientT]],
        unavailable: type[StoreUnavailableError],
        patience_seconds: float,
        failure: type[Exception],
    ) -> None:
        super().__init__(connect)
        self._outage = Outage(name, unavailable, failure, OSError)
        self._patience_seconds = patience_seconds

    async def call(self, call: Callable[[ClientT], Awaitable[T]]) -> T:
        """Return the result of `call` for the client; connecting counts as part of the call."""

        async def connected() -> T:
            return await call(await self.client())

        with self._outage.guarded():
            return await asyncio.wait_for(connected(), self._patience_seconds)


Verb = Literal["read", "append"]

QUIET_SECONDS: Mapping[Verb, float] = {"read": 5.0, "append": 30.0}
"""For how long a failure is the answer, unless the same verb works before."""


class StoreReadiness:
    """The outcomes of a process's newest reads and appends; `probe` is a cheap read, which is noted as all are.

    `calls` are by agent how many reads and appends worked since the process began, and how many failed; those for no
    agent stand under "".
    """

    def __init__(self, probe: Callable[[], Awaitable[object]], clock: Clock = time.monotonic) -> None:
        self._probe = probe
        self._clock = clock
        self._calling = asyncio.Lock()
        self._is_used = False
        self._failed_at: dict[Verb, float] = {}
        self.calls: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def worked(self, verb: Verb, agent: str) -> None:
        """Note a success: an append proves that reads work, too."""
        _CALLS.add(1, {_CALL: verb, _AGENT: agent} if agent else {_CALL: verb})
        self.calls[agent][verb] += 1
        self._is_used = True
        self._failed_at.pop(verb, None)
        if verb == "append":
            self._failed_at.clear()

    def failed(self, verb: Verb, agent: str) -> None:
        """Note a failure."""
        called = {_CALL: verb, "error.type": LogUnavailableError.code}
        _CALLS.add(1, {**called, _AGENT: agent} if agent else called)
        self.calls[agent]["failed"] += 1
        self._failed_at[verb] = self._clock()

    async def check(self) -> None:
        """Raise `LogUnavailableError` unless the log can be used, as far as that is known."""
        async with self._calling:
            now = self._clock()
            if any(now - failed_at < QUIET_SECONDS[verb] for verb, failed_at in self._failed_at.items()):
                raise LogUnavailableError()
            if self._failed_at or not self._is_used:
                await self._probe()
                self._failed_at.clear()
