"""The OpenAPI 3.1 document of an app: exactly the routes that it serves.

It is made from what the app itself goes by: the routes, the tables of parameters and fields, the types of the bodies.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from hosting.errors import (
    RUN_ERRORS,
    CrossSiteError,
    ForbiddenError,
    HostingError,
    IdentityUnavailableError,
    InternalError,
    LimitExceededError,
    ThreadBusyError,
    UnauthorizedError,
)
from hosting.http.body_document import THREAD_TEXT, input_body, json_object, run_body, schedule_body, thread_id_schema
from hosting.http.deliveries import WEBHOOK_ROUTES, WORKFLOW_WEBHOOK_ROUTES
from hosting.http.instances import INSTANCE_ROUTES, SINGLE_ROUTES
from hosting.http.memory_routes import MEMORY_ROUTES
from hosting.http.operations import OPERATIONS
from hosting.http.owner_routes import OWNED_ROUTES, OWNED_WORKFLOW_ROUTES, takes_owner
from hosting.http.refusals import TRY_AGAIN
from hosting.http.route import RUN_HEADERS, THREAD_HEADERS, Header, Refusals, ResponseSpec, Route
from hosting.http.routes import (
    COUNTED,
    HEALTH,
    IN_THE_WAY,
    NOT_STORED,
    OF_LIMIT,
    ORCHESTRATION,
    READY,
    RETRY_AFTER,
    ROUTES,
    RUN,
    run_route,
)
from hosting.http.schedule_routes import SCHEDULE_ROUTES, SCHEDULE_WORKFLOW_ROUTES
from hosting.http.wire_document import wire_paths
from hosting.http.workflow_routes import WORKFLOW_ROUTES, WORKFLOW_RUN, workflow_run_route
from hosting.names import APP, OWNER_LENGTH
from hosting.request.contents import Limits
from hosting.request.parameters import OWNER, Parameter
from hosting.request.response_format import FORMAT_COMPONENTS
from hosting.request.run_call import (
    THREAD_ID_FIELDS,
    THREAD_ID_HEADERS,
)
from hosting.service.outcome import Problem

Schema = dict[str, Any]

API_VERSION = "1.0.0"
"""The contract's version: the first number is raised when a route, field or code goes away or changes its meaning."""

_KEYS: Schema = {
    "key": {"type": "apiKey", "in": "header", "name": "x-functions-key"},
    "code": {"type": "apiKey", "in": "query", "name": "code"},
}
_SERVER = "https://server.invalid"
"""Stands where the server does, before anything that an app can say."""
_WHO: Refusals = (UnauthorizedError, IdentityUnavailableError, ForbiddenError)
_COUNTED = COUNTED.union(error.status for error in RUN_ERRORS) - {400}  # which comes before anything is counted
_ANYBODY = "x" * OWNER_LENGTH


@dataclass(frozen=True)
class ServedApp:
    """The served agents with their inputs, the other routes, and whether the app asks for keys.

    `wires` are the names of other protocols that it serves, and `limited` those of agents and workflows with a limit.
    """

    agents: Mapping[str, Limits]
    has_health: bool
    requires_key: bool
    has_owners: bool = False
    has_orchestrations: bool = False
    has_schedules: bool = False
    workflows: Mapping[str, Limits] = field(default_factory=dict)
    wires: tuple[str, ...] = ()
    has_webhooks: bool = False
    has_memory: bool = False
    limited: frozenset[str] = frozenset()

    @property
    def owner(self) -> str:
        """A person whose threads a request may name, for the room that an owner takes."""
        return _ANYBODY if self.has_owners else APP

    def named_by(self, route: Route) -> Mapping[str, Limits]:
        """Return those that have this route: the workflows, or the agents."""
        return self.workflows if _is_of_workflows(route) else self.agents

    def is_limited(self, route: Route, agent: str | None) -> bool:
        """Return whether the route begins runs that a limit counts, those of this agent if it is its own."""
        named = self.named_by(route) if agent is None else (agent,)
        return LimitExceededError in route.refusals and not self.limited.isdisjoint(named)


class OpenapiDocument:
    """The document as text, made once for all requests: only its server differs by caller."""

    def __init__(self) -> None:
        self._served: ServedApp | None = None
        self._around = ("", "")

    def text(self, app: ServedApp, base_url: str) -> str:
        """Return the document in JSON, as `openapi_document` says."""
        if app != self._served:
            before, _, after = json.dumps(openapi_document(app, _SERVER), ensure_ascii=False).partition(f'"{_SERVER}"')
            self._served, self._around = app, (before, after)
        before, after = self._around
        return f"{before}{json.dumps(base_url, ensure_ascii=False)}{after}"


def openapi_document(app: ServedApp, base_url: str) -> Schema:
    """Return the document; `base_url` is the origin and route prefix by which the caller reached the app.

    Each agent has its own `run` route. Routes below an agent are left out when no agent has an HTTP endpoint: they
    answer nothing but 404.
    """
    paths: dict[str, Schema] = defaultdict(dict)
    for route in _routes(
        has_owners=app.has_owners,
        has_orchestrations=app.has_orchestrations,
        has_schedules=app.has_schedules,
        has_webhooks=app.has_webhooks,
        has_memory=app.has_memory,
        workflows=len(app.workflows),
    ):
        if route in (RUN, WORKFLOW_RUN):
            for name in app.named_by(route):
                own = run_route(name) if route is RUN else workflow_run_route(name)
                paths[f"/{quote(own.path)}"]["post"] = _operation(own, name, app)
        elif (
            app.has_health
            if route in (HEALTH, READY)
            else app.named_by(route) or not {"{name}", "{grant}"}.intersection(route.path.split("/"))
        ):
            paths[f"/{route.path}"][route.method.lower()] = _operation(route, None, app)
    keys = tuple(_KEYS) if app.requires_key else ()
    paths |= wire_paths(app.wires, list(app.agents), keys, has_limits=not app.limited.isdisjoint(app.agents))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Durable agents", "version": API_VERSION},
        "servers": [{"url": base_url}],
        "paths": dict(paths),
        "components": {
            "schemas": {**_schemas(has_owners=app.has_owners)[1], **FORMAT_COMPONENTS},
            **({"securitySchemes": _KEYS} if app.requires_key else {}),
        },
    }


def _routes(
    *,
    has_owners: bool,
    has_orchestrations: bool,
    has_schedules: bool,
    has_webhooks: bool,
    has_memory: bool,
    workflows: int = 1,
) -> tuple[Route, ...]:
    return (
        *ROUTES,
        OPERATIONS,
        *(OWNED_ROUTES if has_owners else ()),
        *((ORCHESTRATION,) if has_orchestrations else ()),
        *(SCHEDULE_ROUTES if has_schedules else ()),
        *(MEMORY_ROUTES if has_memory else ()),
        *((*WORKFLOW_ROUTES, *INSTANCE_ROUTES) if workflows else ()),
        *(SINGLE_ROUTES if workflows == 1 else ()),
        *(OWNED_WORKFLOW_ROUTES if workflows and has_owners else ()),
        *(SCHEDULE_WORKFLOW_ROUTES if workflows and has_schedules else ()),
        *(WEBHOOK_ROUTES if has_webhooks else ()),
        *(WORKFLOW_WEBHOOK_ROUTES if has_webhooks and workflows else ()),
    )


EVERY_ROUTE = _routes(has_owners=True, has_orchestrations=True, has_schedules=True, has_webhooks=True, has_memory=True)
"""Of every app, whatever it has."""


def _operation(route: Route, agent: str | None, app: ServedApp) -> Schema:
    """Return the operation of a route; `agent` is set for a route of one agent."""
    requires_key = app.requires_key and not route.is_anonymous
    operation: Schema = {
        "operationId": route.function,
        "summary": route.description,
        "responses": _responses(
            route,
            _links(agent, _linked(route)),
            requires_key,
            app.has_owners and not route.is_for_all,
            is_limited=app.is_limited(route, agent),
        ),
    }
    if parameters := _parameters(route, agent, app):
        operation["parameters"] = [
            {
                "name": parameter.name,
                "in": parameter.location,
                "description": parameter.description,
                "required": parameter.location == "path",
                "schema": dict(parameter.schema),
            }
            for parameter in parameters
        ]
    named = {**app.agents, **app.workflows}
    if route.body == "run":
        operation["requestBody"] = run_body(named if agent is None else {agent: named[agent]}, app.owner)
    elif route.body == "schedule":
        operation["requestBody"] = schedule_body(app.named_by(route), app.owner)
    elif route.body == "answer":
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": {}}}}
    elif route.body == "input":
        operation["requestBody"] = input_body(app.workflows)
    elif route.body is not None:
        either = [{"required": [name]} for name in route.body.either]
        rules = {**({"oneOf": either} if either else {}), **route.body.together}
        schema = json_object(route.body.members, required=list(route.body.required), **rules)
        content = {"application/json": {"schema": schema}}
        operation["requestBody"] = {"required": not route.body.is_optional, "content": content}
    if requires_key:
        operation["security"] = [{name: []} for name in _KEYS]
    return operation


def _is_of_workflows(route: Route) -> bool:
    return route.path.partition("/")[0] in ("workflow", "workflows")


def _linked(route: Route) -> tuple[Route, ...]:
    """Return the routes among which an answer's links lead on: those of the same kind."""
    for kind in (INSTANCE_ROUTES, SINGLE_ROUTES):
        if route in kind:
            return kind
    return WORKFLOW_ROUTES if _is_of_workflows(route) else ROUTES


def _parameters(route: Route, agent: str | None, app: ServedApp) -> list[Parameter]:
    is_workflows = _is_of_workflows(route)
    named = app.workflows if is_workflows else app.agents
    name = Parameter(
        "name", "path", f"The {'workflow' if is_workflows else 'agent'}.", {"type": "string", "enum": list(named)}
    )
    in_path = {each.name: each for each in (name, *route.parameters) if each.location == "path"}
    parameters = [in_path[part] for part in route.path_names]
    if agent:
        thread_id, in_header = thread_id_schema(agent, app.owner), thread_id_schema(agent, app.owner, blank="")
        parameters += (Parameter(name, "query", THREAD_TEXT, thread_id) for name in THREAD_ID_FIELDS)
        parameters += (Parameter(name, "header", THREAD_TEXT, in_header) for name in THREAD_ID_HEADERS)
    parameters += (each for each in route.parameters if each.location != "path")
    if app.has_owners and takes_owner(route):
        parameters.append(OWNER)
    return parameters


class _Untitled(GenerateJsonSchema):
    """JSON Schema without the titles that repeat each member's name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False


@lru_cache(maxsize=2)
def _schemas(*, has_owners: bool) -> tuple[dict[Any, Schema], Schema]:
    """Return the schema of each type of body, and the components to which they refer."""
    types = [
        Problem,
        *(
            answer.body
            for route in _routes(
                has_owners=has_owners, has_orchestrations=True, has_schedules=True, has_webhooks=True, has_memory=True
            )
            for answer in route.answers
            if answer.body is not None
        ),
    ]
    inputs = [(body, "serialization", TypeAdapter(body)) for body in types]
    by_key, shared = TypeAdapter.json_schemas(
        inputs,  # type: ignore[arg-type]
        ref_template="#/components/schemas/{model}",
        schema_generator=_Untitled,
    )
    return {key: schema for (key, _), schema in by_key.items()}, shared["$defs"]


def _responses(route: Route, links: Schema, requires_key: bool, has_owners: bool, *, is_limited: bool) -> Schema:
    """Return the route's responses by status; `links` go with those that name a run."""
    limits = tuple(replace(header, always=False) for header in OF_LIMIT) if is_limited else ()
    responses = {str(answer.status): _response(route, answer, links, limits) for answer in route.answers}
    writes: Refusals = (CrossSiteError,) if route.method == "POST" else ()
    refusals: dict[int, list[type[HostingError]]] = defaultdict(list)
    refused: Refusals = (*route.all_refusals, *writes, *(_WHO if has_owners else ()), InternalError)
    for error in dict.fromkeys(refused):
        refusals[error.status].append(error)
    thread_headers = THREAD_HEADERS if route.method == "POST" or "{thread_id}" in route.path else ()
    for status, errors in refusals.items():
        headers = (NOT_STORED, *thread_headers, *((RETRY_AFTER,) if status in TRY_AGAIN else ()))
        headers += IN_THE_WAY if ThreadBusyError in errors else ()
        headers += OF_LIMIT if is_limited and status in _COUNTED else ()
        narrowed = {
            "type": "object",
            "properties": {
                "status": {"type": "integer", "enum": [status]},
                "code": {"type": "string", "enum": [error.code for error in errors]},
            },
        }
        responses[str(status)] = {
            "description": " ".join(f"{error.code}: {(error.__doc__ or '').splitlines()[0]}" for error in errors),
            "content": {
                "application/problem+json": {"schema": {"allOf": [_schemas(has_owners=True)[0][Problem], narrowed]}},
                "text/plain": {"schema": {"type": "string"}},
            },
            "headers": {header.name: header.described(always=False) for header in headers},
        }
    if requires_key:
        unsigned = responses.setdefault("401", {"description": ""})
        unsigned["description"] = f"The key is missing or not valid for this route. {unsigned['description']}".strip()
    return responses


def _response(route: Route, answer: ResponseSpec, links: Schema, more: tuple[Header, ...]) -> Schema:
    content: Schema = {}
    if answer.body is not None:
        content["application/json"] = {"schema": _schemas(has_owners=True)[0][answer.body]}
    if answer.or_text:
        content["text/plain"] = {"schema": {"type": "string"}}
    if answer.or_events:
        content["text/event-stream"] = {"schema": {}}  # text to some readers of 3.1, to others its events one by one
    headers = (NOT_STORED, *route.headers, *answer.headers, *more)
    return {
        "description": answer.description,
        "headers": {header.name: header.described() for header in headers},
        **({"content": content} if content else {}),
        **({"links": links} if links and set(RUN_HEADERS) <= set(headers) else {}),
    }


def _links(agent: str | None, routes: tuple[Route, ...]) -> Schema:
    """Return the ways on from an answer that names a run: every route of its thread and of the run itself."""
    values = {
        "name": agent or "$request.path.name",
        "thread_id": "$response.header.x-ms-thread-id",
        "run_id": "$response.header.x-ms-run-id",
    }
    return {
        route.function: {
            "operationId": route.function,
            "parameters": {name: value for name, value in values.items() if f"{{{name}}}" in route.path},
        }
        for route in routes
        if "{thread_id}" in route.path
    }
