"""What the real engine may do to an app, and ours does only where it is told to: `DEVHOST_UNKIND=FAULT [TARGET [N]]`.

Theory. Our engine keeps each step as one transaction and hands a message out again at once. The real one, on Azure
Storage, has queues beside tables, and only these promises:

- It sends an episode's messages, then writes its history, then deletes what the episode had received. A host that dies
  between two of these does the episode again, at another time, and what it had sent is delivered all the same.
- A message that was taken stays hidden until its visibility timeout is over, whether or not its taker lives.
- A purge removes rows, and no messages. What is committed on a purged row fails, and the messages come again.
- A commit that fails has the host take one work item in ten seconds, until five of them succeeded.
- The instance that takes an operation may lack its entity: the operation fails, and a signal is gone.

An app that works on our engine and relies on more than these fails there alone. So the engine asks this module at each
point where the real one may be so unkind, and goes its own way unless a fault strikes there. Nothing is done to the app
that its history could not have had on the real host.

A test arms single faults: each strikes at the n-th passing of its point by a matching target, once, or at each passing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from fnmatch import fnmatchcase
from typing import Protocol

from devhost.durable.records import Inbox
from devhost.errors import SettingsError

logger = logging.getLogger(__name__)

VARIABLE = "DEVHOST_UNKIND"
EACH = "each"


class Fault(Enum):
    """The points, each by what happens there; a target is matched by any of the names beside it."""

    SENT_NOT_COMMITTED = "sent-not-committed"
    """An episode's messages are sent and its history is not written (instance id, orchestrator)."""
    PURGED_WHILE_RUNNING = "purged-while-running"
    """A purge removes an entity's record and no message, whether or not a batch runs (`@name@key`, entity)."""
    LOST_OPERATION = "lost-operation"
    """Operations come to an instance that lacks the entity: they fail, signals are gone (`@name@key`, entity)."""
    DIED_BEFORE_ACTIVITY = "died-before-activity"
    """An activity's host dies before it calls the function (activity, instance id of the caller)."""
    DIED_AFTER_ACTIVITY = "died-after-activity"
    """An activity's host dies after the function, before its result is sent (the same)."""


class Unkind(Protocol):
    """Says what is to go wrong."""

    @property
    def is_kind(self) -> bool:
        """Whether nothing ever goes wrong."""
        ...

    def strikes(self, fault: Fault, *names: str) -> bool:
        """Return whether the fault happens at this passing of its point; `names` are those of the target."""
        ...


class Kind:
    """Nothing goes wrong."""

    is_kind = True

    def strikes(self, fault: Fault, *names: str) -> bool:
        return False


KIND = Kind()


@dataclass
class _Arming:
    fault: Fault
    target: str
    nth: int | None
    passings: int = 0

    def is_due(self, fault: Fault, names: Iterable[str]) -> bool:
        if fault is not self.fault or not any(fnmatchcase(name, self.target) for name in names):
            return False
        self.passings += 1
        return self.nth in (None, self.passings)


class Armed:
    """What was armed goes wrong, and nothing else; `struck` are the faults that happened, with their targets."""

    is_kind = False

    def __init__(self) -> None:
        self._armings: list[_Arming] = []
        self.struck: list[tuple[Fault, str]] = []
        self._has_struck = asyncio.Event()

    def arm(self, fault: Fault, target: str = "*", nth: int | None = 1) -> None:
        """Have the fault strike at the n-th passing from now on of a target, a pattern; with None at each passing."""
        self._armings.append(_Arming(fault, target, nth))

    def strikes(self, fault: Fault, *names: str) -> bool:
        # All of them, so that each counts its passings.
        due = [arming for arming in self._armings if arming.is_due(fault, names)]
        if due:
            self.struck.append((fault, names[0]))
            self._has_struck.set()
            logger.warning("%s: %s strikes %s", VARIABLE, fault.value, names[0])
        return bool(due)

    async def until_struck(self, fault: Fault, times: int = 1) -> None:
        """Return once the fault has happened so often."""
        while sum(happened is fault for happened, _ in self.struck) < times:
            self._has_struck.clear()
            await self._has_struck.wait()


def read_unkind(text: str) -> Unkind:
    """Return what the environment variable arms: `FAULT [TARGET [N]]`, several with `;` between them; empty for none.

    TARGET is a pattern (`*` unless given), N the passing (1 unless given) or `each`. Raises `SettingsError`.
    """
    armed = Armed()
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, target, nth, *more = [*part.split(), *("", "", "")][: max(3, len(part.split()))]
        if more or name not in [fault.value for fault in Fault] or not (nth in ("", EACH) or nth.isdecimal()):
            faults = ", ".join(fault.value for fault in Fault)
            raise SettingsError(
                f"{VARIABLE} has {part!r}; give FAULT, FAULT TARGET or FAULT TARGET N. N is a number or '{EACH}', and "
                f"the faults are {faults}."
            )
        armed.arm(Fault(name), target or "*", None if nth == EACH else int(nth or 1))
    return armed if text.strip() else KIND


class Hidden:
    """Messages that somebody took and did not handle: nobody sees them until their time is over."""

    def __init__(self) -> None:
        self._until: dict[int, datetime] = {}

    def __len__(self) -> int:
        return len(self._until)

    def hide(self, seqs: Sequence[int], until: datetime) -> None:
        """Show these messages to nobody before that time."""
        self._until.update(dict.fromkeys(seqs, until))

    def leave_out(self, inbox: Inbox, now: datetime, limit: int) -> Inbox:
        """Return the inbox without what is hidden now, so many messages at most; it says when more can be seen."""
        self._until = {seq: until for seq, until in self._until.items() if until > now}
        waiting = [self._until[message.seq] for message in inbox.messages if message.seq in self._until]
        seen = tuple(message for message in inbox.messages if message.seq not in self._until)
        moments = [moment for moment in (inbox.next_due, *waiting) if moment is not None]
        return replace(
            inbox,
            messages=seen[:limit],
            is_all=inbox.is_all and len(seen) <= limit,
            next_due=min(moments, default=None),
        )
