"""notifications.md: the secret that it makes is one, and what it shows of a message is what its receiver gets."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest

from hosting.features.webhooks import http as delivery_routes
from hosting.features.webhooks.delivery import DeliveryState
from tests.support.app.scripted import scripted_agent
from tests.support.declared_routes import routes_in
from tests.support.made_app import app_of, ask, served
from tests.support.pages import code, page, part
from tests.support.receiver import WEBHOOKS, receiving

PAGE = part(page("docs/guides/notifications.md"), "## Webhooks")


async def test_a_receiver_gets_and_verifies_what_the_page_shows() -> None:
    """By the page's own code: the app's secret, and how the receiver reads."""
    making, reading = code(PAGE, "python")
    request, shown, _ = map(json.loads, code(PAGE, "json"))
    printed = list[str]()
    names: dict[str, Any] = {"print": printed.append}
    exec(making, names)
    exec(reading, names)
    environ = {**WEBHOOKS, "AGENT_WEBHOOK_SECRET": printed[0]}
    async with (
        receiving() as receiver,
        served(app_of(scripted_agent("Joker"), environ=environ)) as (_, http),
    ):
        await ask(http, thread_id="t", **{**request, "webhook": receiver.url})
        received = await receiver.next()

    message = names["receive"](received.body, received.headers, printed[0])
    assert message.keys() == shown.keys()
    assert message["data"].keys() == shown["data"].keys()
    assert message["type"] in re.findall(r"`([a-z_]+\.[a-z_]+)`", PAGE)


@pytest.mark.behaviour("docs.fields-and-routes")
def test_the_page_has_exactly_the_routes_of_deliveries() -> None:
    """In its table, each with its verb; those of workflows are the same."""
    listed = re.findall(r"^\| `([A-Z]+ [^`?]+)` \|", PAGE, flags=re.MULTILINE)
    assert listed == [str(route) for route in routes_in(delivery_routes)]


@pytest.mark.behaviour("docs.fields-and-routes")
async def test_a_delivery_is_shown_as_the_page_shows_it() -> None:
    """With the same members, and states and problems that are in its tables."""
    _, _, shown = map(json.loads, code(PAGE, "json"))
    async with (
        receiving() as receiver,
        served(app_of(scripted_agent("Joker"), environ=WEBHOOKS)) as (host, http),
    ):
        receiver.statuses = [410]
        await ask(http, "say hello", thread_id="t", webhook=receiver.url)
        await host.entities.idle()
        [delivery] = (await http.get("/api/agents/Joker/webhooks")).json()["deliveries"]

    assert delivery.keys() == shown.keys()
    assert [one.keys() for one in delivery["tries"]] == [one.keys() for one in shown["tries"]]
    assert set(get_args(DeliveryState)) == set(
        re.findall(r"^\| `(?!state|type)([a-z]+)` \| ", PAGE, flags=re.MULTILINE)
    )
