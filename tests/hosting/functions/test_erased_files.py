"""What a person erases over HTTP is in no file of the SQLite stores afterwards, not in a write-ahead log either."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.canary import holds
from tests.support.carriers import GUARD_SECONDS
from tests.support.owned_app import THREADS, OwnedApp
from tests.support.rememberer import rememberer

CANARY = "canary-5d1e"
MEMORY = "/api/agents/Clerk/memory"
SCHEDULES = "/api/agents/Clerk/schedules"
YEARLY = {"cron": "0 0 1 1 *", "message": CANARY}

Erasure = Callable[[OwnedApp], Awaitable[Any]]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[OwnedApp]:
    """The app, with an agent that remembers, over files in a folder of its own."""
    names = {name: f"sqlite:{tmp_path / name}" for name in ("AGENT_LOG", "AGENT_ARCHIVE", "AGENT_ATTACHMENTS")}
    app = OwnedApp(agent=rememberer(), **names)
    async with app.http:
        yield app


async def sent(app: OwnedApp, method: str, path: str, body: Any = None) -> str:
    """Send a request as Ann and return the address of what it made."""
    answer = await app.ask("ann", method, path, json=body)
    assert answer.status_code < 300, answer.text
    return str(answer.headers.get("location", ""))


async def forgotten_fact(app: OwnedApp) -> None:
    """Forget one of two facts."""
    place = await sent(app, "POST", MEMORY, {"text": CANARY})
    await sent(app, "POST", MEMORY, {"text": "Drinks tea."})
    await sent(app, "DELETE", place)


async def fact_that_a_run_forgot(app: OwnedApp) -> None:
    """The model asks for that."""
    place = await sent(app, "POST", MEMORY, {"text": CANARY})
    await app.say("ann", f"forget {place.rpartition('/')[2]}")
    await sent(app, "DELETE", f"{THREADS}/t")  # whose model was given the fact


async def erased_memory(app: OwnedApp) -> None:
    """Erase all that is known."""
    await sent(app, "POST", MEMORY, {"text": CANARY})
    await sent(app, "DELETE", MEMORY)


async def deleted_schedule(app: OwnedApp) -> None:
    """Delete one schedule."""
    await sent(app, "DELETE", await sent(app, "POST", SCHEDULES, YEARLY))


async def erased_person(app: OwnedApp) -> None:
    """Erase all that a person has, with a thread or without one."""
    await sent(app, "POST", MEMORY, {"text": CANARY})
    await sent(app, "POST", SCHEDULES, YEARLY)
    await sent(app, "DELETE", "/api/owners/me")


ERASURES = (forgotten_fact, fact_that_a_run_forgot, erased_memory, deleted_schedule, erased_person)


@pytest.mark.behaviour("erasure.files")
@pytest.mark.parametrize("erasure", ERASURES)
async def test_what_was_erased_is_in_no_file(app: OwnedApp, tmp_path: Path, erasure: Erasure) -> None:
    """As soon as that is answered, while the app goes on."""
    await erasure(app)
    await asyncio.wait_for(app.host.entities.idle(), GUARD_SECONDS)

    assert not holds(tmp_path, CANARY.encode())


@pytest.mark.slow
@pytest.mark.behaviour("erasure.files")
@pytest.mark.parametrize(
    ("place", "body", "erased"),
    [
        (MEMORY, {"text": CANARY}, MEMORY),
        (SCHEDULES, YEARLY, "/api/owners/me"),
    ],
)
async def test_what_a_reader_keeps_in_a_file_is_not_said_to_be_erased(
    app: OwnedApp, tmp_path: Path, place: str, body: Any, erased: str
) -> None:
    """503, and the same request again is answered once it is gone, though it finds nothing left to remove."""
    await sent(app, "POST", place, body)
    with contextlib.closing(sqlite3.connect(tmp_path / "AGENT_LOG", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM head").fetchone()
        refused = await app.ask("ann", "DELETE", erased)
        is_there = holds(tmp_path, CANARY.encode())
    await sent(app, "DELETE", erased)

    assert (refused.status_code, refused.json()["code"], is_there) == (503, "log_unavailable", True)
    assert not holds(tmp_path, CANARY.encode())
