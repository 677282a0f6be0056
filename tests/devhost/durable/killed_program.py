"""A process that is killed: runs one orchestration on a folder until it has ended.

`killed_program.py FOLDER ROUNDS [start]`: with `start` the orchestration `journey` of so many rounds is begun. Each
activity appends its number to FOLDER/effects.txt. Prints `open`, at the first commit after that `goes on` with the
seconds since the opening began, and at the end `ended` with the output.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import azure.durable_functions as df

from devhost.durable.engine import DurableTask
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from devhost.durable.unkind import VARIABLE, read_unkind
from tests.devhost.durable.sdk_functions import SdkFunctions
from tests.support.observed_store import ObservedStore

INSTANCE = "j"


def build_app(effects: Path) -> df.DFApp:
    """Return an app whose orchestration does each kind of work in each round."""
    app = df.DFApp()

    @app.activity_trigger(input_name="x")
    async def act(x: int) -> int:
        with effects.open("a") as file:
            file.write(f"{x}\n")
        return x

    @app.entity_trigger(context_name="context", entity_name="tally")
    def tally(context: df.DurableEntityContext) -> None:
        value = context.get_state(lambda: 0) + 1
        context.set_state(value)
        context.set_result(value)

    @app.orchestration_trigger(context_name="c")
    def child(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
        return (yield c.call_entity(df.EntityId("tally", "t"), "add"))

    @app.orchestration_trigger(context_name="c")
    def journey(c: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
        total = 0
        for number in range(c.get_input()):
            total += yield c.call_activity("act", number)
            yield c.create_timer(c.current_utc_datetime + timedelta(milliseconds=2))
            counted = yield c.call_sub_orchestrator("child")
            if counted != number + 1:
                return f"round {number}: the entity counted {counted}"
        return total

    return app


async def main(folder: Path, rounds: int, is_first: bool) -> None:
    store = ObservedStore(SqliteStore(folder))
    unkind = read_unkind(os.environ.get(VARIABLE, ""))
    engine = DurableTask(SdkFunctions(build_app(folder / "effects.txt")), store, DurableSettings(), unkind=unkind)
    began = time.monotonic()
    await engine.start()
    if is_first:
        await engine.hub.start("journey", INSTANCE, json.dumps(json.dumps(rounds)))
    print("open", flush=True)
    await store.until(lambda: _has_committed(store))
    print(f"goes on {time.monotonic() - began:.3f}", flush=True)
    ended = await store.until_ended(INSTANCE, 60)
    print(f"ended {ended.output}", flush=True)
    await engine.stop(1)


async def _has_committed(store: ObservedStore) -> bool:
    return store.commits > 0


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), "start" in sys.argv))
