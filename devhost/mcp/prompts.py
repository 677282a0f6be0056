"""The app's MCP prompts as they are listed and asked for (host contract 5.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devhost.bindings import McpPromptTrigger
from devhost.index import Function, FunctionIndex
from devhost.mcp.declared import declared_metadata, declared_objects


@dataclass(frozen=True)
class Prompt:
    """One prompt: `listing` is its entry in `prompts/list`, `required` the arguments that must have a value."""

    function: Function
    name: str
    listing: Mapping[str, object]
    required: tuple[str, ...]
    has_result_schema: bool


def find_prompts(index: FunctionIndex) -> Mapping[str, Prompt]:
    """Return the prompts by lower-cased name, in the order of their names."""
    prompts = [
        _prompt(function, function.trigger)
        for function in index.running()
        if isinstance(function.trigger, McpPromptTrigger)
    ]
    return {prompt.name.lower(): prompt for prompt in sorted(prompts, key=lambda prompt: prompt.name)}


def _prompt(function: Function, trigger: McpPromptTrigger) -> Prompt:
    arguments = list(_arguments(function.name, trigger.properties.get("promptArguments")))
    return Prompt(
        function=function,
        name=trigger.prompt_name,
        listing=_listing(function.name, trigger, arguments),
        required=tuple(str(argument["name"]) for argument in arguments if argument["required"]),
        has_result_schema=trigger.properties.get("useResultSchema") is True,
    )


def _listing(
    function_name: str, trigger: McpPromptTrigger, arguments: list[Mapping[str, object]]
) -> Mapping[str, object]:
    declared = trigger.properties
    listing = {
        "name": trigger.prompt_name,
        "title": declared.get("title"),
        "description": declared.get("description"),
        "arguments": arguments,
        "icons": declared_objects(function_name, "icons", declared.get("icons")),
        "_meta": declared_metadata(function_name, declared),
    }
    return {key: value for key, value in listing.items() if value}


def _arguments(function_name: str, text: object) -> Iterable[Mapping[str, object]]:
    """Return the arguments as they are listed: a description only when there is one, `required` always."""
    for item in declared_objects(function_name, "promptArguments", text):
        declared = {key.lower(): value for key, value in item.items()}
        described = {"description": declared["description"]} if declared.get("description") else {}
        yield {"name": str(declared.get("name")), **described, "required": declared.get("required") is True}
