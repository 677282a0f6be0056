"""Deliveries of webhooks over HTTP: what came of them, and one that is sent again. An app without a secret has none.

Theory. Of a webhook's address only the host is shown: the rest of it may be the receiver's secret, and who may read a
thread is not always who named the address. What an administrator lists of all owners' threads names each owner, by whom
the other routes find the thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from typing_extensions import TypedDict

from hosting import errors
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.http.route import LOG, ResponseSpec, Route, ok
from hosting.http.routes import THREAD_PATH, of_workflow, read_of_thread
from hosting.names import Address
from hosting.ports import iso
from hosting.request.parameters import CURSOR, LIMIT
from hosting.service.deliveries import Delivery, DeliveryPage
from hosting.service.outcome import RunIds


class ShownTry(TypedDict):
    """One try of a delivery (RFC 3339): the receiver's status, or in a word why there was none."""

    at: str
    status: int | None
    problem: str | None


class ShownDelivery(RunIds):
    """What came of notifying one receiver of one run's end."""

    owner: str
    receiver: Literal["agent", "request"]
    host: str
    event: str
    state: Literal["waiting", "delivered", "dead"]
    tries: list[ShownTry]


class ShownDeliveries(TypedDict):
    """A page of deliveries, in the store's order; `next_cursor` asks for the next one."""

    deliveries: list[ShownDelivery]
    next_cursor: str | None


_REFUSALS = (*LOG, errors.AttachmentsUnavailableError)
NOT_TAKEN = Route(
    "http_webhooks",
    "GET",
    "agents/{name}/webhooks",
    "List the deliveries of all the agent's threads that were not taken",
    ok(ShownDeliveries),
    _REFUSALS,
    (LIMIT, CURSOR),
    needs="admin",
)
OF_THREAD = read_of_thread(
    "http_thread_webhooks",
    "/webhooks",
    "List the deliveries of a thread's runs",
    ShownDeliveries,
    _REFUSALS,
    parameters=(LIMIT, CURSOR),
)
AGAIN = Route(
    "http_webhook_again",
    "POST",
    f"{THREAD_PATH}/runs/{{run_id}}/webhooks/{{receiver}}",
    "Send a webhook again",
    (ResponseSpec(202, "It is tried once more, now. This came of it before.", ShownDelivery),),
    (errors.UnknownDeliveryError, *_REFUSALS),
    needs="admin",
)
WEBHOOK_ROUTES = (NOT_TAKEN, OF_THREAD, AGAIN)
WORKFLOW_WEBHOOK_ROUTES = tuple(same for route in WEBHOOK_ROUTES if (same := of_workflow(route)) is not None)
"""What an app has that sends webhooks."""


def deliveries_reply(page: DeliveryPage, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a page of deliveries."""
    shown = [_shown(address, delivery) for address, delivery in page.deliveries]
    body: ShownDeliveries = {"deliveries": shown, "next_cursor": page.cursor}
    return json_reply(200, body, headers)


def again_reply(address: Address, delivery: Delivery) -> Reply:
    """Return what came of a delivery before it is sent again."""
    headers = {**thread_headers(address.thread_id), "x-ms-run-id": delivery.run_id}
    return json_reply(202, _shown(address, delivery), headers)


def _shown(address: Address, delivery: Delivery) -> ShownDelivery:
    return {
        **thread_ids(address.thread_id),
        "run_id": delivery.run_id,
        "correlation_id": delivery.run_id,
        "owner": address.owner,
        "receiver": delivery.target,
        "host": urlsplit(delivery.url).netloc,
        "event": delivery.event,
        "state": delivery.state,
        "tries": [{"at": iso(one.at), "status": one.status, "problem": one.problem} for one in delivery.tries],
    }
