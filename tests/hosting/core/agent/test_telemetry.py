"""Spans of runs, by OpenTelemetry's own SDK: below the caller's, above the framework's, and without a word of text."""

from __future__ import annotations

import asyncio
import logging
import re
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import Agent, FunctionInvocationLayer
from agent_framework.observability import ChatTelemetryLayer
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from hosting import __name__ as HOSTING
from hosting.app import Budget, Price
from hosting.core.telemetry import QueuedRuns, run_span
from hosting.core.thread.events import Released
from hosting.core.thread.head import NEW, fold
from hosting.core.thread.run import fold_run
from hosting.names import Address
from hosting.ports import Clocks
from state import __name__ as STATE
from tests.support.app.scripted import ScriptedModel, thread_name
from tests.support.carriers import Api
from tests.support.cluster.cluster import AppProcess, Cluster
from tests.support.exported_spans import Exported
from tests.support.made_app import app_of, ask, served
from tests.support.run_events import accepted, claimed
from tests.support.spender import priced, spender

CANARY = "canary-5d21"
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SENT = f"00-{TRACE}-{CALLER}-01"


def span_id(span: ReadableSpan) -> str:
    """Return a span's id as `traceparent` writes it."""
    assert span.context is not None
    return f"{span.context.span_id:016x}"


class TracedClient(FunctionInvocationLayer[Any], ChatTelemetryLayer[Any], ScriptedModel):
    """The scripted model with the framework's telemetry, as the clients of real models have it."""


def parent_of(span: ReadableSpan) -> str | None:
    return f"{span.parent.span_id:016x}" if span.parent is not None else None


async def ask_traced(api: Api, message: str, traceparent: str, thread_id: str = "t") -> dict[str, Any]:
    body = {"message": message, "thread_id": thread_id}
    answer = await api.http.post("/api/agents/Joker/run", json=body, headers={"traceparent": traceparent})
    return dict(answer.json())


@pytest.mark.behaviour("hosting.spans")
async def test_a_run_is_a_span_below_its_caller_s_with_the_ids_of_the_run(direct: Api, spans: Exported) -> None:
    """Through the entity, by the trace context that the run's log carries."""
    thread = f"t-{uuid.uuid4().hex[:12]}"

    answer = await ask_traced(direct, "hi", SENT, thread)

    run = await spans.named("run Joker")
    assert run.context is not None
    assert (f"{run.context.trace_id:032x}", parent_of(run)) == (TRACE, CALLER)
    assert dict(run.attributes or {}) == {
        "gen_ai.agent.name": "Joker",
        "gen_ai.conversation.id": thread,
        "agent.run.id": answer["run_id"],
        "agent.run.attempt": 1,
        "agent.run.outcome": "completed",
    }


@pytest.mark.moved_time
@pytest.mark.behaviour("hosting.spans")
async def test_the_framework_s_spans_of_agent_model_and_tool_stand_below_the_run_s(spans: Exported) -> None:
    cluster = Cluster(lambda: Agent(TracedClient(), name="Joker", tools=[thread_name]))

    await cluster.process().run("tool thread_name")

    run, agent = await spans.named("run Joker"), await spans.named("invoke_agent Joker")
    tool = await spans.named("execute_tool thread_name")
    models = [span for span in spans.get_finished_spans() if span.name.startswith("chat ")]
    assert parent_of(agent) == span_id(run)
    assert [parent_of(below) for below in (tool, *models)] == [span_id(agent)] * 3


@pytest.mark.behaviour("hosting.spans")
async def test_spans_hold_no_text(direct: Api, spans: Exported) -> None:
    """Neither of the request, nor of the answer, nor of an exception; a failure is its code."""
    thread = f"t-{uuid.uuid4().hex[:12]}"

    for message in (CANARY, f"fail {CANARY}"):
        await ask_traced(direct, message, SENT, thread)

    failed = await spans.named("run Joker", 2)
    assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, None)
    assert (failed.attributes or {})["error.type"] == "run_failed"
    exported = "".join(span.to_json() for span in spans.get_finished_spans())
    assert (CANARY in exported, "a secret of the model" in exported) == (False, False)


@pytest.mark.behaviour("hosting.spans")
@pytest.mark.parametrize("sent", ["nonsense", f"00-{'0' * 32}-{CALLER}-01"])
async def test_a_trace_context_that_is_none_is_ignored(direct: Api, spans: Exported, sent: str) -> None:
    """The run is answered, and its span begins a trace of its own."""
    answer = await ask_traced(direct, "hi", sent, f"t-{uuid.uuid4().hex[:12]}")

    run = await spans.named("run Joker")
    assert (answer["status"], run.parent) == ("success", None)


@pytest.mark.moved_time
@pytest.mark.behaviour("hosting.spans")
async def test_each_attempt_is_a_span_of_its_own_below_the_same_caller(
    two: tuple[AppProcess, AppProcess], spans: Exported
) -> None:
    """What the first, whose process was lost, would still tell is its own, whenever it notices."""
    one, other = two
    one.agent.gate.clear()
    run_id = await one.open(traceparent=SENT)
    lost = asyncio.ensure_future(one.deliver(run_id))
    await one.cluster.sleep(1)
    one.die()

    await other.deliver(run_id)
    lost.cancel()

    found = [(parent_of(span), dict(span.attributes or {})) for span in spans.get_finished_spans()]
    runs = {1: list[Any](), 2: list[Any]()}
    for parent, held in found:
        runs[held["agent.run.attempt"]].append((parent, held.get("agent.run.outcome")))  # type: ignore[index]
    assert runs[2] == [(CALLER, "completed")]
    assert runs[1] in ([], [(CALLER, "cancelled")])  # there once the first process, which is alive here, has noticed


OURS = (HOSTING, STATE, "agents")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the lines of runs that ended."""
    return [record.getMessage() for record in caplog.records if record.name == "hosting.core.telemetry"]


@pytest.mark.moved_time
@pytest.mark.behaviour("hosting.one-line-per-run")
async def test_a_run_that_ends_has_its_one_line(app: AppProcess, caplog: pytest.LogCaptureFixture) -> None:
    """Who, where, how it ended, how often it was tried, how long it waited and ran; delivered again, nothing more."""
    caplog.set_level(logging.INFO)
    run_id = await app.open("hi")
    await app.deliver(run_id, commit=False)
    await app.deliver(run_id)
    app.agent.fails = [RuntimeError("the model is away")]
    failed = await app.run("hi")

    answered, raised = [re.sub(r"\d+\.\d{3} s", "# s", line) for line in lines(caplog)]
    assert answered == (
        f"Run {run_id} of agent Echo on thread t1: completed; attempts 1, waited # s, ran # s, tokens in -, out -."
    )
    assert raised.startswith(f"Run {failed} of agent Echo on thread t1: run_failed; attempts 1, ")


@pytest.mark.behaviour("hosting.no-text-in-logs")
async def test_no_logger_of_ours_says_what_was_asked_or_answered(direct: Api, caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG, over answers, tools, structured values, refusals, failures, replays and every way to read a thread."""
    for name in OURS:
        caplog.set_level(logging.DEBUG, logger=name)
    thread = f"t-{uuid.uuid4().hex[:12]}"
    key = {"idempotency-key": uuid.uuid4().hex}
    path = f"/api/agents/Joker/threads/{thread}"

    await asyncio.gather(*(direct.ask(f"{CANARY} {n}", thread_id=thread) for n in range(3)))
    await direct.ask("tool thread_name", thread_id=thread)
    await direct.ask(f"fail {CANARY}", thread_id=thread)
    await direct.ask(f"say {CANARY}", thread_id=thread, response_format={"type": "json_object"})
    await direct.ask(f'say {{"a": "{CANARY}"}}', thread_id=thread, response_format={"type": "json_object"})
    await direct.ask("hi", thread_id=thread, unknown=CANARY)
    for _ in range(2):
        await direct.http.post("/api/agents/Joker/run", json={"message": CANARY, "thread_id": thread}, headers=key)
    for read in (path, f"{path}/messages", f"{path}/export", f"{path}/runs"):
        await direct.http.get(read)
    await direct.http.post(f"{path}/reset")
    await direct.http.delete(path)

    records = [record for record in caplog.records if record.name.partition(".")[0] in OURS]
    assert len(lines(caplog)) == 8
    assert [record.name for record in records if CANARY in logging.Formatter().format(record)] == []


JOKER = "gen_ai.agent.name=Joker"


@pytest.fixture(scope="session")
def reader() -> InMemoryMetricReader:
    """What this process exports: the SDK is set up as an app's author does it, which a process can do once."""
    reader = InMemoryMetricReader()
    metrics.set_meter_provider(MeterProvider([reader]))
    return reader


@pytest.fixture
def counted(reader: InMemoryMetricReader) -> Callable[[], Counter[str]]:
    """Return what was counted since the test began: a metric and its attributes, and by how much it rose."""
    before = all_of(reader)

    def since() -> Counter[str]:
        now = all_of(reader)
        now.subtract(before)
        return Counter({name: count for name, count in now.items() if count})

    return since


def all_of(reader: InMemoryMetricReader) -> Counter[str]:
    """Return all that the process has counted under names of ours; of a histogram how many it has recorded."""
    found: Counter[str] = Counter()
    data = reader.get_metrics_data()
    scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics] if data else []
    for metric in (metric for scope in scopes if scope.scope.name == "hosting" for metric in scope.metrics):
        for point in metric.data.data_points:
            attributes = ",".join(f"{name}={value}" for name, value in sorted((point.attributes or {}).items()))
            found[f"{metric.name} {attributes}"] = point.count if isinstance(point, HistogramDataPoint) else point.value
    return found


def runs_of(counts: Counter[str]) -> dict[str, float]:
    """Return what was counted of runs, without the calls of the store."""
    return {name: count for name, count in counts.items() if name.startswith("agent.run.")}


@pytest.mark.behaviour("hosting.metrics")
async def test_a_run_is_counted_once_from_its_request_to_its_end(
    direct: Api, counted: Callable[[], Counter[str]]
) -> None:
    """And nobody works on it any more. A request that is repeated begins no run."""
    thread, key = f"t-{uuid.uuid4().hex[:12]}", uuid.uuid4().hex

    for _ in range(2):
        headers = {"idempotency-key": key}
        body = {"message": CANARY, "thread_id": thread}
        answer = await direct.http.post("/api/agents/Joker/run", json=body, headers=headers)
        assert answer.status_code == 200

    counts = counted()
    assert runs_of(counts) == {
        f"agent.run.requests {JOKER}": 1,
        f"agent.run.attempts agent.run.attempt.cause=first,{JOKER}": 1,
        f"agent.run.wait {JOKER}": 1,
        f"agent.run.ended agent.run.outcome=completed,{JOKER}": 1,
        f"agent.run.duration agent.run.outcome=completed,{JOKER}": 1,
    }
    assert counts[f"agent.log.calls agent.log.call=append,{JOKER}"] >= 2
    assert CANARY not in str(counts)


@pytest.mark.behaviour("hosting.metrics")
def test_what_was_seen_to_wait_counts_until_it_is_seen_to_be_worked_on_or_for_a_minute() -> None:
    """Its age is that of when it was seen: who no longer looks knows no more, and agents without any have 0."""
    now = [100.0]
    queued = QueuedRuns(Clocks(lambda: now[0], lambda: now[0]), {"joker": "Joker", "idle": "Idle"})
    first, second, other = (Address.of("Joker", name) for name in ("first", "second", "other"))
    waits = fold(NEW, [accepted().model_copy(update={"at": 90.0})])
    seen = []

    for address, head, at in (
        (first, waits, 90.5),
        (first, waits, 95.0),
        (second, waits, 97.0),
        (second, fold(waits, [claimed()]), 98.0),
        (other, NEW, 154.0),
        (other, NEW, 156.0),
        (second, waits, 157.0),
    ):
        now[0] = at
        queued.see(address, head)
        seen.append(queued.oldest())

    assert [one["Joker"] for one in seen] == [0, 5, 7, 5, 5, 0, 67]
    assert {one["Idle"] for one in seen} == {0}


@pytest.mark.behaviour("hosting.metrics")
async def test_what_a_run_cost_is_counted(counted: Callable[[], Counter[str]]) -> None:
    """By the prices of its agent's budget, whatever it ended in."""
    budget = Budget(cost=10, prices={"small": Price(input=100_000, output="200000.10")})
    async with served(app_of(spender(client=priced("small")), budget=budget)) as (_, http):
        for message in ("0", "5"):
            await ask(http, message)

    assert counted()[f"agent.run.cost {JOKER}"] == pytest.approx(15.000003)


RELEASED = Released(at=0, run_id="r", signalled=True)


@pytest.mark.behaviour("hosting.metrics")
@pytest.mark.parametrize(
    ("between", "failed", "cause"),
    [((), None, "taken_over"), ((RELEASED,), None, "handed_on"), ((), "run_failed", "failure")],
)
def test_an_attempt_is_active_until_its_end_and_counted_by_its_cause(
    counted: Callable[[], Counter[str]], between: tuple[Released, ...], failed: str | None, cause: str
) -> None:
    again = claimed(2).model_copy(update={"failed": failed})
    run = fold_run(Address.of("Joker", "t"), "r", enumerate((accepted(), claimed(), *between, again), start=1))
    assert run is not None
    active: list[float] = []

    def work() -> None:
        with run_span(run):
            active.append(counted()[f"agent.run.active {JOKER}"])
            raise TimeoutError

    with pytest.raises(TimeoutError):
        work()

    assert active == [1]
    assert runs_of(counted()) == {f"agent.run.attempts agent.run.attempt.cause={cause},{JOKER}": 1}
