"""What one host process keeps of large requests and answers, in memory and in its log: bounded, however many come."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from hosting.core import conversations, thread_log
from hosting.core.archiving import PAGE_BYTES
from tests.faults.app_process import AppFolder
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow(seconds=30),
    pytest.mark.skipif(sys.platform != "linux", reason="what a process keeps is read from /proc"),
]

RUN = "/api/agents/Joker/run"
MIB = 1024 * 1024
LARGE = "x" * (MIB - 1024)
"""A message whose request is as large as one may be."""
AT_ONCE = 4
CACHED_MIB = (conversations.CACHED_BYTES + conversations.STORED_BYTES + thread_log.CACHED_BYTES) // MIB
"""What a process remembers of threads at most."""
MOST_OF_THE_ALLOCATOR_MIB = 12
"""Beside that, for answers come and go: 22 MiB were seen in all, of 120 that were sent."""
MOST_LOGGED_BYTES = 1000
"""For each request that is refused, or ends: its line in the host's log."""


class Measured:
    """A running host, and how much it has grown since the last `begin`."""

    def __init__(self, app: AppFolder, host: RunningHost, http: httpx.AsyncClient) -> None:
        self._app, self._host, self.http = app, host, http

    def begin(self) -> None:
        """Count from here: memory, also its peak, files and the log."""
        Path(f"/proc/{self._host.process.pid}/clear_refs").write_text("5", encoding="ascii")
        self._before = self._mib("VmRSS"), self._stored(), len(self._host.printed_so_far())

    def grown(self, kind: str = "VmRSS") -> tuple[int, int, int]:
        """Return by how many MiB the process has grown (VmHWM: at its peak), and by how many bytes files and log."""
        memory, files, printed = self._before
        found = self._mib(kind) - memory, self._stored() - files, len(self._host.printed_so_far()) - printed
        print(f"{memory} MiB at first, {found[0]} MiB more; {found[1]} bytes in files, {found[2]} in the log")
        return found

    def _mib(self, kind: str) -> int:
        lines = Path(f"/proc/{self._host.process.pid}/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) // 1024 for line in lines if line.startswith(f"{kind}:"))

    def _stored(self) -> int:
        return sum(path.stat().st_size for path in (self._app.path / ".agents").rglob("*") if path.is_file())


@asynccontextmanager
async def measured(folder: Path, **environ: str) -> AsyncIterator[Measured]:
    """Run a host of the app."""
    app = AppFolder(folder)
    with app.host({"LEASE_SECONDS": "20", **environ}) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=300) as http:
            yield Measured(app, host, http)


async def codes(times: int, send: Callable[[int], Awaitable[httpx.Response]]) -> Counter[int]:
    """Send so many requests, a few at once, and count the answers."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> int:
        async with gate:
            return (await send(number)).status_code

    return Counter(await asyncio.gather(*map(one, range(times))))


@pytest.mark.behaviour("service.bounded")
@pytest.mark.parametrize("times", [pytest.param(32, id="64"), pytest.param(1000, id="2000", marks=pytest.mark.explore)])
async def test_refused_requests_of_a_mebibyte_leave_memory_and_files_as_they_were(tmp_path: Path, times: int) -> None:
    """Half of them for a full queue, half for a key that another request used; the log has a line for each at most."""
    async with measured(tmp_path) as host:

        async def send(number: int, message: str = LARGE, **fields: bool) -> httpx.Response:
            headers = {"idempotency-key": f"k{number % 32}"} if number >= 0 else {}
            return await host.http.post(RUN, json={"message": message, "thread_id": "full", **fields}, headers=headers)

        for number in range(32):
            await send(number, "sleep 500", wait_for_response=False)
        for turn in (8, times):  # before the second one it is looked how much memory there is
            host.begin()
            answers = await codes(turn, lambda _: send(-1)) + await codes(turn, send)
        grown, written, logged = host.grown()

    assert answers == {429: times, 409: times}
    assert grown < 30
    assert written < MIB
    assert logged < 2 * times * MOST_LOGGED_BYTES


@pytest.mark.behaviour("service.bounded")
@pytest.mark.parametrize("times", [pytest.param(40, id="40"), pytest.param(200, id="200", marks=pytest.mark.explore)])
@pytest.mark.parametrize(("limit_bytes", "status"), [(8 * MIB, 200), (MIB // 2, 409)])
async def test_ended_runs_with_a_mebibyte_each_leave_memory_within_its_bounds(
    tmp_path: Path, limit_bytes: int, status: int, times: int
) -> None:
    """Each on a thread of its own, with its answer or without room for one: what is remembered is bounded in bytes."""
    async with measured(tmp_path, AGENT_STATE_LIMIT_BYTES=str(limit_bytes)) as host:
        for turn in (AT_ONCE, times):
            host.begin()
            answers = await codes(turn, lambda _: host.http.post(RUN, json={"message": f"say {LARGE}"}))
        grown, _, logged = host.grown()

    assert answers == {status: times}
    assert grown < CACHED_MIB + MOST_OF_THE_ALLOCATOR_MIB
    assert logged < times * MOST_LOGGED_BYTES


@pytest.mark.explore
@pytest.mark.behaviour("service.bounded")
@pytest.mark.timeout(900)
async def test_many_turns_over_many_threads_leave_memory_within_its_bounds(tmp_path: Path) -> None:
    """What is remembered of threads is bounded, and nothing of a turn stays."""
    async with measured(tmp_path) as host:
        for turn in (100, 10_000):
            host.begin()
            answers = await codes(
                turn, lambda n: host.http.post(RUN, json={"message": f"hi {n}", "thread_id": f"t{n % 1000}"})
            )
        grown, _, _ = host.grown()

    assert answers == {200: 10_000}
    assert grown < 60


EXPORTED = 48
"""Threads of an owner, with 400 kB asked and answered each: ten pages."""
SAID = "x" * 400_000


@pytest.mark.behaviour("service.bounded")
@pytest.mark.timeout(300)
async def test_exports_and_pages_hold_a_part_of_what_they_send(tmp_path: Path) -> None:
    """Several at once, of everything that an owner has: whole, page by page, and less in memory than one of them is."""
    async with measured(tmp_path, OWNERS="1") as host:

        async def exported(_: int) -> httpx.Response:
            threads, query = list[str](), {"limit": "200"}
            while True:
                answer = await host.http.get("/api/owners/me/export", params=query)
                page = answer.json()
                assert len(answer.content) < PAGE_BYTES + 3 * len(SAID)
                threads += [thread["thread_id"] for thread in page["threads"]]
                if not page["next_cursor"]:
                    break
                query["cursor"] = page["next_cursor"]
            assert sorted(threads) == sorted(f"t{number}" for number in range(EXPORTED))
            return answer

        said = await codes(
            EXPORTED, lambda n: host.http.post(RUN, json={"message": SAID, "thread_id": f"t{n % EXPORTED}"})
        )
        await codes(AT_ONCE, lambda number: host.http.get(f"/api/agents/Joker/threads/t{number}/export"))
        host.begin()
        answers = await codes(AT_ONCE, exported)
        grown, _, _ = host.grown("VmHWM")

    assert (said, answers) == ({200: EXPORTED}, {200: AT_ONCE})
    assert grown < EXPORTED * len(SAID) // MIB


LARGE_MIB = 120


@pytest.mark.behaviour("uploads.in-pieces")
async def test_no_process_holds_a_file_whole(tmp_path: Path) -> None:
    """One that takes and sends a large file grows by some pieces of it, and what its stores hold of them."""

    async def content() -> AsyncIterator[bytes]:
        for _ in range(LARGE_MIB):
            yield bytes(MIB)

    headers = {"content-length": str(LARGE_MIB * MIB)}
    async with measured(tmp_path, FUNCTIONS_REQUEST_BODY_SIZE_LIMIT=str(2 * LARGE_MIB * MIB)) as host:
        await host.http.post("/api/files?name=small.bin", content=bytes(MIB))
        host.begin()
        sent = await host.http.post("/api/files?name=large.bin", content=content(), headers=headers)
        read = 0
        async with host.http.stream("GET", sent.json()["content_url"]) as answer:
            async for piece in answer.aiter_bytes():
                read += len(piece)
        grown, _, _ = host.grown("VmHWM")

    assert (sent.status_code, read) == (201, LARGE_MIB * MIB)
    assert grown < 48
