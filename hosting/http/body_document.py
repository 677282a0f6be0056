"""The bodies of requests for runs in the OpenAPI document.

A run's body goes by the limits of its agent, and a workflow's by what that takes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hosting.core.request.contents import NOT_BLANK, Limits
from hosting.core.request.fields import REQUEST_FIELDS
from hosting.http.client_tools import CLIENT_TOOLS, TOOLS_TEXT, tools_schema
from hosting.http.run_call import (
    BUSY_MEMBER,
    CONTENTS,
    INPUT,
    STREAM,
    STREAM_MEMBER,
    THREAD_ID_FIELDS,
    WAIT_MEMBERS,
    WORKFLOW_FIELDS,
    json_object,
)
from hosting.model_options import OPTIONS, options_schema
from hosting.names import BUSY, id_pattern, max_thread_id_length
from hosting.workflows import WorkflowInput

Schema = dict[str, Any]

THREAD_TEXT = "The thread to continue. If it is missing or blank, a new thread starts. Two different ids are refused."


def thread_id_schema(agent: str, owner: str, blank: str = "\\s*") -> Schema:
    """Return the schema of a thread's id, or of a blank one, as an agent and an owner may have it."""
    return {"type": "string", "pattern": f"^(?:{id_pattern(max_thread_id_length(agent, owner))}|{blank})$"}


class AgentBody(Struct, frozen=True):
    """A body that goes by the limits of the agents or workflows that a route is for."""

    describe: Callable[[Mapping[str, Limits], str], Schema]

    def described(self, agents: Mapping[str, Limits], owner: str) -> Schema:
        """Return the body as the document has it."""
        return self.describe(agents, owner)


def run_body(named: Mapping[str, Limits], owner: str) -> Schema:
    """Return the body of a run of any of these: an object of the known fields, or the message itself as text."""
    more: Schema = {**WAIT_MEMBERS, STREAM: STREAM_MEMBER, BUSY: BUSY_MEMBER}
    bodies = [run_object(agent, limits, owner, more) for agent, limits in named.items()]
    most = max(limits.body_bytes for limits in named.values())
    takes = [limits.workflow for limits in named.values()]
    return {"description": f"At most {most} bytes.", **_body(bodies, takes)}


def run_object(agent: str, limits: Limits, owner: str, more: Mapping[str, Any]) -> Schema:
    """Return the object of the fields of a run, and of `more`.

    A field that is null counts as absent, and there must be a message or a content, or a workflow's input.
    """
    fields = {name: (each.schema(limits), each.description) for name, each in REQUEST_FIELDS.items()}
    fields[CLIENT_TOOLS] = (tools_schema(limits), TOOLS_TEXT)
    fields[OPTIONS] = (options_schema(limits.options), "Options of the model, as far as the agent lets callers choose.")
    if limits.workflow is not None:
        known = WORKFLOW_FIELDS if limits.workflow.takes_contents else WORKFLOW_FIELDS - {CONTENTS}
        fields = {name: each for name, each in fields.items() if name in known}
        fields[INPUT] = (_input_schema(limits.workflow), "The input of the start executor, instead of a message.")
    fields |= {name: (thread_id_schema(agent, owner), THREAD_TEXT) for name in THREAD_ID_FIELDS}
    members: Schema = {
        name: {"anyOf": [schema, {"type": "null"}], "description": description}
        for name, (schema, description) in fields.items()
    }
    has_nothing: Schema = {"properties": {"message": {"type": "null"}, "contents": {"enum": [None, []]}}}
    if limits.workflow is not None:
        has_nothing["properties"][INPUT] = {"type": "null"}
    return json_object({**members, **more}) | {"not": has_nothing}


def input_body(workflows: Mapping[str, Limits], owner: str) -> Schema:
    """Return the body that is a workflow's input itself: any value but null if one of them takes only text."""
    takes = [limits.workflow for limits in workflows.values() if limits.workflow is not None]
    return _body([_OF_WORDS if one.takes_words and not one.types else _input_schema(one) for one in takes], takes)


def _body(schemas: Sequence[Schema], takes: Sequence[WorkflowInput | None]) -> Schema:
    """Return a body of any of these: JSON, and text where an agent or a workflow of words may be named."""
    content = {"application/json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}}}
    if any(one is None or one.takes_words for one in takes):
        content["text/plain"] = {"schema": dict(NOT_BLANK)}
    return {"required": True, "content": content}


_OF_WORDS: Schema = {"anyOf": [NOT_BLANK, {"type": ["number", "boolean", "array", "object"]}]}
"""The body of a workflow that takes only text: every other value becomes its JSON text."""


def _input_schema(takes: WorkflowInput) -> Schema:
    """Return the schema of a workflow's input; a text in it is not blank."""
    if not takes.takes_words:
        return _inlined(takes.schema)
    return _inlined({"anyOf": [NOT_BLANK, *takes.schema["anyOf"][1:]]}) if takes.types else dict(NOT_BLANK)


def _inlined(schema: Mapping[str, Any]) -> Schema:
    """Return a schema that stands inside of another: any value, where it refers to parts of itself."""
    return {} if "$ref" in json.dumps(schema) else dict(schema)


RUN_BODY = AgentBody(run_body)
INPUT_BODY = AgentBody(input_body)
ANSWER_BODY = AgentBody(lambda agents, owner: {"required": True, "content": {"application/json": {"schema": {}}}})
"""The answer that a workflow asks for."""
