"""docs/guides/budgets.md: its apps start as they stand there, and what it shows of a day is what an owner reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hosting.app import AgentFunctionApp
from tests.support.made_app import served
from tests.support.pages import code, page
from tests.support.spender import priced, spender

PAGE = page("docs/guides/budgets.md")


def app_of_block(block: str, monkeypatch: pytest.MonkeyPatch) -> AgentFunctionApp:
    """Return the app that a block of the page makes; each of its agents asks the model that the page has a price of."""
    monkeypatch.setenv("AGENT_LOG", "memory")
    monkeypatch.setenv("WEBSITE_AUTH_ENABLED", "True")
    agents = {name: spender(name, client=priced("gpt-5-mini")) for name in ("assistant", "researcher")}
    names: dict[str, Any] = dict(agents)
    exec(block, names)
    app = names["app"]
    assert isinstance(app, AgentFunctionApp)
    return app


@pytest.mark.behaviour("docs.budgets")
def test_each_app_of_the_page_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the options that stand there."""
    apps = [app_of_block(block, monkeypatch) for block in code(PAGE + page("docs/guides/limits.md"), "python")]

    assert [sorted(app.agents) for app in apps] == [
        ["assistant", "researcher"],
        ["assistant"],
        ["assistant"],
        ["assistant", "researcher"],
    ]


@pytest.mark.behaviour("docs.budgets")
async def test_its_request_gets_what_the_page_shows_of_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """After one call of the model, and without a principal, as its request has none; the day of the test apart."""
    (block,) = [block for block in code(PAGE, "python") if "owner/day" in block]
    (shown,) = [json.loads(line) for line in PAGE.splitlines() if line.startswith('{"agent": "assistant", "budget"')]
    async with served(app_of_block(block.replace("principal=easy_auth(), ", ""), monkeypatch)) as (_, http):
        await http.post("/api/agents/assistant/run", json={"message": "0"})
        read = (await http.get("/api/agents/assistant/budget")).json()

    assert {**read["budget"], "renews_at": ""} == {**shown["budget"], "renews_at": ""}
    assert read["agent"] == shown["agent"]
