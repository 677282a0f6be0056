"""The end of a run, told to its agent's callback at least once.

Theory. The entity that ends a run sends a signal with the same commit that makes the run part of its thread; so the
engine holds what is still to be told, through any crash, and a turn without callbacks has nothing to do with it. The
signal names the run and nothing else: what is told is in the run's log, and of a run that was deleted nothing is. It is
received by an entity without state under one of a few keys, so callbacks that hang hold no more than so many of the
host's places and no run's. A callback that failed was called; one that could not be is delivered again.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from hosting.callback.callback_calls import CallbackCalls, Called
from hosting.callback.listeners import Listeners
from hosting.callback.protocol import AgentCallbackContext, Callback
from hosting.entity.entity_batch import Done, Operation, Refused, Signal, parse_batch, write_answer
from hosting.identity import is_id
from hosting.ports import Clock
from hosting.reply.run_replies import run_error
from hosting.run_record import RunRecord
from hosting.runlog.log import RunLog
from hosting.thread.events import Completed, Terminal
from state.convert import agent_response
from state.models import ResponseEntry

logger = logging.getLogger(__name__)

ENTITY = "agent-callbacks"
OPERATION = "call"
KEYS = 32
"""How many callbacks may be called at one time in all processes together."""


class CallbacksBusyError(Exception):
    """No callback can be begun in this process at present: the delivery is given back to the host."""


def notice(run_id: str) -> Signal:
    """Return the signal that has a run's end told."""
    return Signal(ENTITY, str(zlib.crc32(run_id.encode()) % KEYS), OPERATION, {"run_id": run_id})


class NoticeEntity:
    """The entity `agent-callbacks`."""

    def __init__(
        self,
        calls: CallbackCalls,
        listeners: Listeners,
        log: RunLog,
        clock: Clock,
        turn: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`turn` is entered for each batch, and may raise to have it delivered again."""
        self._calls = calls
        self._listeners = listeners
        self._log = log
        self._clock = clock
        self._turn = turn

    async def handle(self, payload: str) -> str:
        """Answer one batch of the host. Raises only to have it delivered again."""
        with self._turn():
            started_at = self._clock()
            results = [await self._operate(operation) for operation in parse_batch(payload).operations]
            return write_answer(None, results, started_at)

    async def _operate(self, operation: Operation) -> Done | Refused:
        run_id = operation.value.get("run_id") if isinstance(operation.value, dict) else None
        if operation.name.lower() != OPERATION or not isinstance(run_id, str) or not is_id(run_id):
            return Refused(f"The one operation here is {OPERATION!r}, which takes an object with a 'run_id'.")
        record = await self._ended(run_id)
        if record is not None and record.terminal is not None:
            await self._tell(record, record.terminal)
        return Done()

    async def _ended(self, run_id: str) -> RunRecord | None:
        """Return the run; a log that lacks the end gets it from the conversation, and then there is another notice."""
        known = self._log.known(run_id)
        if known is not None and known.terminal is not None:
            return known
        return await self._log.kept(run_id)

    async def _tell(self, record: RunRecord, terminal: Terminal) -> None:
        await self._listeners.end(record.run_id)
        methods = self._listeners.of(record.accepted.agent)
        if methods is None:
            return
        context = AgentCallbackContext.of(record.accepted)
        if not isinstance(terminal, Completed):
            await self._call(methods.failure, run_error(terminal), context)
        elif methods.response is not None and isinstance(terminal.response, ResponseEntry):
            await self._call(methods.response, agent_response(terminal.response), context)

    async def _call(self, callback: Callback | None, said: object, context: AgentCallbackContext) -> None:
        if callback is not None and await self._calls.call(callback, said, context) is Called.NOT_BEGUN:
            raise CallbacksBusyError(f"No callback can be begun for run {context.run_id}.")
