"""Runs as callers see them: started, waited for, found, cancelled, whichever process holds them.

Theory. A request begins with one append. It accepts the run and, if the caller waits and the run is the next, claims it
for this process. Before we answer about a run (a 202, a wait, a cancel), the engine must hold a signal for its entity,
unless the log proves that one was taken. So a process may die at any moment, and the entity finishes the run. A waiter
watches it as a stream does (`hosting.core.care`): it is woken by the end, and claims the run in its turn.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from copy import copy
from functools import partial
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.agent.held_run import read_run
from hosting.core.broadcast import LoggedEvent, with_updates
from hosting.core.care import Care, RunView
from hosting.core.held_runs import HeldRuns
from hosting.core.hooks import NO_HOOKS, AgentHooks
from hosting.core.promised_runs import PromisedRuns
from hosting.core.signals import Signals
from hosting.core.starts import Starts
from hosting.core.telemetry import carried_traceparent
from hosting.core.thread.commands import (
    AcceptRun,
    AttachToRun,
    CancelRun,
    Change,
    Continuation,
    PauseRun,
    Refused,
    ResumeRun,
    Stale,
    Unchanged,
)
from hosting.core.thread.events import Accepted, Joined
from hosting.core.thread.head import Head
from hosting.core.thread.rows import DeletedRow, KeyRow
from hosting.core.thread.run import Ended, Gone, Run, fold_run
from hosting.core.thread.run_request import StartRun
from hosting.core.thread.versions import NEWEST_VERSION, VERSION
from hosting.core.thread_log import Decided, ThreadLog
from hosting.errors import EngineUnavailableError, LogUnavailableError, ThreadDeletedError, UnknownRunError
from hosting.names import Address, check_thread_id, is_id, keyed_thread_id, max_thread_id_length, new_id
from hosting.ports import EntityClient, Wait
from hosting.principal import Caller, owner_of
from hosting.settings import Settings

logger = logging.getLogger(__name__)

SHORT_WAIT_SECONDS = 1.0
"""A caller that waits no longer leaves before an agent is done, and the run would be released in the middle."""

PROTOCOL_WAIT_SECONDS = 50.0
"""The longest wait of a caller by a protocol with official clients that give up after 60 s, as MCP and A2A: they have
the ids of a run that goes on before that (docs/reference/waits.md)."""


class Started(Struct, frozen=True):
    """A run that a request began, or found by its key: then it is `replayed`."""

    run: Run
    replayed: bool = False


class Runs:
    """Starts runs and follows them, for every surface of one app."""

    def __init__(
        self,
        log: ThreadLog,
        holders: HeldRuns,
        care: Care,
        settings: Settings,
        promised: PromisedRuns,
        *,
        admits: Sequence[Callable[[], None]] = (),
        hooks: Mapping[str, AgentHooks] = MappingProxyType({}),
    ) -> None:
        """Each of `admits` raises an error if no run may be started now; `hooks` are of agents in lower case."""
        self._log = log
        self._holders = holders
        self._care = care
        self._settings = settings
        self._promises = promised
        self._admits = admits
        self._hooks = hooks
        self._starts = Starts()
        self._signals = Signals(log)

    async def start(
        self,
        agent: str,
        call: StartRun,
        caller: Caller,
        *,
        is_limited: bool = True,
        continues: Continuation | None = None,
    ) -> Started:
        """Start a run on a thread of the caller's owner, or find the run that its idempotency key started.

        Returns once the run is sure to end. Raises what `admits` raise, `InvalidThreadIdError` for an id that no new
        thread may have unless a thread of another package stands there, what the thread refuses
        (`hosting.core.thread.decide`), `LogUnavailableError`, and `EngineUnavailableError` if no signal was taken, as
        far as the log shows: then nothing is started, unless another caller was answered about it. The run continues if
        the caller is cancelled. `continues` is what the caller has seen of the thread, which then must still be so.
        Where it `is_limited`, the agent's gate may refuse it by `LimitExceededError`, before anything is stored.
        """
        self.admit()
        key = call.idempotency_key
        thread_id = call.thread_id or (new_id() if key is None else keyed_thread_id(agent, caller.owner, key))
        address = Address.of(agent, thread_id, caller.owner)
        if len(thread_id) > max_thread_id_length(agent, caller.owner) or not is_id(thread_id):
            await self._check_stored(address, caller.client)
        admitted: AbstractAsyncContextManager[None] = nullcontext()
        if is_limited and (gate := self._hooks.get(address.agent, NO_HOOKS).gate) is not None:
            admitted = gate.admitted(address, owner_of(caller.principal), partial(self.is_begun, address, key))
        with self._care.broadcast.subscribe(address) as follower:
            async with admitted, self._starts:
                started = await self._holders.shield(self._start(address, agent, call, caller, continues=continues))
            if call.wait.answer and not (started.replayed or follower.has_missed):
                return Started(with_updates(started.run, follower.drain()))
            return started

    async def _check_stored(self, address: Address, client: EntityClient) -> None:
        """Raise `InvalidThreadIdError` for an id of another package's thread that is not there."""
        if (await self._log.head(address)).state != "deleting" and await client.read(*address.entity) is None:
            check_thread_id(address.thread_id, address.agent, address.owner)

    async def is_begun(self, address: Address, key: str | None) -> bool:
        """Return whether the idempotency key has begun a run of the thread already. Raises `LogUnavailableError`."""
        row = None if key is None else await self._log.row(address, KeyRow, key, await self._log.head(address))
        return isinstance(row, DeletedRow) or (row is not None and row.run_id is not None)

    def admit(self) -> None:
        """Raise as `admits` if no run may start in this process now."""
        for admit in self._admits:
            admit()

    async def _start(
        self, address: Address, agent: str, call: StartRun, caller: Caller, *, continues: Continuation | None
    ) -> Started:
        key = call.idempotency_key
        is_new = call.thread_id is None and key is None
        accepted = Accepted(
            v=NEWEST_VERSION if call.temporary else VERSION,
            at=self._log.clocks.wall(),
            run_id=new_id(),
            agent=agent,
            thread_id=address.thread_id,
            request=call.request,
            fingerprint=call.request.fingerprint(agent, call.thread_id, with_metadata=not call.whatever_metadata),
            key=key,
            principal=caller.principal,
            grant=caller.grant,
            traceparent=carried_traceparent(call.traceparent),
            streamed=call.streams,
            temporary=call.temporary,
            steers=call.busy == "steer" and call.request.may_steer and not call.temporary,
            wire=None if call.wire is None else dict(call.wire),
        )

        seconds, limit, epoch = self.wait_seconds(call.wait), self._settings.queue_limit, caller.epoch
        with self._holders.reserve(address.agent, wanted=seconds > SHORT_WAIT_SECONDS) as terms:
            command = AcceptRun(
                accepted, limit, terms, epoch=epoch, follows=call.follows, continues=continues, busy=call.busy
            )
            refresh = partial(self._with_key, address, command)
            decided = await self._log.execute(address, command, refresh, is_new=is_new)
        return await self.begun(address, decided, accepted.run_id, caller.client, is_new=is_new, waits=seconds > 0)

    async def _with_key(self, address: Address, command: AcceptRun, head: Head) -> AcceptRun:
        """Return the command with the row of its idempotency key, as that head has it."""
        key = command.accepted.key
        return replace(command, key=None if key is None else await self._log.row(address, KeyRow, key, head))

    async def begun(
        self,
        address: Address,
        decided: Decided,
        run_id: str,
        client: EntityClient,
        *,
        waits: bool,
        is_new: bool = False,
    ) -> Started:
        """Return the run that a command accepted or found, once its signal is taken.

        `run_id` is the id of a run that it accepted. If it was claimed, it begins after the signal. If no signal is
        taken, the run is withdrawn, by its holder or here. A run that others have or have ended by then is returned as
        they left it: its signal was taken, whatever the engine answered. Raises as `start` does.
        """
        match decided.outcome:
            case Refused(error=error, signal=signal):
                if signal:
                    await self._signals.delete(address, client)
                raise copy(error)  # a copy: a raised error refers to frames, and they to the request
            case Change() if (run := fold_run(address, run_id, decided.events, decided.head.epoch)) is not None:
                is_begun = await self._begin(address, decided, run.accepted, client, is_new=is_new, waits=waits)
                return Started(run if is_begun else await self._read(address, run_id, client))
            case Change(run_id=found, signal=signal) | Unchanged(run_id=found, signal=signal):
                self._holders.publish(address, decided)
                if signal:
                    await self._signals.run(address, found, client)
                return Started(await self._read(address, found, client), replayed=True)
            case Stale():
                raise LogUnavailableError("The thread changed while the run started. Try again.")

    async def _begin(
        self, address: Address, decided: Decided, accepted: Accepted, client: EntityClient, *, is_new: bool, waits: bool
    ) -> bool:
        """Signal for a run that was just accepted, and hold it if it was claimed; False if others have it by now."""
        self._holders.publish(address, decided)
        if (tokens := self._hooks.get(address.agent, NO_HOOKS).tokens) is not None:
            tokens.keep(accepted.run_id)
        order = {"run_id": accepted.run_id, "logged": True}
        signal = asyncio.ensure_future(client.signal(*address.entity, "run", order))
        held = await self._holders.hold(address, decided, client, signal, is_new=is_new)
        if held is None and not waits:
            await self._promises.keep(address, accepted.run_id, client)
        try:
            await asyncio.shield(signal)
        except EngineUnavailableError:
            if held is not None:
                await held.is_over.wait()
                is_taken = held.lost_by is None
            else:
                decided, is_taken = await self._signals.withdraw(address, accepted, None)
                self._holders.publish(address, decided)
            if not is_taken:
                raise
            return False
        return True

    async def wait_as(self, wait: Wait, run: Run, client: EntityClient) -> Run:
        """Return the run once it has ended, or as it stands when the wait is over.

        If it joined another one, that one is waited for, and returned.
        """
        seconds = self.wait_seconds(wait)
        if not seconds:
            return run
        left = max(0.0, seconds - (time.monotonic() - wait.since))
        run = await self.wait_through(run, client, left, takes=seconds > SHORT_WAIT_SECONDS)
        if run.end is None:
            await self._promises.keep(run.address, run.run_id, client)
        return run

    def wait_seconds(self, wait: Wait) -> float:
        """Return the longest wait of the caller (s); infinity for a reader of events.

        The process of a caller that waits for more than `SHORT_WAIT_SECONDS` claims the run.
        """
        if not wait.answer or wait.seconds == math.inf:
            return math.inf if wait.answer else 0.0
        longest = self._settings.wait_seconds
        return longest if wait.seconds is None else min(wait.seconds, longest)

    async def wait(
        self, run: Run, client: EntityClient, seconds: float, *, takes: bool = True, leaves_paused: bool = False
    ) -> Run:
        """Return the run once its end is certain, or as it stands: after so many seconds, when the log stays away, when
        this process is about to end and does not hold the run any more, or, with `leaves_paused`, once it is paused.

        With `takes` this process claims the run when it is the next. The wait ends in the loop turn in which this
        process appends the end. Raises `ThreadDeletedError` once the thread is deleted.
        """
        view, holders, held = RunView(run, run.last), self._holders.held, None
        async with aclosing(self._care.watch(run, view, client, takes=takes, seconds=seconds)) as updates:
            async for _ in updates:
                held = holders.get(run.run_id) or held
                is_lost = held is not None and isinstance(held.lost_by, LogUnavailableError)
                if is_lost or (leaves_paused and view.run.paused == "paused"):
                    break
        return view.run

    async def wait_through(self, run: Run, client: EntityClient, seconds: float, *, takes: bool = True) -> Run:
        """Return as `wait` the run that answers: that which this one joined, if it does. A paused one is left."""
        until = time.monotonic() + seconds
        run = await self.wait(run, client, seconds, takes=takes, leaves_paused=True)
        while isinstance(run.end, Joined):
            run = await self.find(run.address, run.end.into, client)
            left = max(0.0, until - time.monotonic())
            run = await self.wait(run, client, left, takes=takes, leaves_paused=True)
        return run

    async def find(self, address: Address, run_id: str, client: EntityClient) -> Run:
        """Return a run, and promise its outcome to the caller.

        Raises `UnknownRunError` for a run that the thread does not have, `ThreadDeletedError` for a deleted run.
        """
        return await self.carry_out(address, client, AttachToRun(self._log.clocks.wall(), run_id))

    async def cancel(self, address: Address, run_id: str, client: EntityClient) -> Run:
        """Cancel a run, and return it as it then stands; a repeat changes nothing.

        Raises as `find` does.
        """
        return await self.carry_out(address, client, CancelRun(self._log.clocks.wall(), run_id))

    async def carry_out(
        self, address: Address, client: EntityClient, command: AttachToRun | CancelRun | PauseRun | ResumeRun
    ) -> Run:
        """Return the run after the command, once its signal is sent; an ended one stays as it is.

        While the thread stood still, no run of it had a signal left: that of the newest has all of them ended. Raises
        as `find` does.
        """
        run_id = command.run_id
        run = await self._read(address, run_id, client)
        if isinstance(run.state, Ended):
            return run
        decided = await self._holders.execute(address, command)
        is_sure = True
        if decided.head.state == "deleting":
            await self._signals.delete(address, client)
        elif not isinstance(decided.outcome, Stale) and decided.outcome.signal:
            newest = decided.head.runs[-1].id if decided.head.runs else run_id
            is_sure = await self._signals.run(address, newest, client)
        if not is_sure:  # the log shows more than this
            return await self._read(address, run_id, client)
        return with_updates(run, [LoggedEvent(position, event) for position, event in decided.events])

    async def _read(self, address: Address, run_id: str, client: EntityClient) -> Run:
        """Return the run as the log has it; a deletion that is under way is signalled for first."""
        head = await self._log.head(address)
        if head.state == "deleting":
            await self._signals.delete(address, client)
        run = await read_run(self._log, address, run_id, head)
        if run is None:
            raise UnknownRunError(f"There is no run {run_id[:80]!r} on thread {address.thread_id[:80]!r}.")
        if isinstance(run, DeletedRow) or isinstance(run.state, Gone):
            raise ThreadDeletedError(f"Run {run_id!r} was deleted with its thread.")
        return run
