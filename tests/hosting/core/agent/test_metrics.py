"""Metrics of runs, read by OpenTelemetry's own SDK: each run is counted once, by why and how it went, without text."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable

import pytest
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader

from hosting.app import Budget, Price
from hosting.core.telemetry import QueuedRuns, run_span
from hosting.core.thread.events import Released
from hosting.core.thread.head import NEW, fold
from hosting.core.thread.run import fold_run
from hosting.names import Address
from hosting.ports import Clocks
from tests.support.carriers import Api
from tests.support.made_app import app_of, ask, served
from tests.support.run_events import accepted, claimed
from tests.support.spender import priced, spender

CANARY = "canary-77c1"
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
