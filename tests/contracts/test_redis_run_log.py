"""What the Redis run log promises beyond the contract: streams that others can read, and a server that is away."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from hosting.errors import LogUnavailableError
from hosting.events import decode
from hosting.runlog.redis import RedisStore
from tests.support.redis_server import RedisServer, free_port
from tests.support.sample_events import accepted, completed, started

pytestmark = pytest.mark.slow


@pytest.fixture
async def store(redis_server: RedisServer) -> AsyncIterator[RedisStore]:
    """A store in an empty server."""
    redis_server.empty()
    store = RedisStore(redis_server.url)
    yield store
    await store.close()


async def test_another_program_follows_a_run_with_plain_commands(store: RedisStore, redis_server: RedisServer) -> None:
    """A run is a stream, an entry's id its position, `body` the event."""
    await store.open(accepted("run"))
    await store.append("run", started(), completed(), after=1)

    async with Redis.from_url(redis_server.url) as client:
        [[_, entries]] = await client.xread({"{agents}:run:run": "1-0"})

    assert [(entry_id, decode(fields[b"body"])) for entry_id, fields in entries] == [
        (b"2-0", started()),
        (b"3-0", completed()),
    ]


@pytest.mark.behaviour("turn.log-unavailable")
async def test_a_server_that_is_not_there_is_reported_as_unavailable() -> None:
    """Whatever is asked."""
    store = RedisStore(f"redis://127.0.0.1:{free_port()}")

    for ask in (store.open(accepted("run")), store.read("run"), store.cancel_requests(["run"])):
        with pytest.raises(LogUnavailableError):
            await ask
    await store.close()


@pytest.mark.behaviour("turn.log-unavailable")
async def test_a_server_that_never_answers_is_reported_as_unavailable() -> None:
    """Within the store's patience."""
    silent = await asyncio.start_server(lambda reader, writer: asyncio.sleep(60), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    store = RedisStore(f"redis://127.0.0.1:{port}", patience_seconds=0.05)

    with pytest.raises(LogUnavailableError):
        await store.open(accepted("run"))

    await store.close()
    silent.close()


@pytest.mark.behaviour("turn.log-unavailable")
async def test_a_connection_that_the_server_cut_is_opened_again(store: RedisStore, redis_server: RedisServer) -> None:
    """The next call after an outage goes through."""
    await store.open(accepted("run"))
    async with Redis.from_url(redis_server.url) as client:
        await client.client_kill_filter(_type="normal", skipme=True)

    assert await store.append("run", started(), after=1)
