"""Tools that start orchestrations: the page's app on the local host, and the rules over a small client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from hosting.orchestrations import Engine, Orchestrations
from hosting.ports import OrchestrationStatus
from hosting.tools import ToolCall
from tests.support.app_folder import make_app
from tests.support.instances import GUARD_SECONDS, Instances
from tests.support.orchestrations_app import HOST
from tests.support.pages import code, page, part
from tests.support.running_host import RunningHost

PAGE = part(page("docs/guides/tools.md"), "## Work that takes longer than a run")
BETWEEN = """
from agent_framework import Agent

from hosting.app import AgentFunctionApp
from tests.support.clerk import ClerksClient

tools = [start_report, report_status, approve_report]
app = AgentFunctionApp(agents=[Agent(ClerksClient(), name="Clerk", tools=tools)])
"""


class NotedClient:
    """The orchestrations of one process: what was started, and what was sent."""

    def __init__(self) -> None:
        self.started: dict[str, tuple[str, object]] = {}
        self.sent: list[tuple[str, str, object]] = []
        self.state = "Running"

    async def start(self, name: str, instance_id: str, given: object) -> None:
        """Note an instance; a second of its id would take its place."""
        assert instance_id not in self.started
        self.started[instance_id] = (name, given)

    async def status(self, instance_id: str) -> OrchestrationStatus | None:
        """Return the state that the test chose, for what was started."""
        return OrchestrationStatus(instance_id, self.state, None, None) if instance_id in self.started else None

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        self.sent.append((instance_id, event, value))


def tools_of(client: NotedClient, call_key: str = "r-1-1.call") -> Orchestrations:
    """Return what a tool of that call has."""
    return Orchestrations(Engine(client, asyncio.get_running_loop()), call_key)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    first, second = code(PAGE, "python")
    source = "\n".join([first, BETWEEN, second])
    with RunningHost(make_app(tmp_path_factory.mktemp("page"), source, host=HOST)) as running:
        yield running


@pytest.fixture
async def instances(host: RunningHost) -> AsyncIterator[Instances]:
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        yield Instances(http)


async def received(instances: Instances, message: str) -> str:
    """Send the clerk one message and return what a tool told."""
    answer = await instances.http.post("/api/agents/Clerk/run", json={"message": message, "thread_id": "t"})
    return str(answer.json()["response"]).rpartition("told: ")[2]


@pytest.mark.slow
@pytest.mark.behaviour("orchestrations.tools")
async def test_a_tool_starts_an_orchestration_and_others_ask_and_tell_it(instances: Instances) -> None:
    """By the id that the model got; asynchronous tools and synchronous ones."""
    report = await received(instances, "call start_report topic=cats")
    await instances.waits(report, "ExecutionStarted")
    before = await received(instances, f"call report_status report_id={report}")
    await received(instances, f"call approve_report report_id={report}")

    ended = await instances.ended(report)

    assert before == "Running: waits for an approval"
    assert ended == ("Completed", "All about cats.")
    assert await received(instances, f"call report_status report_id={report}") == "All about cats."


@pytest.mark.behaviour("orchestrations.tools")
async def test_a_call_that_is_made_again_starts_nothing() -> None:
    """In the first process or the next; another call, name or input is another instance."""
    client = NotedClient()

    first = await tools_of(client).start("report", {"topic": "cats"})
    again = await tools_of(client).start("report", {"topic": "cats"})
    others = [
        await tools_of(client, "r-1-2.call").start("report", {"topic": "cats"}),
        await tools_of(client).start("letter", {"topic": "cats"}),
        await tools_of(client).start("report", {"topic": "dogs"}),
        await tools_of(client).start("report", {"topic": "cats"}, instance_id="mine"),
    ]

    assert first == again
    assert len({first, *others}) == len(client.started) == 5


@pytest.mark.behaviour("orchestrations.tools")
async def test_what_cannot_be_sent_is_refused() -> None:
    client = NotedClient()
    tools = tools_of(client)
    await tools.start("report", instance_id="mine")

    with pytest.raises(ValueError, match="not JSON"):
        await tools.start("report", {1, 2})
    with pytest.raises(ValueError, match="__class__"):
        await tools.start("report", {"__class__": "Popen", "__module__": "subprocess"})
    with pytest.raises(ValueError, match="instance id"):
        await tools.status("../../entities")
    with pytest.raises(ValueError, match="event"):
        await tools.send_event("mine", "a/b")
    with pytest.raises(LookupError, match="no orchestration"):
        await tools.status("nobody")
    client.state = "Completed"
    with pytest.raises(LookupError, match="has ended"):
        await tools.send_event("mine", "Approved")
    assert (len(client.started), client.sent) == (1, [])


@pytest.mark.behaviour("orchestrations.tools")
async def test_a_thread_may_wait_for_the_same() -> None:
    client = NotedClient()
    blocking = tools_of(client).blocking

    started = await asyncio.to_thread(blocking.start, "report", {"topic": "cats"})
    status = await asyncio.to_thread(blocking.status, started)
    await asyncio.to_thread(blocking.send_event, started, "Approved", True)

    assert started == await tools_of(client).start("report", {"topic": "cats"})
    assert (status.status, status.is_over, client.sent) == ("Running", False, [(started, "Approved", True)])


@pytest.mark.behaviour("orchestrations.tools")
def test_a_host_without_orchestrations_says_so() -> None:
    with pytest.raises(LookupError, match="in a Functions app they can"):
        _ = ToolCall("Clerk", "t", "r-1", "r-1-1.call").orchestrations
