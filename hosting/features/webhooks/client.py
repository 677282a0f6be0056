"""One POST to an address outside of the network: resolved, checked and connected to in one step.

Theory. A name may mean another address whenever it is resolved (DNS rebinding), so the connection is made to the very
addresses that were checked. A redirect is an answer like any other, and nothing of a body is read. Names are resolved
in threads of their own: one whose servers do not answer holds its thread for longer than a try takes, and those of the
event loop are everybody's.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from msgspec import Struct

from hosting.exchange import UnreadableAnswerError, exchange

SECONDS = 15.0
"""How long a receiver has, its name's resolution included."""

_THREADS = ThreadPoolExecutor(512, thread_name_prefix="webhook-name")
"""More than there may be tries at one time (`features.webhooks.send_slots`); each is made when it is needed."""

Lookup = Callable[..., list[Any]]
"""`socket.getaddrinfo`, or a test's replacement."""

_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_EMBEDDING_V6 = (ipaddress.IPv6Network("2001::/32"), ipaddress.IPv6Network("2002::/16"))
"""Teredo and 6to4, whose addresses lead to IPv4 ones."""

_PLATFORM_V4 = ipaddress.IPv4Address("168.63.129.16")
"""Azure's own services for a virtual machine, at an address outside of every private range."""


class Posted(Struct, frozen=True):
    """The result of a try: the receiver's status, or a `problem` in one word without one."""

    status: int | None = None
    problem: str | None = None


INSIDE = "inside_network"
NOT_ALLOWED = "not_allowed"


class _InsideNetworkError(Exception):
    """The name means an address inside the network."""


class _NoNameError(Exception):
    """The name means no address."""


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


async def _outside(hosts: Sequence[str], lookup: Lookup, host: str, port: int) -> list[str]:
    """Return the addresses of a host, which are outside of the network unless it is one of `hosts`."""
    if _is_address(host):
        found = [host]
    else:
        asked = {"type": socket.SOCK_STREAM, "flags": socket.AI_ADDRCONFIG}
        try:
            infos = await asyncio.get_running_loop().run_in_executor(_THREADS, partial(lookup, host, port, **asked))
        except OSError as error:
            raise _NoNameError from error
        found = [info[4][0] for info in infos if info[0] in (socket.AF_INET, socket.AF_INET6)]
    if not found:
        raise _NoNameError
    if not {host.lower(), f"[{host}]"}.intersection(hosts) and not all(map(is_outside, found)):
        raise _InsideNetworkError
    return found


async def post(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    hosts: Sequence[str],
    seconds: float = SECONDS,
    *,
    lookup: Lookup = socket.getaddrinfo,
) -> Posted:
    """Send the body and return the result; never raises. `url` is one that `WebhookRules` accept."""
    sending = exchange("POST", url, headers, body, resolve=partial(_outside, hosts, lookup))
    try:
        return Posted(status=(await asyncio.wait_for(sending, seconds)).status)
    except _InsideNetworkError:
        return Posted(problem=INSIDE)
    except _NoNameError:
        return Posted(problem="name_not_found")
    except UnreadableAnswerError:
        return Posted(problem="unreadable")
    except TimeoutError:
        return Posted(problem="timeout")
    except ssl.SSLError:
        return Posted(problem="tls_failed")
    except (OSError, ValueError):
        return Posted(problem="not_reached")
