"""The wires in the OpenAPI document: inputs and answers in outline, and the form of refusals.

The protocols have documents of their own, which say more of their objects. What a body may hold besides its known
members, and which of them go together, is for the wire to say, by an error in its own shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hosting.errors import REQUEST_ERRORS, HostingError, InternalError, MethodNotAllowedError
from hosting.http.a2a import names as a2a
from hosting.http.a2a.requests import METHODS
from hosting.http.ag_ui import names as ag_ui
from hosting.http.ag_ui import requests as ag_ui_requests
from hosting.http.responses import names as openai
from hosting.http.responses.requests import MOST_METADATA, SERVED, WITHOUT_EFFECT
from hosting.http.route import Route
from hosting.http.routes import COUNTED, OF_LIMIT
from hosting.names import id_pattern
from hosting.request.contents import NOT_BLANK
from hosting.request.parameters import Parameter

Schema = dict[str, Any]

_ROUTES: Mapping[str, tuple[Route, ...]] = {
    "responses": tuple(route for route in openai.OPERATIONS if route not in openai.NOT_SERVED),
    "a2a": (a2a.CARD, a2a.RPC),
    "ag-ui": (ag_ui.RUN,),
}
_BEGIN_RUNS = (openai.CREATE, a2a.RPC, ag_ui.RUN)
_ERRORS: tuple[type[HostingError], ...] = (*REQUEST_ERRORS, MethodNotAllowedError, InternalError)
_STATUSES = sorted({error.status for error in _ERRORS})
_COUNTED = [str(status) for status in _STATUSES if status in COUNTED]
_TEXT: Schema = {"type": "string"}
_OBJECT: Schema = {"type": "object"}
_FLAG: Schema = {"type": ["boolean", "null"]}


def _object(members: Mapping[str, Schema], *required: str, **more: Any) -> Schema:
    return {"type": "object", "properties": dict(members), "required": list(required), **more}


_REFUSALS: Mapping[str, Schema] = {
    "responses": _object(
        {"error": _object(dict.fromkeys(("message", "type", "code"), _TEXT), "message", "type", "code")}, "error"
    ),
    "a2a": _object({"jsonrpc": {"const": "2.0"}, "error": _object({"code": {"type": "integer"}}, "code")}, "error"),
    "ag-ui": _object({"type": {"const": "RUN_ERROR"}, "message": _TEXT, "code": _TEXT}, "type", "message", "code"),
}
"""The form of each wire's refusals."""

_BETWEEN_WORDS = re.compile("[^a-z]+")

_METADATA: Schema = {
    "type": ["object", "null"],
    "maxProperties": MOST_METADATA,
    "propertyNames": {"maxLength": 64},
    "additionalProperties": {"type": "string", "maxLength": 512},
}
_CREATED: Mapping[str, Schema] = {
    "input": {"anyOf": [dict(NOT_BLANK), {"type": "array", "minItems": 1, "items": _OBJECT}]},
    "stream": _FLAG,
    "background": _FLAG,
    "store": _FLAG,
    "previous_response_id": {"type": ["string", "null"]},
    "conversation": {"anyOf": [{"type": ["string", "null"]}, _object({"id": _TEXT}, "id")]},
    "metadata": _METADATA,
    "text": {"type": ["object", "null"]},
    "tool_choice": {"enum": ["auto", "none", None]},
    **{name: {} for name in sorted(WITHOUT_EFFECT)},
}
assert _CREATED.keys() | {"model"} == SERVED | WITHOUT_EFFECT


def wire_paths(
    wires: Sequence[str], agents: Sequence[str], keys: Sequence[str], *, has_limits: bool
) -> dict[str, Schema]:
    """Return the paths of these wires; `keys` are the security schemes, none where the app asks for no key.

    `has_limits`: one of the agents has a limit.
    """
    paths: dict[str, Schema] = {}
    for wire in wires:
        for route in _ROUTES[wire]:
            operation = _operation(wire, route, agents)
            if has_limits and route in _BEGIN_RUNS:
                _add_limit_headers(operation["responses"], ("200",) if route is a2a.RPC else ("200", *_COUNTED))
            if keys:
                operation["security"] = [{name: []} for name in keys]
            paths.setdefault(f"/{route.path}", {})[route.method.lower()] = operation
    return paths


def _add_limit_headers(responses: dict[str, Schema], statuses: Sequence[str]) -> None:
    """Add those of a limit to the answers that have them: A2A refuses a request by an object of 200."""
    headers = {header.name: header.described(always=False) for header in OF_LIMIT}
    responses.update({status: {**responses[status], "headers": headers} for status in statuses})


def operation_id(route: Route) -> str:
    """Return the name of an operation: its wire's function and its action."""
    return f"{route.function}_{_BETWEEN_WORDS.sub('_', route.description.lower())}"


def _operation(wire: str, route: Route, agents: Sequence[str]) -> Schema:
    refused = {"description": "Refused.", "content": {"application/json": {"schema": _REFUSALS[wire]}}}
    operation: Schema = {
        "operationId": operation_id(route),
        "summary": route.description,
        "parameters": [
            {
                "name": parameter.name,
                "in": parameter.location,
                "description": parameter.description,
                "required": parameter.location == "path",
                "schema": dict(parameter.schema),
            }
            for parameter in _parameters(route, agents)
        ],
        "responses": {"200": _answer(route), **{str(status): refused for status in _STATUSES}},
    }
    if (body := _body(route, agents)) is not None:
        is_optional = route is openai.BEGIN
        operation["requestBody"] = {"required": not is_optional, "content": {"application/json": {"schema": body}}}
    return operation


def _parameters(route: Route, agents: Sequence[str]) -> Iterator[Parameter]:
    """Yield the parameters of a route; one of an agent's name takes those that the app serves."""
    agent: Schema = {"type": "string", "enum": list(agents)}
    if "name" in route.path_names:
        yield Parameter("name", "path", "The agent.", agent)
    for parameter in route.parameters:
        yield replace(parameter, schema=agent) if route in (openai.MODEL, openai.ENTITY) else parameter


def _body(route: Route, agents: Sequence[str]) -> Schema | None:
    if route is openai.CREATE:
        model: Schema = {"enum": [*agents, None]}
        return _object({"model": model, **_CREATED}, "input", additionalProperties=False)
    if route in (openai.BEGIN, openai.UPDATE):
        required = ("metadata",) if route is openai.UPDATE else ()
        return _object({"metadata": _METADATA}, *required, additionalProperties=False)
    if route is a2a.RPC:
        members: dict[str, Schema] = {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer", "null"]},
            "method": {"enum": list(METHODS)},
            "params": _OBJECT,
        }
        return _object(members, "jsonrpc", "method")
    if route is ag_ui.RUN:
        members = {name: {} for name in sorted(ag_ui_requests.WITHOUT_EFFECT)}
        members |= {"threadId": {"type": "string", "pattern": f"^{id_pattern(32)}$"}}
        members |= {"runId": {"type": "string", "pattern": f"^{id_pattern(64)}$"}, "protocolVersion": _TEXT}
        message = _object({"id": _TEXT, "role": {"const": "user"}, "content": dict(NOT_BLANK)}, "id", "role", "content")
        other = _object({"id": _TEXT, "role": _TEXT}, "id", "role")
        members |= {"messages": {"type": "array", "items": {"anyOf": [message, other]}}}
        members |= {"resume": {"type": ["array", "null"], "items": _OBJECT}}
        return _object(members, "threadId", "runId", "messages", additionalProperties=False)
    return None


def _answer(route: Route) -> Schema:
    streams = route in (openai.CREATE, openai.RESPONSE, a2a.RPC, ag_ui.RUN)
    events: Schema = {"text/event-stream": {"schema": {}}} if streams else {}
    if route is ag_ui.RUN:
        return {"description": "The run's events.", "content": events}
    named = {"object": _TEXT} if route.path.startswith(f"{openai.PATH}/v1/") and "entities" not in route.path else {}
    schema = _object({"jsonrpc": {"const": "2.0"}}, "jsonrpc") if route is a2a.RPC else _object(named, *named)
    return {"description": "The protocol's object.", "content": {"application/json": {"schema": schema}, **events}}
