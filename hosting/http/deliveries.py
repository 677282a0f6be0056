"""Deliveries of webhooks over HTTP: list them, and send one again. An app without a secret has no such routes.

Theory. What an administrator lists of all owners' threads names each owner, by whom the other routes find the thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from typing_extensions import TypedDict

from hosting import errors
from hosting.core.deliveries import DeliveryPage
from hosting.core.delivery import Delivery
from hosting.http.bodies import ShownDelivery
from hosting.http.parameters import CURSOR, LIMIT, OF_RUN, in_path
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.http.route import LOG, ResponseSpec, Route, ok
from hosting.http.routes import RUN_ID, THREAD_ID, THREAD_PATH, read_of_thread
from hosting.names import Address, id_pattern
from hosting.ports import iso


class ShownDeliveries(TypedDict):
    """A page of deliveries, in the store's order; `next_cursor` reads the next page."""

    deliveries: list[ShownDelivery]
    next_cursor: str | None


_RECEIVER = in_path(
    "receiver",
    "The receiver: agent, request, or push- with the id of a task's receiver.",
    errors.UnknownDeliveryError,
    pattern=f"(?:agent|request|push-{id_pattern()})",
)
_REFUSALS = (*LOG, errors.AttachmentsUnavailableError)
NOT_TAKEN = Route(
    "http_webhooks",
    "GET",
    "agents/{name}/webhooks",
    "List the agent's undelivered webhooks, of all threads",
    ok(ShownDeliveries),
    _REFUSALS,
    (LIMIT, CURSOR),
    needs="admin",
)
OF_THREAD = read_of_thread(
    "http_thread_webhooks",
    "/webhooks",
    "List the webhook deliveries of a thread's runs",
    ShownDeliveries,
    _REFUSALS,
    parameters=(LIMIT, CURSOR, OF_RUN),
    is_for_shared=False,
)
AGAIN = Route(
    "http_webhook_again",
    "POST",
    f"{THREAD_PATH}/runs/{{run_id}}/webhooks/{{receiver}}",
    "Send a webhook again",
    (ResponseSpec(202, "The app tries again now. The delivery's state before this try.", ShownDelivery),),
    _REFUSALS,
    (THREAD_ID, RUN_ID, _RECEIVER),
    is_for_shared=False,
    needs="admin",
)


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


def deliveries_reply(page: DeliveryPage, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a page of deliveries."""
    shown = [delivery_fields(address, delivery) for address, delivery in page.deliveries]
    body: ShownDeliveries = {"deliveries": shown, "next_cursor": page.cursor}
    return json_reply(200, body, headers)


def again_reply(address: Address, delivery: Delivery) -> Reply:
    """Return the state of a delivery before it is sent again."""
    headers = {**thread_headers(address.thread_id), "x-ms-run-id": delivery.run_id}
    return json_reply(202, delivery_fields(address, delivery), headers)
