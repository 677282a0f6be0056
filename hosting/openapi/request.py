"""What a request may carry, in OpenAPI's terms: parameters, and the body of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hosting.identity import id_pattern
from hosting.names import max_thread_id_length
from hosting.parameters import APPROVAL_IN_PATH, RUN_IN_PATH, THREAD_IN_PATH, Parameter
from hosting.reply.routes import Route
from hosting.request.decisions import DECISION_FIELDS
from hosting.request.limits import Limits
from hosting.request.run_call import (
    IDEMPOTENCY_KEY,
    IDEMPOTENCY_KEY_PATTERN,
    PREFER,
    STREAM,
    THREAD_ID_FIELDS,
    THREAD_ID_HEADERS,
    TRUTH,
    WAIT_FIELDS,
    WAIT_HEADER,
)
from hosting.request.run_request import REQUEST_FIELDS

Schema = dict[str, Any]

_THREAD_SAYS = "The thread to go on with; a new one without it, or when it is blank. Two different ones are refused."
_WAIT_SAYS = "false: answer 202 at once."
_STREAM_SAYS = "true: stream the answer, where Accept does not choose another form; the run's events have its words."
_WAIT: Schema = {"type": "string", "enum": sorted(TRUTH)}
_WAIT_IN_BODY: Schema = {"anyOf": [{"type": "boolean"}, {"enum": [*sorted(TRUTH), 0, 1]}]}
_KEY: Schema = {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY_PATTERN}$"}


WAIT_PARAMETERS = (
    *(Parameter(name, "query", _WAIT_SAYS, _WAIT) for name in WAIT_FIELDS),
    Parameter(WAIT_HEADER, "header", _WAIT_SAYS, _WAIT),
    Parameter(PREFER, "header", "respond-async, or wait=SECONDS.", {"type": "string"}),
)
"""How a caller says whether it waits for a run."""


def path_parameters(route: Route, agents: Iterable[str]) -> list[Parameter]:
    """Return the parameters of the route's path."""
    name = Parameter("name", "path", "The agent.", {"type": "string", "enum": list(agents)})
    return [each for each in (name, THREAD_IN_PATH, RUN_IN_PATH, APPROVAL_IN_PATH) if f"{{{each.name}}}" in route.path]


def run_parameters(agent: str) -> list[Parameter]:
    """Return what a request to run this agent may carry beside its body."""
    thread_id = _thread_id(agent)
    return [
        *(Parameter(name, "query", _THREAD_SAYS, thread_id) for name in THREAD_ID_FIELDS),
        *(Parameter(name, "header", _THREAD_SAYS, _thread_id(agent, blank="")) for name in THREAD_ID_HEADERS),
        *WAIT_PARAMETERS,
        Parameter("traceparent", "header", "W3C trace context, carried into the run.", {"type": "string"}),
        Parameter(IDEMPOTENCY_KEY, "header", "Makes the request safe to send again.", _KEY),
    ]


def run_body(agent: str, limits: Limits) -> Schema:
    """Return the body of a run: an object of the known fields, or the message itself as text."""
    message = REQUEST_FIELDS["message"].schema(limits)
    return {
        "required": True,
        "description": f"At most {limits.body_bytes} bytes.",
        "content": {
            "application/json": {"schema": _run_fields(agent, limits)},
            "text/plain": {"schema": dict(message)},
        },
    }


def decision_body() -> Schema:
    """Return the body of an answer to an approval."""
    wait = {"anyOf": [_WAIT_IN_BODY, {"type": "null"}], "description": _WAIT_SAYS}
    schema = {
        "type": "object",
        "properties": {**DECISION_FIELDS, **dict.fromkeys(WAIT_FIELDS, wait)},
        "required": ["approved"],
        "additionalProperties": False,
    }
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _run_fields(agent: str, limits: Limits) -> Schema:
    """Return the object of fields: null counts as absent, and there must be a message or a content."""
    named = {name: (field.schema(limits), field.says) for name, field in REQUEST_FIELDS.items()}
    named |= {name: (_thread_id(agent), _THREAD_SAYS) for name in THREAD_ID_FIELDS}
    named |= dict.fromkeys(WAIT_FIELDS, (_WAIT_IN_BODY, _WAIT_SAYS))
    named[STREAM] = ({"type": "boolean"}, _STREAM_SAYS)
    fields = {
        name: {"anyOf": [schema, {"type": "null"}], "description": says} for name, (schema, says) in named.items()
    }
    return {
        "type": "object",
        "properties": fields,
        "additionalProperties": False,
        "anyOf": [
            {"required": ["message"], "properties": {"message": {"type": "string"}}},
            {"required": ["contents"], "properties": {"contents": {"type": "array", "minItems": 1}}},
        ],
    }


def _thread_id(agent: str, blank: str = "\\s*") -> Mapping[str, Any]:
    return {"type": "string", "pattern": f"^(?:{id_pattern(max_thread_id_length(agent))}|{blank})$"}
