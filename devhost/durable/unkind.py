"""What the real engine may do to an app, and ours does only where the variable `DEVHOST_UNKIND` asks for it.

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
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from random import Random
from typing import Protocol

from devhost.errors import SettingsError

logger = logging.getLogger(__name__)

VARIABLE = "DEVHOST_UNKIND"
EACH = "each"
FASTER = "faster"


class Fault(Enum):
    """The points, each by what happens there; a target is matched by any of the names beside it.

    Names are an orchestration's instance id and its function, an entity's `@name@key` and its name, an activity's
    function and its caller's instance id.
    """

    SENT_NOT_COMMITTED = "sent-not-committed"
    """A host dies when it has sent an episode's messages and not written its history (orchestration)."""
    DIED_AFTER_ENTITY = "died-after-entity"
    """A host dies when it has run a batch and sent its messages, and not written the state (entity)."""
    DIED_BEFORE_ACTIVITY = "died-before-activity"
    """A host dies before it calls the function (activity)."""
    DIED_AFTER_ACTIVITY = "died-after-activity"
    """A host dies after the function, before its result is sent (activity)."""
    HIDDEN_AFTER_DEATH = "hidden-after-death"
    """What a process had taken when it was killed is hidden for the next one of the folder, too (any)."""
    PURGED_WHILE_RUNNING = "purged-while-running"
    """A purge removes an entity's record and no message, whether or not a batch runs (entity)."""
    LOST_OPERATION = "lost-operation"
    """Another instance, which lacks the entity, takes its operations: they fail, signals are gone (entity)."""
    MISSING_ENTITY = "missing-entity"
    """The same of this instance, where the app has no such entity; else its operations are held (entity)."""
    DELIVERED_LATE = "delivered-late"
    """One of the messages is seen up to a second later, after others (any)."""
    DELIVERED_TWICE = "delivered-twice"
    """What was handled comes once more, up to a second later (any)."""
    MOVED_PARTITION = "moved-partition"
    """Two workers do the same work at once; the record of one is refused, its messages are sent (not activities)."""


_CHANCES = {
    Fault.SENT_NOT_COMMITTED: 0.05,
    Fault.DIED_AFTER_ENTITY: 0.05,
    Fault.DIED_BEFORE_ACTIVITY: 0.05,
    Fault.DIED_AFTER_ACTIVITY: 0.05,
    Fault.HIDDEN_AFTER_DEATH: 1.0,
    Fault.PURGED_WHILE_RUNNING: 1.0,
    Fault.LOST_OPERATION: 0.0,  # between two versions of an app only
    Fault.MISSING_ENTITY: 1.0,
    Fault.DELIVERED_LATE: 0.1,
    Fault.DELIVERED_TWICE: 0.05,
    Fault.MOVED_PARTITION: 0.05,
}


class Unkind(Protocol):
    """Says what is to go wrong."""

    @property
    def is_kind(self) -> bool:
        """Whether nothing ever goes wrong."""
        ...

    def strikes(self, fault: Fault, *names: str) -> bool:
        """Return whether the fault happens at this passing of its point; `names` are those of the target."""
        ...

    def lasts(self, seconds: float) -> float:
        """Return how long takes here what takes so long on the real host."""
        ...

    def choose(self, count: int) -> int:
        """Return a number below the count."""
        ...

    def up_to(self, seconds: float) -> float:
        """Return a time of at most so many seconds."""
        ...


class Kind:
    """Nothing goes wrong."""

    is_kind = True

    def strikes(self, fault: Fault, *names: str) -> bool:
        return False

    def lasts(self, seconds: float) -> float:
        return seconds

    def choose(self, count: int) -> int:
        return 0

    def up_to(self, seconds: float) -> float:
        return seconds


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


class Armed(Kind):
    """What was armed goes wrong, and nothing else; `struck` are the faults that happened, with their targets.

    Waiting times of the real host are divided by `faster`.
    """

    is_kind = False

    def __init__(self, faster: float = 1.0) -> None:
        self._faster = faster
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
            self._note(fault, names[0])
        return bool(due)

    def lasts(self, seconds: float) -> float:
        return seconds / self._faster

    async def until_struck(self, fault: Fault, times: int = 1) -> None:
        """Return once the fault has happened so often."""
        while sum(happened is fault for happened, _ in self.struck) < times:
            self._has_struck.clear()
            await self._has_struck.wait()

    def _note(self, fault: Fault, name: str) -> None:
        self.struck.append((fault, name))
        self._has_struck.set()
        logger.warning("%s: %s strikes %s", VARIABLE, fault.value, name)


class Seeded(Armed):
    """Anything may go wrong at any point, by chance; the same seed has the same chances in the same order."""

    def __init__(self, seed: int, faster: float = 1.0) -> None:
        super().__init__(faster)
        self._random = Random(seed)

    def strikes(self, fault: Fault, *names: str) -> bool:
        chance = _CHANCES[fault]
        if chance in (0.0, 1.0):  # what always is so is no news
            return super().strikes(fault, *names) or bool(chance)
        is_struck = self._random.random() < chance
        if is_struck:
            self._note(fault, names[0])
        return super().strikes(fault, *names) or is_struck

    def choose(self, count: int) -> int:
        return self._random.randrange(count)

    def up_to(self, seconds: float) -> float:
        return self._random.uniform(0.0, seconds)


def read_unkind(text: str) -> Unkind:
    """Return what the environment variable asks for: parts with `;` between them; empty for nothing.

    A part is `FAULT [TARGET [N]]`, a seed, or `faster N`. TARGET is a pattern (`*` unless given), N the passing (1
    unless given) or `each`. Raises `SettingsError`.
    """
    parts = [part.split() for part in text.split(";") if part.strip()]
    seeds = [words for words in parts if len(words) == 1 and words[0].isdecimal()]
    paces = [words[1] if len(words) == 2 else "" for words in parts if words[0] == FASTER]
    if len(seeds) > 1 or len(paces) > 1 or any(not pace.isdecimal() or not int(pace) for pace in paces):
        raise SettingsError(f"{VARIABLE} is {text!r}; give at most one seed and one '{FASTER} N', N from 1.")
    faster = float(paces[0]) if paces else 1.0
    unkind = Seeded(int(seeds[0][0]), faster) if seeds else Armed(faster)
    for words in parts:
        if words[0] != FASTER and words not in seeds:
            _arm(unkind, words)
    return unkind if parts else KIND


def _arm(unkind: Armed, words: Sequence[str]) -> None:
    name, target, nth, *more = [*words, *("*", "1")[len(words) - 1 :]]
    if more or name not in [fault.value for fault in Fault] or not (nth == EACH or nth.isdecimal()):
        faults = ", ".join(fault.value for fault in Fault)
        raise SettingsError(
            f"{VARIABLE} has {' '.join(words)!r}; give FAULT, FAULT TARGET or FAULT TARGET N. N is a number or "
            f"'{EACH}', and the faults are {faults}."
        )
    unkind.arm(Fault(name), target, None if nth == EACH else int(nth))
