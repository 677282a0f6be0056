"""A delivery as it is stored: what becomes of it after a try, and when its clock orders the next one."""

from __future__ import annotations

import pytest

from hosting.core.hooks import KEYS
from hosting.features.webhooks.client import Posted
from hosting.features.webhooks.delivery import (
    HELD_SECONDS,
    JITTER,
    PAUSES,
    WAITING_SECONDS,
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
    """Return the delivery after tries of now that ended so."""
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


@pytest.mark.parametrize("number", range(1, len(PAUSES) + 1))
def test_each_pause_is_longer_by_a_fifth_at_most(number: int) -> None:
    """Its clock orders the try that comes behind those there are."""
    delivery = after(*[REFUSED] * number)
    sleep = delivery.sleep(NOW)

    assert sleep is not None
    assert sleep.tries == number
    assert PAUSES[number - 1] <= sleep.seconds <= PAUSES[number - 1] * (1 + JITTER)
    assert delivery.next_at == NOW + sleep.seconds


@pytest.mark.parametrize("seconds", [-86_400.0, 0.0, 60.0, 86_400.0])
def test_whatever_time_it_is_a_clock_sleeps_for_no_longer_than_a_pause(seconds: float) -> None:
    """The try may be of a process whose clock was wrong."""
    sleep = after(REFUSED).sleep(NOW + seconds)

    assert sleep is not None
    assert 0.0 <= sleep.seconds <= PAUSES[0] * (1 + JITTER)


def test_what_is_over_has_no_next_try() -> None:
    """Taken, or given up."""
    assert [(one.sleep(NOW), one.next_at) for one in (after(Posted(204)), after(Posted(410)))] == [(None, None)] * 2


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


@pytest.mark.parametrize(
    ("later", "takes"),
    [(0.0, False), (HELD_SECONDS - 1, False), (HELD_SECONDS, True), (-2 * (WAITING_SECONDS + HELD_SECONDS), True)],
)
def test_what_a_process_holds_is_taken_by_no_other_one_until_then(later: float, *, takes: bool) -> None:
    """One that is held by a clock far ahead is held by nobody."""
    held = NEW.held(NOW + HELD_SECONDS)
    sleep = held.sleep(NOW + later)

    assert (held.takes(ORDER, NOW + later), held.state, held.clock) == (takes, "waiting", 0)
    assert sleep is not None
    assert takes or sleep.seconds == HELD_SECONDS - later


def test_an_order_is_carried_as_names_and_comes_back() -> None:
    """Its clock and its keys are its own."""
    orders = [WebhookOrder(ORDER.address, "r", f"push-{n}", n, again=n == 1, clock=n or None) for n in range(3)]

    assert [WebhookOrder.of(order.fields()) for order in orders] == orders
    assert len({order.instance for order in orders}) == 3
    assert {order.key("post") == order.key("forget") for order in orders} == {False}
    assert 0 <= int(orders[0].key().rpartition("-")[2]) < KEYS
