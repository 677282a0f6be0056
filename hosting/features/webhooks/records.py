"""The records of webhooks: how their names begin, and how they are shown. A start needs this much also without them."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from hosting.core.outcome import RunIds

RECORD = "webhook-"
"""How the names of records begin among the attachments of their thread."""

NEWS = "feedback-"
"""How the targets begin that are news of a run for the agent's receiver; the id of a change follows."""

PUSH = "push-"
"""How the targets begin that are receivers of a task; the id of one follows."""

CLOCK_PREFIX = "webhook!"
"""How the ids of the orchestrations begin that are clocks of deliveries."""


class ShownTry(TypedDict):
    """One try of a delivery: its time (RFC 3339), and the receiver's status or the problem."""

    at: str
    status: int | None
    problem: str | None


class ShownDelivery(RunIds):
    """The delivery of one run's end to one receiver; the address is shown as its host only.

    `next_try_at` is the earliest time of the next try, null if there is none.
    """

    owner: str
    receiver: str
    host: str
    event: str
    state: Literal["waiting", "delivered", "dead"]
    next_try_at: str | None
    tries: list[ShownTry]


class ExportedReceiver(TypedDict):
    """A receiver of one of the thread's tasks, without its secrets."""

    id: str
    url: str
