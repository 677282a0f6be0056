"""docs/data.md against the stores: what the app writes has a row there, and of a deleted thread what it says is left.

One life of a thread on the local host, in files, in Redis and in blobs: an idempotency key, a large picture, so many
turns that the older move to the archive, a run that another named, one that is cancelled; then it is deleted.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosting.stored_names import Container, Redis, SqliteFile, Stored
from tests.support.azurite import Azurite
from tests.support.canary import holds
from tests.support.carriers import APP, GUARD_SECONDS, Api, socket_api
from tests.support.redis_server import RedisServer
from tests.support.running_host import ROOT, RunningHost

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
CANARY = b"canary-5b1d"
PICTURE = b"\x89PNG" + CANARY * 4000
HOOKS = "/runtime/webhooks/durabletask"
TABLE = r"`([^`]*)`"
ARCHIVE = "The older part of long threads: the archive"
ATTACHMENTS = "Pictures and files: attachments"
THREAD = "/api/agents/Joker/threads/deleted"
Store = SqliteFile | Container | Redis


@dataclass(frozen=True)
class Place:
    """Where a store is, how the page calls the names in it, and below which of its headings."""

    heading: str
    row: str
    store: Store

    def rows(self) -> dict[re.Pattern[str], str]:
        """Return the names that the page gives, as patterns, with what is left under each."""
        section = re.split(r"^#+ ", PAGE.partition(f" {self.heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
        rows = re.findall(rf"^\| {self.row} \|.*\| ([^|]*) \|$", section, flags=re.MULTILINE)
        return {re.compile(re.sub(r"<[^>]*>", "[^/:]+", re.escape(name))): left for name, left in rows}


@dataclass(frozen=True)
class Lived:
    """A host of the app, whose stores are looked into, and the names that were seen in each while the thread lived."""

    api: Api
    folder: Path
    places: list[Place]
    seen: list[set[str]]

    def stored(self) -> list[Stored]:
        """Return what stands in every store."""
        return [place.store.read() for place in self.places]

    def look(self) -> None:
        """Note the names that are there now."""
        for names, stored in zip(self.seen, self.stored(), strict=True):
            names.update(stored)

    def canary_is_held(self) -> bool:
        """Tell whether any store, or any file of the host, has a word of what was said, in plain or in base64."""
        forms = [CANARY, *(base64.b64encode(b"x" * shift + CANARY * 2)[4:24] for shift in range(3))]
        in_stores = any(form in body for stored in self.stored() for body in stored.values() for form in forms)
        return in_stores or any(holds(self.folder, form) for form in forms)


@pytest.fixture(params=["files", "redis", "blobs"])
async def lived(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Lived]:
    """The app after one life of a thread."""
    folder = shutil.copytree(APP, tmp_path / "app")
    settings, places = STORES[request.param](request, folder)
    with RunningHost(folder, environ={"AGENT_RECENT_BYTES": "2048", **settings}) as host:
        api = socket_api(host.origin, folder / ".agents" / "runs.sqlite")
        async with api.http:
            lived = Lived(api, folder, places, [set() for _ in places])
            await live(lived)
            yield lived


async def live(lived: Lived) -> None:
    """Live, and return once everything is written."""
    api, said = lived.api, CANARY.decode()
    uri = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    picture = {"$type": "data", "uri": uri, "mediaType": "image/png"}
    body = {"message": said, "thread_id": "deleted", "contents": [picture]}
    answer = await api.http.post("/api/agents/Joker/run", json=body, headers={"Idempotency-Key": said})
    assert answer.status_code == 200, answer.text
    order = {"message": f"{said} named", "correlationId": "named-by-another"}
    await api.http.post(f"{HOOKS}/entities/dafx-joker/deleted?op=run", json=json.dumps(order))
    for number in range(8):
        assert (await api.ask(f"{said} {number} {'x' * 400}", thread_id="deleted")).status_code == 200
    blocked = await api.ask("block 1", thread_id="deleted", wait_for_response=False)
    await asyncio.wait_for(begun(api, blocked.headers["location"]), GUARD_SECONDS)
    await api.http.post(f"{blocked.headers['location']}/cancel")
    lived.look()
    await api.ended(blocked.headers["location"])
    lived.look()


async def begun(api: Api, location: str) -> None:
    """Return once the run has begun."""
    while (await api.http.get(location)).json()["status"] != "running":  # noqa: ASYNC110 - a host
        await asyncio.sleep(0.01)


def files(request: pytest.FixtureRequest, folder: Path) -> tuple[Mapping[str, str], list[Place]]:
    """Everything in SQLite."""
    agents = folder / ".agents"
    return {}, [
        Place("In SQLite: `.agents/runs.sqlite`", TABLE, SqliteFile(agents / "runs.sqlite")),
        Place(ARCHIVE, r"table `([^`]*)` in `\.agents/archive\.sqlite`", SqliteFile(agents / "archive.sqlite")),
        Place(ATTACHMENTS, r"table `([^`]*)` in [^|]*", SqliteFile(agents / "attachments.sqlite")),
    ]


def in_redis(request: pytest.FixtureRequest, folder: Path) -> tuple[Mapping[str, str], list[Place]]:
    """Run logs in Redis."""
    server: RedisServer = request.getfixturevalue("redis_server")
    server.empty()
    return {"AGENT_RUN_LOG": server.url}, [Place("In Redis", TABLE, Redis(server.url))]


def blobs(request: pytest.FixtureRequest, folder: Path) -> tuple[Mapping[str, str], list[Place]]:
    """Everything in the storage account."""
    account = request.getfixturevalue("own_azurite").connection_string
    kinds = dict.fromkeys(("AGENT_RUN_LOG", "AGENT_ARCHIVE", "AGENT_ATTACHMENTS"), "blob")
    return {"AzureWebJobsStorage": account, **kinds}, [
        Place("In blobs: container `agent-run-logs`", TABLE, Container(account, "agent-run-logs")),
        Place(ARCHIVE, r"container `agent-archive`, `([^`]*)`", Container(account, "agent-archive")),
        Place(ATTACHMENTS, r"container `agent-attachments`, `([^`]*)`", Container(account, "agent-attachments")),
    ]


STORES = {"files": files, "redis": in_redis, "blobs": blobs}


@pytest.fixture
def own_azurite(npm_packages: Path, tmp_path: Path) -> Iterator[Azurite]:
    """An emulator of this test's own, because containers have the names that the app gives them."""
    emulator = Azurite(npm_packages, tmp_path)
    yield emulator
    emulator.stop()


@pytest.mark.behaviour("erasure.inventory")
@pytest.mark.behaviour("erasure.nothing-is-left")
async def test_what_is_written_and_what_is_left_of_it_is_as_the_page_says(lived: Lived) -> None:
    """Every name has its row and every row its name; of the deleted thread there is not a word in any form."""
    assert lived.canary_is_held()

    assert (await lived.api.http.delete(THREAD)).status_code == 204

    await asyncio.wait_for(forgotten(lived), GUARD_SECONDS)
    lived.look()
    for place, names, stored in zip(lived.places, lived.seen, lived.stored(), strict=True):
        rows = place.rows()
        assert [name for name in names if not any(row.fullmatch(name) for row in rows)] == []
        assert [row.pattern for row in rows if not any(row.fullmatch(name) for name in names)] == []
        emptied = [row for row, left in rows.items() if left.startswith("nothing")]
        assert [name for name in stored if any(row.fullmatch(name) for row in emptied)] == []


async def forgotten(lived: Lived) -> None:
    """Return once the canary is nowhere: the engine empties its write-ahead log a moment after the commit."""
    while lived.canary_is_held():  # noqa: ASYNC110 - stores tell nobody
        await asyncio.sleep(0.02)
