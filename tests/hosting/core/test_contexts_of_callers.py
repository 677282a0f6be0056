"""A run begins in the context of its own caller, whoever claimed it: its invocation, its trace, its durable client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from agent_framework import AgentResponse, Message
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.run import Run
from hosting.invocation import TASK_MARK, begin_invocation, current_invocation
from hosting.orchestrations import ENGINE, Engine, Orchestrations
from hosting.ports import OrchestrationStatus
from tests.support.process import EchoAgent, Process, call
from tests.support.process import Engine as DurableEngine

GUARD_SECONDS = 5.0


class Client:
    """The durable client of one invocation."""

    def __init__(self) -> None:
        self.started: list[str] = []

    async def start(self, name: str, instance_id: str, given: object) -> None:
        self.started.append(name)

    async def status(self, instance_id: str) -> OrchestrationStatus | None:
        return None

    async def send_event(self, instance_id: str, event: str, value: object) -> None:
        """Send nothing."""


@dataclass(frozen=True)
class Seen:
    """In which context an agent ran: its invocation, by the two places where it is found, and its trace."""

    invocation: str
    marked: str
    trace_id: int


class NotingAgent(EchoAgent):
    """Notes its context, and starts an orchestration that is named as the message."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, Seen] = {}

    async def _answer(self, texts: list[str]) -> AgentResponse[Any]:
        await self._begin(texts)
        invocation, mark = current_invocation(), getattr(asyncio.current_task(), TASK_MARK, "")
        trace_id = trace.get_current_span().get_span_context().trace_id
        self.seen[texts[-1]] = Seen("" if invocation is None else invocation.id, mark, trace_id)
        await Orchestrations(ENGINE.get(), texts[-1]).start(texts[-1], None)
        return AgentResponse(messages=[Message("assistant", ["done"])])


@pytest.fixture
def agent() -> NotingAgent:
    return NotingAgent()


@pytest.fixture
def process(agent: NotingAgent) -> Iterator[Process]:
    process = Process(SharedMemory(), MemoryObjects(), DurableEngine(), run=agent)
    yield process
    process.loop.close()


@dataclass(frozen=True)
class Context:
    """What the worker gives a function by that name."""

    invocation_id: str
    thread_local_storage: Any = None


async def asked(process: Process, number: int, client: Client, begun: asyncio.Event) -> Run:
    begin_invocation(Context(f"invocation {number}"))
    ENGINE.set(Engine(client, asyncio.get_running_loop()))
    span = NonRecordingSpan(SpanContext(number, 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)))
    with trace.use_span(span):
        run = await process.start(call(f"run {number}"))
        begun.set()
        return await process.runs.wait(run, process.engine, GUARD_SECONDS)


@pytest.mark.behaviour("service.callers-contexts")
async def test_a_run_that_is_claimed_with_the_end_before_it_has_the_context_of_its_own_caller(
    process: Process, agent: NotingAgent
) -> None:
    """So its logs reach the invocation that waits for it, its spans stand in its trace, and its tools have a client."""
    agent.gate.clear()
    clients, waiting = [Client(), Client(), Client()], []
    for number, client in enumerate(clients, 1):
        begun = asyncio.Event()
        waiting.append(asyncio.ensure_future(asked(process, number, client, begun)))
        await asyncio.wait_for(begun.wait(), GUARD_SECONDS)
    agent.gate.set()

    ended = await asyncio.gather(*waiting)

    assert (await process.kinds()).count("claimed") == 3
    assert [run.end.kind for run in ended if run.end] == ["completed"] * 3
    assert agent.seen == {
        f"run {number}": Seen(f"invocation {number}", f"invocation {number}", number) for number in (1, 2, 3)
    }
    assert [client.started for client in clients] == [["run 1"], ["run 2"], ["run 3"]]
