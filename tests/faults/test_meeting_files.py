"""Two hosts that do the same with the same file at the same moment, over each store: it happens once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.faults.killed_app import KilledApp
from tests.faults.uploaded_files import names_in
from tests.support.grouped_app import grouped_app
from tests.support.kept_in import KINDS, kept_in

pytestmark = pytest.mark.slow

GUARD_SECONDS = 60.0
ROUNDS = 4
QUOTA = 1_000_000
OWNERS = """
from hosting.app import Principal
from tests.support.app.scripted import scripted_agent

app = AgentFunctionApp(
    agents=[scripted_agent("Joker")],
    principal=lambda request: Principal("https://login.example", request.headers.get("x-user", "ann")),
)
"""


@asynccontextmanager
async def two_hosts(app: KilledApp) -> AsyncIterator[Sequence[httpx.AsyncClient]]:
    """Run two hosts of the app, and yield a client of each."""
    with grouped_app(app.path, log={**app.environ, "AGENT_FILES_QUOTA_BYTES": str(QUOTA)}) as group:
        one, two = (httpx.AsyncClient(base_url=f"{host.origin}/api/", timeout=GUARD_SECONDS) for host in group.http)
        async with one, two:
            yield one, two


async def at_once(*calls: Awaitable[httpx.Response]) -> list[httpx.Response]:
    """Return the answers to requests that are under way together."""
    return await asyncio.gather(*calls)


@pytest.mark.behaviour("uploads.two-processes")
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_what_two_hosts_do_with_a_file_at_once_happens_once(tmp_path: Path, stores: dict[str, str]) -> None:
    """A completion, the same content twice, a deletion; and nothing is left in the end."""
    app = KilledApp(tmp_path, stores, OWNERS)
    async with two_hosts(app) as hosts:
        one = hosts[0]
        for number in range(ROUNDS):
            content = f"content {number} ".encode() * 1000
            upload = (await one.post("uploads", json={"name": "a.txt", "bytes": len(content)})).json()["upload_id"]
            part = (await one.post(f"uploads/{upload}/parts", content=content)).json()["part_id"]
            completed = await at_once(
                *(host.post(f"uploads/{upload}/complete", json={"part_ids": [part]}) for host in hosts * 2)
            )
            again = await at_once(*(host.post("files?name=b.txt", content=content) for host in hosts))
            listed = (await one.get("files")).json()["files"]
            contents = [
                (await host.get(f"files/{file['file_id']}/content")).content for host in hosts for file in listed
            ]
            deleted = await at_once(*(host.delete(f"files/{file['file_id']}") for file in listed for host in hosts))

            assert [answer.status_code for answer in (*completed, *again)] == [201] * 6
            assert len({answer.json()["file_id"] for answer in completed}) == 1
            assert len(listed) == 3
            assert set(contents) == {content}
            assert sum(answer.json()["files"] for answer in deleted) == 3
        left = await names_in(app, "uploads")

    assert left == []


@pytest.mark.behaviour("uploads.quota")
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_two_hosts_give_an_owner_no_more_than_the_quota(tmp_path: Path, stores: dict[str, str]) -> None:
    """Eight files at once of which three have room: three are stored, and another owner has the whole quota."""
    app = KilledApp(tmp_path, stores, OWNERS)
    async with two_hosts(app) as hosts:
        sent = await at_once(
            *(
                host.post(f"files?name={number}.txt", content=bytes([number]) * 300_000)
                for number in range(4)
                for host in hosts
            )
        )
        bob = await hosts[0].post("files?name=b.txt", content=b"b" * QUOTA, headers={"x-user": "bob"})
        listed = (await hosts[1].get("files")).json()["files"]
        erased = await at_once(*(host.delete("owners/me") for host in hosts))
        after = await hosts[1].post("files?name=a.txt", content=b"a" * QUOTA)
        kept = (await hosts[1].get(f"files/{bob.json()['file_id']}/content", headers={"x-user": "bob"})).content

    assert sorted(answer.status_code for answer in sent) == [201] * 3 + [409] * 5
    assert {answer.json()["code"] for answer in sent if answer.status_code == 409} == {"files_full"}
    assert len(listed) == 3
    assert [answer.status_code for answer in (bob, *erased, after)] == [201, 200, 200, 201]
    assert kept == b"b" * QUOTA
