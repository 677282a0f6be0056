"""What the samples' trial says of small samples whose outcome is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.framework_samples import trial
from tests.framework_samples.__main__ import is_sample, table
from tests.framework_samples.trial import Outcome, tried

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("tests.framework-samples")]

AGENT = """
import asyncio
import os

from agent_framework import Agent, tool
from agent_framework.foundry import FoundryChatClient
from azure.identity import AzureCliCredential


@tool
def look(place: str) -> str:
    return f"rain in {place}"


async def main() -> None:
    client = FoundryChatClient(project_endpoint=os.environ["FOUNDRY_ENDPOINT"], credential=AzureCliCredential())
    agent = Agent(client=client, name="Looker", tools=[look, client.get_web_search_tool()])
    print(await agent.run("How is the weather?"))


if __name__ == "__main__":
    asyncio.run(main())
"""

FLOW = """
import asyncio

from agent_framework import Agent, WorkflowBuilder
from agent_framework.openai import OpenAIChatClient


async def main() -> None:
    first, second = (Agent(client=OpenAIChatClient(), name=name) for name in ("First", "Second"))
    agent = WorkflowBuilder(start_executor=first).add_edge(first, second).build().as_agent()
    async for update in agent.run(["Write", "a poem."], stream=True):
        print(update.text)


if __name__ == "__main__":
    asyncio.run(main())
"""

LOADING = """
import asyncio

from agent_framework import Agent, FileHistoryProvider
from agent_framework.openai import OpenAIChatClient


async def main() -> None:
    await Agent(client=OpenAIChatClient(), name="Filer", context_providers=[FileHistoryProvider("kept")]).run("Hello")


if __name__ == "__main__":
    asyncio.run(main())
"""

ELSEWHERE = """
import asyncio

from agent_framework.foundry import FoundryAgent


async def main() -> None:
    await FoundryAgent(name="Away").run("Hello")


if __name__ == "__main__":
    asyncio.run(main())
"""

UNPACKED = "import agent_framework, no_such_package\n\nif __name__ == '__main__':\n    pass\n"


@pytest.mark.parametrize(
    ("text", "result", "why"),
    [
        (AGENT, "hosted", ""),
        (FLOW, "hosted", ""),
        (LOADING, "refused", "Agent 'Filer' has the history provider 'file_history'"),
        (ELSEWHERE, "not tried", "needs a service: FoundryAgent runs at a service"),
        (UNPACKED, "not tried", "needs the package no_such_package"),
    ],
    ids=["agent", "flow", "loading", "elsewhere", "unpacked"],
)
def test_a_sample_is_hosted_or_the_table_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, result: str, why: str
) -> None:
    """Its file is not changed, and is in no part that nobody asked for."""
    monkeypatch.setattr(trial, "START_SECONDS", 20.0)  # a host whose app is refused never says that it is ready
    sample = tmp_path / "02-agents" / "tools" / "sample.py"
    sample.parent.mkdir(parents=True)
    sample.write_text(text)

    outcome = tried(tmp_path, sample)

    assert (outcome.result, outcome.why.startswith(why)) == (result, True), outcome
    assert (outcome.kind, sample.read_text()) == ("02-agents/tools", text)
    assert [is_sample(tmp_path, sample, parts) for parts in ([], ["02-agents"], ["03-workflows"])] == [
        True,
        True,
        False,
    ]


def test_the_table_counts_by_kind_and_by_reason() -> None:
    """The reasons that are ours stand before the others."""
    outcomes = [
        Outcome("02-agents/tools/one.py", "hosted"),
        Outcome("02-agents/tools/two.py", "not tried", "asks its user"),
        Outcome("01-get-started/one.py", "refused", "a reason"),
    ]

    printed = table(outcomes)

    assert "| 02-agents/tools | 1 | 0 | 0 | 0 | 1 |" in printed
    assert printed.index("| refused | a reason | 1 |") < printed.index("| not tried | asks its user | 1 |")
