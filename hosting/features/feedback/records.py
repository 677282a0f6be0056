"""The records of feedback: one for each person and run, among the attachments of the run's thread.

Theory. A record has its author in its name, so two people who write at once change two records, and a second one by the
same person replaces the first. It lies under the life of its thread, so it goes with the thread, and a fork has none.

What a person gave on threads of others is known besides by a name under the person's own key: an erasure of the person
finds it there. That name is put before the record, so no record is without one.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from hosting.core.thread_log import epoch_store_key
from hosting.names import Address, StoreKey, store_space
from hosting.ports import ObjectStore, iso

RECORD = "feedback-"
"""How the names of records begin among the attachments of their thread."""


class Author(BaseModel):
    """The signed-in person who gave it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    issuer: str
    id: str
    name: str | None = None


class Feedback(BaseModel):
    """One person's feedback on a run. `id` is another one after each change; times are seconds since 1970.

    `first` is the position of the run's first event in the log. Members of a newer version are written back.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    run_id: str
    author: str
    by: Author | None = None
    first: int
    score: float
    label: str | None = None
    comment: str | None = None
    at: float
    changed_at: float

    def says(self, other: Feedback) -> bool:
        """Whether both say the same."""
        return (self.score, self.label, self.comment) == (other.score, other.label, other.comment)

    @property
    def day(self) -> str:
        """The day (UTC) on which the person gave it first: it counts there, also when it is replaced later."""
        return iso(self.at)[: len("2026-01-31")]


class FeedbackKey(Struct, frozen=True):
    """Whose feedback on which run, in that `epoch` of the thread."""

    address: Address
    epoch: int
    run_id: str
    author: str

    @property
    def name(self) -> str:
        """The record's name among those of its thread. No author has a dash."""
        return f"{RECORD}{self.run_id}-{self.author}"

    @property
    def digest(self) -> str:
        """A name for it where the names of runs and people are not to stand."""
        named = json.dumps([self.address.key, self.epoch, self.run_id, self.author])
        return hashlib.sha256(named.encode()).hexdigest()[:32]

    def fields(self) -> dict[str, Any]:
        """Return it as messages and names of the author's carry it."""
        key = self.address.entity[1]
        fields = {"agent": self.address.agent, "thread_id": key, "epoch": self.epoch}
        return {**fields, "run_id": self.run_id, "author": self.author}

    @classmethod
    def of(cls, fields: Any) -> FeedbackKey | None:
        """Return the key with these fields, None for other values."""
        match fields:
            case {
                "agent": str(agent),
                "thread_id": str(key),
                "epoch": int(epoch),
                "run_id": str(run_id),
                "author": str(author),
            }:
                return cls(Address.of_entity(agent, key), epoch, run_id, author)
        return None


class FeedbackRecords:
    """The records of the app whose task hub is `hub`. Each method raises `AttachmentsUnavailableError`."""

    def __init__(self, attachments: ObjectStore, hub: str) -> None:
        self._attachments = attachments
        self._hub = hub

    async def read(self, key: FeedbackKey) -> Feedback | None:
        """Return the record, None where there is none."""
        stored = await self._attachments.read(self._store_key(key.address, key.epoch), [key.name])
        return Feedback.model_validate_json(stored[key.name]) if key.name in stored else None

    async def of_thread(self, address: Address, epoch: int, run_id: str | None = None) -> list[Feedback]:
        """Return those of that life of a thread, or of one run of it; the longest unchanged first."""
        store_key = self._store_key(address, epoch)
        of_run = "" if run_id is None else f"{run_id}-"
        names = list(await self._attachments.names(store_key, RECORD + of_run))
        if run_id is not None:  # the id of another run may begin with it
            names = [name for name in names if "-" not in name.removeprefix(RECORD + of_run)]
        stored = await self._attachments.read(store_key, names) if names else {}
        return [Feedback.model_validate_json(stored[name]) for name in names if name in stored]

    async def put(self, key: FeedbackKey, feedback: Feedback) -> None:
        """Store it, replacing an earlier one of the same person; first that it is there, on a thread of others."""
        if key.author != key.address.owner:
            await self._attachments.put(
                given_key(self._hub, key.author), {key.digest: json.dumps(key.fields()).encode()}
            )
        store_key = self._store_key(key.address, key.epoch)
        await self._attachments.put(store_key, {key.name: feedback.model_dump_json().encode()})

    async def erase(self, key: FeedbackKey) -> None:
        """Remove it, and then the name under which it is known; again changes nothing."""
        await self._attachments.erase(self._store_key(key.address, key.epoch), [key.name])
        await self.unlist(key)

    async def unlist(self, key: FeedbackKey) -> None:
        """Remove the name under which the person's feedback is known, if it is on a thread of others."""
        if key.author != key.address.owner:
            await self._attachments.erase(given_key(self._hub, key.author), [key.digest])

    async def given_by(self, author: str) -> list[FeedbackKey]:
        """Return which feedback the person gave on threads of others."""
        store_key = given_key(self._hub, author)
        names = list(await self._attachments.names(store_key))
        stored = await self._attachments.read(store_key, names) if names else {}
        keys = (FeedbackKey.of(json.loads(stored[name])) for name in names if name in stored)
        return [key for key in keys if key is not None]

    def _store_key(self, address: Address, epoch: int) -> StoreKey:
        return epoch_store_key(self._hub, address, epoch)


def given_key(hub: str, author: str) -> StoreKey:
    """Return where the names of a person's feedback on threads of others stand. No agent's name has a slash."""
    return StoreKey(store_space(hub, "feedback"), f"given/{author}")
