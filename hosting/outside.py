"""Addresses outside of the network that a caller may name: their text, and what their names mean.

Theory. A caller may name the address, so it must lead nowhere inside the network. Its text is checked at the border:
https, a host with a name and a dot. What the name means is only known when it is resolved, and it may mean another
address whenever it is (DNS rebinding): so a connection is made to the very addresses that were checked here, and to
nothing else. A setting names the hosts to which none of this applies.

Names are resolved in threads of their own: one whose servers do not answer holds its thread for longer than a request
takes, and those of the event loop are everybody's.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Collection
from concurrent.futures import Executor
from functools import partial
from typing import Any

LONGEST_URL = 2048

_LABEL = "[A-Za-z0-9-]{1,63}"
_NAMED = rf"(?:{_LABEL}\.){{1,8}}[A-Za-z][A-Za-z0-9-]{{0,62}}"
"""A host with a dot, whose last label begins with a letter, so never an address in digits."""

_PORT = "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
_IN_PATH = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*"
_IN_QUERY = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*"
_BEHIND_HOST = rf"(?::(?:{_PORT}))?(?:/{_IN_PATH}(?:\?{_IN_QUERY})?(?:#{_IN_QUERY})?)?"
HOST = r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]"
"""A host in an address: a name, or digits."""

HOST_LIST = rf"^\s*({HOST})(\s*,\s*({HOST}))*\s*$"
"""Hosts with commas between them, as a setting has them."""

_URL = re.compile(rf"(?:(https://{_NAMED})|https?://({HOST})){_BEHIND_HOST}")
_NOT_IN_ADDRESSES = '"<>[]\\^`{|}'
_IN_PATTERNS = str.maketrans({".": r"\.", "[": r"\[", "]": r"\]"})

Lookup = Callable[..., list[Any]]
"""`socket.getaddrinfo`, or a test's replacement."""

_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_EMBEDDING_V6 = (ipaddress.IPv6Network("2001::/32"), ipaddress.IPv6Network("2002::/16"))
"""Teredo and 6to4, whose addresses lead to IPv4 ones."""

_PLATFORM_V4 = ipaddress.IPv4Address("168.63.129.16")
"""Azure's own services for a virtual machine, at an address outside of every private range."""


class InsideNetworkError(Exception):
    """The name means an address inside the network."""


class NoNameError(Exception):
    """The name means no address."""


def address_pattern(hosts: Collection[str]) -> str:
    """Return the pattern of an address outside of the network, or at one of these hosts."""
    allowed = "".join(f"|https?://{host.translate(_IN_PATTERNS)}" for host in hosts)
    return f"^(?:https://{_NAMED}{allowed}){_BEHIND_HOST}$"


def hosts_of(text: str) -> tuple[str, ...]:
    """Return the hosts in a setting's text, in lower case."""
    return tuple(host.strip().lower() for host in text.split(",") if host.strip())


def is_allowed_address(url: str, hosts: Collection[str]) -> bool:
    """Return whether that is the text of an address outside of the network, or at one of these hosts."""
    match = _URL.fullmatch(url) if len(url) <= LONGEST_URL else None
    return match is not None and bool(match[1] or match[2].lower() in hosts)


def advice_about(url: str, setting: str) -> str:
    """Return what to do about a refused address; the `setting` names hosts inside the network."""
    authority, _, behind = url.partition("://")[2].partition("/")
    if len(url) > LONGEST_URL:
        return f"It has {len(url):,} characters. Name one of at most {LONGEST_URL:,}."
    if not url.isascii():
        return "Write its host as xn--..., and the other characters that are not ASCII as %..."
    if any(sign in behind for sign in _NOT_IN_ADDRESSES):
        return "Write each of " + " ".join(_NOT_IN_ADDRESSES) + " as %..., such as %5B."
    if "@" in authority:
        return "Leave out the user before the host."
    if "?" in authority or "#" in authority:
        return "Write a / after the host."
    _, colon, port = authority.rpartition(":")
    if colon and port.isdecimal() and not 1 <= int(port) <= 65535:
        return "Name a port from 1 to 65535."
    return f"Name an https address at a host with a name and a dot; {setting} names other hosts."


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


async def outside(hosts: Collection[str], lookup: Lookup, threads: Executor, host: str, port: int) -> list[str]:
    """Return the addresses of a host, which are outside of the network unless it is one of `hosts`.

    Raises `InsideNetworkError` and `NoNameError`.
    """
    if _is_address(host):
        found = [host]
    else:
        asked = {"type": socket.SOCK_STREAM, "flags": socket.AI_ADDRCONFIG}
        try:
            infos = await asyncio.get_running_loop().run_in_executor(threads, partial(lookup, host, port, **asked))
        except OSError as error:
            raise NoNameError from error
        found = [info[4][0] for info in infos if info[0] in (socket.AF_INET, socket.AF_INET6)]
    if not found:
        raise NoNameError
    if not {host.lower(), f"[{host}]"}.intersection(hosts) and not all(map(is_outside, found)):
        raise InsideNetworkError
    return found
