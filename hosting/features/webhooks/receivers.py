"""A task's receivers, which its caller names by the task, before or while it works.

Theory. A task is made of runs, and whose receivers are to be notified of a run's end is not known when the run begins.
So its request has, instead of an address, which run began the task (`RunRequest.task_run`), and each delivery looks
here. What is kept lies beside the thread's attachments and goes with the thread, as records of deliveries do.

That the thread has a receiver is appended to its log before the receiver is kept: so each later end says that
somebody is to be notified, whichever process appends it, and the ends of other threads cost nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter

from hosting.core.request.fields import read_text
from hosting.core.thread.commands import Refused, SetReceiver
from hosting.core.thread.events import Terminal
from hosting.core.thread.run import Run
from hosting.core.thread_log import ThreadLog, epoch_store_key
from hosting.errors import InvalidFieldError
from hosting.features.webhooks.delivery import WebhookOrder
from hosting.features.webhooks.records import PUSH
from hosting.features.webhooks.rules import WebhookRules
from hosting.http.verbs import Receiver
from hosting.names import Address, is_id
from hosting.ports import EntityClient, ObjectStore

MOST_RECEIVERS = 10
"""How many receivers a task may have."""

_LONGEST_HEADER = 1024
"""How many characters a receiver's token has, and its credentials."""

_STORED = TypeAdapter(Receiver)


class ReceiverStore:
    """The receivers of the tasks of the app whose hub is `hub`; each method raises `AttachmentsUnavailableError`.

    A task is named by its thread in one of its lives, and the run that began it.
    """

    def __init__(self, attachments: ObjectStore, hub: str) -> None:
        self._attachments, self._hub = attachments, hub

    async def put(self, address: Address, epoch: int, begun_by: str, receiver: Receiver) -> None:
        """Store a receiver, replacing one of its id."""
        name = _names(begun_by) + _digest(receiver.id)
        await self._attachments.put(epoch_store_key(self._hub, address, epoch), {name: _STORED.dump_json(receiver)})

    async def of_task(self, address: Address, epoch: int, begun_by: str) -> dict[str, Receiver]:
        """Return the task's receivers by their ids, in the order in which they were named."""
        return {receiver.id: receiver for receiver in await self._begin(address, epoch, _names(begun_by))}

    async def of_thread(self, address: Address, epoch: int) -> tuple[Receiver, ...]:
        """Return those of all tasks of a thread."""
        return await self._begin(address, epoch, PUSH)

    async def _begin(self, address: Address, epoch: int, prefix: str) -> tuple[Receiver, ...]:
        """Return the receivers whose names begin so."""
        store_key = epoch_store_key(self._hub, address, epoch)
        names = await self._attachments.names(store_key, prefix)
        stored = await self._attachments.read(store_key, names) if names else {}
        return tuple(_STORED.validate_json(stored[name]) for name in names if name in stored)

    async def erase(self, address: Address, epoch: int, begun_by: str, receiver_id: str) -> None:
        """Remove a receiver."""
        name = _names(begun_by) + _digest(receiver_id)
        await self._attachments.erase(epoch_store_key(self._hub, address, epoch), [name])


class TaskReceivers:
    """The verbs of `NotifiesReceivers`. `update_of` is what receivers are sent of a run's end, once a protocol says."""

    update_of: Callable[[Run, Terminal], dict[str, Any]] | None = None

    def __init__(self, log: ThreadLog, store: ReceiverStore, rules: WebhookRules) -> None:
        self.store = store
        self._log, self._rules = log, rules

    def read(self, where: str, fields: Mapping[str, object]) -> Receiver:
        """Return the receiver that a request names; raises `InvalidFieldError`."""
        url = read_text(f"{where}url", fields["url"])
        if (refusal := self._rules.refusal(url)) is not None:
            raise InvalidFieldError(f"{where}url: {refusal}")
        name = read_text(f"{where}id", fields["id"])
        if name and not is_id(name):
            raise InvalidFieldError(f"{where}id is {name[:80]!r}. Send 1 to 64 of the characters A-Z a-z 0-9 . _ ~ -.")
        secrets = ("token", "authentication.scheme", "authentication.credentials")
        return Receiver(name, url, *(_header_text(where + secret, fields[secret]) for secret in secrets))

    async def of_task(self, address: Address, begun_by: str) -> Mapping[str, Receiver]:
        """Return the task's receivers by their ids, in the order in which they were named."""
        return await self.store.of_task(address, await self._epoch(address), begun_by)

    async def add(self, address: Address, begun_by: str, receiver: Receiver) -> None:
        """Have every later end of the task's runs delivered to a receiver too, which replaces one of its id.

        Raises `InvalidFieldError` for a task that has too many, `LogUnavailableError`, and `ThreadDeletingError` and
        `ThreadDeletedError` for a thread that is going.
        """
        epoch = await self._epoch(address)
        await self.announce(address, epoch)
        others = await self.store.of_task(address, epoch, begun_by)
        if receiver.id not in others and len(others) >= MOST_RECEIVERS:
            raise InvalidFieldError(f"The task has {MOST_RECEIVERS} receivers. Delete one first.")
        await self.store.put(address, epoch, begun_by, receiver)

    async def announce(self, address: Address, epoch: int) -> None:
        """Have the thread's log say from now on that its ends are to be delivered; raises as `add` does."""
        decided = await self._log.execute(address, SetReceiver(self._log.clocks.wall(), epoch))
        if isinstance(decided.outcome, Refused):
            raise decided.outcome.error

    async def notify(self, run: Run, client: EntityClient) -> None:
        """Have the end of a run delivered to the receivers of its task; raises `EngineUnavailableError`."""
        await WebhookOrder(run.address, run.run_id, "request").signal(client)

    async def remove(self, address: Address, begun_by: str, receiver_id: str) -> None:
        """Remove a receiver of the task."""
        await self.store.erase(address, await self._epoch(address), begun_by, receiver_id)

    async def _epoch(self, address: Address) -> int:
        return (await self._log.head(address)).epoch


def _header_text(where: str, value: object) -> str:
    """Return the value of a header; raises `InvalidFieldError`."""
    text = read_text(where, value)
    if len(text) > _LONGEST_HEADER or not text.isascii() or not text.isprintable() or text != text.strip():
        raise InvalidFieldError(f"{where} goes into a header. Send at most {_LONGEST_HEADER} visible ASCII characters.")
    return text


def _names(begun_by: str) -> str:
    """Return how the names of a task's receivers begin, and no other task's."""
    return f"{PUSH}{_digest(begun_by)}-"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
