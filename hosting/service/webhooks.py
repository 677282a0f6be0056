"""The webhooks of an app: who is notified of a run's end, of what, and again until they take it.

Theory. The entity signals with the commit that applies a run's end, as for callbacks, so the engine holds that it is
still to be sent, through any crash. The message is made of the thread's log at each try, and is the same bytes each
time: a receiver knows a repeat by `webhook-id`, which is made of run and event. Of a run that went with its thread
nobody is notified.

What came of the tries is a record of the delivery (`service.deliveries`). One that is to be tried again has a note
besides, among the notes of the whole app, under the number of its tries: stores list notes by their time, and nothing
else finds what is due. The record is put first, and counts. A signal names the number of tries that it was sent after,
and one that comes late, or twice, finds more of them and changes nothing but what stands elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import logging
import zlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from hosting.names import Address, StoreKey
from hosting.plan import AgentPlan
from hosting.ports import ObjectStore, utc
from hosting.runner.held_run import read_run
from hosting.runner.thread_log import ThreadLog
from hosting.service.deliveries import PUSH, Deliveries, Delivery, DeliveryState, Try, WebhookOrder
from hosting.service.outcome import status_of
from hosting.service.push_configs import PushConfig, PushConfigs
from hosting.service.webhook_client import INSIDE, Posted, post
from hosting.thread.commands import Refused, SetReceiver
from hosting.thread.events import Completed, Terminal
from hosting.thread.run import Run
from hosting.webhooks import WebhookRules, begun_by

logger = logging.getLogger(__name__)

PAUSES = (30.0, 300.0, 1800.0, 7200.0, 18_000.0, 28_800.0, 28_800.0)
"""Seconds before each further try: the last comes after about a day."""

JITTER = 0.2
"""By up to so much of itself a pause is longer, another for each delivery: receivers that were away get no crowd."""

GONE = 410
MOST_AT_ONCE = 1000
"""Deliveries that one look finds due; the next one finds the others."""

REMEMBERED_SECONDS = 600.0
"""For so long a process does not signal again what it has signalled."""

_NOTE = "order"

Poster = Callable[[str, dict[str, str], bytes, Sequence[str]], Awaitable[Posted]]


class Webhooks:
    """The webhooks of one app, for one event loop.

    `task_update` is what a task's receivers are sent, in the protocol's form; None in an app that serves no protocol
    with such receivers.
    """

    def __init__(
        self,
        log: ThreadLog,
        attachments: ObjectStore,
        hub: str,
        rules: WebhookRules,
        *,
        route_prefix: str = "api",
        poster: Poster = post,
    ) -> None:
        self.rules = rules
        self.deliveries = Deliveries(attachments, hub)
        self.pushes = PushConfigs(attachments, hub)
        self.task_update: Callable[[Run, Terminal], dict[str, Any]] | None = None
        self._log = log
        self._attachments = attachments
        self._hub = hub
        self._route_prefix = route_prefix
        self._post = poster
        self._agents: dict[str, AgentPlan] = {}
        self._signalled: dict[str, float] = {}

    def add(self, planned: AgentPlan) -> None:
        """Take an agent, or a workflow, whose runs may have webhooks."""
        self._agents[planned.name.lower()] = planned

    def orders(self, address: Address, ended: Iterable[Terminal]) -> list[WebhookOrder]:
        """Return what is to be sent of these ends."""
        planned = self._agents.get(address.agent)
        orders = list[WebhookOrder]()
        for terminal in ended:
            if planned is not None and planned.webhook is not None:
                orders.append(WebhookOrder(address, terminal.run_id, "agent"))
            if terminal.notifies:
                orders.append(WebhookOrder(address, terminal.run_id, "request"))
        return orders

    async def set_receiver(self, address: Address, epoch: int) -> None:
        """Have every later end of a task's run in that thread delivered to whom the task names by then.

        Raises `LogUnavailableError`, and `ThreadDeletingError` and `ThreadDeletedError` for a thread that is going.
        """
        decided = await self._log.execute(address, SetReceiver(self._log.clocks.wall(), epoch))
        if isinstance(decided.outcome, Refused):
            raise decided.outcome.error

    async def deliver(self, order: WebhookOrder) -> None:
        """Try once, if no other signal did; raises `LogUnavailableError` and `AttachmentsUnavailableError`."""
        head = await self._log.head(order.address)
        run = await read_run(self._log, order.address, order.run_id, head)
        if not isinstance(run, Run) or run.terminal is None:
            await self._erase_note(order)
            return
        begun = begun_by(run.accepted.request.webhook, run.run_id)
        if begun is None or order.target == "agent":
            await self._deliver(order, head.epoch, run, run.terminal, self._receiver(order, run))
            return
        configs = await self.pushes.of_task(order.address, head.epoch, begun)
        targets = [PUSH + one for one in configs] if order.target == "request" else [order.target]
        for target in targets:
            config = configs.get(target.removeprefix(PUSH)) if self.task_update is not None else None
            await self._deliver(replace(order, target=target), head.epoch, run, run.terminal, config)

    async def _deliver(
        self, order: WebhookOrder, epoch: int, run: Run, terminal: Terminal, receiver: PushConfig | None
    ) -> None:
        record = await self.deliveries.read(order, epoch)
        if receiver is None:
            if record is not None and record.state == "waiting":  # nobody is to be notified any more
                await self.deliveries.put(order, epoch, record.model_copy(update={"state": "dead"}))
            await self._erase_note(order)
            return
        if record is None:
            record = Delivery(
                run_id=run.run_id, target=order.target, event=event_of(terminal), url=receiver.url, state="waiting"
            )
        if (order.again or record.state == "waiting") and len(record.tries) == order.tries:
            record = await self._tried(run, terminal, receiver, record)
            await self.deliveries.put(order, epoch, record)
        await self.deliveries.mark(order, epoch, record)
        if record.state == "waiting":
            await self._put_note(order, len(record.tries))
        if record.state != "waiting" or len(record.tries) != order.tries:
            await self._erase_note(order)

    async def again(self, order: WebhookOrder) -> tuple[WebhookOrder, Delivery] | None:
        """Return the order that has a delivery tried now, whatever came of it, and what did; None for what is none.

        Raises `LogUnavailableError` and `AttachmentsUnavailableError`.
        """
        head = await self._log.head(order.address)
        record = await self.deliveries.read(order, head.epoch)
        return None if record is None else (replace(order, tries=len(record.tries), again=True), record)

    async def due(self) -> list[WebhookOrder]:
        """Return what is to be tried again by now, and was not returned lately.

        Raises `AttachmentsUnavailableError`.
        """
        now = self._log.clocks.wall()
        self._signalled = {key: at for key, at in self._signalled.items() if now - at < REMEMBERED_SECONDS}
        orders = list[WebhookOrder]()
        for put_at, key in await self._attachments.put_between(self._notes, 0.0, now):
            tries, _, delivery = key.partition("/")
            if key in self._signalled or put_at + pause_seconds(int(tries), delivery) > now:
                continue
            if len(orders) == MOST_AT_ONCE:
                break
            text = (await self._attachments.read(StoreKey(self._notes, key), [_NOTE])).get(_NOTE)
            order = None if text is None else WebhookOrder.of(json.loads(text))
            if order is not None:
                self._signalled[key] = now
                orders.append(order)
        return orders

    def _receiver(self, order: WebhookOrder, run: Run) -> PushConfig | None:
        """Return where to; None where the agent has no webhook any more, or the request's is the agent's."""
        planned = self._agents.get(order.address.agent)
        agents = None if planned is None else planned.webhook
        url = agents
        if order.target != "agent":
            url = None if run.accepted.request.webhook == agents else run.accepted.request.webhook
        return None if url is None else PushConfig(id=order.target, url=url)

    async def _tried(self, run: Run, terminal: Terminal, receiver: PushConfig, before: Delivery) -> Delivery:
        now, url = self._log.clocks.wall(), receiver.url
        posted = Posted(problem="not_allowed")
        if self.rules.refusal(url) is None:
            is_push = before.target.startswith(PUSH)
            message = (self.task_update if self.task_update and is_push else self._message)(run, terminal)
            body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
            message_id = f"{run.run_id}-{before.event.replace('.', '-')}"
            headers = {
                "content-type": "application/json",
                "user-agent": "durable-agent-host",
                "webhook-id": message_id,
                "webhook-timestamp": str(int(now)),
                "webhook-signature": self.rules.signature(message_id, int(now), body),
                **({"x-a2a-notification-token": receiver.token} if receiver.token else {}),
                **({"authorization": f"{receiver.scheme} {receiver.credentials}"} if receiver.credentials else {}),
            }
            posted = await self._post(url, headers, body, self.rules.hosts)
        tries = (*before.tries, Try(at=now, status=posted.status, problem=posted.problem))
        state: DeliveryState = "waiting"
        if posted.status is not None and 200 <= posted.status < 300:
            state = "delivered"
        elif posted.status == GONE or posted.problem in (INSIDE, "not_allowed") or len(tries) > len(PAUSES):
            state = "dead"
        if state != "delivered":
            came, level = posted.problem or posted.status, logging.INFO if state == "waiting" else logging.WARNING
            text = "The webhook of run %s (%s) was not taken at try %d: %s. It is %s now."
            logger.log(level, text, run.run_id, before.target, len(tries), came, state)
        return before.model_copy(update={"url": url, "state": state, "tries": tries})

    def _message(self, run: Run, terminal: Terminal) -> dict[str, Any]:
        """Return ids, how the run ended, and where more is found by who may read it; no text of the thread."""
        accepted, agent = run.accepted, self._agents[run.address.agent]
        thread = f"/{self._route_prefix}/{agent.kind}s/{quote(agent.name)}/threads/{quote(accepted.thread_id)}"
        shown: dict[str, Any] = {
            "agent": agent.name,
            "thread_id": accepted.thread_id,
            "run_id": run.run_id,
            "status": status_of(run),
            "run_url": f"{thread}/runs/{quote(run.run_id)}",
        }
        if isinstance(terminal, Completed) and terminal.approvals:
            shown["approvals"] = [approval.id for approval in terminal.approvals]
            shown["approvals_url"] = f"{thread}/approvals"
        elif not isinstance(terminal, Completed):
            shown["code"] = terminal.code
        return {"type": event_of(terminal), "timestamp": utc(terminal.at), "data": shown}

    @property
    def _notes(self) -> str:
        return f"{self._hub}.webhooks"

    def _note(self, order: WebhookOrder, tries: int) -> StoreKey:
        return StoreKey(self._notes, f"{tries}/{_delivery_key(order.address, order.run_id, order.target)}")

    async def _put_note(self, order: WebhookOrder, tries: int) -> None:
        again = WebhookOrder(order.address, order.run_id, order.target, tries)
        await self._attachments.put(self._note(again, tries), {_NOTE: json.dumps(again.fields()).encode()})

    async def _erase_note(self, order: WebhookOrder) -> None:
        if order.tries:
            await self._attachments.erase(self._note(order, order.tries))


def event_of(terminal: Terminal) -> str:
    """Return what has happened, as receivers know it."""
    if isinstance(terminal, Completed) and terminal.approvals:
        return "approval.requested"
    return f"run.{terminal.kind}"


def _delivery_key(address: Address, run_id: str, target: str) -> str:
    """Return a delivery's name among those of the whole app, whose callers may have chosen the run's id."""
    return f"{hashlib.sha256(address.key.encode()).hexdigest()[:16]}/{run_id}-{target}"


def next_try(address: Address, delivery: Delivery) -> float | None:
    """Return from when on a delivery is tried again (seconds since 1970); None where it is not."""
    if delivery.state != "waiting" or not delivery.tries:
        return None
    key = _delivery_key(address, delivery.run_id, delivery.target)
    return delivery.tries[-1].at + pause_seconds(len(delivery.tries), key)


def pause_seconds(tries: int, delivery: str) -> float:
    """Return how long a delivery waits after so many tries."""
    pause = PAUSES[min(max(tries, 1), len(PAUSES)) - 1]
    return pause * (1 + JITTER * (zlib.crc32(delivery.encode()) % 1000) / 1000)
