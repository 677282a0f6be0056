"""The scripted agent with a webhook, whose further tries come at once; it dies by itself where `KILL` says.

`KILL` is "before" or "after", what is done there, and how often that was done by then: "after put 2". A process holds
a delivery whose receiver hangs for `HELD_SECONDS`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

from scripted import scripted_agent

from hosting.features.webhooks import delivery, feature, webhooks
from hosting.features.webhooks.deliveries import Deliveries

delivery.PAUSES = (0.0,) * len(delivery.PAUSES)
webhooks.HELD_SECONDS = delivery.HELD_SECONDS = float(os.environ.get("HELD_SECONDS", "30"))
side, what, nth = os.environ.get("KILL", "before nothing 1").split()
done = [0]


def killing(name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return the call, at which the process may die."""

    async def killed(*arguments: Any, **named: Any) -> Any:
        done[0] += name == what
        is_now = name == what and done[0] == int(nth)
        if is_now and side == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = await call(*arguments, **named)
        if is_now:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return killed


for owner, method, name in (
    (webhooks.Webhooks, "_sent", "try"),
    (Deliveries, "put", "put"),
    (Deliveries, "mark", "mark"),
    (webhooks, "start_clock", "start"),
    (feature, "purge_clock", "purge"),
):
    setattr(owner, method, killing(name, getattr(owner, method)))

from hosting.app import AgentFunctionApp  # noqa: E402 - it is made by what was set above

app = AgentFunctionApp(agents=[scripted_agent("Joker")], webhook=os.environ["RECEIVER"])
