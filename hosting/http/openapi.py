"""The OpenAPI 3.1 document of an app: exactly the routes that it serves.

It is made from what the app itself goes by: the routes, the tables of parameters and fields, the types of the bodies.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import quote

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from hosting.core.request.contents import Limits
from hosting.core.request.response_format import FORMAT_COMPONENTS
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
from hosting.http.bodies import SENT_PROBLEM
from hosting.http.body_document import RUN_BODY, THREAD_TEXT, thread_id_schema
from hosting.http.parameters import OWNER, Parameter
from hosting.http.refusals import TRY_AGAIN
from hosting.http.route import RUN_HEADERS, THREAD_HEADERS, Header, Refusals, ResponseSpec, Route
from hosting.http.routes import COUNTED, RETRY_AFTER
from hosting.http.run_call import (
    THREAD_ID_FIELDS,
    THREAD_ID_HEADERS,
)
from hosting.http.wire import WireDocument
from hosting.names import APP, OWNER_LENGTH

Schema = dict[str, Any]

API_VERSION = "1.0.0"
"""The contract's version: the first number is raised when a route, field or code goes away or changes its meaning."""

_KEYS: Schema = {
    "key": {"type": "apiKey", "in": "header", "name": "x-functions-key"},
    "code": {"type": "apiKey", "in": "query", "name": "code"},
}
_NOT_STORED = Header("Cache-Control", "no-store: no cache keeps the response.")
_IN_THE_WAY = (Header("Location", "thread_busy: its URL."), Header("x-ms-run-id", "thread_busy: the run in the way."))
_SERVER = "https://server.invalid"
"""Stands where the server does, before anything that an app can say."""
_WHO: Refusals = (UnauthorizedError, IdentityUnavailableError, ForbiddenError)
_COUNTED = COUNTED.union(error.status for error in RUN_ERRORS) - {400}  # which comes before anything is counted
_ANYBODY = "x" * OWNER_LENGTH
_NAMES = {"name", "grant"}
_THREADS = {"thread_id", "grant"}


class ServedApp(Struct, frozen=True, dict=True):
    """The `routes` that an app serves, the agents and workflows with their inputs, and whether it asks for keys.

    `has_owners`: threads are their callers' own. `wires` are the other protocols that it serves, and `gates` have
    the headers of answers to requests that begin runs, by the names of agents and workflows with a limit.
    """

    routes: tuple[Route, ...]
    agents: Mapping[str, Limits]
    workflows: Mapping[str, Limits]
    requires_key: bool
    has_owners: bool
    wires: tuple[WireDocument, ...] = ()
    gates: Mapping[str, Sequence[Header]] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """A person whose threads a request may name, for the room that an owner takes."""
        return _ANYBODY if self.has_owners else APP

    @cached_property
    def described_routes(self) -> list[Route]:
        """The routes that the document has; without agents, a route below one would answer nothing but 404."""
        return [route for route in self.routes if not _NAMES.intersection(route.path_names) or self.named_by(route)]

    @cached_property
    def schemas(self) -> tuple[Mapping[Any, Schema], Schema]:
        """The schema of each type of body, and the components to which they refer."""
        bodies = [answer.body for route in self.described_routes for answer in route.answers if answer.body is not None]
        by_key, shared = TypeAdapter.json_schemas(
            [(body, "serialization", TypeAdapter(body)) for body in (SENT_PROBLEM, *dict.fromkeys(bodies))],
            ref_template="#/components/schemas/{model}",
            schema_generator=_Untitled,
        )
        return {key: schema for (key, _), schema in by_key.items()}, shared["$defs"]

    def named_by(self, route: Route) -> Mapping[str, Limits]:
        """Return the agents and workflows that a request to this route may be for."""
        if "grant" in route.path_names:
            return {**self.agents, **self.workflows}
        named = self.agents if route.place.kind == "agent" else self.workflows
        return named if route.place.agent is None else {route.place.agent: named[route.place.agent]}

    def gate_headers(self, agents: Iterable[str]) -> tuple[Header, ...]:
        """Return the headers of answers to requests that begin runs of these, where a gate counts any."""
        return tuple(dict.fromkeys(header for name in agents for header in self.gates.get(name, ())))


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

    Each agent has its own `run` route.
    """
    paths: dict[str, Schema] = defaultdict(dict)
    for route in app.described_routes:
        paths[f"/{quote(route.path, safe='/{}')}"][route.method.lower()] = _operation(route, app)
    keys = tuple(_KEYS) if app.requires_key else ()
    for wire in app.wires:
        paths |= wire.paths(list(app.agents), keys, app.gate_headers(app.agents))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Durable agents", "version": API_VERSION},
        "servers": [{"url": base_url}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {**app.schemas[1], **(FORMAT_COMPONENTS if app.agents else {})},
            **({"securitySchemes": _KEYS} if app.requires_key else {}),
        },
    }


def _operation(route: Route, app: ServedApp) -> Schema:
    requires_key = app.requires_key and not route.is_anonymous
    operation: Schema = {
        "operationId": route.function,
        "summary": route.description,
        "responses": _responses(route, app),
    }
    if parameters := _parameters(route, app):
        operation["parameters"] = [parameter.described() for parameter in parameters]
    if route.body is not None:
        operation["requestBody"] = route.body.described(app.named_by(route), app.owner)
    if requires_key:
        operation["security"] = [{name: []} for name in _KEYS]
    return operation


def _parameters(route: Route, app: ServedApp) -> list[Parameter]:
    name = Parameter("name", "path", f"The {route.place.kind}.", {"type": "string", "enum": list(app.named_by(route))})
    in_path = {each.name: each for each in (name, *route.all_parameters) if each.location == "path"}
    parameters = [in_path[part] for part in route.path_names]
    if (agent := route.place.agent) is not None and route.body is RUN_BODY:
        thread_id = thread_id_schema(agent, app.owner)
        in_header = thread_id_schema(agent, app.owner, blank="")
        parameters += (Parameter(name, "query", THREAD_TEXT, thread_id) for name in THREAD_ID_FIELDS)
        parameters += (Parameter(name, "header", THREAD_TEXT, in_header) for name in THREAD_ID_HEADERS)
    parameters += (each for each in route.all_parameters if each.location != "path")
    if app.has_owners and route.takes_owner:
        parameters.append(OWNER)
    return parameters


class _Untitled(GenerateJsonSchema):
    """JSON Schema without the titles that repeat each member's name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False


def _responses(route: Route, app: ServedApp) -> Schema:
    requires_key = app.requires_key and not route.is_anonymous
    counted = app.gate_headers(app.named_by(route)) if LimitExceededError in route.refusals else ()
    limits = tuple(replace(header, always=False) for header in counted)
    responses = {str(answer.status): _response(route, answer, app, limits) for answer in route.answers}
    asks_who: Refusals = _WHO if app.has_owners and not route.is_for_all else ()
    writes: Refusals = (CrossSiteError,) if route.method == "POST" else ()
    refused: Refusals = (*route.all_refusals, *writes, *asks_who, InternalError)
    refusals: dict[int, list[type[HostingError]]] = defaultdict(list)
    for error in dict.fromkeys(refused):
        refusals[error.status].append(error)
    thread_headers = THREAD_HEADERS if route.method == "POST" or "thread_id" in route.path_names else ()
    for status, errors in refusals.items():
        headers = (_NOT_STORED, *thread_headers, *((RETRY_AFTER,) if status in TRY_AGAIN else ()))
        headers += _IN_THE_WAY if ThreadBusyError in errors else ()
        headers += counted if status in _COUNTED else ()
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
                "application/problem+json": {"schema": {"allOf": [app.schemas[0][SENT_PROBLEM], narrowed]}},
                "text/plain": {"schema": {"type": "string"}},
            },
            "headers": {header.name: header.described(always=False) for header in headers},
        }
    if requires_key:
        unsigned = responses.setdefault("401", {"description": ""})
        unsigned["description"] = f"The key is missing or not valid for this route. {unsigned['description']}".strip()
    return responses


def _response(route: Route, answer: ResponseSpec, app: ServedApp, limits: tuple[Header, ...]) -> Schema:
    content: Schema = {}
    if answer.body is not None:
        content["application/json"] = {"schema": app.schemas[0][answer.body]}
    if answer.or_text:
        content["text/plain"] = {"schema": {"type": "string"}}
    if answer.or_events:
        content["text/event-stream"] = {"schema": {}}  # text to some readers of 3.1, to others its events one by one
    headers = (_NOT_STORED, *route.headers, *answer.headers, *limits)
    return {
        "description": answer.description,
        "headers": {header.name: header.described() for header in headers},
        **({"content": content} if content else {}),
        **({"links": _links(route, app)} if set(RUN_HEADERS) <= set(headers) else {}),
    }


def _links(route: Route, app: ServedApp) -> Schema:
    """Return the ways on from an answer that names a run: all routes of the same places for the thread and the run."""
    values = {
        "name": route.place.agent or "$request.path.name",
        "grant": "$request.path.grant",
        "thread_id": "$response.header.x-ms-thread-id",
        "run_id": "$response.header.x-ms-run-id",
    }
    return {
        each.function: {
            "operationId": each.function,
            "parameters": {name: value for name, value in values.items() if name in each.path_names},
        }
        for each in app.described_routes
        if _THREADS.intersection(each.path_names) and each.is_for_shared and each.place.word == route.place.word
    }
