"""Response callbacks: agents' updates and runs' ends, passed to code of the app's author (notifications.md).

The names are those of `agent-framework-azurefunctions`; `on_agent_failure` and `run_id` are ours.

Theory. Callbacks are called on a loop of their own, synchronous ones in threads of their own: whatever they do, no run
fails or waits because of it. Each call has its time. A call that continues after it is left behind; one that could not
even begin, because others block everything, is reported, so that it is tried again.

Updates are passed on at best effort, one of a run at a time and in order. A callback that is too slow misses what does
not fit. One that fails or takes too long gets no more updates of that run, and its final response all the same.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from agent_framework import AgentResponse, AgentResponseUpdate
from msgspec import Struct, field

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.thread.run import Run
from hosting.errors import ConfigurationError, HostingError
from hosting.names import APP
from hosting.principal import Principal

logger = logging.getLogger(__name__)

_THREADS = 32
MOST_WAITING = 1000
"""The most updates of one run that wait for its listener."""

Callback = Callable[..., Any]


@dataclass(frozen=True)
class AgentCallbackContext:
    """The run that a callback is called for. `request_message` is the text of its request, `principal` the caller.

    `owner` is whose thread it is, "app" in an app without owners: two owners' threads may have one id, and `thread_key`
    is that of no other thread.
    """

    agent_name: str
    correlation_id: str
    session_id: str
    request_message: str
    principal: Principal | None = None
    owner: str = APP
    thread_key: str = ""

    @property
    def run_id(self) -> str:
        """The run's id, by which a callback recognizes repeats."""
        return self.correlation_id

    @property
    def thread_id(self) -> str:
        """The thread's id, by its other name."""
        return self.session_id

    @classmethod
    def of(cls, run: Run) -> AgentCallbackContext:
        """Return the context of a run."""
        accepted, message = run.accepted, run.accepted.request.message
        ids = (accepted.agent, accepted.run_id, accepted.thread_id)
        return cls(*ids, message, accepted.principal, run.address.owner, run.thread_key)


class AgentResponseCallbackProtocol(Protocol):
    """An object for `callback`. Each method may be left out, but not all; each may be synchronous."""

    async def on_streaming_response_update(self, update: AgentResponseUpdate, context: AgentCallbackContext) -> None:
        """Receives the agent's updates as they come. At best effort: a repeated attempt repeats them."""

    async def on_agent_response(self, response: AgentResponse[Any], context: AgentCallbackContext) -> None:
        """Take the answer of a run, at least once."""

    async def on_agent_failure(self, error: HostingError, context: AgentCallbackContext) -> None:
        """Take that a run ended without an answer, at least once. `error` has `code`, `status` and `detail`."""


class CallbackMethods(Struct, frozen=True):
    """The methods that a callback has."""

    update: Callback | None
    response: Callback | None
    failure: Callback | None


def callback_methods(callback: object) -> CallbackMethods:
    """Return the methods of a callback; raises `ConfigurationError` for an object that has none."""
    names = ("on_streaming_response_update", "on_agent_response", "on_agent_failure")
    found = [getattr(callback, name, None) for name in names]
    if isinstance(callback, type) or not any(map(callable, found)):
        raise ConfigurationError(
            f"{callback!r} is not a callback. Give an object with at least one of the methods {', '.join(names)}."
        )
    return CallbackMethods(*(method if callable(method) else None for method in found))


class CallOutcome(Enum):
    """How a call went."""

    ENDED = "ended"
    FAILED = "failed, or took too long"
    NOT_BEGUN = "not begun"


class CallbackCalls:
    """Calls callbacks, each for `most_seconds` at most."""

    def __init__(self, most_seconds: float) -> None:
        self.loop = AgentLoop(_THREADS, name="callback-loop")
        self.most_seconds = most_seconds

    async def call(self, callback: Callback, value: object, context: AgentCallbackContext) -> CallOutcome:
        """Call it from another loop than the callbacks' own, and return how that went; never raises."""
        begun = threading.Event()
        work = self.loop.run(self.call_here(callback, value, context, begun))
        try:
            return await asyncio.wait_for(work, self.most_seconds + 1)
        except TimeoutError:  # something blocks the loop, perhaps this very call
            return CallOutcome.FAILED if begun.is_set() else CallOutcome.NOT_BEGUN

    async def call_here(
        self, callback: Callback, value: object, context: AgentCallbackContext, begun: threading.Event
    ) -> CallOutcome:
        """Call it on the callbacks' loop, and return how that went; `begun` is set when its own code begins."""
        task = asyncio.ensure_future(_invoke(callback, value, context, begun))
        await asyncio.wait((task,), timeout=self.most_seconds)
        if task.done():
            return task.result()
        task.cancel()
        if not begun.is_set():
            return CallOutcome.NOT_BEGUN
        logger.error("A callback for run %s took longer than %g s.", context.run_id, self.most_seconds)
        return CallOutcome.FAILED


async def _invoke(
    callback: Callback, value: object, context: AgentCallbackContext, begun: threading.Event
) -> CallOutcome:
    def begin() -> object:
        begun.set()
        return callback(value, context)

    try:
        answer = begin() if inspect.iscoroutinefunction(callback) else await asyncio.to_thread(begin)
        if inspect.isawaitable(answer):
            await answer
    except (Exception, SystemExit, KeyboardInterrupt):
        logger.exception("A callback for run %s failed.", context.run_id)
        return CallOutcome.FAILED
    return CallOutcome.ENDED


class Listener(Struct, eq=False):
    """Passes the updates of one attempt to a callback, until the attempt ends or another one begins.

    It stands among the listeners of runs until then. When it `is_over` nothing more is passed on.
    """

    _calls: CallbackCalls
    _callback: Callback
    _context: AgentCallbackContext
    _by_run: dict[str, Listener]
    is_over: bool = False
    _waiting: deque[AgentResponseUpdate] = field(default_factory=deque)
    _changing: threading.Lock = field(default_factory=threading.Lock)
    _is_calling: bool = False
    _missed: int = 0
    _calling: Future[None] | None = None
    _ending: Future[None] | None = None

    def add(self, update: AgentResponseUpdate) -> None:
        """Take one more update; from one thread at a time, and returns at once."""
        if self.is_over:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._missed += 1
            return
        with self._changing:
            self._waiting.append(update)
            begins, self._is_calling = not self._is_calling, True
        if begins:
            self._calling = self._calls.loop.submit(self._call_all())

    def finish(self) -> None:
        """Pass on the waiting updates, within the time of one call: the attempt has ended. Returns at once."""
        if self._ending is None:
            self._ending = self._calls.loop.submit(self._end())

    async def finished(self) -> None:
        """Return once everything was passed on of an attempt that has ended."""
        if self._ending is not None:
            await asyncio.wait([asyncio.wrap_future(self._ending)])

    async def _end(self) -> None:
        if self._missed:
            logger.warning("Run %s: its callback missed %d updates.", self._context.run_id, self._missed)
        if self._calling is not None:
            await asyncio.wait([asyncio.wrap_future(self._calling)], timeout=self._calls.most_seconds)
        self.is_over = True
        if self._by_run.get(self._context.run_id) is self:
            del self._by_run[self._context.run_id]

    async def _call_all(self) -> None:
        while (update := self._next()) is not None:
            called = await self._calls.call_here(self._callback, update, self._context, threading.Event())
            if called is not CallOutcome.ENDED:
                self.is_over = True

    def _next(self) -> AgentResponseUpdate | None:
        """Return the next update; with None this pass has ended, and the next update begins another."""
        with self._changing:
            if self._waiting and not self.is_over:
                return self._waiting.popleft()
            self._waiting.clear()
            self._is_calling = False
            return None


class Listeners:
    """The callbacks of agents, and the listeners of attempts until their updates were passed on."""

    def __init__(self, calls: CallbackCalls) -> None:
        self._calls = calls
        self._methods: dict[str, CallbackMethods] = {}
        self._by_run: dict[str, Listener] = {}

    def add(self, agent: str, callback: object) -> None:
        """Register an agent's callback; raises `ConfigurationError` for an invalid one."""
        self._methods[agent.lower()] = callback_methods(callback)

    def of(self, agent: str) -> CallbackMethods | None:
        """Return the callback of the agent of that name, in whichever letter case."""
        return self._methods.get(agent.lower())

    def begin(self, run: Run) -> Listener | None:
        """Return the listener of a new attempt, if its agent has a callback; an earlier attempt's gets no more."""
        methods = self._methods.get(run.accepted.agent.lower())
        if methods is None or methods.update is None:
            return None
        listener = Listener(self._calls, methods.update, AgentCallbackContext.of(run), self._by_run)
        if run.run_id in self._by_run:
            self._by_run[run.run_id].is_over = True
        self._by_run[run.run_id] = listener
        return listener

    async def end(self, run_id: str) -> None:
        """Return once this process has passed on the updates of the run, so that its end comes after them."""
        if run_id in self._by_run:
            await self._by_run[run_id].finished()

    async def close(self) -> None:
        """Return once the updates of all attempts that have ended are passed on."""
        await asyncio.gather(*(listener.finished() for listener in list(self._by_run.values())))
