"""One delivery of a run's end to one receiver, and how it changes. Pure: no store, no time.

Theory. What came of each try is a record, and the record counts. Whoever orders a try says how many tries it knows of.
An order that comes late, or twice, finds more of them, and no try is made.

A delivery that waits has a clock: an orchestration that sleeps until the next try and then orders it. The clock is
named by the number of tries before it was needed. So one that ends and the next one of the same delivery are two.

A process may hold a delivery for some time, while its receiver hangs or others are sent to first. Until then nobody
else sends it.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Any, Literal

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from hosting.core.hooks import ENTITY, key_of
from hosting.features.webhooks.client import INSIDE, NOT_ALLOWED, SECONDS, Posted
from hosting.features.webhooks.records import CLOCK_PREFIX, NEWS, PUSH
from hosting.names import Address, is_id
from hosting.ports import EntityClient

PAUSES = (30.0, 300.0, 1800.0, 7200.0, 18_000.0, 28_800.0, 28_800.0)
"""Seconds before each further try: the last comes after about a day."""

JITTER = 0.2
"""By up to so much of itself a pause is longer, another for each delivery: receivers that were away get no crowd."""

WAITING_SECONDS = 120.0
"""How long a delivery waits in a process for its turn."""

HELD_SECONDS = 2 * SECONDS
"""How long a process holds a delivery that it sends. Clocks of machines differ."""

GONE = 410
DeliveryState = Literal["waiting", "delivered", "dead"]


WEBHOOK_CLOCK = "agents_webhook"
"""The orchestration that is a delivery's clock."""

POST = "post"
FORGET = "forget"
"""The operations of the entity: to carry out an order, and to remove the clock that gave it and is over. A clock that
is started anew meanwhile gives orders: so it is removed under another key."""


class Sleep(Struct, frozen=True):
    """What the clock of a delivery does next: it sleeps for so long, and orders the try that comes after so many."""

    tries: int
    seconds: float


class WebhookOrder(Struct, frozen=True):
    """Which message is to be sent: of a run's end, to one receiver, after so many tries.

    `target` is "agent" or "request", whose webhook it is, `PUSH` with the id of one of the task's receivers, or `NEWS`
    with the id of what the agent's own receiver is sent besides. One that is ordered `again` is sent whatever came of
    it before. `clock` is the number of the clock that orders it.
    """

    address: Address
    run_id: str
    target: str
    tries: int = 0
    again: bool = False
    clock: int | None = None

    @property
    def name(self) -> str:
        """The delivery among those of its thread."""
        return f"{self.run_id}-{self.target}"

    @property
    def sender(self) -> str:
        """Who has it sent: an agent, or the owner who named the address."""
        return f"agent {self.address.agent}" if self.is_for_agent else f"owner {self.address.owner}"

    @property
    def is_for_agent(self) -> bool:
        """Whether the agent's own receiver gets it."""
        return self.target == "agent" or self.is_news

    @property
    def is_news(self) -> bool:
        """Whether it is about something else than the run's end."""
        return self.target.startswith(NEWS)

    def key(self, operation: str = POST) -> str:
        """Return the key of the entity that does that: the same for all of a run, and none that calls callbacks."""
        return f"{operation}-{key_of(self.run_id)}"

    @property
    def instance(self) -> str:
        """The id of the orchestration that is this clock. No route shows it: none of ours has this form."""
        named = f"{self.address.key}\n{self.run_id}\n{self.target}".encode()
        return f"{CLOCK_PREFIX}{hashlib.sha256(named).hexdigest()[:32]}!{self.clock or 0}"

    async def signal(self, client: EntityClient) -> None:
        """Have it sent; raises `EngineUnavailableError`."""
        await client.signal(ENTITY, self.key(), POST, self.fields())

    def fields(self) -> dict[str, Any]:
        """Return the order as messages carry it: names, and nothing of the receiver."""
        agent, thread_id = self.address.agent, self.address.entity[1]
        fields = {"agent": agent, "thread_id": thread_id, "run_id": self.run_id, "target": self.target}
        of_clock = {} if self.clock is None else {"clock": self.clock}
        return {**fields, "tries": self.tries, **({"again": True} if self.again else {}), **of_clock}

    @classmethod
    def of(cls, fields: Any) -> WebhookOrder | None:
        """Return the order with these fields, None for an invalid one."""
        match fields:
            case {
                "agent": str(agent),
                "thread_id": str(key),
                "run_id": str(run_id),
                "target": str(target),
                "tries": int(tries),
            } if is_target(target):
                again, clock = fields.get("again") is True, fields.get("clock")
                clock = clock if isinstance(clock, int) else None
                return cls(Address.of_entity(agent, key), run_id, target, tries, again, clock)
        return None


def is_target(text: str) -> bool:
    """Whether a delivery may be to that."""
    ids = [text.removeprefix(prefix) for prefix in (PUSH, NEWS) if text.startswith(prefix)]
    return text in ("agent", "request") or any(map(is_id, ids))


class _Record(BaseModel):
    """Fields of a newer version are written back unchanged."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Try(_Record):
    """One try, at seconds since 1970: the receiver's `status`, or why there was none."""

    at: float
    status: int | None = None
    problem: str | None = None


class Delivery(_Record):
    """The delivery of one run's end to one receiver. A `waiting` one is tried again, a `dead` one is not.

    Some process holds it until `held_until` (seconds since 1970). `clock` is the number of its latest clock.
    """

    run_id: str
    target: str
    event: str
    url: str
    state: DeliveryState = "waiting"
    tries: tuple[Try, ...] = ()
    held_until: float | None = None
    clock: int | None = None

    def is_held(self, now: float) -> bool:
        """Whether some process sends it, or is about to. One of a clock that was ahead is held by nobody."""
        left = 0.0 if self.held_until is None else self.held_until - now
        return 0.0 < left <= WAITING_SECONDS + HELD_SECONDS

    def takes(self, order: WebhookOrder, now: float) -> bool:
        """Whether the order is to be carried out now."""
        is_next = len(self.tries) == order.tries and (order.again or self.state == "waiting")
        return is_next and not self.is_held(now)

    def held(self, until: float) -> Delivery:
        """Return the delivery while a process holds it."""
        return self.model_copy(update={"state": "waiting", "held_until": until, "clock": self._clock})

    def after(self, posted: Posted, url: str, now: float) -> Delivery:
        """Return the delivery after a try that began `now`."""
        tries = (*self.tries, Try(at=now, status=posted.status, problem=posted.problem))
        state: DeliveryState = "waiting"
        if posted.status is not None and 200 <= posted.status < 300:
            state = "delivered"
        elif posted.status == GONE or posted.problem in (INSIDE, NOT_ALLOWED) or len(tries) > len(PAUSES):
            state = "dead"
        clock = self._clock if state == "waiting" else self.clock
        return self.model_copy(update={"url": url, "state": state, "tries": tries, "held_until": None, "clock": clock})

    @property
    def _clock(self) -> int:
        has_clock = self.state == "waiting" and self.clock is not None
        return self.clock if has_clock and self.clock is not None else len(self.tries)

    @property
    def next_at(self) -> float | None:
        """From when on it is tried next (seconds since 1970); None for one that is over."""
        if self.state != "waiting":
            return None
        return self.tries[-1].at + self._pause if self.held_until is None and self.tries else self.held_until

    def sleep(self, now: float) -> Sleep | None:
        """Return what its clock does next; None for one that is over. Whatever clock wrote it, a pause is a pause."""
        if (next_at := self.next_at) is None:
            return None
        left = next_at - now
        return Sleep(len(self.tries), left if self.is_held(now) else min(max(left, 0.0), self._pause))

    @property
    def _pause(self) -> float:
        pause = PAUSES[min(max(len(self.tries), 1), len(PAUSES)) - 1]
        return pause * (1 + JITTER * (zlib.crc32(f"{self.run_id}-{self.target}".encode()) % 1000) / 1000)
