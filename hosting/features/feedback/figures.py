"""The figures of feedback by day: one name for each, of which a reader makes counts.

Theory. A counter that many processes add to would count one twice when its process dies at the wrong moment. So nothing
is added. There is one name for each feedback, with its day, score and label in it, under the owner of the thread. A
replaced one has another name, and whoever put that removes the older. A reader who comes in between counts the newest.
No name says who gave it, on which run, or what anybody wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable

from msgspec import Struct

from hosting.features.feedback.records import Feedback, FeedbackKey
from hosting.http.verbs import NO_FEEDBACK, FeedbackDay
from hosting.names import Address, StoreKey, agent_in_key, store_space
from hosting.ports import ObjectStore

THOUSANDTHS = 1000
_MONTH = len("2026-01")
_DIGEST = 32


class _Mark(Struct, frozen=True):
    """One feedback as it counts: of `key` on a day of the month, such as `31`."""

    key: str
    day: str
    score: int
    label: str

    @classmethod
    def of(cls, name: str) -> _Mark:
        thread, one, day, score, label = name.split("-")
        return cls(f"{thread}-{one}", day, int(score), bytes.fromhex(label[1:]).decode())


class FeedbackMarks:
    """The figures of the app whose task hub is `hub`. Each method raises `AttachmentsUnavailableError`."""

    def __init__(self, attachments: ObjectStore, hub: str) -> None:
        self._attachments = attachments
        self._hub = hub

    async def of_days(self, agent: str, owner: str, days: Collection[str]) -> dict[str, FeedbackDay]:
        """Return the figures of those of these days (`2026-01-31`, UTC) on which any was given.

        One list of names is read for each month.
        """
        counted = dict[str, FeedbackDay]()
        for month in sorted({day[:_MONTH] for day in days}):
            names = await self._attachments.names(self._key(agent, owner, month))
            marks = {mark.key: mark for mark in map(_Mark.of, names)}  # the newest comes last
            for mark in marks.values():
                if (day := f"{month}-{mark.day}") in days:
                    labels = {mark.label: 1} if mark.label else {}
                    one = FeedbackDay(1, mark.score / THOUSANDTHS, labels)
                    counted[day] = counted.get(day, NO_FEEDBACK).plus(one)
        return counted

    async def count(self, key: FeedbackKey, day: str, feedback: Feedback | None) -> None:
        """Have a person's feedback count as it is now, in the month of that day; None: not at all."""
        store_key = self._key(key.address.agent, key.address.owner, day[:_MONTH])
        is_there = feedback is not None and feedback.day[:_MONTH] == day[:_MONTH]
        name = _name(key, feedback) if is_there and feedback is not None else None
        others = (await self._attachments.names(store_key, _prefix(key))).keys() - {name}
        if name is not None:
            await self._attachments.put(store_key, {name: b""})
        if others:
            await self._attachments.erase(store_key, others)

    async def erase_thread(self, address: Address, epoch: int, days: Iterable[str]) -> None:
        """Remove what that life of a thread has in the months of these days."""
        for month in sorted({day[:_MONTH] for day in days}):
            store_key = self._key(address.agent, address.owner, month)
            if names := await self._attachments.names(store_key, f"{_digest(address, epoch)}-"):
                await self._attachments.erase(store_key, names)

    def _key(self, agent: str, owner: str, month: str) -> StoreKey:
        return StoreKey(store_space(self._hub, "feedback"), f"{agent_in_key(agent.lower())}.{owner}/{month}")


def _digest(address: Address, epoch: int) -> str:
    return hashlib.sha256(json.dumps([address.key, epoch]).encode()).hexdigest()[:_DIGEST]


def _prefix(key: FeedbackKey) -> str:
    return f"{_digest(key.address, key.epoch)}-{key.digest}-"


def _name(key: FeedbackKey, feedback: Feedback) -> str:
    day, label = feedback.day[_MONTH + 1 :], (feedback.label or "").encode().hex()
    return f"{_prefix(key)}{day}-{round(feedback.score * THOUSANDTHS)}-x{label}"
