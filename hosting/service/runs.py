"""Runs as callers see them: started, waited for, found, cancelled, whichever process holds them.

Theory. A request begins with one append, which accepts its run and, where the caller waits and it is the run's turn,
claims it for this process. Whoever is promised an outcome has a signal of its own taken by the engine first, unless the
log proves that one was: behind a 202, a wait, a cancel. So a process may die at any moment, and what it promised is
kept by the entity. A waiter of a run that is held here is woken by its end; of one that is held elsewhere it watches
the log, from 25 ms up to 1 s apart where the store cannot push, and takes the run when its turn comes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from hosting.address import Address, keyed_thread_id
from hosting.errors import (
    EngineUnavailableError,
    LogUnavailableError,
    ThreadDeletedError,
    UnknownRunError,
)
from hosting.identity import new_id
from hosting.names import entity_name
from hosting.ports import EntityClient
from hosting.request.run_call import RunCall, Wait
from hosting.runner.journal import appended
from hosting.service.changes import Appended, Changes, Spoken
from hosting.service.holders import Holders
from hosting.settings import Settings
from hosting.stores.thread_log import Asked, ThreadLog
from hosting.thread.commands import Accept, Attach, Cancel, Change, Command, Refused, SignalFailed, Terms, Unchanged
from hosting.thread.events import Accepted, Event
from hosting.thread.head import Head
from hosting.thread.rows import GoneRow, KeyRow, RunRow, key_name, run_name
from hosting.thread.run import RunRecord, run_record

logger = logging.getLogger(__name__)

FIRST_LOOK_SECONDS = 0.025
LOOK_GROWTH = 1.25
LONGEST_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Run:
    """One run of a thread as it stands; `replayed` when a request found it rather than started it."""

    address: Address
    record: RunRecord
    replayed: bool = False

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.record.run_id


class Runs:
    """Starts runs and follows them, for every surface of one app."""

    def __init__(
        self,
        log: ThreadLog,
        holders: Holders,
        changes: Changes,
        settings: Settings,
        *,
        admit: Callable[[], None] = lambda: None,
    ) -> None:
        """`admit` raises the refusal of a run that may not be started now."""
        self._log = log
        self._holders = holders
        self._changes = changes
        self._settings = settings
        self._admit = admit

    async def start(self, agent: str, call: RunCall, client: EntityClient) -> Run:
        """Begin a run, or find the one that its idempotency key began.

        Returns once somebody is sure to bring it to its end. Raises what `admit` does, what the thread refuses
        (`hosting.thread.decide`), `LogUnavailableError`, and `EngineUnavailableError` where no signal was taken: then
        nothing is started, unless somebody else was promised it. What was begun goes on when the caller is cancelled.
        """
        self._admit()
        key = call.idempotency_key
        thread_id = call.thread_id or (new_id() if key is None else keyed_thread_id(agent, "app", key))
        address = Address.of(agent, thread_id)
        with self._changes.followed(address) as follower:
            run = await self._holders.finish(self._start(address, agent, call, client))
            return run if run.replayed or follower.has_missed else _with_news(run, follower.take())

    async def _start(self, address: Address, agent: str, call: RunCall, client: EntityClient) -> Run:
        key = call.idempotency_key
        is_new = call.thread_id is None and key is None
        accepted = Accepted(
            at=time.time(),
            run_id=new_id(),
            agent=agent,
            thread_id=address.thread_id,
            request=call.request,
            fingerprint=call.fingerprint(agent),
            key=key,
            traceparent=call.traceparent,
            streamed=call.streams,
        )

        async def reread(head: Head) -> Command:
            row = None if key is None else await self._log.row(address, KeyRow, key_name(key), head)
            return self._accept(accepted, terms, row)

        with self._holders.room(address.agent, wanted=call.wait.answer) as terms:
            asked = await self._log.ask(address, self._accept(accepted, terms, None), reread, is_new=is_new)
        run = await self.begun(address, asked, accepted.run_id, client, is_new=is_new)
        assert run is not None
        return run

    def _accept(self, accepted: Accepted, terms: Terms | None, key: KeyRow | GoneRow | None) -> Accept:
        return Accept(accepted, self._settings.queue_limit, terms, key)

    async def begun(
        self, address: Address, asked: Asked, run_id: str, client: EntityClient, *, is_new: bool = False
    ) -> Run | None:
        """Return the run that a command accepted or found, once it is promised to this caller; None for no run.

        `run_id` is what a run that it accepted is called. Raises as `start` does.
        """
        outcome = asked.outcome
        if isinstance(outcome, Refused):
            if outcome.signal:
                await self._signal(address, client, "delete", {"epoch": asked.head.epoch})
            raise outcome.error
        assert isinstance(outcome, Change | Unchanged)
        self._holders.tell(address, asked)
        if not outcome.run_id:
            return None
        if outcome.run_id != run_id or isinstance(outcome, Unchanged):
            return await self._found(address, outcome.run_id, client, signal=outcome.signal)
        record = run_record(run_id, appended(asked))
        assert record is not None
        await self._signal_beside(address, asked, record.accepted, client, is_new=is_new)
        return Run(address, record)

    async def _signal_beside(
        self, address: Address, asked: Asked, accepted: Accepted, client: EntityClient, *, is_new: bool
    ) -> None:
        """Have the run begin if it was claimed, and return once a signal for it was taken.

        Where none is, the run is taken back: by whoever holds it, or here.
        """
        signal = asyncio.ensure_future(self._signal_run(address, accepted.run_id, client))
        held = self._holders.begin(
            address, asked, client, signal, is_new=is_new, key=accepted.key, fingerprint=accepted.fingerprint
        )
        try:
            await asyncio.shield(signal)
        except EngineUnavailableError:
            if held is not None:
                await held.is_over.wait()
            else:
                failed = SignalFailed(time.time(), accepted.run_id, None, accepted.key, accepted.fingerprint)
                self._holders.tell(address, await self._log.ask(address, failed))
            raise

    async def wait_as(self, wanted: Wait, run: Run, client: EntityClient) -> Run:
        """Return the run once it has ended, or as it stands when its caller does not want to wait any longer."""
        if not wanted.answer:
            return run
        longest = self._settings.wait_seconds
        return await self.wait(run, client, longest if wanted.seconds is None else min(longest, wanted.seconds))

    async def wait(self, run: Run, client: EntityClient, seconds: float) -> Run:
        """Return the run once it has ended, or as it stands after so many seconds.

        It ends in the same loop turn in which this process appends the end. Raises `ThreadDeletedError` once its thread
        is deleted.
        """
        clock = asyncio.get_running_loop().time
        end, look = clock() + seconds, FIRST_LOOK_SECONDS
        leave = self._holders.queue(run.address, run.run_id, client)
        try:
            with self._changes.followed(run.address) as follower:
                if not run.record.is_over and self._holders.held(run.run_id) is None:
                    run = await self._look(run, client)
                while not run.record.is_over and (left := end - clock()) > 0:
                    is_here = self._holders.held(run.run_id) is not None
                    news = await follower.next(min(left, LONGEST_LOOK_SECONDS if is_here else look))
                    known = _with_news(run, news) if not follower.has_missed else run
                    if known is not run:
                        run, look = known, FIRST_LOOK_SECONDS
                    elif follower.has_missed or self._holders.held(run.run_id) is None:
                        follower.has_missed = False
                        run, look = await self._look(run, client), min(look * LOOK_GROWTH, LONGEST_LOOK_SECONDS)
        finally:
            leave()
        return _not_deleted(run)

    async def find(self, agent: str, thread_id: str, run_id: str, client: EntityClient) -> Run:
        """Return a run, and promise its outcome to whoever asks.

        Raises `UnknownRunError` for one that the thread does not have, `ThreadDeletedError` for one that was deleted.
        """
        address = Address.of(agent, thread_id)
        run = await self._read(address, run_id)
        if run.record.is_over:
            return run
        asked = await self._log.ask(address, Attach(time.time(), run_id))
        return await self._promised(run, asked, client)

    async def cancel(self, agent: str, thread_id: str, run_id: str, client: EntityClient) -> Run:
        """Have a run end as cancelled, and return it as it then stands; cancelling again changes nothing.

        Raises as `find` does.
        """
        address = Address.of(agent, thread_id)
        run = await self._read(address, run_id)
        if run.record.is_over:
            return run
        asked = await self._log.ask(address, Cancel(time.time(), run_id))
        return await self._promised(run, asked, client)

    async def _found(self, address: Address, run_id: str, client: EntityClient, *, signal: bool) -> Run:
        if signal:
            await self._signal_run(address, run_id, client)
        found = await self._read(address, run_id)
        return Run(address, found.record, replayed=True)

    async def _promised(self, run: Run, asked: Asked, client: EntityClient) -> Run:
        """Return the run behind what was asked, once a signal is sure to have been taken."""
        self._holders.tell(run.address, asked)
        outcome = asked.outcome
        if getattr(outcome, "signal", False):
            await self._signal_run(run.address, run.run_id, client)
        record = run.record
        for position, event in appended(asked) if isinstance(outcome, Change) else ():
            record = record.after(position, event) if position > record.last else record
        return Run(run.address, record)

    async def _look(self, run: Run, client: EntityClient) -> Run:
        """Return the run as the log has it; take it where its turn has come. With the log away, as it was."""
        try:
            record = run.record
            events = unbroken(record, record.last, await self._log.events(run.address, record.last))
            for position, event in events:
                record = record.after(position, event)
            if not record.is_over and record.claim is None:
                await self._holders.claim_turn(run.address, run.run_id, client)
            return Run(run.address, record, run.replayed)
        except LogUnavailableError:
            logger.warning("The log cannot be reached to look at run %s.", run.run_id)
            return run

    async def _read(self, address: Address, run_id: str) -> Run:
        head = await self._log.head(address)
        row = await self._log.row(address, RunRow, run_name(run_id), head)
        if row is None:
            raise UnknownRunError(f"There is no run {run_id[:80]!r} on thread {address.thread_id[:80]!r}.")
        if isinstance(row, GoneRow):
            raise ThreadDeletedError(f"Run {run_id!r} was deleted with its thread.")
        record = run_record(run_id, await self._log.events(address, row.first - 1))
        if record is None:
            raise ThreadDeletedError(f"The log of run {run_id!r} was removed by its age.")
        return _not_deleted(Run(address, record))

    async def _signal_run(self, address: Address, run_id: str, client: EntityClient) -> None:
        await self._signal(address, client, "run", {"run_id": run_id, "logged": True})

    async def _signal(self, address: Address, client: EntityClient, operation: str, order: dict[str, object]) -> None:
        await client.signal(entity_name(address.agent), address.thread_id, operation, order)


def unbroken(run: RunRecord, after: int, events: list[tuple[int, Event]]) -> list[tuple[int, Event]]:
    """Return what the log has behind that position; raises `ThreadDeletedError` where what came next was removed."""
    if events and events[0][0] != after + 1:
        raise ThreadDeletedError(f"The log of run {run.accepted.run_id!r} was removed.")
    return events


def _with_news(run: Run, news: list[Appended | Spoken]) -> Run:
    """Return the run behind what happened, the same one where nothing of it did."""
    record = run.record
    for one in news:
        if isinstance(one, Appended) and one.position > record.last:
            record = record.after(one.position, one.event)
    return run if record is run.record else Run(run.address, record, run.replayed)


def _not_deleted(run: Run) -> Run:
    if run.record.is_deleted and run.record.terminal is None:
        raise ThreadDeletedError(f"Run {run.run_id!r} was deleted with its thread.")
    return run
