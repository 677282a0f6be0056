"""docs/reference/mcp.md shows the tool as it is."""

from __future__ import annotations

import json
import re

import pytest

from hosting.app import AgentFunctionApp
from hosting.core.runs import PROTOCOL_WAIT_SECONDS
from tests.mcp.node_packages import NodePackages
from tests.support.app.scripted import scripted_agent
from tests.support.direct import DirectHost
from tests.support.pages import code, page, part

TEXT = page("docs/reference/mcp.md")
pytestmark = pytest.mark.behaviour("mcp.page")


@pytest.fixture
def host() -> DirectHost:
    """One agent as a tool, with options of its callers, called directly."""
    environ = {"AGENT_LOG": "memory"}
    app = AgentFunctionApp(
        agents=[scripted_agent("Ada")],
        enable_mcp_tool_trigger=True,
        options={"temperature": (0, 1)},
        environ=environ,
    )
    return DirectHost(app)


def test_the_page_lists_exactly_the_arguments_of_the_tool(host: DirectHost) -> None:
    trigger = next(binding for binding in host.bindings["mcptool-Ada"] if binding["type"] == "mcpToolTrigger")

    assert rows_below("| argument | |") == [
        declared["propertyName"] for declared in json.loads(trigger["toolProperties"])
    ]


async def test_the_pages_result_has_the_shape_of_a_real_one(host: DirectHost) -> None:
    """The same members, and the text twice."""
    shown = json.loads(code(part(TEXT, "## The tool"), "json")[0])

    real = await host.call_tool("Ada", {"query": "hello"})

    assert (shown.keys(), shown["structuredContent"].keys()) == (real.keys(), real["structuredContent"].keys())
    assert shown["content"][0]["text"] == shown["structuredContent"]["response"]


@pytest.mark.slow
@pytest.mark.behaviour("hosting.waits-that-fit")
def test_the_official_client_for_typescript_gives_up_when_the_page_says_and_has_the_ids_before(
    node_packages: NodePackages,
) -> None:
    module = node_packages.folder / "node_modules/@modelcontextprotocol/sdk/dist/esm/shared/protocol.js"
    (constant,) = re.findall(r"DEFAULT_REQUEST_TIMEOUT_MSEC = (\d+);", module.read_text(encoding="utf-8"))
    seconds = int(constant) / 1000

    assert f"[gives up after {seconds:g} s](waits.md)" in TEXT
    assert seconds - 10.0 >= PROTOCOL_WAIT_SECONDS


def rows_below(head: str) -> list[str]:
    """Return the first cell of each row of the table with that head, without its backquotes."""
    table = TEXT.partition(head)[2].partition("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)
