"""Queue triggers: what a function is given of a message, and of the members of a JSON body."""

from __future__ import annotations

import json
import logging
import uuid
from datetime import UTC, datetime

from azure.functions.meta import Datum

from devhost.converters import decode_datum
from devhost.index import Function
from devhost.invoke import Invoker
from devhost.ports import FunctionFailedError
from devhost.triggers.paths import TriggerData
from devhost.triggers.queue_listener import Delivery

logger = logging.getLogger(__name__)


async def call_with_message(function: Function, invoker: Invoker, delivery: Delivery) -> bool:
    """Call a function of a queue trigger; return whether it succeeded, its outputs included."""
    invocation_id = str(uuid.uuid4())
    members = trigger_data(delivery)
    try:
        value = decode_datum(function.input_converter, Datum(delivery.body, "string"), members)
    except FunctionFailedError as error:
        logger.error("Function '%s' cannot be given the message %s: %s", function.name, delivery.id, error.message)
        return False
    try:
        await invoker.call(function, value, invocation_id, members)
    except FunctionFailedError:
        return False
    return True


def trigger_data(delivery: Delivery) -> TriggerData:
    """Return the message's metadata. Members of a JSON body take the place of those that are named so."""
    members: dict[str, Datum] = {
        "Id": Datum(delivery.id, "string"),
        "PopReceipt": Datum(delivery.pop_receipt, "string"),
        "QueueTrigger": Datum(delivery.body, "string"),
        "DequeueCount": Datum(json.dumps(delivery.dequeue_count), "json"),
        "InsertionTime": _moment(delivery.inserted),
        "ExpirationTime": _moment(delivery.expires),
        "NextVisibleTime": _moment(delivery.next_visible),
    }
    spelled = {name.lower(): name for name in members}
    for name, datum in json_members(delivery.body).items():
        members[spelled.setdefault(name.lower(), name)] = datum
    return members


def json_members(body: str) -> TriggerData:
    """Return the members of a JSON object: plain values as texts, objects as JSON, arrays and nulls not at all."""
    try:
        content = json.loads(body, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return {}
    members = {}
    for name, value in content.items() if isinstance(content, dict) else ():
        if isinstance(value, dict):
            # As it was written, numbers included.
            members[name] = Datum(json.dumps(json.loads(body)[name], ensure_ascii=False), "json")
        elif isinstance(value, (str, bool)):
            members[name] = Datum(str(value), "string")
    return members


def _moment(moment: datetime) -> Datum:
    whole = moment.astimezone(UTC).replace(microsecond=0)
    return Datum(json.dumps(whole.isoformat()), "json")
