"""Orchestrations on the local host's engine, whose messages are sent and whose history is not written."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import pytest

from devhost.durable.records import Status
from devhost.durable.unkind import Armed, Fault
from hosting.app import AgentFunctionApp
from tests.support.clerk import clerk
from tests.support.engine_app import engine_app
from tests.support.engine_clocks import FastClock
from tests.support.made_app import app_of

pytestmark = pytest.mark.behaviour("orchestrations.repeated-episode")

Steps = Generator[Any, Any, Any]
GUARD_SECONDS = 5.0
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
