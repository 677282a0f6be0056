"""What the threads' log in Redis promises beyond the contract, on real servers: scripts, failures, files, watches."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from hosting.core.stores.contract import MOST_EVENTS, Appended, Conflict, Row, Unknown
from hosting.core.stores.redis import RedisThreadStore
from tests.contracts.thread_appends import ADDRESS, ELSEWHERE, behind, texts, whole, write
from tests.support.redis_faults import RedisFaultProxy
from tests.support.redis_server import RedisServer, find_server, free_port

THREAD = "{hub/joker.app~thread}"
GUARD_SECONDS = 20
NOBODY_CAME = 30.0
SECRET = b"what was said"
DURABLE = ("--appendonly", "yes", "--appendfsync", "always", "--rdbcompression", "no")
ROWS = (Row("run-1", 1, SECRET), Row("key-1", 1, SECRET))
REFUSALS = [
    ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "used memory > 'maxmemory'"),
    ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "read only replica"),
]

pytestmark = pytest.mark.slow


@pytest.fixture
async def server(redis_server: RedisServer) -> AsyncIterator[Any]:
    """A client, as other programs have one, of the session's server, which is empty."""
    redis_server.empty()
    async with Redis.from_url(redis_server.url) as client:
        yield client


@pytest.fixture
async def store(server: Any, redis_server: RedisServer) -> AsyncIterator[RedisThreadStore]:
    store = RedisThreadStore(redis_server.url, "hub")
    yield store
    await store.close()


@pytest.fixture
def own_server(redis_server: RedisServer, tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Starts servers of this test alone, which keep their files in its folder."""
    started: list[RedisServer] = []
    command = find_server()
    assert command is not None

    def start(*options: str) -> RedisServer:
        started.append(RedisServer(command, tmp_path, *options))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.mark.behaviour("log.apart")
async def test_every_key_begins_with_its_hub_and_its_thread(store: RedisThreadStore, server: Any) -> None:
    """So one pattern finds a thread, or an app. Its events are a stream, which other programs follow as one."""
    head = await write(store, None, b"one", b"two", rows=ROWS)

    [[_, entries]] = await server.xread({f"{THREAD}:events": "1-0"})
    keys = {f"{THREAD}:{name}".encode() for name in ("head", "events", "rows", "row-positions")}
    assert set(await server.keys("*")) == {*keys, b"{hub/}:agents"}
    assert entries == [(b"2-0", {b"append": head.append_id.encode(), b"payload": b"two"})]


async def test_an_append_is_one_command_to_the_server(store: RedisThreadStore, server: Any) -> None:
    """Its script is sent once, with the first append; what a script does inside is no way to the server and back."""
    head = await write(store, None, b"one", rows=ROWS)
    await server.config_resetstat()
    for _ in range(10):
        head = await write(store, head, b"more", b"than one", rows=(Row("run-2", head.position, b"", is_new=False),))

    calls = {name: received["calls"] for name, received in (await server.info("commandstats")).items()}
    inside = {"cmdstat_hmget", "cmdstat_hexists", "cmdstat_xadd", "cmdstat_hset", "cmdstat_zadd"}
    assert {name: number for name, number in calls.items() if name not in inside} == {
        "cmdstat_config|resetstat": 1,
        "cmdstat_evalsha": 10,
    }


async def test_all_keys_of_a_step_are_in_one_slot_of_a_cluster(own_server: Callable[..., RedisServer]) -> None:
    """A server of a cluster refuses a script whose keys are not, or that touches one that it did not name."""
    node = own_server("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    async with Redis.from_url(node.url) as client:
        await client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        await until(lambda: client.execute_command("CLUSTER", "INFO"), lambda info: b"cluster_state:ok" in info)
    store = RedisThreadStore(node.url, "hub")

    head = await write(store, None, b"one", b"two", rows=ROWS)
    await store.trim(ADDRESS, 1, 0)
    await store.erase(ADDRESS, 1)

    assert await store.watch(ADDRESS, 1, NOBODY_CAME)
    assert await whole(store, ["run-1"]) == (head, [(2, b"two")], [Row("run-1", 1, b"")])
    assert await store.forget(ADDRESS, head)
    await store.close()


@pytest.mark.behaviour("log.repeated-append")
@pytest.mark.parametrize("lost", [1, 1000], ids=["one answer", "all answers"])
async def test_an_append_whose_connection_broke_after_it_was_done_counts_once(
    redis_server: RedisServer, lost: int
) -> None:
    """One answer that is lost the store asks for again by itself; after more of them its caller does."""
    with RedisFaultProxy(redis_server.url) as proxy:
        redis_server.empty()
        store = RedisThreadStore(proxy.url, "hub")
        head = await write(store, None, b"one")
        append = behind(head, b"two", rows=ROWS)

        losing = proxy.set("answer dropped", times=lost)
        outcome = await store.append(ADDRESS, head, append)
        losing.clear()

        assert isinstance(outcome, Appended if lost == 1 else Unknown)
        assert isinstance(again := await store.append(ADDRESS, head, append), Appended)
        assert await whole(store) == (again.head, [(1, b"one"), (2, b"two")], [])
        await store.close()


@pytest.mark.behaviour("log.away")
async def test_a_server_that_was_killed_has_what_it_said_was_done(own_server: Callable[..., RedisServer]) -> None:
    """With an append-only file that is written before each answer; the append that met the end is done once."""
    server = own_server(*DURABLE)
    store = RedisThreadStore(server.url, "hub")
    head = await write(store, None, b"one", rows=ROWS)
    append = behind(head, b"two")

    server.kill()
    assert isinstance(await store.append(ADDRESS, head, append), Unknown)
    server.start()

    assert isinstance(done := await store.append(ADDRESS, head, append), Appended)
    assert await whole(store, ["run-1"]) == (done.head, [(1, b"one"), (2, b"two")], [ROWS[0]])
    await store.close()


@pytest.mark.behaviour("log.erase")
async def test_what_was_erased_is_in_no_file_once_they_are_rewritten(
    own_server: Callable[..., RedisServer], tmp_path: Path
) -> None:
    """Nor beside events that stay, trimmed before or not: a stream keeps together what was written together."""
    server = own_server(*DURABLE)
    store = RedisThreadStore(server.url, "hub")
    await write(store, None, *(SECRET + b" %d" % n for n in range(8)), b"what stays", rows=ROWS)

    await store.trim(ADDRESS, 4, 0)
    await store.erase(ADDRESS, 8)
    async with Redis.from_url(server.url) as client:
        await client.bgrewriteaof()
        await until(lambda: client.info("persistence"), lambda info: not info["aof_rewrite_in_progress"])
        await client.save()

    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert (SECRET in kept, b"what stays" in kept) == (False, True)
    assert await texts(store) == [(9, b"what stays")]
    await store.close()


async def test_events_that_are_read_while_they_are_trimmed_have_no_gap(store: RedisThreadStore) -> None:
    """A trim between two pages took all before it too, so what was read of that is left out."""
    head = None
    for _ in range(4):
        head = await write(store, head, *[b"event"] * MOST_EVENTS)

    async def read() -> None:
        while positions := [position for position, _ in await texts(store)]:
            assert positions == list(range(positions[0], positions[0] + len(positions)))

    async def trim() -> None:
        for before in range(0, 4001, 500):
            await store.trim(ADDRESS, before, 0)

    await asyncio.gather(read(), read(), trim())


@pytest.mark.behaviour("log.away")
@pytest.mark.parametrize("refusal", REFUSALS, ids=["full memory", "a replica"])
async def test_a_server_that_takes_no_writes_leaves_an_append_unknown_and_says_why_once(
    store: RedisThreadStore, server: Any, refusal: tuple[str, str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing of it is written; when the server takes writes again, the same append is. Erasing frees memory."""
    refuse, allow, cause = refusal
    head = await write(store, None, b"one")
    append = behind(head, b"two", rows=ROWS)

    await server.execute_command(*refuse.split())
    try:
        outcomes = [await store.append(ADDRESS, head, append) for _ in range(3)]
        if "maxmemory" in refuse:
            await store.erase(ADDRESS, 1)
    finally:
        await server.execute_command(*allow.split())

    assert outcomes == [Unknown()] * 3
    assert [cause in record.getMessage() for record in caplog.records if record.levelno == logging.ERROR] == [True]
    assert await whole(store, ["run-1"]) == (head, [] if "maxmemory" in refuse else [(1, b"one")], [None])
    assert isinstance(await store.append(ADDRESS, head, append), Appended)


@pytest.mark.behaviour("log.watch")
async def test_those_who_watch_one_thread_share_a_connection_and_too_many_threads_are_not_watched(
    redis_server: RedisServer, server: Any
) -> None:
    """Who leaves ends no other's watch. Above the bound a watch says at once that it does not wait."""
    store = RedisThreadStore(redis_server.url, "hub", most_watched=1)
    leaving, *watching = [asyncio.ensure_future(store.watch(ADDRESS, 0, NOBODY_CAME)) for _ in range(20)]
    short = asyncio.ensure_future(store.watch(ADDRESS, 0, 0.01))
    await until(lambda: server.info("clients"), lambda info: info["blocked_clients"] >= 1)

    leaving.cancel()
    assert not await asyncio.wait_for(short, GUARD_SECONDS)
    assert not await asyncio.wait_for(store.watch(ELSEWHERE, 0, NOBODY_CAME), GUARD_SECONDS)
    assert (await server.info("clients"))["blocked_clients"] == 1
    await write(store, None, b"one")
    assert await asyncio.wait_for(asyncio.gather(*watching), GUARD_SECONDS) == [True] * 19
    assert not await store.watch(ELSEWHERE, 0, 0.01)
    await store.close()


@pytest.mark.behaviour("log.stale-never-writes")
async def test_a_thread_whose_head_was_lost_takes_no_append_into_its_events(
    store: RedisThreadStore, server: Any
) -> None:
    """A server that evicts keys may do so: the stream itself refuses a position that it had."""
    head = await write(store, None, b"one", b"two")
    await server.delete(f"{THREAD}:head")

    assert await store.append(ADDRESS, head, behind(head, b"three")) == Conflict(None)
    assert await store.append(ADDRESS, None, behind(None, b"anew", rows=ROWS)) == Unknown()
    assert await whole(store, ["run-1"]) == (None, [(1, b"one"), (2, b"two")], [None])


async def until(ask: Callable[[], Awaitable[Any]], is_so: Callable[[Any], bool]) -> None:
    end = time.monotonic() + GUARD_SECONDS
    while not is_so(await ask()):
        assert time.monotonic() < end
