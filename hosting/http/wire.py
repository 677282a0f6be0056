"""A wire: another protocol over the same service, so that its official clients can call the agents.

Theory. A wire is a fold of the thread's log, as our own frames are one: it starts, follows and ends runs by the verbs
of the service, and keeps nothing of its own. One function serves all of it, below a path that no other route has. Its
operations are routes to the app, which asks who sends each request as it does on its own. What is refused anywhere has
the wire's own shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from hosting.errors import HostingError
from hosting.http.parameters import in_path
from hosting.http.replies import Reply, Streamed
from hosting.http.request import HttpRequest
from hosting.http.route import Route

T = TypeVar("T")
AGENT_ID = in_path("id", "The agent.", pattern=None)
"""Where a protocol names an agent by an id; the document has the names of those that are served."""


class UnknownPathError(HostingError, code="unknown_url", status=404):
    """A path that the protocol does not have, or that this app does not serve."""


@dataclass(frozen=True)
class WireOperation:
    """An operation of a wire for the OpenAPI document, with the JSON Schemas of its body and of its answer in outline.

    Without an `answer` it only streams. `limited` are the statuses of answers that have the headers of a limit.
    """

    route: Route
    answer: dict[str, Any] | None
    body: dict[str, Any] | None = None
    streams: bool = False
    limited: Sequence[int] = ()


@dataclass(frozen=True)
class WireDocument:
    """A wire's part of the OpenAPI document: the schema of its refusals, and its operations by the served agents."""

    refused: dict[str, Any]
    operations: Callable[[Sequence[str]], Iterable[WireOperation]]


class Wire(Protocol):
    """One protocol. `function` serves every `method` of each path below `path`."""

    function: str
    path: str
    document: WireDocument

    def route_of(self, method: str, path: str) -> Route:
        """Return the operation; raises a `HostingError` for a path or a method that the wire does not have."""

    async def reply(self, request: HttpRequest, path: str) -> Reply | Streamed:
        """Return the answer of an operation; raises as the verbs of the service do."""

    def refusal(self, error: HostingError) -> Reply:
        """Return an error in the wire's own shape."""
