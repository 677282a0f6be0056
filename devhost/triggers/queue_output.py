"""Queue outputs: one message, or one for each element of a list; a text that is JSON is written anew."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable

from azure.functions.meta import Datum

from devhost.triggers.connections import Account
from devhost.triggers.queue_listener import put


async def write_messages(account: Account, queue_name: str, datum: Datum, *, is_base64: bool) -> None:
    """Put what a function set into the queue, in order; raise `AzureError` at the first that is refused."""
    queue = account.queues.get_queue_client(queue_name.lower())
    for body in _messages(datum):
        await put(queue, base64.b64encode(body).decode() if is_base64 else body.decode("utf-8", "replace"))


def _messages(datum: Datum) -> Iterable[bytes]:
    if datum.type is None:
        return []
    if isinstance(datum.value, bytes):
        return [datum.value]
    text = str(datum.value)
    try:
        value = json.loads(text) if datum.type == "json" or text.lstrip()[:1] in ("{", "[") else text
    except ValueError:
        value = text
    return [_body(element) for element in (value if isinstance(value, list) else [value])]


def _body(value: object) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return text.encode("utf-8", "replace")
