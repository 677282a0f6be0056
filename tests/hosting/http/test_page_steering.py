"""A word to a run at work, on the page: it joins that, as its sender chooses or as the agent has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ask, browsed, ended
from tests.support.app_folder import make_app
from tests.support.running_host import RunningHost

SOURCE = """
import os
from pathlib import Path

from hosting.app import AgentFunctionApp
from tests.support.steered import FileGate, Working

app = AgentFunctionApp()
for name, options in {"steers": {"busy": "steer"}, "queues": {}, "rejects": {"busy": "reject"}}.items():
    working = Working(name)
    working.gate = FileGate(Path(os.environ["GATES"]) / name)
    app.add_agent(working.agent, **options)
"""

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the files that let the agents' tools go on."""
    return tmp_path_factory.mktemp("gates")


@pytest.fixture(scope="module")
def working(gates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An app whose agents are at work until a test lets them go on."""
    folder = make_app(tmp_path_factory.mktemp("steered"), SOURCE)
    with RunningHost(folder, environ={"GATES": str(gates)}) as host:
        yield host


@pytest.mark.behaviour("page.steering")
@pytest.mark.parametrize(("agent", "offered"), [("steers", "steer"), ("queues", "queue"), ("rejects", "queue")])
async def test_a_word_joins_the_run_at_work_which_answers_both(
    working: RunningHost, gates: Path, agent: str, offered: str
) -> None:
    """What the agent does stands as the choice. A reload shows both words in the turn of that run."""
    async with browsed(working.origin) as browser:
        page = await browser.open(f"#/{agent}")
        await ask(page, "first")
        await page.locator(".turn .step.busy").wait_for()
        choice, message = (
            page.get_by_label("A run is in progress. Your message"),
            page.get_by_label("Message", exact=True),
        )
        await message.fill("and this")
        await expect(choice).to_have_value(offered)
        await choice.select_option("joins the run")
        await message.press("Enter")
        await page.get_by_text("Waiting for its turn").wait_for()
        await message.fill("more")
        await expect(choice).to_have_value(offered)
        await message.fill("")
        (gates / agent).touch()
        await ended(page, "joined")
        answer = await ended(page)
        await page.reload()
        await expect(page.locator(".turn")).to_have_count(1)
        asked = page.locator(".turn .request")
        await expect(asked).to_contain_text("first")
        await expect(asked).to_contain_text("and this")

    assert '"user: and this"' in answer
