"""One run that this process holds, and what is to become of it."""

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

    `began_at` is the head after its claim, and `events` what the append of the claim added. `before` is the
    conversation at that position, where it is known. `checked_at` is when this process last knew that nobody cancelled
    it, by the event loop's clock, and `until` how long it may take, by `awake_seconds`. `is_draining`: it is handed on
    rather than ended. `is_unwatched`: everybody who waited for it or followed it here has left. `lacks_store`: it was
    released because its conversation could not be had. `lacks_log`: it was let go of because the log stayed away.
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
        """The run as this holder knows it, once it has begun."""
        return None if self.journal is None else self.journal.run

    def is_in(self, head: Head) -> bool:
        """Return whether this is the claim that the head names."""
        return head.is_held_by(self.token) if self.journal is None else self.journal.is_held_in(head)

    def hand_over(self) -> None:
        """Have the run stopped and released, from wherever it is; again changes nothing."""
        if self.is_draining:
            return
        self.is_draining = True
        self._mark_draining()
        self.stop.request()

    def watch(self, *, is_watched: bool) -> None:
        """Have the run of a caller handed on after its next step for as long as nobody watches it."""
        assert self.began_at.claim is not None
        self.is_unwatched = not is_watched and self.began_at.claim.holder == "caller"
        self._mark_draining()

    def record_in(self, journal: Journal) -> None:
        """Have the run's steps recorded there, to be handed on as was wished before it had one."""
        self.journal = journal
        self._mark_draining()

    def _mark_draining(self) -> None:
        if self.journal is not None:
            self.journal.leaving = self.is_draining or self.is_unwatched


@dataclass(frozen=True, eq=False)
class Watcher:
    """Who watches a run here, and the context of its invocation, in which the run begins if its turn comes."""

    run_id: str
    client: EntityClient
    context: Context = field(default_factory=copy_context)


@dataclass(frozen=True)
class HostedAgent:
    """How runs of one agent are held: who runs it, and for how long an attempt may."""

    attempts: Attempts
    run_timeout_seconds: float
