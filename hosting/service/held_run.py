"""One run that this process holds, and how it is to end here."""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from dataclasses import dataclass, field

from hosting.names import Address
from hosting.ports import EntityClient
from hosting.runner.agent_loop import Stop
from hosting.runner.attempt import Attempts
from hosting.runner.journal import Journal, Lease
from hosting.thread.conversation import Snapshot
from hosting.thread.events import Event
from hosting.thread.head import Head
from hosting.thread.run import RunRecord


@dataclass
class HeldRun:
    """One run that this process holds, from its claim to its end or to the loss of the claim.

    `began_at` is the head after its claim, `events` what the claim's append added, and `before` the conversation at
    that position, if known. `checked_at`: when this process last saw it not cancelled, by the event loop's clock;
    `until`: when its time is up, by `awake_seconds`. `is_draining`: it is released rather than ended. `is_unwatched`:
    all its waiters and followers here have left. `lacks_store`: it was released because its conversation could not be
    read. `lacks_log`: it was dropped because the log stayed away.
    """

    address: Address
    token: str
    began_at: Head
    events: list[tuple[int, Event]]
    client: EntityClient | None
    before: Snapshot | None = None
    is_new: bool = False
    key: str | None = None
    fingerprint: str = ""
    lease: Lease = field(default_factory=Lease)
    stop: Stop = field(default_factory=Stop)
    journal: Journal | None = None
    checked_at: float = 0.0
    until: float = 0.0
    is_draining: bool = False
    is_unwatched: bool = False
    lacks_store: bool = False
    lacks_log: bool = False
    checking: asyncio.Task[None] | None = None
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def run_id(self) -> str:
        """The run."""
        assert self.began_at.claim is not None
        return self.began_at.claim.run_id

    @property
    def record(self) -> RunRecord | None:
        """The run as its journal has it, once it has begun."""
        return None if self.journal is None else self.journal.run

    def is_in(self, head: Head) -> bool:
        """Return whether the head names this claim."""
        return head.is_held_by(self.token) if self.journal is None else self.journal.is_held_in(head)

    def hand_over(self) -> None:
        """Stop the run and release it, wherever it is; a repeat changes nothing."""
        if self.is_draining:
            return
        self.is_draining = True
        self._mark_draining()
        self.stop.request()

    def watch(self, *, is_watched: bool) -> None:
        """Release a caller's run after its next step, unless somebody watches it by then."""
        assert self.began_at.claim is not None
        self.is_unwatched = not is_watched and self.began_at.claim.holder == "caller"
        self._mark_draining()

    def record_in(self, journal: Journal) -> None:
        """Record the run's steps in this journal, which learns whether the run is draining."""
        self.journal = journal
        self._mark_draining()

    def _mark_draining(self) -> None:
        if self.journal is not None:
            self.journal.is_draining = self.is_draining or self.is_unwatched


@dataclass(frozen=True, eq=False)
class RunWatcher:
    """A caller that watches a run here, and its invocation's context, in which the run begins in its turn."""

    run_id: str
    client: EntityClient
    context: Context = field(default_factory=copy_context)


@dataclass(frozen=True)
class HostedAgent:
    """How runs of one agent are held: its attempts, and how long one may take."""

    attempts: Attempts
    run_timeout_seconds: float
