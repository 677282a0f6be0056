"""The webhooks of an app: the receivers of a run's end, their messages, and the tries.

Theory. The entity signals with the commit that applies a run's end, as for callbacks, so the engine holds that it is
still to be sent, through any crash. The message is made of the thread's log at each try, and is the same bytes each
time: a receiver knows a repeat by `webhook-id`, which is made of run and event. Of a run that went with its thread
nobody is notified.

What came of the tries is a record (`delivery.py`), and one entity at a time sends what is sent of a run. A record
is put first. While it waits its clock orders the next try; whoever leaves it waiting starts the clock before the
operation ends, so a process that dies leaves either its operation, which is delivered again, or a clock.

A try that is not over in a moment goes on behind its operation, whose key is free for others: what hangs delays nobody.
The record says until when this process holds it, and the clock looks after that. What has no slot
(`send_slots.py`) is held too, and waits for one.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import asdict, replace

from hosting.core.agent.held_run import read_run
from hosting.core.clocks import start_clock
from hosting.core.stores.stores import Stores
from hosting.core.thread.events import Accepted, Completed, Joined, Terminal
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.head import Head
from hosting.core.thread.run import Ended, Run
from hosting.core.thread_log import ThreadLog
from hosting.errors import EngineUnavailableError, HostingError
from hosting.features.webhooks.client import NOT_ALLOWED, Posted, post
from hosting.features.webhooks.deliveries import Deliveries, DeliveryPage
from hosting.features.webhooks.delivery import (
    HELD_SECONDS,
    PAUSES,
    WAITING_SECONDS,
    WEBHOOK_CLOCK,
    Delivery,
    Sleep,
    WebhookOrder,
)
from hosting.features.webhooks.receivers import ReceiverStore, TaskReceivers
from hosting.features.webhooks.records import PUSH
from hosting.features.webhooks.rules import WebhookRules
from hosting.features.webhooks.send_slots import PROMPT_SECONDS, SendSlots, Slot
from hosting.http.run_text import status_of
from hosting.http.verbs import Receiver, RunNews
from hosting.invocation import current_invocation, mark_task
from hosting.names import APP, Address
from hosting.plan import AgentPlan
from hosting.ports import ClockClient, EntityClient, utc

logger = logging.getLogger(__name__)

OVERDUE_SECONDS = 180.0
"""A delivery that is later than this may have lost its clock."""

Poster = Callable[[str, dict[str, str], bytes, Sequence[str]], Awaitable[Posted]]


class _Message(Struct, frozen=True):
    """One message about a run's end, its delivery, and where to; None where nobody is to be notified any more.

    `owner` is the owner of its thread: for an agent's own receiver alone. `news` is what it is about if not the end.
    """

    order: WebhookOrder
    epoch: int
    run: Run
    terminal: Terminal
    owner: dict[str, str] | None
    to: Receiver | None
    record: Delivery
    news: RunNews | None = None


class Webhooks:
    """The webhooks of one app, for one event loop. `news_of` is what there is to send besides ends of runs, by name."""

    news_of: Callable[[Run, str], Awaitable[RunNews | None]] | None = None

    def __init__(
        self,
        log: ThreadLog,
        stores: Stores,
        rules: WebhookRules,
        *,
        route_prefix: str = "api",
        poster: Poster = post,
        prompt_seconds: float = PROMPT_SECONDS,
    ) -> None:
        self.rules = rules
        self.deliveries = Deliveries(stores.attachments, stores.hub)
        self.receivers = TaskReceivers(log, ReceiverStore(stores.attachments, stores.hub), rules)
        self._log = log
        self._route_prefix = route_prefix
        self._post = poster
        self._agents: dict[str, AgentPlan] = {}
        self._slots = SendSlots(log.clocks.awake, prompt_seconds)
        self._behind = set[asyncio.Task[None]]()

    def add(self, planned: AgentPlan) -> None:
        """Add an agent, or a workflow, whose runs may have webhooks."""
        self._agents[planned.name.lower()] = planned

    def orders(self, address: Address, ended: Iterable[Terminal]) -> list[WebhookOrder]:
        """Return the messages to send about these ends."""
        planned = self._agents.get(address.agent)
        orders = list[WebhookOrder]()
        for terminal in ended:
            if planned is not None and planned.options.webhook is not None:
                orders.append(WebhookOrder(address, terminal.run_id, "agent"))
            if terminal.notifies:
                orders.append(WebhookOrder(address, terminal.run_id, "request"))
        return orders

    async def deliver(self, order: WebhookOrder, client: ClockClient) -> Sleep | None:
        """Carry out an order, once however often it comes; return what the delivery's clock does next, None at its end.

        Returns in a moment, before a try is over that takes longer. Raises `LogUnavailableError`,
        `AttachmentsUnavailableError` and `EngineUnavailableError`.
        """
        delivering = [self._deliver(message, client) for message in await self._read(order)]
        outcomes = await asyncio.gather(*delivering, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return next((outcome for outcome in outcomes if isinstance(outcome, Sleep)), None)

    async def _read(self, order: WebhookOrder) -> list[_Message]:
        """Return the messages to which an order leads now."""
        head = await self._log.head(order.address)
        run = await read_run(self._log, order.address, order.run_id, head)
        if not isinstance(run, Run) or not isinstance(run.state, Ended):
            return []
        owner = await self._owner(run, head) if order.is_for_agent else None
        news = await self.news_of(run, order.target) if order.is_news and self.news_of is not None else None
        messages = list[_Message]()
        receivers = await self._receivers(order, run, head.epoch)
        if order.is_news and news is None:  # it was replaced since, or taken back
            receivers = dict.fromkeys(receivers)
        for target, to in receivers.items():
            own = replace(order, target=target)
            record = await self.deliveries.read(own, head.epoch)
            if record is None and to is not None:
                event = event_of(run.state.end) if news is None else news.event
                record = Delivery(run_id=run.run_id, target=target, event=event, url=to.url)
            if record is not None:
                messages.append(_Message(own, head.epoch, run, run.state.end, owner, to, record, news))
        return messages

    async def _receivers(self, order: WebhookOrder, run: Run, epoch: int) -> dict[str, Receiver | None]:
        """Return where to, for each target to which the order leads."""
        webhook, planned = run.accepted.request.webhook, self._agents.get(order.address.agent)
        url = None if planned is None else planned.options.webhook
        begun = run.accepted.request.task_run(run.run_id)
        if not order.is_for_agent and begun is not None:
            receivers = await self.receivers.store.of_task(order.address, epoch, begun)
            targets = [PUSH + id_ for id_ in receivers] if order.target == "request" else [order.target]
            served = {} if self.receivers.update_of is None else receivers
            return {target: served.get(target.removeprefix(PUSH)) for target in targets}
        if not order.is_for_agent:
            url = None if webhook == url else webhook  # the agent's own is sent as such
        return {order.target: None if url is None else Receiver(id=order.target, url=url)}

    async def _deliver(self, message: _Message, client: ClockClient) -> Sleep | None:
        mark_task(current_invocation())
        order, record = message.order, message.record
        if order.clock is not None and order.clock != record.clock:
            return None  # the delivery has a later clock
        if message.to is None:
            if record.state == "waiting":
                record = record.model_copy(update={"state": "dead"})
                await self.deliveries.put(order, message.epoch, record)
        elif record.takes(order, self._now()):
            record = await self._begin(message, message.to)
        else:  # whoever stored it may have died behind that
            await self.deliveries.mark(order, message.epoch, record, record)
        if order.clock is None:
            await self._start_clock(order, record, client)
        return record.sleep(self._now())

    async def _start_clock(self, order: WebhookOrder, record: Delivery, client: ClockClient) -> None:
        if (sleep := record.sleep(self._now())) is not None:
            clock = replace(order, tries=sleep.tries, again=False, clock=record.clock)
            await start_clock(WEBHOOK_CLOCK, clock.instance, {**clock.fields(), **asdict(sleep)}, client)

    async def mend(self, page: DeliveryPage, client: ClockClient) -> None:
        """Start the clocks of overdue deliveries, where they can be: a moved or restored engine may have lost them."""
        with suppress(EngineUnavailableError):
            for address, record in page.deliveries:
                if (record.next_at or self._now()) < self._now() - OVERDUE_SECONDS:
                    await self._start_clock(WebhookOrder(address, record.run_id, record.target), record, client)

    async def _begin(self, message: _Message, to: Receiver) -> Delivery:
        """Try it, and return the delivery after that, or after a moment as it is held here."""
        slot = self._slots.take(message.order.sender, to.url)
        trying = None if slot is None else asyncio.ensure_future(self._try(message, slot))
        try:
            if trying is not None:
                await asyncio.wait((trying,), timeout=self._slots.prompt_seconds)
                if trying.done():
                    tried = trying.result()
                    return message.record if tried is None else await self._keep(message, tried)
            seconds = HELD_SECONDS + (WAITING_SECONDS if trying is None else 0.0)
            held = replace(message, record=await self._keep(message, message.record.held(self._now() + seconds)))
        except BaseException:
            if trying is not None:
                trying.cancel()
            raise
        self._go_on(self._finish(held, to, trying))
        return held.record

    async def _try(self, message: _Message, slot: Slot) -> Delivery | None:
        """Send it; return the delivery after that, None for one that was held and is not to be sent any more."""
        timer = asyncio.get_running_loop().call_later(self._slots.prompt_seconds, self._slots.mark_slow, slot)
        try:
            current = message if message.record.held_until is None else await self._still_held(message)
            if current is None or current.to is None:
                return None
            began_at = self._now()
            posted = await self._sent(current, current.to, began_at)
            self._slots.mark_over(slot)
            return current.record.after(posted, current.to.url, began_at)
        finally:
            timer.cancel()
            self._slots.release(slot)

    async def _finish(self, held: _Message, to: Receiver, trying: asyncio.Task[Delivery | None] | None) -> None:
        """Store the result of a try behind its operation; what waits for a slot is tried first."""
        if trying is not None:
            record = await trying
        else:
            slot = await self._slots.acquire(held.order.sender, to.url)
            record = None if slot is None else await self._try(held, slot)
        if record is not None and (current := await self._still_held(held)) is not None:
            await self._keep(current, record.model_copy(update={"clock": current.record.clock}))

    async def _still_held(self, held: _Message) -> _Message | None:
        """Return a message as it is now; None where its thread is gone, or another process took the delivery over."""
        messages = await self._read(held.order)
        return next((one for one in messages if one.record.held_until == held.record.held_until), None)

    def _go_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Have it done behind the operation, in no invocation."""

        async def unless_away() -> None:
            try:
                await work
            except HostingError as error:
                logger.warning("The result of a webhook cannot be stored. The webhook is tried again. %s", error.detail)

        task = contextvars.Context().run(asyncio.get_running_loop().create_task, unless_away())
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def _keep(self, message: _Message, record: Delivery) -> Delivery:
        """Store what became of a delivery, and return that."""
        await self.deliveries.put(message.order, message.epoch, record)
        number, which = len(record.tries), (record.run_id, record.target)
        if record.held_until is not None:  # Azure drops what is logged later
            level = logging.INFO if number < len(PAUSES) else logging.WARNING
            text = "The webhook of run %s (%s) is late at try %d of %d. See its result in the lists of deliveries."
            logger.log(level, text, *which, number + 1, len(PAUSES) + 1)
        elif record.state != "delivered":
            level, last = logging.INFO if record.state == "waiting" else logging.WARNING, record.tries[-1]
            text = "The webhook of run %s (%s) was not delivered at try %d: %s. It is %s now."
            logger.log(level, text, *which, number, last.problem or last.status, record.state)
        await self.deliveries.mark(message.order, message.epoch, message.record, record)
        return record

    async def notify_of(self, address: Address, run_id: str, name: str, client: EntityClient) -> None:
        """Have the news of that name delivered; see `NotifiesOfNews`."""
        planned = self._agents.get(address.agent)
        if planned is not None and planned.options.webhook is not None:
            await WebhookOrder(address, run_id, name).signal(client)

    async def drain(self, seconds: float) -> None:
        """Begin no more waiting orders, and return once current tries are over and stored, or after so long."""
        self._slots.close()
        if self._behind:
            await asyncio.wait(self._behind, timeout=seconds)

    async def again(self, order: WebhookOrder) -> tuple[WebhookOrder, Delivery] | None:
        """Return the order for a try of a delivery now, and the delivery's last result; None for an invalid one.

        Raises `LogUnavailableError` and `AttachmentsUnavailableError`.
        """
        head = await self._log.head(order.address)
        record = await self.deliveries.read(order, head.epoch)
        return None if record is None else (replace(order, tries=len(record.tries), again=True), record)

    async def _sent(self, message: _Message, to: Receiver, now: float) -> Posted:
        if self.rules.refusal(to.url) is not None:
            return Posted(problem=NOT_ALLOWED)
        record, is_of_task = message.record, message.order.target.startswith(PUSH)
        update_of = self.receivers.update_of if is_of_task else None
        text = self._text(message) if update_of is None else update_of(message.run, message.terminal)
        body = json.dumps(text, ensure_ascii=False, separators=(",", ":")).encode()
        message_id = f"{record.run_id}-{message.order.target if message.news else record.event.replace('.', '-')}"
        headers = {
            "content-type": "application/json",
            "user-agent": "durable-agent-host",
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now)),
            "webhook-signature": self.rules.signature(message_id, int(now), body),
            **({"x-a2a-notification-token": to.token} if to.token else {}),
            **({"authorization": f"{to.scheme} {to.credentials}"} if to.credentials else {}),
        }
        return await self._post(to.url, headers, body, self.rules.hosts)

    def _text(self, message: _Message) -> dict[str, Any]:
        """Return ids, the run's end, and links for authorized readers; no text of the thread.

        An agent that the app does not have any more has the name that the request gave it.
        """
        run, terminal, accepted = message.run, message.terminal, message.run.accepted
        planned = self._agents.get(run.address.agent)
        kind, name = ("agent", accepted.agent) if planned is None else (planned.kind, planned.name)
        thread = f"/{self._route_prefix}/{kind}s/{quote(name)}/threads/{quote(accepted.thread_id)}"
        shown: dict[str, Any] = {
            "agent": name,
            "thread_id": accepted.thread_id,
            "run_id": run.run_id,
            "status": status_of(run),
            "run_url": f"{thread}/runs/{quote(run.run_id)}",
        }
        if metadata := accepted.request.metadata:
            shown["metadata"] = metadata
        if message.owner is not None:
            shown["owner"] = message.owner
        if message.news is not None:
            return {
                "type": message.news.event,
                "timestamp": utc(message.news.at),
                "data": {**shown, **message.news.fields},
            }
        if isinstance(terminal, Completed):
            shown |= {"finish_reason": finish_reason(terminal), "incomplete": is_incomplete(terminal)}
        if isinstance(terminal, Completed) and terminal.approvals:
            shown["approvals"] = [approval.id for approval in terminal.approvals]
            shown["kinds"] = [approval.kind for approval in terminal.approvals]
            shown["approvals_url"] = f"{thread}/approvals"
        elif isinstance(terminal, Joined):
            shown["joined"] = terminal.into
        elif not isinstance(terminal, Completed):
            shown["code"] = terminal.code
        return {"type": event_of(terminal), "timestamp": utc(terminal.at), "data": shown}

    async def _owner(self, run: Run, head: Head) -> dict[str, str] | None:
        """Return the owner of the run's thread, None for one of the app's own.

        Where somebody else began the run, by a grant, its owner is who began another one.
        """
        owner = run.address.owner
        if owner == APP:
            return None
        principal = run.accepted.principal
        if principal is None or principal.owner != owner:
            events = await self._log.events(run.address, head.trimmed)
            senders = (event.principal for _, event in events if isinstance(event, Accepted) and event.principal)
            principal = next((sender for sender in senders if sender.owner == owner), None)
        known = {} if principal is None else {"issuer": principal.issuer, "id": principal.id}
        return {"owner": owner, **known}

    def _now(self) -> float:
        return self._log.clocks.wall()


def event_of(terminal: Terminal) -> str:
    """Return the name of the event, as receivers know it."""
    if isinstance(terminal, Completed) and terminal.approvals:
        return "approval.requested"
    return f"run.{terminal.kind}"
