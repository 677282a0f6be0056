"""What all HTTP triggers share: a request as the library takes it, and an answer whatever goes wrong."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

import azure.durable_functions as df
import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request, Response, StreamingResponse

from hosting.errors import (
    HostingError,
    InternalError,
    MethodNotAllowedError,
    UnknownAgentError,
    UnknownApprovalError,
    UnknownRunError,
    UnknownThreadError,
)
from hosting.functions.client import DurableEntityClient
from hosting.identity import is_id
from hosting.plan import AgentPlan, Plan
from hosting.ports import EntityClient
from hosting.process.invocation import Invocation, begin_invocation, current_invocation, mark_task
from hosting.reply.routes import Route
from hosting.reply.run_replies import (
    RETRY_AFTER_SECONDS,
    TRY_AGAIN,
    Reply,
    Streamed,
    problem_reply,
    thread_headers,
    thread_ids,
)
from hosting.request.negotiation import Form
from hosting.request.run_call import Call

logger = logging.getLogger(__name__)

_MOST_BYTES_ON_THE_LOOP = 1024
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]+\Z")

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A request to one of the routes, and the durable client of its invocation."""

    request: Request
    client: EntityClient
    route: Route

    async def call(self) -> Call:
        """Return the request free of the web framework, its body read."""
        return Call(_joined(self.request.headers.items()), self.query, await self.request.body(), self.base_url)

    @property
    def query(self) -> Mapping[str, str]:
        """The query's parameters, repeated ones joined by a comma."""
        return _joined(self.request.query_params.multi_items())

    @property
    def base_url(self) -> str:
        """The origin and route prefix by which the caller reached us, from the forwarded headers; no `/` at the end.

        In FastAPI mode the request comes through the worker's own server, whose address is of no use to the caller.
        """
        req = self.request
        prefix = "/".join(req.url.path.rstrip("/").split("/")[: -(self.route.path.count("/") + 1)])
        host = req.headers.get("x-forwarded-host") or req.headers.get("host", "")
        proto = req.headers.get("x-forwarded-proto") or req.url.scheme
        return f"{proto}://{host}{prefix}" if _HOST.match(host) and proto in ("http", "https") else prefix

    def agent(self, plan: Plan) -> AgentPlan:
        """Return the agent that the path names; raises `UnknownAgentError` when it has no HTTP endpoint."""
        return named_agent(self.request, plan)

    @property
    def thread_id(self) -> str:
        """The thread id that the path names; raises `UnknownThreadError` for what no thread is called."""
        thread_id: str = self.request.path_params["thread_id"]
        if not is_id(thread_id):
            raise UnknownThreadError(f"There is no thread {thread_id[:80]!r}.")
        return thread_id

    @property
    def run_id(self) -> str:
        """The run id that the path names; raises `UnknownRunError` for what no run is called."""
        run_id: str = self.request.path_params["run_id"]
        if not is_id(run_id):
            raise UnknownRunError(f"There is no run {run_id[:80]!r}.")
        return run_id

    @property
    def approval_id(self) -> str:
        """The approval id that the path names; raises `UnknownApprovalError` for what no approval is called."""
        approval_id: str = self.request.path_params["approval_id"]
        if not is_id(approval_id):
            raise UnknownApprovalError(f"There is no approval {approval_id[:80]!r}.")
        return approval_id


Handler = Callable[[Asked], Awaitable[Reply | Streamed]]


def register_route(app: df.DFApp, route: Route, handler: Handler, *, path: str | None = None) -> None:
    """Register the handler as an HTTP trigger with a durable client; `path` takes the place of the route's own."""

    async def serve(req: Request, client: Any) -> Response:
        begin_invocation()
        return await answer(req, lambda: handler(Asked(req, DurableEntityClient(client), route)))

    level = {"auth_level": func.AuthLevel.ANONYMOUS} if route.is_anonymous else {}
    trigger = app.route(route=path or route.path, methods=[route.method], **level)
    app.function_name(route.function)(trigger(app.durable_client_input(client_name="client")(serve)))


async def parsed(call: Call, parse: Callable[[], T]) -> T:
    """Return what `parse` makes of a call: of a large body in a thread, so that other requests do not wait for it."""
    return parse() if len(call.body) <= _MOST_BYTES_ON_THE_LOOP else await asyncio.to_thread(parse)


def named_agent(req: Request, plan: Plan) -> AgentPlan:
    """Return the agent that the path names; raises `UnknownAgentError` when it has no HTTP endpoint."""
    name = req.path_params["name"]
    planned = plan.find(name)
    if planned is None or not planned.http:
        known = ", ".join(each.name for each in plan.agents.values() if each.http) or "none"
        raise UnknownAgentError(f"There is no agent {name[:80]!r} here. Agents: {known}.")
    return planned


async def answer(req: Request, work: Callable[[], Awaitable[Reply | Streamed]]) -> Response:
    """Return what `work` replies; a refusal as its problem, a defect of ours as 500 without its cause."""
    try:
        reply = await work()
    except HostingError as error:
        reply = _refusal(req, error)
    except Exception:
        logger.exception("A request to %s failed.", req.url.path)
        reply = _refusal(req, InternalError("The app failed on this request; the cause is in its log."))
    if isinstance(reply, Streamed):
        return StreamingResponse(
            _sent(reply.frames, current_invocation()), 200, {**reply.headers, "content-type": "text/event-stream"}
        )
    return Response(reply.body, reply.status, dict(reply.headers), reply.media_type)


async def _sent(frames: AsyncGenerator[bytes, None], invocation: Invocation | None) -> AsyncIterator[bytes]:
    """Yield the frames to the task that sends them, which is none of the invocation's by itself."""
    mark_task(invocation)
    async with aclosing(frames):
        async for frame in frames:
            yield frame


def _joined(items: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return each name once; repeated ones joined by a comma, as HTTP joins headers, so that no value is dropped."""
    given: dict[str, list[str]] = {}
    for name, value in items:
        given.setdefault(name, []).append(value)
    return {name: ",".join(values) for name, values in given.items()}


def _error_form(req: Request) -> Form:
    accept, sent = req.headers.get("accept", ""), req.headers.get("content-type", "")
    wants_text = accept.startswith("text/plain") or (accept in ("", "*/*") and sent.startswith("text/"))
    return "text" if wants_text else "json"


def _refusal(req: Request, error: HostingError) -> Reply:
    """Return the problem, with the thread that the request named in its body or its path."""
    named = error.thread_id or req.path_params.get("thread_id", "")
    if not is_id(named):
        return problem_reply(error, _error_form(req), _error_headers(error))
    headers = {**_error_headers(error), **thread_headers(named)}
    return problem_reply(error, _error_form(req), headers, thread_ids(named))


def _error_headers(error: HostingError) -> dict[str, str]:
    told = {"x-content-type-options": "nosniff"}
    if isinstance(error, MethodNotAllowedError):
        return {**told, "allow": "POST"}
    return {**told, "retry-after": str(RETRY_AFTER_SECONDS)} if error.status in TRY_AGAIN else told
