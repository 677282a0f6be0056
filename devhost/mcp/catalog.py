"""All that the app offers over MCP: tools, resources, prompts, as they are listed and found.

A declaration that cannot be used is refused at start-up, by `FunctionLoadError`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from devhost.bindings import McpTrigger
from devhost.errors import FunctionLoadError
from devhost.index import Function, FunctionIndex

_PLACE = re.compile(r"\{([^{}]*)\}")
_PLACE_NAME = re.compile(r"\w+\Z")
Listing = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A tool, a prompt or a resource.

    `listing` is its entry in the lists, `required` the tool's properties or prompt's arguments that a call must give a
    value.
    """

    function: Function
    name: str
    listing: Listing
    has_result_schema: bool
    required: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Resource(Offer):
    """One resource, or a family of them when its address has places."""

    mime_type: str | None
    address: re.Pattern[str]

    @property
    def is_template(self) -> bool:
        """Return whether the address has places, so that it is listed as a template."""
        return "uriTemplate" in self.listing


@dataclass(frozen=True)
class Catalog:
    """Tools and prompts by lower-cased name, and resources, each in the order of their names. False without any."""

    tools: Mapping[str, Offer]
    resources: tuple[Resource, ...]
    prompts: Mapping[str, Offer]

    def __bool__(self) -> bool:
        return bool(self.tools or self.resources or self.prompts)

    def resource_at(self, uri: str) -> Resource | None:
        """Return the resource of that address, in any case; one without places wins."""
        met = [resource for resource in self.resources if resource.address.fullmatch(uri)]
        return min(met, key=lambda resource: resource.is_template, default=None)


def find_catalog(index: FunctionIndex) -> Catalog:
    """Return what the app's functions declare; raise `FunctionLoadError` for a declaration that cannot be used."""
    declared = [
        (function, function.trigger) for function in index.running() if isinstance(function.trigger, McpTrigger)
    ]
    declared.sort(key=lambda pair: pair[1].name)
    return Catalog(
        {trigger.name.lower(): _tool(function, trigger) for function, trigger in declared if trigger.kind == "tool"},
        tuple(_resource(function, trigger) for function, trigger in declared if trigger.kind == "resource"),
        {
            trigger.name.lower(): _prompt(function, trigger)
            for function, trigger in declared
            if trigger.kind == "prompt"
        },
    )


def _tool(function: Function, trigger: McpTrigger) -> Offer:
    declared = trigger.properties
    schema = _input_schema(function.name, declared)
    output_schema = declared.get("outputSchema")
    listing = {
        "name": trigger.name,
        "description": str(declared.get("description") or ""),
        "inputSchema": schema,
        "outputSchema": _object(function.name, "outputSchema", output_schema) if output_schema else None,
        "_meta": _metadata(function.name, declared),
    }
    required = schema.get("required", [])
    return Offer(
        function=function,
        name=trigger.name,
        listing={key: value for key, value in listing.items() if value is not None},
        required=tuple(str(name) for name in required) if isinstance(required, list) else (),
        has_result_schema=declared.get("useResultSchema") is True,
    )


def _input_schema(function_name: str, declared: Mapping[str, object]) -> Mapping[str, object]:
    if declared.get("useWorkerInputSchema") is True:
        return _object(function_name, "inputSchema", declared.get("inputSchema"))
    items = _objects_in_lower_case(function_name, "toolProperties", declared)
    return {
        "type": "object",
        "properties": {str(item.get("propertyname")): _property_schema(item) for item in items},
        "required": [str(item.get("propertyname")) for item in items if item.get("isrequired") is True],
    }


def _property_schema(item: Mapping[str, object]) -> Mapping[str, object]:
    kind: dict[str, object] = {"type": item.get("propertytype")}
    if item.get("enumvalues"):
        kind["enum"] = item["enumvalues"]
    description = {"description": str(item.get("description") or "")}
    if item.get("isarray") is True:
        return {"type": "array", "items": kind, **description}
    return {**kind, **description}


def _resource(function: Function, trigger: McpTrigger) -> Resource:
    declared = trigger.properties
    uri, mime_type = str(declared["uri"]), declared.get("mimeType")
    # In the recorded order; the extension leaves the declared size out.
    listing = {
        "name": trigger.name,
        "title": declared.get("title"),
        "uriTemplate" if _PLACE.search(uri) else "uri": uri,
        "description": declared.get("description"),
        "mimeType": mime_type,
        "_meta": _metadata(function.name, declared),
    }
    return Resource(
        function=function,
        name=trigger.name,
        listing={key: value for key, value in listing.items() if value},
        mime_type=str(mime_type) if mime_type else None,
        has_result_schema=declared.get("useResultSchema") is True,
        address=_address(function.name, uri),
    )


def _address(function_name: str, uri: str) -> re.Pattern[str]:
    pattern = ""
    for position, part in enumerate(_PLACE.split(uri)):
        is_place = position % 2 == 1
        if is_place and not _PLACE_NAME.match(part):
            reason = f"its uri '{uri}' has the place '{{{part}}}'; this host matches plain ones such as '{{id}}'."
            raise FunctionLoadError(function_name, reason)
        pattern += "[^/?&]+" if is_place else re.escape(part)
    return re.compile(pattern, re.IGNORECASE)


def _prompt(function: Function, trigger: McpTrigger) -> Offer:
    declared = trigger.properties
    arguments = list(_arguments(function.name, declared))
    listing = {
        "name": trigger.name,
        "title": declared.get("title"),
        "description": declared.get("description"),
        "arguments": arguments,
        "icons": _objects(function.name, "icons", declared),
        "_meta": _metadata(function.name, declared),
    }
    return Offer(
        function=function,
        name=trigger.name,
        listing={key: value for key, value in listing.items() if value},
        required=tuple(str(argument["name"]) for argument in arguments if argument["required"]),
        has_result_schema=declared.get("useResultSchema") is True,
    )


def _arguments(function_name: str, declared: Mapping[str, object]) -> Iterable[Mapping[str, object]]:
    """Return the arguments as they are listed: a description only when there is one, `required` always."""
    for item in _objects_in_lower_case(function_name, "promptArguments", declared):
        described = {"description": item["description"]} if item.get("description") else {}
        yield {"name": str(item.get("name")), **described, "required": item.get("required") is True}


def _metadata(function_name: str, declared: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return what lists show as `_meta`, None when the binding declares no metadata."""
    text = declared.get("metadata")
    return _object(function_name, "metadata", text) if text else None


def _object(function_name: str, key: str, text: object) -> Mapping[str, object]:
    """Return the object that the binding's value `key` holds as JSON text."""
    value = _parsed(function_name, key, text)
    if not isinstance(value, dict):
        raise FunctionLoadError(function_name, f"its '{key}' must be a JSON object.")
    return value


def _objects(function_name: str, key: str, declared: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    """Return the objects that the binding's value `key` holds as a JSON list, none when it is absent or empty."""
    text = declared.get(key)
    items = _parsed(function_name, key, text) if text else []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise FunctionLoadError(function_name, f"its '{key}' must be a JSON list of objects.")
    return items


def _objects_in_lower_case(
    function_name: str, key: str, declared: Mapping[str, object]
) -> Sequence[Mapping[str, object]]:
    """Return the same objects with their keys in lower case: the extension reads these without case."""
    items = _objects(function_name, key, declared)
    return [{name.lower(): value for name, value in item.items()} for item in items]


def _parsed(function_name: str, key: str, text: object) -> object:
    try:
        value: object = json.loads(str(text))
    except ValueError as error:
        raise FunctionLoadError(function_name, f"its '{key}' is not valid JSON: {error}.") from error
    return value
