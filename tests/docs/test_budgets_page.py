"""docs/guides/budgets.md: its apps start as they stand there, and what it shows of a day is what an owner reads."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.app import AgentFunctionApp
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
    apps = [app_of_block(block, monkeypatch) for block in code(PAGE + page("docs/guides/limits.md"), "python")]

    assert [sorted(app.agents) for app in apps] == [
        ["assistant", "researcher"],
        ["assistant"],
        ["assistant"],
        ["assistant", "researcher"],
    ]
