"""The JSON bodies of what one owner has: who they are, what is stored of them, what agents remember."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from hosting.http.bodies import Erasure, Export
from hosting.http.schedule_routes import ShownSchedule


class Me(TypedDict):
    """Who asks, and the name that their threads lie under."""

    owner: str
    issuer: str
    id: str
    name: str | None
    roles: list[str]


class ShownFact(TypedDict):
    """Something that an agent remembers of the caller since `at` (RFC 3339).

    The run of that thread learnt it; both are null where a person wrote it.
    """

    fact_id: str
    text: str
    at: str
    thread_id: str | None
    run_id: str | None


class FactList(TypedDict):
    """What an agent remembers of the caller, the oldest first."""

    facts: list[ShownFact]


class OwnerExport(TypedDict):
    """A part of everything that is kept about an owner; `next_cursor` asks for the next one.

    The first part has all schedules, and what each agent remembers, by its name.
    """

    owner: str
    schedules: list[ShownSchedule]
    memories: dict[str, list[ShownFact]]
    threads: list[Export]
    next_cursor: str | None


class OwnerErasure(TypedDict):
    """The receipts of an owner's threads that are gone; while the status is "accepted", some are not yet.

    `unreached` are the agents of these that the app does not have now: what their own context providers keep elsewhere
    was not erased.
    """

    owner: str
    status: Literal["deleted", "accepted"]
    threads: list[Erasure]
    unreached: NotRequired[list[str]]
