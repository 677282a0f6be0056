"""The JSON bodies about one owner: their identity, their stored data, and the facts that agents remember."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from hosting.http.bodies import Erasure, Export
from hosting.http.schedule_routes import ShownSchedule


class Me(TypedDict):
    """The caller, and the name of the owner of their threads."""

    owner: str
    issuer: str
    id: str
    name: str | None
    roles: list[str]


class ShownFact(TypedDict):
    """A fact that an agent remembers about the caller since `at` (RFC 3339).

    The run and thread in which the agent learned it are null if a person wrote it.
    """

    fact_id: str
    text: str
    at: str
    thread_id: str | None
    run_id: str | None


class FactList(TypedDict):
    """The facts that an agent remembers about the caller, oldest first."""

    facts: list[ShownFact]


class OwnerExport(TypedDict):
    """A page of everything stored about an owner; `next_cursor` reads the next page.

    The first page has all schedules and, by agent, all remembered facts.
    """

    owner: str
    schedules: list[ShownSchedule]
    memories: dict[str, list[ShownFact]]
    threads: list[Export]
    next_cursor: str | None


class OwnerErasure(TypedDict):
    """The receipts of an owner's deleted threads; the status is "accepted" until all are deleted.

    `unreached` are the agents of these threads that the app no longer has: data that their own context providers
    stored elsewhere was not erased.
    """

    owner: str
    status: Literal["deleted", "accepted"]
    threads: list[Erasure]
    unreached: NotRequired[list[str]]
