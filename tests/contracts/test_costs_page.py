"""What docs/costs.md says that a turn takes of the storage account, held against what it takes of the emulator.

Two apps over one run log: one answers requests, the other runs the agents, as Flex Consumption has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

from agents.assistant import create_assistant
from agents.offline import OfflineChatClient
from hosting.app import AgentFunctionApp
from tests.support.azurite import Azurite
from tests.support.direct import DirectHost
from tests.support.fault_proxy import FaultProxy
from tests.support.page_tables import rows
from tests.support.running_host import ROOT
from tests.support.storage_calls import LogPosition, by_kind, calls_in

pytestmark = pytest.mark.slow

COSTS = (ROOT / "docs" / "costs.md").read_text(encoding="utf-8")
COSTS = (ROOT / "docs" / "costs.md").read_text(encoding="utf-8")
WORDS, WORD_SECONDS = 40, 0.05
GUARD_SECONDS = 5.0
PRICED_KINDS = ("write", "list", "read")
RUN = "/api/agents/steady/run"
ASK = {"message": "Say something, please."}


class SteadyModel(BaseChatClient[Any]):
    """Says forty words in two seconds, one by one to whoever streams."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        return self._build_response_stream(words()) if stream else sentence()


class SteadyClient(FunctionInvocationLayer[Any], SteadyModel):
    """The steady model as an agent takes it."""


async def words() -> AsyncIterator[ChatResponseUpdate]:
    for number in range(WORDS):
        await asyncio.sleep(WORD_SECONDS)
        yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(f"word{number} ")])


async def sentence() -> ChatResponse[Any]:
    await asyncio.sleep(WORDS * WORD_SECONDS)
    return ChatResponse(messages=Message("assistant", ["".join(f"word{number} " for number in range(WORDS))]))


@dataclass(frozen=True)
class Instances:
    """The two apps: `http` asks the one; both reach the account over the proxy, which counts bytes. Its log counts
    calls."""

    http: httpx.AsyncClient
    azurite: Azurite
    proxy: FaultProxy

    async def taken(self, turn: Callable[[Instances], Awaitable[object]]) -> list[float]:
        """Return writes, lists, reads, kB up and kB down of one turn, after others of which nobody counts the first
        calls of a process."""
        await self.http.post(RUN, json=ASK)
        position = self.azurite.position()
        self.proxy.bytes_up = self.proxy.bytes_down = 0
        await turn(self)
        calls = by_kind(self.azurite.calls_since(position))
        assert calls.keys() <= set(PRICED_KINDS)
        return [*(calls[kind] for kind in PRICED_KINDS), self.proxy.bytes_up / 1000, self.proxy.bytes_down / 1000]


@pytest.fixture
async def instances(azurite: Azurite) -> AsyncIterator[Instances]:
    with FaultProxy(azurite.origins) as proxy:
        front, back = (app_on(proxy.connection_string) for _ in range(2))
        front.entities = back.entities
        transport = httpx.ASGITransport(front.asgi)
        async with httpx.AsyncClient(transport=transport, base_url="http://app.example", timeout=20) as http:
            yield Instances(http, azurite, proxy)


def app_on(connection_string: str) -> DirectHost:
    """The app of an instance."""
    environ = {"AzureWebJobsStorage": connection_string, "AGENT_RUN_LOG": "blob", "AGENT_ARCHIVE": "memory"}
    agents = [Agent(SteadyClient(), name="steady"), create_assistant(OfflineChatClient())]
    return DirectHost(AgentFunctionApp(agents=agents, environ=environ))


async def waited(instances: Instances) -> None:
    assert (await instances.http.post(RUN, json=ASK)).status_code == 200


async def keyed(instances: Instances) -> None:
    assert (await instances.http.post(RUN, json=ASK, headers={"idempotency-key": "once"})).status_code == 200


async def accepted(instances: Instances) -> None:
    position = instances.azurite.position()
    answer = await instances.http.post(RUN, json={**ASK, "wait_for_response": False})
    await asyncio.wait_for(ended(position), GUARD_SECONDS)
    assert (await instances.http.get(answer.headers["location"])).status_code == 200


async def ended(position: LogPosition) -> None:
    """Return once the run was opened, claimed and ended; nothing tells of it but its calls."""
    while by_kind(calls_in(position.text_since()))["write"] < 3:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def streamed(instances: Instances) -> None:
    answer = await instances.http.post(RUN, json=ASK, headers={"accept": "text/event-stream"})
    assert "event: completed" in answer.text


async def with_tool(instances: Instances) -> None:
    asked = {"message": "What is the weather in Paris?"}
    assert (await instances.http.post("/api/agents/assistant/run", json=asked)).status_code == 200


TURNS = {
    "waited for": waited,
    "the same, with an `Idempotency-Key`": keyed,
    "not waited for, asked for once": accepted,
    "streamed": streamed,
    "with a tool call, answered at once": with_tool,
}


def test_the_page_tells_of_every_turn_that_is_measured() -> None:
    """And of no other."""
    assert [cells[0] for cells in rows(COSTS, "turn")] == list(TURNS)


@pytest.mark.behaviour("azure.costs-measured")
@pytest.mark.parametrize("name", TURNS)
async def test_a_turn_takes_of_the_storage_what_the_page_says(instances: Instances, name: str) -> None:
    """Writes exactly, but for a stream's, which come by the clock; what is asked in vain depends on the machine too."""
    told = next(list(map(float, cells[1:])) for cells in rows(COSTS, "turn") if cells[0] == name)
    taken = await instances.taken(TURNS[name])

    print(name, [round(value, 1) for value in taken])
    assert abs(taken[0] - told[0]) <= (name == "streamed")
    assert abs(taken[1] - told[1]) <= 1
    assert taken[2:] == pytest.approx(told[2:], rel=0.5, abs=4)
