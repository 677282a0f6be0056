"""Executions of the SDK 1.7 as the local host has stored them, and the app that they are of.

`python -m tests.hosting.functions.durable_2.earlier_app` records them anew; it needs 1.7. With 2.x it records the
execution `later`, which is for 1.7 to read.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import azure.durable_functions as df

from devhost.durable.events import ExecutionStarted, TaskCompleted, TimerFired
from devhost.durable.records import ActivityTask, Body, EventMessage, Operation, Step
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.store.tables import FILE
from hosting.app import AgentFunctionApp
from hosting.features.schedules.clock import CLOCK
from tests.support.clerk import clerk
from tests.support.engine_app import EngineApp, engine_app
from tests.support.engine_clocks import FastClock
from tests.support.instances import SPEAKS_PROTOBUF
from tests.support.made_app import app_of
from tests.support.observed_store import GUARD_SECONDS

RECORDED = Path(__file__).with_name("recorded")
OUTPUTS = RECORDED / "outputs.json"
"""What each of them returns under 1.7."""
CLOCKS_INPUT: dict[str, Any] = {
    "wake_at": "2026-01-01T00:00:01Z",
    "clock": {"agent": "Clerk", "owner": "", "schedule_id": "s", "generation": 1, "since": 1767225600.0},
}
"""Of a schedule's clock whose schedule the store of these tests has not: the clock looks for it again and again."""
Steps = Generator[Any, Any, Any]


def make_app(acted: list[str]) -> AgentFunctionApp:
    """Return the app; `acted` is what its activity and its agent's tool did."""
    app = app_of(clerk(acted.append))

    def double(number: int) -> int:
        acted.append(f"double {number}")
        return 2 * number

    def below(context: df.DurableOrchestrationContext) -> list[Any]:
        return [context.get_input(), context.new_uuid()]

    def each(context: df.DurableOrchestrationContext) -> Steps:
        """Ask for each kind of request, twice: the second time in an execution that continues as new."""
        rounds, key = context.get_input(), context.new_uuid()
        two = yield context.call_activity("double", 1)
        yield context.create_timer(context.current_utc_datetime + timedelta(seconds=1))
        child = yield context.call_sub_orchestrator("below", {"n": two})
        answer = yield app.get_agent(context, "Clerk").run("call look a")
        both = yield context.task_all([context.call_activity("double", number) for number in (2, 3)])
        event = yield context.wait_for_external_event("go")
        rounds = [*rounds, [key, two, child, answer.text, both, event, context.new_uuid()]]
        if len(rounds) == 2:
            return rounds
        context.continue_as_new(rounds)

    def backwards(context: df.DurableOrchestrationContext) -> Steps:
        """Yield tasks in another order than they are made."""
        first, second = (context.call_activity("double", number) for number in (1, 2))
        taken = [(yield second), (yield first)]
        yield context.wait_for_external_event("go")
        return taken

    def flaky(number: int) -> int:
        """Fail the first time."""
        acted.append(f"flaky {number}")
        if acted.count(f"flaky {number}") == 1:
            raise ValueError("not yet")
        return number

    def again(context: df.DurableOrchestrationContext) -> Steps:
        """Try a failed activity again."""
        taken = yield context.call_activity_with_retry("flaky", df.RetryOptions(1000, 2), 7)
        yield context.wait_for_external_event("go")
        return taken

    def fetch(context: df.DurableOrchestrationContext) -> Steps:
        """Call HTTP, and an activity behind it."""
        answer = yield context.call_http("GET", context.get_input())
        yield context.wait_for_external_event("go")
        two = yield context.call_activity("double", 1)
        return [answer["content"] if isinstance(answer, dict) else (answer.status_code, answer.content), two]

    for activity in (double, flaky):
        app.activity_trigger(input_name="number")(activity)
    for orchestrator in (below, each, backwards, again, fetch):
        app.orchestration_trigger(context_name="context")(orchestrator)
    return app


def _begins(body: Body, *, child: bool) -> bool:
    event = body.event if isinstance(body, EventMessage) else None
    is_client = isinstance(event, ExecutionStarted) and event.generation is not None
    return isinstance(event, ExecutionStarted) and not is_client and (event.parent is not None) is child


DEATHS: Mapping[str, Callable[[Body], bool]] = {
    "activity": lambda body: isinstance(body, ActivityTask),
    "timer": lambda body: isinstance(body, EventMessage) and isinstance(body.event, TimerFired),
    "child": lambda body: _begins(body, child=True),
    "agent": lambda body: isinstance(body, Operation) and not body.is_signal,
    "activities": lambda body: isinstance(body, ActivityTask) and body.task_id == 5,
    "continued": lambda body: _begins(body, child=False),
}
"""The hosts that were killed when they had sent such a message."""


class DyingStore(SqliteStore):
    """Keeps nothing more once it has kept a message that `is_last`."""

    def __init__(self, folder: Path, is_last: Callable[[Body], bool]) -> None:
        super().__init__(folder)
        self.died = asyncio.Event()
        self._is_last = is_last

    def commit(self, step: Step) -> asyncio.Future[None]:
        if self.died.is_set():
            return asyncio.get_running_loop().create_future()
        done = super().commit(step)
        if any(self._is_last(outgoing.body) for outgoing in step.produced):
            self.died.set()
        return done


async def finish(running: EngineApp, rounds: int) -> Any:
    """Raise as many events as the execution waits for, and return its output."""
    for left in reversed(range(rounds)):
        execution = await _execution(running)
        await running.hub.raise_event("i", "go", '"yes"')

        async def is_over(before: str = execution) -> bool:
            return await _execution(running) != before

        if left:
            await running.store.until(is_over)
    ended = await running.store.until_ended("i")
    return json.loads(str(ended.output))


async def _execution(running: EngineApp) -> str:
    instance = await running.store.instance("i")
    assert instance is not None
    return instance.execution_id


def load(name: str, folder: Path) -> SqliteStore:
    """Return a store with what was recorded."""
    folder.mkdir(exist_ok=True)
    with closing(sqlite3.connect(folder / FILE)) as connection:
        connection.executescript((RECORDED / f"{name}.sql").read_text(encoding="utf-8"))
    return SqliteStore(folder)


async def _record() -> None:
    outputs = {}
    for name, is_last in DEATHS.items():
        with tempfile.TemporaryDirectory() as folder:
            store = DyingStore(Path(folder), is_last)
            async with engine_app(make_app([]), clock=FastClock(), inner=store) as running:
                await running.start("each", "i", [])
                if name == "continued":
                    await running.hub.raise_event("i", "go", '"yes"')
                await asyncio.wait_for(store.died.wait(), GUARD_SECONDS)
            await _write(name, store, Path(folder))
        with tempfile.TemporaryDirectory() as folder:
            async with engine_app(make_app([]), clock=FastClock(), inner=load(name, Path(folder))) as running:
                outputs[name] = await finish(running, 1 if name == "continued" else 2)
    OUTPUTS.write_text(json.dumps(outputs) + "\n", encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        store = DyingStore(Path(folder), DEATHS["timer"])
        async with engine_app(make_app([]), clock=FastClock(), inner=store) as running:
            await running.start(CLOCK, "i", CLOCKS_INPUT)
            await asyncio.wait_for(store.died.wait(), GUARD_SECONDS)
        await _write("clock", store, Path(folder))
    with served_text("hello") as url:
        for name, given, results in (("backwards", None, 2), ("again", None, 1), ("fetch", url, 1)):
            await _record_until(name, given, results)


async def _record_until(name: str, given: object, results: int, file: str = "") -> None:
    """Record an execution that waits for its event behind so many results of activities."""
    with tempfile.TemporaryDirectory() as folder:
        inner = SqliteStore(Path(folder))
        async with engine_app(make_app([]), clock=FastClock(), inner=inner) as running:
            await running.start(name, "i", given)
            await running.store.until(lambda: _has(running, results))
        await _write(file or name, inner, Path(folder))


async def _has(running: EngineApp, results: int) -> bool:
    stored = await running.store.orchestration("i")
    return stored is not None and sum(isinstance(event, TaskCompleted) for event in stored.history) == results


@contextmanager
def served_text(text: str) -> Iterator[str]:
    """Answer each GET with the text; the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


async def _write(name: str, store: SqliteStore, folder: Path) -> None:
    await store.close()
    with closing(sqlite3.connect(folder / FILE)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        dump = "\n".join(connection.iterdump())
    (RECORDED / f"{name}.sql").write_text(f"{dump}\nPRAGMA user_version = {version};\n", encoding="utf-8")


if __name__ == "__main__":
    RECORDED.mkdir(exist_ok=True)
    asyncio.run(_record_until("backwards", None, 2, "later") if SPEAKS_PROTOBUF else _record())
