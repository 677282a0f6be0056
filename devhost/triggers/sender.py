"""Delivers messages that are sent by hand to triggers of services that no laptop has."""

from __future__ import annotations

import asyncio
import logging
import uuid

from devhost.bindings import SentTrigger
from devhost.converters import decode_datum
from devhost.index import Function
from devhost.invoke import Invoker
from devhost.ports import FunctionFailedError
from devhost.triggers import cosmos_db, event_grid, event_hubs, service_bus
from devhost.triggers.sent_message import SendError, SentMessage, TriggerValue

logger = logging.getLogger(__name__)


class Sender:
    """Calls functions with messages; each message once, whatever becomes of it."""

    def __init__(self, invoker: Invoker) -> None:
        self._invoker = invoker
        self._deliveries: set[asyncio.Task[None]] = set()

    def send(self, function: Function, trigger: SentTrigger, message: SentMessage) -> None:
        """Begin to deliver; raise `SendError` for what the binding never brings."""
        value = _value(function, trigger, message)
        try:
            argument = decode_datum(function.input_converter, value.datum, value.members)
        except FunctionFailedError as error:
            raise SendError(f"The SDK makes no message of it: {error.message}.") from error
        self._deliveries.add(task := asyncio.create_task(self._deliver(function, argument, value)))
        task.add_done_callback(self._deliveries.discard)

    async def stop(self, grace_seconds: float) -> None:
        """Give running deliveries so long to end."""
        if self._deliveries:
            _, late = await asyncio.wait(self._deliveries, timeout=grace_seconds)
            for task in late:
                task.cancel()

    async def _deliver(self, function: Function, argument: object, value: TriggerValue) -> None:
        try:
            await self._invoker.call(function, argument, str(uuid.uuid4()), value.members)
        except FunctionFailedError:
            logger.warning(
                "The message for '%s' failed. On Azure its service delivers it again; here, send it again.",
                function.name,
            )
        else:
            logger.info("Function '%s' took the message that was sent.", function.name)


def _value(function: Function, trigger: SentTrigger, message: SentMessage) -> TriggerValue:
    if message.session is not None and trigger.type != "servicebustrigger":
        raise SendError(f"The trigger {function.trigger_type} has no sessions. Leave --session out.")
    match trigger.type:
        case "servicebustrigger":
            return service_bus.value_of(message, many=trigger.takes_many, needs_session=trigger.has_sessions)
        case "eventgridtrigger":
            return event_grid.value_of(message)
        case "eventhubtrigger":
            return event_hubs.value_of(message, many=trigger.takes_many)
        case _:
            return cosmos_db.value_of(message)
