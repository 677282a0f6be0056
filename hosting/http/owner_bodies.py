"""The JSON bodies about one owner: their identity, and their stored data."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from hosting.http.bodies import Erasure, Export


class Me(TypedDict):
    """The caller, and the name of the owner of their threads."""

    owner: str
    issuer: str
    id: str
    name: str | None
    roles: list[str]


class OwnerExport(TypedDict):
    """A page of everything stored about an owner; `next_cursor` reads the next page.

    The first page has all that is stored besides the threads.
    """

    owner: str
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
