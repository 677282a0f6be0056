"""What a route may answer, in OpenAPI's terms: bodies as components, problems by status, links to what comes next."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from hosting.errors import HostingError, InternalError
from hosting.reply.answers import RETRY_AFTER, RUN_HEADERS, THREAD_HEADERS, Answer, Header
from hosting.reply.bodies import Problem
from hosting.reply.routes import ROUTES, Refusals, Route
from hosting.reply.run_replies import TRY_AGAIN

Schema = dict[str, Any]
_REF = "#/components/schemas/{model}"


class _Untitled(GenerateJsonSchema):
    """JSON Schema without the titles that repeat each member's name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False


@lru_cache(maxsize=1)
def _schemas() -> tuple[dict[Any, Schema], Schema]:
    """Return the schema of each type of body, and the components to which they refer."""
    types = [Problem, *(answer.body for route in ROUTES for answer in route.answers if answer.body is not None)]
    inputs = [(body, "serialization", TypeAdapter(body)) for body in types]
    by_key, shared = TypeAdapter.json_schemas(inputs, ref_template=_REF, schema_generator=_Untitled)  # type: ignore[arg-type]
    return {key: schema for (key, _), schema in by_key.items()}, shared["$defs"]


def body_components() -> Schema:
    """Return the named schemas of all bodies."""
    return _schemas()[1]


def responses(route: Route, links: Schema, *, asks_for_key: bool) -> Schema:
    """Return the route's responses by status; `links` go with those that tell a run."""
    found = {str(answer.status): _response(answer, links) for answer in route.answers}
    for status, errors in _by_status(route).items():
        found[str(status)] = _refusal(status, errors, _named_thread(route))
    if asks_for_key:
        found["401"] = {"description": "No key, or one that does not open this route."}
    return found


def _named_thread(route: Route) -> tuple[Header, ...]:
    return THREAD_HEADERS if route.method == "POST" or "{thread_id}" in route.path else ()


def _response(answer: Answer, links: Schema) -> Schema:
    response: Schema = {"description": answer.says}
    content: Schema = {}
    if answer.body is not None:
        content["application/json"] = {"schema": _schemas()[0][answer.body]}
    if answer.or_text:
        content["text/plain"] = {"schema": {"type": "string"}}
    if answer.or_events:
        content["text/event-stream"] = {"schema": {}}  # text to some readers of 3.1, to others its events one by one
    if content:
        response["content"] = content
    if answer.headers:
        response["headers"] = {header.name: _header(header) for header in answer.headers}
    if set(RUN_HEADERS) <= set(answer.headers) and links:
        response["links"] = links
    return response


def _header(header: Header) -> Schema:
    return {"description": header.says, "required": header.always, "schema": {"type": header.type}}


def _by_status(route: Route) -> dict[int, list[type[HostingError]]]:
    grouped: dict[int, list[type[HostingError]]] = defaultdict(list)
    refusals: Refusals = (*route.refusals, InternalError)
    for error in refusals:
        grouped[error.status].append(error)
    return grouped


def _refusal(status: int, errors: list[type[HostingError]], headers: tuple[Header, ...]) -> Schema:
    codes = [error.code for error in errors]
    narrowed = {"type": "object", "properties": {"status": {"const": status}, "code": {"enum": codes}}}
    response: Schema = {
        "description": " ".join(f"{error.code}: {(error.__doc__ or '').splitlines()[0]}" for error in errors),
        "content": {
            "application/problem+json": {"schema": {"allOf": [_schemas()[0][Problem], narrowed]}},
            "text/plain": {"schema": {"type": "string"}},
        },
    }
    told = (*headers, RETRY_AFTER) if status in TRY_AGAIN else headers
    response["headers"] = {header.name: {**_header(header), "required": False} for header in told}
    return response
