"""Questions with a default answer: answered by that at their time, whether anybody reads the thread then or not.

Theory. The entity signals with the commit that applies the end of the run that asks, so the engine holds from then on
that the run is to be seen to. Its clock is one orchestration: it sleeps until the first default is due, has the entity
answer what is due, and sleeps on while more is to come. A default is an answer like a person's: the first one counts,
and whoever comes twice with the last one finds the run that goes on. So it does not matter how often a clock rings.

A record of the clock lies beside the thread's attachments, for as long as the clock is there: a deletion of the thread
ends the clock by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from hosting.core.agent.held_run import read_run
from hosting.core.clocks import purge_clock, start_clock
from hosting.core.hooks import ENTITY, Signal, ThreadData, key_of
from hosting.core.stores.stores import Stores
from hosting.core.thread.events import Completed, Terminal
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Answering, Decision, PendingApproval
from hosting.core.thread_log import ThreadLog, epoch_store_key
from hosting.errors import (
    ApprovalAnsweredError,
    ApprovalExpiredError,
    EngineUnavailableError,
    InvalidFieldError,
    ThreadDeletedError,
    ThreadDeletingError,
    UnknownApprovalError,
)
from hosting.feature import EntityOperation, Orchestration, OrchestrationContext
from hosting.features.approvals.approvals import Approvals
from hosting.names import Address
from hosting.ports import ClockClient, utc
from hosting.principal import Caller

CLOCK = "agents_pause"
"""The orchestration that is the clock of a run's defaults. Stored, as are the operations."""
WAIT, DUE, FORGET = "pause_wait", "pause_due", "pause_forget"
"""The operations: to start a run's clock, to answer what is due, and to remove a clock that is over."""
RECORD, CLOCK_PREFIX = "pause-", "pause!"
"""How the names of records begin, and the ids of clocks. Stored too."""
AGAIN_SECONDS = 30.0
"""After this a clock asks again where its entity could not answer."""
LEAST_SECONDS = 1.0
"""A clock sleeps at least so long before it asks again."""
_FOR_EVER = 1e11
_TOO_LATE = (
    ApprovalAnsweredError,
    ApprovalExpiredError,
    ThreadDeletedError,
    ThreadDeletingError,
    UnknownApprovalError,
)


class AskingRun(Struct, frozen=True):
    """A run that ended with questions that have defaults."""

    address: Address
    run_id: str

    @classmethod
    def of(cls, fields: Any) -> AskingRun:
        """Return the pause that `fields` names; raises `InvalidFieldError` for other values."""
        match fields:
            case {"agent": str(agent), "thread_id": str(key), "run_id": str(run_id)}:
                return cls(Address.of_entity(agent, key), run_id)
        raise InvalidFieldError("The operations of pauses take 'agent', 'thread_id' and 'run_id'.")

    def fields(self) -> dict[str, str]:
        """Return it as messages and records carry it."""
        return {"agent": self.address.agent, "thread_id": self.address.entity[1], "run_id": self.run_id}

    def key(self, operation: str) -> str:
        """Return the key of the entity that does that: what is under way holds up neither webhooks nor callbacks."""
        return f"{operation}-{key_of(self.run_id)}"

    @property
    def instance(self) -> str:
        """The id of its clock. No route shows it."""
        named = f"{self.address.key}\n{self.run_id}".encode()
        return f"{CLOCK_PREFIX}{hashlib.sha256(named).hexdigest()[:32]}"


class Deadlines:
    """Answers questions by their defaults, in time."""

    def __init__(self, log: ThreadLog, stores: Stores, approvals: Approvals) -> None:
        self._log = log
        self._stores = stores
        self._approvals = approvals

    def signals(self, address: Address, ended: Sequence[Terminal]) -> list[Signal]:
        """Return what has the clocks of these ends start."""
        pauses = [AskingRun(address, end.run_id) for end in ended if isinstance(end, Completed) and _with_default(end)]
        return [Signal(ENTITY, pause.key(WAIT), WAIT, pause.fields()) for pause in pauses]

    def durable(self) -> Sequence[Orchestration | EntityOperation]:
        """Return the clock and what it has done."""
        return (
            Orchestration(CLOCK, _sleep),
            EntityOperation(WAIT, self._wait),
            EntityOperation(DUE, self._due),
            EntityOperation(FORGET, self._forget),
        )

    def thread_data(self) -> ThreadData:
        """Return the records of clocks. A thread that goes takes its clocks with it."""

        async def export(address: Address, epoch: int) -> Mapping[str, Any]:
            return {}

        async def erase(address: Address, epoch: int) -> None:
            return None

        return ThreadData(
            prefixes=(RECORD,),
            keeps_seconds=_FOR_EVER,
            members={},
            export=export,
            counts={},
            erase=erase,
            clocks=self._clocks,
            clock_prefix=CLOCK_PREFIX,
        )

    async def _clocks(self, address: Address, epoch: int) -> Sequence[str]:
        names = await self._stores.attachments.names(epoch_store_key(self._stores.hub, address, epoch), RECORD)
        return [AskingRun(address, name.removeprefix(RECORD)).instance for name in names]

    async def _wait(self, fields: Any, client: ClockClient) -> None:
        """Start the clock of a run, if anything of it waits still. The record comes first: no clock is without one."""
        pause = AskingRun.of(fields)
        run = await read_run(self._log, pause.address, pause.run_id)
        if not isinstance(run, Run) or (next_at := _next_at(run)) is None:
            return
        store_key = epoch_store_key(self._stores.hub, pause.address, run.epoch)
        await self._stores.attachments.put(store_key, {RECORD + pause.run_id: b"{}"})
        await start_clock(CLOCK, pause.instance, {**pause.fields(), "wake_at": utc(next_at)}, client)

    async def _due(self, fields: Any, client: ClockClient) -> str | None:
        """Answer what is due, and return the time at which there is more; None where nothing is to come."""
        pause = AskingRun.of(fields)
        run = await read_run(self._log, pause.address, pause.run_id)
        if not isinstance(run, Run):
            return None
        caller = Caller(client, run.accepted.principal, pause.address.owner, run.accepted.grant)
        now = self._log.clocks.wall()
        for approval in _open(run):
            if approval.expires_at is not None and approval.expires_at <= now:
                decision = Decision(id=approval.id, approved=True, value=approval.default, default=True)
                try:
                    await self._approvals.answer(pause.address, Answering(decision, caller, waits=False))
                except _TOO_LATE:
                    continue
        next_at = _next_at(run, after=now)
        return None if next_at is None else utc(next_at)

    async def _forget(self, fields: Any, client: ClockClient) -> None:
        pause = AskingRun.of(fields)
        if await purge_clock(pause.instance, client) == "running":
            raise EngineUnavailableError(f"Instance {pause.instance} has not ended yet.")
        head = await self._log.head(pause.address)
        store_key = epoch_store_key(self._stores.hub, pause.address, head.epoch)
        await self._stores.attachments.erase(store_key, [RECORD + pause.run_id])


def _with_default(end: Completed) -> bool:
    return any(approval.default is not None for approval in end.approvals)


def _next_at(run: Run, after: float = 0.0) -> float | None:
    """Return when the next default is due of what nobody has answered; None without one."""
    ends = [one.expires_at for one in run.undecided if one.default is not None and one.expires_at is not None]
    return min((end for end in ends if end > after), default=None)


def _open(run: Run) -> list[PendingApproval]:
    """Return the questions of a run with a default and without a person's answer.

    One that has its default already is among them: whoever gave it may have died before the run that goes on had its
    signal, and giving it again sends that.
    """
    answered = {answer.decision.id for answer in run.answers if not answer.decision.default}
    return [one for one in run.requested_approvals if one.default is not None and one.id not in answered]


def _sleep(context: OrchestrationContext) -> Generator[Any, Any, None]:
    """Sleep, have the entity answer what is due, and begin anew or have the clock removed.

    Whichever version of the app runs then replays this, so it decides nothing. It sleeps until a time and not for one:
    the engine may begin it late, and the default is not late for that.
    """
    given = context.get_input()
    pause = AskingRun.of(given)
    yield context.create_timer(datetime.fromisoformat(given["wake_at"]))
    now = context.current_utc_datetime.timestamp()
    try:
        wake_at = yield context.call_entity(pause.key(DUE), DUE, pause.fields())
    except Exception:  # the entity ran out of the platform's time
        wake_at = utc(now + AGAIN_SECONDS)
    if wake_at is None:
        context.signal_entity(pause.key(FORGET), FORGET, pause.fields())
    else:  # the engine's clock may be ahead of the entity's
        context.continue_as_new({**given, "wake_at": max(str(wake_at), utc(now + LEAST_SECONDS))})
