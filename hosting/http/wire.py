"""The wires in the OpenAPI document: inputs and answers in outline, and the form of refusals.

A wire is another protocol over the same threads (`hosting.feature.Wire`). The protocols have documents of their own,
which say more of their objects. What a body may hold besides its known members, and which of them go together, is for
the wire to say, by an error in its own shape. Each wire gives its operations; here they become those of the document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import Struct

from hosting.core.following import Following
from hosting.core.runs import Runs
from hosting.core.thread_log import ThreadLog
from hosting.errors import REQUEST_ERRORS, HostingError, InternalError, MethodNotAllowedError
from hosting.http.parameters import Parameter, in_path
from hosting.http.route import Header, Route
from hosting.http.verbs import AnswersApprovals
from hosting.plan import Plan
from hosting.settings import Settings

Schema = dict[str, Any]

AGENT_ID = in_path("id", "The agent.", pattern=None)
"""Where a protocol names an agent by an id; the document has the names of those that are served."""

_ERRORS: tuple[type[HostingError], ...] = (*REQUEST_ERRORS, MethodNotAllowedError, InternalError)
_STATUSES = sorted({error.status for error in _ERRORS})
_BETWEEN_WORDS = re.compile("[^a-z]+")


class WireVerbs(Struct, frozen=True):
    """What every wire is given: the app's agents and settings, and the verbs by which it starts and follows their runs.

    `names_causes`: the app's developer reads the answers, and learns what a tool raised.
    """

    plan: Plan
    settings: Settings
    runs: Runs
    following: Following
    approvals: AnswersApprovals
    log: ThreadLog
    names_causes: bool


class WireOperation(Struct, frozen=True):
    """An operation of a wire for the OpenAPI document, with the JSON Schemas of its body and of its answer in outline.

    Without an `answer` it only streams. `limited` are the statuses of answers that have the headers of a limit.
    """

    route: Route
    answer: Schema | None
    body: Schema | None = None
    streams: bool = False
    limited: Sequence[int] = ()


class WireDocument(Struct, frozen=True):
    """A wire's part of the OpenAPI document: the schema of its refusals, and its operations by the served agents."""

    refused: Schema
    operations: Callable[[Sequence[str]], Iterable[WireOperation]]

    def paths(self, agents: Sequence[str], keys: Sequence[str], gate_headers: Sequence[Header]) -> dict[str, Schema]:
        """Return its paths; `keys` are the security schemes, none where the app asks for no key.

        `gate_headers` are those of answers to requests that begin runs, if one of the agents has a limit.
        """
        limit = {"headers": {header.name: header.described(always=False) for header in gate_headers}}
        paths: dict[str, Schema] = {}
        for described in self.operations(agents):
            operation, route = self._operation(described, agents), described.route
            for status, response in operation["responses"].items():
                if gate_headers and int(status) in described.limited:
                    operation["responses"][status] = response | limit
            if keys:
                operation["security"] = [{name: []} for name in keys]
            paths.setdefault(f"/{route.path}", {})[route.method.lower()] = operation
        return paths

    def _operation(self, described: WireOperation, agents: Sequence[str]) -> Schema:
        route, body = described.route, described.body
        refused = {"description": "Refused.", "content": {"application/json": {"schema": self.refused}}}
        operation: Schema = {
            "operationId": operation_id(route),
            "summary": route.description,
            "parameters": [parameter.described() for parameter in _parameters(route, agents)],
            "responses": {"200": _answer(described), **{str(status): refused for status in _STATUSES}},
        }
        if body is not None:
            content = {"application/json": {"schema": body}}
            operation["requestBody"] = {"required": bool(body["required"]), "content": content}
        return operation


def object_schema(members: Mapping[str, Schema], *required: str, **more: Any) -> Schema:
    """Return the schema of an object with these members, those that it must have, and what `more` says."""
    return {"type": "object", "properties": dict(members), "required": list(required), **more}


def operation_id(route: Route) -> str:
    """Return the name of an operation: its wire's function and its action."""
    return f"{route.function}_{_BETWEEN_WORDS.sub('_', route.description.lower())}"


def _parameters(route: Route, agents: Sequence[str]) -> Iterator[Parameter]:
    name = Parameter("name", "path", "The agent.", {"type": "string", "enum": list(agents)})
    if "name" in route.path_names:
        yield name
    for parameter in route.all_parameters:
        yield replace(name, name=parameter.name) if parameter is AGENT_ID else parameter


def _answer(described: WireOperation) -> Schema:
    events: Schema = {"text/event-stream": {"schema": {}}} if described.streams else {}
    if described.answer is None:
        return {"description": "The run's events.", "content": events}
    content = {"application/json": {"schema": described.answer}, **events}
    return {"description": "The protocol's object.", "content": content}
