"""stored-names.md against the stores: what the app writes has a row there, which says what a deletion leaves of it.

One life of a thread on the local host, in files, in Redis and in an account: an idempotency key, a large picture, so
many turns that the older move to the archive, messages and a state without a run, a run that another named, one that is
cancelled, one whose webhook nobody takes, a task of A2A with a receiver; then it is deleted.
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

from hosting.core.stores.tables import table_name
from hosting.features.webhooks.delivery import WEBHOOK_CLOCK
from tests.hosting.stored_names import Container, Redis, SqliteFile, Stored, Table
from tests.support.a2a import HEADERS, message
from tests.support.azurite import Azurite
from tests.support.canary import holds
from tests.support.carriers import APP, GUARD_SECONDS, Api, socket_api
from tests.support.receiver import WEBHOOKS
from tests.support.redis_server import RedisServer
from tests.support.running_host import ROOT, RunningHost

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "contributing" / "stored-names.md").read_text(encoding="utf-8")
CANARY = b"canary-5b1d"
PICTURE = b"\x89PNG" + CANARY * 4000
HOOKS = "/runtime/webhooks/durabletask"
LOG = "Runs: the threads' log"
ARCHIVE = "The older part of long threads: the archive"
ATTACHMENTS = "Pictures and files: attachments"
THREAD = "/api/agents/Joker/threads/deleted"
HUB = "tests"
"""As the app's host.json has it, in lower case."""
SENDING = {name: value for name, value in WEBHOOKS.items() if name != "AGENT_LOG"}
Store = SqliteFile | Container | Redis | Table


@dataclass(frozen=True)
class Place:
    """A store, below which of the page's headings its names are, and what the page calls it in their rows."""

    heading: str
    where: str
    store: Store

    def rows(self) -> dict[re.Pattern[str], str]:
        """Return the names that the page gives, as patterns, with what is left under each."""
        section = re.split(r"^#+ ", PAGE.partition(f"# {self.heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
        store, found = "", dict[re.Pattern[str], str]()
        for line in re.findall(r"^\|(.*)\|$", section, flags=re.MULTILINE):
            first, *others, _, left = (cell.strip() for cell in line.split("|"))
            store = first or store
            if self.where in store:
                named = " ".join([store.replace(self.where, ""), *others])
                found |= dict.fromkeys(map(_pattern, re.findall("`([^`]*)`", named)), left)
        return found


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"<[^>]*>", "[^/:]+", re.escape(name)))


@dataclass(frozen=True)
class Lived:
    """A host of the app, whose stores are looked into, and the names that were seen in each while the thread lived."""

    api: Api
    folder: Path
    places: list[Place]
    seen: list[set[str]]

    def stored(self) -> list[Stored]:
        return [place.store.read() for place in self.places]

    def look(self) -> None:
        for names, stored in zip(self.seen, self.stored(), strict=True):
            names.update(stored)

    def canary_is_held(self) -> bool:
        """Whether any store, or any file of the host, holds a word of the messages, in plain or in base64."""
        forms = [CANARY, *(base64.b64encode(b"x" * shift + CANARY * 2)[4:24] for shift in range(3))]
        in_stores = any(form in body for stored in self.stored() for body in stored.values() for form in forms)
        return in_stores or any(holds(self.folder, form) for form in forms)


@pytest.fixture(params=["files", "redis", "account"])
async def lived(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Lived]:
    """The app after one life of a thread."""
    folder = shutil.copytree(APP, tmp_path / "app")
    settings, places = STORES[request.param](request, folder)
    with RunningHost(folder, environ={"AGENT_RECENT_BYTES": "2048", "WIRES": "a2a", **SENDING, **settings}) as host:
        api = socket_api(host.origin, folder / ".agents" / "log.sqlite")
        async with api.http:
            lived = Lived(api, folder, places, [set() for _ in places])
            await live(lived)
            yield lived


async def live(lived: Lived) -> None:
    api, text = lived.api, CANARY.decode()
    uri = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
    picture = {"$type": "data", "uri": uri, "mediaType": "image/png"}
    body = {"message": text, "thread_id": "deleted", "contents": [picture]}
    answer = await api.http.post("/api/agents/Joker/run", json=body, headers={"Idempotency-Key": text})
    assert answer.status_code == 200, answer.text
    rated = {"score": 0.5, "label": text, "comment": text}
    place = f"{THREAD}/runs/{answer.json()['run_id']}/feedback"
    assert (await api.http.post(place, json=rated)).status_code == 201
    order = {"message": f"{text} named", "correlationId": "named-by-another"}
    await api.http.post(f"{HOOKS}/entities/dafx-joker/deleted?op=run", json=json.dumps(order))
    for number in range(8):
        assert (await api.ask(f"{text} {number} {'x' * 400}", thread_id="deleted")).status_code == 200
    await asyncio.wait_for(idle(api), GUARD_SECONDS)
    put = {"messages": [{"message": text}, {"role": "assistant", "message": text, "contents": [picture]}]}
    answer = await api.http.post(f"{THREAD}/messages", json=put, headers={"Idempotency-Key": f"{text}-put"})
    assert answer.status_code == 201, answer.text
    answer = await api.http.patch(f"{THREAD}/state", json={"state": {"notes": {text: text}}})
    assert answer.status_code == 200, answer.text
    answer = await api.http.post(f"{THREAD}/files", params={"name": f"{text}.txt"}, content=PICTURE)
    assert answer.status_code == 201, answer.text
    named = {"thread_id": "deleted", "webhook": f"http://127.0.0.1:9/{text}"}
    assert (await api.ask(text, **named)).status_code == 200
    await asyncio.wait_for(until_waiting(lived), GUARD_SECONDS)
    receiver = {"taskPushNotificationConfig": {"url": f"http://127.0.0.1:9/{text}", "token": text}}
    sent = {"message": message(text, contextId="deleted"), "configuration": receiver}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": sent}
    assert "result" in (await api.http.post("/api/a2a/Joker", json=call, headers=HEADERS)).json()
    blocked = await api.ask("block 1", thread_id="deleted", wait_for_response=False)
    await asyncio.wait_for(begun(api, blocked.headers["location"]), GUARD_SECONDS)
    await api.http.post(f"{blocked.headers['location']}/cancel")
    lived.look()
    await api.ended(blocked.headers["location"])
    lived.look()


async def idle(api: Api) -> None:
    while any(  # noqa: ASYNC110 - a host
        run["ended_at"] is None for run in (await api.http.get(f"{THREAD}/runs")).json()["runs"]
    ):
        await asyncio.sleep(0.02)


async def until_waiting(lived: Lived) -> None:
    """Return once a delivery was tried, and its clock sleeps."""
    while WEBHOOK_CLOCK not in (await lived.api.http.get(f"{HOOKS}/instances")).text:  # noqa: ASYNC110 - a host
        await asyncio.sleep(0.02)


async def begun(api: Api, location: str) -> None:
    while (await api.http.get(location)).json()["status"] != "running":  # noqa: ASYNC110 - a host
        await asyncio.sleep(0.01)


def files(request: pytest.FixtureRequest, folder: Path) -> tuple[Mapping[str, str], list[Place]]:
    agents = folder / ".agents"
    return {}, [
        Place(LOG, "`.agents/log.sqlite`", SqliteFile(agents / "log.sqlite")),
        Place(ARCHIVE, "in `.agents/archive.sqlite`", SqliteFile(agents / "archive.sqlite")),
        Place(ATTACHMENTS, "in `.agents/attachments.sqlite`", SqliteFile(agents / "attachments.sqlite")),
    ]


def in_redis(request: pytest.FixtureRequest, folder: Path) -> tuple[Mapping[str, str], list[Place]]:
    server: RedisServer = request.getfixturevalue("redis_server")
    server.empty()
    return {"AGENT_LOG": server.url}, [Place(LOG, "Redis", Redis(server.url, f"{{{HUB}/"))]


def in_account(request: pytest.FixtureRequest, folder: Path) -> tuple[Mapping[str, str], list[Place]]:
    account = request.getfixturevalue("own_azurite").connection_string
    kinds = {"AGENT_LOG": "tables", "AGENT_ARCHIVE": "blob", "AGENT_ATTACHMENTS": "blob"}
    return {"AzureWebJobsStorage": account, **kinds}, [
        Place(LOG, "table `<hub>AgentLog`", Table(account, table_name(HUB))),
        Place(ARCHIVE, "container `agent-archive`, ", Container(account, "agent-archive")),
        Place(ATTACHMENTS, "container `agent-attachments`, ", Container(account, "agent-attachments")),
    ]


STORES = {"files": files, "redis": in_redis, "account": in_account}


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
        unseen = [row.pattern for row in rows if not any(row.fullmatch(name) for name in names)]
        assert [pattern for pattern in unseen if not any(name in pattern.replace("\\", "") for name in ELSEWHERE)] == []
        emptied = [row for row, left in rows.items() if left.startswith("nothing")]
        assert [name for name in stored if any(row.fullmatch(name) for row in emptied)] == []


ELSEWHERE = (
    *("background-", "pause-", ".files/", ".feedback/given/", ".feedback-noted/", ".put-noted/", ".unsearched/"),
    *(".uploads-due/", ".file-search/", ".file-index/"),
)
"""The rows without a name here: this app has no background agents, questions, shared files, searches in files, other
people and search engine. Notes of feedback, of begun threads and of uploads are gone in a moment. Tests of those have
them."""


async def forgotten(lived: Lived) -> None:
    """Return once the canary is nowhere: the engine empties its write-ahead log a moment after the commit."""
    while lived.canary_is_held():  # noqa: ASYNC110 - stores tell nobody
        await asyncio.sleep(0.02)
