"""The entity that calls an agent's callback, and its webhooks, for the end of each run, at least once.

Theory. The entity sends a signal with the same commit that applies a run's end to its document; so the engine holds
which calls are still to be made, through any crash, whoever ended the run, and a turn without callbacks has nothing to
do with it. The signal names the run and nothing else: the callback gets what the thread's log has, and is not called
for a run that was deleted. It is received by an entity without state under one of a few keys, so callbacks that hang
hold no more than so many of the host's executions and no run's; webhooks have other keys. A callback that failed was
called; one that could not be is delivered again. A webhook that was not taken is ordered again by its clock
(`core.delivery`), whose last step has its own instance removed here.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict

from hosting.core.agent.callbacks import AgentCallbackContext, Callback, CallbackCalls, CallOutcome, Listeners
from hosting.core.agent.held_run import read_run
from hosting.core.clocks import purge_clock
from hosting.core.delivery import ENTITY, FORGET, KEYS, POST, WebhookOrder
from hosting.core.entity.batch import Done, Operation, RefusedOperation, Signal, parse_batch, write_answer
from hosting.core.outcome import run_error
from hosting.core.thread.events import Completed, Terminal
from hosting.core.thread.run import Ended, Run
from hosting.core.thread_log import ThreadLog
from hosting.core.webhooks import Webhooks
from hosting.errors import EngineUnavailableError
from hosting.names import Address
from hosting.ports import ClockClient
from state.convert import agent_response
from state.models import ResponseEntry

logger = logging.getLogger(__name__)

OPERATION = "call"


class CallbacksBusyError(Exception):
    """No callback can be begun in this process at present: the delivery is given back to the host."""


def callback_signal(address: Address, run_id: str) -> Signal:
    """Return the signal that has the callback called for a run's end."""
    order = {"agent": address.agent, "thread_id": address.entity[1], "run_id": run_id}
    return Signal(ENTITY, str(zlib.crc32(run_id.encode()) % KEYS), OPERATION, order)


def webhook_signal(order: WebhookOrder) -> Signal:
    """Return the signal that has a webhook tried."""
    return Signal(ENTITY, order.key(), POST, order.fields())


class CallbackEntity:
    """The entity `agent-callbacks`."""

    def __init__(
        self,
        calls: CallbackCalls,
        listeners: Listeners,
        log: ThreadLog,
        webhooks: Webhooks | None = None,
        turn: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`turn` is entered for each batch, and may raise to have it delivered again."""
        self._calls = calls
        self._listeners = listeners
        self._log = log
        self._webhooks = webhooks
        self._turn = turn

    async def handle(self, payload: str, client: ClockClient) -> str:
        """Answer one batch of the host. Raises only to have it delivered again."""
        with self._turn():
            started_at = self._log.clocks.wall()
            results = [await self._operate(operation, client) for operation in parse_batch(payload).operations]
            return write_answer(None, results, started_at)

    async def _operate(self, operation: Operation, client: ClockClient) -> Done | RefusedOperation:
        name, value = operation.name.lower(), operation.value
        if name in (POST, FORGET) and self._webhooks is not None:
            order = WebhookOrder.of(value)
            if order is None:
                return RefusedOperation(f"The operation {name!r} takes an order as `WebhookOrder` writes it.")
            if name == POST:
                sleep = await self._webhooks.deliver(order, client)
                return Done(None if sleep is None else asdict(sleep))
            if await purge_clock(order.instance, client) == "running":
                raise EngineUnavailableError(f"Instance {order.instance} has not ended yet.")
            return Done()
        named = [value.get(name) for name in ("agent", "thread_id", "run_id")] if isinstance(value, dict) else []
        agent, thread_id, run_id = named or (None, None, None)
        is_order = isinstance(agent, str) and isinstance(thread_id, str) and isinstance(run_id, str)
        if name != OPERATION or not is_order:
            return RefusedOperation(
                f"The operation here is {OPERATION!r}, which takes 'agent', 'thread_id' and 'run_id'."
            )
        run = await read_run(self._log, Address.of_entity(str(agent), str(thread_id)), str(run_id))
        if isinstance(run, Run) and isinstance(run.state, Ended):
            await self._notify(run, run.state.end)
        return Done()

    async def _notify(self, run: Run, terminal: Terminal) -> None:
        await self._listeners.end(run.run_id)
        methods = self._listeners.of(run.accepted.agent)
        if methods is None:
            return
        context = AgentCallbackContext.of(run)
        if not isinstance(terminal, Completed):
            await self._call(methods.failure, run_error(terminal), context)
        elif methods.response is not None and isinstance(terminal.response, ResponseEntry):
            await self._call(methods.response, agent_response(terminal.response), context)

    async def _call(self, callback: Callback | None, value: object, context: AgentCallbackContext) -> None:
        if callback is not None and await self._calls.call(callback, value, context) is CallOutcome.NOT_BEGUN:
            raise CallbacksBusyError(f"No callback can be started for run {context.run_id}.")
