"""The scripted agent with a webhook and with owners, whose process dies by itself where `KILL` says.

`KILL` is "before" or "after", a step of a change of feedback, and how often that was done by then: "after put 1".
"""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

from scripted import scripted_agent

from hosting.features.feedback import feedback
from hosting.features.feedback.figures import FeedbackMarks
from hosting.features.feedback.records import FeedbackRecords
from hosting.features.webhooks.webhooks import Webhooks

feedback.NOTED_SECONDS = 0.0
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
    (feedback.Feedbacks, "_note", "note"),
    (FeedbackRecords, "put", "put"),
    (FeedbackRecords, "erase", "erase"),
    (FeedbackRecords, "unlist", "unlist"),
    (feedback.Feedbacks, "_drop", "drop"),
    (feedback.Feedbacks, "_signal", "signal"),
    (FeedbackMarks, "count", "count"),
    (Webhooks, "notify_of", "notify"),
    (feedback.Feedbacks, "_forget", "forget"),
):
    setattr(owner, method, killing(name, getattr(owner, method)))

from hosting.app import AgentFunctionApp, Principal, PrincipalRequest  # noqa: E402 - made by what was set above


def signed_in(request: PrincipalRequest) -> Principal:
    """Return the principal that a test says."""
    return Principal("https://login.example", request.headers.get("x-user", "ada"))


app = AgentFunctionApp(agents=[scripted_agent("Joker")], webhook=os.environ.get("RECEIVER"), principal=signed_in)
