"""The tools that a request declares (`client_tools`), parsed and checked before anything is stored.

Their names and descriptions are read by the agent's model, and they are stored with each run. So an agent takes them
only if its author says so, none may have the name of one of the agent's own, and there are bounds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hosting.client_tools import ClientTool
from hosting.core.request.contents import Limits
from hosting.core.request.response_format import NAME_PATTERN
from hosting.errors import InvalidFieldError
from hosting.strict_json.parsing import Schema, json_type, refuse_lone_surrogates

CLIENT_TOOLS = "client_tools"
MOST_TOOLS = 64
MOST_TOOLS_BYTES = 65_536
_NAME = re.compile(NAME_PATTERN)
_SCHEMAS = ("parameters", "answer_schema")
_SCHEMA: Schema = {"$ref": "#/components/schemas/JsonSchema"}
TOOLS_TEXT = "Tools that you run yourself; the run ends with the model's calls of them. Only if the agent takes any."
TOOLS_SCHEMA: Schema = {
    "type": "array",
    "maxItems": MOST_TOOLS,
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": f"^{NAME_PATTERN}$"},
            "description": {"type": "string"},
            **dict.fromkeys(_SCHEMAS, _SCHEMA),
        },
        "required": ["name"],
        "additionalProperties": False,
    },
}


def tools_schema(limits: Limits) -> Schema:
    """Return the JSON Schema of the field for an agent."""
    return {"type": "array", "items": {}, "maxItems": 0} if limits.own_tools is None else TOOLS_SCHEMA


def read_client_tools(
    value: object, limits: Limits, field: str = CLIENT_TOOLS, member: str = ""
) -> tuple[ClientTool, ...]:
    """Return the tools of a request; `field` is where they stand in it, and `member` in which part of an item.

    Raises `InvalidFieldError`.
    """
    if value is None or value == []:
        return ()
    if not isinstance(value, list):
        raise InvalidFieldError(f"The field {field!r} is a JSON {json_type(value)}. Send a list of tools.")
    if limits.own_tools is None:
        raise InvalidFieldError(
            f"The field {field!r} is refused: the agent takes no tools of callers. Its author allows them by "
            "client_tools=True (AgentFunctionApp, add_agent)."
        )
    if len(value) > MOST_TOOLS:
        raise InvalidFieldError(f"The field {field!r} has {len(value)} tools; the limit is {MOST_TOOLS}.")
    refuse_lone_surrogates(value, field)
    size = len(json.dumps(value, ensure_ascii=False).encode())
    if size > MOST_TOOLS_BYTES:
        raise InvalidFieldError(f"The field {field!r} has {size:,} bytes as JSON; the limit is {MOST_TOOLS_BYTES:,}.")
    tools: dict[str, ClientTool] = {}
    own = limits.own_tools()
    for number, item in enumerate(value):
        where = f"{field}[{number}]{member}"
        tool = _tool(where, item)
        if tool.name in own:
            raise InvalidFieldError(f"{where}.name is {tool.name!r}, which is a tool of the agent. Rename it.")
        if tool.name in tools:
            raise InvalidFieldError(f"{where}.name is {tool.name!r}, which another one has. Rename one.")
        tools[tool.name] = tool
    return tuple(tools.values())


def _tool(where: str, item: object) -> ClientTool:
    if not isinstance(item, dict):
        raise InvalidFieldError(f"{where} is a JSON {json_type(item)}. Send an object with 'name' and 'parameters'.")
    known = (*ClientTool.model_fields,)
    if unknown := [name for name in item if name not in known]:
        raise InvalidFieldError(f"{where} has the member {unknown[0][:80]!r}. Send {', '.join(known)}.")
    members = {name: member for name, member in item.items() if member is not None}
    name, description = members.get("name"), members.get("description", "")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidFieldError(f"{where}.name is {name!r:.80}. Send 1 to 64 of A-Z a-z 0-9 _ -.")
    if not isinstance(description, str):
        raise InvalidFieldError(f"{where}.description is a JSON {json_type(description)}. Send a string.")
    parameters = members.get("parameters", {"type": "object"})
    if not (isinstance(parameters, dict) and parameters.get("type") == "object"):
        raise InvalidFieldError(f"{where}.parameters describes no object. Send a JSON Schema with type 'object'.")
    if not isinstance(parameters.get("properties", {}), dict):
        raise InvalidFieldError(f"{where}.parameters.properties is not an object of JSON Schemas.")
    if "answer_schema" in members:
        _check_answers(f"{where}.answer_schema", members["answer_schema"])
    return ClientTool(**members)


def _check_answers(where: str, schema: object) -> None:
    """Refuse a schema by which no result can be checked; nothing is checked by that of the parameters."""
    if not isinstance(schema, dict):
        raise InvalidFieldError(f"{where} is a JSON {json_type(schema)}. Send a JSON Schema object.")
    from hosting.strict_json.json_schema import BadSchemaError, check_schema

    try:
        check_schema(schema)
    except BadSchemaError as error:
        raise InvalidFieldError(f"{where} {error}") from None


def read_functions(value: object, limits: Limits, member: str = "") -> tuple[ClientTool, ...]:
    """Return the tools of a request in OpenAI's form, which says of each that it is a function.

    The function is the item itself, or its `member`. Raises `InvalidFieldError`.
    """
    items: list[Any] = value if isinstance(value, list) else [] if value is None else [value]
    for number, item in enumerate(items):
        kind = item.get("type") if isinstance(item, dict) else None
        if kind != "function":
            raise InvalidFieldError(
                f"tools[{number}] is of type {str(kind)[:60]!r}. Send functions; others are the agent's."
            )
    functions = [item.get(member) if member else item for item in items]
    tools = [_without_form(function) if isinstance(function, dict) else function for function in functions]
    return read_client_tools(tools, limits, "tools", f".{member}" if member else "")


def _without_form(function: Mapping[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in function.items() if name not in ("type", "strict")}


def shown_functions(tools: Sequence[ClientTool]) -> list[dict[str, Any]]:
    """Return the tools in OpenAI's form."""
    own = {"name", "description", "parameters"}
    return [{"type": "function", **tool.model_dump(include=own), "strict": False} for tool in tools]


def read_output(where: str, output: object, part_type: str = "input_text") -> str:
    """Return the result of a function as a text, which OpenAI's form may have in parts of the `part_type`.

    Raises `InvalidFieldError`.
    """
    parts = output if isinstance(output, list) else [{"type": part_type, "text": output}]
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == part_type]
    if len(texts) < len(parts) or not all(isinstance(text, str) for text in texts):
        raise InvalidFieldError(f"{where} is neither a text nor a list of {part_type}. Send a text.")
    return "".join(map(str, texts))
