"""The operations of a thread's entity: the only writer of its document, which also finishes others' runs.

Theory. Every run has signalled its entity, so an operation arrives here even if the process that held the run has died.
It applies the ends that the document lacks, in their order. Then, until the run that it was sent for has ended, it
claims runs without a holder or with a lost one, and watches those that are held elsewhere. After a while it commits
what it has and signals itself to continue. It raises only where the log cannot be reached before an agent started.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import aclosing, suppress

from msgspec import Struct

from hosting.core.agent.held_run import LEASE_MARGIN_SECONDS, read_run
from hosting.core.care import Care, Pace, Patience
from hosting.core.conversations import Conversations
from hosting.core.held_runs import HeldRuns
from hosting.core.thread.commands import AcceptRun, CancelRun, Change, ClaimRun, EndRun, Outcome, Refused, ResetThread
from hosting.core.thread.conversation import DocumentAhead, DocumentBehind, Snapshot, before_reset, resume
from hosting.core.thread.decide import MOST_OPEN_RUNS, decide
from hosting.core.thread.events import TERMINALS, Accepted, Claimed, Paused, Released, Resumed, Terminal
from hosting.core.thread.head import Head
from hosting.core.thread.rows import RunRow
from hosting.core.thread.run import Run, unanswered
from hosting.core.thread.thread_events import Deleting
from hosting.core.thread_log import ThreadLog
from hosting.errors import (
    AttachmentsUnavailableError,
    EngineUnavailableError,
    LogUnavailableError,
    RunIdReusedError,
    UnreadableStateError,
)
from hosting.names import Address
from state.codec import read
from state.conversation import response_of
from state.errors import UnreadableDocumentError
from state.models import Conversation

logger = logging.getLogger(__name__)

PACE = Pace(first=0.25, growth=2.0, longest=2.0)
WATCHED_SECONDS = 60.0
_TURNS = (*TERMINALS, Claimed, Released, Paused, Resumed, Deleting)
"""Events that end a run, or change the possible holder of the next."""


class OutdatedDocumentError(Exception):
    """The entity was given an older document than the log continues from: its operation is to be delivered again."""


class Store(Struct, frozen=True):
    """The conversation at that head is to be stored: with the runs that have `ended`, or that have no place there."""

    snapshot: Snapshot
    head: Head
    ended: tuple[Terminal, ...] = ()


class Keep(Struct, frozen=True):
    """The document stays, as it cannot be read, or is ahead of the log. The run of the operation may have `ended`."""

    ended: tuple[Terminal, ...] = ()


class GoOn(Struct, frozen=True):
    """The run has not ended: the operation is to be sent again at once, when `so_far` is stored.

    It says for how many `queued_seconds` the run was seen to wait. `is_spent`: this operation can do no more for the
    run, because its process or its function's time comes to an end.
    """

    so_far: Store | Keep
    queued_seconds: float
    is_spent: bool


class Forget(Struct, frozen=True):
    """The thread was not to be stored, and is to be deleted now."""


OperationOutcome = Store | Keep | GoOn | Forget


class _Work(Struct):
    """One operation under way: its document so far, and the ends that it brings.

    Claims after position `since` are newer than it. It watches `until` then, and begins no run that may take longer
    than until `works_until`. Where no document can be continued, runs end of the error.
    """

    address: Address
    since: int
    until: float
    works_until: float
    leaves_paused: bool
    document: Snapshot | UnreadableStateError
    ended: tuple[Terminal, ...] = ()


class _Seen(Struct, frozen=True):
    """The possible next step of an operation on one head.

    `is_free`: a claim would change something, the holder being lost if there is an `idle_append`. `has_time`: a run may
    be begun. `is_last`: it commits what it has unless it runs the next one; `is_spent` as in `GoOn`.
    """

    idle_append: str | None
    is_free: bool
    has_time: bool
    is_spent: bool
    is_last: bool


class ThreadOperations:
    """The operations of the entities of one app, for one event loop."""

    def __init__(
        self,
        log: ThreadLog,
        conversations: Conversations,
        holders: HeldRuns,
        care: Care,
        *,
        read: Callable[[Address, str], Conversation] = lambda address, text: read(text),
        watched_seconds: float = WATCHED_SECONDS,
        pace: Pace = PACE,
        margin_seconds: float = LEASE_MARGIN_SECONDS,
    ) -> None:
        self._log = log
        self._conversations = conversations
        self._holders = holders
        self._care = care
        self._read = read
        self._watched_seconds = watched_seconds
        self._pace = pace
        self._margin_seconds = margin_seconds
        self._clock = log.clocks.awake
        self._began_at = log.clocks.wall()
        self._logged: set[str] = set()

    async def run(
        self,
        address: Address,
        stored: str | None,
        run_id: str,
        *,
        queued_seconds: float = 0.0,
        most_seconds: float = math.inf,
        leaves_paused: bool = True,
    ) -> OperationOutcome:
        """Have the run ended, by its holder or here; return the conversation with all ended runs.

        `queued_seconds` is what the operation before this one saw of the run's waiting. `most_seconds` is how long the
        platform lets this one work: a run that may take longer is not begun. Once this process is to end, or if it
        `leaves_paused` threads, it returns as soon as it holds nothing here. A document that cannot be read, or is
        ahead, is what runs end of. Raises `OutdatedDocumentError`, and `LogUnavailableError` before an agent started.
        """
        works_until = self._clock() + most_seconds
        since, head = await self._begin(address, run_id, min(self._watched_seconds, most_seconds))
        until = min(self._clock() + self._watched_seconds, works_until)
        work = _Work(address, since, until, works_until, leaves_paused, self._resumed(address, stored, head))
        if head.run(run_id) is not None:
            patience = self._care.patience(run_id, queued_seconds)
            head, step = await self._until_ended(work, patience, head)
            if step is not None:
                document = work.document
                so_far = Store(document, head, work.ended) if isinstance(document, Snapshot) else Keep()
                is_left = leaves_paused and head.is_paused
                return so_far if is_left else GoOn(so_far, patience.queued_seconds, step.is_spent)
        if head.is_answered(self._log.clocks.wall()):
            return await self._until_forgotten(work, head)
        if isinstance(work.document, UnreadableStateError):
            run = await self.find_run(address, run_id)
            return Keep(() if run is None or run.end is None else (run.end,))
        return await self._followed(address, work.document, head, work.ended)

    async def store(self, address: Address, stored: str | None) -> Store | Keep:
        """Return the conversation as the log has it now, whatever runs are open. Raises as `run` does."""
        head = await self._log.head(address)
        document = self._resumed(address, stored, head)
        if head.temporary or isinstance(document, UnreadableStateError):
            return Keep()
        return await self._followed(address, document, head)

    async def _until_ended(self, work: _Work, patience: Patience, head: Head) -> tuple[Head, _Seen | None]:
        """Return the head after the run's end; or a last head, and its step, if the operation ends before that."""
        address, run_id, epoch = work.address, patience.run_id, head.epoch
        heads = self._care.heads(address, head, _TURNS, pace=self._pace, left=lambda: work.until - self._clock())
        async with aclosing(heads):
            async for newest in heads:
                if newest.epoch != epoch:
                    raise OutdatedDocumentError("The thread was deleted.")
                if newest.run(run_id) is None:
                    return newest, None
                step = self._seen(work, patience, newest)
                if isinstance(work.document, Snapshot) and (step.is_free or step.is_last):
                    so_far = await self._followed(address, work.document, newest, work.ended)
                    work.document, work.ended = so_far.snapshot, so_far.ended
                    if step.is_free:
                        self._conversations.remember(address, newest, so_far.snapshot)
                if patience.is_overdue(newest):
                    await self._holders.execute(address, CancelRun(self._log.clocks.wall(), run_id, "queue_time"))
                elif step.is_free and await self._take_up(work, step):
                    continue
                elif step.is_last:
                    return newest, step
                else:
                    self._log_interrupted(address, newest)
        raise AssertionError("A thread always has another head.")

    async def _until_forgotten(self, work: _Work, head: Head) -> GoOn | Forget:
        """Return once an ended run was answered, and its thread is deleted by the process that answered.

        If it takes longer than a holder's lease, that process may be dead: the thread is to be deleted all the same.
        """
        epoch, end = head.epoch, self._clock() + self._holders.lease_seconds + self._margin_seconds
        heads = self._care.heads(work.address, head, (Deleting,), left=lambda: end - self._clock())
        async with aclosing(heads):
            async for newest in heads:
                if newest.state != "open" or self._clock() >= end:
                    break
                if newest.epoch != epoch:
                    raise OutdatedDocumentError("The thread was deleted.")
                if self._clock() >= work.until or self._holders.draining.is_set():
                    return GoOn(Keep(), 0.0, is_spent=True)
        return Forget()

    def _seen(self, work: _Work, patience: Patience, head: Head) -> _Seen:
        """Return the operation's next step on this head."""
        patience_seconds = 0.0
        if head.claim is not None and not self._log.processes.is_gone(head.claim.process):
            patience_seconds = head.claim.lease_seconds + self._margin_seconds
        idle_append = patience.idle_append(head, patience_seconds)
        has_time = self._clock() + self._holders.longest_seconds(work.address.agent) < work.works_until
        is_spent = not has_time and (head.claim is None or idle_append is not None)
        is_spent |= self._holders.draining.is_set()
        is_free = isinstance(decide(head, self._claim(work, idle_append)), Change)
        is_last = is_spent or self._clock() >= work.until or (work.leaves_paused and head.is_paused)
        return _Seen(idle_append, is_free, has_time, is_spent, is_last)

    def _claim(self, work: _Work, idle_append: str | None) -> ClaimRun:
        """Return the claim of the next run: where it would change nothing, only the head need be read."""
        terms = self._holders.claim_terms(work.address.agent, "entity")
        return ClaimRun(self._log.clocks.wall(), terms, idle_append=idle_append, since=work.since)

    async def _take_up(self, work: _Work, step: _Seen) -> bool:
        """Claim the next run, and return once it is no longer held here, or has ended by the refusal.

        False if no agent ran: the run was refused, there is no time for it, or another process was first.
        """
        if isinstance(work.document, UnreadableStateError):
            await self._refuse(work, step.idle_append, work.document)
            return False
        if not step.has_time:
            return False
        held = await self._holders.claim_as_entity(work.address, work.since, step.idle_append, work.document)
        if held is None:
            return False
        await held.is_over.wait()
        if isinstance(held.lost_by, EngineUnavailableError | AttachmentsUnavailableError):
            raise LogUnavailableError()
        return True

    def _log_interrupted(self, address: Address, head: Head) -> None:
        """Log once that a run was begun before this process, and when it is taken up if its holder is gone."""
        run, claim = head.next_run, head.claim
        if run is None or claim is None or run.at >= self._began_at or run.id in self._logged:
            return
        if self._holders.held.get(run.id) is None:
            self._logged.add(run.id)
            seconds = claim.lease_seconds + self._margin_seconds + PACE.longest
            text = (
                "Run %s of agent %s was interrupted: it is taken up within %.0f s, unless another process works on it."
            )
            logger.info(text, run.id, address.agent, seconds)

    async def find_run(self, address: Address, run_id: str) -> Run | None:
        """Return a run as the log has it; None if the thread no longer has it.

        Raises `LogUnavailableError`.
        """
        run = await read_run(self._log, address, run_id)
        return run if isinstance(run, Run) else None

    async def log_unknown(self, address: Address, run_id: str, outcome: Store | Keep) -> None:
        """Log that a thread has no such run, although an instance that accepted it had its entity signalled.

        Nothing is read for a run that is in the conversation of the operation's outcome.
        """
        if isinstance(outcome, Store) and response_of(outcome.snapshot.conversation, run_id) is not None:
            return
        head = await self._log.head(address)
        if head.state != "open" or head.imported or await self._log.row(address, RunRow, run_id, head) is not None:
            return
        logger.warning(
            "Run %s of thread %s of agent %s is not in this instance's log, so it does not run here. Another instance "
            "accepted it, in another store: give all of them the same AGENT_LOG. GET health/ready says more.",
            run_id,
            address.thread_id,
            address.agent,
        )

    async def accept(self, address: Address, accepted: Accepted) -> Outcome:
        """Accept a run that an operation carries; a repeated delivery finds its run, another request is refused.

        An orchestration's call is known by its id alone: made again in a repeated episode, it may hold another time,
        or come from another instance of the same sub-orchestration. Raises `LogUnavailableError`.
        """

        async def command(head: Head) -> AcceptRun:
            row = await self._log.row(address, RunRow, accepted.run_id, head)
            if isinstance(row, RunRow):
                run = await self.find_run(address, accepted.run_id)
                is_other = run is not None and run.accepted.fingerprint != accepted.fingerprint
                if is_other and accepted.request.orchestration_id is None:
                    raise RunIdReusedError(f"The run id {accepted.run_id!r} belongs to another request. Send a new id.")
            return AcceptRun(accepted, MOST_OPEN_RUNS, known=row, epoch=epoch)

        head = await self._log.head(address)
        epoch = head.epoch
        try:
            return (await self._holders.execute(address, await command(head), command)).outcome
        except RunIdReusedError as error:
            return Refused(error)

    async def reset(self, address: Address, stored: str | None, position: int | None) -> Store:
        """Return the conversation after a reset: the reset at that position of the log, or a new one.

        A position that the log has and that is no reset of it is of an earlier life of the thread. Raises as `run`
        does, and `UnreadableStateError` for a document that cannot be read.
        """
        head = await self._log.head(address)
        if position is None or position > head.position:
            head = (await self._log.execute(address, ResetThread(self._log.clocks.wall()))).head
        document = self._resumed(address, stored, head, is_reset=True)
        if isinstance(document, UnreadableStateError):
            raise document
        return await self._followed(address, document, head)

    async def _begin(self, address: Address, run_id: str, most_seconds: float) -> tuple[int, Head]:
        """Return the position from which on claims are newer than the operation, and the head.

        For a run that this process holds for its caller, waits for its end first: the events after that claim came
        while the operation worked.
        """
        held = self._holders.held.get(run_id)
        if held is None or held.holder != "caller":
            head = await self._log.head(address)
            claim, own = head.claim, [held for held in self._holders.held.values() if held.is_held_in(head)]
            if claim is not None and (own or claim.token in self._holders.claiming):
                return claim.position - 1, head  # of another worker with this operation: no lost one
            return head.position, head
        with suppress(TimeoutError):
            await asyncio.wait_for(held.is_over.wait(), most_seconds)
        newest = self._log.remembered(address)
        if newest is not None and newest.position > held.claimed_at and newest.run(run_id) is None:
            return held.claimed_at, newest  # nothing is read: the operation's document was handed out before this end
        return held.claimed_at, await self._log.head(address)

    async def _refuse(self, work: _Work, idle_append: str | None, refusal: UnreadableStateError) -> None:
        """End the next run by the refusal, unless another process has claimed it."""
        claim = self._claim(work, idle_append)
        head = (await self._holders.execute(work.address, claim)).head
        if head.is_held_by(claim.terms.token) and head.next_run is not None:
            ended = unanswered(head.next_run.id, self._log.clocks.wall(), refusal)
            await self._holders.execute(work.address, EndRun(claim.terms.token, ended))

    async def _followed(
        self, address: Address, snapshot: Snapshot, head: Head, ended: tuple[Terminal, ...] = ()
    ) -> Store:
        """Return the snapshot at the head's position, with what had `ended` and the ends after its own."""
        is_fresh = not snapshot.open and snapshot.since < snapshot.position
        if snapshot.position == head.position and not is_fresh:
            return Store(snapshot, head, ended)
        events = await self._log.events(address, snapshot.since if is_fresh else snapshot.position, head)
        newly = (event for position, event in events if position > snapshot.position and isinstance(event, TERMINALS))
        return Store(snapshot.apply(events), head, (*ended, *newly))

    def _resumed(
        self, address: Address, stored: str | None, head: Head, *, is_reset: bool = False
    ) -> Snapshot | UnreadableStateError:
        """Return from where the stored document continues, or why it cannot. Raises `OutdatedDocumentError`."""
        try:
            document = None if stored is None else self._read(address, stored)
            start = resume(document, head)
        except UnreadableDocumentError as error:
            return UnreadableStateError.because(error)
        if isinstance(start, DocumentAhead) and document is not None and is_reset and head.reset_at > head.trimmed:
            return before_reset(document, head)
        if isinstance(start, DocumentAhead):
            return start.refusal()
        if isinstance(start, DocumentBehind):
            raise OutdatedDocumentError("A newer document has been stored.")
        return start
