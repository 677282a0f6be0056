"""A delivery as it is stored: what becomes of it after a try, and when its clock orders the next one."""

from __future__ import annotations

import pytest

from hosting.features.webhooks.client import Posted
from hosting.features.webhooks.delivery import (
    PAUSES,
    Delivery,
    DeliveryState,
    WebhookOrder,
)
from hosting.names import Address

pytestmark = pytest.mark.behaviour("webhooks.again")

NOW = 1_000_000.0
URL = "https://example.com/hook"
REFUSED = Posted(503)
NEW = Delivery(run_id="r", target="request", event="run.completed", url=URL)
ORDER = WebhookOrder(Address.of("Joker", "t"), "r", "request")


def after(*results: Posted) -> Delivery:
    delivery = NEW
    for posted in results:
        delivery = delivery.after(posted, URL, NOW)
    return delivery


@pytest.mark.parametrize(
    ("results", "state", "clock"),
    [
        ([Posted(204)], "delivered", None),
        ([Posted(410)], "dead", None),
        ([Posted(problem="inside_network")], "dead", None),
        ([Posted(problem="not_allowed")], "dead", None),
        ([REFUSED], "waiting", 0),
        ([Posted(problem="timeout")], "waiting", 0),
        ([REFUSED, REFUSED], "waiting", 0),
        ([REFUSED, Posted(299)], "delivered", 0),
        ([Posted(410), REFUSED], "waiting", 1),
        ([REFUSED, Posted(410), REFUSED, REFUSED], "waiting", 2),
        ([REFUSED] * len(PAUSES), "waiting", 0),
        ([REFUSED] * (len(PAUSES) + 1), "dead", 0),
    ],
)
def test_what_becomes_of_a_delivery_and_which_clock_it_has(
    results: list[Posted], state: DeliveryState, clock: int | None
) -> None:
    """It has a new clock whenever it begins to wait, by the number of tries before that."""
    delivery = after(*results)

    assert (delivery.state, delivery.clock, len(delivery.tries)) == (state, clock, len(results))


@pytest.mark.parametrize(
    ("delivery", "tries", "again", "takes"),
    [
        (NEW, 0, False, True),
        (NEW, 1, False, False),
        (after(REFUSED), 0, False, False),
        (after(REFUSED), 1, False, True),
        (after(REFUSED), 1, True, True),
        (after(REFUSED), 0, True, False),
        (after(Posted(204)), 1, False, False),
        (after(Posted(204)), 1, True, True),
        (after(Posted(410)), 1, True, True),
    ],
)
def test_an_order_is_carried_out_by_who_knows_all_tries(
    delivery: Delivery, tries: int, *, again: bool, takes: bool
) -> None:
    """One that comes late, or twice, finds more of them."""
    order = WebhookOrder(ORDER.address, "r", "request", tries, again)

    assert delivery.takes(order, NOW) is takes
