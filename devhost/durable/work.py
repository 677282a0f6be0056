"""The seam between the worker, which owns delivery and commit, and the processors, which call the app.

A processor gets the messages that wait for one target and answers with an outcome. It commits nothing: whatever it did
before it was killed is done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from devhost.durable.events import Event
from devhost.durable.records import Body, Inbox, Message, Step, Target

_Body = TypeVar("_Body", bound=Body)


@dataclass(frozen=True)
class Done:
    """The step to commit; `past` is the history that its events follow."""

    step: Step
    past: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Abandoned:
    """The app failed in a way that the protocol answers by delivering the same messages again, later."""

    reason: str


@dataclass(frozen=True)
class Held:
    """The app lacks the function; the messages stay until it is there again, after a restart."""

    reason: str


Outcome = Done | Abandoned | Held


class Processor(Protocol):
    """Handles the messages of one kind of target."""

    most_messages: int
    """How many messages one call takes at most."""

    async def process(self, target: Target, inbox: Inbox) -> Outcome:
        """Call the app and return what is to be committed; messages that the step does not consume come again."""
        ...


def seqs(messages: Sequence[Message]) -> tuple[int, ...]:
    return tuple(message.seq for message in messages)


def bodies(messages: Sequence[Message], kind: type[_Body]) -> list[_Body]:
    """Return what those messages say that are of this kind, in order."""
    return [message.body for message in messages if isinstance(message.body, kind)]
