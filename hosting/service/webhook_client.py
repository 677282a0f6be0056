"""One POST to an address outside of the network: resolved, checked and connected to in one step.

Theory. A name may mean another address whenever it is resolved (DNS rebinding), so the connection is made to the very
addresses that were checked: they come from the resolver of the connection. A redirect is an answer like any other, and
nothing of a body is read. Names are resolved in threads of their own: one whose servers do not answer holds its thread
for longer than a try takes, and those of the event loop are everybody's.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

SECONDS = 15.0
"""How long a receiver has, its name's resolution included."""

_THREADS = ThreadPoolExecutor(512, thread_name_prefix="webhook-name")
"""More than there may be tries at one time (`service.places`); each is made when it is needed."""

Lookup = Callable[..., list[Any]]
"""`socket.getaddrinfo`, or what a test has in its place."""

_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_EMBEDDING_V6 = (ipaddress.IPv6Network("2001::/32"), ipaddress.IPv6Network("2002::/16"))
"""Teredo and 6to4, whose addresses lead to IPv4 ones."""

_PLATFORM_V4 = ipaddress.IPv4Address("168.63.129.16")
"""Azure's own services for a virtual machine, at an address outside of every private range."""


@dataclass(frozen=True)
class Posted:
    """What came of it: the receiver's status, or a `problem` in one word where it gave none."""

    status: int | None = None
    problem: str | None = None


INSIDE = "inside_network"


class _InsideNetworkError(Exception):
    """The name means an address inside the network."""


def is_outside(address: str) -> bool:
    """Whether an IP address is one of the public internet, for one machine, and embeds no other."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv4Address):
        return found.is_global and not found.is_multicast and found != _PLATFORM_V4
    is_embedding = any(found in network for network in _EMBEDDING_V6)
    return found in _GLOBAL_V6 and found.is_global and not is_embedding


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class _Threads:
    """What aiohttp asks an event loop for to resolve a name, in our threads."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._loop = asyncio.get_running_loop()
        self.getnameinfo = self._loop.getnameinfo

    async def getaddrinfo(self, host: str, port: int, **asked: int) -> list[Any]:
        return await self._loop.run_in_executor(_THREADS, partial(self._lookup, host, port, **asked))


class _Resolver(AbstractResolver):
    """Resolves names to addresses outside of the network, those of `hosts` to any."""

    def __init__(self, hosts: Sequence[str], lookup: Lookup) -> None:
        self._hosts = hosts
        self._names = ThreadedResolver(cast(asyncio.AbstractEventLoop, _Threads(lookup)))

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._names.resolve(host, port, family)
        if host.lower() not in self._hosts and not all(is_outside(one["host"]) for one in found):
            raise _InsideNetworkError
        return found

    async def close(self) -> None:
        """Nothing is held."""


async def post(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    hosts: Sequence[str],
    seconds: float = SECONDS,
    *,
    lookup: Lookup = socket.getaddrinfo,
) -> Posted:
    """Send the body and return what came of it; never raises. `url` is one that `WebhookRules` take."""
    host = urlsplit(url).hostname or ""
    if _is_address(host) and not {host, f"[{host}]"}.intersection(hosts) and not is_outside(host):
        return Posted(problem=INSIDE)  # the resolver is not asked about an address
    connector = aiohttp.TCPConnector(resolver=_Resolver(hosts, lookup), use_dns_cache=False, force_close=True)
    timeout = aiohttp.ClientTimeout(total=seconds)
    try:
        async with (
            aiohttp.ClientSession(
                connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
            ) as session,
            session.post(url, data=body, headers=headers, allow_redirects=False) as answer,
        ):
            return Posted(status=answer.status)
    except _InsideNetworkError:
        return Posted(problem=INSIDE)
    except asyncio.TimeoutError:
        return Posted(problem="timeout")
    except aiohttp.ClientConnectorDNSError:
        return Posted(problem="name_not_found")
    except aiohttp.ClientSSLError:
        return Posted(problem="tls_failed")
    except (aiohttp.ClientError, OSError, ValueError):
        return Posted(problem="not_reached")
