"""What one turn of a thread that the app knows costs: counted by functions, as seconds depend on the machine."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from devhost.durable.records import EntityId
from devhost.durable.store.sqlite import SqliteStore
from tests.support.app.scripted import scripted_agent
from tests.support.engine_app import engine_app
from tests.support.made_app import app_of, ask
from tests.support.pages import ROOT

COSTS = {
    # The log: two appends and no read. The head that `write_append` compares is read by it.
    "hosting/core/stores/sqlite.py:write_append": 2,
    "hosting/core/stores/sqlite.py:read_head": 2,
    # Accepted, claimed and completed are made bytes once each; none is read back.
    "hosting/core/thread/events.py:_encoded": 3,
    "hosting/core/thread/events.py:decode": 0,
    "hosting/core/thread/head.py:decode": 0,
    # The conversation is written once by the entity, and not parsed: the process remembers it.
    "state/codec.py:write": 1,
    "state/codec.py:read": 0,
    # The engine: a commit for the signal and one for the operation.
    "devhost/durable/store/sqlite.py:_write": 2,
}
"""How often a turn enters functions that cost time, bytes or a disk."""


@contextmanager
def entered() -> Iterator[Counter[str]]:
    """Count, by its file and name, how often each function is entered: in this thread and in those that begin here."""
    counts, files = Counter[str](), {name.partition(":")[0] for name in COSTS}

    def note(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename.removeprefix(f"{ROOT}/")
        if event == "call" and file in files:
            counts[f"{file}:{frame.f_code.co_name}"] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield counts
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@pytest.mark.behaviour("turn.counts")
async def test_a_turn_costs_its_two_writes(tmp_path: Path) -> None:
    """The third one, with what runs beside it because the entity stores its end."""
    app = app_of(scripted_agent("Joker"), environ={"AGENT_LOG": f"sqlite:{tmp_path / 'log'}"})
    with entered() as counts:
        async with engine_app(app, inner=SqliteStore(tmp_path)) as running:

            async def is_stored() -> bool:
                entity = await running.store.entity(EntityId("dafx-joker", "t"))
                return entity is not None and message in (entity.state or "")

            for message in ("one", "two", "three"):
                counts.clear()
                await ask(running.http, message, thread_id="t")
                await running.store.until(is_stored)
                counted = dict(counts)

    assert {name: counted.get(name, 0) for name in COSTS} == COSTS
