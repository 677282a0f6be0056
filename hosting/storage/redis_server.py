"""The Redis or Valkey server that a setting names by its address: how it is reached, and whether it can be."""

from __future__ import annotations

from urllib.parse import urlsplit

from redis import Redis as SyncRedis
from redis.asyncio import BlockingConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from hosting.errors import ConfigurationError
from hosting.storage.outage import cause_of

PATIENCE_SECONDS = 5.0
"""How long a call may take before the server counts as away."""

MOST_CONNECTIONS = 16
_PROBE_SECONDS = 2.0


def connection_pool(url: str, patience_seconds: float, most: int = MOST_CONNECTIONS) -> BlockingConnectionPool:
    """Return a pool in which a burst waits for a connection; the client's own refuses the one above its number.

    A command whose connection was lost is sent once more. How long an answer may take is for the caller to say: one
    that waits on the server must be let wait. Raises `ValueError` for an address that is none.
    """
    return BlockingConnectionPool.from_url(
        url,
        max_connections=most,
        timeout=patience_seconds,
        socket_connect_timeout=patience_seconds,
        socket_timeout=None,
        retry=Retry(NoBackoff(), 1),
    )


def refuse_unreached(url: str, setting: str) -> None:
    """Raise `ConfigurationError` when no server answers at `url`, which `setting` named, or it refuses us."""
    server = SyncRedis.from_url(url, socket_connect_timeout=_PROBE_SECONDS, socket_timeout=_PROBE_SECONDS)
    try:
        server.ping()
    except (RedisError, OSError) as error:
        raise ConfigurationError(
            f"{setting} is {shown(url)}, which cannot be used: {cause_of(error)} Start a server there, or leave "
            f"{setting} out."
        ) from None
    finally:
        server.close()


def shown(url: str) -> str:
    """Return the address without the user and the password in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
