"""The webhooks of an app: the receivers of a run's end, their messages, and the tries.

Theory. The entity signals with the commit that applies a run's end, as for callbacks, so the engine holds that it is
still to be sent, through any crash. The message is made of the thread's log at each try, and is the same bytes each
time: a receiver knows a repeat by `webhook-id`, which is made of run and event. Of a run that went with its thread
nobody is notified.

What came of the tries is a record of the delivery (`service.deliveries`). One that is to be tried again has a note
besides (`service.webhook_notes`). The record is put first, and counts. A signal names the number of tries that it was
sent after, and one that comes late, or twice, finds more of them and changes nothing but what stands elsewhere.

A try that is not over in a moment goes on behind its signal, whose key is free for others: what hangs delays nobody.
First it is put behind: a note is put, then a record that says since when. So it is begun once more by that note where
its process dies, and by nobody before. What has no place (`service.places`) is put behind too, and waits for one.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from hosting.errors import HostingError
from hosting.invocation import current_invocation, mark_task
from hosting.names import APP, Address
from hosting.plan import AgentPlan
from hosting.ports import ObjectStore, utc
from hosting.runner.held_run import read_run
from hosting.runner.thread_log import ThreadLog
from hosting.service.deliveries import PUSH, Deliveries, Delivery, DeliveryState, Try, WebhookOrder
from hosting.service.outcome import status_of
from hosting.service.places import PROMPT_SECONDS, Place, Places
from hosting.service.push_configs import PushConfig, PushConfigs
from hosting.service.webhook_client import INSIDE, Posted, post
from hosting.service.webhook_notes import KEPT_SECONDS, PAUSES, WebhookNotes
from hosting.thread.commands import Refused, SetReceiver
from hosting.thread.events import Accepted, Completed, Terminal
from hosting.thread.finish import finish_reason, is_incomplete
from hosting.thread.head import Head
from hosting.thread.run import Run
from hosting.webhooks import WebhookRules, begun_by

logger = logging.getLogger(__name__)

GONE = 410


@dataclass(frozen=True)
class _End:
    """A run's end as the source of messages. `owner` is the owner of its thread: for an agent's own receiver alone."""

    run: Run
    terminal: Terminal
    owner: dict[str, str] | None = None


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
        prompt_seconds: float = PROMPT_SECONDS,
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
        self._places = Places(log.clocks.awake, self._begin, prompt_seconds)
        self.notes = WebhookNotes(attachments, hub, log.clocks.wall, self._places.is_prompt)
        self._behind = set[asyncio.Task[None]]()

    def add(self, planned: AgentPlan) -> None:
        """Add an agent, or a workflow, whose runs may have webhooks."""
        self._agents[planned.name.lower()] = planned

    def orders(self, address: Address, ended: Iterable[Terminal]) -> list[WebhookOrder]:
        """Return the messages to send about these ends."""
        planned = self._agents.get(address.agent)
        orders = list[WebhookOrder]()
        for terminal in ended:
            if planned is not None and planned.webhook is not None:
                orders.append(WebhookOrder(address, terminal.run_id, "agent"))
            if terminal.notifies:
                orders.append(WebhookOrder(address, terminal.run_id, "request"))
        return orders

    async def set_receiver(self, address: Address, epoch: int) -> None:
        """Have every later end of a task's run in that thread delivered to the task's receivers of that time.

        Raises `LogUnavailableError`, and `ThreadDeletingError` and `ThreadDeletedError` for a thread that is going.
        """
        decided = await self._log.execute(address, SetReceiver(self._log.clocks.wall(), epoch))
        if isinstance(decided.outcome, Refused):
            raise decided.outcome.error

    async def deliver(self, order: WebhookOrder, place: Place | None = None) -> None:
        """Try once, if no other signal did; where it waited for a `place`, in that.

        Returns in a moment, before a try is over that takes longer. Raises `LogUnavailableError` and
        `AttachmentsUnavailableError`.
        """
        head = await self._log.head(order.address)
        run = await read_run(self._log, order.address, order.run_id, head)
        if not isinstance(run, Run) or run.terminal is None:
            await self.notes.erase(order)
            return
        begun = begun_by(run.accepted.request.webhook, run.run_id)
        if begun is None or order.target == "agent":
            owner = await self._owner(run, head) if order.target == "agent" else None
            end = _End(run, run.terminal, owner)
            await self._deliver(order, head.epoch, end, self._receiver(order, run), place)
            return
        configs = await self.pushes.of_task(order.address, head.epoch, begun)
        targets = [PUSH + one for one in configs] if order.target == "request" else [order.target]
        deliveries = list[Awaitable[None]]()
        for target in targets:
            config = configs.get(target.removeprefix(PUSH)) if self.task_update is not None else None
            one = replace(order, target=target)
            deliveries.append(self._deliver(one, head.epoch, _End(run, run.terminal), config, place))
        for came in await asyncio.gather(*deliveries, return_exceptions=True):
            if came is not None:
                raise came

    async def _deliver(
        self, order: WebhookOrder, epoch: int, end: _End, to: PushConfig | None, place: Place | None
    ) -> None:
        mark_task(current_invocation())
        record = await self.deliveries.read(order, epoch)
        if to is None:
            if record is not None and record.state == "waiting":  # nobody is to be notified any more
                await self.deliveries.put(order, epoch, record.model_copy(update={"state": "dead"}))
            await self.notes.erase(order, record)
            return
        if record is None:
            run_id, event = order.run_id, event_of(end.terminal)
            record = Delivery(run_id=run_id, target=order.target, event=event, url=to.url, state="waiting")
        if not (order.again or record.state == "waiting") or len(record.tries) != order.tries:
            await self._keep(order, epoch, record, record)
        elif place is not None:
            await self._keep(order, epoch, record, await self._begin_try(end, to, record, place))
        elif record.behind_since is not None and abs(self._now() - record.behind_since) < KEPT_SECONDS:
            return  # somebody has it, and it has a note
        elif (place := self._places.take(order, to.url)) is not None:
            await self._deliver_in_a_moment(order, epoch, record, self._begin_try(end, to, record, place))
        else:  # also where none may wait here any more: who has found its note does not look for it again soon
            await self._put_behind(order, epoch, record)
            self._places.wait(order, to.url)

    async def _deliver_in_a_moment(
        self, order: WebhookOrder, epoch: int, record: Delivery, trying: asyncio.Task[Delivery]
    ) -> None:
        """Store the result of a try, now or, if it takes longer than a moment, after the signal."""
        try:
            await asyncio.wait((trying,), timeout=self._places.prompt_seconds)
            if not trying.done():
                behind = await self._put_behind(order, epoch, record)
                self._go_on(partial(self._keep_later, order, epoch, behind, trying))
                return
        except BaseException:
            trying.cancel()
            raise
        await self._keep(order, epoch, record, trying.result())

    def _begin_try(self, end: _End, to: PushConfig, record: Delivery, place: Place) -> asyncio.Task[Delivery]:
        trying = asyncio.ensure_future(self._tried(end, to, record))
        places = self._places
        timer = asyncio.get_running_loop().call_later(places.prompt_seconds, places.overdue, place)

        def over(tried: asyncio.Task[Delivery]) -> None:
            timer.cancel()
            (places.give_back if tried.cancelled() else places.over)(place)

        trying.add_done_callback(over)
        return trying

    async def _keep_later(
        self, order: WebhookOrder, epoch: int, before: Delivery, trying: asyncio.Task[Delivery]
    ) -> None:
        after = await trying
        if isinstance(await read_run(self._log, order.address, order.run_id), Run):
            await self._keep(order, epoch, before, after)
        else:  # its thread was deleted meanwhile
            await self.notes.erase(order, before)

    def _begin(self, order: WebhookOrder, place: Place) -> None:
        """Continue with a waiting order: whether and where to send it is read anew."""

        async def deliver() -> None:
            try:
                await self.deliver(order, place)
            finally:
                self._places.give_back(place)

        self._go_on(deliver)

    def _go_on(self, work: Callable[[], Awaitable[None]]) -> None:
        """Have it done behind the signal, in no invocation."""

        async def unless_away() -> None:
            try:
                await work()
            except HostingError as error:
                logger.warning("The result of a webhook cannot be stored. The webhook is tried again. %s", error.detail)

        task = contextvars.Context().run(asyncio.get_running_loop().create_task, unless_away())
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def _keep(self, order: WebhookOrder, epoch: int, before: Delivery, record: Delivery) -> None:
        """Store the result, and note it for the next try."""
        if record is not before:
            await self.deliveries.put(order, epoch, record)
            if record.state != "delivered":
                came, state = record.tries[-1].problem or record.tries[-1].status, record.state
                level, which = logging.INFO if state == "waiting" else logging.WARNING, (order.run_id, order.target)
                text = "The webhook of run %s (%s) was not delivered at try %d: %s. It is %s now."
                logger.log(level, text, *which, len(record.tries), came, state)
        await self.deliveries.mark(order, epoch, before, record)
        if record.state == "waiting":
            await self.notes.put(replace(order, tries=len(record.tries)), record.url)
        if record.state != "waiting" or len(record.tries) != order.tries:
            await self.notes.erase(order, before)

    async def _put_behind(self, order: WebhookOrder, epoch: int, record: Delivery) -> Delivery:
        behind = record.model_copy(update={"state": "waiting", "behind_since": self._now()})
        await self.notes.put(order, record.url, is_behind=True)
        await self.deliveries.put(order, epoch, behind)
        await self.deliveries.mark(order, epoch, record, behind)
        level = logging.INFO if len(record.tries) < len(PAUSES) else logging.WARNING  # Azure drops what is logged later
        text = "The webhook of run %s (%s) is late at try %d of %d. See its result in the lists of deliveries."
        logger.log(level, text, order.run_id, order.target, len(record.tries) + 1, len(PAUSES) + 1)
        return behind

    async def drain(self, seconds: float) -> None:
        """Begin no more waiting orders, and return once current tries are over and stored, or after so long."""
        self._places.forget_waiting()
        if self._behind:
            await asyncio.wait(self._behind, timeout=seconds)

    async def again(self, order: WebhookOrder) -> tuple[WebhookOrder, Delivery] | None:
        """Return the order for a try of a delivery now, and the delivery's last result; None for an invalid one.

        Raises `LogUnavailableError` and `AttachmentsUnavailableError`.
        """
        head = await self._log.head(order.address)
        record = await self.deliveries.read(order, head.epoch)
        return None if record is None else (replace(order, tries=len(record.tries), again=True), record)

    def _receiver(self, order: WebhookOrder, run: Run) -> PushConfig | None:
        """Return where to; None where the agent has no webhook any more, or the request's is the agent's."""
        planned = self._agents.get(order.address.agent)
        agents = None if planned is None else planned.webhook
        url = agents
        if order.target != "agent":
            url = None if run.accepted.request.webhook == agents else run.accepted.request.webhook
        return None if url is None else PushConfig(id=order.target, url=url)

    async def _tried(self, end: _End, receiver: PushConfig, before: Delivery) -> Delivery:
        now, url = self._now(), receiver.url
        posted = Posted(problem="not_allowed")
        if self.rules.refusal(url) is None:
            is_push = before.target.startswith(PUSH)
            message = self.task_update(end.run, end.terminal) if self.task_update and is_push else self._message(end)
            body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
            message_id = f"{end.run.run_id}-{before.event.replace('.', '-')}"
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
        return before.model_copy(update={"url": url, "state": state, "tries": tries, "behind_since": None})

    def _message(self, end: _End) -> dict[str, Any]:
        """Return ids, the run's end, and links for authorized readers; no text of the thread.

        An agent that the app does not have any more has the name that the request gave it.
        """
        run, terminal, accepted = end.run, end.terminal, end.run.accepted
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
        if end.owner is not None:
            shown["owner"] = end.owner
        if isinstance(terminal, Completed):
            shown |= {"finish_reason": finish_reason(terminal), "incomplete": is_incomplete(terminal)}
        if isinstance(terminal, Completed) and terminal.approvals:
            shown["approvals"] = [approval.id for approval in terminal.approvals]
            shown["approvals_url"] = f"{thread}/approvals"
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
