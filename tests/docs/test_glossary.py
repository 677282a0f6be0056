"""docs/reference/glossary.md: the ids that it calls the same are the same."""

from __future__ import annotations

import re

import pytest
from agent_framework import Agent, tool

from hosting.app import AgentFunctionApp
from hosting.names import entity_name
from hosting.offline.model import OfflineChatClient
from hosting.tools import current
from tests.support.direct import DirectHost
from tests.support.made_app import MEMORY, ask, served
from tests.support.pages import page

PAGE = page("docs/reference/glossary.md")


@pytest.mark.behaviour("docs.glossary")
async def test_the_ids_that_the_page_calls_the_same_are_the_same() -> None:
    """In a response, in its headers, and in what a tool and a stream are given."""
    keys = list[str]()

    @tool
    def note() -> str:
        """Note the call."""
        keys.append(current().call_key)
        return "noted"

    app = AgentFunctionApp(agents=[Agent(client=OfflineChatClient(), name="Joker", tools=[note])], environ=MEMORY)
    async with served(app) as (host, http):
        assert isinstance(host, DirectHost)
        response = await ask(http, "Call note with {}")
        body, headers = response.json(), response.headers
        events = (await http.get(f"/api/agents/Joker/threads/{body['thread_id']}/runs/{body['run_id']}/events")).text

    (called,) = re.findall(r'event: tool_call\ndata: {"id": "([^"]+)"', events)
    same = re.findall(r"^\| `([\w-]+)`, `([\w-]+)` \| the same", PAGE, re.MULTILINE)
    given = {**body, **headers}
    assert [given[one] == given[other] for one, other in same] == [True] * 3
    assert keys == [f"{body['run_id']}-{called}"]
    assert f"@{entity_name('<agent>')}@<thread_id>" in PAGE
