"""The runs that this process holds: begun behind their claim, kept alive, ended, handed on.

Theory. A request that waits is claimed with its acceptance, and the run becomes a task of its own here, which the
request only watches: a caller that leaves ends nothing. Before the agent starts, the signal for the run must have been
taken by the engine, so that the entity watches over it; where that fails the claim is taken back. One task renews the
leases of all runs and looks for their cancellation, once a second and only where nothing was appended meanwhile. What a
process that dies leaves behind is found by the entity. A claim that may have been appended is never left alone: what
leads to one goes on to its end whatever becomes of the request (`finish`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from hosting.address import Address
from hosting.agent.stop import Stop
from hosting.errors import EngineUnavailableError, LogUnavailableError, UnreadableStateError
from hosting.identity import new_id
from hosting.ports import EntityClient
from hosting.runner.attempt import Attempts, Ended, Held
from hosting.runner.journal import Journal, LeavingError, appended
from hosting.runner.lease import LEASE_SECONDS, Lease
from hosting.service.changes import Appended, Changes, Spoken
from hosting.service.documents import Documents
from hosting.steps.step_journal import StaleAttemptError
from hosting.stores.thread_log import Asked, ThreadLog
from hosting.thread.commands import Change, Claim, End, Refused, Release, SignalFailed, Terms
from hosting.thread.conversation import Snapshot
from hosting.thread.endings import unanswered
from hosting.thread.events import Claimed, Event, Holder
from hosting.thread.head import Head
from hosting.thread.run import run_record

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.9
MOST_HELD = 500

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class AgentRuns:
    """How runs of one agent are held: who runs it, and for how long an attempt may."""

    attempts: Attempts
    run_timeout_seconds: float


@dataclass
class HeldRun:
    """One run that this process holds, from its claim to its end or to the loss of the claim.

    `began_at` is the head behind its claim, and `events` what the append of the claim added. `before` is the
    conversation at that position, where it is known. `looked_at` is when this process last knew that nobody cancelled
    it, by the event loop's clock. `is_leaving`: it is handed on rather than ended.
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
    looked_at: float = 0.0
    is_leaving: bool = False
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def run_id(self) -> str:
        """The run."""
        assert self.began_at.claim is not None
        return self.began_at.claim.run_id

    def is_in(self, head: Head) -> bool:
        """Tell whether this is the claim that the head names."""
        return head.is_held_by(self.token) if self.journal is None else self.journal.is_held_in(head)

    def hand_on(self) -> None:
        """Have the run stopped and released, from wherever it is; again changes nothing."""
        if self.is_leaving:
            return
        self.is_leaving = True
        if self.journal is not None:
            self.journal.leaving = True
        self.stop.request()


class Holders:
    """Holds runs for one app in this process, at most so many at a time; for one event loop."""

    def __init__(
        self,
        log: ThreadLog,
        documents: Documents,
        changes: Changes,
        agents: Mapping[str, AgentRuns],
        *,
        most: int = MOST_HELD,
        look_seconds: float = LOOK_SECONDS,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        """`agents` are by name in lower case."""
        self._log = log
        self._documents = documents
        self._changes = changes
        self._agents = agents
        self._most = most
        self._look_seconds = look_seconds
        self._lease_seconds = lease_seconds
        self._held: dict[str, HeldRun] = {}
        self._queued: dict[Address, list[tuple[str, EntityClient]]] = {}
        self._claiming = 0
        self._is_leaving = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._caring: asyncio.Task[None] | None = None

    @contextmanager
    def room(self, agent: str, *, wanted: bool = True) -> Iterator[Terms | None]:
        """Give the terms for one more run, whose place is kept until the block ends; None where there is no room."""
        if not wanted or self._is_leaving or len(self._held) + self._claiming >= self._most:
            yield None
            return
        self._claiming += 1
        try:
            yield self.terms(agent)
        finally:
            self._claiming -= 1

    async def finish(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Return what comes of the work; it goes on to its end when whoever waits for it here is cancelled."""
        return await asyncio.shield(self._do(work))

    def _do(self, work: Coroutine[Any, Any, ResultT]) -> asyncio.Task[ResultT]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever is still there has it

    def terms(self, agent: str, holder: Holder = "caller") -> Terms:
        """Return terms on which a run of the agent would be held here, under a token of their own."""
        deadline = time.time() + self._agents[agent].run_timeout_seconds
        return Terms(new_id(), holder, self._lease_seconds, deadline)

    def held(self, run_id: str) -> HeldRun | None:
        """Return the run if this process holds it."""
        return self._held.get(run_id)

    def queue(self, address: Address, run_id: str, client: EntityClient) -> Callable[[], None]:
        """Have the run claimed here once its turn comes with an end that this process appends.

        Returns how to stop that, which is called once; other callers of the same run stay.
        """
        caller = (run_id, client)
        self._queued.setdefault(address, []).append(caller)

        def leave() -> None:
            self._queued[address].remove(caller)
            if not self._queued[address]:
                del self._queued[address]

        return leave

    async def claim_turn(self, address: Address, run_id: str, client: EntityClient) -> HeldRun | None:
        """Claim the run if its turn has come and nobody holds it; return it if it is held here now."""
        with self.room(address.agent) as terms:
            if terms is None:
                return None
            command = Claim(time.time(), terms, run_id=run_id)
            return await self.finish(self._claim(address, command, client))

    async def claim_as_entity(
        self, address: Address, began: int, silent: str | None, before: Snapshot
    ) -> HeldRun | None:
        """Claim the run whose turn it is if nobody holds it, or its holder is gone; return it if it is held here now.

        `began` and `silent` as in `Claim`; `before` is the conversation as the entity has it.
        """
        with self.room(address.agent) as terms:
            if terms is None:
                return None
            command = Claim(time.time(), replace(terms, holder="entity"), silent=silent, began=began)
            return await self.finish(self._claim(address, command, None, before))

    async def _claim(
        self, address: Address, command: Claim, client: EntityClient | None, before: Snapshot | None = None
    ) -> HeldRun | None:
        asked = await self._log.ask(address, command)
        self.tell(address, asked)
        events = appended(asked) if isinstance(asked.outcome, Change) else []
        is_next = before is not None and bool(events) and events[0][0] == before.position + 1
        return self.begin(address, asked, client, before=before.follow(events) if before and is_next else None)

    def begin(
        self,
        address: Address,
        asked: Asked,
        client: EntityClient | None,
        signal: Awaitable[None] | None = None,
        *,
        before: Snapshot | None = None,
        is_new: bool = False,
        key: str | None = None,
        fingerprint: str = "",
    ) -> HeldRun | None:
        """Begin the run that an append of this process claimed, if it claimed one; return it. The append was told here.

        `signal` is awaited before the agent starts. `before` is the conversation behind that append, if the caller has
        it. `key` and `fingerprint` are what a failed signal frees.
        """
        claim = asked.head.claim
        events = asked.outcome.events if isinstance(asked.outcome, Change) else ()
        if claim is None or not any(isinstance(event, Claimed) and event.token == claim.token for event in events):
            return None
        before = before or self._documents.remembered(address, asked.head)
        held = HeldRun(address, claim.token, asked.head, appended(asked), client, before, is_new, key, fingerprint)
        held.lease = Lease(self._lease_seconds)
        held.looked_at = asyncio.get_running_loop().time()
        self._held[held.run_id] = held
        self._do(self._hold(held, signal))
        if self._caring is None or self._caring.done():
            self._caring = asyncio.ensure_future(self._care())
        return held

    async def leave(self, seconds: float) -> None:
        """Return once nothing is held: runs that end within so many seconds end, the others are handed on.

        From now on this process claims no run.
        """
        self._is_leaving = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        while self._tasks:  # a request on its way can still begin the run that it claimed
            for held in self._held.values():
                held.hand_on()
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    async def _hold(self, held: HeldRun, signal: Awaitable[None] | None) -> None:
        try:
            if await self._is_promised(held, signal):
                await self._end(held, await self._run(held))
        except (EngineUnavailableError, LeavingError) as error:
            logger.info("Run %s is released, and its entity goes on: %s", held.run_id, error)
            await self._release(held)
        except StaleAttemptError as error:
            logger.info("%s", error)
        except LogUnavailableError:
            logger.warning("Run %s is let go of: the log cannot be reached. Its entity goes on.", held.run_id)
        except Exception:
            logger.exception("Run %s is let go of. Its entity goes on.", held.run_id)
        finally:
            if self._held.get(held.run_id) is held:  # and not who took it over in this process
                del self._held[held.run_id]
            held.is_over.set()

    async def _is_promised(self, held: HeldRun, signal: Awaitable[None] | None) -> bool:
        """Tell whether the engine took the signal for the run, where it needed one; take the run back otherwise."""
        try:
            if signal is not None:
                await signal
        except EngineUnavailableError:
            logger.warning("Run %s is taken back: its signal was not taken.", held.run_id)
            await self._take_back(held)
            return False
        return True

    async def _run(self, held: HeldRun) -> Ended:
        """Run the agent, with what stood before the claim and what earlier attempts recorded."""
        address, head = held.address, held.began_at
        run, claim = head.runs[0], head.claim
        assert claim is not None
        record = run_record(run.id, held.events)
        if record is None:  # it was accepted by an earlier append
            events = await self._log.events(address, run.first - 1)
            record = run_record(run.id, [(at, event) for at, event in events if at <= head.position])
        assert record is not None
        journal = Journal(
            self._log, address, record, held.token, held.lease, told=lambda asked: self.tell(address, asked)
        )
        held.journal, journal.leaving = journal, held.is_leaving
        try:
            before = held.before or await self._documents.at(
                address, head, held.client, held.events, is_new=held.is_new
            )
        except UnreadableStateError as error:
            return Ended(unanswered(run.id, time.time(), error))
        return await self._agents[address.agent].attempts.run(
            Held(
                journal,
                before.conversation,
                claim.deadline,
                lambda offset, text: self._changes.tell(address, Spoken(run.id, offset, text)),
                held.stop,
            )
        )

    async def _end(self, held: HeldRun, ended: Ended) -> None:
        """Append the end, and begin the next run if its caller waits here; hand the run on where it is to be left."""
        journal = held.journal
        assert journal is not None
        if journal.leaving and ended.terminal.kind == "cancelled":
            await self._release(held)
            return
        callers = {} if self._is_leaving or len(self._held) > self._most else dict(self._queued.get(held.address, ()))
        terms = {run_id: self.terms(held.address.agent) for run_id in callers}
        end = End(journal.token, ended.terminal, journal.unlogged(ended.words), terms)
        asked = await self._log.ask(held.address, end)
        if isinstance(asked.outcome, Refused):
            refused = unanswered(held.run_id, ended.terminal.at, asked.outcome.error)
            asked = await self._log.ask(held.address, replace(end, terminal=refused, words=()))
        self.tell(held.address, asked)
        following = asked.head.turn
        if following is not None and following.id in callers:  # also for a caller that has left meanwhile
            self.begin(held.address, asked, callers[following.id])

    async def _release(self, held: HeldRun) -> None:
        """Let go of the run, whose signal was taken, for its entity to go on at once."""
        token = held.token if held.journal is None else held.journal.token
        try:
            self.tell(held.address, await self._log.ask(held.address, Release(time.time(), token, signalled=True)))
        except LogUnavailableError:
            logger.warning("Run %s stays claimed until its lease is out.", held.run_id)

    async def _take_back(self, held: HeldRun) -> None:
        failed = SignalFailed(time.time(), held.run_id, held.token, held.key, held.fingerprint)
        try:
            self.tell(held.address, await self._log.ask(held.address, failed))
        except LogUnavailableError:
            logger.warning("Run %s stays claimed until its lease is out.", held.run_id)

    async def _care(self) -> None:
        """Renew leases and look for wishes to cancel, for as long as runs are held."""
        clock = asyncio.get_running_loop().time
        while self._held:
            first = min(held.looked_at for held in self._held.values())
            await asyncio.sleep(max(0.0, first + self._look_seconds - clock()))
            now = clock()
            due = [held for held in self._held.values() if now - held.looked_at >= self._look_seconds]
            await asyncio.gather(*map(self._look, due))

    async def _look(self, held: HeldRun) -> None:
        """Renew the run's lease if that is due, which shows the head too; else read the head."""
        held.looked_at = asyncio.get_running_loop().time()
        try:
            if held.lease.is_due and held.journal is not None:
                await held.journal.renew()
            else:
                self._see(held, await self._log.head(held.address))
        except StaleAttemptError:
            held.stop.request()
        except LogUnavailableError:
            logger.warning("The log cannot be reached to look after run %s.", held.run_id)
        except Exception:
            logger.exception("The log of run %s cannot be read.", held.run_id)

    def _see(self, held: HeldRun, head: Head) -> None:
        """Have the agent stopped where the run was cancelled, or is held here no more."""
        run = head.run(held.run_id)
        if run is None or run.cancelled is not None or not held.is_in(head):
            held.stop.request()

    def tell(self, address: Address, asked: Asked) -> None:
        """Tell this process what it appended: followers, the conversation remembered, the run that is held."""
        if isinstance(asked.outcome, Change):
            events = appended(asked)
            self._documents.appended(address, asked.head, events)
            for position, event in events:
                self._changes.tell(address, Appended(position, event))
        turn = asked.head.turn
        held = self._held.get(turn.id) if turn is not None else None
        if held is not None and held.address == address:
            held.looked_at = asyncio.get_running_loop().time()
            self._see(held, asked.head)
