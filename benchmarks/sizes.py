"""How much is done for a figure: enough for a percentile, or just enough to see that the benchmark runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Counts, unless the name says seconds."""

    warm_up_turns: int = 100
    empty_requests: int = 1000
    fresh_turns: int = 1000
    tool_turns: int = 300
    grown_turns: int = 1030
    clients: int = 16
    clients_seconds: float = 10.0
    crowd_rounds: int = 10
    long_waits: int = 10
    short_waits: int = 100
    slow_runs: int = 200
    slow_seconds: float = 2.0
    streamed_runs: int = 100
    read_streams: int = 10
    streams: int = 100
    streamed_words: int = 500
    step_turns: int = 300
    supersteps: int = 1000
    workflows: int = 100
    workflow_rounds: int = 3
    log_turns: int = 300
    appends: int = 500
    drained_messages: int = 10_000
    starts: int = 5
    imports: int = 5
    state_rounds: int = 50
    checks: int = 1000
    searched_threads: int = 10_000
    memory_turns: int = 2000
    thread_messages: tuple[int, ...] = (10, 1000, 10_000, 100_000)
    thread_warm_up: int = 30
    thread_turns: int = 150
    thread_pages: int = 30
    forked_messages: tuple[int, ...] = (100, 10_000, 100_000)
    forks: int = 30
    orchestrations: int = 400
    signals: int = 500
    waiting_instances: int = 10_000
    idle_seconds: float = 5.0
    indexed_chunks: int = 300_000
    file_searches: int = 30
    recalled_chunks: int = 100_000
    recalls: int = 500
    uploaded_mebibytes: int = 200


FULL = Sizes()
QUICK = Sizes(
    indexed_chunks=5000,
    file_searches=3,
    recalled_chunks=5000,
    recalls=20,
    uploaded_mebibytes=20,
    warm_up_turns=10,
    checks=10,
    empty_requests=50,
    fresh_turns=50,
    tool_turns=10,
    grown_turns=180,
    clients_seconds=1.0,
    crowd_rounds=1,
    long_waits=1,
    short_waits=3,
    slow_runs=20,
    slow_seconds=0.5,
    streamed_runs=5,
    read_streams=1,
    streams=10,
    streamed_words=50,
    step_turns=5,
    supersteps=200,
    workflows=5,
    workflow_rounds=1,
    log_turns=10,
    appends=10,
    drained_messages=50,
    starts=1,
    imports=1,
    state_rounds=5,
    searched_threads=100,
    memory_turns=100,
    thread_messages=(10, 1000, 26_000),
    thread_warm_up=2,
    thread_turns=40,
    thread_pages=3,
    forked_messages=(100, 1000, 26_000),
    forks=3,
    orchestrations=10,
    signals=10,
    waiting_instances=100,
    idle_seconds=0.5,
)
