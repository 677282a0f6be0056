"""Ends of runs whose webhooks are sent by processes over one store, by one clock, to receivers that hang at will."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.run_request import RunRequest
from hosting.errors import AttachmentsUnavailableError, EngineUnavailableError
from hosting.features.webhooks.client import Posted
from hosting.features.webhooks.delivery import HELD_SECONDS, WAITING_SECONDS, WEBHOOK_CLOCK, Delivery, WebhookOrder
from hosting.features.webhooks.feature import thread_data
from hosting.features.webhooks.rules import WebhookRules
from hosting.features.webhooks.webhooks import Webhooks
from hosting.names import StoreKey
from hosting.plan import AgentPlan
from hosting.ports import Clock, OrchestrationStatus, Purge
from tests.support.process import ADDRESS, AGENT, Engine, Process, call
from tests.support.receiver import GUARD_SECONDS

HANGS = "https://hangs.example/hook"


class Store(MemoryObjects):
    """A store in which nothing can be put below `away`."""

    away = ""

    async def put(self, store_key: StoreKey, objects: Mapping[str, bytes]) -> None:
        if self.away == store_key.space:
            raise AttachmentsUnavailableError
        await super().put(store_key, objects)


class ClockEngine(Engine):
    """An engine that has the clocks of deliveries, by the time of `now`."""

    def __init__(self, now: Clock) -> None:
        super().__init__()
        self._now = now
        self.sleeping: dict[str, tuple[float, dict[str, Any]]] = {}

    async def start(self, name: str, instance_id: str, given: Any) -> None:
        if self.is_away or instance_id in self.sleeping:
            raise EngineUnavailableError("The durable engine cannot be reached, or has this instance.")
        assert name == WEBHOOK_CLOCK
        self.sleeping[instance_id] = (self._now() + given["seconds"], given)

    async def status(self, instance_id: str) -> OrchestrationStatus | None:
        return OrchestrationStatus(instance_id, "Running", None, None) if instance_id in self.sleeping else None

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        """Send nothing: no clock listens."""

    async def terminate(self, instance_id: str) -> None:
        if self.sleeping.pop(instance_id, None) is None:
            raise EngineUnavailableError("There is no such instance.")

    async def purge(self, instance_id: str) -> Purge:
        return "running" if instance_id in self.sleeping else await super().purge(instance_id)

    async def wake(self, webhooks: Webhooks) -> int:
        due = {id_: given for id_, (wake_at, given) in self.sleeping.items() if wake_at <= self._now()}
        for instance_id, given in due.items():
            order = WebhookOrder.of(given)
            assert order is not None
            assert order.instance == instance_id
            sleep = await webhooks.deliver(order, self)
            if sleep is None:
                self.sleeping.pop(instance_id, None)
            else:
                self.sleeping[instance_id] = (self._now() + sleep.seconds, {**given, "tries": sleep.tries})
        return len(due)


class Yard:
    """Ends of runs, processes that send them by one clock, and receivers of which some hang while `gate` is closed."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.store = Store(lambda: self.now)
        self.engine = ClockEngine(lambda: self.now)
        self.process = Process(SharedMemory(), self.store, self.engine, keeps=thread_data)
        self.gate = asyncio.Event()
        self.answer = Posted(204)
        self.posts: list[str] = []
        self.at_work = self.most_at_work = 0

    async def end(self, url: str = HANGS) -> WebhookOrder:
        run = await self.process.start(replace(call(), request=RunRequest(message="hi", webhook=url)))
        await self.process.deliver(run.run_id)
        return WebhookOrder(ADDRESS, run.run_id, "request")

    def webhooks(self, prompt_seconds: float = 0.0) -> Webhooks:
        log, rules = self.process.log_at(lambda: self.now), WebhookRules((b"s" * 32,), ())
        made = Webhooks(log, self.process.stores, rules, poster=self.post, prompt_seconds=prompt_seconds)
        made.add(AgentPlan(AGENT, self.process.agent))  # type: ignore[arg-type]
        return made

    async def post(self, url: str, headers: dict[str, str], body: bytes, hosts: Sequence[str]) -> Posted:
        self.posts.append(headers["webhook-id"])
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        if url == HANGS:
            await self.gate.wait()
        self.at_work -= 1
        return self.answer

    def abandon(self) -> None:
        self.gate, self.at_work = asyncio.Event(), 0

    async def settle(self) -> None:
        for _ in range(30):
            await asyncio.sleep(0)

    async def deliver(self, order: WebhookOrder, webhooks: Webhooks | None = None) -> None:
        await (webhooks or self.webhooks()).deliver(order, self.engine)

    async def wake(self) -> int:
        return await self.engine.wake(self.webhooks())

    async def record(self, order: WebhookOrder) -> Delivery:
        found = await self.webhooks().deliveries.read(order, 0)
        assert found is not None
        return found

    async def until_taken(self, *orders: WebhookOrder) -> None:
        async def taken() -> None:
            for order in orders:
                while (await self.record(order)).state != "delivered":  # noqa: ASYNC110 - another process writes it
                    await asyncio.sleep(0)
            self.now += WAITING_SECONDS + HELD_SECONDS
            await self.wake()
            assert await self.left() == []

        await asyncio.wait_for(taken(), GUARD_SECONDS)

    async def left(self) -> list[str]:
        listed = await self.store.put_between("hub.not-taken", 0, self.now + 1)
        return [*self.engine.sleeping, *(key for _, key in listed)]
