"""All that the app offers over MCP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from devhost.index import FunctionIndex
from devhost.mcp.prompts import Prompt, find_prompts
from devhost.mcp.resources import Resources, find_resources
from devhost.mcp.tools import Tool, find_tools


@dataclass(frozen=True)
class Catalog:
    """Tools and prompts by lower-cased name, and resources. False when there is none of them."""

    tools: Mapping[str, Tool]
    resources: Resources
    prompts: Mapping[str, Prompt]

    def __bool__(self) -> bool:
        return bool(self.tools or self.resources.all or self.prompts)


def find_catalog(index: FunctionIndex) -> Catalog:
    """Return what the app's functions declare; raise `FunctionLoadError` for a declaration that cannot be used."""
    return Catalog(find_tools(index), find_resources(index), find_prompts(index))
