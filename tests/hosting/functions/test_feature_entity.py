"""The one entity of all features: whose operations it has, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.core.hooks import ENTITY
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of, served
from tests.support.receiver import WEBHOOKS


class Listening:
    """A callback that keeps the answers."""

    def __init__(self) -> None:
        self.answers: list[str] = []

    async def on_agent_response(self, response: Any, context: Any) -> None:
        """Take an answer."""
        self.answers.append(response.text)


@pytest.mark.parametrize(
    ("operation", "value", "refusal"),
    [
        (
            "explode",
            {},
            "The operation 'explode' is not known. Known: call, post, forget, pause_wait, pause_due, pause_forget, "
            "feedback_apply, file_index_forget.",
        ),
        ("call", {"agent": "joker"}, "The operation 'call' takes 'agent', 'thread_id' and 'run_id'."),
        ("call", None, "The operation 'call' takes 'agent', 'thread_id' and 'run_id'."),
        ("post", {"agent": "joker"}, "The operation 'post' takes an order as `WebhookOrder` writes it."),
        ("FORGET", "x", "The operation 'forget' takes an order as `WebhookOrder` writes it."),
    ],
)
async def test_an_operation_that_no_feature_has_or_takes_is_refused(operation: str, value: Any, refusal: str) -> None:
    """With what it takes. The batch is answered all the same, or the host would deliver it for ever."""
    app = app_of(scripted_agent("Joker"), environ=WEBHOOKS, default_callback=Listening())
    async with served(app) as (host, _):
        answer = await host.entities.call(ENTITY, "0", operation, value)

    assert (answer["isError"], refusal in answer["result"]) == (True, True)
