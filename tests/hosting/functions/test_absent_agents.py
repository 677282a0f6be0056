"""What is erased: also of agents that the app does not have now, and from every file."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_framework import Agent

from hosting.app import AgentFunctionApp
from hosting.core.absent_agents import AbsentAgents
from hosting.core.deletion import ThreadDeletion
from hosting.core.purging import Purging
from hosting.core.sweeps import InstanceSweep
from hosting.core.thread.commands import DeleteThread
from hosting.core.thread_log import ThreadLog
from hosting.features.memory.provider import OwnerMemory
from hosting.functions.durable import DurableClient
from hosting.names import Address
from hosting.offline.model import OfflineChatClient
from hosting.ports import Clocks
from tests.support.canary import holds
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost, Entities, SignalClient
from tests.support.owned_app import THREADS, OwnedApp, owner, signed_in
from tests.support.rememberer import rememberer

CANARY = "canary-8c21"
YEARLY = {"cron": "0 0 1 1 *", "message": CANARY}
ME = "/api/owners/me"
QUIET: Any = {"ended": 0.0, "missing": 0.0, "at work": 0.0}


def agent(name: str) -> Any:
    """Return an agent of that name."""
    return Agent(client=OfflineChatClient(), name=name, context_providers=[OwnerMemory()])


@dataclass
class Deployments:
    """Versions of an app, one after the other, each with agents of its own over the same stores and engine."""

    folder: Path
    entities: Entities | None = None
    app: AgentFunctionApp = field(init=False)

    @asynccontextmanager
    async def serving(self, *agents: Any, user: str = "ada", **environ: str) -> AsyncIterator[httpx.AsyncClient]:
        """One of them, for that user."""
        names = {name: f"sqlite:{self.folder / name}" for name in ("AGENT_LOG", "AGENT_ARCHIVE", "AGENT_ATTACHMENTS")}
        app = AgentFunctionApp(agents=agents, principal=signed_in, environ={**environ, **names})
        self.app, host = app, DirectHost(app)
        if self.entities is not None:
            for kept in ("states", "ends", "clocks"):
                getattr(host.entities, kept).update(getattr(self.entities, kept))
        self.entities = host.entities
        transport = httpx.ASGITransport(host.asgi, raise_app_exceptions=False)
        headers = {"x-user": user}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://app.example", timeout=GUARD_SECONDS, headers=headers
        ) as http:
            yield http
            await asyncio.wait_for(host.entities.idle(), GUARD_SECONDS)
        await app._services.close()

    async def fill(self, http: httpx.AsyncClient, name: str) -> None:
        """Have the user say, store and order something with an agent."""
        path = f"/api/agents/{name}"
        body = {"message": f"I am {CANARY}", "thread_id": "t"}
        made = [
            await http.post(f"{path}/run", json=body),
            await http.post(f"{path}/memory", json={"text": CANARY}),
            await http.post(f"{path}/schedules", json=YEARLY),
        ]
        assert [one.status_code for one in made] == [200, 201, 201]
        await http.get(f"{path}/threads?sort=-updated_at")  # has the overview written

    def traces(self) -> tuple[list[str], list[str], bool]:
        """Return what of anybody is in the engine, and whether the files hold the canary."""
        assert self.entities is not None
        of_threads = [name for name in (*self.entities.states, *self.entities.ends) if name.startswith("@dafx-")]
        return of_threads, list(self.entities.clocks), holds(self.folder, CANARY.encode())


@pytest.fixture
def deployments(tmp_path: Path) -> Deployments:
    """An app before its first deployment."""
    return Deployments(tmp_path)


@pytest.mark.behaviour("erasure.stored")
async def test_a_person_is_erased_while_an_agent_is_out_of_the_app(deployments: Deployments) -> None:
    """Nothing comes back with it, in whichever letter case; the receipt says whose own providers were not reached."""
    async with deployments.serving(agent("Clerk"), agent("Extra")) as http:
        await deployments.fill(http, "Extra")
        await deployments.fill(http, "Clerk")
    async with deployments.serving(agent("Clerk")) as http:
        before = (await http.get(f"{ME}/export")).json()
        erased = await http.delete(ME)
        after = (await http.get(f"{ME}/export")).json()
        again = (await http.delete(ME)).json()
        traces = deployments.traces()
    async with deployments.serving(agent("Clerk"), agent("EXTRA")) as http:
        returned = (await http.get(f"{ME}/export")).json()
        lists = [(await http.get(f"/api/agents/EXTRA/{what}")).json() for what in ("threads", "memory", "schedules")]

    assert [(one["agent"], one["thread_id"], len(one["runs"])) for one in before["threads"]] == [
        ("Clerk", "t", 1),
        ("extra", "t", 1),
    ]
    assert sorted(before["memories"]) == ["Clerk", "extra"]
    assert sorted(one["agent"] for one in before["schedules"]) == ["Clerk", "Extra"]
    assert (erased.status_code, erased.json()["status"], erased.json()["unreached"]) == (200, "deleted", ["extra"])
    assert [(one["agent"], one["runs"]) for one in erased.json()["threads"]] == [("Clerk", 1), ("extra", 1)]
    assert {one["outcome"] for thread in erased.json()["threads"] for one in thread["instances"]} == {"deleted"}
    assert again == erased.json()
    for export in (after, returned):
        assert (export["threads"], export["memories"], export["schedules"]) == ([], {}, [])
    assert traces == ([], [], False)
    assert [len(listed.get("threads", listed.get("facts", listed.get("schedules")))) for listed in lists] == [0, 0, 0]


@pytest.mark.behaviour("erasure.stored")
async def test_a_deletion_that_was_begun_ends_while_its_agent_is_out_of_the_app(deployments: Deployments) -> None:
    async with deployments.serving(agent("Extra")) as http:
        await deployments.fill(http, "Extra")
    async with deployments.serving(agent("Extra"), AGENT_WAIT_SECONDS="0.01") as http:
        assert deployments.entities is not None
        deployments.entities.gate.clear()
        begun = await http.delete("/api/agents/Extra/threads/t")
        deployments.entities.lose()
    async with deployments.serving(agent("Clerk")) as http:
        export = await http.get(f"{ME}/export")
        erased = await http.delete(ME)
        traces = deployments.traces()

    assert (begun.status_code, export.status_code, export.json()["threads"]) == (202, 200, [])
    assert (erased.status_code, erased.json()["unreached"], traces) == (200, ["extra"], ([], [], False))


@pytest.mark.behaviour("erasure.stored")
@pytest.mark.parametrize("kept", ["document", "instance"])
async def test_an_erasure_that_died_is_gone_on_with_by_a_sweep(deployments: Deployments, kept: str) -> None:
    """Before the tombstone or behind it; the sweep's clock is an hour later, and a second look finds nothing owed."""
    async with deployments.serving(agent("Extra")) as http:
        await deployments.fill(http, "Extra")
        await http.delete("/api/agents/Extra/memory")
        for schedule in (await http.get("/api/agents/Extra/schedules")).json()["schedules"]:
            await http.delete(f"/api/agents/Extra/schedules/{schedule['schedule_id']}")
    address = Address.of("extra", "t", owner("ada"))
    async with deployments.serving(agent("Clerk")):
        services, entities = deployments.app._services, deployments.entities
        assert entities is not None
        client: Any = DurableClient(SignalClient(entities))  # type: ignore[arg-type]
        await services.absent.prepare(address)
        await services.log.execute(address, DeleteThread(services.log.clocks.wall()))
        if kept == "instance":
            await services.absent.erase(address, client)
        stores = services.stores
        log = ThreadLog(stores.threads, stores.attachments, stores.hub, clocks=Clocks(lambda: time.time() + 3600))
        absent = AbsentAgents(ThreadDeletion(log, stores, {}), {})
        purging = Purging(log, asyncio.Event(), quiet_seconds=QUIET, is_absent=absent.has)
        sweep = InstanceSweep(log, purging, stores.attachments, stores.hub, absent=absent)
        swept = [(await sweep.run(client)).is_complete for _ in range(2)]
        events = len(await log.events(address, 0))
        await sweep.run(client)

        assert (swept, deployments.traces()) == ([True, True], ([], [], False))
        assert len(await log.events(address, 0)) == events


FACTS = "/api/agents/Clerk/memory"
SCHEDULES = "/api/agents/Clerk/schedules"


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


@pytest.mark.behaviour("erasure.files")
async def test_what_was_erased_is_in_no_file(app: OwnedApp, tmp_path: Path) -> None:
    """As soon as that is answered, while the app goes on: a fact, all facts, a schedule, a person."""

    async def is_gone() -> bool:
        await asyncio.wait_for(app.host.entities.idle(), GUARD_SECONDS)
        return not holds(tmp_path, CANARY.encode())

    fact = await sent(app, "POST", FACTS, {"text": CANARY})
    await sent(app, "POST", FACTS, {"text": "Drinks tea."})
    await sent(app, "DELETE", fact)
    assert await is_gone()
    fact = await sent(app, "POST", FACTS, {"text": CANARY})
    await app.say("ann", f"forget {fact.rpartition('/')[2]}")
    await sent(app, "DELETE", f"{THREADS}/t")  # whose model was given the fact
    assert await is_gone()
    await sent(app, "POST", FACTS, {"text": CANARY})
    await sent(app, "DELETE", FACTS)
    assert await is_gone()
    await sent(app, "DELETE", await sent(app, "POST", SCHEDULES, YEARLY))
    assert await is_gone()
    await sent(app, "POST", FACTS, {"text": CANARY})
    await sent(app, "POST", SCHEDULES, YEARLY)
    await sent(app, "DELETE", "/api/owners/me")
    assert await is_gone()


@pytest.mark.slow
@pytest.mark.behaviour("erasure.files")
async def test_what_a_reader_keeps_in_a_file_is_not_said_to_be_erased(app: OwnedApp, tmp_path: Path) -> None:
    """503, and the same request again is answered once it is gone, though it finds nothing left to remove."""
    await sent(app, "POST", FACTS, {"text": CANARY})
    with contextlib.closing(sqlite3.connect(tmp_path / "AGENT_LOG", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM head").fetchone()
        refused = await app.ask("ann", "DELETE", FACTS)
        is_there = holds(tmp_path, CANARY.encode())
    await sent(app, "DELETE", FACTS)

    assert (refused.status_code, refused.json()["code"], is_there) == (503, "log_unavailable", True)
    assert not holds(tmp_path, CANARY.encode())
