"""docs/guides/tools.md: its blocks are one module, whose tools do what the page says.

Those of long-running tools are an app of their own, which tests/hosting/core/entity has.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from agent_framework import Agent

from hosting.app import AgentFunctionApp
from hosting.offline.model import OfflineChatClient
from tests.support.direct import DirectHost
from tests.support.made_app import MEMORY, ask, served
from tests.support.pages import code, page, part

LONGER = "## Work that takes longer than a run"

pytestmark = pytest.mark.behaviour("docs.tools")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The page's module, with a bank that notes its keys."""
    made = ModuleType("tools_page")
    monkeypatch.setitem(sys.modules, "tools_page", made)  # where the framework looks for type hints
    paid: list[str] = []

    def pay(number: str, amount: int, idempotency_key: str) -> str:
        paid.append(idempotency_key)
        return f"{amount} paid for {number}"

    made.__dict__.update(bank=SimpleNamespace(pay=pay), paid=paid)
    text = page("docs/guides/tools.md").replace(part(page("docs/guides/tools.md"), LONGER), "")
    exec("\n".join(code(text, "python")), made.__dict__)
    return made


async def test_a_tool_that_pays_passes_its_key_on_and_one_that_fails_is_told_to_the_model(
    module: Any,
) -> None:
    tools = [module.refund, module.cancel_order]
    app = AgentFunctionApp(agents=[Agent(client=OfflineChatClient(), name="Joker", tools=tools)], environ=MEMORY)
    async with served(app) as (host, http):
        assert isinstance(host, DirectHost)
        paid = (await ask(http, 'Call refund with {"number": "A-17", "amount": 5}')).json()
        failed = (await ask(http, 'Call cancel_order with {"number": "B-1"}')).json()

    assert paid["response"] == "The tool says: 5 paid for A-17"
    assert [key.startswith(f"{paid['run_id']}-") for key in module.paid] == [True]
    assert failed["status"] == "success"
    assert "rror" in failed["response"]


async def test_a_tool_that_needs_approval_waits_for_it(module: Any) -> None:
    """It is not called before."""
    agent = Agent(client=OfflineChatClient(), name="Joker", tools=[module.delete_order])
    async with served(AgentFunctionApp(agents=[agent], environ=MEMORY)) as (_, http):
        waiting = (await ask(http, 'Call delete_order with {"number": "A-17"}')).json()

    assert [call["tool"] for call in waiting["pending_approvals"]] == ["delete_order"]
    assert module.ORDERS == {"A-17": "shipped on Monday"}
