"""The HTTP triggers: `http-<agent>` starts runs, two shared functions read a run and refuse what no agent serves."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import azure.durable_functions as df
from azurefunctions.extensions.http.fastapi import Request, Response

from hosting.errors import HostingError, InternalError, MethodNotAllowedError, UnknownAgentError, UnknownRunError
from hosting.functions.client import DurableEntityClient
from hosting.identity import is_id
from hosting.limits import limits_of
from hosting.names import http_function
from hosting.negotiation import Form
from hosting.plan import AgentPlan, Plan
from hosting.ports import EntityClient
from hosting.replies import RETRY_AFTER_SECONDS, Reply, problem_reply, run_reply, status_reply
from hosting.requests import Call, parse_run
from hosting.runs import Runs
from hosting.settings import Settings

logger = logging.getLogger(__name__)

RUN_ROUTE = "agents/{name}/run"
STATUS_ROUTE = "agents/{name}/threads/{thread_id}/runs/{run_id}"
_TRY_AGAIN = (409, 429, 503)
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]+\Z")


def register_agent(app: df.DFApp, plan: AgentPlan, runs: Runs, settings: Settings) -> None:
    """Register `POST agents/<name>/run` of one agent as the function `http-<name>`."""

    async def run(req: Request, client: Any) -> Response:
        return await _answer(req, lambda: start_run(req, plan, runs, settings, DurableEntityClient(client)))

    app.function_name(http_function(plan.name))(
        app.route(route=f"agents/{plan.name}/run", methods=["POST"])(
            app.durable_client_input(client_name="client")(run)
        )
    )


def register_shared(app: df.DFApp, plan: Plan, runs: Runs) -> None:
    """Register the run's status route, and the answer to `run` routes that no agent has (its name sorts behind)."""

    async def run_status(req: Request, client: Any) -> Response:
        return await _answer(req, lambda: read_run(req, plan, runs, DurableEntityClient(client)))

    async def no_such_run_route(req: Request) -> Response:
        return await _answer(req, lambda: refuse_run_route(req, plan))

    app.function_name("http_run_status")(
        app.route(route=STATUS_ROUTE, methods=["GET"])(app.durable_client_input(client_name="client")(run_status))
    )
    app.function_name("http_unknown_agent")(app.route(route=RUN_ROUTE)(no_such_run_route))


async def start_run(req: Request, plan: AgentPlan, runs: Runs, settings: Settings, client: EntityClient) -> Reply:
    """Answer `POST agents/<agent>/run` (http-api.md section 2)."""
    call = await _call(req)
    asked = parse_run(call, plan.name, limits_of(plan.agent, settings))
    attached = await runs.start(plan.name, asked, client)
    record = attached.record
    if asked.wait.answer:
        longest = settings.wait_seconds
        seconds = longest if asked.wait.seconds is None else min(longest, asked.wait.seconds)
        record = await runs.wait(record, client, seconds)
    extra = {"Idempotency-Replayed": "true"} if attached.replayed else {}
    if asked.wait.applied:
        extra["Preference-Applied"] = asked.wait.applied
    return run_reply(record, asked.form, call.base_url, extra)


async def read_run(req: Request, plan: Plan, runs: Runs, client: EntityClient) -> Reply:
    """Answer `GET agents/<agent>/threads/<thread>/runs/<run>` (http-api.md section 3)."""
    name, thread_id, run_id = (req.path_params[key] for key in ("name", "thread_id", "run_id"))
    planned = plan.find(name)
    if planned is None or not planned.http:
        raise _unknown_agent(name, plan)
    if not is_id(thread_id) or not is_id(run_id):
        raise UnknownRunError(f"There is no run {run_id[:80]!r} on thread {thread_id[:80]!r}.")
    return status_reply(await runs.find(planned.name, thread_id, run_id, client), base_url(req))


async def refuse_run_route(req: Request, plan: Plan) -> Reply:
    """Answer a `run` route that no agent serves: 405 for another verb than POST, else 404."""
    name = req.path_params["name"]
    planned = plan.find(name)
    if planned is None or not planned.http:
        raise _unknown_agent(name, plan)
    raise MethodNotAllowedError(f"{req.method} is not served here. Send POST agents/{planned.name}/run.")


def base_url(req: Request) -> str:
    """Return the origin and route prefix by which the caller reached us, from the forwarded headers; no `/` at the end.

    In FastAPI mode the request comes through the worker's own server, whose address is of no use to the caller.
    """
    prefix = (
        req.url.path.rpartition("/agents/")[0] if "/threads/" not in req.url.path else req.url.path.split("/agents/")[0]
    )
    host = req.headers.get("x-forwarded-host") or req.headers.get("host", "")
    proto = req.headers.get("x-forwarded-proto") or req.url.scheme
    return f"{proto}://{host}{prefix}" if _HOST.match(host) and proto in ("http", "https") else prefix


async def _answer(req: Request, work: Callable[[], Awaitable[Reply]]) -> Response:
    try:
        reply = await work()
    except HostingError as error:
        reply = problem_reply(error, _error_form(req), _error_headers(error))
    except Exception:
        logger.exception("A request to %s failed.", req.url.path)
        reply = problem_reply(
            InternalError("The app failed on this request; the cause is in its log."), _error_form(req)
        )
    return _response(reply)


async def _call(req: Request) -> Call:
    query = _joined(req.query_params.multi_items())
    return Call(_joined(req.headers.items()), query, await req.body(), base_url(req))


def _joined(items: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return each name once; repeated ones joined by a comma, as HTTP joins headers, so that no value is dropped."""
    joined: dict[str, str] = {}
    for name, value in items:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _response(reply: Reply) -> Response:
    return Response(reply.body, reply.status, dict(reply.headers), reply.media_type)


def _error_form(req: Request) -> Form:
    accept, sent = req.headers.get("accept", ""), req.headers.get("content-type", "")
    wants_text = accept.startswith("text/plain") or (accept in ("", "*/*") and sent.startswith("text/"))
    return "text" if wants_text else "json"


def _error_headers(error: HostingError) -> dict[str, str]:
    if isinstance(error, MethodNotAllowedError):
        return {"allow": "POST"}
    return {"retry-after": str(RETRY_AFTER_SECONDS)} if error.status in _TRY_AGAIN else {}


def _unknown_agent(name: str, plan: Plan) -> UnknownAgentError:
    known = ", ".join(planned.name for planned in plan.agents.values() if planned.http) or "none"
    return UnknownAgentError(f"There is no agent {name[:80]!r} here. Agents: {known}.")
