"""The proxy before a Redis server: what it passes, and its faults as the real client sees them."""

from __future__ import annotations

import pytest
from redis import ConnectionError as BrokenError
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.redis_faults import RedisFaultProxy
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.slow


def client(url: str, protocol: int = 2) -> Redis:
    """A client that asks once."""
    return Redis.from_url(url, protocol=protocol, retry=Retry(NoBackoff(), 0))


@pytest.mark.behaviour("storage.redis-proxy")
@pytest.mark.parametrize("protocol", [2, 3])
def test_every_command_of_a_pipeline_and_every_kind_of_answer_passes(redis_server: RedisServer, protocol: int) -> None:
    """Numbers, texts, errors, nothing, lists in lists and maps, large and empty ones."""
    redis_server.empty()

    def asked(url: str) -> list[object]:
        with client(url, protocol) as redis, redis.pipeline(transaction=False) as pipeline:
            pipeline.set("large", b"\r\n$1\r\n" * 300_000).get("large").get("absent").incr("large")
            pipeline.delete("stream").xadd("stream", {"a": "", "b": "\r\n"}, id="1-0").xrange("stream")
            pipeline.xread({"stream": "0-0"}).xread({"stream": "1-0"}, block=1).hset("hash", "a", "1").hgetall("hash")
            return [str(one) if isinstance(one, Exception) else one for one in pipeline.execute(raise_on_error=False)]

    with RedisFaultProxy(redis_server.url) as proxy:
        passed = asked(proxy.url)
    redis_server.empty()

    assert passed == asked(redis_server.url)


@pytest.mark.behaviour("storage.redis-proxy")
@pytest.mark.parametrize(("fault", "was_done"), [("request lost", None), ("answer dropped", b"1")])
def test_a_command_whose_connection_breaks_was_done_or_not(
    redis_server: RedisServer, fault: str, was_done: bytes | None
) -> None:
    """As the fault's name says; commands of other keys pass, and so do the first that are skipped."""
    redis_server.empty()
    with RedisFaultProxy(redis_server.url) as proxy, client(proxy.url) as redis:
        proxy.set(fault, text="mine", skip=1)
        redis.get("mine")
        redis.set("other", 1)
        with pytest.raises(BrokenError):
            redis.set("mine", 1)

        assert redis.get("mine") == was_done
