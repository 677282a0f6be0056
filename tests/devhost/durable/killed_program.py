"""A process for `test_killed_process`: runs the engine on a folder until one orchestration has ended.

`killed_program.py FOLDER [start]`: with `start` the orchestration `journey` is begun. Every activity and entity
operation appends a line to FOLDER/effects.txt. Prints `ended` with the output when it has ended.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import azure.durable_functions as df

from devhost.durable.engine import DurableTask
from devhost.durable.records import EntityId
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.unkind import VARIABLE, read_unkind
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.observed_store import ObservedStore


def build_app(effects: Path) -> df.DFApp:
    """Return an app whose side effects are lines of a file."""
    app = df.DFApp()

    def note(line: str) -> None:
        with effects.open("a") as file:
            file.write(line + "\n")

    @app.activity_trigger(input_name="x")
    def act(x: str) -> str:
        note(f"act {x}")
        return x

    @app.entity_trigger(context_name="context", entity_name="tally")
    def tally(context: df.DurableEntityContext) -> None:
        value = context.get_state(lambda: 0) + context.get_input()
        note(f"tally {value}")
        context.set_state(value)
        context.set_result(value)

    @app.orchestration_trigger(context_name="c")
    def step(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
        return (yield c.call_activity("act", c.get_input()))

    @app.orchestration_trigger(context_name="c")
    def journey(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
        both = yield c.task_all([c.call_activity("act", "one"), c.call_sub_orchestrator("step", "two")])
        yield c.create_timer(c.current_utc_datetime + timedelta(seconds=0.02))
        first = yield c.call_entity(df.EntityId("tally", "t"), "add", 1)
        c.signal_entity(df.EntityId("tally", "t"), "add", 10)
        return [both, first, (yield c.call_entity(df.EntityId("tally", "t"), "add", 100))]

    return app


async def main(folder: Path, is_first: bool) -> None:
    store = ObservedStore(SqliteStore(folder))
    unkind = read_unkind(os.environ.get(VARIABLE, ""))
    engine = DurableTask(SdkFunctions(build_app(folder / "effects.txt")), store, DurableSettings(), unkind=unkind)
    await engine.start()
    if is_first:
        await engine.hub.start("journey", "j", None)
    ended = await store.until_ended("j")
    entity = await store.entity(EntityId("tally", "t"))
    print(f"ended {ended.output} tally {entity.state if entity else None}", flush=True)
    await engine.stop(1)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), "start" in sys.argv))
