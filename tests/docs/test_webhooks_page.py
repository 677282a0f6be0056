"""notifications.md: the secret that it makes is one, and what it shows of a message is what its receiver gets."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.support.app.scripted import scripted_agent
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
