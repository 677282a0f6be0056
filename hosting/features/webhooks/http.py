"""Deliveries of webhooks over HTTP: list them, and send one again. An app without a secret has no such routes.

Theory. What an administrator lists of all owners' threads names each owner, by whom the other routes find the thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from typing_extensions import TypedDict

from hosting import errors
from hosting.core.runs import Runs
from hosting.core.thread_log import ThreadLog
from hosting.features.webhooks.deliveries import DeliveryPage
from hosting.features.webhooks.delivery import Delivery, WebhookOrder, is_target
from hosting.features.webhooks.records import ShownDelivery
from hosting.features.webhooks.webhooks import Webhooks
from hosting.http import places
from hosting.http.parameters import CURSOR, LIMIT, OWNER, in_path, read_cursor, read_limit, text_in_query
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import LOG, ResponseSpec, Route, ok
from hosting.names import Address, id_pattern
from hosting.ports import iso


class UnknownDeliveryError(errors.RequestError, code="unknown_delivery", status=404):
    """The run sent no webhook to this receiver."""


class ShownDeliveries(TypedDict):
    """A page of deliveries, in the store's order; `next_cursor` reads the next page."""

    deliveries: list[ShownDelivery]
    next_cursor: str | None


_RECEIVER = in_path(
    "receiver",
    "The receiver: agent, request, push- with the id of a task's receiver, or feedback- with an id.",
    UnknownDeliveryError,
    pattern=f"(?:agent|request|(?:push|feedback)-{id_pattern()})",
)
OF_RUN = text_in_query("run_id", "Only deliveries of this run.", id_pattern(), "the id of a run.")
_REFUSALS = (*LOG, errors.AttachmentsUnavailableError)
NOT_TAKEN = Route(
    "webhooks",
    "GET",
    places.AGENT.below("webhooks"),
    "List the agent's undelivered webhooks, of all threads",
    ok(ShownDeliveries),
    _REFUSALS,
    (LIMIT, CURSOR),
    needs="admin",
)
OF_THREAD = Route(
    "thread_webhooks",
    "GET",
    places.THREAD.below("webhooks"),
    "List the webhook deliveries of a thread's runs",
    ok(ShownDeliveries),
    _REFUSALS,
    (LIMIT, CURSOR, OF_RUN),
    is_for_shared=False,
)
AGAIN = Route(
    "webhook_again",
    "POST",
    places.RUN.below("webhooks/{receiver}", _RECEIVER),
    "Send a webhook again",
    (ResponseSpec(202, "The app tries again now. The delivery's state before this try.", ShownDelivery),),
    _REFUSALS,
    is_for_shared=False,
    needs="admin",
)


class DeliveryHandlers:
    """The handlers of the routes of all deliveries."""

    def __init__(self, webhooks: Webhooks, log: ThreadLog, runs: Runs) -> None:
        self._webhooks = webhooks
        self._deliveries = webhooks.deliveries
        self._log = log
        self._runs = runs

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return Bound(NOT_TAKEN, self._not_taken), Bound(OF_THREAD, self._of_thread), Bound(AGAIN, self._again)

    async def _not_taken(self, request: HttpRequest) -> Reply:
        query, until = request.query, self._log.clocks.wall() + 1
        limit, cursor, owner = read_limit(query), read_cursor(query), OWNER.read(query)
        page = await self._deliveries.not_taken(request.agent.name, owner, limit, until, cursor)
        await self._webhooks.mend(page, request.caller.client)
        return _deliveries_reply(page)

    async def _of_thread(self, request: HttpRequest) -> Reply:
        limit, cursor, run_id = read_limit(request.query), read_cursor(request.query), OF_RUN.read(request.query)
        address = request.address
        epoch = (await self._log.head(address)).epoch
        page = await self._deliveries.of_thread(address, epoch, limit, cursor, run_id)
        await self._webhooks.mend(page, request.caller.client)
        return _deliveries_reply(page, thread_headers(address.thread_id))

    async def _again(self, request: HttpRequest) -> Reply:
        address, receiver = request.address, request.received.path_params["receiver"]
        run = await self._runs.find(address, request.run_id, request.caller.client)
        order = WebhookOrder(address, run.run_id, receiver) if is_target(receiver) else None
        known = None if order is None else await self._webhooks.again(order)
        if known is None:
            raise UnknownDeliveryError(
                f"No webhook of {receiver[:80]!r} was tried for run {run.run_id}. The lists name receivers."
            )
        order, before = known
        await order.signal(request.caller.client)
        headers = {**thread_headers(address.thread_id), "x-ms-run-id": before.run_id}
        return json_reply(202, delivery_fields(address, before), headers)


def delivery_fields(address: Address, delivery: Delivery) -> ShownDelivery:
    """Return the state of a delivery.

    Of the address only the host is shown: the rest may be the receiver's secret, and who may read a thread is not
    always who named the address.
    """
    return {
        **thread_ids(address.thread_id),
        "run_id": delivery.run_id,
        "correlation_id": delivery.run_id,
        "owner": address.owner,
        "receiver": delivery.target,
        "host": urlsplit(delivery.url).netloc,
        "event": delivery.event,
        "state": delivery.state,
        "next_try_at": None if delivery.next_at is None else iso(delivery.next_at),
        "tries": [{"at": iso(one.at), "status": one.status, "problem": one.problem} for one in delivery.tries],
    }


def _deliveries_reply(page: DeliveryPage, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a page of deliveries."""
    shown = [delivery_fields(address, delivery) for address, delivery in page.deliveries]
    body: ShownDeliveries = {"deliveries": shown, "next_cursor": page.cursor}
    return json_reply(200, body, headers)
