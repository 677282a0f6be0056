"""What a turn is given and leaves: its conversation parsed once, its caller's context; nothing of what is refused."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Final

import pytest
from agent_framework import Agent, AgentResponse, Content, Message
from msgspec.structs import replace
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from hosting.core.thread.commands import DeleteThread
from hosting.core.thread.events import Accepted, Failed
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest
from hosting.errors import HostingError
from hosting.invocation import TASK_MARK, begin_invocation, current_invocation
from hosting.orchestrations import ENGINE, Engine, Orchestrations
from hosting.ports import OrchestrationStatus
from state.codec import read
from state.models import plain_entry, validated_entry
from tests.support.cluster.cluster import ADDRESS, AGENT, AppProcess, Cluster, EchoAgent, call
from tests.support.planned import planned_client

pytestmark = pytest.mark.moved_time

MAKERS: Final[frozenset[CodeType]] = frozenset({validated_entry.__code__, plain_entry.__code__})
TIMES = 20


class ParseCounter:
    """Counts, by the interpreter's own hook, the documents that are read and the entries made of JSON."""

    def __init__(self) -> None:
        self.documents = 0
        self.entries: Counter[tuple[str, str]] = Counter()

    def __call__(self, frame: FrameType, event: str, made: Any) -> None:
        if event == "return" and frame.f_code is read.__code__:
            self.documents += 1
        if event == "return" and frame.f_code in MAKERS and made is not None:
            kind = type(made).__name__.removeprefix("Plain").removesuffix("Entry")
            self.entries[kind, made.correlation_id] += 1


@pytest.mark.behaviour("state.parsed-once")
async def test_the_next_turn_in_the_same_process_parses_nothing_of_the_past(app: AppProcess) -> None:
    await app.run("one")
    counter = ParseCounter()
    sys.setprofile(counter)

    run_id = await app.run("two")

    sys.setprofile(None)
    assert counter.documents == 0
    assert counter.entries == {("Request", run_id): 1, ("Response", run_id): 1}


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


class NotingAgent(EchoAgent):
    """Notes its invocation, by the two places where it is found, and its trace; it starts an orchestration."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, tuple[str, str, int]] = {}

    async def _answer(self, texts: list[str]) -> AgentResponse[Any]:
        await self._begin(texts)
        invocation, mark = current_invocation(), getattr(asyncio.current_task(), TASK_MARK, "")
        trace_id = trace.get_current_span().get_span_context().trace_id
        self.seen[texts[-1]] = ("" if invocation is None else invocation.id, mark, trace_id)
        await Orchestrations(ENGINE.get(), texts[-1]).start(texts[-1], None)
        return AgentResponse(messages=[Message("assistant", ["done"])])


@dataclass(frozen=True)
class Context:
    """What the worker gives a function by that name."""

    invocation_id: str
    thread_local_storage: Any = None


@pytest.mark.behaviour("service.callers-contexts")
async def test_a_run_that_is_claimed_with_the_end_before_it_has_the_context_of_its_own_caller() -> None:
    """So its logs reach the invocation that waits for it, its spans stand in its trace, and its tools have a client."""
    cluster = Cluster(NotingAgent)
    app = cluster.process()
    app.agent.gate.clear()

    async def ask(number: int, client: Client) -> Run:
        begin_invocation(Context(f"invocation {number}"))
        ENGINE.set(Engine(client, asyncio.get_running_loop()))
        span = NonRecordingSpan(SpanContext(number, 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)))
        with trace.use_span(span):
            return await app.answered(f"run {number}")

    clients, waiting = [Client(), Client(), Client()], list[asyncio.Task[Run]]()
    for number, client in enumerate(clients, 1):
        waiting.append(asyncio.create_task(ask(number, client)))
        await asyncio.sleep(0.1)
    app.agent.gate.set()
    ended = await asyncio.gather(*waiting)
    kinds = await app.kinds()
    await cluster.close()

    assert kinds.count("claimed") == 3
    assert [run.end.kind for run in ended if run.end] == ["completed"] * 3
    assert app.agent.seen == {f"run {number}": (*[f"invocation {number}"] * 2, number) for number in (1, 2, 3)}
    assert [client.started for client in clients] == [["run 1"], ["run 2"], ["run 3"]]


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.behaviour("service.refused-leave-nothing")
@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("code", ["too_many_runs", "idempotency_key_reused", "thread_deleting"])
async def test_a_refused_request_is_gone_with_its_answer(app: AppProcess, code: str) -> None:
    """Not once a garbage collector comes: until then hundreds of large ones would be held."""
    app.agent.gate.clear()
    for number in range(32):
        await app.start(call(f"{number}", key=f"k{number}", waits=False))
    if code == "thread_deleting":
        await app.log.execute(ADDRESS, DeleteThread(0.0))

    async def refusal() -> str:
        asked = call("refused", key="k1" if code == "idempotency_key_reused" else None)
        try:
            await app.runs.start(AGENT, asked, app.caller)
        except HostingError as error:
            return error.code
        return ""

    codes = {await refusal() for _ in range(TIMES)}

    kept = [each for each in gc.get_objects() if isinstance(each, Accepted) and each.request.message == "refused"]
    assert codes == {code}
    assert len(kept) <= 1, "more than the last one is kept"


@pytest.fixture
async def deep() -> AsyncIterator[AppProcess]:
    """A process whose agent has a tool with a result that nests too deep."""

    def look(n: int) -> list[Content]:
        nested: Any = "down"
        for _ in range(200):
            nested = [nested]
        return [Content.from_text("so deep", additional_properties={"deep": nested})]

    client = planned_client(lambda text: None, (("look",), "done"))
    cluster = Cluster(lambda: Agent(client, name=AGENT, tools=[look]))
    yield cluster.process()
    await cluster.close()


@pytest.mark.behaviour("service.unstorable")
async def test_a_tool_whose_result_nests_too_deep_ends_its_run_by_that_name(deep: AppProcess) -> None:
    run = await deep.answered()

    assert isinstance(run.end, Failed)
    assert (run.end.code, run.run_id in run.end.detail) == ("unstorable_answer", True)


@pytest.mark.behaviour("service.unstorable")
async def test_a_request_that_this_version_does_not_take_ends_its_run_and_spoils_no_conversation(
    app: AppProcess,
) -> None:
    request = RunRequest(contents=({"$type": "of-another-version"},))
    run = await app.start(replace(call(), request=request))
    end = (await app.runs.wait(run, app.engine, 5.0)).end
    await app.answered("after")

    assert isinstance(end, Failed)
    assert (end.code, app.agent.turns) == ("unreadable_state", [["after"]])
