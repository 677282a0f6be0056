"""A process for `test_overlapping_executions`: works on a folder's messages until none waits.

`overlapping_program.py FOLDER [stops]`: with `stops` it stops itself, as SIGSTOP does, inside the first operation that
it is handed. It takes no lock, like one whose folder is on a share that has none. At the end it prints what it was
handed, state and operation, in order.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from devhost.durable.engine import DurableTask
from devhost.durable.settings import DurableSettings
from devhost.durable.store.sqlite import SqliteStore
from tests.devhost.durable.scripted_functions import ScriptedEntities, entity_answer
from tests.support.observed_store import ObservedStore

GUARD_SECONDS = 20.0


async def main(folder: Path, stops: bool) -> None:
    handed: list[tuple[list[str], str]] = []

    async def note(payload: dict[str, Any]) -> str:
        state, name = json.loads(payload["state"] or "[]"), payload["batch"][0]["name"]
        handed.append((state, name))
        if stops and len(handed) == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        return entity_answer([*state, name])

    store = ObservedStore(SqliteStore(folder))

    async def nothing_waits() -> bool:
        return not await store.messages(None, 1)

    settings = DurableSettings(max_entity_operation_batch_size=1)
    engine = DurableTask(ScriptedEntities(note), store, settings)
    await engine.start()
    await store.until(nothing_waits, GUARD_SECONDS)
    print(json.dumps(handed), flush=True)
    await engine.stop(1)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), "stops" in sys.argv))
