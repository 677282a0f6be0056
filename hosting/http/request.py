"""A request to a route, free of any web framework, and the handler that answers it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from msgspec import Struct

from hosting.errors import HostingError, UnknownApprovalError, UnknownRunError, UnknownThreadError
from hosting.http.replies import Reply, Streamed
from hosting.http.route import Route
from hosting.http.run_call import RawRequest
from hosting.names import Address, is_id, may_be_stored
from hosting.plan import AgentPlan, Plan
from hosting.principal import Caller
from hosting.strict_json.slow_reads import read_aside

T = TypeVar("T")
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]+\Z")


class Received(Struct, frozen=True):
    """The parts of a request as the web framework has them.

    Header names are lower case; `headers` and `query` have repeated values joined by a comma, so that none is dropped.
    `path_params` are the parts of the path that the caller chose. The body is read once: whole, or in `chunks`.
    """

    scheme: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    path_params: Mapping[str, str]
    body: Callable[[], Awaitable[bytes]]
    chunks: Callable[[], AsyncIterator[bytes]] | None = None


class HttpRequest(Struct, frozen=True, dict=True):
    """A request to a route, with the app's agents, and its sender.

    `shared` is the thread that a grant in the path opens.
    """

    received: Received
    route: Route
    plan: Plan
    caller: Caller
    shared: Address | None = None

    async def parsed(self, parse: Callable[[RawRequest], T]) -> T:
        """Return the result of `parse` for headers, query and body, so that others continue meanwhile."""
        body = await self.received.body()
        raw = RawRequest(self.received.headers, self.received.query, body)
        return await read_aside(len(body), lambda: parse(raw))

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes: no process holds it whole."""
        if self.received.chunks is None:
            yield await self.received.body()
            return
        async for chunk in self.received.chunks():
            yield chunk

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, by their names in lower case."""
        return self.received.headers

    @property
    def query(self) -> Mapping[str, str]:
        """The query's parameters."""
        return self.received.query

    @cached_property
    def base_url(self) -> str:
        """The origin and route prefix by which the caller reached us, from the forwarded headers; no `/` at the end.

        In FastAPI mode the request comes through the worker's own server, whose address is of no use to the caller.
        """
        received = self.received
        prefix = "/".join(received.path.rstrip("/").split("/")[: -(self.route.path.count("/") + 1)])
        # Each proxy on the way may have added to them; the first value is the caller's.
        names = (received.headers.get(name, "") for name in ("x-forwarded-host", "x-forwarded-proto"))
        host, proto = (name.partition(",")[0].strip() for name in names)
        host, proto = host or received.headers.get("host", ""), proto or received.scheme
        return f"{proto}://{host}{prefix}" if _HOST.match(host) and proto in ("http", "https") else prefix

    @property
    def agent(self) -> AgentPlan:
        """The agent that the path names; raises `UnknownAgentError` when it has no HTTP endpoint."""
        if self.shared is not None:
            return self.plan.served(self.shared.agent)
        name = self.route.place.agent or self.received.path_params.get("name")
        return self.plan.served(name or "", self.route.place.kind, of_thread="{thread_id}" in self.route.path)

    @property
    def agent_url(self) -> str:
        """The URL of the agent or workflow that the path names; raises as `agent` does."""
        return f"{self.base_url}/{self.agent.kind}s/{quote(self.agent.name)}"

    @property
    def address(self) -> Address:
        """The thread in the path, as one of the caller; raises as `agent` and `thread_id` do."""
        if self.shared is not None:
            return self.shared
        return Address.of(self.agent.name, self.thread_id, self.caller.owner)

    def thread_url(self, agent: AgentPlan, thread_id: str) -> str:
        """Return where the caller finds that thread."""
        if self.shared is not None:
            return f"{self.base_url}/shared/{self.caller.grant}"
        return f"{self.base_url}/{agent.kind}s/{quote(agent.name)}/threads/{quote(thread_id, safe='@:')}"

    @property
    def thread_id(self) -> str:
        """The thread id in the path; raises `UnknownThreadError` for an invalid id."""
        if self.shared is not None:
            return self.shared.thread_id
        value = self.received.path_params["thread_id"]
        if not may_be_stored(value, self.caller.owner):
            raise UnknownThreadError(f"There is no thread {value[:80]!r}.")
        return value

    @property
    def run_id(self) -> str:
        """The run id in the path; raises `UnknownRunError` for an invalid id."""
        return self.id("run", UnknownRunError)

    @property
    def approval_id(self) -> str:
        """The approval id in the path; raises `UnknownApprovalError` for an invalid id."""
        return self.id("approval", UnknownApprovalError)

    def id(self, kind: str, refusal: type[HostingError]) -> str:
        """Return the id in the path that is named after its kind; raise the refusal for an invalid one."""
        value = self.received.path_params[f"{kind}_id"]
        if not is_id(value):
            raise refusal(f"There is no {kind} {value[:80]!r}.")
        return value


Handler = Callable[[HttpRequest], Awaitable[Reply | Streamed]]


class Bound(NamedTuple):
    """A route and the handler of its requests."""

    route: Route
    handler: Handler


def late(routes: Iterable[Route], bound: Callable[[], Iterable[Bound]]) -> Sequence[Bound]:
    """Return the routes with the handlers that `bound` gives each of them. It is called at the first request.

    So a start has none of the modules that handlers need: `bound` imports them.
    """
    handlers = cache(lambda: dict(bound()))

    def at_request(route: Route) -> Handler:
        async def handle(request: HttpRequest) -> Reply | Streamed:
            return await handlers()[route](request)

        return handle

    return [Bound(route, at_request(route)) for route in routes]


class Unshown(dict[str, str]):
    """Values by name, whose text has the names alone: keys and tokens are among the values."""

    def __repr__(self) -> str:
        return f"<values of {', '.join(self)}>"


def joined(items: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return each name once, repeated ones joined by a comma as HTTP joins headers, so that no value is dropped."""
    by_name: dict[str, list[str]] = {}
    for name, value in items:
        by_name.setdefault(name, []).append(value)
    return Unshown((name, ",".join(values)) for name, values in by_name.items())
