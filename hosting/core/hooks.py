"""What the core asks of features: types of values that an app has by its features, each with a default of nothing.

Theory. The core names no feature. Where a feature may have a say in the runs of an agent, the core has a type here for
what it asks, and the app fills it by what its features declare. Of each kind an agent has at most one.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, get_origin

from agent_framework import AgentResponse, ChatContext, ChatResponse
from msgspec import Struct

from hosting.amounts import BudgetState, Used
from hosting.core.thread.events import Terminal
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread.usage import TokenTotals
from hosting.names import Address
from hosting.ports import KeptContent

if TYPE_CHECKING:
    from hosting.user_tokens import OnBehalfOf

ANSWER_HEADERS: ContextVar[Mapping[str, str]] = ContextVar("answer_headers", default=MappingProxyType({}))
"""The headers that a gate adds to the answer of the request for which this code works.

A context variable, because every door's answer has them, also a refusal, whatever the protocol makes of the run.
"""


class Gate(Protocol):
    """Admits the requests that would begin a run of one agent."""

    def admitted(
        self, address: Address, owner: str, is_begun: Callable[[], Awaitable[bool]]
    ) -> AbstractAsyncContextManager[None]:
        """Enter the block, in which the run is started, if the `owner` may send one more request for it.

        What `is_begun` already is not refused. Raises `LimitExceededError`, before anything is stored, and
        `LogUnavailableError`.
        """


class AttemptMeter(Protocol):
    """Counts the model calls of one attempt of a run. Made on the loop of the log, and called from the agent's."""

    @property
    def has_budget(self) -> bool:
        """Whether earlier usage may have later model calls refused: each answer is recorded then."""

    async def check(self, context: ChatContext) -> None:
        """Raise a `HostingError`, which ends the run, where this model call may not begin."""

    async def count(self, context: ChatContext, answer: ChatResponse[Any]) -> int:
        """Count one answer, and return its cost, in trillionths of a unit of money; raises as `check` does."""

    async def count_cut_short(self) -> None:
        """Count the received parts of incomplete answers: the attempt has ended. Called on the loop of the log."""

    def counts(self) -> TokenTotals:
        """Return the usage of all model calls of the run, recorded or not."""

    def counted_in(self, ended: Terminal) -> Terminal:
        """Return the end of the run with its cost; without an answer it gets the calls without a record."""


Meter = Callable[[Run, Used], AttemptMeter]
"""Makes the meter of an attempt of a run, on whose thread the ended runs used so much."""


class Balance(Protocol):
    """Says how an agent's budget stands, in answers about its runs and threads; None where none is to be shown."""

    async def of_run(self, run: Run) -> BudgetState | None:
        """Return the rest of the run's own budget. Raises `LogUnavailableError`."""

    async def of_answer(self, run: Run, owner: str | None) -> BudgetState | None:
        """Return the rest to show about a run: of its budget, its thread's, or the day of its `owner`."""

    async def of_thread(self, address: Address, head: Head, owner: str | None) -> BudgetState | None:
        """Return the rest of the thread's budget, or of the day of its `owner`. Raises `LogUnavailableError`."""


ENTITY = "agent-callbacks"
KEYS = 32
"""The entity that does what features have done behind a commit, and its keys for each operation. Both are stored."""


def key_of(run_id: str) -> str:
    """Return the key under which the entity takes signals about a run: one at a time, and few hang at once."""
    return str(zlib.crc32(run_id.encode()) % KEYS)


class Signal(Struct, frozen=True):
    """A one-way operation of another entity, sent with the commit of the state; `value` is any JSON value."""

    entity: str
    key: str
    operation: str
    value: Any


OnAnswer = Callable[[Run, AgentResponse[Any]], None]
"""Adds to the answer of a run's attempt, before it is stored, what the run's recorded steps say of it."""

OnEnd = Callable[[Address, Sequence[Terminal]], Iterable[Signal]]
"""Returns the signals that go with the commit of these ends of a thread's runs: so none is lost."""


class UpdateListener(Protocol):
    """A listener of one attempt's updates. It takes them at best effort, and no run waits for it."""

    def add(self, update: Any) -> None:
        """Take one more update; from one thread at a time, and returns at once."""

    def finish(self) -> None:
        """Take note that the attempt has ended. Returns at once."""


Listen = Callable[[Run], UpdateListener | None]
"""Returns the listener of a new attempt of a run. One with a listener streams, whatever its caller asked for."""


Report = Callable[[Any, int, float, str], None]
"""Takes the progress that code reports in that attempt of a run, from any thread.

The run is a weak reference to a `core.agent.held_run.HeldRun`: contexts in which code of the run began something may
live on."""


class AgentHooks(Struct, frozen=True):
    """What the core asks of features about the runs of one agent: nothing by default.

    `runner` is the `core.agent.agent_runner.AgentRunner` of its attempts, where that is another than an agent's.
    `tokens` keeps the tokens of callers for the runs that they begin.
    """

    runner: Any = None
    gate: Gate | None = None
    meter: Meter | None = None
    balance: Balance | None = None
    listen: Listen | None = None
    report: Report | None = None
    tokens: OnBehalfOf | None = None
    on_answer: OnAnswer | None = None
    on_end: Sequence[OnEnd] = ()


NO_HOOKS = AgentHooks()


class ThreadData(Struct, frozen=True):
    """The records that a feature keeps of a thread, among the attachments of one of the thread's lives.

    Their names begin with one of `prefixes`. They go with the thread, and one by one after `keeps_seconds`. `members`
    are those of the thread's export with their types, lists or dicts, `contents` those of large contents. `counts` are
    members of the deletion's receipt, each with the prefix of the names that it counts. A feature that is off has this
    too: it may have been on.

    `drop` removes what is of runs that count no more, by a reset or by what replaced them: it is called when that comes
    into the document, before the document is committed. So it is called again after a crash, and events go later.

    Where there are any, `clocks` returns the instances of the engine that wait for the thread, whose ids begin with
    `clock_prefix`. Where any is counted, `erase` removes what stands elsewhere. All raise
    `AttachmentsUnavailableError`.

    `forget` removes what was made of the thread's messages. It is called for each thread that is deleted or reset, when
    the log says so and before it is done; it may be called again, and raises `LogUnavailableError`.
    """

    prefixes: tuple[str, ...]
    keeps_seconds: float
    members: Mapping[str, Any]
    export: Callable[[Address, int], Awaitable[Mapping[str, Any]]]
    counts: Mapping[str, str]
    erase: Callable[[Address, int], Awaitable[None]]
    clocks: Callable[[Address, int], Awaitable[Sequence[str]]]
    clock_prefix: str
    drop: Callable[[Address, int], Awaitable[None]] | None = None
    forget: Callable[[Address], Awaitable[None]] | None = None
    contents: Mapping[str, Callable[[Address, int], AsyncIterator[KeptContent]]] = {}

    def counted(self, names: Iterable[str]) -> dict[str, int]:
        """Return the counts of records with these names."""
        known = list(names)
        return {member: sum(name.startswith(prefix) for name in known) for member, prefix in self.counts.items()}

    @property
    def empty(self) -> dict[str, Any]:
        """The members of an export for a reader to whom the records are not shown."""
        return {name: (get_origin(type_) or type_)() for name, type_ in self.members.items()}


async def forget_messages(data: Iterable[ThreadData], address: Address) -> None:
    """Remove what features made of the thread's messages. Raises `LogUnavailableError`."""
    for part in data:
        if part.forget is not None:
            await part.forget(address)
