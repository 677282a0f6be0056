"""The app's MCP resources as they are listed and found by address (host contract 5.7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from devhost.bindings import McpResourceTrigger
from devhost.errors import FunctionLoadError
from devhost.index import Function, FunctionIndex
from devhost.mcp.declared import declared_metadata

_PLACE = re.compile(r"\{([^{}]*)\}")
_PLACE_NAME = re.compile(r"\w+\Z")


@dataclass(frozen=True)
class Resource:
    """One resource, or a family of them when its address has places; `listing` is its entry in the lists."""

    function: Function
    name: str
    listing: Mapping[str, object]
    mime_type: str | None
    has_result_schema: bool
    address: re.Pattern[str]

    @property
    def is_template(self) -> bool:
        """Tell whether the address has places, so that it is listed as a template."""
        return "uriTemplate" in self.listing


@dataclass(frozen=True)
class Resources:
    """All resources, in the order of their names."""

    all: tuple[Resource, ...]

    def find(self, uri: str) -> Resource | None:
        """Return the resource of that address, in any case; one without places wins."""
        met = [resource for resource in self.all if resource.address.fullmatch(uri)]
        return min(met, key=lambda resource: resource.is_template, default=None)


def find_resources(index: FunctionIndex) -> Resources:
    """Return what the app declares; raise `FunctionLoadError` for an address that cannot be matched."""
    resources = (
        _resource(function, function.trigger)
        for function in index.running()
        if isinstance(function.trigger, McpResourceTrigger)
    )
    return Resources(tuple(sorted(resources, key=lambda resource: resource.name)))


def _resource(function: Function, trigger: McpResourceTrigger) -> Resource:
    declared = trigger.properties
    mime_type = declared.get("mimeType")
    return Resource(
        function=function,
        name=trigger.resource_name,
        listing=_listing(function.name, trigger),
        mime_type=str(mime_type) if mime_type else None,
        has_result_schema=declared.get("useResultSchema") is True,
        address=_address(function.name, trigger.uri),
    )


def _listing(function_name: str, trigger: McpResourceTrigger) -> Mapping[str, object]:
    """Return the entry with its members in the recorded order; the extension leaves the declared size out."""
    declared = trigger.properties
    listing = {
        "name": trigger.resource_name,
        "title": declared.get("title"),
        "uriTemplate" if _PLACE.search(trigger.uri) else "uri": trigger.uri,
        "description": declared.get("description"),
        "mimeType": declared.get("mimeType"),
        "_meta": declared_metadata(function_name, declared),
    }
    return {key: value for key, value in listing.items() if value}


def _address(function_name: str, uri: str) -> re.Pattern[str]:
    pattern = ""
    for position, part in enumerate(_PLACE.split(uri)):
        is_place = position % 2 == 1
        if is_place and not _PLACE_NAME.match(part):
            reason = f"its uri '{uri}' has the place '{{{part}}}'; this host matches plain ones such as '{{id}}'."
            raise FunctionLoadError(function_name, reason)
        pattern += "[^/?&]+" if is_place else re.escape(part)
    return re.compile(pattern, re.IGNORECASE)
