"""The common part of all HTTP triggers: the request as the library takes it, and a response to every failure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

import azure.durable_functions as df
import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request, Response, StreamingResponse
from msgspec import Struct, field
from starlette.requests import ClientDisconnect

from hosting.core.hooks import ANSWER_HEADERS
from hosting.core.outcome import RunIds
from hosting.errors import (
    HostingError,
    InternalError,
    MethodNotAllowedError,
    UnauthorizedError,
)
from hosting.feature import Feature, Wire
from hosting.functions.durable import DurableClient, enter_invocation
from hosting.functions.feature_entities import FeatureEntities
from hosting.http.access import Access, refuse_forms_of_other_sites
from hosting.http.answer_form import Form
from hosting.http.pings import PING_SECONDS, with_pings
from hosting.http.places import OF_WORKFLOWS, Mount
from hosting.http.refusals import TRY_AGAIN, later_headers
from hosting.http.replies import (
    Reply,
    Streamed,
    problem_reply,
    thread_headers,
    thread_ids,
)
from hosting.http.request import Bound, HttpRequest, Received, joined
from hosting.http.route import Header, Route
from hosting.invocation import Invocation, current_invocation, mark_task
from hosting.names import may_be_stored
from hosting.plan import AgentPlan, Plan
from hosting.principal import Caller

logger = logging.getLogger(__name__)

NO_STORE = {"cache-control": "no-store"}
"""Answers hold messages of persons and states of the moment; no cache on the way knows the keys that open them."""

T = TypeVar("T")


class Served(Struct, frozen=True):
    """The context of every route's registration: the app, its agents, the rules of access, the names of its
    `workflows`, its `features`, `routes` and `wires`, and the `entities` and `functions` of the durable engine that
    features have.

    A request that begins no run calls `watch`, so that a process which only follows runs knows when it is to end.
    """

    app: df.DFApp
    plan: Plan
    access: Access
    entities: FeatureEntities
    workflows: list[str] = field(default_factory=list)
    watch: Callable[[], None] = lambda: None
    features: Sequence[Feature] = ()
    routes: list[Route] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    wires: dict[str, Wire] = field(default_factory=dict)

    @property
    def mounts(self) -> list[Mount]:
        """The other places at which routes are served: those of workflows, and those that features add."""
        of_features = (mount for feature in self.features if feature.is_on for mount in feature.mounts())
        return [*((OF_WORKFLOWS,) if self.workflows else ()), *of_features]

    @property
    def link_names(self) -> list[str]:
        """The members of a listed agent that features add."""
        return [name for feature in self.features for name in feature.links]

    def links(self, agent: AgentPlan) -> dict[str, str | None]:
        """Return those of an agent: each path, with its name; None where it does not have the feature."""
        return {
            name: path.replace("{name}", quote(agent.name)) if agent.options.http and feature.has(agent) else None
            for feature in self.features
            for name, path in feature.links.items()
        }

    def rules_of(self, agent: AgentPlan) -> dict[str, Any]:
        """Return the rules of an agent that features add to its description."""
        return {name: rule for feature in self.features for name, rule in feature.rules_of(agent).items()}

    @property
    def gate_headers(self) -> dict[str, list[Header]]:
        """The headers that features add to answers to requests which begin runs, by the names of agents."""
        agents = self.plan.agents.values()
        return {each.name: [header for one in self.features for header in one.gate_headers(each)] for each in agents}


def function_of(served: Served, bound: Bound) -> Callable[..., Awaitable[Response]]:
    """Return the function of a trigger, which answers requests to a route by its handler."""
    reads = bound.route.method == "GET"

    async def serve(req: Request, client: Any, context: func.Context) -> Response:
        work = handled(served, bound, req, enter_invocation(client, context))
        return await respond(req, _while_there(req, work) if reads else work)

    return serve


async def handled(served: Served, bound: Bound, req: Request, client: DurableClient) -> Reply | Streamed:
    """Return the handler's reply to a request; raises a `HostingError` for one that it refuses."""
    if bound.route.method == "GET":
        served.watch()
    return await bound.handler(await admitted(served, req, client, bound.route))


async def admitted(served: Served, req: Request, client: DurableClient, route: Route) -> HttpRequest:
    """Return the request with its sender and the owner of the threads; raises `CrossSiteError`, and as `Access.of`."""
    refuse_forms_of_other_sites(route, req.headers)
    headers, query = joined(req.headers.items()), joined(req.query_params.multi_items())
    principal, owner, grant, epoch, shared = await served.access.of(route, headers, query, req.path_params)
    caller = Caller(client, principal, owner, grant, epoch)
    received = Received(req.url.scheme, req.url.path, headers, query, req.path_params, req.body, req.stream)
    return HttpRequest(received, route, served.plan, caller, shared)


async def respond(
    req: Request, work: Awaitable[Reply | Streamed], refusal: Callable[[HostingError], Reply] | None = None
) -> Response:
    """Return the response for the work's reply; a refusal as its problem, a defect of ours as 500 without its cause.

    A wire has a `refusal` of its own.
    """
    refused = refusal or partial(_refusal, req)
    ANSWER_HEADERS.set({})
    try:
        reply = await work
    except HostingError as error:
        reply = refused(error)
    except ClientDisconnect:
        logger.debug("A caller of %s disconnected before the answer.", req.url.path)
        reply = Reply(400, "", None)  # nobody reads it
    except Exception:
        logger.exception("A request to %s failed.", req.url.path)
        reply = refused(InternalError("The app failed on this request. Its log has the cause."))
    headers = {**ANSWER_HEADERS.get(), **NO_STORE, **reply.headers}
    if isinstance(reply, Streamed):
        headers["content-type"] = reply.media_type
        return StreamingResponse(_sent(reply, current_invocation()), reply.status, headers)
    return Response(reply.body, reply.status, headers, reply.media_type)


async def _while_there(req: Request, work: Awaitable[T]) -> T:
    """Return the result of the work; if the caller disconnects, end the work and raise `ClientDisconnect`.

    It is for work that only reads, which may take long, a list with many pages for instance, and serves nobody else.
    """
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_leave(req))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        leaving.result()
        raise ClientDisconnect
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _leave(req: Request) -> None:
    """Return once the caller has left."""
    with suppress(ClientDisconnect):
        await req.body()  # what has not been read of it comes first
        while (await req.receive())["type"] != "http.disconnect":
            pass


async def _sent(reply: Streamed, invocation: Invocation | None) -> AsyncIterator[bytes]:
    """Yield the frames, with pings where they are an event stream.

    The tasks that make and send them are the worker's web server's, which makes tasks for no invocation.
    """

    async def made() -> AsyncGenerator[bytes, None]:
        mark_task(invocation)
        async with aclosing(reply.frames):
            async for frame in reply.frames:
                yield frame

    frames = with_pings(made(), PING_SECONDS) if reply.is_event_stream else made()
    async with aclosing(frames):
        async for frame in frames:
            yield frame


def _refusal(req: Request, error: HostingError) -> Reply:
    """Return the problem, with the thread that the request named in its body or its path."""
    accept, sent = req.headers.get("accept", ""), req.headers.get("content-type", "")
    wants_text = accept.startswith("text/plain") or (accept in ("", "*/*") and sent.startswith("text/"))
    form: Form = "text" if wants_text else "json"
    headers = {"x-content-type-options": "nosniff"}
    match error:
        case MethodNotAllowedError():
            headers["allow"] = "POST"
        case UnauthorizedError():
            headers["www-authenticate"] = "Bearer"
        case _ if error.status in TRY_AGAIN:
            headers |= later_headers(error)
    thread_id = error.thread_id or req.path_params.get("thread_id", "")
    if not may_be_stored(thread_id):
        return problem_reply(error, form, headers)
    headers |= thread_headers(thread_id)
    if error.run_id is None or error.run_url is None:
        return problem_reply(error, form, headers, thread_ids(thread_id))
    headers |= {"x-ms-run-id": error.run_id, "location": error.run_url}
    known: RunIds = {**thread_ids(thread_id), "run_id": error.run_id, "correlation_id": error.run_id}
    return problem_reply(error, form, headers, known)
