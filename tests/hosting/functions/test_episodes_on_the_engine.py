"""Orchestrations and deletions on the local host's engine, while it does what the real one may do."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable.records import EntityId, Status, Step
from devhost.durable.store.contract import InstanceFilter
from devhost.durable.unkind import Armed, Fault, Seeded
from hosting.app import AgentFunctionApp, Principal
from hosting.functions import agent_calls
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.clerk import clerk
from tests.support.engine_app import EngineApp, engine_app
from tests.support.engine_clocks import FastClock
from tests.support.made_app import MEMORY, app_of
from tests.support.memory_store import MemoryStore
from tests.support.orchestrations_more import Steps, register
from tests.support.seeds import repeated

MINUTES_IN_A_SECOND = 10.0
"""What was received is hidden from the engine for a minute after the fault."""


def make_app(notes: list[str]) -> AgentFunctionApp:
    """Return an app whose orchestrations have the clerk look things up; `notes` is what it looked up."""
    app = app_of(clerk(notes.append))

    def orchestrator(function: Any) -> None:
        app.orchestration_trigger(context_name="context")(function)

    @orchestrator
    def look_twice(context: df.DurableOrchestrationContext) -> Steps:
        agent = app.get_agent(context, "Clerk")
        session = agent.create_session()
        for number in (1, 2):
            yield agent.run(f"call look {context.get_input()}{number}", session=session)

    @orchestrator
    def look_often(context: df.DurableOrchestrationContext) -> Steps:
        left = context.get_input()
        yield app.get_agent(context, "Clerk").run("call look a1")
        if left:
            context.continue_as_new(left - 1)

    @orchestrator
    def look_below(context: df.DurableOrchestrationContext) -> Steps:
        waits = [context.call_sub_orchestrator("look_twice", name) for name in "ab"]
        yield context.task_all(waits)

    @orchestrator
    def look_below_as_new(context: df.DurableOrchestrationContext) -> Steps:
        name, left = context.get_input()
        if left:
            context.continue_as_new([name, left - 1])
            return
        yield context.call_sub_orchestrator("look_twice", name)

    return app


@pytest.mark.behaviour("orchestrations.repeated-episode")
@pytest.mark.parametrize(
    ("name", "given", "nth", "looked", "threads"),
    [
        *(("look_twice", "a", nth, {"a1": 1, "a2": 1}, 1) for nth in (1, 2)),
        *(("look_often", 2, nth, {"a1": 3}, 3) for nth in (1, 5)),
        *(("look_below", None, nth, {"a1": 1, "a2": 1, "b1": 1, "b2": 1}, 2) for nth in (1, 7)),
        *(("look_below_as_new", ["a", 1], nth, {"a1": 1, "a2": 1}, 1) for nth in (2, 5)),
    ],
)
async def test_an_episode_that_is_made_again_calls_no_agent_twice(
    name: str, given: object, nth: int, looked: dict[str, int], threads: int
) -> None:
    """Whichever episode it is: each tool was called as often as the orchestration says, each thread is there once."""
    unkind, notes = Armed(), list[str]()
    unkind.arm(Fault.SENT_NOT_COMMITTED, nth=nth)
    async with engine_app(make_app(notes), clock=FastClock(MINUTES_IN_A_SECOND * 60), unkind=unkind) as running:
        await running.start(name, "i", given)
        await asyncio.wait_for(unkind.until_struck(Fault.SENT_NOT_COMMITTED), GUARD_SECONDS)
        ended = await running.store.until_ended("i")
        entities = await running.store.list_entities("@dafx-clerk@", "", None)

    assert ended.status is Status.COMPLETED, ended.output
    assert Counter(note.removeprefix("look ") for note in notes) == looked
    assert len(entities) == threads


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for an agent take no time."""
    monkeypatch.setattr(agent_calls, "WAIT_SECONDS", 0.0)


def asking(*agents: str, log: str = "memory") -> AgentFunctionApp:
    """Return a version of an app with these agents, and an orchestration that asks the agents of its input at once."""
    app = app_of(*map(scripted_agent, agents), environ={"AGENT_LOG": log})

    @app.orchestration_trigger(context_name="context")
    def ask(context: df.DurableOrchestrationContext) -> Any:
        calls = []
        for name in context.get_input():
            agent = app.get_agent(context, name)
            calls.append(agent.run(f"hello {name}", session=agent.get_session("t")))
        answers = yield context.task_all(calls)
        first = app.get_agent(context, context.get_input()[0])
        last = yield first.run("again", session=first.get_session("t"))
        return [answer.text for answer in [*answers, last]]

    return app


@pytest.mark.behaviour("orchestrations.new-agent")
async def test_an_orchestration_that_an_older_instance_executes_waits_for_the_agent(tmp_path: Path) -> None:
    """It goes on at an instance that has it, and the waits in its history are no calls there."""
    store, log = MemoryStore(), f"sqlite:{tmp_path / 'log.sqlite'}"
    async with engine_app(asking("Other", log=log), inner=store) as older:
        await older.start("ask", "i", ["Other", "Joker", "Joker"])
        await older.store.until_ended(await third_wait(older))
    async with engine_app(asking("Other", "Joker", log=log), inner=store) as newer:
        ended = await newer.store.until_ended("i")

    assert json.loads(str(ended.output)) == [
        "echo: hello Other",
        "echo: hello Joker",
        "echo: hello Joker",
        "echo: again",
    ]


async def third_wait(running: EngineApp) -> str:
    """Return the id of the third wait of a run, once there is one."""
    found = list[str]()

    async def is_there() -> bool:
        listed = await running.store.list_orchestrations(InstanceFilter(prefix="wait!"), "", None)
        found[:] = [one.instance_id for one in listed if one.instance_id.endswith("!3")]
        return bool(found)

    await running.store.until(is_there)
    return found[0]


@pytest.mark.behaviour("orchestrations.new-agent")
async def test_a_call_of_an_agent_that_nobody_has_fails_by_its_name_and_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(agent_calls, "MOST_WAITS", 3)
    async with engine_app(asking("Other")) as running:
        await running.start("ask", "i", ["Joker"])
        ended = await running.store.until_ended("i")

    assert (ended.status.value, "Joker" in str(ended.output)) == ("Failed", True)
    assert sum("waits for agent" in message for message in caplog.messages) == 1


FASTER = 300
"""A minute of the engine's waiting is a fifth of a second."""


def numbers(seed: int, in_the_gate: int) -> list[int]:
    """Return the seeds of the engine that a run tries."""
    return [1000 * seed + number for number in range(repeated(in_the_gate, exploring=100))]


def orchestrating_app() -> AgentFunctionApp:
    """Return an app whose orchestrations call agents."""
    app = app_of(scripted_agent("writer"), scripted_agent("critic"))
    register(app)

    @app.orchestration_trigger(context_name="context")
    def ask_twice(context: df.DurableOrchestrationContext) -> Steps:
        writer = app.get_agent(context, "writer")
        first = yield writer.run(f"{context.get_input()} 1")
        second = yield writer.run(f"{context.get_input()} 2")
        return [first.text, second.text]

    @app.orchestration_trigger(context_name="context")
    def through_a_child(context: df.DurableOrchestrationContext) -> Steps:
        return (yield context.call_sub_orchestrator("ask_twice", context.get_input()))

    return app


async def calls_of_models(log: Path, unkind: Seeded) -> Counter[str]:
    """Run orchestrations to their ends, and return how often each thing was asked of a model."""
    log.write_text("")
    async with engine_app(orchestrating_app(), unkind=unkind) as running:
        for name, kind in (("one", "ask_twice"), ("two", "ask_twice"), ("three", "through_a_child")):
            await running.start(kind, name, name)
        for name in ("one", "two", "three"):
            instance = await running.store.until_ended(name, GUARD_SECONDS)
            assert json.loads(instance.output or "") == [f"echo: {name} 1", f"echo: {name} 2"]
    return Counter(line.partition(" ")[2] for line in log.read_text().splitlines())


CALLS = Counter(f"{name} {number}" for name in ("one", "two", "three") for number in (1, 2))


@pytest.mark.behaviour("engine.unkind-app")
@pytest.mark.parametrize("target", ["ask_twice", "through_a_child"])
@pytest.mark.parametrize("fault", [Fault.SENT_NOT_COMMITTED, Fault.MOVED_PARTITION])
async def test_an_orchestration_calls_each_agent_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, fault: Fault, target: str
) -> None:
    """Also where its episode is made twice: in each run one is."""
    monkeypatch.setenv("SCRIPT_LOG", str(tmp_path / "asked.txt"))
    for number in numbers(seed, 1):
        unkind = Seeded(number, FASTER)
        unkind.arm(fault, target)
        assert await calls_of_models(tmp_path / "asked.txt", unkind) == CALLS


THREAD = "/api/agents/Joker/threads/t"
ENTITY = EntityId("dafx-joker", "t")
INSTANCES = "/runtime/webhooks/durabletask/instances"


class SlowStore(MemoryStore):
    """An engine whose commits of entities, from that one on, are under way until `gate` opens."""

    def __init__(self, slow_from: int) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self._slow_from = slow_from
        self._commits = 0

    def commit(self, step: Step) -> asyncio.Future[None]:
        self._commits += step.entity is not None
        if step.entity is None or self._commits < self._slow_from:
            return super().commit(step)
        return asyncio.ensure_future(self._late(step))

    async def _late(self, step: Step) -> None:
        await self.gate.wait()
        await super().commit(step)


def armed() -> Armed:
    """Return an engine on which each purge removes what it finds, whatever is at work."""
    unkind = Armed()
    unkind.arm(Fault.PURGED_WHILE_RUNNING, nth=None)
    return unkind


async def accepted(running: EngineApp, message: str, **headers: str) -> str:
    """Have a run accepted that the entity makes, and return where its status is."""
    headers |= {"x-ms-wait-for-response": "false"}
    body = {"message": message, "thread_id": "t"}
    answer = await running.http.post("/api/agents/Joker/run", json=body, headers=headers)
    assert answer.status_code == 202, answer.text
    return answer.headers["location"]


async def outcome(running: EngineApp) -> str:
    """Return what became of the thread's entity, by the receipt."""
    receipt = (await running.http.get(f"{THREAD}/erasure")).json()
    return str(receipt["instances"][-1]["outcome"])


async def index(running: EngineApp) -> list[str]:
    """Return the instances that the engine knows."""
    return [instance["instanceId"] for instance in (await running.http.get(INSTANCES)).json()]


async def until(running: EngineApp, expected: str) -> None:
    """Return once the receipt says so of the thread's entity, under the guard."""

    async def is_so() -> bool:
        return await outcome(running) == expected

    await running.store.until(is_so, GUARD_SECONDS)


@pytest.mark.behaviour("erasure.entity")
@pytest.mark.parametrize("message", ["hello", "sleep 60"])
async def test_three_deletes_at_once_purge_an_entity_once_it_has_ended(
    message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each says that the thread is gone, and none disturbs the engine."""
    async with engine_app(app_of(scripted_agent("Joker")), unkind=armed()) as running:
        await accepted(running, message)

        answers = await asyncio.gather(*[running.http.delete(THREAD) for _ in range(3)])

        assert [answer.status_code for answer in answers] == [204, 204, 204]
        # Who looks for two seconds between the purge and its record, as on a slow machine, finds none: it is gone.
        assert await outcome(running) in {"deleted", "missing"}
        assert await index(running) == []
    assert "Backing off" not in caplog.text


@pytest.mark.behaviour("erasure.entity")
async def test_a_thread_that_begins_again_keeps_its_entity(caplog: pytest.LogCaptureFixture) -> None:
    """The end that it left is no document of its next life."""
    async with engine_app(app_of(scripted_agent("Joker")), unkind=armed()) as running:
        await accepted(running, "one")
        await running.http.delete(THREAD)
        again = await running.http.post("/api/agents/Joker/run", json={"message": "two", "thread_id": "t"})
        await running.store.until(lambda: is_stored(running, "two"))

        assert again.json()["message_count"] == 2
        assert await index(running) == ["@dafx-joker@t"]
    assert "Backing off" not in caplog.text


async def is_stored(running: EngineApp, text: str) -> bool:
    """Return whether the engine has a conversation with that text."""
    entity = await running.store.entity(ENTITY)
    return entity is not None and text in (entity.state or "")


@pytest.mark.behaviour("erasure.entity", "owners.person")
async def test_the_erasure_of_a_person_has_ended_once_the_engine_knows_nothing_of_them() -> None:
    """Until then it is accepted, and again continues with what is left."""

    def ada(request: Any) -> Principal:
        return Principal("https://login.example", "ada")

    store = SlowStore(slow_from=2)  # the first one is of the run
    app = app_of(
        scripted_agent("Joker"),
        principal=ada,
        environ={**MEMORY, "AGENT_WAIT_SECONDS": "1"},
        enable_mcp_tool_trigger=False,
    )
    async with engine_app(app, inner=store, unkind=armed()) as running:
        await accepted(running, "sleep 60")
        first = await running.http.delete("/api/owners/me")
        store.gate.set()
        async with asyncio.timeout(GUARD_SECONDS):
            while (again := await running.http.delete("/api/owners/me")).status_code == 202:
                pass

        assert (first.status_code, again.status_code) == (202, 200)
        assert await index(running) == []
