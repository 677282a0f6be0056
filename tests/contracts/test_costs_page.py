"""What costs.md says that a turn takes of the storage account, held against what it takes of the emulator.

Two apps over one log: one answers requests, the other has the entities, as Flex Consumption has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
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
from hosting.app import AgentFunctionApp
from hosting.offline.model import OfflineChatClient
from tests.support.azurite import Azurite
from tests.support.direct import DirectHost, Entities
from tests.support.fault_proxy import FaultProxy
from tests.support.page_tables import rows
from tests.support.running_host import ROOT
from tests.support.storage_calls import by_kind

pytestmark = pytest.mark.slow

COSTS = (ROOT / "docs" / "reference" / "costs.md").read_text(encoding="utf-8")
WORDS, WORD_SECONDS = 40, 0.05
GUARD_SECONDS = 10.0
PRICED_KINDS = ("write", "list", "read")
MOST_CALLS = 4
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
    """The two apps: `http` asks the one, and `entities` are the other's; both reach the account over the proxy, which
    counts bytes. Its log counts calls."""

    http: httpx.AsyncClient
    entities: Entities
    azurite: Azurite
    proxy: FaultProxy

    async def taken(self, turn: Callable[[Instances], Awaitable[object]]) -> list[float]:
        """Return batches, queries, reads, kB up and kB down of one turn until its conversation is stored."""
        position = self.azurite.position()
        self.proxy.bytes_up = self.proxy.bytes_down = 0
        await turn(self)
        await self.stored()
        calls = by_kind(self.azurite.calls_since(position))
        assert calls.keys() <= set(PRICED_KINDS)
        return [*(calls[kind] for kind in PRICED_KINDS), self.proxy.bytes_up / 1000, self.proxy.bytes_down / 1000]

    async def stored(self) -> None:
        """Return once no entity has anything to do."""
        await asyncio.wait_for(self.entities.idle(), GUARD_SECONDS)


@asynccontextmanager
async def served(azurite: Azurite, *, apart: bool) -> AsyncIterator[Instances]:
    """Two apps, or one that has its entities itself; each has taken a turn: nobody counts a process's first calls."""
    with FaultProxy(azurite.origins) as proxy:
        front = back = app_on(proxy.connection_string)
        if apart:
            back = app_on(proxy.connection_string)
            front.entities = back.entities
        transport = httpx.ASGITransport(front.asgi)
        async with httpx.AsyncClient(transport=transport, base_url="http://app.example", timeout=20) as http:
            instances = Instances(http, back.entities, azurite, proxy)
            await plain(instances)
            await instances.stored()
            yield instances


def app_on(connection_string: str) -> DirectHost:
    environ = {"AzureWebJobsStorage": connection_string, "AGENT_LOG": "tables", "AGENT_ARCHIVE": "memory"}
    agents = [Agent(SteadyClient(), name="steady"), create_assistant(OfflineChatClient())]
    return DirectHost(AgentFunctionApp(agents=agents, environ=environ))


async def waited(instances: Instances) -> None:
    assert (await instances.http.post(RUN, json=ASK)).status_code == 200


async def keyed(instances: Instances) -> None:
    assert (await instances.http.post(RUN, json=ASK, headers={"idempotency-key": "once"})).status_code == 200


async def accepted(instances: Instances) -> None:
    answer = await instances.http.post(RUN, json={**ASK, "wait_for_response": False})
    await instances.stored()
    assert (await instances.http.get(answer.headers["location"])).status_code == 200


async def streamed(instances: Instances) -> None:
    answer = await instances.http.post(RUN, json=ASK, headers={"accept": "text/event-stream"})
    assert "event: completed" in answer.text


async def with_tool(instances: Instances) -> None:
    requested = {"message": "What is the weather in Paris?"}
    assert (await instances.http.post("/api/agents/assistant/run", json=requested)).status_code == 200


TURNS = {
    "waited for": waited,
    "the same, with an `Idempotency-Key`": keyed,
    "not waited for, fetched once": accepted,
    "streamed": streamed,
    "with a tool call, answered at once": with_tool,
}


@pytest.mark.behaviour("azure.costs-measured")
async def test_a_turn_takes_of_the_storage_what_the_page_says(azurite: Azurite) -> None:
    """Batches exactly, but for a stream's, which come by the clock, as looks at the head do; bytes by about a half."""
    said = {cells[0]: [*map(float, cells[1:])] for cells in rows(COSTS, "turn")}
    async with served(azurite, apart=True) as instances:
        taken = {name: await instances.taken(turn) for name, turn in TURNS.items()}

    for name, counts in taken.items():
        print(name, [round(value, 1) for value in counts])
    assert said.keys() == taken.keys()
    for name, (batches, queries, reads, *kilobytes) in taken.items():
        assert abs(batches - said[name][0]) <= (name == "streamed"), name
        assert queries == said[name][1], name
        assert abs(reads - said[name][2]) <= 1, name
        assert kilobytes == pytest.approx(said[name][3:], rel=0.5, abs=4), name


async def plain(instances: Instances) -> None:
    answer = await instances.http.post("/api/agents/assistant/run?thread_id=plain", json={"message": "Hello."})
    assert answer.status_code == 200


@pytest.mark.behaviour("azure.turn-calls")
async def test_a_plain_turn_makes_at_most_four_storage_calls(azurite: Azurite) -> None:
    async with served(azurite, apart=False) as instances:
        counts = [sum((await instances.taken(plain))[:3]) for _ in range(2)]

    print(counts)
    assert max(counts) <= MOST_CALLS
