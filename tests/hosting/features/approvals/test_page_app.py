"""The app of the page docs/guides/approvals.md: its code blocks around a scripted clerk, on the local host."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.app_folder import make_app
from tests.support.carriers import GUARD_SECONDS
from tests.support.instances import Instances
from tests.support.orchestrations_app import HOST, page_blocks
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[4] / "docs" / "guides" / "approvals.md"
BEFORE = """
class payments:
    @staticmethod
    def refund(order, amount):
        return f"paid {amount} for {order}"
"""
BETWEEN = """
from hosting.app import AgentFunctionApp
from tests.support.clerk import ClerksClient

app = AgentFunctionApp(agents=[Agent(ClerksClient(), name="Clerk", tools=[refund])])
"""
ASKED = "call refund order=A-17 amount=120"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    *tools, orchestration = page_blocks(PAGE)
    source = "\n".join([BEFORE, *tools, BETWEEN, orchestration])
    with RunningHost(make_app(tmp_path_factory.mktemp("page"), source, host=HOST)) as running:
        yield running


@pytest.fixture
async def instances(host: RunningHost) -> AsyncIterator[Instances]:
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        yield Instances(http)


@pytest.mark.behaviour("approvals.orchestrations")
@pytest.mark.parametrize(
    ("approved", "response"),
    [(True, "told: paid 120 for A-17"), (False, "told: Error: Tool call invocation was rejected by user.")],
)
async def test_a_person_sends_the_orchestration_an_event_and_it_brings_the_answer(
    instances: Instances, approved: bool, response: str
) -> None:
    instance = f"person-{approved}"
    await instances.start("refund_order", ASKED, instance)
    await instances.waits(instance, "TimerCreated")

    await instances.tell(instance, "Decision", approved)

    assert await instances.ended(instance) == ("Completed", response)


@pytest.mark.behaviour("approvals.goes-on")
async def test_the_answer_of_the_page_is_the_answer_of_the_app(instances: Instances) -> None:
    """Over HTTP, on the local host: what waits has the members that the page shows."""
    answer = (await instances.http.post("/api/agents/Clerk/run", json={"message": ASKED})).json()
    (approval,) = answer["pending_approvals"]
    shown = json.loads(re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)[0])

    url = f"/api/agents/Clerk/threads/{answer['thread_id']}/approvals/{approval['id']}"
    last = await instances.http.post(url, json={"approved": True})

    assert approval.keys() == shown["pending_approvals"][0].keys()
    assert (approval["tool"], approval["arguments"]) == ("refund", {"order": "A-17", "amount": "120"})
    assert last.json()["response"] == "told: paid 120 for A-17"
