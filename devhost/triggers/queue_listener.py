"""One queue that is polled, as the real host does it, whatever its messages are for.

A message is hidden for ten minutes while it is worked on, and again for ten at half of that; so a host that is killed
loses none, and another host begins it later. It is deleted once it is done. A failed one is shown again, and moved to
the poison queue after its last try: put there first and deleted then, so that a kill between the two doubles it and
does not lose it. A message that was begun too often is moved without another try.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import AzureError, ResourceExistsError, ResourceNotFoundError

from devhost.durable.clock import Clock, sleep
from devhost.triggers.connections import reason
from devhost.triggers.queue_settings import HIDDEN_SECONDS, QueueSettings

if TYPE_CHECKING:
    from azure.storage.queue import QueueMessage
    from azure.storage.queue.aio import QueueClient

logger = logging.getLogger(__name__)
_SHORTEST_PAUSE_SECONDS = 0.1
_CHANCE = (0.8, 1.2)


@dataclass
class Delivery:
    """One delivery of a message: its `content` as it stands in the queue, and its `body`, once that is decoded.

    `pop_receipt` is the right to change it, which each change replaces; `changing` lets one change be made at a time.
    """

    id: str
    content: str
    dequeue_count: int
    inserted: datetime
    expires: datetime
    next_visible: datetime
    pop_receipt: str
    body: str = ""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def of(cls, message: QueueMessage) -> Delivery:
        """Return the delivery that a poll brought."""
        members: Any = message  # typed as if the service left some of them out
        return cls(
            id=members.id,
            content=str(members.content or ""),
            dequeue_count=members.dequeue_count,
            inserted=members.inserted_on,
            expires=members.expires_on,
            next_visible=members.next_visible_on,
            pop_receipt=members.pop_receipt,
        )


Handle = Callable[[Delivery], Awaitable[bool]]
"""Works on a delivery and says whether that succeeded; it raises nothing."""


class Pauses:
    """The pause after a poll: short after a message, then doubling, with some chance in it, up to the longest."""

    def __init__(self, longest_seconds: float) -> None:
        self._longest_seconds = longest_seconds
        self._empty = 0
        self._is_longest = False

    def after(self, *, had_messages: bool) -> float:
        """Return the seconds until the next poll of a queue that is empty now, and `had_messages` since the last."""
        if had_messages:
            self._empty, self._is_longest = 0, False
            return _SHORTEST_PAUSE_SECONDS
        doubled = _SHORTEST_PAUSE_SECONDS * (1 + 2.0**self._empty * random.uniform(*_CHANCE))
        self._empty += 1
        self._is_longest = self._is_longest or doubled >= self._longest_seconds
        return self._longest_seconds if self._is_longest else doubled


class QueueListener:
    """Polls one queue until it is stopped."""

    def __init__(
        self, queue: QueueClient, poison: QueueClient, settings: QueueSettings, handle: Handle, clock: Clock
    ) -> None:
        self._queue = queue
        self._poison = poison
        self._settings = settings
        self._handle = handle
        self._clock = clock
        self._pauses = Pauses(settings.longest_pause_seconds)
        self._is_stopping = False
        self._is_away = False
        self._over = asyncio.Event()
        self._working: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Poll and work; return once it is stopped."""
        had_messages = False
        while not self._is_stopping:
            deliveries = await self._receive()
            for delivery in deliveries:
                self._working.add(task := asyncio.create_task(self._work(delivery)))
                task.add_done_callback(self._working.discard)
            if deliveries:
                had_messages = True
                await self._await_room()
            else:
                await self._rest(self._pauses.after(had_messages=had_messages))
                had_messages = False

    def wake(self) -> None:
        """Poll at once."""
        self._over.set()

    async def stop(self, grace_seconds: float) -> None:
        """Poll no more, and give what is worked on so long to end; the rest comes again once it is visible."""
        self._is_stopping = True
        self._over.set()
        if self._working:
            _, late = await asyncio.wait(self._working, timeout=grace_seconds)
            for task in late:
                task.cancel()

    async def _rest(self, seconds: float) -> None:
        alarm = self._clock.call_later(seconds, self._over.set)
        await self._over.wait()
        alarm.cancel()
        self._over.clear()

    async def _await_room(self) -> None:
        """Return when so few messages are worked on that the next batch is fetched."""
        while len(self._working) > self._settings.new_batch_threshold and not self._is_stopping:
            await asyncio.wait(self._working, return_when=asyncio.FIRST_COMPLETED)

    async def _receive(self) -> list[Delivery]:
        """Return the next batch; none while the queue is missing, or the storage away."""
        pages = self._queue.receive_messages(
            messages_per_page=self._settings.batch_size, visibility_timeout=HIDDEN_SECONDS
        ).by_page()
        deliveries: list[Delivery] = []
        try:
            async for page in pages:
                deliveries = [Delivery.of(message) async for message in page]
                break
        except ResourceNotFoundError:
            pass
        except AzureError as error:
            if not self._is_away:
                logger.warning("The queue '%s' cannot be polled: %s", self._queue.queue_name, reason(error))
            self._is_away = True
            return []
        self._is_away = False
        return deliveries

    async def _work(self, delivery: Delivery) -> None:
        renewal = asyncio.create_task(self._keep_hidden(delivery))
        try:
            end = await self._outcome(delivery)
        finally:
            async with delivery.changing:
                renewal.cancel()
        try:
            await end(delivery)
        except AzureError as error:
            logger.warning(
                "The message %s of the queue '%s' will come again, because its end could not be written: %s",
                delivery.id,
                self._queue.queue_name,
                reason(error),
            )

    async def _outcome(self, delivery: Delivery) -> Callable[[Delivery], Awaitable[None]]:
        """Work on the message and return what is done with it then."""
        body, most = self._decoded(delivery), self._settings.max_dequeue_count
        if body is None or delivery.dequeue_count > most:
            return self._move_to_poison
        if await self._succeeds(delivery, body):
            return self._delete
        return self._move_to_poison if delivery.dequeue_count == most else self._show_again

    def _decoded(self, delivery: Delivery) -> bytes | None:
        """Return the body's bytes, None when it is not encoded as host.json says."""
        if not self._settings.is_base64:
            return delivery.content.encode()
        try:
            return base64.b64decode(delivery.content, validate=True)
        except ValueError:
            logger.warning(
                "Message decoding has failed: the message %s of the queue '%s' is not base64, and is moved to '%s'. "
                "Send base64, or set extensions.queues.messageEncoding to none in host.json.",
                delivery.id,
                self._queue.queue_name,
                self._poison.queue_name,
            )
            return None

    async def _succeeds(self, delivery: Delivery, body: bytes) -> bool:
        try:
            delivery.body = body.decode()
            return await self._handle(delivery)
        except UnicodeDecodeError:
            logger.error("The message %s of '%s' is not UTF-8 text.", delivery.id, self._queue.queue_name)
        except Exception:
            logger.exception("The message %s of '%s' failed.", delivery.id, self._queue.queue_name)
        return False

    async def _keep_hidden(self, delivery: Delivery) -> None:
        """Hide the message anew at half of its time, for as long as it is worked on."""
        while True:
            await sleep(self._clock, HIDDEN_SECONDS / 2)
            try:
                async with delivery.changing:
                    await self._hide(delivery, HIDDEN_SECONDS)
            except AzureError as error:
                logger.warning("The message %s may come twice, it was not hidden anew: %s", delivery.id, reason(error))

    async def _hide(self, delivery: Delivery, seconds: int) -> None:
        updated = await self._queue.update_message(delivery.id, delivery.pop_receipt, visibility_timeout=seconds)
        delivery.pop_receipt = updated.pop_receipt or delivery.pop_receipt

    async def _delete(self, delivery: Delivery) -> None:
        await self._queue.delete_message(delivery.id, delivery.pop_receipt)

    async def _show_again(self, delivery: Delivery) -> None:
        await self._hide(delivery, self._settings.visibility_seconds)

    async def _move_to_poison(self, delivery: Delivery) -> None:
        await put(self._poison, delivery.content)
        await self._delete(delivery)
        logger.warning(
            "The message %s of the queue '%s' was moved to '%s'.",
            delivery.id,
            self._queue.queue_name,
            self._poison.queue_name,
        )


async def put(queue: QueueClient, text: str) -> None:
    """Put one message, encoded already, into a queue that is made if there is none."""
    try:
        await queue.send_message(text)
    except ResourceNotFoundError:
        with suppress(ResourceExistsError):
            await queue.create_queue()
        await queue.send_message(text)
