"""The OpenAPI 3.1 document of an app: exactly the routes that it serves."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hosting.openapi.request import WAIT_PARAMETERS, decision_body, path_parameters, run_body, run_parameters
from hosting.openapi.responses import body_components, responses
from hosting.openapi.served import ServedApp
from hosting.parameters import Parameter
from hosting.reply.routes import ANSWER_APPROVAL, ROUTES, Route
from hosting.request.format_schema import JSON_SCHEMA, JSON_SCHEMA_NAME

API_VERSION = "1.0.0"
"""The contract's version: the first number is raised when a route, field or code goes away or changes its meaning."""

Schema = dict[str, Any]

_KEYS: Schema = {
    "key": {"type": "apiKey", "in": "header", "name": "x-functions-key"},
    "code": {"type": "apiKey", "in": "query", "name": "code"},
}


def openapi_document(app: ServedApp, base_url: str) -> Schema:
    """Return the document; `base_url` is the origin and route prefix by which the caller reached the app."""
    paths: dict[str, Schema] = defaultdict(dict)
    for route, agent in app.routes():
        paths[f"/{route.path}"][route.method.lower()] = _operation(route, agent, app)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Durable agents", "version": API_VERSION},
        "servers": [{"url": base_url}],
        "paths": dict(paths),
        "components": {
            "schemas": {**body_components(), JSON_SCHEMA_NAME: JSON_SCHEMA},
            **({"securitySchemes": _KEYS} if app.asks_for_key else {}),
        },
    }


def _operation(route: Route, agent: str | None, app: ServedApp) -> Schema:
    parameters = [*path_parameters(route, app.agents), *route.query, *(run_parameters(agent) if agent else ())]
    if route is ANSWER_APPROVAL:
        parameters += WAIT_PARAMETERS
    asks_for_key = app.asks_for_key and not route.is_anonymous
    operation: Schema = {
        "operationId": route.function,
        "summary": route.says,
        "responses": responses(route, _links(agent), asks_for_key=asks_for_key),
    }
    if parameters:
        operation["parameters"] = [_parameter(parameter) for parameter in parameters]
    if agent:
        operation["requestBody"] = run_body(agent, app.agents[agent])
    elif route is ANSWER_APPROVAL:
        operation["requestBody"] = decision_body()
    if asks_for_key:
        operation["security"] = [{name: []} for name in _KEYS]
    return operation


def _parameter(parameter: Parameter) -> Schema:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.says,
        "required": parameter.is_required,
        "schema": dict(parameter.schema),
    }


def _links(agent: str | None) -> Schema:
    """Return the ways on from an answer that tells a run: every route of its thread and of the run itself."""
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
        for route in ROUTES
        if "{thread_id}" in route.path
    }
