"""One HTTP route as a value: what it takes, what it may answer, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from hosting import errors
from hosting.request.pages import Parameter


@dataclass(frozen=True)
class Header:
    """A header of an answer. Where it is not `always` sent, `description` has when."""

    name: str
    description: str
    type: Literal["string", "integer"] = "string"
    always: bool = True


@dataclass(frozen=True)
class ResponseSpec:
    """One status of a route, and the type of its JSON `body`, None for no body.

    With `or_text` a caller may prefer text, with `or_events` an event stream.
    """

    status: int
    description: str
    body: Any = None
    headers: tuple[Header, ...] = ()
    or_text: bool = False
    or_events: bool = False


Refusals = tuple[type[errors.HostingError], ...]


@dataclass(frozen=True)
class Route:
    """A verb on a path, the function that serves it, and its contract.

    One that `is_anonymous` asks for no key. One that `is_for_all` is about the app and nobody's threads: where the app
    wants to know the caller, it does not ask there. `needs` is what those with whom a thread is shared must be allowed
    to do: "own" is for its owner alone, "admin" for administrators.
    """

    function: str
    method: Literal["GET", "HEAD", "POST", "DELETE"]
    path: str
    description: str
    answers: tuple[ResponseSpec, ...] = field(hash=False)
    refusals: Refusals = ()
    query: tuple[Parameter, ...] = ()
    is_anonymous: bool = False
    is_for_all: bool = False
    needs: Literal["read", "run", "own", "admin"] = "read"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def ok(description: str, body: Any, headers: tuple[Header, ...] = ()) -> tuple[ResponseSpec, ...]:
    """Return the answers of a route that has one, of 200."""
    return (ResponseSpec(200, description, body, headers),)
