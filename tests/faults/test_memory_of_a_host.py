"""What one host process keeps of large requests and answers, in memory and in its log: bounded, however many come."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
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
WARM = 8
"""So many before it is looked how much memory there is."""
REFUSED = [pytest.param(32, id="64"), pytest.param(1000, id="2000", marks=pytest.mark.explore)]
"""So many of each kind, of 1 MiB each."""
MOST_GROWN_BY_REFUSED_MIB = 30
TURNS = 10_000
THREADS = 1000
MOST_GROWN_BY_TURNS_MIB = 60
ENDED = [pytest.param(40, id="40"), pytest.param(200, id="200", marks=pytest.mark.explore)]
CACHED_MIB = (conversations.CACHED_BYTES + conversations.STORED_BYTES + thread_log.CACHED_BYTES) // MIB
"""What a process remembers of threads at most."""
MOST_OF_THE_ALLOCATOR_MIB = 12
"""Beside that, for answers come and go: 22 MiB were seen in all, of 120 that were sent."""
MOST_LOGGED_BYTES = 1000
"""For each request that is refused: its line in the host's log."""


@pytest.fixture
def app(tmp_path: Path) -> AppFolder:
    return AppFolder(tmp_path)


@pytest.fixture
def host(app: AppFolder) -> Iterator[RunningHost]:
    with app.host({"LEASE_SECONDS": "20"}) as host:
        yield host


@pytest.fixture
async def http(host: RunningHost) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=host.origin, timeout=60) as http:
        yield http


def resident_mib(host: RunningHost) -> int:
    """Return how much memory the process has now."""
    lines = Path(f"/proc/{host.process.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS:"))


def stored_bytes(app: AppFolder) -> int:
    """Return how much stands in all files of the app."""
    return sum(path.stat().st_size for path in (app.path / ".agents").rglob("*") if path.is_file())


async def codes(times: int, send: Callable[[int], Awaitable[httpx.Response]]) -> Counter[int]:
    """Send so many requests, a few at once, and count the answers."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> int:
        async with gate:
            return (await send(number)).status_code

    return Counter(await asyncio.gather(*map(one, range(times))))


@pytest.mark.behaviour("service.bounded")
@pytest.mark.parametrize("times", REFUSED)
async def test_refused_requests_of_a_mebibyte_leave_memory_and_files_as_they_were(
    app: AppFolder, host: RunningHost, http: httpx.AsyncClient, times: int
) -> None:
    """Half of them for a full queue, half for a key that another request used; the log has a line for each at most."""
    for number in range(32):
        waiting = {"message": "sleep 500", "thread_id": "full", "wait_for_response": False}
        await http.post(RUN, json=waiting, headers={"idempotency-key": f"k{number}"})

    async def full(_: int) -> httpx.Response:
        return await http.post(RUN, json={"message": LARGE, "thread_id": "full"})

    async def reused(number: int) -> httpx.Response:
        headers = {"idempotency-key": f"k{number % 32}"}
        return await http.post(RUN, json={"message": LARGE, "thread_id": "full"}, headers=headers)

    await codes(WARM, full), await codes(WARM, reused)
    before, files, printed = resident_mib(host), stored_bytes(app), len(host.printed_so_far())
    answers = await codes(times, full) + await codes(times, reused)
    grown, written = resident_mib(host) - before, stored_bytes(app) - files
    logged = len(host.printed_so_far()) - printed
    print(f"{before} MiB at first, {grown} MiB more; {written} bytes in files, {logged} in the log")

    assert answers == {429: times, 409: times}
    assert grown < MOST_GROWN_BY_REFUSED_MIB
    assert written < MIB
    assert logged < 2 * times * MOST_LOGGED_BYTES


@pytest.mark.explore
@pytest.mark.behaviour("service.bounded")
@pytest.mark.timeout(900)
async def test_many_turns_over_many_threads_leave_memory_within_its_bounds(
    host: RunningHost, http: httpx.AsyncClient
) -> None:
    """What is remembered of threads is bounded, and nothing of a turn stays."""

    async def ask(number: int) -> httpx.Response:
        return await http.post(RUN, json={"message": f"hi {number}", "thread_id": f"t{number % THREADS}"})

    await codes(100, ask)
    before = resident_mib(host)
    answers = await codes(TURNS, ask)
    grown = resident_mib(host) - before
    print(f"{before} MiB at first, {grown} MiB more")

    assert answers == {200: TURNS}
    assert grown < MOST_GROWN_BY_TURNS_MIB


@pytest.mark.behaviour("service.bounded")
@pytest.mark.parametrize("times", ENDED)
@pytest.mark.parametrize(("limit_bytes", "status"), [(8 * MIB, 200), (MIB // 2, 409)])
async def test_ended_runs_with_a_mebibyte_each_leave_memory_within_its_bounds(
    app: AppFolder, limit_bytes: int, status: int, times: int
) -> None:
    """Each on a thread of its own, with its answer or without room for one: what is remembered is bounded in bytes."""
    environ = {"LEASE_SECONDS": "20", "AGENT_STATE_LIMIT_BYTES": str(limit_bytes)}
    with app.host(environ) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=60) as http:

            async def ask(_: int) -> httpx.Response:
                return await http.post(RUN, json={"message": f"say {LARGE}"})

            await codes(AT_ONCE, ask)
            before, printed = resident_mib(host), len(host.printed_so_far())
            answers = await codes(times, ask)
            grown, logged = resident_mib(host) - before, len(host.printed_so_far()) - printed
    print(f"{before} MiB at first, {grown} MiB more; {logged} bytes in the log")

    assert answers == {status: times}
    assert grown < CACHED_MIB + MOST_OF_THE_ALLOCATOR_MIB
    assert logged < times * MOST_LOGGED_BYTES


EXPORTED = 100
"""Threads of an owner, of 400 kB each: ten pages."""
SAID = "x" * 400_000


def peak_mib(host: RunningHost) -> int:
    """Return how much memory the process had at most, since it began or `forget_peak` was called."""
    lines = Path(f"/proc/{host.process.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:"))


def forget_peak(host: RunningHost) -> None:
    """Have the peak begin with what the process has now."""
    Path(f"/proc/{host.process.pid}/clear_refs").write_text("5", encoding="ascii")


@pytest.fixture
def owned(app: AppFolder) -> Iterator[RunningHost]:
    """A host of the app, which knows its callers."""
    with app.host({"LEASE_SECONDS": "20", "OWNERS": "1"}) as host:
        yield host


@pytest.mark.behaviour("service.bounded")
@pytest.mark.timeout(300)
async def test_exports_and_pages_hold_a_part_of_what_they_send(owned: RunningHost) -> None:
    """Several at once, of everything that an owner has: whole, page by page, and less in memory than one of them is."""
    async with httpx.AsyncClient(base_url=owned.origin, timeout=120) as http:

        async def say(number: int) -> httpx.Response:
            return await http.post(RUN, json={"message": SAID, "thread_id": f"t{number % EXPORTED}"})

        async def exported(_: int) -> httpx.Response:
            threads, cursor = list[str](), "first"
            while cursor:
                query = {"limit": 200} if cursor == "first" else {"limit": 200, "cursor": cursor}
                answer = await http.get("/api/owners/me/export", params=query)
                page = answer.json()
                assert len(answer.content) < PAGE_BYTES + 3 * len(SAID)
                threads += [thread["thread_id"] for thread in page["threads"]]
                cursor = page["next_cursor"]
            assert sorted(threads) == sorted(f"t{number}" for number in range(EXPORTED))
            return answer

        assert await codes(EXPORTED, say) == {200: EXPORTED}
        await codes(AT_ONCE, lambda number: http.get(f"/api/agents/Joker/threads/t{number}/export"))
        before = resident_mib(owned)
        forget_peak(owned)
        answers = await codes(AT_ONCE, exported)
        grown = peak_mib(owned) - before
    print(f"{before} MiB at first, {grown} MiB more of {EXPORTED * len(SAID) // MIB}")

    assert answers == {200: AT_ONCE}
    assert grown < EXPORTED * len(SAID) // MIB


LARGE_MIB = 120
MOST_GROWN_BY_A_FILE_MIB = 48
"""Some pieces of the file, and what its stores hold of them."""


@pytest.mark.behaviour("uploads.in-pieces")
async def test_no_process_holds_a_file_whole(app: AppFolder) -> None:
    """One that takes and sends a large file grows by some pieces of it."""

    async def content() -> AsyncIterator[bytes]:
        for _ in range(LARGE_MIB):
            yield bytes(MIB)

    headers = {"content-length": str(LARGE_MIB * MIB)}
    with app.host({"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": str(2 * LARGE_MIB * MIB)}) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=300) as http:
            await http.post("/api/files?name=small.bin", content=bytes(MIB))
            before = resident_mib(host)
            forget_peak(host)
            sent = await http.post("/api/files?name=large.bin", content=content(), headers=headers)
            read = 0
            async with http.stream("GET", sent.json()["content_url"]) as answer:
                async for piece in answer.aiter_bytes():
                    read += len(piece)
            grown = peak_mib(host) - before

    assert (sent.status_code, read) == (201, LARGE_MIB * MIB)
    assert grown < MOST_GROWN_BY_A_FILE_MIB
