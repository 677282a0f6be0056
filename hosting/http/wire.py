"""A wire: another protocol over the same service, so that its official clients can call the agents.

Theory. A wire is a fold of the thread's log, as our own frames are one: it starts, follows and ends runs by the verbs
of the service, and keeps nothing of its own. One function serves all of it, below a path that no other route has. Its
operations are routes to the app, which asks who sends each request as it does on its own. What is refused anywhere has
the wire's own shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from hosting.errors import HostingError
from hosting.http.replies import Reply, Streamed
from hosting.http.route import Route
from hosting.ports import EntityClient
from hosting.principal import Caller
from hosting.request.run_call import RawRequest

T = TypeVar("T")


class UnknownPathError(HostingError, code="unknown_url", status=404):
    """A path that the protocol does not have, or that this app does not serve."""


class WireRequest(Protocol):
    """A request with a known sender; `route` is the requested operation of the wire."""

    @property
    def client(self) -> EntityClient:
        """The client that signals entities."""

    @property
    def caller(self) -> Caller:
        """The sender, and the owner of the threads."""

    @property
    def route(self) -> Route:
        """The operation."""

    @property
    def base_url(self) -> str:
        """The origin and route prefix by which the caller reached the app."""

    @property
    def query(self) -> Mapping[str, str]:
        """The query's parameters."""

    async def parsed(self, parse: Callable[[RawRequest], T]) -> T:
        """Return the result of `parse` for headers, query and body."""


class Wire(Protocol):
    """One protocol. `function` serves every `method` of each path below `path`."""

    function: str
    path: str

    def route_of(self, method: str, path: str) -> Route:
        """Return the operation; raises a `HostingError` for a path or a method that the wire does not have."""

    async def reply(self, request: WireRequest, path: str) -> Reply | Streamed:
        """Return the answer of an operation; raises as the verbs of the service do."""

    def refusal(self, error: HostingError) -> Reply:
        """Return an error in the wire's own shape."""
