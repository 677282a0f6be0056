"""The app's agents and workflows as tools: what each takes, and the run that a call of it asks for.

An agent takes a query and a thread, and so does a workflow that takes words. Any other workflow is a tool with the
arguments that its own input has: those of an object, or one argument `input` of any other type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hosting.core.runs import PROTOCOL_WAIT_SECONDS
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.http.mcp_tool import ARGUMENTS, options_argument, output_schema, parse_call
from hosting.model_options import OPTIONS
from hosting.plan import AgentPlan
from hosting.ports import Wait
from hosting.strict_json.parsing import refuse_lone_surrogates
from hosting.workflows import WorkflowInput, json_text

_INPUT = "input"


def tool_of(agent: AgentPlan) -> dict[str, Any]:
    """Return the tool of an agent or a workflow as the protocol has it."""
    return {
        "name": agent.as_tool.name,
        "description": agent.as_tool.description,
        "inputSchema": _input_schema(agent),
        "outputSchema": output_schema(agent),
    }


def _input_schema(agent: AgentPlan) -> Mapping[str, Any]:
    if (takes := _typed(agent)) is None:
        described: dict[str, Any] = {name: {"type": "string", "description": text} for name, text, _ in ARGUMENTS}
        if (options := options_argument(agent)) is not None:
            described[OPTIONS] = options
        required = [name for name, _, is_required in ARGUMENTS if is_required]
        return {"type": "object", "properties": described, "required": required}
    schema = dict(takes.schema)
    if _is_object(schema):
        return schema
    parts = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    return {"type": "object", "properties": {_INPUT: schema}, "required": [_INPUT], **parts}


def start_of(agent: AgentPlan, arguments: Mapping[str, Any], owner: str) -> StartRun:
    """Return the run that the arguments of a call ask for; raises a `HostingError` that names what is wrong."""
    if (takes := _typed(agent)) is None:
        return parse_call(arguments, agent.name, owner, agent.options.model_options)
    refuse_lone_surrogates(arguments, "arguments")
    text = json_text(arguments if _is_object(takes.schema) else arguments.get(_INPUT))
    takes.check(text, is_json=True, has_contents=False)
    return StartRun(RunRequest(message=text, is_json=True), None, Wait(PROTOCOL_WAIT_SECONDS))


def _typed(agent: AgentPlan) -> WorkflowInput | None:
    """Return the input of a workflow that takes no words; None of an agent, and of any other workflow."""
    takes = None if agent.workflow is None else agent.workflow.input
    return None if takes is None or takes.takes_words else takes


def _is_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object"
