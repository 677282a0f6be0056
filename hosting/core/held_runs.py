"""The runs that this process holds: begun after their claim, kept alive, ended, released.

Theory. A request that waits claims its run with the acceptance. The run is a task of its own, which the request only
watches: a caller that leaves ends nothing. The agent starts when the engine has taken the run's signal, so that the
entity finishes the run if this process dies; without the signal the claim is taken back. One task renews all leases and
reads cancellations, once a second and only if nothing was appended meanwhile. A request can be cancelled while its
claim is being appended. That work is shielded (`shield`), so a claim of ours always has a holder.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct, field, structs

from hosting.core.agent.held_run import LEASE_SECONDS, DrainingError, HeldRun, StaleTokenError
from hosting.core.agent.hosted_agent import HostedAgent
from hosting.core.broadcast import Broadcast, DeltaText, LoggedEvent, UnderWay
from hosting.core.conversations import Conversations
from hosting.core.signals import Signals
from hosting.core.telemetry import REPORTED, report
from hosting.core.thread.commands import ClaimRun, ClaimTerms, Command, EndRun, Refused
from hosting.core.thread.conversation import Snapshot
from hosting.core.thread.events import Accepted, Claimed, Holder, Terminal
from hosting.core.thread.head import Head
from hosting.core.thread.run import Cancelling, cancellation, fold_run, unanswered
from hosting.core.thread_log import Decided, Refresh, ThreadLog
from hosting.errors import (
    AttachmentsUnavailableError,
    EngineUnavailableError,
    HostingError,
    LogUnavailableError,
    NewerVersionError,
    UnreadableStateError,
)
from hosting.invocation import current_invocation, mark_task
from hosting.names import Address, new_id
from hosting.ports import EntityClient
from state.models import Conversation

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.9
MOST_HELD = 500

ResultT = TypeVar("ResultT")
Inline = Callable[[Address, int, Conversation], Awaitable[Conversation]]
"""Takes the thread and its epoch with the conversation; raises `AttachmentsUnavailableError`."""
Admits = Callable[[Conversation, Accepted], HostingError | None]


class RunWatcher(Struct, frozen=True, eq=False):
    """A caller that watches a run here, and its invocation's context, in which the run begins in its turn."""

    run_id: str
    client: EntityClient
    context: Context = field(default_factory=copy_context)


class HeldRuns:
    """Holds runs for one app in this process, at most so many at a time; for one event loop.

    `held` has them by id, `claiming` the tokens of new claims, `watchers` the waiting. When `draining`, it claims none.
    """

    def __init__(
        self,
        log: ThreadLog,
        conversations: Conversations,
        broadcast: Broadcast,
        agents: Mapping[str, HostedAgent],
        *,
        most: int = MOST_HELD,
        poll_seconds: float = POLL_SECONDS,
        lease_seconds: float = LEASE_SECONDS,
        inline: Inline | None = None,
        admits: Admits = lambda conversation, accepted: None,
        takes_runs: Callable[[], bool] = lambda: True,
    ) -> None:
        """`agents` are by name in lower case.

        `inline` returns the conversation with the attachments that its entries refer to. `admits` returns why a request
        does not fit into a conversation, or None. No run is claimed here unless `takes_runs`.
        """
        self._log = log
        self._signals = Signals(log)
        self._conversations = conversations
        self._broadcast = broadcast
        self._agents = agents
        self._most = most
        self._poll_seconds = poll_seconds
        self.lease_seconds = lease_seconds
        self._inline = inline
        self._admits = admits
        self._takes_runs = takes_runs
        self.held: dict[str, HeldRun] = {}
        self.watchers: dict[Address, list[RunWatcher]] = {}
        self.claiming: set[str] = set()
        self.draining = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._renewing: asyncio.Task[None] | None = None

    @contextmanager
    def reserve(self, agent: str, *, wanted: bool = True) -> Iterator[ClaimTerms | None]:
        """Reserve a slot for a run until the block ends, and yield the terms of its claim; None if all are taken."""
        is_full = len(self.held) + len(self.claiming) >= self._most
        if not wanted or is_full or self.draining.is_set() or agent not in self._agents or not self._takes_runs():
            yield None
            return
        terms = self.claim_terms(agent)
        self.claiming.add(terms.token)
        try:
            yield terms
        finally:
            self.claiming.discard(terms.token)

    async def shield(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Return the work's result; the work continues to its end if the caller is cancelled."""
        return await asyncio.shield(self._spawn(work))

    def _spawn(self, work: Coroutine[Any, Any, ResultT]) -> asyncio.Task[ResultT]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def longest_seconds(self, agent: str) -> float:
        """Return how long an attempt of a run of the agent may take (s)."""
        return self._agents[agent].attempt_seconds

    def claim_terms(self, agent: str, holder: Holder = "caller") -> ClaimTerms:
        """Return the terms of a claim by this process, with a new token."""
        hosted = self._agents[agent]
        deadline = self._log.clocks.wall() + hosted.attempt_seconds
        terms = (holder, self.lease_seconds, deadline, self._log.processes.name, hosted.times.run_seconds)
        return ClaimTerms(new_id(), *terms, hosted.claim_version)

    @contextmanager
    def watched(self, address: Address, run_id: str, client: EntityClient) -> Iterator[None]:
        """Watch a run until the block ends: it is claimed here if an end that this process appends makes it the next.

        On Azure only an open invocation keeps an instance alive. So when the last caller of a run leaves, the run is
        released after its next step, unless a caller comes back before that.
        """
        watcher = RunWatcher(run_id, client)
        self.watchers.setdefault(address, []).append(watcher)
        try:
            self._note_watchers(address, run_id)
            yield
        finally:
            self.watchers[address].remove(watcher)
            if not self.watchers[address]:
                del self.watchers[address]
            self._note_watchers(address, run_id)

    def _note_watchers(self, address: Address, run_id: str) -> None:
        if (held := self.held.get(run_id)) is not None:
            is_watched = any(watcher.run_id == run_id for watcher in self.watchers.get(address, ()))
            held.is_unwatched = not is_watched and held.holder == "caller"

    async def claim_next(self, address: Address, run_id: str, client: EntityClient) -> HeldRun | None:
        """Claim the run if it is the next and has no holder; return it if it is held here now."""
        with self.reserve(address.agent) as terms:
            if terms is None:
                return None
            command = ClaimRun(self._log.clocks.wall(), terms, run_id=run_id)
            return await self.shield(self._claim(address, command, client))

    async def claim_as_entity(
        self, address: Address, since: int, idle_append: str | None, before: Snapshot
    ) -> HeldRun | None:
        """Claim the next run if it has no holder or a lost one; return it if it is held here now.

        `since` and `idle_append` as in `ClaimRun`; `before` is the conversation as the entity has it.
        """
        with self.reserve(address.agent) as terms:
            if terms is None:
                return None
            as_entity = structs.replace(terms, holder="entity")
            command = ClaimRun(self._log.clocks.wall(), as_entity, idle_append=idle_append, since=since)
            return await self.shield(self._claim(address, command, None, before))

    async def _claim(
        self, address: Address, command: ClaimRun, client: EntityClient | None, before: Snapshot | None = None
    ) -> HeldRun | None:
        return await self.hold(address, await self.execute(address, command), client, before=before)

    async def hold(
        self,
        address: Address,
        decided: Decided,
        client: EntityClient | None,
        signal: Awaitable[None] | None = None,
        *,
        before: Snapshot | None = None,
        is_new: bool = False,
    ) -> HeldRun | None:
        """Begin the run that a published append of this process claimed, and return it; None if it claimed none.

        `signal` is awaited before the agent starts. `before` is the conversation before the append, if known; a thread
        that `is_new` has none. Of a run that was accepted by an earlier append its events are read first, and what
        others appended after `before`: raises `LogUnavailableError` and leaves the run to its entity.
        """
        head, events = decided.head, decided.events
        claim = next((event for _, event in events if isinstance(event, Claimed)), None)
        if claim is None:
            return None
        if (run := fold_run(address, claim.run_id, events, head.epoch)) is None:
            first = head.runs[0].first - 1
            events = await self._log.events(address, first if before is None else min(first, before.position), head)
        if run is None and (run := fold_run(address, claim.run_id, events, head.epoch)) is None:
            raise LogUnavailableError(f"The log does not have the start of run {claim.run_id}.")
        held = HeldRun(
            self._log,
            run,
            claim,
            began_at=decided.began_at,
            times=self._agents[address.agent].times,
            used_before=head.usage,
            on_append=partial(self.publish, address),
        )
        held.see(head)
        self.held[held.run_id] = held
        snapshot = (before and before.continued(events, head.position)) or self._conversations.cached(address, head)

        async def read() -> Snapshot:
            return snapshot or await self._conversations.at(address, head, client, events, is_new=is_new)

        self._spawn(self._hold(held, signal, read, head.epoch))
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.ensure_future(self._renew_leases())
        return held

    async def drain(self, seconds: float) -> None:
        """Claim no more runs, let those here end or come to a step within so many seconds, release them, and return."""
        self.draining.set()
        self._broadcast.wake()
        for _ in range(2):  # half of the time for their ends, half for the end of a step
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=seconds / 2)
            for held in self.held.values():
                held.leaves_at = 0.0
        while self._tasks:  # a request on its way can still begin the run that it claimed
            for held in self.held.values():
                held.hand_over()
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    async def _hold(
        self, held: HeldRun, signal: Awaitable[None] | None, read: Callable[[], Awaitable[Snapshot]], epoch: int
    ) -> None:
        mark_task(current_invocation())
        try:
            if signal is None or await self._is_signalled(held, signal):
                await self._end(held, await self._run(held, read, epoch))
        except (EngineUnavailableError, AttachmentsUnavailableError, DrainingError) as error:
            logger.info("Run %s is released: %s", held.run_id, error)
            held.lost_by = error
            await self._release(held)
        except StaleTokenError as error:
            logger.info("%s", error)
        except (LogUnavailableError, NewerVersionError) as error:
            logger.warning("Run %s is released, and its entity continues it: %s", held.run_id, error)
            held.lost_by = error
        except Exception:
            logger.exception("Run %s is released. Its entity continues it.", held.run_id)
        finally:
            if self.held.get(held.run_id) is held:  # and no holder that took it over in this process
                del self.held[held.run_id]
            held.is_over.set()

    async def _is_signalled(self, held: HeldRun, signal: Awaitable[None]) -> bool:
        """Return whether the engine took the run's signal; else withdraw the run, unless others have it by its log."""
        try:
            await signal
        except EngineUnavailableError as error:
            decided, is_taken = await self._signals.withdraw(held.address, held.run.accepted, held.token)
            self.publish(held.address, decided)
            held.lost_by = None if is_taken else error
            logger.warning("Run %s %s.", held.run_id, "continues elsewhere" if is_taken else "is withdrawn: no signal")
            return False
        return True

    async def _run(self, held: HeldRun, read: Callable[[], Awaitable[Snapshot]], epoch: int) -> Terminal:
        """Run the agent on the conversation before the claim and on the steps of earlier attempts."""
        address, accepted = held.address, held.run.accepted
        if isinstance(held.run.state, Cancelling):  # it was interrupted: it ends with the text that the log has
            return held.superseded(self._log.clocks.wall())
        if held.run.attempts > 1:
            logger.info("Run %s of agent %s is taken up: attempt %d.", held.run_id, address.agent, held.run.attempts)
        try:
            conversation = (await read()).conversation
        except UnreadableStateError as error:
            return unanswered(held.run_id, self._log.clocks.wall(), error)
        if (refusal := self._admits(conversation, accepted)) is not None:
            return unanswered(held.run_id, self._log.clocks.wall(), refusal)
        if self._inline is not None:
            conversation = await self._inline(address, epoch, conversation)
        publish, run_id = partial(self._broadcast.publish, address), held.run_id  # `held` would be in a cycle below
        held.on_superstep = lambda superstep: publish(UnderWay(run_id, superstep))
        run = self._agents[address.agent].run
        return await run(held, conversation, lambda *delta: publish(DeltaText(run_id, *delta)))

    async def _end(self, held: HeldRun, terminal: Terminal) -> None:
        """Append the end, and begin the next run if its caller waits here. Release a draining run that was stopped."""
        if held.cancelled == "interrupt" and terminal.kind == "cancelled":
            terminal = held.unanswered(terminal, cancellation("interrupt"))
        elif held.is_draining and terminal.kind == "cancelled":
            await self._release(held)
            return
        takes_more = not self.draining.is_set() and len(self.held) <= self._most and self._takes_runs()
        callers = {watcher.run_id: watcher for watcher in self.watchers.get(held.address, ())} if takes_more else {}
        terms = {run_id: self.claim_terms(held.address.agent) for run_id in callers}
        end = EndRun(held.token, terminal, held.unlogged, terms)
        decided = await self._log.execute(held.address, end)
        if isinstance(decided.outcome, Refused):
            refused = held.unanswered(terminal, decided.outcome.error)
            decided = await self._log.execute(held.address, structs.replace(end, terminal=refused, deltas=()))
        self.publish(held.address, decided)
        if (following := decided.head.next_run) is not None and (
            caller := callers.get(following.id)
        ):  # also if it has left meanwhile
            await caller.context.run(self._spawn, self._hold_next(held.address, decided, caller))

    async def _hold_next(self, address: Address, decided: Decided, caller: RunWatcher) -> None:
        try:
            await self.hold(address, decided, caller.client)
        except LogUnavailableError as error:
            logger.warning("Run %s stays claimed until its lease expires: %s", caller.run_id, error)
        self._note_watchers(address, caller.run_id)

    async def _release(self, held: HeldRun) -> None:
        """Release the run after its signal was sent: its entity continues at once."""
        try:
            await self.execute(held.address, held.release())
        except LogUnavailableError:
            logger.warning("Run %s stays claimed until its lease expires.", held.run_id)

    async def _renew_leases(self) -> None:
        """Renew leases and read cancellations while runs are held; a slow check delays no other run's."""
        clock = asyncio.get_running_loop().time
        while self.held:
            first = min(held.checked_at for held in self.held.values())
            await asyncio.sleep(max(0.0, min(first - clock(), 0.0) + self._poll_seconds))
            for held in [held for held in self.held.values() if clock() - held.checked_at >= self._poll_seconds]:
                held.checked_at = math.inf  # until the check is done: one at a time for each run
                self._spawn(self._check(held))

    async def _check(self, held: HeldRun) -> None:
        """Renew the run's lease if that is due, which returns the head too; else read the head."""
        began_at = asyncio.get_running_loop().time()
        try:
            if held.renewal_is_due:
                await held.renew()
            else:
                self._stop_unless_held(held, await self._log.head(held.address))
        except (StaleTokenError, NewerVersionError):
            held.stop.request()  # nothing that it does now can be recorded
        except LogUnavailableError:
            logger.warning("The log cannot be reached to check run %s.", held.run_id)
        except Exception:
            logger.exception("The log of run %s cannot be read.", held.run_id)
        finally:
            held.checked_at = began_at

    def _stop_unless_held(self, held: HeldRun, head: Head) -> None:
        """Have the holder see which runs may join; stop the agent if its run was cancelled or is held elsewhere."""
        run = held.see(head)
        if run is None or run.cancelled is not None or not held.is_held_in(head):
            held.cancelled = held.cancelled or (None if run is None else run.cancelled)
            held.stop.request()

    async def execute(self, address: Address, command: Command, refresh: Refresh | None = None) -> Decided:
        """Execute the command as `ThreadLog.execute` does, and publish what it appended."""
        decided = await self._log.execute(address, command, refresh)
        self.publish(address, decided)
        return decided

    def publish(self, address: Address, decided: Decided) -> None:
        """Apply an append of this process to its followers, its cached conversation and the run that it holds."""
        if events := decided.events:
            self._conversations.appended(address, decided.head, events)
            for position, event in events:
                self._broadcast.publish(address, LoggedEvent(position, event))
                if isinstance(event, REPORTED):
                    of_event, agent = self.held.get(event.run_id), self._agents.get(address.agent)
                    report(agent.name if agent else address.agent, address, event, of_event.run if of_event else None)
        if decided.head.state == "deleting":  # no run is open any more
            for deleted in [held for held in self.held.values() if held.address == address]:
                self._stop_unless_held(deleted, decided.head)
        turn = decided.head.next_run
        if turn is not None and (held := self.held.get(turn.id)) and held.address == address:
            held.checked_at = asyncio.get_running_loop().time()
            self._stop_unless_held(held, decided.head)
