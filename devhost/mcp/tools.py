"""The app's MCP tools as they are listed and called (host contract 5.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devhost.bindings import McpToolTrigger
from devhost.index import Function, FunctionIndex
from devhost.mcp.declared import declared_metadata, declared_object, declared_objects


@dataclass(frozen=True)
class Tool:
    """One tool: `listing` is its entry in `tools/list`, `required` the properties a call must give a value."""

    function: Function
    name: str
    listing: Mapping[str, object]
    required: tuple[str, ...]
    has_result_schema: bool


def find_tools(index: FunctionIndex) -> Mapping[str, Tool]:
    """Return the tools by lower-cased name, in the order of their names."""
    tools = [
        _tool(function, function.trigger)
        for function in index.running()
        if isinstance(function.trigger, McpToolTrigger)
    ]
    return {tool.name.lower(): tool for tool in sorted(tools, key=lambda tool: tool.name)}


def _tool(function: Function, trigger: McpToolTrigger) -> Tool:
    schema = _input_schema(function.name, trigger.properties)
    declared = trigger.properties
    output_schema = declared.get("outputSchema")
    listing = {
        "name": trigger.tool_name,
        "description": str(declared.get("description") or ""),
        "inputSchema": schema,
        "outputSchema": declared_object(function.name, "outputSchema", output_schema) if output_schema else None,
        "_meta": declared_metadata(function.name, declared),
    }
    required = schema.get("required", [])
    return Tool(
        function=function,
        name=trigger.tool_name,
        listing={key: value for key, value in listing.items() if value is not None},
        required=tuple(str(name) for name in required) if isinstance(required, list) else (),
        has_result_schema=declared.get("useResultSchema") is True,
    )


def _input_schema(function_name: str, properties: Mapping[str, object]) -> Mapping[str, object]:
    if properties.get("useWorkerInputSchema") is True:
        return declared_object(function_name, "inputSchema", properties.get("inputSchema"))
    items = list(_tool_properties(function_name, properties.get("toolProperties")))
    return {
        "type": "object",
        "properties": {str(item.get("propertyname")): _property_schema(item) for item in items},
        "required": [str(item.get("propertyname")) for item in items if item.get("isrequired") is True],
    }


def _tool_properties(function_name: str, text: object) -> Iterable[Mapping[str, object]]:
    """Return the declared properties with keys in lower case: the extension reads them without case."""
    items = declared_objects(function_name, "toolProperties", text)
    return ({key.lower(): value for key, value in item.items()} for item in items)


def _property_schema(item: Mapping[str, object]) -> Mapping[str, object]:
    kind: dict[str, object] = {"type": item.get("propertytype")}
    if item.get("enumvalues"):
        kind["enum"] = item["enumvalues"]
    description = {"description": str(item.get("description") or "")}
    if item.get("isarray") is True:
        return {"type": "array", "items": kind, **description}
    return {**kind, **description}
